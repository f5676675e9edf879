"""Streams, and mutants of them: one message or one field is not as it was sent."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

from simulator.errors import SimulatorError
from simulator.reader.decode import DdlEvent, RowEvent
from simulator.reader.event_lines import MessageReader
from simulator.reader.records import fixture_schemas, read_records
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import Verification
from simulator.sinks.memory import Message as Sent
from support.mutant_forms import Form, Number, Tree, form_of
from support.playing import play

CONFIG = """
{replicated}
[sink]
{registry}
dispatchers = [{{matcher = ["*.*"], partition = "index-value"}}]
"""


@dataclass(frozen=True)
class Message:
    timestamp: int
    key: bytes | None
    value: bytes | None


Stream = Mapping[int, Sequence[Message]]
"""The messages of the partitions of one topic."""

TOPIC = "t"


@dataclass(frozen=True)
class Protocol:
    """A way in which a changefeed sends."""

    name: str
    """TiCDC's name of the protocol."""

    parameters: str = ""
    """More of the sink URI."""

    release: str = "v8.5.3"
    architecture: str = "classic"
    registry: bool = False
    renamed_rows: bool = True
    """Whether a renamed table may have rows."""

    emptying: bool = True
    """Whether statements are sent that take rows out of tables."""

    @property
    def form(self) -> str:
        """The name of the form of its messages."""
        return "simple-avro" if "encoding-format=avro" in self.parameters else self.name


@dataclass(frozen=True)
class Recorded:
    """A stream as it was sent, and its truth."""

    directory: Path
    truth: Path
    messages: Stream
    schemas: Mapping[int, str]
    """Those of a registry, by id."""


def record(story: str, protocol: Protocol, home: Path) -> Recorded:
    """The stream of a story."""
    home.mkdir()
    (home / "story.sql").write_text(story, "utf-8")
    config = CONFIG.format(
        replicated="" if protocol.registry else "force-replicate = true",
        registry='schema-registry = "http://127.0.0.1:8081"' if protocol.registry else "",
    )
    (home / "changefeed.toml").write_text(config, "utf-8")
    uri = f"kafka://127.0.0.1:9092/{TOPIC}?protocol={protocol.name}&partition-num=2{protocol.parameters}"
    options = ("--sink-uri", uri, "--config", home / "changefeed.toml", "--resolved-interval", "5ms")
    by = ("--release", protocol.release, "--architecture", protocol.architecture)
    out, truth = home / "out", home / "truth"
    assert play("run", home / "story.sql", *options, *by, "--fixtures", out, "--truth", truth) == 0
    messages: dict[int, list[Message]] = {0: [], 1: []}
    for each in read_records(str(out)):
        messages[each.partition].append(Message(each.timestamp, each.key, each.value))
    return Recorded(out, truth, messages, fixture_schemas(out))


def verified(stream: Stream, recorded: Recorded, show: int = 1, restarts: bool = True) -> Verification:
    """The verification of messages in place of those that were sent."""
    write(stream, recorded)
    return verify(
        VerifyOptions(str(recorded.directory), truth=recorded.truth, show=show, master="none", restarts=restarts)
    )


def write(stream: Stream, recorded: Recorded) -> None:
    """Put messages in place of those that were sent."""
    for partition, messages in stream.items():
        lines = []
        for offset, message in enumerate(messages):
            parts = (message.key, message.value)
            key, value = (None if part is None else base64.b64encode(part).decode() for part in parts)
            lines.append(json.dumps({"offset": offset, "timestamp": message.timestamp, "key": key, "value": value}))
        path = recorded.directory / TOPIC / f"{partition}.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def verdict(stream: Stream, recorded: Recorded, restarts: bool = True) -> str:
    """`right`, another verdict, or `refused` for a stream that cannot be verified."""
    try:
        return verified(stream, recorded, restarts=restarts).verdict
    except SimulatorError:
        return "refused"


# Changes of one field: it is dropped, doubled, null, or another value of its type

Steps = tuple[str | int, ...]


@dataclass(frozen=True)
class FieldChange:
    path: Steps
    what: str
    apply: Callable[[Any, Any], None]
    """Takes the member's container and its name or index."""


def generic(path: Steps) -> str:
    return ".".join(
        "[]" if isinstance(step, int) else step.rstrip("0123456789") if step[:1] == "#" else step for step in path
    )


def field_changes(tree: Tree) -> Iterator[FieldChange]:
    """All changes of all members of a tree, depth first."""
    return _changes(tree, ())


