"""Streams of runs that were killed and went on, beside that of one that nobody killed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulator.consumer.decode import DdlEvent, Event, Watermark, decode
from simulator.consumer.records import Record
from simulator.sinks.memory import Message

Sent = Sequence[Record] | Sequence[Message]


def assert_nothing_is_lost(found: Sent, whole: Sent) -> int:
    """Each partition has every event of the whole stream in its order, and some again, as long as no watermark has
    covered them; gives how many rows came again."""
    again = 0
    places = {(each.topic, each.partition) for each in whole}
    assert {(each.topic, each.partition) for each in found} <= places
    for place in places:
        expected, events = (list(_events(sent, place)) for sent in (whole, found))
        firsts = dict.fromkeys(map(repr, events))
        told = dict.fromkeys(map(repr, expected))
        assert [event for event in firsts if event in told] == list(told)
        added = [event for event in events if repr(event) not in told]
        assert all(isinstance(event, Watermark) for event in added), "but for the watermark of an early end"
        again += assert_restarts(events)
    return again


def assert_restarts(events: Iterable[Event]) -> int:
    """Watermarks never fall, rows lie above them, statements at least at them; gives how many rows come again."""
    watermark, seen, again = 0, set[str](), 0
    for event in events:
        if isinstance(event, Watermark):
            assert event.ts >= watermark, "watermarks never fall"
            watermark = event.ts
        elif isinstance(event, DdlEvent):
            assert (event.commit_ts or 0) >= watermark
        else:
            assert (event.commit_ts or 0) > watermark, "no row comes that a watermark has covered"
            again += repr(event) in seen
            seen.add(repr(event))
    return again


def _events(sent: Sent, place: tuple[str, int]) -> Iterable[Event]:
    for each in sent:
        if (each.topic, each.partition) == place:
            yield from decode(each.key, each.value)
