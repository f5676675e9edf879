"""Faults of the order in which a consumer gets events.

* `late-partition`: a consumer receives one partition later than the others. The partition keeps its order. A statement
  waits until the partition has everything older.
* `table-order`: rows of different tables come out of commit-ts order, as TiCDC's workers send them. Rows of one partition
  key keep their order, and no row passes a control event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import limits, tso
from simulator.columns.change_frame import DDL, ROW, Ints, ints
from simulator.engines.tasks import TaskSpec
from simulator.errors import did_you_mean
from simulator.faults.fault import (
    FOR_KEY,
    TOPIC_KEY,
    ActiveFault,
    EventPiece,
    FaultContext,
    Renumbering,
    moved,
    number_from,
)
from simulator.faults.kind import IN_TRANSIT, FaultKind, release_and_protocol
from simulator.settings import DURATION, Key, to_duration_ms
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.ticdc.flush import GroupKeys
from simulator.ticdc.rules import ChangefeedRules


class LatePartition(ActiveFault):
    """Holds the events of the partition until they are due."""

    awaits = True

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self._held: list[tuple[int, pa.RecordBatch]] = []

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        if piece.kind == DDL:
            yield from self.end()
            yield EventPiece(piece.events, apart=True)
            return
        values, commit_ts = self.context.fault.values, ints(piece.events, "commit_ts")
        late = ints(piece.events, "destination") == _destination(values, self.context.spec)
        if late.any():
            due = tso.compose(tso.physical(int(commit_ts[late].max())) + values["by_ms"])
            self._held.append((due, piece.events.filter(pa.array(late))))
            self.awaits = False
        if not late.all():
            yield moved(piece, piece.events.filter(pa.array(~late)))

    def later(self, commit_ts: int) -> Iterator[EventPiece]:
        due = int(np.searchsorted([at for at, _ in self._held], commit_ts, "right"))
        yield from self._released(due)

    def end(self) -> Iterator[EventPiece]:
        yield from self._released(len(self._held))

    def _released(self, count: int) -> Iterator[EventPiece]:
        released, self._held = self._held[:count], self._held[count:]
        for _, events in released:
            yield EventPiece(events, apart=True)

    def renumber(self, moved: Renumbering) -> None:
        self._held = [(due, moved(events)) for due, events in self._held]


def _destination(values: Mapping[str, Any], spec: TaskSpec) -> int:
    """Return the destination of the partition and topic of a fault; -1 if there is none."""
    to = spec.destinations
    topic = values.get(TOPIC_KEY.field, to.topics[0])
    if topic not in to.topics or not values["partition"] < to.counts[to.topics.index(topic)]:
        return -1
    return int(to.of_topic(topic)[values["partition"]])


def _refuse_partition(values: Mapping[str, Any], to: Destinations) -> str:
    topic = values.get(TOPIC_KEY.field, to.topics[0])
    if topic not in to.topics:
        return f"topic = {topic}: there is no such topic.{did_you_mean(topic, to.topics)} Known: {', '.join(to.topics)}"
    count = to.counts[to.topics.index(topic)]
    if not values["partition"] < count:
        return f"partition = {values['partition']}: the topic has {count}, so that 0 to {count - 1} are accepted"
    return ""


LATE_PARTITION = FaultKind(
    says="A consumer gets one partition later than the others: its watermark stays behind, and the least one counts.",
    source="tiflow#5598",
    active=LatePartition,
    keys={
        "partition": Key("partition", *number_from(0, limits.PARTITIONS - 1), "Which one, from 0."),
        "by": Key("by_ms", to_duration_ms, DURATION, "How much later in simulated time."),
        "topic": TOPIC_KEY,
        "for": FOR_KEY,
    },
    needs=("partition", "by"),
    lacks=_refuse_partition,
    layer=IN_TRANSIT,
)


class TableOrder(ActiveFault):
    """Sends the first group of a flush last, and the others in any order."""

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        if piece.kind == ROW:
            piece = moved(piece, piece.events.take(pa.array(self._order(piece.events))))
        yield piece

    def _order(self, rows: pa.RecordBatch) -> Ints:
        spec = self.context.spec
        names = [(stored.table.schema, stored.table.name) for stored in spec.tables]
        keys = GroupKeys.of(spec.routes, names, spec.release, spec.control_events.barriers)
        to, table = ints(rows, "destination"), ints(rows, "table")
        code = np.select(
            [keys.by[table] == "table", keys.by[table] == "hash"],
            [keys.table[table], ints(rows, "dispatch_hash")],
            ints(rows, "commit_ts"),
        )
        window = _count_within(to) // keys.flush_rows
        cells = np.stack([to, window, code])
        _, first, group = np.unique(cells, axis=1, return_index=True, return_inverse=True)
        place = self.context.random.random(len(first))
        earliest = np.lexsort((first, window[first], to[first]))
        flushes = np.flatnonzero(np.append(True, np.diff(to[first][earliest]) | np.diff(window[first][earliest])))
        place[earliest[flushes]] = 1.0
        order: Ints = np.lexsort((np.arange(rows.num_rows), place[group.reshape(-1)], window, to))
        return order


def _count_within(values: Ints) -> Ints:
    """Return the number of equal values before each."""
    order = np.argsort(values, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(values[order]) != 0))
    counts = np.empty(len(values), np.int64)
    counts[order] = np.arange(len(values)) - np.repeat(begins, np.diff(np.append(begins, len(values))))
    return counts


def _refuse_order(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if rules.release.group_by_partition_key:
        return ""
    return (
        f"{release_and_protocol(rules)} sends the rows of a partition in the order of commit-ts; releases from 7.4 on, and the new "
        "architecture, group them by partition key"
    )


TABLE_ORDER = FaultKind(
    says="Inside a flush, rows of different tables (of different keys, where rows are dispatched by index-value or "
    "columns) come out of the order of commit-ts.",
    source="tiflow: cdc/sink/dmlsink/mq/worker.go batchEncodeRun; ticdc: downstreamadapter/sink/kafka/sink.go",
    active=TableOrder,
    keys={"for": FOR_KEY},
    refuse=_refuse_order,
)