def _changes(tree: Tree, path: Steps) -> Iterator[FieldChange]:
    if isinstance(tree, dict):
        for name, member in tree.items():
            yield from _member_changes(member, (*path, name))
            yield FieldChange((*path, name), "dropped", _drop)
            if name.swapcase() != name and path:
                yield FieldChange((*path, name), "named in other case", _rename)
    elif isinstance(tree, list):
        for index, member in enumerate(tree):
            yield from _member_changes(member, (*path, index))
            yield FieldChange((*path, index), "dropped", _drop)
            yield FieldChange((*path, index), "doubled", _double)


def _member_changes(member: Tree, path: Steps) -> Iterator[FieldChange]:
    for what, new in altered(member, path):
        yield FieldChange(path, what, _put(new))
    yield from _changes(member, path)


def altered(value: Tree, path: Steps) -> Iterator[tuple[str, Tree]]:
    """Other values of the same type, null, and in place of null another one."""
    if value is None:
        yield "filled", "1"
        return
    yield "null", None
    match value:
        case bool():
            yield "flipped", not value
        case Number():
            yield "digit changed", Number(_other_digit(value.text))
        case int():
            yield "one more", value + 1
            yield "negated", -value
            for bit in range(9) if path[-1] == "f" else ():
                yield f"bit {bit} flipped", value ^ 1 << bit
            yield "as a text", str(value)
        case bytes():
            yield "byte changed", value[:-1] + bytes([value[-1] ^ 1]) if value else b"1"
            yield "longer", value + b"x"
            yield "emptied", b""
        case float():
            yield "half more", value + 0.5
        case str():
            yield from _altered_text(value)
        case list():
            yield "emptied", []
            if value[::-1] != value:
                yield "reversed", value[::-1]
        case dict():
            yield "emptied", {}
            if value:
                yield "with one more", {**value, "more": list(value.values())[-1]}


def _altered_text(text: str) -> Iterator[tuple[str, str]]:
    if any(map(str.isdecimal, text)):
        yield "digit changed", _other_digit(text)
    if any(map(str.isalpha, text)):
        place = max(place for place, letter in enumerate(text) if letter.isalpha())
        other = "b" if text[place] in "aA" else "a"
        yield "letter changed", text[:place] + other + text[place + 1 :]
    if text.swapcase() != text:
        yield "case changed", text.swapcase()
    for what, pattern, new in STATEMENT_CHANGES if STATEMENT.match(text) else ():
        if re.search(pattern, text):
            yield what, re.sub(pattern, new, text, count=1)
    yield "longer", f"{text}x"
    if text:
        yield "emptied", ""


STATEMENT = re.compile("CREATE|ALTER|DROP|TRUNCATE|RENAME")

STATEMENT_CHANGES = (
    ("with another scale", r"DECIMAL\((\d+),(\d+)\)", r"DECIMAL(\1,4)"),
    ("with another length", r"VARCHAR\(\d+\)", "VARCHAR(99)"),
    ("with another type", r"\bINT\b", "SMALLINT"),
    ("without its primary key", r",?\s*PRIMARY KEY(\([^)]*\))?", ""),
    ("without NOT NULL", " NOT NULL", ""),
    ("with NOT NULL", r"VARCHAR\(20\)", "VARCHAR(20) NOT NULL"),
    ("with another default", r"DEFAULT [\w.']+", "DEFAULT 3"),
    ("without its default", r" DEFAULT [\w.']+", ""),
    ("with another comment", "COMMENT '", "COMMENT 'x"),
    ("with one more column", r"^(CREATE TABLE [^(]*\()", r"\1`more` INT,"),
    ("with a column less", r"^(CREATE TABLE .*?),[^,]*VARCHAR[^,]*,", r"\1,"),
    ("in another charset", r"^(CREATE TABLE .*)$", r"\1 CHARACTER SET latin1"),
    ("in another collation", "utf8mb4_general_ci", "utf8mb4_bin"),
    ("with another member", r"ENUM\('low'", "ENUM('lower'"),
    ("with another index", r"(INDEX|KEY) `", r"\1 `x"),
    ("of another table", r"^((?:ALTER|DROP|TRUNCATE|RENAME|CREATE) TABLE (?:`\w+`\.)?`)\w+`", r"\1other`"),
    ("to another name", r"TO `\w+`$", "TO `other`"),
    ("as DROP", r"^TRUNCATE", "DROP"),
    ("as TRUNCATE", r"^DROP TABLE", "TRUNCATE TABLE"),
    ("as a unique index", "ADD INDEX", "ADD UNIQUE INDEX"),
    ("with another column", r"(ADD|DROP|MODIFY) COLUMN `\w+`", r"\1 COLUMN `other`"),
)
"""What a statement's text becomes: a name, a pattern and what is in its place."""


