"""Recorded changefeeds: SQL, and the messages that a real TiCDC made of it (tests/endtoend/README.md).

Recorded and simulated messages are brought into one form by the rules of that README, then compared as texts.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import lz4.frame

from simulator import TiCDC
from simulator.errors import EncodeError, SqlError
from support import avro_messages
from support.endtoend_simple import bootstrap_times, numbered, read_simple
from support.endtoend_storage import Lengths, recorded_files, transaction_lengths, unequal_files, written_files
from support.same_upstream import same_upstream

DEFAULT = Path(__file__).parent.parent / "endtoend"
STABLE_ROWS = 12
"""Go's sort may change the order of equal rows where there are more (sort.Slice)."""

PARTITION_ID = re.compile(r'(?<=[,{])"ptn":(\d+)')
"""The id of a table's partition in a key of Open Protocol."""

NOT_PLAYED = -1
"""The error of statements that the recording's TiDB could not run (tests/recordings/README.md: FLASHBACK, RECOVER)."""

BIT = re.compile(r'(?<="t":16,"f":)(\d+),"v":(\d+)')
"""Flags and value of a BIT column in Open Protocol."""

HANDLE = re.compile(r'"[^"]+":{"t":\d+,"h":true,.*?}|^key .*? value ')
"""A column of the handle key in Open Protocol; the key in Avro, as it is shown here."""

SHOWN = 8
"""Differences of one feed that a failing test shows."""


@dataclass(frozen=True)
class Feed:
    """One recorded changefeed of a case."""

    case: str
    release: str
    statements: Sequence[Mapping[str, Any]]
    recorded: Mapping[str, Any]
    lengths: Lengths = field(default_factory=dict)
    """The transactions of a storage sink's files."""

    @property
    def id(self) -> str:
        return f"{self.case}-{self.recorded['name']}"

    @property
    def is_stored(self) -> bool:
        """Whether it is that of a storage sink."""
        return str(self.recorded["uri"]).startswith("file:")

    @property
    def read(self) -> Reader:
        """Reads a message into commit-ts, table and text of each event."""
        return READERS[protocol_of(self.recorded["uri"])]

    @property
    def is_avro(self) -> bool:
        return protocol_of(self.recorded["uri"]) == "avro"

    @property
    def is_compressed(self) -> bool:
        return "large-message-handle-compression" in self.recorded["config"]


@dataclass(frozen=True)
class Sent:
    """A message; `partitions` are several where it was broadcast."""

    topic: str
    partitions: tuple[int, ...]
    key: bytes
    value: bytes
    has_value: bool = True
    """Whether Kafka's value is not null."""

    commit_ts: int = 0
    """0 where it is not recorded."""

    schemas: Mapping[int, str] = field(default_factory=dict)
    """The schemas of a registry by id."""


Reader = Callable[[Sent, bool], Iterator[tuple[int, str, str]]]
"""Yields commit-ts, table and text of each event of a message, which may be compressed."""


@dataclass(frozen=True)
class Event:
    """An event as one partition has it."""

    topic: str
    partition: int
    commit_ts: int
    table: str
    text: str
    """Its key and value. Times, and names of claim-check files, are replaced."""


