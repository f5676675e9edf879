"""Ship this package to executors on other machines, so that they run the driver's code."""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import MutableMapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from pyspark import SparkContext

from simulator.engines.spark.python_version import DRIVERS_PYTHON, version

PACKAGE = Path(__file__).parents[2]

NO_CODE = PACKAGE / "scenarios"


def ship(context: SparkContext) -> None:
    """Make the executors of a session fetch the package before their first task.

    Spark puts files into the working directory of an executor, where its Python starts, so a relative path holds on
    every machine. `addPyFile` would make this process import from the archive, too.
    """
    directory = tempfile.TemporaryDirectory(prefix="ticdc-sim-")
    atexit.register(directory.cleanup)
    context.addFile(str(archive(Path(directory.name))))
    environment: MutableMapping[str, str] = context.environment
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (NAME, environment.get("PYTHONPATH"))))
    environment[DRIVERS_PYTHON] = version()


NAME = "ticdc-sim.zip"


def archive(directory: Path) -> Path:
    """Write the package's Python as an importable archive."""
    path = directory / NAME
    with ZipFile(path, "w", ZIP_DEFLATED) as archive_file:
        for file in sorted(PACKAGE.rglob("*.py")):
            if NO_CODE not in file.parents:
                archive_file.write(file, file.relative_to(PACKAGE.parent))
    return path
