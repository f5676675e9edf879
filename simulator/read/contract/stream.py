"""The stream as rules look at it: decoded messages in their place, and which of their events came before.

One law: memory does not grow with the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from simulator.errors import UserError
from simulator.read.contract.stream_spec import StreamSpec
from simulator.read.decode import DdlEvent, Event, RowEvent, Watermark, decode, fetched, time_of
from simulator.read.records import Place, Record


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
    check: str = ""
    """Short and stable name of what was checked: `row-below-watermark`."""

    table: str = ""
    """`db.table` that it concerns, if it concerns one."""

    def __str__(self) -> str:
        if self.partition is None:
            return f"rule {self.rule}: {self.what}"
        place = f"{self.topic}/{self.partition}" + ("" if self.offset is None else f"@{self.offset}")
        return f"rule {self.rule}, {place}: {self.what}"


def messages(records: Iterable[Record], spec: StreamSpec) -> Iterator[Message | Violation]:
    """Records decoded; one that cannot be read, or lies where nothing should, is a violation."""
    again = repeats()
    for record in records:
        known = spec.partitions.get(record.topic, 0)
        if not 0 <= record.partition < known:
            yield _violation(0, record, f"the topic has {known} partitions")
            continue
        size = len(record.key or b"") + len(record.value or b"") + spec.record_overhead
        try:
            found = decode(record.key, record.value, spec.protocol)
        except UserError as error:
            yield _violation(0, record, str(error))
            continue
        found, missing = _fetched(found, record, spec)
        yield from missing
        yield Message(record.topic, record.partition, record.offset, size, found, again(record, found))


def _fetched(found: tuple[Event, ...], record: Record, spec: StreamSpec) -> tuple[tuple[Event, ...], list[Violation]]:
    """The events, those of claim-check whole; and what there is to say of files that are not as they should be."""
    if spec.stored is None or not any(isinstance(event, RowEvent) and event.stored_at for event in found):
        return found, []
    whole, missing = list(found), []
    for place, event in enumerate(found):
        if isinstance(event, RowEvent) and event.stored_at:
            try:
                whole[place] = fetched(event, spec.stored, spec.protocol)
            except UserError as error:
                missing.append(_violation(0, record, f"{error}; the row stays cut down to its handle key"))
    return tuple(whole), missing


def each(message: Message) -> Iterator[tuple[Message, Event, bool]]:
    """The events of a message with it, and whether each came before."""
    for number, event in enumerate(message.events):
        yield message, event, number in message.repeated


def events(records: Iterable[Record], spec: StreamSpec) -> Iterator[Placed]:
    """The events of the messages that can be read, one by one."""
    for message in messages(records, spec):
        if isinstance(message, Message):
            for _, event, repeated in each(message):
                yield Placed(message.topic, message.partition, message.offset, event, repeated and spec.restarts)


def _violation(rule: int, record: Record, what: str) -> Violation:
    return Violation(rule, record.topic, record.partition, record.offset, what)


WINDOW = 1 << 17
"""At least so many of a partition's last rows are remembered where no watermark lets go of them."""


def repeats() -> Callable[[Record, tuple[Event, ...]], frozenset[int]]:
    """Tells which events a partition had before.

    Rows are remembered until a watermark covers them: TiCDC resumes from a checkpoint that no emitted watermark exceeds
    (tiflow v8.5 cdc/owner/changefeed.go), so nothing older comes again. DDL is remembered for good.
    """
    rows: dict[Place, dict[int, int]] = {}
    statements: dict[Place, set[DdlEvent]] = {}

    def again(record: Record, found: tuple[Event, ...]) -> frozenset[int]:
        place, repeated = (record.topic, record.partition), []
        for number, event in enumerate(found):
            if isinstance(event, Watermark):
                rows[place] = {change: ts for change, ts in rows.get(place, {}).items() if ts > event.ts}
            elif isinstance(event, DdlEvent):
                before = statements.setdefault(place, set())
                repeated += [number] if event in before else []
                before.add(event)
            else:
                seen, change = rows.setdefault(place, {}), fingerprint(event)
                repeated += [number] if change in seen else []
                seen[change] = time_of(event)
                if len(seen) > 2 * WINDOW:
                    rows[place] = dict(islice(seen.items(), WINDOW, None))
        return frozenset(repeated)
    return again


def fingerprint(event: RowEvent) -> int:
    """A row change as one number, the same for the same change within this process."""
    images = (tuple(image.items()) if image else None for image in (event.before, event.after))
    return hash((time_of(event), event.schema, event.table, event.op, event.rid, *images))
