"""Recorded messages of Simple in one form, for `support.endtoend`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from simulator.consumer.decode.simple import avro

TABLE_ID = re.compile(r'(?<=[,{])"tableID":(\d+)')
ESCAPES = {"b": "\\u0008", "f": "\\u000c"}
VERSION = re.compile(r'(?<=[,{])("schemaVersion"|"tableID":\d+,"version"):(\d+)')


def read_simple(content: bytes) -> tuple[int, str, str] | None:
    """Commit-ts, table and text of a message without its times; None for a watermark. A BOOTSTRAP has commit-ts 0."""
    text = content.decode() if content[:1] == b"{" else _avro_text(content)
    fields = json.loads(text)
    if fields["type"] == "WATERMARK":
        return None
    # Go writes them otherwise from 1.22 on, and the releases were built with older ones
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\([bf])", lambda found: found[1] + ESCAPES[found[2]], text)
    shown = re.sub(r'"commitTs":\d+,"buildTs":\d+', '"commitTs":…,"buildTs":…', text, count=1)
    return fields["commitTs"], _name(fields), shown


def _avro_text(content: bytes) -> str:
    """The members of an Avro message as JSON, its maps in the order of their names, and its size without the numbers
    that differ."""
    message = avro.read(content)
    return json.dumps(
        {name: dict(sorted(part.items())) if name in ("data", "old") else part for name, part in message.items()},
        default=lambda value: {"bytes": value.hex()},
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _name(fields: dict[str, Any]) -> str:
    schema = fields.get("tableSchema") or {"schema": fields.get("database", ""), "table": fields.get("table", "")}
    return f"{schema['schema']}.{schema['table']}"


def bootstrap_times(events: Iterable[tuple[int, str]]) -> list[int]:
    """The commit-ts of events: a BOOTSTRAP that has none gets that of the next row of its table."""
    times: list[int] = []
    following: dict[str, int] = {}
    for commit_ts, table in reversed(list(events)):
        if commit_ts:
            following[table] = commit_ts
        times.append(commit_ts or following[table])
    return times[::-1]


def numbered(texts: Iterable[str]) -> Iterator[str]:
    """The texts with table ids and schema versions numbered in the order of their first appearance."""
    ids: dict[str, int] = {}
    versions: dict[str, int] = {}
    for text in texts:
        text = VERSION.sub(lambda found: f"{found[1]}:{versions.setdefault(found[2], len(versions))}", text)
        yield TABLE_ID.sub(lambda found: f'"tableID":{ids.setdefault(found[1], len(ids))}', text)
