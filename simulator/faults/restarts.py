"""Restarts from the checkpoint: of TiCDC, or of a table that moves to another node.

What is sent again lies above every watermark that was sent, and keeps its order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import DDL, ROW, ints
from simulator.faults.active import ActiveFault, EventPiece, FaultContext, Renumbering, lowest_checkpoint, matching_rows
from simulator.faults.fault import AFTER_ROWS_KEY, BACK_KEY, TABLE_KEY
from simulator.faults.kind import KAFKA, STORAGE, FaultKind


class Restart(ActiveFault):
    def begin(self) -> Iterator[EventPiece]:
        self.over = True
        return restart_events(self.context)


class RestartAmongRows(ActiveFault):
    """Restarts after some rows of a transaction, at the latest after its last one."""

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self._left: int = context.fault.values[AFTER_ROWS_KEY.field]

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        if self.over or piece.kind != ROW:
            yield piece
            return
        own = np.flatnonzero(ints(piece.events, "commit_ts") < tso.compose(self.context.fault.at_ms + 1))
        self._left -= len(own)
        if self._left > 0 and len(own) == piece.events.num_rows:
            yield piece
            return
        end = int(own[min(self._left, 0) - 1]) + 1 if len(own) else 0
        if end:
            yield replace(piece, events=piece.events.slice(0, end))
        yield from self._restart()

    def later(self, commit_ts: int) -> Iterator[EventPiece]:
        if not self.over and tso.physical(commit_ts) > self.context.fault.at_ms:
            yield from self._restart()

    def end(self) -> Iterator[EventPiece]:
        if not self.over:
            yield from self._restart()

    def _restart(self) -> Iterator[EventPiece]:
        """Yield everything above the checkpoint, with the rows that the transaction still has."""
        self.over = True
        yield from restart_events(self.context)


def restart_events(context: FaultContext) -> Iterator[EventPiece]:
    """Yield what a changefeed sends when it starts from the checkpoint: the watermark, statements at the checkpoint,
    and everything above.

    The watermark is repeated because TiCDC keeps the last one in memory (tiflow: cdc/owner/ddl_sink.go
    writeCheckpointTs; ticdc has no such guard). Classic TiCDC reads statements from one below the checkpoint on
    (cdc/owner/changefeed.go ddlStartTs).
    """
    spec, history = context.spec, context.history
    history.advance_to(lowest_checkpoint(history.last_statement, context.release))
    if spec.control_events.watermarks and history.checkpoint > history.start_ts:
        watermark = spec.control_events.watermark(history.checkpoint, range(spec.destinations.total))
        if watermark.num_rows:
            yield EventPiece(watermark, apart=True)
    rows: list[pa.RecordBatch] = []
    for events in history.resend(spec, context.release.statement_again_at_checkpoint):
        if int(events["kind"][0].as_py()) == DDL:
            yield from _joined_piece(rows)
            yield EventPiece(events, apart=True)
            rows = []
        else:
            rows.append(events)
    yield from _joined_piece(rows)


def _joined_piece(rows: list[pa.RecordBatch]) -> Iterator[EventPiece]:
    if rows:
        yield EventPiece(pa.concat_batches(rows), apart=True)


class MoveTable(ActiveFault):
    """Repeats the rows of a table above the checkpoint, among the next rows of others or before the next control event."""

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self._repeated: list[pa.RecordBatch] = []

    def begin(self) -> Iterator[EventPiece]:
        every = self.context.history.resend(self.context.spec, False)
        rows = (events.filter(pa.array(matching_rows(events, self.context))) for events in every)
        self._repeated = [events for events in rows if events.num_rows]
        self.over = not self._repeated
        yield from ()

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        again, self._repeated = self._repeated, []
        self.over = True
        if again and piece.kind == ROW:
            yield EventPiece(self._interleave(pa.concat_batches(again), piece.events), apart=True)
            return
        if again:
            yield EventPiece(pa.concat_batches(again), apart=True)
        yield piece

    def end(self) -> Iterator[EventPiece]:
        again, self._repeated = self._repeated, []
        if again:
            yield EventPiece(pa.concat_batches(again), apart=True)

    def renumber(self, moved: Renumbering) -> None:
        self._repeated = [*map(moved, self._repeated)]

    def _interleave(self, again: pa.RecordBatch, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Interleave the rows of the table with the others. Both keep their order."""
        both = pa.concat_batches([again, rows])
        own = matching_rows(both, self.context)
        lies = np.zeros(both.num_rows, np.bool_)
        lies[self.context.random.choice(both.num_rows, int(own.sum()), replace=False)] = True
        order = np.empty(both.num_rows, np.int64)
        order[lies], order[~lies] = np.flatnonzero(own), np.flatnonzero(~own)
        return both.take(pa.array(order))


def _restart(context: FaultContext) -> ActiveFault:
    return (RestartAmongRows if AFTER_ROWS_KEY.field in context.fault.values else Restart)(context)


RESTART = FaultKind(
    says="TiCDC ends and starts again from its checkpoint: what is above it comes again, statements included.",
    source="tiflow#12595, ticdc#4051; tiflow: cdc/owner/changefeed.go initialize",
    active=_restart,
    keys={"back": BACK_KEY},
    sinks=(KAFKA, STORAGE),
)

MOVE_TABLE = FaultKind(
    says="A table goes to another node: its rows above the checkpoint come again, among those of other tables.",
    source="ticdc#5508, #4051, #4130, #3040",
    active=MoveTable,
    keys={"table": replace(TABLE_KEY, says="The table, such as shop.item.")},
    needs=("table",),
    sinks=(KAFKA, STORAGE),
)
