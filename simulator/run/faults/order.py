"""Faults of order: rows of different tables out of commit-ts order, as TiCDC's workers send them, and a table that
goes to another node.

One law: rows of one partition key keep their order, and none passes a watermark or a statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import Ints, ROW, ints
from simulator.run.faults.keys import FOR_KEY, TABLE_KEY, saying
from simulator.run.faults.history import Renumbering
from simulator.run.faults.kind import Acting, FaultKind, Piece, Scene, moved
from simulator.run.faults.next_rows import fitting_rows, spoken
from simulator.run.flush import GroupKeys
from simulator.ticdc.rules import ChangefeedRules


class TableOrder(Acting):
    """While it lasts, the first group of a flush comes last, and the others in any order."""

    def events(self, piece: Piece) -> Iterator[Piece]:
        if piece.kind == ROW:
            piece = moved(piece, piece.events.take(pa.array(self._order(piece.events))))
        yield piece

    def _order(self, rows: pa.RecordBatch) -> Ints:
        job = self.scene.job
        names = [(stored.table.schema, stored.table.name) for stored in job.tables]
        keys = GroupKeys.of(job.routes, names, job.release, job.marks.barriers)
        to, table = ints(rows, "destination"), ints(rows, "table")
        code = np.select(
            [keys.by[table] == "table", keys.by[table] == "hash"], [keys.table[table], ints(rows, "dispatch_hash")],
            ints(rows, "commit_ts"))
        window = _count_within(to) // keys.flush_rows
        cells = np.stack([to, window, code])
        _, first, group = np.unique(cells, axis=1, return_index=True, return_inverse=True)
        place = self.scene.random.random(len(first))
        earliest = np.lexsort((first, window[first], to[first]))
        flushes = np.flatnonzero(np.append(True, np.diff(to[first][earliest]) | np.diff(window[first][earliest])))
        place[earliest[flushes]] = 1.0
        found: Ints = np.lexsort((np.arange(rows.num_rows), place[group.reshape(-1)], window, to))
        return found


def _count_within(values: Ints) -> Ints:
    """How many equal values stand before each."""
    order = np.argsort(values, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(values[order]) != 0))
    counts = np.empty(len(values), np.int64)
    counts[order] = np.arange(len(values)) - np.repeat(begins, np.diff(np.append(begins, len(values))))
    return counts


class MoveTable(Acting):
    """Its rows above the checkpoint come again among the next rows of others, or before the next mark."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._again: list[pa.RecordBatch] = []

    def strike(self) -> Iterator[Piece]:
        every = self.scene.history.again(self.scene.job, False)
        rows = (events.filter(pa.array(fitting_rows(events, self.scene))) for events in every)
        self._again = [events for events in rows if events.num_rows]
        self.over = not self._again
        yield from ()

    def events(self, piece: Piece) -> Iterator[Piece]:
        again, self._again = self._again, []
        self.over = True
        if again and piece.kind == ROW:
            yield Piece(self._between(pa.concat_batches(again), piece.events), apart=True)
            return
        if again:
            yield Piece(pa.concat_batches(again), apart=True)
        yield piece

    def end(self) -> Iterator[Piece]:
        again, self._again = self._again, []
        if again:
            yield Piece(pa.concat_batches(again), apart=True)

    def renumber(self, moved: Renumbering) -> None:
        self._again = [*map(moved, self._again)]

    def _between(self, again: pa.RecordBatch, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The table's rows in their order, the others in theirs."""
        both = pa.concat_batches([again, rows])
        own = fitting_rows(both, self.scene)
        lies = np.zeros(both.num_rows, np.bool_)
        lies[self.scene.random.choice(both.num_rows, int(own.sum()), replace=False)] = True
        order = np.empty(both.num_rows, np.int64)
        order[lies], order[~lies] = np.flatnonzero(own), np.flatnonzero(~own)
        return both.take(pa.array(order))


def _refuse_order(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if rules.release.group_by_partition_key:
        return ""
    return (
        f"{spoken(rules)} sends the rows of a partition in the order of commit-ts; releases from 7.4 on, and the new "
        "architecture, group them by partition key")


TABLE_ORDER = FaultKind(
    says="Inside a flush, rows of different tables (of different keys, where rows are dispatched by index-value or "
    "columns) come out of the order of commit-ts.",
    source="tiflow: cdc/sink/dmlsink/mq/worker.go batchEncodeRun; ticdc: downstreamadapter/sink/kafka/sink.go",
    acting=TableOrder,
    keys={"for": FOR_KEY},
    refuse=_refuse_order,
)

MOVE_TABLE = FaultKind(
    says="A table goes to another node: its rows above the checkpoint come again, among those of other tables.",
    source="ticdc#5508, #4051, #4130, #3040",
    acting=MoveTable,
    keys={"table": saying(TABLE_KEY, "The table, such as shop.item.")},
    needs=("table",),
)