def _other_digit(text: str) -> str:
    place = max(place for place, letter in enumerate(text) if letter in "0123456789")
    return f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"


def _drop(container: Any, name: Any) -> None:
    del container[name]


def _double(container: Any, index: int) -> None:
    container.insert(index, container[index])


def _rename(container: dict[str, Any], name: str) -> None:
    members = [(each.swapcase() if each == name else each, member) for each, member in container.items()]
    container.clear()
    container.update(members)


def _put(new: Tree) -> Callable[[Any, Any], None]:
    def put(container: Any, name: Any) -> None:
        container[name] = new

    return put


def changed(tree: Tree, change: FieldChange) -> Tree:
    """A copy of the tree with the change."""
    root = copied = _copy(tree)
    for step in change.path[:-1]:
        copied[step] = _copy(copied[step])
        copied = copied[step]
    change.apply(copied, change.path[-1])
    return root


def _copy(tree: Tree) -> Tree:
    return dict(tree) if isinstance(tree, dict) else list(tree)


def member(tree: Tree, path: Steps) -> Tree:
    for step in path:
        tree = tree[step]
    return tree


# Mutants

COLUMNS = frozenset("id big name price made seen bits grade tags extra raw pic ratio score yr dur day".split())
"""The columns of the table `kinds`, which has one of each type."""

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


@dataclass(frozen=True)
class Mutant:
    mutation: Mutation
    stream: Callable[[], Stream | None]
    """Returns the stream with this mutant in it; None if it is the same."""

    known: Known | None = None
    replaced: Replace | None = None
    """For a mutant that stands in place of one message."""

    restarts: bool = True
    """Whether the changefeed may have begun again."""

    @property
    def of_row(self) -> bool:
        """Whether it concerns one row of `kinds` alone."""
        key = "id" in self.mutation.path.split(".")[2:]
        return bool(self.known and self.known.row and self.replaced and self.restarts and not key)


def in_place(mutation: Mutation, known: Known, replaced: Replace, stream: Stream, restarts: bool = True) -> Mutant:
    """The mutant of one message."""

    def mutated() -> Stream | None:
        messages = replaced(known)
        return None if messages is None else with_messages(stream, known.place, *messages)

    return Mutant(mutation, mutated, known, replaced, restarts)


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
            tree = form.read(message.key, message.value)
            kind = form.kind(tree) or _kind(events[0])
            found.append(Known((partition, offset), kind, str(row) if row else None, tree, message))
    return found


def _kind(event: object) -> str:
    """`INSERT kinds`, `DDL ALTER TABLE ADD`, `WATERMARK`."""
    if isinstance(event, RowEvent):
        return f"{event.op} {event.table}"
    if not isinstance(event, DdlEvent):
        return "WATERMARK"
    words = re.sub(r"`[^`]*`", "", event.query).replace(".", " ").split()
    return f"DDL {' '.join(words[: 3 if words[0] == 'ALTER' else 2])}"


MOST = 12
"""Messages of a kind of which one is looked for that can have a change."""


