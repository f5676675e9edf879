"""Messages as a page shows them: each as a line in its lane, and one with its bytes and what they say."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from simulator.changefeeds.served import ServedChangefeed
from simulator.errors import UserError, shortened
from simulator.reader.decode import DdlEvent, Event, told_schemas
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
