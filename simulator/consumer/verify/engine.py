"""Chooses where a verification works: in this process or on Spark. The findings are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from simulator.consumer.engines import in_process
from simulator.consumer.replay.frame import ImagePairSource, Report
from simulator.consumer.replay.neighbours import TableKnowledge
from simulator.engines.spark.calls import import_spark, spark_calls
from simulator.engines.spark.choice import chosen_master
from simulator.settings import IN_PROCESS
from simulator.signals import defer_signals

IN_PROCESS_BYTES = 256 << 20
"""Limit of records and snapshots that this process reads with `--master auto`."""

Result = TypeVar("Result")

Engine = Callable[[Sequence[ImagePairSource], TableKnowledge, int, Report], list[pa.RecordBatch]]
"""Takes sources, table knowledge, the number of examples and a report callback; returns the findings."""

Reader = Callable[[Sequence[ImagePairSource], Report], None]
"""Takes sources that yield nothing, and a callback for what they report."""


def master_of(master: str, size: int) -> str:
    """Return the given master; for `auto` choose one by the size of the input."""
    return chosen_master(master, size <= IN_PROCESS_BYTES)


def engine_title(master: str) -> str:
    return "in process" if master == IN_PROCESS else f"Spark, {master}"


def engine_of(master: str, size: int) -> Engine:
    if master == IN_PROCESS:
        return in_process.replay_in_process
    return lambda sources, expected, show, report: with_spark(
        master, size, lambda session: _on_spark(session, size, sources, expected, show, report)
    )


def reader_of(master: str, size: int) -> Reader:
    if master == IN_PROCESS:
        return in_process.read_in_process
    return lambda sources, report: with_spark(master, size, lambda session: _read_on_spark(session, sources, report))


def _read_on_spark(session: Any, sources: Sequence[ImagePairSource], report: Report) -> None:
    from simulator.consumer.engines import on_spark

    on_spark.read_on_spark(session, sources, report)


def _on_spark(
    session: Any, size: int, sources: Sequence[ImagePairSource], expected: TableKnowledge, show: int, report: Report
) -> list[pa.RecordBatch]:
    from simulator.consumer.engines import on_spark

    findings: list[pa.RecordBatch] = on_spark.replay_on_spark(session, sources, expected, show, report, size)
    return findings


def with_spark(master: str, size: int, work_on: Callable[[Any], Result], jars: Sequence[Path] = ()) -> Result:
    """Return the result of `work_on`, called with a Spark session; a signal stops it."""
    spark = import_spark()
    with defer_signals():  # an import that a signal ends midway leaves half a module behind
        from simulator.consumer.engines import on_spark  # noqa: F401

    def work() -> Result:
        return work_on(spark.session(master, size, jars, sends=False))

    with spark_calls() as start:
        result: Result = start(work).result()
        return result
