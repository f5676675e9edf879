"""How the Java that Spark runs on ended."""

from __future__ import annotations

import signal
import subprocess

from pyspark import SparkContext

DEATH_WITHIN = 3.0
"""Seconds between Java's last answer and its end."""

OUT_OF_MEMORY = 52
"""Exit code of a Java whose heap is full (Spark 4.1: core/src/main/scala/org/apache/spark/util/SparkExitCode.scala)."""

LESS = "fewer tasks at a time need less (--master local[1]; on a cluster spark.cores.max)"

KILLED = f"the kernel does that when memory runs out (dmesg tells); give the machine or container more, or {LESS}"


def java_death(within: float = DEATH_WITHIN) -> str | None:
    """Return how Spark's Java ended and what to do about it; None if it runs."""
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
