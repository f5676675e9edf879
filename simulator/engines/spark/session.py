"""Start and end the Spark session; each failure to start becomes a one-line error.

The executors of a cluster get the package, and their Python is checked before anything is sent.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from pyspark import SparkContext
from pyspark.sql import SparkSession

from simulator import signals
from simulator.broker.java import find_java
from simulator.engines.spark import class_data, internals
from simulator.engines.spark.failures import DEATH_WITHIN, SPARK_ERRORS, java_death, unwrap_errors
from simulator.engines.spark.internals import slots
from simulator.engines.spark.master import driver_host, is_local, spark_defaults
from simulator.engines.spark.workers import DRIVERS_PYTHON, version
from simulator.errors import DeliveryError, UserError

# py4j reports a Java that is gone with a traceback, on the root logger (py4j 0.10.9: java_gateway.py, send_command).
logging.getLogger().addFilter(lambda record: "py4j" not in record.pathname)

END_WITHIN = 5.0
"""Seconds within which Spark must end by itself; `docker stop` gives the whole process ten."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"

LAUNCHER_OPTIONS = "-XX:+IgnoreUnrecognizedVMOptions -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Of the Java that makes the command line of Spark's Java, and ends."""

SHORT_RUN = 32 << 20
"""Bytes of input that are read before Java's second compiler pays off."""

LITTLE_MEMORY, SMALL_YOUNG_GENERATION = "512m", "-Xmn48m"
"""For a Java that only starts tasks and hears of them. Its live objects take 50 MB; a larger young generation would only
fill with garbage, so that the process seemed to grow for an hour."""

PACKAGE = Path(__file__).parents[2]

NO_CODE = PACKAGE / "scenarios"

SHIPPED = (".py", ".tsv")

ARCHIVE = "ticdc-sim.zip"

START_TIMEOUT = 60.0
"""Seconds within which a cluster must start an executor."""

LOST_TIMEOUT = 60.0
"""Seconds within which a cluster that has lost all executors must start another one."""

LOOK_SECONDS = 2.0
"""Seconds between two looks at the executors of a run."""

QUIET_PERIOD = 2.0
"""Seconds to wait for further executors after the last one came."""


def session(
    master: str = "local[*]",
    input_bytes: int = SHORT_RUN,
    jars: Sequence[Path] = (),
    sends: bool = True,
    reads: bool = True,
) -> SparkSession:
    """Return the running session, or start one for a master URL, tuned for the size of the input.

    If tasks send records (`sends`), Spark does not retry them. If Java sees no rows (not `reads`), it gets little
    memory. Raises UserError if Spark cannot start.
    """
    java = find_java("Spark")
    _choose_python(master)
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", LAUNCHER_OPTIONS)
    names = {"spark.master": master, "spark.app.name": "ticdc-sim"}
    beside = {"spark.jars": ",".join(str(jar.resolve()) for jar in jars)} if jars else {}
    settings = names | _settings(master, input_bytes, reads, java) | beside | (ONCE if sends else {})
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    is_running = internals.active_context() is not None
    with signals.defer_signals(), _stderr_aside() as log:
        try:
            internals.start_java(settings)
            spark = builder.getOrCreate()
        except Exception as error:
            if (how := java_death(0.0 if hasattr(error, "java_exception") else DEATH_WITHIN)) is not None:
                raise DeliveryError(how) from error
            raise UserError(f"Spark does not start on {master!r}: {_reason(error, log)}") from error
    spark.sparkContext.setLogLevel("OFF")
    internals.silence_accumulators(spark.sparkContext)
    spark.sparkContext.environment.update(KEEPING_MEMORY)
    if not is_running and not is_local(master):
        make_ready(spark.sparkContext)
    return spark


def _choose_python(master: str) -> None:
    """Choose the Python of Spark's workers: this one for a local master, else the configured one or `python3`."""
    if is_local(master):
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        return
    if (configured := spark_defaults().get("spark.pyspark.python")) is not None:
        os.environ["PYSPARK_PYTHON"] = configured
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


def _settings(master: str, input_bytes: int, reads: bool, java: str) -> dict[str, str]:
    """Return the settings that the engine requires, and defaults that the user has not set."""
    address = driver_host(master)
    addresses = {"spark.driver.host": address.host, "spark.driver.bindAddress": address.bound}
    configured = spark_defaults()
    preferred = dict(PREFERRED) if reads else PREFERRED | {"spark.driver.memory": LITTLE_MEMORY}
    if JAVA_OPTIONS not in configured:
        heap = _java_options(input_bytes) if reads else f"{_java_options(input_bytes)} {SMALL_YOUNG_GENERATION}"
        preferred[JAVA_OPTIONS] = f"{heap} {class_data.java_options(java)}".rstrip()
    daemon = DAEMON if internals.has_daemon() else {}
    return {key: value for key, value in preferred.items() if key not in configured} | SETTINGS | daemon | addresses


def _java_options(input_bytes: int) -> str:
    """Skip Java's second compiler for short runs; for long ones let it compile Spark's largest methods, too.

    Java may collect garbage for a twentieth of its time before its heap grows (a hundredth, unless told): `verify` of 20
    million rows then took 1.2 GB for Java, not 1.6.

    A Java that does not know an option goes on without.
    """
    compiler = "-XX:-DontCompileHugeMethods" if input_bytes > SHORT_RUN else "-XX:TieredStopAtLevel=1"
    return f"-XX:+IgnoreUnrecognizedVMOptions -XX:+UseParallelGC -XX:GCTimeRatio=19 {compiler}"


