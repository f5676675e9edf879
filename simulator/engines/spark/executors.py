"""Prepare the executors of a cluster: wait for them, ship the package, and check their Python before anything is sent."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
import time
from collections.abc import Iterable, MutableMapping
from contextlib import suppress
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from pyspark import SparkContext

from simulator.engines.spark.failures import SPARK_ERRORS, unwrap_errors
from simulator.engines.spark.internals import slots
from simulator.engines.spark.workers import DRIVERS_PYTHON, version
from simulator.errors import UserError

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
