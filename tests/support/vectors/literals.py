"""Vectors of whole messages that TiCDC's own tests assert or its documentation prints.

What was asserted of an encoder is encoded, and every message, made or shown, is read back to what went in.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from simulator.consumer.decode import DdlEvent as DdlRead
from simulator.consumer.decode import Image, RowEvent, Watermark, before_image, decode
from simulator.errors import ChangefeedError, EncodeError, UserError
from simulator.releases import Release
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent, EncodedRows
from simulator.ticdc.dispatch import router, topic_of
from simulator.ticdc.table_info import handle_columns
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import is_binary
from support.playing import row_text
from support.vectors.codecs import Json, encoded
from support.vectors.files import Vector
from support.vectors.kinds import Kind, keys_of
from support.vectors.options import codec_options, loaded

Message = tuple[bytes | None, bytes]


def check_literal(vector: Vector) -> None:
    """A vector of `facts.literals`: encoded where it was asserted of an encoder, and read back."""
    data = vector.data
    if data["input"].get("fragment"):
        _fragment(data)
    elif data["decode_only"]:
        _shown(data, vector.release)
    else:
        LITERAL_KINDS[data["kind"]](data, vector.release)


def _fragment(data: Json) -> None:
    """A single column object, into which a message is put around: it decodes to the value it shows. The docs' table
    leaves out `f`, which any column had from 4.0.5 on; here it is that of a nullable column."""
    column = json.loads(data["value_text"])
    code, value = column["t"], column["v"]
    assert code == data["input"]["type_code"]
    message = json.dumps({"u": {"c": {"f": NULLABLE, **column}}})
    (event,) = decode(*_framed('{"ts":1,"scm":"test","tbl":"t","t":1}', message), "open-protocol")
    assert isinstance(event, RowEvent) and event.after is not None
    text = base64.b64decode(value).decode() if code in BASE64 and value is not None else value
    assert event.after["c"] == (None if text is None else str(text))
    assert event.columns["c"].type == code


NULLABLE = 64
BASE64 = (249, 250, 251, 252)
"""Type codes whose values are in base64, by the docs' table."""


def _shown(data: Json, release: Release) -> None:
    """A whole message that no encoder was asked for."""
    text = data["value_text"] + data.get("terminator", "")
    message: Message = _framed(data["key_text"], text) if data["protocol"] == "open-protocol" else (None, text.encode())
    if data["protocol"] == "canal-json" and data["kind"] == "row" and "mysqlType" not in json.loads(text):
        # TiCDC's own decoder refuses it, too: "mysql type does not found" (tiflow v8.5.7 canal_json_message.go)
        with pytest.raises(UserError, match="is missing"):
            decode(*message, data["protocol"])
        return
    _compare(data, [(data["key_text"] and data["key_text"].encode(), data["value_text"].encode())])
    _read(data, [message], release)


def _framed(key: str | None, value: str) -> tuple[bytes, bytes]:
    """A message of Open Protocol with one event."""
    parts = [part.encode() for part in (key or "", value)]
    framed = [len(part).to_bytes(8, "big") + part for part in parts]
    return (1).to_bytes(8, "big") + framed[0], framed[1] if value else b""


def _ddl(data: Json, release: Release) -> None:
    given = data["input"]
    event = DdlEvent(given["commit_ts"], given["schema"], given["table"], given["query"], given["type_code"])
    _entry(data, CODECS[data["protocol"]].ddl(event, _options(data, release), release), release)


def _watermark(data: Json, release: Release) -> None:
    made = CODECS[data["protocol"]].watermark(data["input"]["commit_ts"], _options(data, release), release)
    if data.get("expected_message", made) is None:
        assert made is None
        return
    assert made is not None
    _entry(data, made, release)


def _entry(data: Json, made: Message, release: Release) -> None:
    """A statement's or watermark's message."""
    key, value = CODECS[data["protocol"]].message(made, _options(data, release), release)
    assert len(value) == data.get("framed_value_bytes", len(value))
    if "framed_key_prefix_bytes" in data:
        assert key is not None and made[0] is not None
        assert len(key) - len(made[0]) == data["framed_key_prefix_bytes"]
    _compare(data, [made])
    _read(data, [(key, value)], release)


