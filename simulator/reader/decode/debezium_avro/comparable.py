"""Messages of Debezium in Avro in comparable form: each record as its schema and its members."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simulator.reader.decode.avro_schemas import HEADER, schema_text
from simulator.reader.decode.comparable import ComparableText
from simulator.reader.decode.debezium_avro import records


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    schema, payload = _record(value or b"", schemas)
    source = payload["source"]
    commit_ts, table = int(source["commit_ts"]), f"{source['db']}.{source['table']}"
    if "commit-ts" in ignored:
        payload = {**payload, "source": {**source, "commit_ts": 0, "ts_ms": 0}}
    if "build-ts" in ignored:
        payload = {**payload, "ts_ms": 0}
    if "schemas" in ignored:
        schema = "null"
    shown_key = "" if key is None else _text(*_record(key, schemas))
    return ComparableText(commit_ts, table, shown_key, _text(schema, payload), payload.get("op") == "m")


def _record(message: bytes, schemas: Mapping[int, str]) -> tuple[str, dict[str, Any]]:
    """Return the schema of a message and its members; raises ValueError."""
    schema = schema_text(message, schemas)
    return schema, records.parsed(schema).read(message[HEADER:])


def _text(schema: str, payload: Mapping[str, Any]) -> str:
    return f'{{"schema":{schema},"payload":{json.dumps(payload)}}}'
