"""Errors that arise inside Spark tasks, brought to the driver in the words they were found with, without Spark's stack.

One law: an error of ours keeps its class; anything else is a defect and is shown as it is.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from simulator import errors

_CARRIED = re.compile(r"simulator-error:<(\w+) ([A-Za-z0-9+/=]*)>")


def carried(error: errors.SimulatorError) -> str:
    """Text of an exception in which `found` knows the error again."""
    return f"simulator-error:<{type(error).__name__} {base64.b64encode(str(error).encode()).decode()}>"


def found(failure: BaseException) -> errors.SimulatorError | None:
    """The error of ours that made a Spark job fail, or None."""
    match = _CARRIED.search(str(failure))
    if match is None:
        return None
    kind = getattr(errors, match[1])
    error: errors.SimulatorError = kind(base64.b64decode(match[2]).decode())
    return error


@contextmanager
def translated() -> Iterator[None]:
    """Around a Spark action: raises what its tasks found wrong."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as failure:
        error = found(failure)
        if error is None:
            raise
        raise error from None
