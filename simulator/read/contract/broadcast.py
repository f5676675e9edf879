"""Points 4 and 5: what must reach every partition does.

Partitions are kept as bits of one number per watermark and per statement; the end of the stream shows what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simulator.read.contract.messages import Message, Step, Terms, Violation, at, each, place_of
from simulator.read.contract.repeats import Place, time_of
from simulator.read.decode import DdlEvent, RowEvent, Watermark

DROP_TABLE = (4, "ERASE")
"""Its type in Open Protocol and in canal."""


def watermarks_everywhere(terms: Terms) -> Step:
    """Point 4: a watermark is in every partition of every topic that is active by then; canal-json needs the extension.

    A topic that ends with DROP TABLE may have no more of them. The last watermark of a finished run covers every row.
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
                if not terms.watermarks:
                    yield at(4, message, f"watermark {ts} in a stream that has none: enable-tidb-extension is off")
                continue
            end = ts, isinstance(event, DdlEvent) and event.type in DROP_TABLE
            ends[message.topic] = max(end, ends.get(message.topic, end))
            if isinstance(event, RowEvent):
                last[place_of(message)] = max(ts, last.get(place_of(message), -1))
        if message is None and terms.watermarks:
            until = {topic: ts for topic, (ts, dropped) in ends.items() if dropped}
            yield from _missing_marks(marks, active, until, terms)
            if terms.finished:
                yield from _uncovered(last, max(marks, default=-1))
    return step


def ddl_everywhere(terms: Terms) -> Step:
    """Point 5: DDL is in every partition of its topic; canal-json's in partition 0 only."""
    seen: dict[tuple[str, DdlEvent], int] = {}

    def step(message: Message | None) -> Iterator[Violation]:
        for message, event, _ in each(message):
            if isinstance(event, DdlEvent):
                key = message.topic, event
                seen[key] = seen.get(key, 0) | 1 << message.partition
                if message.partition and not terms.ddl_in_every_partition:
                    yield at(5, message, f"DDL outside partition 0: {event.query}")
        for (topic, ddl), bits in seen.items() if message is None else ():
            wanted = terms.partitions[topic] if terms.ddl_in_every_partition else 1
            for partition in _unset(bits, wanted):
                yield Violation(5, topic, partition, None, f"no DDL at {time_of(ddl)}: {ddl.query}")
    return step


def _missing_marks(
    marks: Mapping[int, Mapping[str, int]], active: Mapping[str, int], until: Mapping[str, int], terms: Terms,
) -> Iterator[Violation]:
    for ts, bits in marks.items():
        for topic, since in active.items():
            if topic in bits or since <= ts <= until.get(topic, ts):
                for partition in _unset(bits.get(topic, 0), terms.partitions[topic]):
                    yield Violation(4, topic, partition, None, f"no watermark {ts}, which other partitions have")


def _uncovered(last: Mapping[Place, int], mark: int) -> Iterator[Violation]:
    for (topic, partition), ts in last.items():
        if ts > mark:
            yield Violation(4, topic, partition, None, f"no watermark covers the row at {ts}")


def _unset(bits: int, partitions: int) -> list[int]:
    return [partition for partition in range(partitions) if not bits >> partition & 1]
