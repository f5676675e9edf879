"""Mutants of streams: one message or one field is not as it was sent."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from zlib import crc32

from simulator.consumer.decode import DdlEvent, RowEvent
from simulator.consumer.message_reader import MessageReader
from simulator.consumer.verify.verification import Verification
from simulator.sinks.memory import Message as Sent
from support.field_changes import FieldChange, changed, field_changes, generic, member
from support.mutant_forms import Form, Tree, form_of
from support.mutant_streams import COLUMNS, TOPIC, Message, Protocol, Recorded, Stream, verified

Place = tuple[int, int]
"""Partition and offset."""


@dataclass(frozen=True)
class Known:
    """A message that was sent, as a test needs it."""

    place: Place
    kind: str
    """`INSERT kinds`, `DDL ALTER TABLE ADD`, `BOOTSTRAP kinds`, `WATERMARK`."""

    row: str | None
    """The id of its row, if it has one row of `kinds`."""

    tree: Tree
    message: Message


@dataclass(frozen=True)
class Mutation:
    """What happens to messages of a kind: to one of their fields, or to the whole message."""

    kind: str
    path: str
    """`value.data.[].id`; empty for the message."""

    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.path or 'message'} {self.what}"


Replace = Callable[[Known], "tuple[Message, ...] | None"]
"""Returns what stands in place of a message; None if that one cannot be changed so."""

Move = Callable[[Stream, Place], "Stream | None"]
"""Returns a stream of which one message is elsewhere."""


@dataclass(frozen=True)
class Mutant:
    mutation: Mutation
    known: Known | None = None
    """None for one of the whole stream."""

    replaced: Replace | None = None
    moved: Move | None = None
    of_stream: Callable[[], Stream] | None = None
    """One of the three."""

    restarts: bool = True
    """Whether the changefeed may have begun again."""

    @property
    def of_row(self) -> bool:
        """Whether it concerns one row of `kinds` alone."""
        key = "id" in self.mutation.path.split(".")[2:]
        return bool(self.known and self.known.row and self.replaced and self.restarts and not key)

    def stream(self, stream: Stream) -> Stream | None:
        """The stream with this mutant in it; None if it is the same."""
        if self.of_stream is not None:
            return self.of_stream()
        assert self.known is not None
        if self.replaced is None:
            assert self.moved is not None
            return self.moved(stream, self.known.place)
        messages = self.replaced(self.known)
        return None if messages is None else with_messages(stream, self.known.place, *messages)


def known_messages(recorded: Recorded, protocol: Protocol) -> list[Known]:
    """All messages, with what is in them."""
    form, reader = form_of(protocol.form, recorded.schemas), MessageReader(protocol.name)
    found = []
    for partition, messages in recorded.messages.items():
        for offset, message in enumerate(messages):
            sent = Sent(TOPIC, partition, offset, message.timestamp << 18, message.key, message.value)
            events = reader.events(sent, recorded.schemas)
            rows = [event for event in events if isinstance(event, RowEvent) and event.table == "kinds"]
            row = (rows[0].after or rows[0].before or {}).get("id") if len(rows) == len(events) == 1 else None
            kind = form.kind(message.key, message.value) or _kind(events[0])
            tree = form.read(message.key, message.value)
            found.append(Known((partition, offset), kind, str(row) if row else None, tree, message))
    return found


def _kind(event: object) -> str:
    if isinstance(event, RowEvent):
        return f"{event.op} {event.table}"
    return statement_kind(event.query) if isinstance(event, DdlEvent) else "WATERMARK"


def statement_kind(text: str) -> str:
    """`DDL ALTER TABLE ADD`: the words that say what a statement does."""
    words = re.sub(r"`[^`]*`", "", text).replace(".", " ").split()
    return f"DDL {' '.join(words[: 3 if words[0] == 'ALTER' else 2])}"


def field_mutants(known: Iterable[Known], form: Form, alike: int = 1 << 30, share: int = 1) -> Iterator[Mutant]:
    """Mutants for each kind of message, path and change: of those that differ in the column of `kinds` alone, so many.

    Of the others one in `share`, the same in each run.
    """
    groups = dict[Mutation, dict[Mutation, list[Mutant]]]()
    for each in known:
        for change in field_changes(each.tree):
            mutation = Mutation(each.kind, generic(change.path), change.what)
            alone = replace(mutation, path=of_any_column(mutation.path))
            if crc32(str(alone).encode()) % share:
                continue
            group = groups.setdefault(alone, {})
            some = group.setdefault(mutation, [])
            if len(some) < MOST:
                some.append(Mutant(mutation, each, partial(_field, form, change)))
    for group in groups.values():
        possible = (
            _possible(group[mutation]) for mutation in sorted(group, key=lambda each: crc32(str(each).encode()))
        )
        yield from islice((mutant for mutant in possible if mutant is not None), alike)


MOST = 40
"""Messages of which one is looked for that can have a change."""


def _possible(mutants: Iterable[Mutant]) -> Mutant | None:
    """The first of the mutants whose message can have the change."""
    return next((each for each in mutants if each.replaced and each.known and each.replaced(each.known)), None)


def of_any_column(path: str) -> str:
    return ".".join("*" if step in COLUMNS else step for step in path.split("."))


UNWRITABLE = (TypeError, ValueError, LookupError, AttributeError, OverflowError, struct.error)
"""What a form raises if the change leaves no message of its kind."""


def _field(form: Form, change: FieldChange, known: Known) -> tuple[Message, ...] | None:
    """The message with the change; None if it does not have the field, or its form cannot say that."""
    try:
        if (member(known.tree, change.path) is None) != (change.what == "filled") and change.what in ("filled", "null"):
            return None
        key, value = form.write(changed(known.tree, change))
    except UNWRITABLE:
        return None
    same = (key, value) == (known.message.key, known.message.value)
    return None if same else (replace(known.message, key=key, value=value),)


def with_messages(stream: Stream, place: Place, *messages: Message) -> Stream:
    """The stream with these messages in place of one."""
    partition, offset = place
    there = stream[partition]
    return {**stream, partition: [*there[:offset], *messages, *there[offset + 1 :]]}


def message_mutants(known: Iterable[Known], every: bool = False) -> Iterator[Mutant]:
    """Messages of each kind are lost, come twice, at another place, or are cut: the first and the last of each kind."""
    by_kind = dict[str, list[Known]]()
    for each in known:
        by_kind.setdefault(each.kind, []).append(each)
    for kind, some in by_kind.items():
        for each in some if every or len(some) < 3 else (some[0], some[-1]):
            last = "the last " if each is some[-1] and len(some) > 1 else ""
            for what, replaced in REPLACED.items():
                if replaced(each) is not None:
                    yield Mutant(Mutation(kind, "", f"{last}{what}"), each, replaced, restarts=what != "doubled")
            for what, moved in MOVED.items():
                yield Mutant(Mutation(kind, "", f"{last}{what}"), each, moved=moved)


def _part(name: str, alter: Callable[[bytes | None], bytes | None], known: Known) -> tuple[Message, ...] | None:
    content = getattr(known.message, name)
    altered = alter(content)
    if altered == content:
        return None
    return (replace(known.message, key=altered) if name == "key" else replace(known.message, value=altered),)


def _other_schema(message: Message) -> tuple[Message, ...] | None:
    """The message with the id of another schema, if it has one."""
    value = message.value
    if value is None or value[:1] != b"\0":
        return None
    return (replace(message, value=value[:4] + bytes([value[4] ^ 1]) + value[5:]),)


REPLACED: dict[str, Replace] = {
    "removed": lambda known: (),
    "naming another schema": lambda known: _other_schema(known.message),
    "doubled": lambda known: (known.message, known.message),
    **{
        f"{name} {what}": partial(_part, name, alter)
        for name in ("key", "value")
        for what, alter in {
            "there": lambda content: b"{}" if content is None else content,
            "missing": lambda content: None,
            "empty": lambda content: b"" if content else content,
            "cut": lambda content: content[:-1] if content else content,
            "longer": lambda content: content + b"\0" if content else content,
        }.items()
    },
}


def _earlier(stream: Stream, place: Place) -> Stream | None:
    partition, offset = place
    return _later(stream, (partition, offset - 1)) if offset else None


def _later(stream: Stream, place: Place) -> Stream | None:
    partition, offset = place
    there = stream[partition]
    if offset + 1 == len(there):
        return None
    return {**stream, partition: [*there[:offset], there[offset + 1], there[offset], *there[offset + 2 :]]}


def _last(stream: Stream, place: Place) -> Stream | None:
    partition, offset = place
    there = stream[partition]
    if offset + 1 == len(there):
        return None
    return {**stream, partition: [*there[:offset], *there[offset + 1 :], there[offset]]}


def _elsewhere(stream: Stream, place: Place) -> Stream:
    return _copied(with_messages(stream, place), place, stream)


def _copied(stream: Stream, place: Place, sent: Stream) -> Stream:
    """The stream with the message that was sent at a place in the other partition."""
    partition, offset = place
    message, there = sent[partition][offset], stream[1 - partition]
    at = sum(each.timestamp < message.timestamp for each in there)
    return {**stream, 1 - partition: [*there[:at], message, *there[at:]]}


def _message(stream: Stream, place: Place) -> Message:
    return stream[place[0]][place[1]]


def _removed(stream: Stream, messages: set[Message]) -> Stream:
    return {partition: [message for message in there if message not in messages] for partition, there in stream.items()}


def stream_mutants(known: Sequence[Known], form: Form) -> Iterator[Mutant]:
    """Streams without all messages of a kind, without a column, or without a partition's messages."""
    for what, of_stream in _streams(known, form):
        yield Mutant(Mutation("stream", "", what), of_stream=of_stream)


