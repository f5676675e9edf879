"""Illegal faults of delivery, which test a consumer's checks: rows and watermarks are lost, misplaced or out of order.

Everything else arrives as without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.cells import Mask
from simulator.columns.change_frame import DDL, WATERMARK, ints, picked, with_column
from simulator.columns.hashing import xxhash64
from simulator.faults.fault import (
    ActiveFault,
    EventPiece,
    FaultContext,
    Renumbering,
    find_next_row,
    matching_rows,
    moved,
    without_event,
)
from simulator.faults.kind import KAFKA, STORAGE, illegal_fault, refuse_without_watermarks
from simulator.settings import DURATION, Key, to_duration_ms
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.ticdc.rules import ChangefeedRules


class LoseRow(ActiveFault):
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
    return with_column(events, "destination", destination)


class RowBelowWatermark(ActiveFault):
    """Holds the next row until its partition has received a watermark."""

    awaits = True

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self._row: pa.RecordBatch | None = None

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        events = piece.events
        if self._row is None and not self.over and (place := find_next_row(events, self.context)) is not None:
            self._row = events.slice(place, 1)
            events = without_event(events, place)
        if events.num_rows:
            yield moved(piece, events)
        if self._row is not None and _is_watermark(events) and self._row["destination"][0] in events["destination"]:
            yield from self.end()

    def end(self) -> Iterator[EventPiece]:
        if self._row is not None:
            yield EventPiece(self._row)
            self._row, self.over = None, True

    def renumber(self, moved: Renumbering) -> None:
        self._row = None if self._row is None else moved(self._row)


class WatermarkFalls(ActiveFault):
    """Sends a lower watermark after the next one, in its first partition."""

    awaits = True

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        yield piece
        if self.over or not _is_watermark(piece.events):
            return
        commit_ts, destination = (int(piece.events[name][0].as_py()) for name in ("commit_ts", "destination"))
        lower = commit_ts - tso.compose(self.context.fault.values.get(BY_KEY.field, BY_MS))
        low = self.context.spec.control_events.watermark(commit_ts, [destination])
        yield EventPiece(with_column(low, "commit_ts", [lower]))
        self.over = True


class OldRowAfterNew(ActiveFault):
    """Swaps two changes of the first row that changes twice. If the older one was sent already, it is sent again."""

    awaits = True

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self._sent: list[pa.RecordBatch] = []

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        events, sent = piece.events, sum(part.num_rows for part in self._sent)
        if self.over or ints(events, "kind")[0] in (DDL, WATERMARK):
            self._sent = []
            yield piece
            return
        all_rows = pa.concat_batches([*self._sent, events])
        pair = _find_pair(all_rows, matching_rows(all_rows, self.context))
        self._sent.append(events)
        if pair is None:
            yield piece
            return
        self.over = True
        older, newer = pair
        if older >= sent:
            yield moved(piece, _move_behind(events, older - sent, newer - sent))
        else:
            again = all_rows.slice(older, 1)
            split = newer - sent + 1
            yield moved(piece, pa.concat_batches([events.slice(0, split), again, events.slice(split)]))

    def renumber(self, moved: Renumbering) -> None:
        self._sent = [*map(moved, self._sent)]


def _is_watermark(events: pa.RecordBatch) -> bool:
    return bool(events.num_rows) and events["kind"][0].as_py() == WATERMARK


def _move_behind(events: pa.RecordBatch, place: int, other: int) -> pa.RecordBatch:
    """Move the event at `place` behind the later one at `other`."""
    order = np.arange(events.num_rows)
    order[place:other] = order[place + 1 : other + 1]
    order[other] = place
    return picked(events, order)


def _find_pair(events: pa.RecordBatch, fitting: Mask) -> tuple[int, int] | None:
    """Return the indexes of the older and the newer of the first two changes of one row in one partition: the newer
    one's old image equals the older one's new image."""
    places = np.flatnonzero(fitting)
    rows = picked(events, places)
    of_place = xxhash64(*(ints(rows, name) for name in ("table", "destination")))
    old_image, new_image = (
        np.where(np.asarray(rows.column(name).is_valid()), xxhash64(of_place, rows.column(name)), 0)
        for name in ("before", "after")
    )
    there = np.flatnonzero(np.asarray(rows.column("after").is_valid()))
    there = there[np.argsort(new_image[there], kind="stable")]
    if not len(there):
        return None
    first = there[np.minimum(np.searchsorted(new_image[there], old_image), len(there) - 1)]
    newer = np.flatnonzero(
        (new_image[first] == old_image)
        & (first < np.arange(len(places)))
        & np.asarray(rows.column("before").is_valid())
    )
    return (int(places[first[newer[0]]]), int(places[newer[0]])) if len(newer) else None


def _refuse_one_partition(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    count = rules.changefeed.kafka.partition_num
    return "the topic has one partition: partition-num=2 or more is accepted" if count == 1 else ""


BY_MS = 1000
BY_KEY = Key("by_ms", to_duration_ms, DURATION, "How far it falls below the one before; 1s where unsaid.")

LOSE_ROW = illegal_fault("The next row is left out.", "tiflow#6488", LoseRow, sinks=(KAFKA, STORAGE))
WRONG_PARTITION = illegal_fault(
    says="The next row goes to the partition after the one that its dispatcher says.",
    source="tiflow v8.5.3: cmd/kafka-consumer/writer.go checkPartition, which panics on such a row",
    active=WrongPartition,
    refuse=_refuse_one_partition,
)
ROW_BELOW_WATERMARK = illegal_fault(
    says="The next row comes after the watermark that says that it has come.",
    source="tiflow v8.5.3: cmd/kafka-consumer/writer.go, which panics on such a row",
    active=RowBelowWatermark,
    refuse=refuse_without_watermarks,
    sinks=(KAFKA, STORAGE),
)
WATERMARK_FALLS = illegal_fault(
    says="After the next watermark comes a lower one, in its first partition.",
    source="tiflow#12096, tiflow PR#4129; tiflow v8.5.3: cmd/kafka-consumer/event_group.go",
    active=WatermarkFalls,
    keys={"by": BY_KEY},
    refuse=refuse_without_watermarks,
    sinks=(KAFKA, STORAGE),
)
OLD_ROW_AFTER_NEW = illegal_fault(
    says="Of a row that changes twice before the next watermark, the older change comes after the newer one.",
    source="tiflow#11823 (sarama#2619), tiflow#11947, tiflow#11829",
    active=OldRowAfterNew,
    sinks=(KAFKA, STORAGE),
)
