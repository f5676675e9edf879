"""The Spark session: one door to starting it, and every way that can fail told in one line."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pyspark.sql import SparkSession

from simulator.errors import UserError

JAVA_MINIMUM = 17
"""Spark 4's."""

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
    with _interrupted_later(), _stderr_aside() as said:
        try:
            spark = builder.getOrCreate()
        except Exception as error:
            raise UserError(f"Spark does not start on {master!r}: {_reason(error, said)}") from error
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _java_options(input_bytes: int) -> str:
    """A short run is over before Java's second compiler pays; a long one has it take Spark's largest methods, too."""
    compiler = "-XX:-DontCompileHugeMethods" if input_bytes > SHORT_RUN else "-XX:TieredStopAtLevel=1"
    return f"-XX:+UseParallelGC {compiler}"


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Holds the first Ctrl-C back: a Java that loses us while it starts would stay behind for ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = []

    def press(number: int, frame: object) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


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


def _reason(error: Exception, said: IO[bytes]) -> str:
    """The line that tells most of a failed start: Java's own words, else the exception's."""
    said.seek(0)
    lines = [line for line in said.read().decode(errors="replace").splitlines() if "rror" in line or "xception" in line]
    text = (lines or str(error).strip().splitlines() or [type(error).__name__])[0]
    return text.strip()[:200]


SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.files.maxPartitionBytes": "32m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.shuffle.sort.bypassMergeThreshold": "1",
    "spark.speculation": "false",
    "spark.executor.heartbeatInterval": "1s",
    "spark.log.level": "OFF",
}
"""A record must be sent once: a task that failed is not run again by Spark, the sink itself resends."""
