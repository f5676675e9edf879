"""The events of messages in a form in which two streams can be compared: as text, without what no two runs share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from simulator.consumer.compare import avro_records
from simulator.consumer.decode import DECODERS
from simulator.consumer.decode.simple import avro as simple_avro
from simulator.consumer.decode.whole_messages import decompress_value
from simulator.errors import UserError
from simulator.files import parse_error_reason
from simulator.tso import LOGICAL_BITS

IGNORABLE = {
    "commit-ts": "commit-ts; that the same events share one, and their order, is still compared",
    "build-ts": "times at which a message was built or sent",
    "ids": "ids of tables and partitions, and versions of schemas; which events share one is still compared",
    "order": "the order of tables, and of partition keys, inside a transaction",
    "members": "the order of members of objects that TiCDC writes from a map: mysqlType, sqlType, rows of Simple in Avro",
    "watermarks": "watermarks",
    "claim-check-names": "the names of claim-check files, which are random",
}
"""What a comparison can ignore, and what that is."""

END = 1 << 64
"""Above every commit-ts."""

EVERYTHING = frozenset(IGNORABLE)


@dataclass(frozen=True)
class StreamMessage:
    """A message with its place."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    commit_ts: int = 0
    """Known from elsewhere, as not all messages of Avro tell it; else 0."""


@dataclass(frozen=True)
class ComparedEvent:
    """An event as one partition has it."""

    topic: str
    partition: int
    offset: int
    commit_ts: int
    """0 if the message does not tell it."""

    table: str
    key: str
    value: str
    """Texts of JSON, or empty; what is ignored is 0 in them."""

    ids: tuple[tuple[str, int], ...] = ()
    """The names and numbers of the ids and versions that are 0 in the texts."""

    @property
    def text(self) -> str:
        return f"{self.key} {self.value}"


@dataclass(frozen=True)
class _Text:
    """What a protocol's reader knows of an event; `commit_ts` is 0 if the message does not tell it."""

    commit_ts: int
    table: str
    key: str
    value: str
    is_watermark: bool = False
    ids: tuple[tuple[str, int], ...] = ()


_Reader: TypeAlias = "Callable[[bytes | None, bytes | None, frozenset[str], Mapping[int, str]], _Text]"

PARTITION_ID = (re.compile(r'(?<=[,{])"(ptn)":(\d+)'),)
"""The id of a table's partition in a key of Open Protocol."""

SIMPLE_IDS = (
    re.compile(r'(?<=[,{])"(tableID|schemaVersion)":(\d+)'),
    re.compile(r'(?<="tableID":0,)"(version)":(\d+)'),
)
"""Ids of tables and versions of schemas in Simple."""

CLAIM_CHECK_NAME = re.compile(r'(?<="ccl":")[^"]*|(?<="claimCheckLocation":")[^"]*')


def events_of(
    message: StreamMessage,
    protocol: str,
    ignored: frozenset[str] = EVERYTHING,
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[ComparedEvent]:
    """Yield the events of a message; `schemas` are those of a registry, by id. Raises UserError if it cannot be read."""
    try:
        pairs = DECODERS[protocol].texts(message.key, message.value)
        texts = [READERS[protocol](key, value, ignored, schemas) for key, value in pairs]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        place = f"{message.topic}/{message.partition}@{message.offset}"
        raise UserError(f"{place} is no message of {protocol}: {parse_error_reason(error)}") from error
    for text in texts:
        if text.is_watermark and "watermarks" in ignored:
            continue
        value = CLAIM_CHECK_NAME.sub("", text.value) if "claim-check-names" in ignored else text.value
        yield ComparedEvent(
            message.topic,
            message.partition,
            message.offset,
            message.commit_ts or text.commit_ts,
            text.table,
            text.key,
            value,
            text.ids,
        )


def with_commit_ts(events: Sequence[ComparedEvent]) -> list[ComparedEvent]:
    """Give events of a partition that have no commit-ts, like BOOTSTRAP of Simple, that of the next event of their
    table, or END."""
    dated: list[ComparedEvent] = []
    following: dict[str, int] = {}
    for event in reversed(events):
        if event.commit_ts:
            following[event.table] = event.commit_ts
        dated.append(event if event.commit_ts else replace(event, commit_ts=following.get(event.table, END)))
    return dated[::-1]


def _open(key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]) -> _Text:
    shown = _text(key)
    fields = json.loads(shown)
    ids: tuple[tuple[str, int], ...] = ()
    if "commit-ts" in ignored:
        shown = _zero(shown, "ts", fields["ts"])
    if "ids" in ignored:
        shown, ids = _without_ids(shown, PARTITION_ID)
    table = f"{fields.get('scm', '')}.{fields.get('tbl', '')}"
    return _Text(fields["ts"], table, shown, _text(decompress_value(value or b"")), fields["t"] == 3, ids)


