"""The streaming query of a load run: started, watched, restarted after the loss of a process, and stopped.

Spark's own checkpoint lives as long as one start of the query. The run decides where to go on.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from pyspark.sql import SparkSession

from simulator.engines.spark.daemon import MODULE
from simulator.engines.spark.driver_host import driver_host
from simulator.engines.spark.executors import slots
from simulator.engines.spark.failures import ProcessLost, unwrap_errors
from simulator.load.feed import Feed
from simulator.load.streaming import data_source
from simulator.load.streaming.window_server import WindowServer

POLL_SECONDS = 0.5
"""Seconds between two checks of a running query."""

MOST_RESTARTS, RESTARTS_WITHIN = 3, 60.0
"""A query is restarted at most this often in this many seconds."""

MEMORY = Path("/dev/shm")
"""Linux's file system in memory."""

WORKER_MODULES = {
    data_source.WindowSource: "simulator.load.streaming.data_source",
    data_source.WindowSink: "simulator.load.streaming.sending_task",
}
"""The module that the Python workers of each data source need."""

SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.streaming.minBatchesToRetain": "1",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1",
}
"""Windows have a few dozen rows in Spark, so generated code does not pay. Nothing may grow with the number of windows.
"""

NO_LOG = {
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": str(1 << 40),
    "_asyncProgressTrackingOverrideSinkSupportCheck": "true",
}
"""Disables Spark's log of batches, which nobody reads: it takes as long as the rest of a micro-batch (for each file of
it Hadoop starts a chmod). Spark allows its own Kafka sink to go without (4.3:
AsyncProgressTrackingMicroBatchExecution).
"""


def run(spark: SparkSession, feed: Feed, destinations: int, say: Callable[[str], None]) -> None:
    """Send the windows of the feed until there are no more; raise SimulatorError."""
    tasks = max(1, min(slots(spark.sparkContext), destinations))
    lost: list[float] = []
    with closing(WindowServer(feed, tasks, driver_host(str(spark.sparkContext.master)))) as windows:
        while not windows.over:
            try:
                _run_query(spark, windows)
            except ProcessLost as loss:
                lost = [*(at for at in lost if at > time.monotonic() - RESTARTS_WITHIN), time.monotonic()]
                if len(lost) > MOST_RESTARTS:
                    raise
                windows.reset_open_window()
                say(f"{loss}; what was not acknowledged is sent again")


@unwrap_errors()
def _run_query(spark: SparkSession, windows: WindowServer) -> None:
    """Run one start of the query."""
    options = windows.start.options()
    with _settings(spark), _checkpoint() as directory:
        _register(spark)
        rows = spark.readStream.format(data_source.WindowSource.name()).options(**options).load()
        to = rows.writeStream.format(data_source.WindowSink.name()).options(**options, **NO_LOG)
        query = to.option("checkpointLocation", directory).start()
        try:
            while not windows.ended.wait(POLL_SECONDS) and query.isActive:
                windows.send_without_pace()
            if not windows.over and windows.error is None:
                query.awaitTermination()
        finally:
            with suppress(Exception):  # it has ended, or Java has
                query.stop()
    if windows.error is not None:
        raise windows.error


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    before = {name: str(spark.conf.get(name)) for name in SETTINGS}
    try:
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        yield
    finally:
        with suppress(Exception):  # Java may have ended
            for name, value in before.items():
                spark.conf.set(name, value)


def _register(session: SparkSession) -> None:
    """Register the source and the sink with Spark.

    Spark keeps Python processes with different environments apart. The processes that send are therefore not those
    that read rows of the source: the same ones send window after window, and make the next one meanwhile.
    """
    environment = session.sparkContext.environment
    before = environment.copy()
    for each, module in WORKER_MODULES.items():
        environment[MODULE] = module
        session.dataSource.register(each)
    environment.clear()
    environment.update(before)


@contextmanager
def _checkpoint() -> Iterator[str]:
    """Yield a directory for Spark's checkpoint."""
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ticdc-sim-", dir=memory, ignore_cleanup_errors=True) as directory:
        yield Path(directory).as_uri()
