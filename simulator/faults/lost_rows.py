"""Illegal faults of placement: a row is lost, or sent to another partition. Everything else arrives as without them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints
from simulator.faults.active import ActiveFault, EventPiece, moved
from simulator.faults.keys import TABLE_KEY
from simulator.faults.kind import IN_TRANSIT, FaultKind
from simulator.faults.next_rows import find_next_row, without_event
from simulator.faults.refusals import refuse_one_partition
from simulator.ticdc.dispatch import Destinations


class LoseRow(ActiveFault):
    """Drops the next row."""

    awaits = True

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        place = None if self.over else find_next_row(piece.events, self.context)
        if place is None:
            yield piece
            return
        self.over = True
        left = without_event(piece.events, place)
        if left.num_rows:
            yield moved(piece, left)


class WrongPartition(ActiveFault):
    """Moves the next row whose topic has another partition."""

    awaits = True

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        place = None if self.over else find_next_row(piece.events, self.context)
        events = None if place is None else _move_partition(piece.events, place, self.context.spec.destinations)
        self.over |= events is not None
        yield piece if events is None else moved(piece, events)


def _move_partition(events: pa.RecordBatch, place: int, to: Destinations) -> pa.RecordBatch | None:
    """Move the event to the next partition of its topic; return None if the topic has only one."""
    destination = ints(events, "destination")
    topic, partition = to.where(int(destination[place]))
    if to.counts[topic] < 2:
        return None
    destination[place] = to.first[topic] + (partition + 1) % to.counts[topic]
    at = events.schema.get_field_index("destination")
    return events.set_column(at, events.schema.field(at), pa.array(destination.astype(np.int32)))


OF_TABLE = {"table": TABLE_KEY}

LOSE_ROW = FaultKind(
    says="The next row is left out.", source="tiflow#6488", active=LoseRow, legal=False, keys=OF_TABLE, layer=IN_TRANSIT
)
WRONG_PARTITION = FaultKind(
    says="The next row goes to the partition behind the one that its dispatcher says.",
    source="tiflow v8.5.3: cmd/kafka-consumer/writer.go checkPartition, which panics on such a row",
    active=WrongPartition,
    legal=False,
    keys=OF_TABLE,
    refuse=refuse_one_partition,
    layer=IN_TRANSIT,
)
