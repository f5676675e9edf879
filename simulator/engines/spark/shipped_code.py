"""This package on the way to executors on other machines, which have Python and its libraries but not us.

One law: what an executor runs is what the driver runs, whatever else is installed there.
"""

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
    """Has executors of the session fetch the package before their first task.

    Spark puts files into the directory that an executor works in, where its Python starts: a path relative to that
    holds on every machine. Not `addPyFile`, which would have this process, too, import from the archive from now on.
    """
    directory = tempfile.TemporaryDirectory(prefix="ticdc-sim-")
    atexit.register(directory.cleanup)
    context.addFile(str(archive(Path(directory.name))))
    environment: MutableMapping[str, str] = context.environment
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (NAME, environment.get("PYTHONPATH"))))
    environment[DRIVERS_PYTHON] = version()


NAME = "ticdc-sim.zip"


def archive(directory: Path) -> Path:
    """The package's Python, as an archive that Python can import from."""
    made = directory / NAME
    with ZipFile(made, "w", ZIP_DEFLATED) as whole:
        for file in sorted(PACKAGE.rglob("*.py")):
            if NO_CODE not in file.parents:
                whole.write(file, file.relative_to(PACKAGE.parent))
    return made