def _rows(data: Json, release: Release) -> None:
    """A row, or `rows` in one batch."""
    try:
        made = _encoded(data, _options(data, release), release)
    except (ChangefeedError, EncodeError) as error:
        assert error.code == (data.get("error_code") or data.get("error")), error
        assert data.get("error_text", "") in error.text
        return
    assert "error" not in data and "error_code" not in data
    framed = CODECS[data["protocol"]].frame(
        made, np.zeros(len(made.values), np.int64), _options(data, release), release
    )
    messages, entries = _pairs(framed.keys, framed.values), _pairs(made.keys, made.values)
    _compare(data, entries)
    _compare_messages(data, messages, entries, np.diff(framed.first_row.to_numpy()).tolist())
    _read(data, messages, release)
    _topic(data, release)
    if "length_formula" in data:
        _limit(data, entries[0], release)


def _pairs(keys: pa.Array | None, values: pa.Array) -> list[Message]:
    """Key and value of each message or entry."""
    return list(zip([None] * len(values) if keys is None else keys.to_pylist(), values.to_pylist(), strict=True))


def _encoded(data: Json, options: CodecOptions, release: Release) -> EncodedRows:
    return encoded(_given(data), _of_input(data), options, release)


def _given(data: Json) -> list[Json]:
    """The rows as `rows` vectors have them."""
    given = data["input"]
    return [{**given, **row, "create_table": _statement(given)} for row in given.get("rows") or [given]]


def _statement(given: Json) -> str | None:
    """The table, made of its columns where only they are said; None where nothing is."""
    columns = dict(given.get("columns") or given.get("columns_mysql_type") or {})
    if given.get("create_table") or not columns:
        return given.get("create_table")
    key = given.get("primary_key") or []
    parts = [f"`{name}` {re.sub('(?i)varchar(?! *[(])', 'VARCHAR(255)', type)}" for name, type in columns.items()]
    parts += [f"PRIMARY KEY ({', '.join(key)})"] if key else []
    return f"CREATE TABLE `{given['table']}` ({', '.join(parts)})"


def _of_input(data: Json) -> Json:
    """Protocol and options, as `rows` vectors have them."""
    given = data["input"]
    options = given.get("options", {})
    return {"protocol": data["protocol"], "options": options, "build_time": given.get("build_time", 0)}


def _options(data: Json, release: Release) -> CodecOptions:
    return codec_options(_of_input(data), release)


def _limit(data: Json, entry: Message, release: Release) -> None:
    """The size of a row that the formula gives is the smallest max-message-bytes that takes it."""
    lengths = {"len(key)": len(entry[0] or b""), "len(value)": len(entry[1])}
    size = sum(lengths[part] if part in lengths else int(part) for part in data["length_formula"].split("+"))
    options = _options(data, release)
    _encoded(data, replace(options, max_message_bytes=size), release)
    with pytest.raises(EncodeError):
        _encoded(data, replace(options, max_message_bytes=size - 1), release)


def _topic(data: Json, release: Release) -> None:
    """Where the row goes, by the dispatchers among the options."""
    routes = router(loaded(_of_input(data), release), release)
    made = topic_of(routes, data["input"]["schema"], data["input"]["table"])
    assert made == data.get("topic", made)


def _compare(data: Json, entries: list[Message]) -> None:
    """Key and value of one event, or those members of them that are asserted."""
    if data["key_text"] is not None or data["value_text"] is not None or data.get("asserted"):
        ((key, value),) = entries
        assert data["key_text"] in (None, key and key.decode())
        assert data["value_text"] in (None, value.decode())
        members = {**json.loads(key or b"{}"), **json.loads(value or b"{}")}
        for name, wanted in data.get("asserted", {}).items():
            assert members[name] == wanted or members[name] == _value(wanted), name
        indented = json.dumps(members, indent=2, ensure_ascii=False)
        assert indented == data.get("value_text_indented", indented)


def _value(wanted: object) -> object:
    """What an asserted text stands for: TiCDC's test has some members as the JSON that it made of them."""
    return json.loads(wanted) if isinstance(wanted, str) and wanted[:1] in "[{n" else wanted


