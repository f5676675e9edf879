"""The Java that Spark runs on: which one it is, and how it ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from pyspark import SparkContext

from simulator.errors import UserError

JAVA_MINIMUM = 17
"""Spark 4's."""

DEATH_WITHIN = 3.0
"""Seconds between the moment when Java does not answer any more and its end."""

OUT_OF_MEMORY = 52
"""Exit code of a Java whose heap is full (Spark 4.1: core/src/main/scala/org/apache/spark/util/SparkExitCode.scala)."""

LESS = "fewer tasks at a time need less (--master local[1]; on a cluster spark.cores.max)"

KILLED = f"the kernel does that when memory runs out (dmesg tells); give the machine or container more, or {LESS}"


def java_version() -> int:
    """Major version of the Java that Spark will use; raises UserError where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    wanted = f"Spark needs Java {JAVA_MINIMUM} or newer: install one, or point JAVA_HOME at it"
    if java is None:
        raise UserError(f"no Java found on PATH. {wanted}")
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30).stderr
    except OSError as error:
        raise UserError(f"Java does not start: {java}: {error.strerror}. {wanted}") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"Java does not answer: {java} -version took more than 30 s. {wanted}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    if found is None:
        raise UserError(f"Java does not say its version: {java} -version printed {text.strip()[:80]!r}. {wanted}")
    return int(found.group(1))


def death(within: float = DEATH_WITHIN) -> str | None:
    """How Spark's Java ended and what to do about it; None where it lives."""
    java = getattr(SparkContext._gateway, "proc", None)
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