def _canal(key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]) -> _Text:
    shown = _text(decompress_value(value or b""))
    fields = json.loads(shown)
    extension = fields.get("_tidb") or {}
    is_watermark = fields["type"] == "TIDB_WATERMARK"
    name = "watermarkTs" if is_watermark else "commitTs"
    if "commit-ts" in ignored:
        for member, number in ((name, extension.get(name)), ("es", fields["es"])):
            shown = _zero(shown, member, number)
    if "build-ts" in ignored:
        shown = _zero(shown, "ts", fields["ts"])
    for member in ("sqlType", "mysqlType") if "members" in ignored else ():
        shown = _with_sorted_members(shown, member)
    commit_ts = extension.get(name) or fields["es"] << LOGICAL_BITS
    return _Text(commit_ts, f"{fields['database']}.{fields['table']}", _text(key), shown, is_watermark)


def _debezium(key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]) -> _Text:
    shown = _text(decompress_value(value or b""))
    document = json.loads(shown)
    payload = document.get("payload", document)
    source = payload["source"]
    if "commit-ts" in ignored:
        for member in ("commit_ts", "ts_ms"):
            shown = _zero(shown, member, source.get(member))
    if "build-ts" in ignored:
        shown = _zero(shown, "ts_ms", payload.get("ts_ms"))
    table = f"{source.get('db') or ''}.{source.get('table') or ''}"
    return _Text(source["commit_ts"], table, _text(key), shown, payload.get("op") == "m")


def _simple(key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]) -> _Text:
    content = decompress_value(value or b"")
    shown = _text(content) if content[:1] == b"{" else _simple_avro(content, "members" in ignored)
    fields = json.loads(shown)
    if "commit-ts" in ignored:
        shown = _zero(shown, "commitTs", fields["commitTs"])
    if "build-ts" in ignored:
        shown = _zero(shown, "buildTs", fields["buildTs"])
    ids: tuple[tuple[str, int], ...] = ()
    if "ids" in ignored:
        shown, ids = _without_ids(shown, SIMPLE_IDS)
    named = fields.get("tableSchema") or {}
    table = f"{named.get('schema') or fields.get('database') or ''}.{named.get('table') or fields.get('table') or ''}"
    return _Text(fields["commitTs"], table, _text(key), shown, fields["type"] == "WATERMARK", ids)


def _simple_avro(content: bytes, sorts_members: bool) -> str:
    """Return the members of an Avro message as JSON."""
    message = simple_avro.read(content)
    parts = {
        name: dict(sorted(part.items())) if sorts_members and name in ("data", "old") else part
        for name, part in message.items()
    }
    return json.dumps(parts, default=lambda value: {"hex": value.hex()}, ensure_ascii=False, separators=(",", ":"))


def _avro(key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]) -> _Text:
    if not key and value and value.startswith(avro_records.WATERMARK):
        ts = int.from_bytes(value[1:9], "big")
        return _Text(ts, "", "", "0" if "commit-ts" in ignored else str(ts), True)
    if not key and value and value.startswith(avro_records.DDL):
        shown = _text(value[1:])
        fields = json.loads(shown)
        text = _zero(shown, "commitTs", fields["commitTs"]) if "commit-ts" in ignored else shown
        return _Text(fields["commitTs"], f"{fields['schema']}.{fields['table']}", "", text)
    record = json.loads(avro_records.schema_of(key or value or b"", schemas))
    hidden = avro_records.TIMES if "commit-ts" in ignored else frozenset()
    shown_key, shown_value = (avro_records.record_text(part, schemas, hidden) for part in (key, value))
    commit_ts = avro_records.commit_ts_of(value, schemas)
    return _Text(commit_ts, f"{record['namespace']}.{record['name']}", shown_key, shown_value)


READERS: Mapping[str, _Reader] = {
    "open-protocol": _open,
    "canal-json": _canal,
    "debezium": _debezium,
    "simple": _simple,
    "avro": _avro,
}


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "surrogateescape")


def _zero(text: str, member: str, number: object) -> str:
    """Return the text with 0 in place of a member's number, at its first place."""
    return text if number is None else text.replace(f'"{member}":{number}', f'"{member}":0', 1)


def _without_ids(text: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return the text with 0 in place of the numbers of each pattern in turn, and their names and numbers."""
    ids: list[tuple[str, int]] = []
    for pattern in patterns:
        ids += ((name, int(number)) for name, number in pattern.findall(text))
        text = pattern.sub(lambda match: f'"{match[1]}":0', text)
    return text, tuple(ids)


def _with_sorted_members(text: str, name: str) -> str:
    """Return the text of a JSON object with the members of one of its objects sorted."""
    start = text.index(f'"{name}":') + len(f'"{name}":')
    members: Any
    members, end = json.JSONDecoder().raw_decode(text, start)
    return text[:start] + json.dumps(members, sort_keys=True, ensure_ascii=False) + text[end:]
