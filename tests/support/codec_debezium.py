"""Debezium in JSON and in Avro: what a message holds of a row, read by the table's definition, and what is lost of it.

Avro is read by fastavro, which nobody here wrote.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np

from simulator.consumer.decode import Image, RowEvent
from simulator.consumer.decode.connect_texts import EXACT_DECIMALS, connect_text
from simulator.releases import Release
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family, is_binary
from support.codec_readings import ReadRow, Texts

OPERATIONS = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}
EPOCH = date(1970, 1, 1)
COUNTED = ("date", "datetime", "timestamp")


def debezium(value: bytes, table: Table) -> ReadRow:
    """The row of a message in JSON."""
    payload = json.loads(value.decode("utf-8", "surrogateescape"))["payload"]
    return _row(payload, table)


def debezium_avro(value: bytes, table: Table, schemas: Mapping[int, str]) -> ReadRow:
    """The row of a message in Avro."""
    payload, schema = avro_record(value, schemas)
    names = {field["name"]: field["connect.field"] for field in _row_fields(schema)}
    for side in ("before", "after"):
        if payload[side] is not None:
            payload[side] = {names[name]: _plain(found) for name, found in payload[side].items()}
    return _row(payload, table)


def avro_record(message: bytes, schemas: Mapping[int, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A record and its schema; nothing is left behind it."""
    assert message[:1] == b"\0"
    schema = json.loads(schemas[int.from_bytes(message[1:5], "big")])
    stream = io.BytesIO(message[5:])
    parsed = fastavro.parse_schema(schema)
    found = fastavro.schemaless_reader(stream, parsed, None, handle_unicode_errors="surrogateescape")
    assert isinstance(found, dict) and not stream.read()
    return found, schema


def _row_fields(envelope: Mapping[str, Any]) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = envelope["fields"][0]["type"][1]["fields"]
    return fields


def _plain(value: Any) -> Any:
    """A value as JSON has it; a DECIMAL is a text."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return format(value, "f") if isinstance(value, Decimal) else value


def _row(payload: Mapping[str, Any], table: Table) -> ReadRow:
    source, types = payload["source"], {column.name: column for column in table.columns}
    before, after = (
        image if image is None else {name: _text(value, types[name]) for name, value in image.items()}
        for image in (payload.get("before"), payload["after"])
    )
    return ReadRow(OPERATIONS[payload["op"]], before, after, source["db"], source["table"], source["commit_ts"])


def _text(value: Any, of: Column) -> str | None:
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


def left(text: str, column: Column, release: Release, protocol: str) -> str | None:
    """The TiDB text that a reader gets for a column's: of a DECIMAL in JSON a float, of dates those that exist."""
    if column.type.name == "float":
        return repr(float(np.float32(text)))
    if column.type.name == "decimal" and protocol == "debezium":
        return repr(float(text))
    if column.type.name == "time" and text.startswith("-") and not text.strip("-0:."):
        return text[1:]
    if column.type.name not in COUNTED:
        return text
    if column.type.name == "timestamp":
        return _timestamp(text, column, release)
    year, month, day = int(text[:4]), text[5:7], text[8:10]
    if release.debezium_moves_years and year < 100:
        year += 2000 if year < 70 else 1900
    try:
        date(year or 2000, int(month), int(day))
    except ValueError:
        return counted(0, column) if column.not_null else None
    return f"{year:04d}{text[4:]}"


def _timestamp(text: str, column: Column, release: Release) -> str | None:
    """Zero is 1970, without a fraction in later releases, or NULL."""
    if not text.startswith("0000-00-00"):
        return text
    if release.debezium_moves_years:
        return "1970-01-01 00:00:00"
    return f"1970-01-01 00:00:00.{'0' * column.type.decimal}" if column.not_null else None


def same_text(found: str | None, wanted: str | None, column: Column) -> bool:
    """Whether two texts are one, numbers compared as such."""
    if found is None or wanted is None or column.type.name not in ("float", "double", "decimal"):
        return found == wanted
    if column.type.name == "float":
        return bool(np.float32(found) == np.float32(wanted))
    return bool(found == wanted or float(found) == float(wanted))


def assert_decoded(event: RowEvent, row: ReadRow, table: Table) -> None:
    """The project's decoder says the same, except for texts that may stand for several values."""
    types = {column.name: column for column in table.columns}
    for image, read in ((event.before, row.before), (event.after, row.after)):
        found = None if image is None else _texts(event, image, types)
        assert (found is None) == (read is None)
        for name, text in (found or {}).items():
            unknown = text is None and image is not None and image[name] is not None
            assert unknown or same_text(text, (read or {})[name], types[name]), (name, text, read)
        assert [*(found or {})] == [*(read or {})]


def _texts(event: RowEvent, image: Image, types: Mapping[str, Column]) -> Texts:
    """The values of an image in TiDB text; None for unknown ones."""
    found: Texts = {}
    for name, value in image.items():
        column = types[name]
        exact = column.type.name == "decimal" and event.columns[name].type in EXACT_DECIMALS
        assert value is None or isinstance(value, str)
        found[name] = value if value is None or exact else connect_text(value, column)
    return found