def _streams(known: Sequence[Known], form: Form) -> Iterator[tuple[str, Callable[[], Stream]]]:
    stream = {partition: [each.message for each in known if each.place[0] == partition] for partition in (0, 1)}
    statements = {each.message for each in known if each.kind.startswith("DDL")}
    if statements:
        yield "all statements removed", lambda: _removed(stream, statements)
    for kind in sorted({each.kind for each in known}):
        yield f"all {kind} removed", partial(_removed, stream, {each.message for each in known if each.kind == kind})
    for partition in (0, 1):
        yield f"partition {partition} empty", partial(dict, {**stream, partition: []})
    for kind, which in ({op: f"each {op}" for op in OF_ROWS} | {"": "all rows"}).items():
        for name in ("price", "n"):
            try:
                lost = {part: tuple(_without(part, kind, name, known, form)) for part in (0, 1)}
            except UNWRITABLE:  # a record of Avro has all its fields
                continue
            if any(list(lost[part]) != stream[part] for part in (0, 1)):
                yield f"column {name} lost in {which}", partial(dict, lost)


def _without(partition: int, kind: str, name: str, known: Sequence[Known], form: Form) -> Iterator[Message]:
    """The messages of a partition; rows of a kind have lost a column."""
    for each in known:
        if each.place[0] == partition:
            row = each.kind.startswith(tuple(OF_ROWS)) and each.kind.startswith(kind)
            key, value = form.write(without(each.tree, name) if row else each.tree)
            yield replace(each.message, key=key, value=value)