def feeds(directory: Path) -> list[Feed]:
    """All feeds that went to a storage, or to Kafka in a protocol of READERS."""
    found = []
    for path in sorted(directory.glob("*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            case = json.load(file)
        name = path.name.removesuffix(".json.gz")
        for feed in case["feeds"]:
            lengths = transaction_lengths(case["feeds"]) if feed["uri"].startswith("file:") else {}
            played = Feed(name, case["release"], case["statements"], feed, lengths)
            if played.is_stored or protocol_of(feed["uri"]) in READERS:
                found.append(played)
    return found


def protocol_of(uri: str) -> str:
    """The protocol of a sink URI."""
    return parse_qs(urlsplit(uri).query)["protocol"][0]


def differences(feed: Feed, directory: Path) -> list[str]:
    """Where the simulator differs from the recording. It writes files of claim-check or of a storage sink into the
    directory."""
    recorded, claims = feed.recorded, directory
    uri = recorded["uri"].replace(urlsplit(recorded["uri"]).path, directory.as_posix(), 1 if feed.is_stored else 0)
    wrong, sent = _played(feed, uri, recorded["config"].replace("file:///claims", claims.as_uri()))
    if "error" in recorded:
        return wrong
    if feed.is_stored:
        return [*wrong, *unequal_files(recorded_files(recorded["files"]), written_files(directory), feed.lengths)]
    files = {name: base64.b64decode(content["base64"]) for name, content in recorded.get("files", {}).items()}
    messages = _recorded(recorded)
    expected = _events(feed, _dated(messages, sent) if feed.is_avro else messages, files)
    found = _events(feed, sent, {path.name: path.read_bytes() for path in claims.rglob("*.json")})
    return [*wrong, *_unequal(expected, found)]


def _played(feed: Feed, uri: str, config: str) -> tuple[list[str], list[Sent]]:
    """Statements that were answered otherwise than by TiDB, and the messages."""
    wrong: list[str] = []
    stop = feed.recorded.get("error", "")
    with same_upstream(feed.case), TiCDC(feed.release, sink_uri=uri, config=config or None, databases=()) as ticdc:
        ticdc.execute("SET time_zone = '+00:00'; SET timestamp = 1700000000")
        for statement in feed.statements:
            sql, expected, found, text = statement["sql"], statement.get("error", 0), 0, ""
            if expected == NOT_PLAYED:
                continue
            try:
                ticdc.execute(sql)
            except SqlError as error:
                found, text = error.number, error.text
            except EncodeError as error:
                # releases differ in what follows the first sentence (codecs/oversize.py)
                if stop.startswith(f"[{error.code}]{error.text.partition('. ')[0]}"):
                    return wrong, []
                raise
            if stop and text.removesuffix(f" ({sql})") in stop and sql in stop:
                return wrong, []
            if found != expected:
                wrong.append(f"{sql[:200]}: {expected} expected, {found} {text} found")
        messages = [] if feed.is_stored else ticdc.messages()
        schemas = {number: schema.text for number, schema in ticdc.schemas.items()}
    if stop:
        wrong.append(f"the changefeed was expected to stop: {stop}")
    return wrong, [
        Sent(
            each.topic,
            (each.partition,),
            each.key or b"",
            each.value or b"",
            each.value is not None,
            each.commit_ts,
            schemas,
        )
        for each in messages
    ]


def _recorded(recorded: Mapping[str, Any]) -> Iterator[Sent]:
    schemas = {int(number): schema["schema"] for number, schema in recorded.get("schemas", {}).items()}
    for each in recorded["messages"]:
        partitions = range(each["partitions"]) if "partitions" in each else (each["partition"],)
        key, value = (base64.b64decode(each[part] or "") for part in ("key", "value"))
        yield Sent(each["topic"], tuple(partitions), key, value, each["value"] is not None, 0, schemas)


def _dated(recorded: Iterable[Sent], sent: Iterable[Sent]) -> Iterator[Sent]:
    """Recorded messages, one for each partition, with the commit-ts of the simulated ones at the same places.

    Not all messages of Avro tell theirs. Watermarks are left out (`_events`), so that they shift no place.
    """
    times: dict[tuple[str, int], deque[int]] = defaultdict(deque)
    for message in filter(_is_dated, sent):
        times[message.topic, message.partitions[0]].append(message.commit_ts)
    for message in filter(_is_dated, recorded):
        for partition in message.partitions:
            queue = times[message.topic, partition]
            yield replace(message, partitions=(partition,), commit_ts=queue.popleft() if queue else 0)


def _is_dated(message: Sent) -> bool:
    return bool(message.key) or not message.value.startswith(avro_messages.WATERMARK)


def _unequal(expected: Sequence[Event], found: Sequence[Event]) -> list[str]:
    wrong = []
    sides = _in_order(expected), _in_order(found)
    for topic, partition in sorted({(event.topic, event.partition) for event in (*expected, *found)}):
        wanted, had = (
            [event for event in events if (event.topic, event.partition) == (topic, partition)] for events in sides
        )
        wrong += [
            f"{topic}/{partition} event {number}:\n  {one.text} expected,\n  {other.text} found"
            for number, (one, other) in enumerate(zip(wanted, had, strict=False))
            if one != other
        ]
        if len(wanted) != len(had):
            wrong.append(f"{topic}/{partition}: {len(wanted)} events expected, {len(had)} found")
    return wrong


def _in_order(events: Sequence[Event]) -> list[Event]:
    """Events by commit-ts and table; the rows of a table in one transaction by text where there are many."""
    ordered = sorted(events, key=_transaction)
    return [event for _, rows in groupby(ordered, _transaction) for event in _with_many_sorted(list(rows))]


def _transaction(event: Event) -> tuple[int, str]:
    return event.commit_ts, event.table


def _with_many_sorted(rows: list[Event]) -> list[Event]:
    """Rows by handle key: which of two partition keys comes first is a matter of a Go map."""
    return sorted(rows, key=lambda event: event.text if len(rows) > STABLE_ROWS else HANDLE.findall(event.text))


# -- one form ----------------------------------------------------------------------------------------------------------


def _events(feed: Feed, messages: Iterable[Sent], claims: Mapping[str, bytes]) -> list[Event]:
    """The events of messages, with each commit-ts replaced by its rank. Watermarks are left out: there is one at the
    end of a recording, and any number where time passes."""
    found = [
        Event(message.topic, partition, commit_ts, table, _with_claims(feed, text, claims))
        for message in messages
        for commit_ts, table, text in feed.read(message, feed.is_compressed)
        for partition in message.partitions
    ]
    if feed.read is _simple_events:
        times = bootstrap_times((event.commit_ts, event.table) for event in found)
        found = [replace(event, commit_ts=ts) for event, ts in zip(found, times, strict=True)]
        found.sort(key=lambda event: event.commit_ts)
        texts = numbered([event.text for event in found])
        found = [replace(event, text=text) for event, text in zip(found, texts, strict=True)]
    ranks = {ts: rank for rank, ts in enumerate(sorted({event.commit_ts for event in found}))}
    ids = sorted({int(id) for event in found for id in PARTITION_ID.findall(event.text)})
    return [
        replace(
            event,
            commit_ts=ranks[event.commit_ts],
            text=PARTITION_ID.sub(lambda found: f'"ptn":{ids.index(int(found[1]))}', event.text),
        )
        for event in found
    ]


def _open_events(message: Sent, is_compressed: bool) -> Iterator[tuple[int, str, str]]:
    """Keys are a version of eight bytes, then texts behind their lengths; values are such texts alone."""
    values = (_plain(value, is_compressed) for value in _texts(message.value))
    for key, value in zip(_texts(message.key[8:]), values, strict=True):
        fields = json.loads(key)
        if fields["t"] != 3:
            shown = key.decode().replace(f'"ts":{fields["ts"]}', '"ts":…', 1)
            # Go writes them otherwise from 1.22 on, and the releases were built with older ones
            escaped = value.decode().replace("\\b", "\\u0008").replace("\\f", "\\u000c")
            escaped = BIT.sub(lambda bit: f'{bit[1]},"v":{_bits(bit[2])}', escaped)
            yield fields["ts"], f"{fields['scm']}.{fields.get('tbl', '')}", f"{shown} {escaped}"


def _canal_events(message: Sent, is_compressed: bool) -> Iterator[tuple[int, str, str]]:
    value = _plain(message.value, is_compressed)
    fields = json.loads(value)
    if fields["type"] != "TIDB_WATERMARK":
        commit_ts = fields["_tidb"]["commitTs"]
        shown = value.decode()
        for name, time in (("commitTs", commit_ts), ("es", commit_ts >> 18), ("ts", fields["ts"])):
            shown = shown.replace(f'"{name}":{time}', f'"{name}":…', 1)
        for name, type in (fields["mysqlType"] or {}).items():
            if type == "bit":
                member = re.escape(json.dumps(name, ensure_ascii=False) + ':"')
                shown = re.sub(rf"(?<={member})\d+", lambda bit: _bits(bit[0]), shown)
        for name in ("sqlType", "mysqlType"):
            shown = _sorted_members(shown, name)
        yield commit_ts, f"{fields['database']}.{fields['table']}", f"{message.key.decode()} {shown}"


def _debezium_events(message: Sent, is_compressed: bool) -> Iterator[tuple[int, str, str]]:
    shown = _plain(message.value, is_compressed).decode(errors="surrogateescape")
    payload = json.loads(shown)["payload"]
    source = payload["source"]
    for text in (f'"commit_ts":{source["commit_ts"]}', f'"ts_ms":{source["ts_ms"]}', f'"ts_ms":{payload["ts_ms"]}'):
        assert text in shown
        shown = shown.replace(text, text.partition(":")[0] + ":…", 1)
    yield source["commit_ts"], f"{source['db']}.{source['table']}", f"{message.key.decode()} {shown}"


def _simple_events(message: Sent, is_compressed: bool) -> Iterator[tuple[int, str, str]]:
    read = read_simple(_plain(message.value, is_compressed))
    if read is not None:
        commit_ts, table, text = read
        yield commit_ts or message.commit_ts, table, text


def _avro_events(message: Sent, is_compressed: bool) -> Iterator[tuple[int, str, str]]:
    shown = avro_messages.shown(message.key, message.value if message.has_value else None, message.schemas)
    if shown is not None:
        yield message.commit_ts, *shown


READERS: dict[str, Reader] = {
    "open-protocol": _open_events,
    "canal-json": _canal_events,
    "debezium": _debezium_events,
    "simple": _simple_events,
    "avro": _avro_events,
}
"""By protocol: the events of a message in one form. Watermarks are left out."""


def _texts(content: bytes) -> Iterator[bytes]:
    while content:
        end = 8 + int.from_bytes(content[:8], "big")
        yield content[8:end]
        content = content[end:]


def _plain(value: bytes, is_compressed: bool) -> bytes:
    return lz4.frame.decompress(value) if is_compressed and value else value


def _bits(value: str) -> str:
    """The value of a BIT column or its bytes reversed, whichever is less: the recording's TiDB reverses the bytes of
    BIT(57) to BIT(64) that it reads back from its storage."""
    number = int(value)
    return str(min(number, int.from_bytes(number.to_bytes(8, "little"), "big")))


def _sorted_members(text: str, name: str) -> str:
    """The text of a JSON object with the members of one of its objects sorted: TiCDC writes a Go map."""
    begin = text.index(f'"{name}":') + len(f'"{name}":')
    members, end = json.JSONDecoder().raw_decode(text, begin)
    return text[:begin] + json.dumps(members, sort_keys=True) + text[end:]


def _with_claims(feed: Feed, text: str, claims: Mapping[str, bytes]) -> str:
    """The text, with what a claim-check file holds in place of its random name."""
    place = re.search(r'"(?:ccl|claimCheckLocation)":"([^"]*)"', text)
    if place is None:
        return text
    file = json.loads(claims[place[1].rpartition("/")[2]])
    key, value = (base64.b64decode(file[part] or "") for part in ("key", "value"))
    [(_, _, content)] = feed.read(Sent("", (), key, value, True, 0, {}), feed.is_compressed)
    return text.replace(place[1], content)
