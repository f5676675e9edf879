"""The Python of Spark's workers: what it must have, and what is said where it has not.

One law: nothing is imported here that may be missing, or that an older Python cannot import.
"""

from __future__ import annotations

import os
import socket
import sys
from importlib.util import find_spec

DRIVERS_PYTHON = "TICDC_SIM_PYTHON"
"""The variable that tells a worker the driver's version of Python: Spark wants the same (functions travel as code)."""

NEEDED = {
    "duckdb": "duckdb",
    "faker": "faker",
    "fsspec": "fsspec",
    "kafka": "kafka-python",
    "lz4": "lz4",
    "numpy": "numpy",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "pyuca": "pyuca",
    "re2": "google-re2",
    "sqlglot": "sqlglot",
}
"""Module → the package that has it, of what tasks import sooner or later."""

OTHER_PYTHON = "PYSPARK_PYTHON (or Spark's own spark.pyspark.python) says which Python workers use"


def version() -> str:
    """Of this Python, as far as it must be the same everywhere."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def lacking() -> str | None:
    """Why this Python cannot do the tasks of this run; None where it can."""
    here = f"the Python of Spark's worker on {socket.gethostname()} ({sys.executable})"
    wanted = os.environ.get(DRIVERS_PYTHON, version())
    if wanted != version():
        return f"{here} is {version()}, and ticdc-sim's is {wanted}: they must be the same; {OTHER_PYTHON}"
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        word = "package" if len(missing) == 1 else "packages"
        return f"{here} misses the {word} {', '.join(missing)}: pip install them there; {OTHER_PYTHON}"
    return None
