"""Errors that arise inside Spark tasks, brought to the driver as one line.

One law: what a task found wrong reaches the user in the words it was found with, and nothing of Spark's stack.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped, unused-ignore]
from pyspark.errors import PySparkException

from simulator.errors import SnapshotError

OPEN, CLOSE = "snapshot-error:<", ">:snapshot-error"
"""What stands around an error in the text of an exception; between them its base64."""

_MARKED = re.compile(re.escape(OPEN) + r"([A-Za-z0-9+/=\s]*)" + re.escape(CLOSE))


def marked(text: str) -> str:
    """Text of an exception that `found` knows again."""
    return OPEN + base64.b64encode(text.encode()).decode() + CLOSE


def found(error: BaseException) -> SnapshotError | None:
    """The error of a snapshot that made a Spark job fail with `error`, or None where it failed for something else."""
    match = _MARKED.search(str(error))
    if match is None:
        return None
    text = base64.b64decode(match[1]).decode("utf-8", "backslashreplace")
    return SnapshotError(one_line(text))


def one_line(text: str) -> str:
    """Text with line ends and other control characters written as escapes."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


@contextmanager
def translated() -> Iterator[None]:
    """Around an action on a state frame: raises SnapshotError for what is wrong in the snapshot."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        cause = found(error)
        if cause is None:
            raise
        raise cause from None
