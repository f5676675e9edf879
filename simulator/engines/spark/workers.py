"""Spark's daemon of Python workers, and what a worker tells the driver: what it lacks, and a SimulatorError as text that
survives Java.

The daemon imports what tasks need before it forks workers, which saves nearly a second per worker. Spark requires that
no other thread runs then (pyspark/daemon.py), so libraries that start threads on import are configured not to. This
module imports nothing that may be missing there or that an old Python lacks, so that any Python can report why it
cannot run the tasks.
"""

from __future__ import annotations

import base64
import os
import re
import socket
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.errors import SimulatorError
from importlib import import_module

DRIVERS_PYTHON = "TICDC_SIM_PYTHON"
"""The environment variable with the driver's version of Python; workers need the same, as functions travel as code."""

NEEDED = {
    "crc32c": "crc32c",
    "cryptography": "cryptography",
    "faker": "faker",
    "fastavro": "fastavro",
    "fsspec": "fsspec",
    "kafka": "kafka-python",
    "lz4": "lz4",
    "msgspec": "msgspec",
    "numpy": "numpy",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "pyuca": "pyuca",
    "re2": "google-re2",
    "sortedcontainers": "sortedcontainers",
    "sqlglot": "sqlglot",
}
"""Modules that tasks import → their distributions."""

OTHER_PYTHON = "PYSPARK_PYTHON (or Spark's own spark.pyspark.python) says which Python workers use"


SINGLE_THREADED = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Environment variables of numpy and pyarrow."""

MODULE = "TICDC_SIM_WORKERS"
"""The environment variable that names the module which the workers of a query need; unset for the engine's own."""


def version() -> str:
    """Return the major and minor version of this Python."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def missing_requirement() -> str | None:
    """Return why this Python cannot run the tasks; None if it can."""
    here = f"the Python of Spark's worker on {socket.gethostname()} ({sys.executable})"
    required = os.environ.get(DRIVERS_PYTHON, version())
    if required != version():
        return f"{here} is {version()}, and ticdc-sim's is {required}: they must be the same; {OTHER_PYTHON}"
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        word = "package" if len(missing) == 1 else "packages"
        return f"{here} misses the {word} {', '.join(missing)}: pip install them there; {OTHER_PYTHON}"
    return None


_OPEN, _CLOSE = "simulator-error:<", ">"
_PACKED = re.compile(_OPEN + r"(\w+) ([A-Za-z0-9+/=\s]*)" + _CLOSE)


def pack_error(kind: str, message: str) -> str:
    """Encode an error of a class of `simulator.errors`; Java may quote the text anywhere."""
    text = base64.b64encode(message.encode("utf-8", "backslashreplace")).decode()
    return f"{_OPEN}{kind} {text}{_CLOSE}"


def unpack_error(text: str) -> SimulatorError | None:
    """Decode the first error in a text; None if there is none."""
    from simulator import errors

    match = _PACKED.search(text)
    if match is None:
        return None
    kind = getattr(errors, match[1])
    message = base64.b64decode(match[2]).decode("utf-8", "backslashreplace")
    error: SimulatorError = kind(errors.printable(message))
    return error


def prepare() -> None:
    """Import what the tasks need."""
    os.environ.update(SINGLE_THREADED)
    import_module(os.environ.get(MODULE, "simulator.engines.on_spark"))


if __name__ == "__main__":
    if (why := missing_requirement()) is not None:
        sys.exit(pack_error("UserError", why))  # Spark brings standard error to the driver

    from pyspark.daemon import manager

    prepare()
    manager()