def _compare_messages(data: Json, messages: list[Message], entries: list[Message], counts: list[int]) -> None:
    """Whole messages in hex, and the events and rows that they hold."""
    if "messages" not in data:
        return
    wanted = data["messages"]
    assert [(key and key.hex(), value.hex()) for key, value in messages] == [
        (message["key_hex"], message["value_hex"]) for message in wanted
    ]
    assert counts == [message.get("rows", count) for message, count in zip(wanted, counts, strict=True)]
    for name, made in (("event_keys", [key for key, _ in entries]), ("event_values", [value for _, value in entries])):
        given = [text.encode() for message in wanted for text in message.get(name, ())]
        assert given in ([], made)


def _read(data: Json, messages: list[Message], release: Release) -> None:
    """The messages decode to what was put in."""
    events = [event for message in messages for event in decode(*message, data["protocol"])]
    given = data["input"]
    if data["kind"] in ("watermark", "resolved"):
        assert events == [Watermark(given["commit_ts"])]
        return
    rows = [{**given, **row} for row in given.get("rows") or [given]]
    for event, row in zip(events, rows, strict=True):
        assert not isinstance(event, Watermark)
        assert (event.schema, event.table) == (given["schema"], given["table"])
        assert _time(event, row)
        if data["kind"] == "ddl":
            assert isinstance(event, DdlRead)
            assert event.query == given["query"]
            assert data["protocol"] == "canal-json" or event.type == given["type_code"]
        else:
            assert isinstance(event, RowEvent)
            _read_row(event, row, _table(given), _left(data), release)


def _time(event: RowEvent | DdlRead, row: Json) -> bool:
    """commit-ts, or in Canal-JSON without it its milliseconds."""
    given = row.get("commit_ts")
    if event.commit_ts is not None:
        return bool(event.commit_ts == given)
    return bool(event.es == (row["es_ms"] if given is None else given >> 18))


def _left(data: Json) -> frozenset[str] | None:
    """The columns that selectors leave, by names, `*` and `?`; None where there are no selectors."""
    selectors = data["input"].get("options", {}).get("column-selectors")
    return frozenset(selectors[0]["columns"]) if selectors else None


def _table(given: Json) -> Table | None:
    statement = _statement(given)
    return create_table(statement, given["schema"]) if statement else None


def _read_row(event: RowEvent, row: Json, table: Table | None, left: frozenset[str] | None, release: Release) -> None:
    """Kind of change and values; an UPDATE whose old values are not sent looks like an INSERT."""
    before, after = row["before"], row["after"]
    if after is not None and row.get("options", {}).get("enable-old-value") == "false":
        before = None
    assert event.op == ("INSERT" if before is None else "DELETE" if after is None else "UPDATE")
    handle = handle_columns(table, release) if event.only_handle and table else None
    for read, given in ((before_image(event), before), (event.after, after)):
        assert (read is None) == (given is None)
        if read is not None and given is not None:
            assert _texts(read, table) == {
                name: _text(value, table, name)
                for name, value in given.items()
                if _is_left(name, left) and (handle is None or name in handle)
            }


def _is_left(name: str, left: frozenset[str] | None) -> bool:
    patterns = ["*"] if left is None else left
    return any(re.fullmatch(re.escape(each).replace(r"\*", ".*").replace(r"\?", "."), name, re.I) for each in patterns)


def _texts(image: Image, table: Table | None) -> Mapping[str, object]:
    return image if table is None else row_text(image, table)


def _text(value: object, table: Table | None, name: str) -> object:
    """A given value as TiDB text; bytes of a binary column in Latin-1."""
    if not isinstance(value, Mapping):
        return value
    data = bytes.fromhex(value["hex"])
    binary = table is None or any(is_binary(column.type) for column in table.columns if column.name == name)
    return data.decode("latin-1") if binary else data.decode("utf-8", "surrogateescape")


LITERAL_KINDS = {"ddl": _ddl, "watermark": _watermark, "resolved": _watermark, "row": _rows, "batch": _rows}
ROW = "create_table schema table before after commit_ts row_id partition_id"
KINDS = {
    "facts.literals": Kind(
        check_literal,
        keys_of(
            "kind protocol decode_only key_text value_text value_text_indented asserted partial parses partition terminator "
            "expected_message error error_code error_text framed_key_prefix_bytes framed_value_bytes length_formula topic",
            input=keys_of(
                f"{ROW} columns columns_mysql_type primary_key options query type_code fragment build_time es_ms ts_ms",
                rows=keys_of(ROW),
            ),
            messages=keys_of("key_hex value_hex event_keys event_values rows"),
        ),
    )
}
