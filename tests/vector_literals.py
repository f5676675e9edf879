"""Vectors of whole messages that TiCDC's own tests assert or its documentation prints."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np

import vector_codecs
from simulator.codecs import CODECS, DdlEvent, Rows
from simulator.decode import RowEvent, decode
from simulator.errors import EncodeError
from vector_codecs import Json
from vector_files import Vector


def check_literal(vector: Vector) -> None:
    """A vector of `facts.literals`: encoded where it was asserted of an encoder, else read back."""
    data = vector.data
    if data["decode_only"]:
        _decode_fragment(data) if data["input"].get("fragment") else _decode(data)
    else:
        LITERAL_KINDS[data["kind"]](vector)


def _decode_fragment(data: Json) -> None:
    """A single column object: put into a message it decodes to the value it shows."""
    key = b'{"ts":1,"scm":"test","tbl":"t","t":1}'
    value = b'{"u":{"c":%s}}' % data["value_text"].encode()
    version = struct.pack(">Q", 1)
    framed = version + struct.pack(">Q", len(key)) + key, struct.pack(">Q", len(value)) + value
    (event,) = decode(*framed, "open-protocol")
    assert isinstance(event, RowEvent)
    assert event.after is not None and event.after["c"] is not None
    assert event.columns["c"].type == data["input"]["type_code"]


def _decode(data: Json) -> None:
    """A whole message that no encoder was asked for: it says what was put in."""
    message, given = json.loads(data["value_text"]), data["input"]
    assert (message["database"], message["table"]) == (given["schema"], given["table"])
    if data["kind"] == "ddl":
        assert message["sql"] == given["query"]
    else:
        assert message["data"] == [given["before"] if given["after"] is None else given["after"]]


def _ddl(vector: Vector) -> None:
    given = vector.data["input"]
    event = DdlEvent(given["commit_ts"], given["schema"], given["table"], given["query"], given["type_code"])
    _compare(vector.data, CODECS[vector.data["protocol"]].ddl(event, _options(vector.data), vector.release))


def _watermark(vector: Vector) -> None:
    data = vector.data
    made = CODECS[data["protocol"]].watermark(data["input"]["commit_ts"], _options(data), vector.release)
    if data.get("expected_message", made) is None:
        assert made is None
        return
    assert made is not None
    _compare(data, made)


def _row(vector: Vector) -> None:
    data = vector.data
    try:
        encoded = CODECS[data["protocol"]].encode(_rows([data["input"]]), _options(data), vector.release)
    except EncodeError as error:
        assert error.code == data.get("error"), error
        return
    assert "error" not in data
    _compare(data, (None if encoded.keys is None else encoded.keys[0].as_py(), encoded.values[0].as_py()))


def _batch(vector: Vector) -> None:
    data, given = vector.data, vector.data["input"]
    codec, chosen = CODECS[data["protocol"]], _options(data)
    encoded = codec.encode(_rows([{**given, **row} for row in given["rows"]]), chosen, vector.release)
    framed = codec.frame(encoded, np.zeros(len(encoded.values), np.int64), chosen, vector.release)
    assert framed.keys is not None
    made = [(key.as_py().hex(), value.as_py().hex()) for key, value in zip(framed.keys, framed.values, strict=True)]
    assert made == [(one["key_hex"], one["value_hex"]) for one in data["messages"]]


def _rows(given: list[Json]) -> Rows:
    """The rows, with a table made of its columns where only they are said, and the columns that are selected."""
    made = vector_codecs.rows([{**row, "create_table": row["create_table"] or _statement(row)} for row in given])
    selectors = given[0]["options"].get("column-selectors")
    return replace(made, selected=frozenset(selectors[0]["columns"])) if selectors else made


def _statement(row: Json) -> str:
    columns = ", ".join(f"`{name}` {type.replace('VARCHAR', 'VARCHAR(255)')}" for name, type in row["columns"])
    return f"CREATE TABLE `{row['table']}` ({columns})"


def _options(data: Json) -> vector_codecs.CodecOptions:
    chosen = vector_codecs.options({"protocol": data["protocol"], "options": data["input"].get("options", {})})
    return replace(chosen, build_ts=data["input"].get("build_time", 0))


def _compare(data: Json, made: tuple[bytes | None, bytes]) -> None:
    key, value = made[0], made[1].decode()
    assert data["key_text"] in (None, key and key.decode())
    assert value == (data["value_text"] or value)
    members = json.loads(value or "{}")
    for name, wanted in data.get("asserted", {}).items():
        assert members[name] == wanted or members[name] == _value(wanted), name


def _value(wanted: object) -> object:
    """What an asserted text stands for: TiCDC's test has some members as the JSON that it made of them."""
    return json.loads(wanted) if isinstance(wanted, str) and wanted[:1] in "[{n" else wanted


LITERAL_KINDS = {"ddl": _ddl, "watermark": _watermark, "resolved": _watermark, "row": _row, "batch": _batch}
