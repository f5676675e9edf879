"""Recorded messages as lines for people, or as JSON for programs. Every message gives at least one line."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from simulator import tso
from simulator.errors import UserError, printable, printable_json
from simulator.limits import counted
from simulator.reader.decode import DECODERS, decode, told_schemas
from simulator.reader.events import DdlEvent, Event, Image, RowEvent, TableSchemas, Value, Watermark
from simulator.reader.records import TopicPartition
from simulator.sinks.memory import Message
from simulator.sinks.records import Record

WIDTH = 60
"""Characters of a value that are shown."""


def lines(
    records: Iterable[Record],
    as_json: bool = False,
    protocol: str | None = None,
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield a line for each event. Without `protocol` it is detected for each message. `schemas` are those of a
    registry, by id. An unreadable record gives a line, too."""
    told = defaultdict[TopicPartition, TableSchemas](dict)
    for record in records:
        try:
            events = decode(record.key, record.value, protocol, schemas, told[record.topic, record.partition])
        except UserError as error:
            yield json_line(record, unreadable(record, error)) if as_json else unreadable_line(record, error)
            continue
        for event in events:
            yield json_line(record, as_dict(event)) if as_json else line(record, event)
        for schema, table, version in told_schemas(record.key, record.value, protocol) if not events else ():
            told_schema = {"event": "BOOTSTRAP", "schema": schema, "table": table, "version": version}
            place = f"{record.topic}/{record.partition}@{record.offset}"
            text = printable(f"{place} - - BOOTSTRAP {schema}.{table} version {version}")
            yield json_line(record, told_schema) if as_json else text


