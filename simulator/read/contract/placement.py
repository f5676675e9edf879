"""Points 1, 4, 5 and 6: where messages must be, and how large those of rows may be.

Partitions are kept as bits of one number per watermark and per statement; the end of the stream shows what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simulator.errors import UserError
from simulator.read.contract.stream import Checker, Message, Violation, at, each, place_of
from simulator.read.contract.stream_spec import StreamSpec
from simulator.read.decode import DdlEvent, LEAVING, RowEvent, Watermark, time_of
from simulator.read.records import Place


def destinations(spec: StreamSpec) -> Checker:
    def step(message: Message | None) -> Iterator[Violation]:
        for event in message.events if message else ():
            if message and isinstance(event, RowEvent):
                yield from _misplaced(message, event, spec)
    return step


def _misplaced(message: Message, event: RowEvent, spec: StreamSpec) -> Iterator[Violation]:
    name = f"{event.schema}.{event.table}"
    table = spec.table(event)
    if table is None:
        yield at(1, message, f"a row of {name}, a table the run does not have")
        return
    try:
        wanted = spec.destination(event, table)
    except UserError as error:
        yield at(1, message, f"a row of {name} cannot be dispatched: {error}")
        return
    if wanted is not None and wanted != place_of(message):
        yield at(1, message, f"a row of {name} that belongs in {wanted[0]}/{wanted[1]}")


def watermarks_everywhere(spec: StreamSpec) -> Checker:
    """Point 4: a watermark is in every partition of every topic that is active by then; canal-json needs the extension.

    A topic that ends with DROP or RENAME TABLE may have no more. The last watermark of a finished run covers every row.
    """
    marks: dict[int, dict[str, int]] = {}
    last: dict[Place, int] = {}
    active: dict[str, int] = {}
    ends: dict[str, tuple[int, bool]] = {}

    def step(message: Message | None) -> Iterator[Violation]:
        for message, event, _ in each(message):
            ts = time_of(event)
            active[message.topic] = min(ts, active.get(message.topic, ts))
            if isinstance(event, Watermark):
                bits = marks.setdefault(ts, {})
                bits[message.topic] = bits.get(message.topic, 0) | 1 << message.partition
                if not spec.watermarks:
                    yield at(4, message, f"watermark {ts} in a stream that has none: enable-tidb-extension is off")
                continue
            end = ts, isinstance(event, DdlEvent) and event.type in LEAVING
            ends[message.topic] = max(end, ends.get(message.topic, end))
            if isinstance(event, RowEvent):
                last[place_of(message)] = max(ts, last.get(place_of(message), -1))
        if message is None and spec.watermarks:
            until = {topic: ts for topic, (ts, dropped) in ends.items() if dropped}
            yield from _missing_marks(marks, active, until, spec)
            if spec.finished:
                yield from _uncovered(last, max(marks, default=-1))
    return step


def ddl_everywhere(spec: StreamSpec) -> Checker:
    """Point 5: DDL is in every partition of its topic; canal-json's in partition 0 only."""
    seen: dict[tuple[str, DdlEvent], int] = {}

    def step(message: Message | None) -> Iterator[Violation]:
        for message, event, _ in each(message):
            if isinstance(event, DdlEvent):
                key = message.topic, event
                seen[key] = seen.get(key, 0) | 1 << message.partition
                if message.partition and not spec.ddl_in_every_partition:
                    yield at(5, message, f"DDL outside partition 0: {event.query}")
        for (topic, ddl), bits in seen.items() if message is None else ():
            wanted = spec.partitions[topic] if spec.ddl_in_every_partition else 1
            for partition in _unset(bits, wanted):
                yield Violation(5, topic, partition, None, f"no DDL at {time_of(ddl)}: {ddl.query}")
    return step


def _missing_marks(
    marks: Mapping[int, Mapping[str, int]], active: Mapping[str, int], until: Mapping[str, int], spec: StreamSpec,
) -> Iterator[Violation]:
    for ts, bits in marks.items():
        for topic, since in active.items():
            if topic in bits or since <= ts <= until.get(topic, ts):
                for partition in _unset(bits.get(topic, 0), spec.partitions[topic]):
                    yield Violation(4, topic, partition, None, f"no watermark {ts}, which other partitions have")


def _uncovered(last: Mapping[Place, int], mark: int) -> Iterator[Violation]:
    for (topic, partition), ts in last.items():
        if ts > mark:
            yield Violation(4, topic, partition, None, f"no watermark covers the row at {ts}")


def _unset(bits: int, partitions: int) -> list[int]:
    return [partition for partition in range(partitions) if not bits >> partition & 1]


def sizes(spec: StreamSpec) -> Checker:
    def step(message: Message | None) -> Iterator[Violation]:
        if message is None or not all(isinstance(event, RowEvent) for event in message.events):
            yield from _mixed(message)
            return
        if message.size > spec.max_message_bytes and not (spec.large_rows and len(message.events) == 1):
            yield at(6, message, f"{message.size} bytes, more than max-message-bytes = {spec.max_message_bytes}")
        if len(message.events) > spec.max_batch_size:
            yield at(6, message, f"{len(message.events)} events, more than max-batch-size = {spec.max_batch_size}")
    return step


def _mixed(message: Message | None) -> Iterator[Violation]:
    if message is not None and len(message.events) > 1:
        yield at(6, message, "a DDL or watermark that shares its message")
