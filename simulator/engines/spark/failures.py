"""Errors that arise inside Spark tasks, brought to the driver in the words they were found with, without Spark's stack.

One law: an error of ours keeps its class; what Spark's own work met on the disk, and the death of one of
its processes, becomes one; anything else is a defect and is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from simulator import errors
from simulator.engines.spark.java import KILLED, LESS, death
from simulator.engines.spark.packed_errors import packed, unpacked
from simulator.engines.spark.python_version import OTHER_PYTHON

_NO_PYTHON = re.compile(r'java\.io\.IOException: Cannot run program "([^"]*)"')
_PYTHON_ENDED = re.compile(r"Error from python worker:\n(.*?)\n *PYTHONPATH was:", re.DOTALL)

_LOST = re.compile(r"ExecutorLostFailure \((executor [^)]*)\)")

_GONE = "SparkContext was shut down"
_ENDING = re.compile(f"{_GONE}|stopped SparkContext")


SPARKS = (PySparkException, Py4JError)
"""What Spark raises here."""


class ProcessLost(errors.DeliveryError):
    """A process in which tasks of Spark ran is gone; Spark itself is there, and may be asked again."""


@contextmanager
def carrying() -> Iterator[None]:
    """Around Python of a Spark task: what of ours is raised there arrives at `translated`."""
    try:
        yield
    except errors.SimulatorError as error:
        raise RuntimeError(packed(type(error).__name__, str(error))) from None
    except MemoryError:
        full = f"the memory of a Python process of Spark is full: {LESS}"
        raise RuntimeError(packed("DeliveryError", full)) from None


@contextmanager
def translated() -> Iterator[None]:
    """Around work with Spark: raises what its tasks found wrong, and which of its processes died."""
    try:
        yield
    except (PySparkException, Py4JError, OSError, EOFError) as failure:
        text = _text(failure)
        error = unpacked(text) or _of_spark(text) or _of_java(failure, text)
        if error is None:
            raise
        raise error from None


def _text(failure: Exception) -> str:
    """An exception of Java asks Java for its text: one that is gone has none."""
    try:
        return str(failure)
    except (Py4JError, OSError, EOFError):
        return _GONE


def _of_spark(text: str) -> errors.SimulatorError | None:
    """What Spark says of a full disk or memory, of a process that it lost, of a Python that does not start."""
    if "No space left on device" in text:
        return errors.DeliveryError("No space left on device for Spark's own files: SPARK_LOCAL_DIRS says where else")
    if "OutOfMemoryError" in text:
        return errors.DeliveryError(f"the memory of Spark's Java is full: {LESS}")
    if lost := _LOST.search(text):
        return ProcessLost(f"a process of Spark was lost: {lost[1]}; {KILLED}")
    if no_python := _NO_PYTHON.search(text):
        return errors.UserError(f"a worker of Spark has no Python {no_python[1]!r}: {OTHER_PYTHON}")
    if ended := _PYTHON_ENDED.search(text):
        why = ended[1].strip().rpartition("\n")[2].strip()
        return errors.UserError(f"the Python of Spark's workers does not start: {why}; {OTHER_PYTHON}")
    if "Python worker exited unexpectedly" in text:
        return ProcessLost(f"a Python process of Spark was killed, or crashed: {KILLED}")
    if "Python worker failed to connect back" in text:
        return ProcessLost("a Python process of Spark did not start in time: the machine may be too busy")
    return None


def _of_java(failure: Exception, text: str) -> errors.SimulatorError | None:
    """How Spark's Java ended, if it did: whatever was asked of it meanwhile fails in its own way."""
    answered = isinstance(failure, (PySparkException, Py4JJavaError)) and not _ENDING.search(text)
    how = None if answered else death()
    return errors.DeliveryError(how) if how is not None else None
