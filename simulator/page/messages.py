"""Messages as a page shows them: each as a line in its lane, one with its bytes and what they say, and what differs in two
streams.

Streams of one protocol are compared as `ticdc-sim compare` does. Those of two protocols by what their messages say: the
kind of each event, its table, its rows, its statement.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from simulator.changefeeds.served import ServedChangefeed
from simulator.errors import UserError, printable, shortened
from simulator.reader.compare.events import EVERYTHING, ComparedEvent, Identities, StreamMessage, differences, events_of
from simulator.reader.decode import DdlEvent, Event, RowEvent, Watermark, before_image, told_schemas
from simulator.reader.event_lines import MessageReader, as_dict, as_text, describe, kind
from simulator.sinks.memory import Message

MOST_TEXT = 160
"""Characters of a line."""

FIRST_EVENTS = 3
"""Events of a batch that its line shows."""

MOST_MESSAGES = 20_000
"""Messages whose events are kept."""

MOST_AT_ONCE = 250
"""Messages that are decoded before other requests are answered."""

Place = tuple[str, int]
"""A topic, empty if there is only one, and a partition."""

MOST_SHOWN = 500
"""Differences that are told."""


@dataclass(frozen=True)
class Decoded:
    """A message with its events, or with the reason why it has none."""

    number: int
    message: Message
    events: tuple[Event, ...]
    unreadable: str = ""


class Feed:
    """The messages of a changefeed, decoded in their order."""

    def __init__(self, changefeed: ServedChangefeed) -> None:
        self.changefeed = changefeed
        self.protocol = changefeed.changefeed.codec.protocol
        self.messages: deque[Decoded] = deque(maxlen=MOST_MESSAGES)
        self.next_number = 0
        """The number of the first message that is not decoded."""

        self._reader = MessageReader(self.protocol)

    @property
    def schemas(self) -> Mapping[int, str]:
        """The schemas of a registry, by id."""
        return self.changefeed.stream.schema_texts

    def add(self, messages: Iterable[tuple[int, Message]]) -> None:
        """Decode messages with their numbers, but for those that are there."""
        for number, message in messages:
            if number < self.next_number:
                continue
            self.next_number = number + 1
            try:
                decoded = Decoded(number, message, self._reader.events(message, self.schemas))
            except UserError as error:
                decoded = Decoded(number, message, (), str(error))
            self.messages.append(decoded)

    def since(self, number: int) -> list[Decoded]:
        """Return at most MOST_AT_ONCE messages from that number on."""
        first = max(0, number - self.messages[0].number) if self.messages else 0
        return list(islice(self.messages, first, first + MOST_AT_ONCE))

    def get(self, number: int) -> Decoded:
        """Return a message; raises UserError if it is not kept."""
        found = self.since(number)[:1]
        if not found or found[0].number != number:
            raise UserError(f"message {number} is not kept: it has been replaced by newer ones")
        return found[0]

    def line(self, decoded: Decoded) -> dict[str, Any]:
        """Return the members of a message's line. A TSO is a text, as JavaScript has no such numbers."""
        message, events = decoded.message, decoded.events
        kinds = {kind(event) for event in events}
        texts = [_text(event) if len(kinds) == 1 else describe(event) for event in events[:FIRST_EVENTS]]
        if decoded.unreadable:
            kinds, texts = {"UNREADABLE"}, [decoded.unreadable]
        elif not events:
            told = told_schemas(message.key, message.value, self.protocol)
            kinds, texts = {"BOOTSTRAP"}, [f"{schema}.{table} version {version}" for schema, table, version in told]
        return {
            "n": decoded.number,
            "t": message.topic,
            "p": message.partition,
            "o": message.offset,
            "ts": str(message.commit_ts),
            "k": kinds.pop() if len(kinds) == 1 else "BATCH",
            "events": len(events),
            "text": shortened("; ".join(texts), MOST_TEXT),
            "d": zlib.crc32(message.value or b"", zlib.crc32(message.key or b"")),
        }


def _text(event: Event) -> str:
    """Return what an event is about: the statement, or the row."""
    return event.query if isinstance(event, DdlEvent) else describe(event).partition(" ")[2]


def message_members(decoded: Decoded) -> dict[str, Any]:
    """Return the bytes of a message and its events."""
    message = decoded.message
    return {
        "key": _bytes(message.key),
        "value": _bytes(message.value),
        "events": [_event(event) for event in decoded.events],
        "unreadable": decoded.unreadable,
    }


def _event(event: Event) -> dict[str, Any]:
    members = as_dict(event)
    return {**members, "commit_ts": str(members["commit_ts"] or "")}


def _bytes(data: bytes | None) -> dict[str, Any] | None:
    if data is None:
        return None
    return {"size": len(data), "text": as_text(data), "hex": data.hex()}


def compare_feeds(a: Feed, b: Feed) -> dict[str, Any]:
    """Return the differences of two feeds: the numbers of the messages, null where one is missing, and what differs."""
    alike = a.protocol == b.protocol
    sides = [_by_place(feed, alike) for feed in (a, b)]
    identities, found, events = Identities(), list[dict[str, Any]](), 0
    for place in sorted(sides[0].keys() | sides[1].keys()):
        one, other = (side.get(place, []) for side in sides)
        events += max(len(one), len(other))
        for difference in differences(one, other, identities):
            numbers = [event and event.offset for event in (difference.a, difference.b)]
            found.append({"a": numbers[0], "b": numbers[1], "what": printable(difference.what)})
    what = "in bytes, but for times and ids" if alike else "in what the messages say"
    return {"differences": found[:MOST_SHOWN], "count": len(found), "events": events, "what": what}


def _by_place(feed: Feed, alike: bool) -> dict[Place, list[ComparedEvent]]:
    """Return the events of each partition; their offsets are the numbers of their messages."""
    messages = list(feed.messages)
    single = len({decoded.message.topic for decoded in messages}) <= 1
    places = defaultdict[Place, list[ComparedEvent]](list)
    for decoded in messages:
        message = decoded.message
        place = ("" if single else message.topic, message.partition)
        if decoded.unreadable:
            places[place].append(ComparedEvent(*place, decoded.number, message.commit_ts, "", "", decoded.unreadable))
        elif alike:
            sent = StreamMessage(*place, decoded.number, message.key, message.value, message.commit_ts)
            places[place] += events_of(sent, feed.protocol, EVERYTHING, feed.schemas)
        else:
            places[place] += _said(decoded, place)
    return places


def _said(decoded: Decoded, place: Place) -> Iterator[ComparedEvent]:
    """Yield events as what any protocol can say of them."""
    for event in decoded.events:
        if not isinstance(event, Watermark):
            table = f"{event.schema}.{event.table}"
            text = json.dumps(_compared_members(event), ensure_ascii=False)
            yield ComparedEvent(*place, decoded.number, decoded.message.commit_ts, table, "", text)


def _compared_members(event: RowEvent | DdlEvent) -> dict[str, Any]:
    """Return what is compared: a row in full, with its columns in one order, or the statement."""
    if isinstance(event, DdlEvent):
        return {"event": "DDL", "query": event.query}
    members = as_dict(replace(event, before=before_image(event)))
    images = (members[side] and dict(sorted(members[side].items())) for side in ("before", "after"))
    return {"event": members["event"], **dict(zip(("before", "after"), images, strict=True))}
