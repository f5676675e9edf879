"""Carry errors from Spark tasks to the driver, without Spark's stack.

A `SimulatorError` keeps its class and text. Full disks and lost processes become a `DeliveryError`. Any other exception
is a defect and propagates unchanged.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from simulator import errors
from simulator.engines.spark import internals
from simulator.engines.spark.workers import OTHER_PYTHON, pack_error, unpack_error

DEATH_WITHIN = 3.0
"""Seconds between Java's last answer and its end."""

OUT_OF_MEMORY = 52
"""Exit code of a Java whose heap is full (Spark 4.1: core/src/main/scala/org/apache/spark/util/SparkExitCode.scala)."""

LESS = "fewer tasks at a time need less (--master local[1]; on a cluster spark.cores.max)"

KILLED = f"the kernel does that when memory runs out (dmesg tells); give the machine or container more, or {LESS}"

UNRELATED = "unrelated to the running tasks"
ELSEWHERE = "its worker was lost, or the machine (the log of Spark's master tells)"
"""What Spark says of the end of an executor that its worker did not see, and what that comes from."""

_NO_PYTHON = re.compile(r'java\.io\.IOException: Cannot run program "([^"]*)"')
_PYTHON_ENDED = re.compile(r"Error from python worker:\n(.*?)\n *PYTHONPATH was:", re.DOTALL)

_LOST = re.compile(r"ExecutorLostFailure \((executor [^)]*)\)")

_LOST_FILES = re.compile(r"FetchFailed|has failed the maximum allowable number of times")
"""A task did not find what an executor had written for it, and Spark does not run that again."""

_TOO_FEW = re.compile(r"SPARK-24819|cancelled as part of cancellation of all jobs")
"""A barrier stage has more tasks than the executors that are left take; or there was none for long (`session.py`)."""

NO_EXECUTOR = (
    "Spark has lost executors and got no others for a minute: its workers are gone, or have no free cores or memory"
)

_GONE = "SparkContext was shut down"
_ENDING = re.compile(f"{_GONE}|stopped SparkContext")


SPARK_ERRORS = (PySparkException, Py4JError)
"""What calls to Spark raise."""


class ProcessLost(errors.DeliveryError):
    """A process that ran tasks of Spark is lost; Spark itself still works."""


@contextmanager
def wrap_errors() -> Iterator[None]:
    """Wrap the Python of a Spark task: `unwrap_errors` raises its SimulatorErrors again in the driver."""
    try:
        yield
    except errors.SimulatorError as error:
        raise RuntimeError(pack_error(type(error).__name__, str(error))) from None
    except MemoryError:
        full = f"the memory of a Python process of Spark is full: {LESS}"
        raise RuntimeError(pack_error("DeliveryError", full)) from None


@contextmanager
def unwrap_errors() -> Iterator[None]:
    """Wrap calls to Spark: raise the SimulatorErrors of its tasks, and DeliveryErrors for processes that died."""
    try:
        yield
    except (PySparkException, Py4JError, OSError, EOFError) as failure:
        text = _text(failure)
        error = unpack_error(text) or _spark_failure(text) or _java_failure(failure, text)
        if error is None:
            raise
        raise error from None


def _text(failure: Exception) -> str:
    """Return the text of an exception; py4j asks Java for it, which may have ended."""
    try:
        return str(failure)
    except (Py4JError, OSError, EOFError):
        return _GONE


def _spark_failure(text: str) -> errors.SimulatorError | None:
    """Return the error for a full disk or memory, a lost process, or a Python that does not start."""
    if "No space left on device" in text:
        return errors.DeliveryError("No space left on device for Spark's own files: SPARK_LOCAL_DIRS says where else")
    if "OutOfMemoryError" in text:
        return errors.DeliveryError(f"the memory of Spark's Java is full: {LESS}")
    if lost := _LOST.search(text):
        why = ELSEWHERE if lost[1].endswith(UNRELATED) else KILLED
        return ProcessLost(f"a process of Spark was lost: {lost[1]}; {why}")
    if _TOO_FEW.search(text):
        return errors.DeliveryError(NO_EXECUTOR)
    if no_python := _NO_PYTHON.search(text):
        return errors.UserError(f"a worker of Spark has no Python {no_python[1]!r}: {OTHER_PYTHON}")
    if ended := _PYTHON_ENDED.search(text):
        why = ended[1].strip().rpartition("\n")[2].strip()
        return errors.UserError(f"the Python of Spark's workers does not start: {why}; {OTHER_PYTHON}")
    if "Python worker exited unexpectedly" in text:
        return ProcessLost(f"a Python process of Spark was killed, or crashed: {KILLED}")
    if "Python worker failed to connect back" in text:
        return ProcessLost("a Python process of Spark did not start in time: the machine may be too busy")
    if _LOST_FILES.search(text):
        return ProcessLost("a process of Spark was lost, and with it what it had read and compared")
    return None


def _java_failure(failure: Exception, text: str) -> errors.SimulatorError | None:
    """Return the error for the end of Spark's Java, if it ended: every call fails in its own way then."""
    answered = isinstance(failure, (PySparkException, Py4JJavaError)) and not _ENDING.search(text)
    how = None if answered else java_death()
    return errors.DeliveryError(how) if how is not None else None


def java_death(within: float = DEATH_WITHIN) -> str | None:
    """Return how Spark's Java ended and what to do about it; None if it runs."""
    java = internals.java_process()
    if java is None:
        return None
    try:
        code = java.wait(within)
    except subprocess.TimeoutExpired:
        return None
    if code == -signal.SIGKILL:
        return f"Spark's Java was killed: {KILLED}"
    if code == OUT_OF_MEMORY:
        return f"the memory of Spark's Java is full: {LESS}"
    number = -code if code < 0 else code - 128
    how = signal.Signals(number).name if number in set(signal.Signals) else f"exit code {code}"
    return f"Spark's Java ended while it was needed ({how})"