def raw_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield a line for each message, `topic/partition@offset KEY … VALUE …`, with escapes for bytes that are not
    text."""
    for record in records:
        key, value = ("null" if data is None else as_text(data) for data in (record.key, record.value))
        yield f"{printable(record.topic)}/{record.partition}@{record.offset} KEY {key} VALUE {value}"


def as_text(data: bytes) -> str:
    """Return bytes of a message as one line of text, with escapes for other bytes."""
    return printable(data.decode("utf-8", "backslashreplace"))


def line(record: Record, event: Event) -> str:
    """Return `topic/partition@offset TSO time KIND schema.table columns`."""
    ts, time = event_time(event)
    return printable(f"{record.topic}/{record.partition}@{record.offset} {ts or '-'} {time} {describe(event)}")


def json_line(record: Record, event: dict[str, Any]) -> str:
    place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    return printable_json({**place, **event})


def as_dict(event: Event) -> dict[str, Any]:
    """Return an event as JSON members: `event`, `commit_ts`, `time`, and those of its kind; bytes as {"hex": …}."""
    ts, time = event_time(event)
    head: dict[str, Any] = {"event": kind(event), "commit_ts": ts, "time": time}
    if isinstance(event, Watermark):
        return head
    head |= {"schema": event.schema, "table": event.table}
    if isinstance(event, DdlEvent):
        return head | {"query": event.query, "type": event.type}
    optional: dict[str, Any] = {"rid": event.rid, "ptn": event.ptn, "only_handle": event.only_handle or None}
    optional["stored_at"] = event.stored_at or None
    optional["untold"] = event.untold or None
    optional["unnamed"] = [_json_value(value) for value in event.unnamed] or None
    head |= {name: value for name, value in optional.items() if value is not None}
    return head | {"before": _json_image(event.before), "after": _json_image(event.after)}


def kind(event: Event) -> str:
    """Return INSERT, UPDATE, DELETE, DDL or WATERMARK."""
    if isinstance(event, RowEvent):
        return event.op
    return "DDL" if isinstance(event, DdlEvent) else "WATERMARK"


def event_time(event: Event) -> tuple[int | None, str]:
    """Return the TSO (None if the message has none) and the time in UTC, to the millisecond."""
    ts = event.ts if isinstance(event, Watermark) else event.commit_ts
    ms = tso.physical(ts) if ts is not None else 0 if isinstance(event, Watermark) else event.es or 0
    try:
        time = datetime.fromtimestamp(ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return ts, f"{ms}ms"
    return ts, f"{time:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def unreadable(record: Record, error: UserError) -> dict[str, Any]:
    return {"event": "UNREADABLE", "reason": str(error), "key": _hex(record.key), "value": _hex(record.value)}


def unreadable_line(record: Record, error: UserError) -> str:
    key, value = (value_text(data) for data in (record.key, record.value))
    place = f"{record.topic}/{record.partition}@{record.offset}"
    return printable(f"{place} UNREADABLE {error}; key {key}; value {value}")


def describe(event: Event) -> str:
    """Return `KIND schema.table columns`."""
    if isinstance(event, Watermark):
        return "WATERMARK"
    name = name_text(*filter(None, (event.schema, event.table)))
    if isinstance(event, DdlEvent):
        return f"DDL {name} [{event.type}] {event.query}"
    columns = _changes(event) if event.op == "UPDATE" and event.before is not None else _columns(event)
    elsewhere = f", all of it at {event.stored_at}" if event.stored_at else ""
    note = [f"(the handle key alone{elsewhere})"] if event.only_handle else []
    note += ["(its table schema was not told before)"] if event.untold else []
    return " ".join((event.op, name, *columns, *note))


def _columns(event: RowEvent) -> Iterator[str]:
    image = event.before if event.after is None else event.after
    for name, value in (image or {}).items():
        yield f"{name_text(name)}={value_text(value)}"


def _changes(event: RowEvent) -> Iterator[str]:
    before, after = {**(event.after or {}), **(event.before or {})}, event.after or {}
    keyed = any(info.key for info in event.columns.values())
    for name, value in after.items():
        old = before.get(name)
        if old != value:
            yield f"{name_text(name)}: {value_text(old)}→{value_text(value)}"
        elif not keyed or name in event.columns and event.columns[name].key:
            yield f"{name_text(name)}={value_text(value)}"
    for value in event.unnamed:
        yield f"(no name): {value_text(value)}→NULL"


def quote_if_needed(text: str) -> str:
    """Return text as it is if that is unambiguous, else in JSON quotes."""
    plain = re.fullmatch(r"[^\s\"'=:,;→\\]+|\d[\d :.-]+", text) and text.isprintable()
    return text if plain and text != "NULL" and not text.startswith("0x") else json.dumps(text, ensure_ascii=False)


def name_text(*names: str) -> str:
    """Return the name of a schema, a table or a column, with its parts in quotes where that is needed."""
    return ".".join(json.dumps(name, ensure_ascii=False) if "." in name else quote_if_needed(name) for name in names)


def value_text(value: Value) -> str:
    """Return a value for people: the first WIDTH characters, bytes in hexadecimal digits."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        rest = f"…({counted(len(value), 'byte')})" if len(value) > WIDTH // 2 else ""
        return f"0x{value[: WIDTH // 2].hex()}{rest}"
    return (
        quote_if_needed(value)
        if len(value) <= WIDTH
        else f"{quote_if_needed(value[:WIDTH])}…({counted(len(value), 'character')})"
    )


def _json_image(image: Image | None) -> dict[str, Any] | None:
    if image is None:
        return None
    return {name: _json_value(value) for name, value in image.items()}


def _json_value(value: Value) -> Any:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _hex(data: bytes | None) -> dict[str, str] | None:
    return None if data is None else {"hex": data.hex()}


class MessageReader:
    """Decodes messages of a protocol. It remembers the table schemas that those of each partition tell."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._told = defaultdict[TopicPartition, TableSchemas](dict)

    def events(self, message: Message, schemas: Mapping[int, str] = MappingProxyType({})) -> tuple[Event, ...]:
        """Return the events of a message. `schemas` are those of a registry, by id.

        A row without any time has that of its message.
        """
        told = self._told[message.topic, message.partition]
        found = decode(message.key, message.value, self._protocol, schemas, told)
        return tuple(_timed(event, message) for event in found)

    def skip(self, message: Message) -> None:
        """Remember the schemas that a message tells."""
        memory = DECODERS[self._protocol].memory
        if memory is not None:
            self._told[message.topic, message.partition].update(memory.told(message.key, message.value))


def _timed(event: Event, message: Message) -> Event:
    if isinstance(event, RowEvent) and event.commit_ts is None and event.es is None:
        return replace(event, es=message.timestamp)
    return event
