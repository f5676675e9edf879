"""The markers `slow` and `spark`: which tests carry them, and that tests that are not slow start nothing.

A test is slow if it uses Spark, Kafka, Flink, a registry or a process of its own, or takes a fifth of a second or more, so
that the others take about a minute together. Fixtures and markers show most of the former; the other slow tests are marked
where they stand. A test that is not slow and starts a process or imports pyspark fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

SPARK_FIXTURES = {"cluster", "spark"}
SPARK_FOLDERS = {"engines", "truth"}
"""Whose slow tests all use Spark, some in processes of their own."""

SLOW_FIXTURES = SPARK_FIXTURES | {"debezium_reader", "flink", "kafka", "kafka_directory", "pytester", "ticdc_broker"}
SLOW_MARKERS = {"interop", "kafka", "registry"}

STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
"""Audit events of a process that starts."""

JVM_LIBRARIES = {"py4j", "pyspark"}

_fast_test: str | None = None
"""The test that runs in this process, unless it is slow."""


def mark_slow_tests(items: list[pytest.Item]) -> None:
    """Mark every test that uses a slow fixture or carries a marker that implies `slow`, and those that use Spark."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & SLOW_FIXTURES or any(marker.name in SLOW_MARKERS for marker in item.iter_markers()):
            item.add_marker("slow")
        if fixtures & SPARK_FIXTURES or (item.path.parent.name in SPARK_FOLDERS and item.get_closest_marker("slow")):
            item.add_marker("spark")


@contextmanager
def guarded(item: pytest.Item) -> Iterator[None]:
    """While a test that is not slow runs, a process that starts and an import of pyspark are errors."""
    global _fast_test
    _fast_test = None if item.get_closest_marker("slow") else item.nodeid
    try:
        yield
    finally:
        _fast_test = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _fast_test is None:
        return
    if event in STARTS or (event == "import" and arguments[0] in JVM_LIBRARIES):
        raise RuntimeError(f"{_fast_test} is not marked slow: {event} {arguments[0]}")


sys.addaudithook(_audit)