def end(done: Callable[[], bool]) -> None:
    """End Spark and its Java while another thread still uses them; kills Java after `END_WITHIN` seconds.

    Waits for a Java that is starting: it would never end without its parent.
    """
    while internals.java_is_starting() and not done():
        time.sleep(0.05)
    java = internals.java_process()
    if java is not None:
        stopper = threading.Thread(target=_stop_context, args=(java,), daemon=True)
        stopper.start()
        stopper.join(END_WITHIN)
        java.kill()


def _stop_context(java: subprocess.Popen[bytes]) -> None:
    """Stop Spark, so that it leaves its cluster and removes its files; ignores failures."""
    context = internals.active_context()
    with suppress(Exception), warnings.catch_warnings(action="ignore"):
        if context is not None:
            context.stop()
    if java.stdin is not None:
        java.stdin.close()
    java.wait()


@contextmanager
def _stderr_aside() -> Iterator[IO[bytes]]:
    """Give Java a file as its standard error; it logs there as long as it runs."""
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
    """Return the most telling line of a failed start: Java's error, else the exception's."""
    log.seek(0)
    if "stopped SparkContext" in str(error):
        return "its master does not answer, or its workers cannot start executors (their logs say why)"
    lines = [line for line in log.read().decode(errors="replace").splitlines() if "rror" in line or "xception" in line]
    message = str(error).strip().splitlines()
    text = (lines or [line[2:] for line in message if line.startswith(": ")] or message or [type(error).__name__])[0]
    return text.strip()[:200]


@unwrap_errors()
def make_ready(context: SparkContext) -> None:
    """Prepare all executors; raises UserError if none starts or one cannot run the tasks."""
    _ship(context)
    if not (count := wait_for_executors(context)):
        raise UserError(
            f"Spark at {context.master} has started no executor for {START_TIMEOUT:.0f} s: it has no worker with enough "
            "free cores and memory (spark.executor.cores, spark.executor.memory); the workers' logs say more"
        )
    # A barrier stage gives every executor its share of the tasks.
    context.parallelize(range(count), count).barrier().mapPartitions(_probe).collect()
    threading.Thread(target=_cancel_without_executors, args=(context,), daemon=True).start()


def wait_for_executors(context: SparkContext) -> int:
    """Return the slots of all executors that start; 0 if none does."""
    count, changed = 0, time.monotonic()
    while not count or time.monotonic() < changed + QUIET_PERIOD:
        if time.monotonic() > changed + START_TIMEOUT:
            return 0
        time.sleep(0.1)
        if (now := slots(context)) != count:
            count, changed = now, time.monotonic()
    return count


def _cancel_without_executors(context: SparkContext) -> None:
    """Cancel the jobs of a run that has lost all its executors for long: Spark would wait for others for ever."""
    seen = time.monotonic()
    with suppress(*SPARK_ERRORS, OSError, EOFError, AttributeError):  # the session is over
        while True:
            time.sleep(LOOK_SECONDS)
            if slots(context):
                seen = time.monotonic()
            elif time.monotonic() > seen + LOST_TIMEOUT:
                context.cancelAllJobs()
                seen = time.monotonic()


def _probe(rows: Iterable[int]) -> Iterable[int]:
    """An empty task; Python cannot unpickle it without the package."""
    return ()


def _ship(context: SparkContext) -> None:
    """Make the executors of a session fetch the package before their first task.

    Spark puts files into the working directory of an executor, where its Python starts, so a relative path holds on
    every machine. `addPyFile` would make this process import from the archive, too.
    """
    directory = tempfile.TemporaryDirectory(prefix="ticdc-sim-")
    atexit.register(directory.cleanup)
    context.addFile(str(archive(Path(directory.name))))
    environment: MutableMapping[str, str] = context.environment
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (ARCHIVE, environment.get("PYTHONPATH"))))
    environment[DRIVERS_PYTHON] = version()


def archive(directory: Path) -> Path:
    """Write the package as an importable archive, with the tables of data beside its code."""
    path = directory / ARCHIVE
    with ZipFile(path, "w", ZIP_DEFLATED) as archive_file:
        for file in sorted(PACKAGE.rglob("*.*")):
            if file.suffix in SHIPPED and NO_CODE not in file.parents:
                archive_file.write(file, file.relative_to(PACKAGE.parent))
    return path


PREFERRED = {
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
"""Defaults; spark-defaults.conf and PYSPARK_SUBMIT_ARGS have precedence."""

SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.shuffle.sort.bypassMergeThreshold": "1",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
}
"""Settings that the engines require: all tasks that send run at the same time, each in one process."""

KEEPING_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(512 << 20),
    "MIMALLOC_PURGE_DELAY": "1000",
}
"""Environment variables of Python workers. A batch needs as much memory as the one before it, which glibc (mallopt) and
Arrow's mimalloc would give back to the system in between: a tenth of the CPU time of `verify` went there."""

DAEMON = {"spark.python.daemon.module": "simulator.engines.spark.workers"}

ONCE = {"spark.task.maxFailures": "1", "spark.stage.maxConsecutiveAttempts": "1"}
"""A record must be sent once: Spark does not retry a failed task; the sink itself retries."""
