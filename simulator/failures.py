"""Errors that arise inside Spark tasks, brought to the driver in the words they were found with, without Spark's stack.

One law: an error of ours keeps its class; what Spark's own work met in files and on the disk becomes one; anything
else is a defect and is shown as it is.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator import errors

_OPEN, _CLOSE = "simulator-error:<", ">"
_CARRIED = re.compile(rf"{_OPEN}(\w+) ([A-Za-z0-9+/=\s]*){_CLOSE}")

_UNREAD = re.compile(
    r"\[FAILED_READ_FILE\S*\] .*? reading file (?:file:/*)?(/\S+)\. (.+?)\.?(?: SQLSTATE.*)?$", re.MULTILINE
)


@contextmanager
def carrying() -> Iterator[None]:
    """Around Python of a Spark task: what of ours is raised there arrives at `translated`."""
    try:
        yield
    except errors.SimulatorError as error:
        text = base64.b64encode(str(error).encode("utf-8", "backslashreplace")).decode()
        raise RuntimeError(f"{_OPEN}{type(error).__name__} {text}{_CLOSE}") from None


def raising(kind: type[errors.SimulatorError], text: Column) -> Column:
    """A column, of any type, that raises an error of that class for any row that needs it; `text` is binary."""
    return F.raise_error(F.concat(F.lit(f"{_OPEN}{kind.__name__} "), F.base64(text), F.lit(_CLOSE)))


@contextmanager
def translated() -> Iterator[None]:
    """Around a Spark action: raises what its tasks found wrong."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as failure:
        error = _found(failure) or _of_spark(str(failure))
        if error is None:
            raise
        raise error from None


def _found(failure: BaseException) -> errors.SimulatorError | None:
    """The error of ours that made a Spark job fail, or None."""
    match = _CARRIED.search(str(failure))
    if match is None:
        return None
    kind = getattr(errors, match[1])
    text = base64.b64decode(match[2]).decode("utf-8", "backslashreplace")
    error: errors.SimulatorError = kind(errors.printable(text))
    return error


def _of_spark(text: str) -> errors.SimulatorError | None:
    """What Spark says of a file that it cannot read, or of a disk that it fills."""
    if unread := _UNREAD.search(text):
        return errors.SnapshotError(f"{unquote(unread[1])}: cannot be read: {unread[2]}")
    if "No space left on device" in text:
        return errors.DeliveryError("No space left on device for Spark's own files: SPARK_LOCAL_DIRS says where else")
    return None
