"""The Spark session: one door to starting it, and every way that can fail told in one line."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from simulator import signals
from simulator.broker.java import find_java
from simulator.engines.spark import executors
from simulator.engines.spark.driver_host import is_local, of_defaults, place_of
from simulator.engines.spark.java import DEATH_WITHIN, death
from simulator.errors import DeliveryError, UserError

# py4j reports a Java that is gone with a traceback, on the root logger (py4j 0.10.9: java_gateway.py, send_command).
logging.getLogger().addFilter(lambda record: "py4j" not in record.pathname)

END_WITHIN = 5.0
"""Seconds that Spark has to end by itself; docker stop gives ten to all of us."""

SHORT_RUN = 32 << 20
"""Bytes of input that are read sooner than Java has compiled itself well."""


def session(
    master: str = "local[*]", input_bytes: int = SHORT_RUN, jars: Sequence[Path] = (), sends: bool = True
) -> SparkSession:
    """A session for that master URL, set up for so much input, with these jars besides Spark's own; reuses the one that
    runs. Spark runs tasks that were lost again only where none of them `sends`."""
    find_java("Spark")
    _choose_python(master)
    builder = SparkSession.builder.master(master).appName("ticdc-sim")
    beside = {"spark.jars": ",".join(str(jar.resolve()) for jar in jars)} if jars else {}
    for key, value in (_settings(master, input_bytes) | beside | (ONCE if sends else {})).items():
        builder = builder.config(key, value)
    with signals.held(), _stderr_aside() as log:
        try:
            spark = builder.getOrCreate()
        except Exception as error:
            if (how := death(0.0 if hasattr(error, "java_exception") else DEATH_WITHIN)) is not None:
                raise DeliveryError(how) from error
            raise UserError(f"Spark does not start on {master!r}: {_reason(error, log)}") from error
    spark.sparkContext.setLogLevel("OFF")
    accumulators: Any = spark.sparkContext._accumulatorServer
    accumulators.handle_error = _unsaid
    if not is_local(master):
        executors.make_ready(spark.sparkContext)
    return spark


def _choose_python(master: str) -> None:
    """Tasks on this machine run in this Python; elsewhere in the one that Spark's users name, or its `python3`, which
    is this one where Spark starts it here."""
    if is_local(master):
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        return
    if (asked := of_defaults().get("spark.pyspark.python")) is not None:
        os.environ["PYSPARK_PYTHON"] = asked
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


def _settings(master: str, input_bytes: int) -> dict[str, str]:
    """Spark's settings: what the engine rests on, and what a user has not set otherwise."""
    place = place_of(master)
    addresses = {"spark.driver.host": place.host, "spark.driver.bindAddress": place.bound}
    wished = WISHES | {"spark.driver.extraJavaOptions": _java_options(input_bytes)}
    given = of_defaults()
    return {key: value for key, value in wished.items() if key not in given} | SETTINGS | addresses


def _unsaid(*_: object) -> None:
    """In place of a traceback where Java is gone: whoever waits for Java says so."""


def _java_options(input_bytes: int) -> str:
    """A short run is over before Java's second compiler pays; a long one has it take Spark's largest methods, too."""
    compiler = "-XX:-DontCompileHugeMethods" if input_bytes > SHORT_RUN else "-XX:TieredStopAtLevel=1"
    return f"-XX:+UseParallelGC {compiler}"


def end(done: Callable[[], bool]) -> None:
    """Ends Spark and its Java under another thread that is not `done` with them; kills a Java that does not end.

    A Java that loses us while it starts would stay behind for ever, so that is waited for.
    """
    while SparkContext._gateway is None and not done():
        time.sleep(0.05)
    java = getattr(SparkContext._gateway, "proc", None)
    if java is not None:
        polite = threading.Thread(target=_end_politely, args=(java,), daemon=True)
        polite.start()
        polite.join(END_WITHIN)
        java.kill()


def _end_politely(java: subprocess.Popen[bytes]) -> None:
    """So Spark tells its cluster and removes its files; what it cannot do any more is nobody's concern."""
    context = SparkContext._active_spark_context
    with suppress(Exception), warnings.catch_warnings(action="ignore"):
        if context is not None:
            context.stop()
    if java.stdin is not None:
        java.stdin.close()
    java.wait()


@contextmanager
def _stderr_aside() -> Iterator[IO[bytes]]:
    """Java inherits standard error when it starts, and logs to it for as long as it lives: it gets a file instead."""
    with suppress(OSError):
        sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            yield aside
        finally:
            with suppress(OSError):
                sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)


def _reason(error: Exception, log: IO[bytes]) -> str:
    """The line that tells most of a failed start: Java's own words, else the exception's."""
    log.seek(0)
    if "stopped SparkContext" in str(error):
        return "its master does not answer, or its workers cannot start executors (their logs say why)"
    lines = [line for line in log.read().decode(errors="replace").splitlines() if "rror" in line or "xception" in line]
    message = str(error).strip().splitlines()
    text = (lines or [line[2:] for line in message if line.startswith(": ")] or message or [type(error).__name__])[0]
    return text.strip()[:200]


WISHES = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
    "spark.executor.heartbeatInterval": "1s",
    "spark.log.level": "OFF",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "1000",
    "spark.ui.retainedDeadExecutors": "10",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.streaming.ui.retainedQueries": "1",
    "spark.sql.streaming.ui.retainedProgressUpdates": "10",
}
"""What spark-defaults.conf and PYSPARK_SUBMIT_ARGS may set otherwise."""

SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.daemon.module": "simulator.engines.spark.daemon",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.shuffle.sort.bypassMergeThreshold": "1",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
}
"""What the engines rest on: all tasks that send run at the same time, each in one process."""

ONCE = {"spark.task.maxFailures": "1", "spark.stage.maxConsecutiveAttempts": "1"}
"""A record must be sent once: a task that failed is not run again by Spark, the sink itself resends."""
