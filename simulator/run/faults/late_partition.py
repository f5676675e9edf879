"""The fault `late-partition`: a consumer gets one partition later than the others.

One law: the partition has everything in the same order, and a statement waits until it has all that is older.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import DDL, EVENTS, ints
from simulator.run.faults.active import ActiveFault, Context, Piece, moved
from simulator.run.faults.keys import FOR_KEY, FROM_0, TOPIC_KEY, to_number
from simulator.run.faults.kind import FaultKind, WAY
from simulator.run.job import Job
from simulator.run.settings import DURATION, Key, to_duration_ms
from simulator.ticdc.rules import ChangefeedRules


class LatePartition(ActiveFault):
    """Holds what the partition has not got yet, by when it will."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._held: list[tuple[int, pa.RecordBatch]] = []

    def events(self, piece: Piece) -> Iterator[Piece]:
        if piece.kind == DDL:
            yield from self.end()
            yield Piece(piece.events, apart=True)
            return
        values, commit_ts = self.context.fault.values, ints(piece.events, "commit_ts")
        late = ints(piece.events, "destination") == _destination(values, self.context.job)
        if late.any():
            due = tso.compose(tso.physical(int(commit_ts[late].max())) + values["by_ms"])
            self._held.append((due, piece.events.filter(pa.array(late))))
        if not late.all():
            yield moved(piece, piece.events.filter(pa.array(~late)))

    def later(self, commit_ts: int) -> Iterator[Piece]:
        due = int(np.searchsorted([at for at, _ in self._held], commit_ts, "right"))
        yield from self._released(due)

    def end(self) -> Iterator[Piece]:
        yield from self._released(len(self._held))

    def _released(self, count: int) -> Iterator[Piece]:
        released, self._held = self._held[:count], self._held[count:]
        now = _destination(self.context.fault.values, self.context.job)
        place = EVENTS.get_field_index("destination")
        for _, events in released:
            numbers = pa.array(np.full(events.num_rows, now), pa.int32())  # it may have another since a topic has grown
            yield Piece(events.set_column(place, EVENTS.field("destination"), numbers), apart=True)


def _destination(values: Mapping[str, Any], job: Job) -> int:
    """Of the partition and topic that a fault names; -1 where there is none."""
    to = job.destinations
    topic = values.get(TOPIC_KEY.field, to.topics[0])
    if topic not in to.topics or not values["partition"] < to.counts[to.topics.index(topic)]:
        return -1
    return int(to.of_topic(topic)[values["partition"]])


def _refuse(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    count = rules.changefeed.kafka.partition_num
    if count is not None and "topic" not in values and not values["partition"] < count:
        return f"partition = {values['partition']}: the topic has {count}, so that 0 to {count - 1} are accepted"
    return ""


LATE_PARTITION = FaultKind(
    says="A consumer gets one partition later than the others: its watermark stays behind, and the least one counts.",
    source="tiflow#5598",
    active=LatePartition,
    keys={
        "partition": Key("partition", to_number, FROM_0, "Which one, from 0."),
        "by": Key("by_ms", to_duration_ms, DURATION, "How much later in simulated time."),
        "topic": TOPIC_KEY,
        "for": FOR_KEY,
    },
    needs=("partition", "by"),
    refuse=_refuse,
    layer=WAY,
)
