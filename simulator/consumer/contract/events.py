"""A decoded batch as NumPy arrays for the checks. Table numbers are stable within a partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Mask
from simulator.columns.change_frame import ROW, WATERMARK, Ints
from simulator.consumer.contract.summary import Statement
from simulator.consumer.contract.violations import ViolationCounter, new_violation
from simulator.consumer.frame import Layout
from simulator.consumer.records import TopicPartition

NEVER = np.int64(-1)


@dataclass(frozen=True)
class EventArrays:
    """The events of a batch (EVENT_SCHEMA) as arrays; `rows` has the indexes of row changes."""

    batch: pa.RecordBatch
    layouts: Sequence[Layout]
    offset: Ints
    ts: Ints
    kind: Ints
    exact: Mask
    layout: Ints
    """-1 for other events."""

    table: Ints
    """Number of `db.table`; -1 for other events."""

    names: Sequence[str]
    """`db.table` by number."""

    low: Ints
    """The highest watermark before each event, -1 for none; one element more, for the event after the batch."""

    @property
    def rows(self) -> Ints:
        return np.flatnonzero(self.kind == ROW)

    def at(self, kind: int) -> Ints:
        return np.flatnonzero(self.kind == kind)

    def statement(self, at: int) -> Statement:
        values = (self.batch.column(name)[at].as_py() or "" for name in ("schema", "table", "text", "type"))
        return Statement(int(self.ts[at]), *values)

    def name(self, at: int) -> str:
        """Return `db.table` of a row."""
        return self.names[int(self.table[at])]


class TableNumbers:
    """Assigns numbers to table names."""

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
        """Return the table number by layout index, followed by -1 for events without a layout."""
        self._by_layout += [self.of(each.schema, each.table) for each in layouts[len(self._by_layout) :]]
        return np.array([*self._by_layout, -1], np.int64)


def event_arrays(batch: pa.RecordBatch, layouts: Sequence[Layout], names: TableNumbers, low: int) -> EventArrays:
    """Convert a batch; `low` is the highest watermark before it."""
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
    tally: ViolationCounter,
    check: str,
    place: TopicPartition,
    events: EventArrays,
    at: Ints,
    describe: Callable[[int], str],
    by_table: bool = True,
) -> None:
    """Count these events of a batch as violations; descriptions are made only for those that are kept."""
    if not len(at):
        return
    tables = events.table[at] if by_table else np.full(len(at), -1)
    for number in np.unique(tables).tolist():
        found, name = at[tables == number], "" if number < 0 else events.names[number]
        kept = found[: tally.room(check, name)].tolist()
        for each in kept:
            tally.add(new_violation(check, place, int(events.offset[each]), describe(each), name))
        tally.more(check, name, len(found) - len(kept))
