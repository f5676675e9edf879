"""Faults that no TiCDC shows, of rows and watermarks: a consumer's own checks are tried with them.

One law: everything else arrives as it would without them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import DDL, WATERMARK, ints
from simulator.run.faults.history import Renumbering
from simulator.run.faults.keys import TABLE_KEY
from simulator.run.faults.kind import Acting, FaultKind, Piece, Scene, WAY, moved
from simulator.run.faults.next_rows import (
    fitting_rows,
    next_row,
    on_one_partition,
    without_watermarks,
)
from simulator.run.faults.wrong_rows import behind, elsewhere, older_and_newer, without
from simulator.run.settings import DURATION, Key, to_duration_ms


class LoseRow(Acting):
    """The next row."""

    awaits = True

    def events(self, piece: Piece) -> Iterator[Piece]:
        place = None if self.over else next_row(piece.events, self.scene)
        if place is None:
            yield piece
            return
        self.over = True
        left = without(piece.events, place)
        if left.num_rows:
            yield moved(piece, left)


class RowBelowWatermark(Acting):
    """Holds the next row until its partition has had a watermark."""

    awaits = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._row: pa.RecordBatch | None = None

    def events(self, piece: Piece) -> Iterator[Piece]:
        events = piece.events
        if self._row is None and not self.over and (place := next_row(events, self.scene)) is not None:
            self._row = events.slice(place, 1)
            events = without(events, place)
        if events.num_rows:
            yield moved(piece, events)
        if self._row is not None and _is_watermark(events) and self._row["destination"][0] in events["destination"]:
            yield from self.end()

    def end(self) -> Iterator[Piece]:
        if self._row is not None:
            yield Piece(self._row)
            self._row, self.over = None, True

    def renumber(self, moved: Renumbering) -> None:
        self._row = None if self._row is None else moved(self._row)


class WatermarkFalls(Acting):
    """Behind the next watermark, in its first partition."""

    awaits = True

    def events(self, piece: Piece) -> Iterator[Piece]:
        yield piece
        if self.over or not _is_watermark(piece.events):
            return
        commit_ts, destination = (int(piece.events[name][0].as_py()) for name in ("commit_ts", "destination"))
        lower = commit_ts - tso.compose(self.scene.fault.values.get(BY_KEY.field, BY_MS))
        low = self.scene.job.marks.watermark(commit_ts, [destination])
        place = low.schema.get_field_index("commit_ts")
        yield Piece(low.set_column(place, low.schema.field(place), pa.array([lower], pa.int64())))
        self.over = True


class WrongPartition(Acting):
    """The next row whose topic has another partition."""

    awaits = True

    def events(self, piece: Piece) -> Iterator[Piece]:
        place = None if self.over else next_row(piece.events, self.scene)
        events = None if place is None else elsewhere(piece.events, place, self.scene.job.destinations)
        self.over |= events is not None
        yield piece if events is None else moved(piece, events)


class OldRowAfterNew(Acting):
    """The first row that changes twice: what has not been sent yet changes places, what has comes once more."""

    awaits = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._sent: list[pa.RecordBatch] = []

    def events(self, piece: Piece) -> Iterator[Piece]:
        events, sent = piece.events, sum(part.num_rows for part in self._sent)
        if self.over or ints(events, "kind")[0] in (DDL, WATERMARK):
            self._sent = []
            yield piece
            return
        all_rows = pa.concat_batches([*self._sent, events])
        pair = older_and_newer(all_rows, fitting_rows(all_rows, self.scene))
        self._sent.append(events)
        if pair is None:
            yield piece
            return
        self.over = True
        if pair.older >= sent:
            yield moved(piece, behind(events, pair.older - sent, pair.newer - sent))
        else:
            again = all_rows.slice(pair.older, 1)
            split = pair.newer - sent + 1
            yield moved(piece, pa.concat_batches([events.slice(0, split), again, events.slice(split)]))

    def renumber(self, moved: Renumbering) -> None:
        self._sent = [*map(moved, self._sent)]


def _is_watermark(events: pa.RecordBatch) -> bool:
    return bool(events.num_rows) and events["kind"][0].as_py() == WATERMARK


BY_MS = 1000
BY_KEY = Key("by_ms", to_duration_ms, DURATION, "How far it falls below the one before; 1s where unsaid.")
OF_TABLE = {"table": TABLE_KEY}

LOSE_ROW = FaultKind(
    says="The next row is left out.",
    source="tiflow#6488",
    acting=LoseRow, legal=False, keys=OF_TABLE, layer=WAY,
)
ROW_BELOW_WATERMARK = FaultKind(
    says="The next row comes behind the watermark that says that it has come.",
    source="tiflow v8.5.3: cmd/kafka-consumer/writer.go, which panics on such a row",
    acting=RowBelowWatermark, legal=False, keys=OF_TABLE, refuse=without_watermarks, layer=WAY,
)
WATERMARK_FALLS = FaultKind(
    says="Behind the next watermark comes a lower one, in its first partition.",
    source="tiflow#12096, tiflow PR#4129; tiflow v8.5.3: cmd/kafka-consumer/event_group.go",
    acting=WatermarkFalls, legal=False, keys={"by": BY_KEY}, refuse=without_watermarks, layer=WAY,
)
WRONG_PARTITION = FaultKind(
    says="The next row goes to the partition behind the one that its dispatcher says.",
    source="tiflow v8.5.3: cmd/kafka-consumer/writer.go checkPartition, which panics on such a row",
    acting=WrongPartition, legal=False, keys=OF_TABLE, refuse=on_one_partition, layer=WAY,
)
OLD_ROW_AFTER_NEW = FaultKind(
    says="Of a row that changes twice before the next watermark, the older change comes behind the newer one.",
    source="tiflow#11823 (sarama#2619), tiflow#11947, tiflow#11829",
    acting=OldRowAfterNew, legal=False, keys=OF_TABLE, layer=WAY,
)