def field_mutants(
    known: Iterable[Known], form: Form, stream: Stream, alike: int = 1 << 30, share: int = 1
) -> Iterator[Mutant]:
    """Mutants for each kind of message, path and change: of those that differ in the column of `kinds` alone, so many.

    Of the others one in `share`, the same in each run.
    """
    groups = dict[Mutation, dict[Mutation, list[Mutant]]]()
    for some in by_kind(known).values():
        for each in some[:: -(-len(some) // MOST)]:
            for change in field_changes(each.tree):
                mutation = Mutation(each.kind, generic(change.path), change.what)
                path = ".".join("*" if step in COLUMNS else step for step in mutation.path.split("."))
                alone = replace(mutation, path=path)
                if not crc32(str(alone).encode()) % share:
                    mutant = in_place(mutation, each, partial(_field, form, change), stream)
                    groups.setdefault(alone, {}).setdefault(mutation, []).append(mutant)
    for group in groups.values():
        possible = (
            next((each for each in group[mutation] if each.stream() is not None), None)
            for mutation in sorted(group, key=lambda each: crc32(str(each).encode()))
        )
        yield from islice((mutant for mutant in possible if mutant is not None), alike)


def by_kind(known: Iterable[Known]) -> dict[str, list[Known]]:
    found = dict[str, list[Known]]()
    for each in known:
        found.setdefault(each.kind, []).append(each)
    return found


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


def message_mutants(known: Iterable[Known], stream: Stream) -> Iterator[Mutant]:
    """Messages of each kind are lost, come twice, at another place, or are cut: the first and the last of each kind."""
    for kind, some in by_kind(known).items():
        for each in some if len(some) < 3 else (some[0], some[-1]):
            last = "the last " if each is some[-1] and len(some) > 1 else ""
            for what, replaced in REPLACED.items():
                if replaced(each) is not None:
                    yield in_place(Mutation(kind, "", f"{last}{what}"), each, replaced, stream, what != "doubled")
            for what, moved in MOVED.items():
                yield Mutant(Mutation(kind, "", f"{last}{what}"), partial(moved, stream, each.place), each)


def _part(name: str, alter: Callable[[bytes | None], bytes | None], known: Known) -> tuple[Message, ...] | None:
    message = known.message
    changed = (
        replace(message, key=alter(message.key)) if name == "key" else replace(message, value=alter(message.value))
    )
    return None if changed == message else (changed,)


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


def _moved(by: int, stream: Stream, place: Place) -> Stream | None:
    """The stream with a message so many places later in its partition, at the end at most."""
    partition, offset = place
    there = [*stream[partition]]
    to = min(offset + by, len(there) - 1)
    if to < 0 or to == offset:
        return None
    there.insert(to, there.pop(offset))
    return {**stream, partition: there}


def _elsewhere(stream: Stream, place: Place) -> Stream:
    return _copied(with_messages(stream, place), place, stream)


def _copied(stream: Stream, place: Place, sent: Stream) -> Stream:
    """The stream with the message that was sent at a place in the other partition."""
    partition, offset = place
    message, there = sent[partition][offset], stream[1 - partition]
    at = sum(each.timestamp < message.timestamp for each in there)
    return {**stream, 1 - partition: [*there[:at], message, *there[at:]]}


def _removed(stream: Stream, messages: set[Message]) -> Stream:
    return {partition: [message for message in there if message not in messages] for partition, there in stream.items()}


def stream_mutants(known: Sequence[Known], form: Form) -> Iterator[Mutant]:
    """Streams without all messages of a kind, without a column, or without a partition's messages."""
    stream = {partition: [each.message for each in known if each.place[0] == partition] for partition in (0, 1)}
    messages = {kind: {each.message for each in some} for kind, some in by_kind(known).items()}
    statements = {each.message for each in known if each.kind.startswith("DDL")}
    lost = {"statements": statements} if statements else {}
    found: dict[str, Stream] = {
        f"all {kind} removed": _removed(stream, some) for kind, some in (lost | messages).items()
    }
    found |= {f"partition {partition} empty": {**stream, partition: []} for partition in (0, 1)}
    for kind, which in ({op: f"each {op}" for op in OF_ROWS} | {"": "all rows"}).items():
        for name in ("price", "n"):
            with suppress(*UNWRITABLE):  # a record of Avro has all its fields
                found[f"column {name} lost in {which}"] = {
                    part: list(_without(part, kind, name, known, form)) for part in (0, 1)
                }
    for what, mutated in found.items():
        yield Mutant(Mutation("stream", "", what), partial(lambda mutated: mutated, mutated))


def _without(partition: int, kind: str, name: str, known: Sequence[Known], form: Form) -> Iterator[Message]:
    """The messages of a partition; rows of a kind have lost a column."""
    for each in known:
        if each.place[0] == partition:
            row = each.kind.startswith(OF_ROWS) and each.kind.startswith(kind)
            key, value = form.write(without(each.tree, name) if row else each.tree)
            yield replace(each.message, key=key, value=value)


OF_ROWS = ("INSERT", "UPDATE", "DELETE")


def without(tree: Tree, name: str) -> Tree:
    """The tree without members of a name."""
    if isinstance(tree, dict):
        return {each: without(member, name) for each, member in tree.items() if each != name}
    return [without(member, name) for member in tree] if isinstance(tree, list) else tree


MOVED: dict[str, Callable[[Stream, Place], Stream | None]] = {
    "one earlier": partial(_moved, -1),
    "one later": partial(_moved, 1),
    "at the end": partial(_moved, 1 << 30),
    "in the other partition": _elsewhere,
    "removed everywhere": lambda stream, place: _removed(stream, {stream[place[0]][place[1]]}),
    "in the other partition, too": lambda stream, place: _copied(stream, place, stream),
}
