"""The Spark session: one door to starting it, and every way that can fail told in one line."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from simulator import signals
from simulator.errors import DeliveryError, UserError

# py4j reports a Java that is gone with a traceback, on the root logger (py4j 0.10.9: java_gateway.py, send_command).
logging.getLogger().addFilter(lambda record: "py4j" not in record.pathname)

JAVA_MINIMUM = 17
"""Spark 4's."""

END_WITHIN = 5.0
"""Seconds that Spark has to end by itself; docker stop gives ten to all of us."""

DEATH_WITHIN = 3.0
"""Seconds between the moment when Java does not answer any more and its end."""

OUT_OF_MEMORY = 52
"""Exit code of a Java whose heap is full (Spark 4.1: core/src/main/scala/org/apache/spark/util/SparkExitCode.scala)."""

LESS = "fewer tasks at a time need less (--master local[1])"

KILLED = f"the kernel does that when memory runs out (dmesg tells); give the machine or container more, or {LESS}"

SHORT_RUN = 32 << 20
"""Bytes of input that are read sooner than Java has compiled itself well."""


def java_version() -> int:
    """Major version of the Java that Spark will use; raises UserError where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    wanted = f"Spark needs Java {JAVA_MINIMUM} or newer: install one, or point JAVA_HOME at it"
    if java is None:
        raise UserError(f"no Java found on PATH. {wanted}")
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30).stderr
    except OSError as error:
        raise UserError(f"Java does not start: {java}: {error.strerror}. {wanted}") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"Java does not answer: {java} -version took more than 30 s. {wanted}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    if found is None:
        raise UserError(f"Java does not say its version: {java} -version printed {text.strip()[:80]!r}. {wanted}")
    return int(found.group(1))


def session(master: str = "local[*]", input_bytes: int = SHORT_RUN) -> SparkSession:
    """A session for that master URL, set up for so much input; reuses the one that runs."""
    version = java_version()
    if version < JAVA_MINIMUM:
        raise UserError(f"Java {version} is too old: Spark needs Java {JAVA_MINIMUM} or newer; point JAVA_HOME at one")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("ticdc-sim")
    for key, value in (SETTINGS | {"spark.driver.extraJavaOptions": _java_options(input_bytes)}).items():
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
    return spark


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


def death(within: float = DEATH_WITHIN) -> str | None:
    """How Spark's Java ended and what to do about it; None where it lives."""
    java = getattr(SparkContext._gateway, "proc", None)
    if java is None:
        return None
    try:
        code = java.wait(within)
    except subprocess.TimeoutExpired:
        return None
    if code == -signal.SIGKILL:
        return f"Spark's Java was killed: {KILLED}"
    if code == OUT_OF_MEMORY:
        return f"the memory of Spark's Java is full: {LESS}"
    number = -code if code < 0 else code - 128
    how = signal.Signals(number).name if number in set(signal.Signals) else f"exit code {code}"
    return f"Spark's Java ended while it was needed ({how})"


@contextmanager
def _stderr_aside() -> Iterator[IO[bytes]]:
    """Java inherits standard error when it starts, and logs to it for as long as it lives: it gets a file instead."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            yield aside
        finally:
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


SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.daemon.module": "simulator.run.engines.daemon",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.shuffle.sort.bypassMergeThreshold": "1",
    "spark.speculation": "false",
    "spark.executor.heartbeatInterval": "1s",
    "spark.log.level": "OFF",
}
"""A record must be sent once: a task that failed is not run again by Spark, the sink itself resends."""