def without(tree: Tree, name: str) -> Tree:
    """The tree without members of a name."""
    if isinstance(tree, dict):
        return {each: without(member, name) for each, member in tree.items() if each != name}
    return [without(member, name) for member in tree] if isinstance(tree, list) else tree


MOVED: dict[str, Move] = {
    "one earlier": _earlier,
    "one later": _later,
    "at the end": _last,
    "in the other partition": _elsewhere,
    "removed everywhere": lambda stream, place: _removed(stream, {_message(stream, place)}),
    "in the other partition, too": lambda stream, place: _copied(stream, place, stream),
}


# Many mutants in one stream

OF_ROWS = {"INSERT": ("1", "4"), "UPDATE": ("2", "5"), "DELETE": ("3", "6")}
"""First digits of the ids of rows whose changes of a kind are mutated."""

MANY = 1 << 20

Placed = tuple[Mutant, Known, "tuple[Message, ...]"]
"""A mutant, the message that it stands in for, and the messages in its place."""


def found_together(mutants: Iterable[Mutant], recorded: Recorded, known: Iterable[Known]) -> Iterator[Mutant]:
    """Yield the mutants that a violation names, by its place or by its row, where many rows have one each.

    `recorded` is a stream with many rows of each kind, and `known` are its messages.
    """
    carriers = dict[str, list[Known]]()
    for each in known:
        if each.row is not None and each.row.startswith(OF_ROWS[each.kind.split()[0]]):
            carriers.setdefault(each.kind, []).append(each)
    waiting = list(mutants)
    while waiting:
        free = {kind: list(some) for kind, some in carriers.items()}
        placed, left = list[Placed](), list[Mutant]()
        for mutant in waiting:
            taken = _carrier(mutant, free.get(mutant.mutation.kind, []))
            placed += [] if taken is None else [(mutant, *taken)]
            left += [mutant] if taken is None else []
        if not placed:
            return
        yield from _named_mutants(placed, recorded)
        waiting = left


def _carrier(mutant: Mutant, free: list[Known]) -> tuple[Known, tuple[Message, ...]] | None:
    """Take a message that can have the mutation."""
    assert mutant.replaced is not None
    for each in free:
        messages = mutant.replaced(each)
        if messages is not None:
            free.remove(each)
            return each, messages
    return None


def _named_mutants(placed: list[Placed], recorded: Recorded) -> Iterator[Mutant]:
    """The mutants that violations name; those of a stream that cannot be verified are tried by halves."""
    mutated = {carrier.place: messages for _, carrier, messages in placed}
    stream, places = dict[int, list[Message]](), dict[Place, Place]()
    for partition, messages in recorded.messages.items():
        stream[partition] = []
        for offset, message in enumerate(messages):
            for each in mutated.get((partition, offset), (message,)):
                places[partition, len(stream[partition])] = partition, offset
                stream[partition].append(each)
    try:
        named = {
            places.get(each, each) if isinstance(each, tuple) else each
            for each in _named(verified(stream, recorded, show=MANY))
        }
    except Exception:  # whatever it is, it is found again where the mutant is alone
        half = len(placed) // 2
        for part in (placed[:half], placed[half:]) if half else ():
            yield from _named_mutants(part, recorded)
        return
    yield from (mutant for mutant, carrier, _ in placed if not named.isdisjoint((carrier.place, carrier.row)))


def _named(verification: Verification) -> Iterator[Place | str]:
    """The places and the rows of all violations."""
    for example in (example for failure in verification.failures for example in failure.examples):
        if example.partition is not None and example.offset is not None:
            yield example.partition, example.offset
        if row := re.search(r"row (\d+):", example.what):
            yield row[1]
