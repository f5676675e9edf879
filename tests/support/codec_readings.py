"""What a message holds of a row, read by the table's definition and by nothing that the encoders or the decoder use.

A value comes back as the TiDB text that went in, or the reading fails.
"""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import fastavro

from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family, is_binary
from support.codec_rows import unframed, unquoted

Texts = dict[str, "str | None"]
"""TiDB text by column: bytes of binary columns as Latin-1, of others that are not UTF-8 as lone surrogates."""

CODES = {
    **{"tinyint": 1, "smallint": 2, "mediumint": 9, "int": 3, "bigint": 8, "float": 4, "double": 5, "decimal": 246},
    **{"bit": 16, "year": 13, "date": 10, "time": 11, "datetime": 12, "timestamp": 7, "char": 254, "varchar": 15},
    **{"tinytext": 249, "text": 252, "mediumtext": 250, "longtext": 251},
    **{"enum": 247, "set": 248, "json": 245, "vector": 225},
}
NUMBERS = {"tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "bit", "year", "enum", "set"}


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
    nameless: tuple[Mapping[str, Any], ...] = ()
    """Column objects of `p` without a name."""


class Number(str):
    """A JSON number as it is written."""


def parsed(text: bytes) -> list[tuple[str, Any]]:
    """A JSON object as pairs, bytes that are not UTF-8 as lone surrogates."""
    found: list[tuple[str, Any]] = json.loads(
        text.decode("utf-8", "surrogateescape"), parse_int=Number, parse_float=Number, object_pairs_hook=list
    )
    return found


def opened(key: bytes, value: bytes, table: Table) -> list[ReadRow]:
    """The rows of an Open Protocol message."""
    assert key[:8] == struct.pack(">Q", 1)
    return [
        open_row(dict(parsed(part)), parsed(other), table)
        for part, other in zip(unframed(key[8:]), unframed(value), strict=True)
    ]


def open_row(key: Mapping[str, Any], value: list[tuple[str, Any]], table: Table) -> ReadRow:
    """One entry, taken out of its message."""
    rows = dict(value)
    assert key["t"] == "1" and [name for name, _ in value] in (["d"], ["u"], ["u", "p"])
    old, new = rows.get("d", rows.get("p")), rows.get("u")
    numbers = {name: int(key[name]) if name in key else None for name in ("rid", "ptn")}
    return ReadRow(
        "DELETE" if new is None else "INSERT" if old is None else "UPDATE",
        open_texts(old, table),
        open_texts(new, table),
        key.get("scm", ""),
        key.get("tbl", ""),
        int(key["ts"]),
        numbers["rid"],
        numbers["ptn"],
        key.get("ohk") is True,
        tuple(nameless(old or [])),
    )


def nameless(columns: list[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
    """Members `t`, `f`, `v` that stand where columns stand."""
    loose = [(name, value) for name, value in columns if not isinstance(value, list)]
    for at in range(0, len(loose), 3):
        assert [name for name, _ in loose[at : at + 3]] == ["t", "f", "v"]
        yield dict(loose[at : at + 3])


def open_texts(columns: list[tuple[str, Any]] | None, table: Table) -> Texts | None:
    if columns is None:
        return None
    types = {column.name: column for column in table.columns}
    named = [(name, dict(column)) for name, column in columns if isinstance(column, list)]
    assert len(dict(named)) == len(named)
    return {name: open_text(column, types[name]) for name, column in named}


def open_text(column: Mapping[str, Any], of: Column) -> str | None:
    assert int(column["t"]) == CODES[of.type.name]
    value = column["v"]
    if value is None:
        return None
    assert isinstance(value, Number) == (of.type.name in NUMBERS), (of.type.name, value)
    binary = of.type.charset == "binary"
    is_string = of.type.name in ("char", "varchar")
    if of.type.name.endswith("text") or is_string and "f" not in column:
        data = base64.b64decode(value, validate=True)
        return data.decode("latin-1") if binary else data.decode("utf-8", "surrogateescape")
    if is_string and binary:
        return unquoted(value).decode("latin-1")
    return member(str(value), of)


def canal(value: bytes, table: Table, as_latin1: bool = True) -> ReadRow:
    """The row of a Canal-JSON message; `as_latin1` is whether BINARY is so, too."""
    message = json.loads(value)
    assert (message["id"], message["isDdl"], message["sql"]) == (0, False, "")
    op, data, old = message["type"], message["data"], message["old"]
    extension = message.get("_tidb", {})
    (row,) = data
    texts = canal_texts(row, table, as_latin1)
    before = canal_texts(old[0], table, as_latin1) if op == "UPDATE" else texts if op == "DELETE" else None
    return ReadRow(
        op,
        before,
        None if op == "DELETE" else texts,
        message["database"],
        message["table"],
        extension.get("commitTs", message["es"] << 18),
        handle_only=extension.get("onlyHandleKey", False),
    )


def canal_texts(row: Mapping[str, Any], table: Table, as_latin1: bool) -> Texts:
    types = {column.name: column for column in table.columns}
    return {name: canal_text(value, types[name], as_latin1) for name, value in row.items()}


def canal_text(value: str | None, of: Column, as_latin1: bool) -> str | None:
    if value is None:
        return None
    assert isinstance(value, str)
    if of.type.charset == "binary" and of.type.name in ("char", "varchar") and not as_latin1:
        return latin1(value)
    if of.type.name in ("float", "double"):
        assert "e" not in value
    return member(value, of)


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


def latin1(text: str) -> str:
    """Bytes that were written as text, where none of them was lost."""
    return text if "\ufffd" in text else text.encode().decode("latin-1")


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
