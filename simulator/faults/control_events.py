"""Restarts from the checkpoint, and faults of control events on their way to all partitions.

A restart is one of TiCDC, or of a table that moves to another node. What is sent again lies above every watermark that
was sent, and keeps its order. The others are an interrupted broadcast, which is repeated in full before anything newer is
sent; a repeated watermark; a checkpoint that stands still; and, of protocols whose rows name a table schema, a BOOTSTRAP
that does not come, which is illegal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import limits, tso
from simulator.columns.change_frame import BOOTSTRAP, DDL, ROW, WATERMARK, ints
from simulator.engines.tasks.messages import FlushMessages
from simulator.errors import UserError
from simulator.faults.fault import (
    AFTER_ROWS_KEY,
    BACK_KEY,
    FOR_KEY,
    PARTITIONS_KEY,
    TABLE_KEY,
    ActiveFault,
    EventPiece,
    FaultContext,
    Renumbering,
    lowest_checkpoint,
    matching_rows,
    moved,
    number_from,
    of_table,
)
from simulator.faults.kind import (
    KAFKA,
    OF_TABLE,
    STORAGE,
    FaultKind,
    illegal_fault,
    refuse_without_watermarks,
    release_and_protocol,
)
from simulator.settings import Key
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.ticdc.rules import ChangefeedRules


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


BROADCASTS = {"ddl": DDL, "watermark": WATERMARK}


class PartialBroadcast(ActiveFault):
    """Interrupts the next statement or watermark that goes to more partitions."""

    awaits = True

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        values = self.context.fault.values
        fits = piece.kind == BROADCASTS[values["broadcast"]] and piece.events.num_rows > values["partitions"]
        if self.over or not fits:
            yield piece
            return
        self.over = True
        yield moved(piece, piece.events.slice(0, values["partitions"]))
        yield from restart_events(self.context)


class RepeatWatermark(ActiveFault):
    """Repeats the last watermark at once. If there was none, it repeats the next one."""

    awaits = True

    def begin(self) -> Iterator[EventPiece]:
        history, spec = self.context.history, self.context.spec
        if history.checkpoint > history.start_ts:
            yield from self._again(
                EventPiece(spec.control_events.watermark(history.checkpoint, range(spec.destinations.total)))
            )

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        yield piece
        if piece.kind == WATERMARK and not self.over:
            yield from self._again(piece)

    def _again(self, piece: EventPiece) -> Iterator[EventPiece]:
        self.over = True
        for _ in range(self.context.fault.values.get("times", 1)):
            yield EventPiece(piece.events, apart=True)


class CheckpointLag(ActiveFault):
    """Suppresses watermarks while it lasts."""

    def begin(self) -> Iterator[EventPiece]:
        fault = self.context.fault
        self.context.history.hold(fault.at_ts, fault.until_ts - 1)
        yield from ()


def to_broadcast(value: object) -> str:
    """Parse the kind of broadcast; raise UserError."""
    if value not in BROADCASTS:
        raise UserError(f"expected one of {', '.join(BROADCASTS)}, got {value!r}")
    return str(value)


def _refuse_partial(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if values["broadcast"] == "watermark":
        return refuse_without_watermarks(values, rules)
    if CODECS[rules.changefeed.codec.protocol].broadcasts_ddl(rules.release):
        return ""
    return f"{release_and_protocol(rules)} sends a statement to partition 0 alone: nothing breaks off; of = watermark is accepted"


def _refuse_partitions(values: Mapping[str, Any], to: Destinations) -> str:
    of_ddl = values["broadcast"] == "ddl"
    most = max(to.counts) if of_ddl else sum(to.counts)
    if values["partitions"] < most:
        return ""
    problem = f"partitions = {values['partitions']}: a {'statement' if of_ddl else 'watermark'} goes to {most} in all"
    accepted = "1 is" if most == 2 else f"1 to {most - 1} are"
    return f"{problem}, so that {accepted} accepted" if most > 1 else f"{problem}: nothing breaks off"


PARTIAL_BROADCAST = FaultKind(
    says="TiCDC ends while it broadcasts the next statement or watermark, when some partitions have it; then it "
    "restarts, and it comes whole again.",
    source="tiflow#12595, PR#12596; tiflow: cdc/sink/ddlsink/mq/ddlproducer SyncBroadcastMessage",
    active=PartialBroadcast,
    keys={
        "of": Key("broadcast", to_broadcast, {"enum": list(BROADCASTS)}, "What breaks off: ddl or watermark."),
        "partitions": replace(PARTITIONS_KEY, says="How many partitions have it before TiCDC ends."),
    },
    needs=("of", "partitions"),
    refuse=_refuse_partial,
    lacks=_refuse_partitions,
)

REPEAT_WATERMARK = FaultKind(
    says="The last watermark comes again, in every partition.",
    source="tiflow#12595; ticdc: downstreamadapter/sink/kafka/sink.go AddCheckpointTs (no guard)",
    active=RepeatWatermark,
    keys={"times": Key("times", *number_from(1, limits.REPEATS), "How often; once where unsaid.")},
    refuse=refuse_without_watermarks,
)

CHECKPOINT_LAG = FaultKind(
    says="The checkpoint stands still: rows go on, watermarks do not come.",
    source="tiflow#9750, ticdc#6076; tiflow: cdc/owner/changefeed.go",
    active=CheckpointLag,
    keys={"for": FOR_KEY},
    needs=("for",),
    sinks=(KAFKA, STORAGE),
)


class LoseBootstrap(ActiveFault):
    """Drops the messages of BOOTSTRAP while it lasts. A message has one event, as nothing else is in its flush."""

    def messages(self, made: FlushMessages) -> Iterator[FlushMessages]:
        lost = (ints(made.events, "kind") == BOOTSTRAP) & of_table(made.events, self.context)
        if not lost.any():
            yield made
        elif not lost.all():
            yield made.single(np.flatnonzero(~lost))


def _refuse(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    options = rules.changefeed.codec
    if CODECS[options.protocol].bootstrap is None:
        return f"{release_and_protocol(rules)} sends no BOOTSTRAP"
    if min(options.send_bootstrap_interval_in_sec, options.send_bootstrap_in_msg_count) <= 0:
        return "the changefeed sends no BOOTSTRAP: both settings of its repetition must be above 0"
    return ""


LOSE_BOOTSTRAP = illegal_fault(
    says="BOOTSTRAP, which tells a table's schema, does not come.",
    source="tiflow#11032",
    active=LoseBootstrap,
    keys={**OF_TABLE, "for": FOR_KEY},
    refuse=_refuse,
)
