"""Where a verification works: in this process, or on Spark.

One law: what is found does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from simulator.consumer.engines import in_process
from simulator.consumer.replay.frame import ImagePairSource, Report
from simulator.consumer.replay.neighbours import TableKnowledge
from simulator.engines.spark.calls import spark_calls
from simulator.settings import IN_PROCESS, ON_SPARK
from simulator.signals import defer_signals

IN_PROCESS_BYTES = 256 << 20
"""Bytes of records and snapshots that this process reads where no --master is given."""

Result = TypeVar("Result")

Engine = Callable[[Sequence[ImagePairSource], TableKnowledge, int, Report], list[pa.RecordBatch]]
"""FINDINGS of all sources, so many examples of each, and who hears what sources tell."""


def master_of(given: str | None, size: int) -> str:
    """Where so many bytes are verified."""
    return given or (IN_PROCESS if size <= IN_PROCESS_BYTES else ON_SPARK)


def engine_title(master: str) -> str:
    """For people."""
    return "in process" if master == IN_PROCESS else f"Spark, {master}"


def engine_of(master: str, size: int) -> Engine:
    """For so many bytes of input."""
    if master == IN_PROCESS:
        return in_process.replay_in_process
    return lambda sources, expected, show, tell: with_spark(
        master, size, lambda session: _on_spark(session, size, sources, expected, show, tell)
    )


def _on_spark(
    session: Any, size: int, sources: Sequence[ImagePairSource], expected: TableKnowledge, show: int, tell: Report
) -> list[pa.RecordBatch]:
    from simulator.consumer.engines import on_spark

    found: list[pa.RecordBatch] = on_spark.replay_on_spark(session, sources, expected, show, tell, size)
    return found


def with_spark(master: str, size: int, done: Callable[[Any], Result], jars: Sequence[Path] = ()) -> Result:
    """What is done with a session of Spark; a signal ends it."""
    with defer_signals():  # an import that a signal ends midway leaves half a module behind
        from simulator.consumer.engines import on_spark  # noqa: F401
        from simulator.engines.spark import session as spark

    def work() -> Result:
        return done(spark.session(master, size, jars, sends=False))

    with spark_calls() as start:
        result: Result = start(work).result()
        return result
