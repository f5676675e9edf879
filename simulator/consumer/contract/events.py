"""A decoded batch as arrays that the checks work on, with numbers for its tables that stay the same in a partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Mask
from simulator.columns.change_frame import ROW, WATERMARK, Ints
from simulator.consumer.contract.summary import Statement
from simulator.consumer.contract.violations import Tally, new_violation
from simulator.consumer.frame import Layout
from simulator.consumer.records import TopicPartition

NEVER = np.int64(-1)


@dataclass(frozen=True)
class EventArrays:
    """DECODED as arrays; rows of `rows` are places in them."""

    batch: pa.RecordBatch
    layouts: Sequence[Layout]
    offset: Ints
    ts: Ints
    kind: Ints
    exact: Mask
    layout: Ints
    """-1 for what is no row."""

    table: Ints
    """Number of `db.table`; -1 for what is no row."""

    names: Sequence[str]
    """By that number."""

    low: Ints
    """The highest watermark before each event, -1 before the first; one more for what is behind the batch."""

    @property
    def rows(self) -> Ints:
        return np.flatnonzero(self.kind == ROW)

    def at(self, kind: int) -> Ints:
        return np.flatnonzero(self.kind == kind)

    def statement(self, at: int) -> Statement:
        values = (self.batch.column(name)[at].as_py() or "" for name in ("schema", "table", "text", "type"))
        return Statement(int(self.ts[at]), *values)

    def name(self, at: int) -> str:
        """`db.table` of a row."""
        return self.names[int(self.table[at])]


class TableNumbers:
    """Numbers of `db.table` and what they stand for."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.schemas: list[tuple[str, str]] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._by_layout: list[int] = []

    def of(self, schema: str, table: str) -> int:
        number = self._numbers.setdefault((schema, table), len(self.names))
        if number == len(self.names):
            self.names.append(f"{schema}.{table}")
            self.schemas.append((schema, table))
        return number

    def of_layouts(self, layouts: Sequence[Layout]) -> Ints:
        """By place of the layout; -1 behind the last, for what has none."""
        self._by_layout += [self.of(each.schema, each.table) for each in layouts[len(self._by_layout) :]]
        return np.array([*self._by_layout, -1], np.int64)


def event_arrays(batch: pa.RecordBatch, layouts: Sequence[Layout], names: TableNumbers, low: int) -> EventArrays:
    """The arrays of a batch; `low` is the highest watermark before it."""
    kind, ts = (np.asarray(batch.column(name), np.int64) for name in ("kind", "commit_ts"))
    layout = np.asarray(batch.column("layout").fill_null(-1), np.int64)
    marks = np.where(kind == WATERMARK, ts, NEVER)
    return EventArrays(
        batch,
        layouts,
        np.asarray(batch.column("offset"), np.int64),
        ts,
        kind,
        np.asarray(batch.column("exact").fill_null(False)),
        layout,
        names.of_layouts(layouts)[layout],
        names.names,
        np.maximum.accumulate(np.concatenate(([low], marks))),
    )


def report_violations(
    tally: Tally,
    check: str,
    place: TopicPartition,
    events: EventArrays,
    at: Ints,
    what: Callable[[int], str],
    by_table: bool = True,
) -> None:
    """Counts these events of a batch as wrong; words are made for those that are kept."""
    if not len(at):
        return
    tables = events.table[at] if by_table else np.full(len(at), -1)
    for number in np.unique(tables).tolist():
        found, name = at[tables == number], "" if number < 0 else events.names[number]
        kept = found[: tally.room(check, name)].tolist()
        for each in kept:
            tally.add(new_violation(check, place, int(events.offset[each]), what(each), name))
        tally.more(check, name, len(found) - len(kept))
