"""Load on Spark: one job for the whole run, whose tasks send window after window, each in a Python process of its own.

Windows and reports go over a socket, past Java. One window is open at a time, until its watermark is acknowledged. It is
handed out again only after every process that may have sent rows of it has ended: a process exits when its connection
to the run ends, whatever it is doing.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from queue import SimpleQueue

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from simulator.channel import DriverAddress, DriverHost, TaskServer
from simulator.engines.spark.failures import NO_EXECUTOR, ProcessLost, unwrap_errors, wrap_errors
from simulator.engines.spark.frames import map_in_arrow
from simulator.engines.spark.internals import slots
from simulator.engines.spark.master import driver_host
from simulator.engines.spark.session import wait_for_executors
from simulator.engines.spark.workers import MODULE
from simulator.engines.tasks import TaskReport
from simulator.engines.tasks.progress import Reporter
from simulator.errors import DeliveryError
from simulator.load.epochs import SchemaEpoch, Window
from simulator.load.feed import Feed
from simulator.load.sender import WindowSender
from simulator.load.windows import table_destinations
from simulator.signals import StopRequest
from simulator.sinks import SINKS
from simulator.sinks.files import FileSettings, sizes, truncate_to

POLL_SECONDS = 0.5
"""Seconds between two checks for a stop request."""

MOST_RESTARTS, RESTARTS_WITHIN = 3, 60.0
"""A job is restarted at most this often in this many seconds."""

END_WITHIN = 15.0
"""Seconds in which a process of Spark must end after END."""

LENGTH = 8
"""Bytes of the length before each message."""

END = b""
"""Ends a process of Spark at once."""

OVER = b"over"
"""The answer after the last window."""

SEND_NOW = b"hurry"
"""Tells a process of Spark to stop pacing records. It answers no request."""

EXIT_CODE = 3
"""Exit code of a process whose run has ended, or has replaced the process."""


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
    environment[MODULE] = "simulator.load.on_spark"
    numbers = spark.range(0, job.tasks, 1, job.tasks)
    frame = map_in_arrow(numbers, partial(send_windows, job=job), pa.schema([("task", pa.int64())]), barrier=True)
    environment.clear()
    environment.update(before)
    return frame


@dataclass(frozen=True)
class SendingJob:
    """A job of Spark, and the address of its run."""

    driver: DriverAddress
    attempt: int
    tasks: int


def send_message(file: BufferedIOBase, value: object) -> None:
    """Send bytes, or another value pickled; raise OSError."""
    data = value if isinstance(value, bytes) else pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file.write(len(data).to_bytes(LENGTH, "big") + data)
    file.flush()


def receive_message(file: BufferedIOBase) -> bytes:
    """Receive the next message; raise EOFError after END, or if the connection is closed."""
    head = file.read(LENGTH)
    data = file.read(int.from_bytes(head, "big")) if len(head) == LENGTH else END
    if data == END:
        raise EOFError("the run has ended")
    return data


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
                truncate_to(files, self._file_sizes)
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
                    self._file_sizes = sizes(files)
        except BaseException as error:
            self.error = error
            raise


def _file_settings(window: Window) -> FileSettings | None:
    """Return the settings if the run writes fixture files."""
    settings = window.epoch.spec.settings
    return settings if isinstance(settings, FileSettings) else None


class RunConnection:
    """The connection of a process to its run, read by a thread so that END takes effect at any time."""

    def __init__(self, job: SendingJob) -> None:
        self.stop_request = StopRequest()
        self._attempt = job.attempt
        with job.driver.connect() as connection:
            self._file = connection.makefile("rwb")
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def next_window(self, report: TaskReport | None, window: Window | None) -> Window | None:
        """Return the window after this one, which the task has sent; None after the last one."""
        epoch = window.epoch if window else None
        try:
            send_message(self._file, (self._attempt, report, epoch.number if epoch else None))
        except OSError:
            os._exit(EXIT_CODE)
        if (answer := self._answers.get()) == OVER:
            self._file.close()
            return None
        first_ms, end_ms, pace, new_epoch = pickle.loads(answer)
        epoch = new_epoch or epoch
        assert epoch is not None, "the first window comes with its epoch"
        return Window(epoch, first_ms, end_ms, pace)

    def _listen(self) -> None:
        message = b""
        while message != OVER:
            try:
                message = receive_message(self._file)
            except (EOFError, OSError):
                os._exit(EXIT_CODE)
            if message == SEND_NOW:
                self.stop_request.number = signal.SIGINT
            else:
                self._answers.put(message)


def send_windows(batches: Iterator[pa.RecordBatch], job: SendingJob) -> Iterator[pa.RecordBatch]:
    """Send the windows of one task, whose number is its only row; yield nothing."""
    with wrap_errors():
        for (number,) in (batch.column(0).to_pylist() for batch in batches):
            send_part(number, job)
    yield from ()


def _owned(epoch: SchemaEpoch, number: int, tasks: int) -> Sequence[int]:
    """Return the destinations of a task; of a storage, whose tables have one each, those with tables are shared out."""
    used = range(epoch.spec.destinations.total) if epoch.spec.storage is None else table_destinations(epoch)
    return used[number::tasks]


def send_part(number: int, job: SendingJob) -> None:
    """Send the rows of a task's destinations, of all windows."""
    connection = RunConnection(job)
    window, report, sender = connection.next_window(None, None), None, None
    while window is not None:
        spec = window.epoch.spec
        if sender is None:
            reporter = Reporter(spec.progress)
            sink = SINKS[spec.sink](spec.settings, spec.destinations.topics, reporter.waiting)
            sender = WindowSender(sink, reporter)
        report = sender.send(window, _owned(window.epoch, number, job.tasks), connection.stop_request)
        window = connection.next_window(report, window)
    if sender is not None:
        sender.close()
