"""What a message of Simple or Debezium holds of a row, read by the table's definition and by nothing that the encoders or the
decoder use. The decoder of other protocols is held to TiCDC's own messages (tests/reader/test_decoded_batches).

A value comes back as the TiDB text that went in, or the reading fails.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import fastavro

from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family, is_binary

Texts = dict[str, "str | None"]
"""TiDB text by column: bytes of binary columns as Latin-1, of others that are not UTF-8 as lone surrogates."""


@dataclass(frozen=True)
class ReadRow:
    """One row change as its message has it."""

    op: str
    before: Texts | None
    after: Texts | None
    schema: str
    table: str
    commit_ts: int
    row_id: int | None = None
    partition: int | None = None
    handle_only: bool = False
    nameless: int = 0
    """Old values of which nobody can say whose they are."""


def simple(value: bytes, table: Table) -> ReadRow:
    """The row of a Simple message in JSON; its types are the table's. The first form has a `schema`."""
    message = json.loads(value)
    op, types = message["type"], {column.name: column for column in table.columns}
    first_form = "schema" in message
    before, after = (
        {name: simple_text(value, types[name], first_form) for name, value in message.get(side, {}).items()}
        for side in ("old", "data")
    )
    return ReadRow(
        op,
        None if op == "INSERT" else before,
        None if op == "DELETE" else after,
        message["schema" if first_form else "database"],
        message["table"],
        message["commitTs"],
        handle_only=message.get("handleKeyOnly", False),
    )


def simple_text(value: str | dict[str, str] | None, of: Column, first_form: bool) -> str | None:
    if value is None:
        return None
    if of.type.name == "timestamp" and not first_form:
        assert isinstance(value, dict) and value.keys() == {"location", "value"}
        return value["value"]
    assert isinstance(value, str)
    if of.type.charset == "binary" and (of.type.name in ("char", "varchar") or of.type.name.endswith("text")):
        return base64.b64decode(value, validate=True).decode("latin-1")
    return value if first_form else member(value, of)


def member(value: str, of: Column) -> str:
    """The names behind the numbers of ENUM and SET; an empty text stands for columns that selectors leave out."""
    names = of.type.elements
    if not value:
        return value
    if of.type.name == "enum":
        return ("", *names)[int(value)]
    if of.type.name == "set":
        return ",".join(name for bit, name in enumerate(names) if int(value) >> bit & 1)
    return value


def comparable(text: str | None, of: Column) -> str | None:
    """One form of floating-point text, digit for digit."""
    return text if text is None or of.type.name not in ("float", "double") else repr(float(text))


# -- Debezium, in Avro read by fastavro, which nobody here wrote -----------------------------------------------------

OPERATIONS = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}
EPOCH = date(1970, 1, 1)


def debezium(value: bytes, table: Table) -> ReadRow:
    """The row of a message in JSON."""
    payload = json.loads(value.decode("utf-8", "surrogateescape"))["payload"]
    return debezium_row(payload, table)


def debezium_avro(value: bytes, table: Table, schemas: Mapping[int, str]) -> ReadRow:
    """The row of a message in Avro."""
    payload, schema = avro_record(value, schemas)
    names = {field["name"]: field["connect.field"] for field in row_fields(schema)}
    for side in ("before", "after"):
        if payload[side] is not None:
            payload[side] = {names[name]: plain(found) for name, found in payload[side].items()}
    return debezium_row(payload, table)


def avro_record(message: bytes, schemas: Mapping[int, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A record and its schema; nothing is left behind it."""
    assert message[:1] == b"\0"
    schema = json.loads(schemas[int.from_bytes(message[1:5], "big")])
    stream = io.BytesIO(message[5:])
    parsed = fastavro.parse_schema(schema)
    found = fastavro.schemaless_reader(stream, parsed, None, handle_unicode_errors="surrogateescape")
    assert isinstance(found, dict) and not stream.read()
    return found, schema


def row_fields(envelope: Mapping[str, Any]) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = envelope["fields"][0]["type"][1]["fields"]
    return fields


def plain(value: Any) -> Any:
    """A value as JSON has it; a DECIMAL is a text."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return format(value, "f") if isinstance(value, Decimal) else value


def debezium_row(payload: Mapping[str, Any], table: Table) -> ReadRow:
    source, types = payload["source"], {column.name: column for column in table.columns}
    before, after = (
        image if image is None else {name: debezium_text(value, types[name]) for name, value in image.items()}
        for image in (payload.get("before"), payload["after"])
    )
    return ReadRow(OPERATIONS[payload["op"]], before, after, source["db"], source["table"], source["commit_ts"])


def debezium_text(value: Any, of: Column) -> str | None:
    """TiDB text of a value."""
    if value is None:
        return None
    kind = family(of.type)
    if kind == "bit":
        assert isinstance(value, bool) == (of.type.length == 1)
        return str(int(value) if isinstance(value, bool) else int.from_bytes(base64.b64decode(value), "little"))
    if kind in ("string", "text") and is_binary(of.type):
        return base64.b64decode(value, validate=True).decode("latin-1")
    if of.type.name == "timestamp":
        return str(value).replace("T", " ").removesuffix("Z")
    if of.type.name in ("date", "datetime", "time"):
        return counted(value, of)
    if of.type.name == "bigint" and of.type.unsigned:
        return str(int(value) % (1 << 64))
    return repr(value) if isinstance(value, float) else str(value)


def counted(number: int, of: Column) -> str:
    """The text of days, milliseconds or microseconds."""
    if of.type.name == "date":
        return str(EPOCH + timedelta(number))
    digits = max(of.type.decimal, 0)
    micros = number if of.type.name == "time" or digits > 3 else number * 1000
    sign, micros = ("-", -micros) if of.type.name == "time" and micros < 0 else ("", micros)
    seconds, part = divmod(micros, 10**6)
    fraction = f".{part:06d}"[: digits + 1] if digits else ""
    days, seconds = divmod(seconds, 86400) if of.type.name == "datetime" else (0, seconds)
    day = f"{EPOCH + timedelta(days)} " if of.type.name == "datetime" else ""
    return f"{day}{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"
