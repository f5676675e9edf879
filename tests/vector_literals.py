"""Vectors of whole messages that TiCDC's own tests assert or its documentation prints."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import vector_codecs
from simulator.codecs import CODECS, DdlEvent
from simulator.decode import RowEvent, decode
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
    assert made is not None
    _compare(data, made)


def _row(vector: Vector) -> None:
    data = vector.data
    encoded = CODECS[data["protocol"]].encode(
        vector_codecs.rows([data["input"]]), _options(data), vector.release)
    _compare(data, (None if encoded.keys is None else encoded.keys[0].as_py(), encoded.values[0].as_py()))


def _options(data: Json) -> vector_codecs.CodecOptions:
    chosen = vector_codecs.options({"protocol": data["protocol"], "options": data["input"].get("options", {})})
    return replace(chosen, build_ts=data["input"].get("build_time", 0))


def _compare(data: Json, made: tuple[bytes | None, bytes]) -> None:
    value = made[1].decode()
    assert value == (data["value_text"] or value)
    members = json.loads(value)
    assert {name: members[name] for name in data.get("asserted", {})} == data.get("asserted", {})


LITERAL_KINDS = {"ddl": _ddl, "watermark": _watermark, "resolved": _watermark, "row": _row}
