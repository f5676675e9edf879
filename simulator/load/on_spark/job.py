"""The Spark job of a load run: started, watched, restarted after the loss of a process, and ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from simulator.engines.spark.daemon import MODULE
from simulator.engines.spark.driver_host import driver_host
from simulator.engines.spark.executors import wait_for_executors
from simulator.engines.spark.failures import NO_EXECUTOR, ProcessLost, unwrap_errors
from simulator.engines.spark.frames import map_in_arrow
from simulator.engines.spark.internals import slots
from simulator.errors import DeliveryError
from simulator.load.feed import Feed
from simulator.load.on_spark.sending_task import SendingJob, send_windows
from simulator.load.on_spark.window_server import WindowServer

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
