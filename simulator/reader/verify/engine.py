"""Chooses where a verification works: in this process or on Spark. The findings are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from simulator.engines.spark.calls import import_spark, spark_calls
from simulator.engines.spark.choice import chosen_master
from simulator.reader.engines import in_process
from simulator.reader.replay.frame import ImagePairSource, Report
from simulator.reader.replay.row_rules import TableKnowledge
from simulator.settings import IN_PROCESS
from simulator.signals import defer_signals

IN_PROCESS_BYTES = 256 << 20
"""Limit of records and snapshots that this process reads with `--master auto`."""

Result = TypeVar("Result")

Replayer = Callable[[Sequence[ImagePairSource], TableKnowledge, int, Report], list[pa.RecordBatch]]
"""Takes sources, table knowledge, the number of examples and a report callback; returns the findings."""

Reader = Callable[[Sequence[ImagePairSource], Report], None]
"""Takes sources that yield nothing, and a callback for what they report."""


@dataclass(frozen=True)
class Engine:
    """Where a verification works."""

    master: str
    """Spark's master, or `none` for this process."""

    replay: Replayer
    read: Reader

    @property
    def title(self) -> str:
        return "in process" if self.master == IN_PROCESS else f"Spark, {self.master}"


def engine_of(master: str, size: int) -> Engine:
    """Return the engine of a master for an input of `size` bytes, which chooses what `auto` is."""
    chosen = chosen_master(master, size <= IN_PROCESS_BYTES)
    if chosen == IN_PROCESS:
        return Engine(chosen, in_process.replay_in_process, in_process.read_in_process)

    def replay(
        sources: Sequence[ImagePairSource], expected: TableKnowledge, show: int, report: Report
    ) -> list[pa.RecordBatch]:
        def work(session: Any) -> list[pa.RecordBatch]:
            from simulator.reader.engines import on_spark

            return on_spark.replay_on_spark(session, sources, expected, show, report, size)

        return with_spark(chosen, size, work)

    def read(sources: Sequence[ImagePairSource], report: Report) -> None:
        def work(session: Any) -> None:
            from simulator.reader.engines import on_spark

            on_spark.read_on_spark(session, sources, report)

        with_spark(chosen, size, work)

    return Engine(chosen, replay, read)


def with_spark(master: str, size: int, work_on: Callable[[Any], Result], jars: Sequence[Path] = ()) -> Result:
    """Return the result of `work_on`, called with a Spark session; a signal stops it."""
    spark = import_spark()
    with defer_signals():  # an import that a signal ends midway leaves half a module behind
        from simulator.reader.engines import on_spark  # noqa: F401

    def work() -> Result:
        return work_on(spark.session(master, size, jars, sends=False))

    with spark_calls() as start:
        result: Result = start(work).result()
        return result
