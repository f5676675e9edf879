"""The Spark job of a load run: started, watched, restarted after the loss of a process, and ended.

One window is open at a time, until its watermark is acknowledged. It is handed out again only after every process
that may have sent rows of it has ended.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from functools import partial
from io import BufferedIOBase
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from simulator.channel import DriverHost, TaskServer
from simulator.engines.spark.daemon import MODULE
from simulator.engines.spark.driver_host import driver_host
from simulator.engines.spark.executors import wait_for_executors
from simulator.engines.spark.failures import NO_EXECUTOR, ProcessLost, unwrap_errors
from simulator.engines.spark.frames import map_in_arrow
from simulator.engines.spark.internals import slots
from simulator.engines.tasks.task import TaskReport
from simulator.errors import DeliveryError
from simulator.load.epochs.epochs import Window
from simulator.load.feed import Feed
from simulator.load.on_spark.sending_task import (
    END,
    OVER,
    SEND_NOW,
    SendingJob,
    receive_message,
    send_message,
    send_windows,
)
from simulator.sinks.files import directory
from simulator.sinks.files.settings import FileSettings

POLL_SECONDS = 0.5
"""Seconds between two checks for a stop request."""

MOST_RESTARTS, RESTARTS_WITHIN = 3, 60.0
"""A job is restarted at most this often in this many seconds."""


def run(spark: SparkSession, feed: Feed, destinations: int, say: Callable[[str], None]) -> None:
    """Send the windows of the feed until there are no more; raise SimulatorError."""
    lost: list[float] = []
    with closing(WindowServer(feed, driver_host(str(spark.sparkContext.master)))) as windows:
        while not windows.over:
            try:
                _run_job(spark, windows, destinations)
            except ProcessLost as loss:
                lost = [*(at for at in lost if at > time.monotonic() - RESTARTS_WITHIN), time.monotonic()]
                if len(lost) > MOST_RESTARTS:
                    raise
                say(f"{loss}; what was not acknowledged is sent again")


@unwrap_errors()
def _run_job(spark: SparkSession, windows: WindowServer, destinations: int) -> None:
    """Run one job; raise what the feed raised, or the error of a task.

    It has as many tasks as the executors that are left take, and ends early when there are more again.
    """
    context = spark.sparkContext
    if not (count := slots(context) or wait_for_executors(context)):
        raise DeliveryError(NO_EXECUTOR)
    tasks = min(count, destinations)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(_frame(spark, windows.start(tasks)).collect)
        try:
            while not wait([job], POLL_SECONDS).done and windows.error is None:
                windows.send_without_pace()
                if tasks < min(slots(context), destinations):
                    windows.end_job()
        finally:
            if not windows.over:
                windows.end_senders()
    if windows.error is not None:
        raise windows.error
    job.result()


def _frame(spark: SparkSession, job: SendingJob) -> DataFrame:
    """Return the frame whose computation sends.

    Spark keeps Python processes with different environments apart, so that these import what they need when they start.
    """
    environment = spark.sparkContext.environment
    before = environment.copy()
    environment[MODULE] = "simulator.load.on_spark.sending_task"
    numbers = spark.range(0, job.tasks, 1, job.tasks)
    frame = map_in_arrow(numbers, partial(send_windows, job=job), pa.schema([("task", pa.int64())]), barrier=True)
    environment.clear()
    environment.update(before)
    return frame


END_WITHIN = 15.0
"""Seconds in which a process of Spark must end after END."""


class WindowServer:
    """Hands out a window when all tasks have asked for it, which they do when they have sent the one before."""

    def __init__(self, feed: Feed, place: DriverHost) -> None:
        self._feed = feed
        self._attempt = 0
        self._round = threading.Barrier(1)
        self._window: Window | None = None
        self._retried = 0
        self._file_sizes: dict[Path, int] = {}
        """The sizes of files before the window."""

        self._reports: list[TaskReport] = []
        self._senders: dict[int, BufferedIOBase] = {}
        self._lock = threading.RLock()
        self._empty = threading.Condition(self._lock)
        self._ends = False
        """Whether the job ends when it has sent the open window."""

        self.over = False
        self.error: BaseException | None = None
        """What the feed raised."""

        self._server = TaskServer(self._serve, place)

    def start(self, tasks: int) -> SendingJob:
        """Return a new job, whose tasks send the open window again if there is one.

        No process of the job before may be left (`end_senders`).
        """
        self._round = threading.Barrier(tasks, self._advance)
        self._ends = False
        self._reports.clear()
        if self._window is not None:
            self._retried += 1
            if (files := _file_settings(self._window)) is not None:
                directory.truncate_to(files, self._file_sizes)
        return SendingJob(self._server.driver, self._attempt, tasks)

    def end_job(self) -> None:
        """End the job when its tasks have sent the open window, so that one with other tasks can go on."""
        self._ends = True

    def end_senders(self) -> None:
        """End all processes of the job; raise DeliveryError if one does not end."""
        self._round.abort()
        with self._lock:
            self._attempt += 1
            for response in self._senders.values():
                with suppress(OSError):
                    send_message(response, END)
            if not self._empty.wait_for(lambda: not self._senders, END_WITHIN):
                raise DeliveryError(
                    f"a process of Spark that sends has not ended for {END_WITHIN:.0f} s: nothing is sent in its place"
                )

    def send_without_pace(self) -> None:
        """Stop pacing the open window after a stop request."""
        with self._lock:
            for response in self._senders.values() if self._feed.stop_request.number else ():
                with suppress(OSError):
                    send_message(response, SEND_NOW)

    def close(self) -> None:
        """End all connections."""
        self._server.close()
        with suppress(DeliveryError):
            self.end_senders()

    def _serve(self, request: BufferedIOBase, response: BufferedIOBase) -> None:
        """Serve one task."""
        key = id(response)
        try:
            while True:
                attempt, report, epoch = pickle.loads(receive_message(request))
                with self._lock:
                    if attempt != self._attempt:
                        return send_message(response, END)
                    self._senders[key] = response
                    self._reports += [report] if report else []
                self._round.wait()
                with self._lock:
                    send_message(response, self._answer(epoch))
        except EOFError:
            pass
        except Exception:  # `_advance` keeps it; the other tasks get BrokenBarrierError
            with self._lock:
                send_message(response, END)
        finally:
            with self._lock:
                self._senders.pop(key, None)
                self._empty.notify_all()

    def _answer(self, epoch: int | None) -> object:
        """Return the answer to a task that has this epoch."""
        if (window := self._window) is None:
            return OVER
        return window.first_ms, window.end_ms, window.pace, None if window.epoch.number == epoch else window.epoch

    def _advance(self) -> None:
        """Finish the window that all tasks have sent, and open the next one unless the job ends; hand out again one that
        they have not."""
        try:
            if self._window is not None and self._reports:
                self._feed.sent(self._window, [*self._reports], self._retried)
                self._window, self._retried = None, 0
            self._reports.clear()
            if self._window is None and not self._ends:
                self._window = self._feed.next()
                self.over = self._window is None
                if self._window is not None and (files := _file_settings(self._window)) is not None:
                    self._file_sizes = directory.sizes(files)
        except BaseException as error:
            self.error = error
            raise


def _file_settings(window: Window) -> FileSettings | None:
    """Return the settings if the run writes fixture files."""
    settings = window.epoch.spec.settings
    return settings if isinstance(settings, FileSettings) else None
