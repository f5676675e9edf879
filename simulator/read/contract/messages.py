"""What the rules look at: decoded messages in their place, and the terms the stream was made under."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from simulator.errors import UserError
from simulator.read.contract.repeats import Place, repeats, time_of
from simulator.read.decode import DdlEvent, Event, RowEvent, decode, fetched
from simulator.read.records import Record
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.codecs.oversize import RECORD_OVERHEAD
from simulator.tidb.model.table import Table


@dataclass(frozen=True)
class Terms:
    """What was asked of the stream."""

    protocol: str
    partitions: Mapping[str, int]
    """Topic -> how many partitions, those that stayed empty included."""

    tables: Mapping[tuple[str, str], Table]
    """By schema and name."""

    destination: Callable[[RowEvent, Table], Place | None]
    """The topic and partition that the dispatcher gives a row; None where the message does not say enough."""

    max_message_bytes: int = 10485760
    max_batch_size: int = 16
    record_overhead: int = RECORD_OVERHEAD
    """Bytes that the release counts on top of key and value."""

    large_rows: bool = False
    """Whether a row by itself may be above max_message_bytes, as in releases that do not look."""

    watermarks: bool = True
    """Whether the protocol has them with these options."""

    fidelity: Fidelity = Fidelity()

    stages: Callable[[Table], Mapping[str, int]] | None = None
    """Of a table, by kind of row change, what comes after what at one commit-ts; empty where TiCDC keeps no order."""

    ddl_in_every_partition: bool = True
    """False where it is in partition 0 alone."""

    restarts: bool = False
    """Whether rows may come again, as after a restart of the changefeed."""

    finished: bool = True
    """Whether the run came to its end, so that a watermark covers the last row."""

    stored: Callable[[str], bytes] | None = None
    """Reads what lies at a claim-check location; None: such rows stay cut down to their handle key."""

    later: tuple[tuple[int, Mapping[tuple[str, str], Table]], ...] = ()
    """The tables behind each statement that changes them, with its commit-ts, in order (`definitions`)."""

    def table(self, event: RowEvent) -> Table | None:
        """The row's table as it was defined then."""
        behind = [tables for ts, tables in self.later if ts < time_of(event)]
        return (behind[-1] if behind else self.tables).get((event.schema, event.table))


@dataclass(frozen=True)
class Message:
    topic: str
    partition: int
    offset: int
    size: int
    """As TiCDC counts it."""

    events: tuple[Event, ...]
    repeated: frozenset[int] = frozenset()
    """Which of the events this partition already had since its last watermark."""


@dataclass(frozen=True)
class Placed:
    """One event and where it lies."""

    topic: str
    partition: int
    offset: int
    event: Event
    repeated: bool = False
    """Whether it is sent again after a restart."""


@dataclass(frozen=True)
class Violation:
    rule: int
    """Point of the contract, 1 to 7; 0 for a message that cannot be read."""

    topic: str
    partition: int | None
    """None for what concerns tables, not messages."""

    offset: int | None
    """None for something that is missing."""

    what: str

    def __str__(self) -> str:
        if self.partition is None:
            return f"rule {self.rule}: {self.what}"
        place = f"{self.topic}/{self.partition}" + ("" if self.offset is None else f"@{self.offset}")
        return f"rule {self.rule}, {place}: {self.what}"


Step: TypeAlias = "Callable[[Message | None], Iterator[Violation]]"
"""One rule at work: given each message, and None at the end."""


def messages(records: Iterable[Record], terms: Terms) -> Iterator[Message | Violation]:
    """Records decoded; one that cannot be read, or lies where nothing should, is a violation."""
    again = repeats()
    for record in records:
        known = terms.partitions.get(record.topic, 0)
        if not 0 <= record.partition < known:
            yield _violation(0, record, f"the topic has {known} partitions")
            continue
        size = len(record.key or b"") + len(record.value or b"") + terms.record_overhead
        try:
            found = decode(record.key, record.value, terms.protocol)
        except UserError as error:
            yield _violation(0, record, str(error))
            continue
        found, missing = _fetched(found, record, terms)
        yield from missing
        yield Message(record.topic, record.partition, record.offset, size, found, again(record, found))


def _fetched(found: tuple[Event, ...], record: Record, terms: Terms) -> tuple[tuple[Event, ...], list[Violation]]:
    """The events, those of claim-check whole; and what there is to say of files that are not as they should be."""
    if terms.stored is None or not any(isinstance(one, RowEvent) and one.stored_at for one in found):
        return found, []
    whole, missing = list(found), []
    for place, event in enumerate(found):
        if isinstance(event, RowEvent) and event.stored_at:
            try:
                whole[place] = fetched(event, terms.stored, terms.protocol)
            except UserError as error:
                missing.append(_violation(0, record, f"{error}; the row stays cut down to its handle key"))
    return tuple(whole), missing


def each(message: Message | None) -> Iterator[tuple[Message, Event, bool]]:
    """The events of a message with it, and whether each came before; nothing for the end."""
    if message is not None:
        for number, event in enumerate(message.events):
            yield message, event, number in message.repeated


def place_of(message: Message) -> Place:
    return message.topic, message.partition


def events(records: Iterable[Record], terms: Terms) -> Iterator[Placed]:
    """The events of the messages that can be read, one by one."""
    for message in messages(records, terms):
        if isinstance(message, Message):
            for _, event, repeated in each(message):
                yield Placed(message.topic, message.partition, message.offset, event, repeated and terms.restarts)


def is_exact(event: RowEvent | DdlEvent) -> bool:
    """Whether `time_of` is the TSO itself."""
    return event.commit_ts is not None


def at(rule: int, message: Message, what: str) -> Violation:
    return Violation(rule, message.topic, message.partition, message.offset, what)


def _violation(rule: int, record: Record, what: str) -> Violation:
    return Violation(rule, record.topic, record.partition, record.offset, what)
