"""Faults of control events on their way to all partitions.

They are an interrupted broadcast, which is repeated in full before anything newer is sent; a repeated watermark; a
checkpoint that stands still; and, of protocols whose rows name a table schema, a BOOTSTRAP that does not come, which
is illegal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simulator import limits
from simulator.columns.change_frame import BOOTSTRAP, DDL, WATERMARK, ints
from simulator.engines.tasks.messages import FlushMessages
from simulator.errors import UserError
from simulator.faults.active import ActiveFault, EventPiece, moved, of_table
from simulator.faults.fault import FOR_KEY, PARTITIONS_KEY, number_from
from simulator.faults.kind import (
    KAFKA,
    OF_TABLE,
    STORAGE,
    FaultKind,
    illegal_fault,
    refuse_without_watermarks,
    release_and_protocol,
)
from simulator.faults.restarts import restart_events
from simulator.settings import Key
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.dispatch import Destinations
from simulator.ticdc.rules import ChangefeedRules

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
