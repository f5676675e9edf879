"""Vectors of messages: rows, batches, statements and watermarks → messages, and the files that claim-check stores; types.

Options are loaded as a user's are. A file's name stands in for a random one, and compressed bytes are compared by what
they decompress to: TiCDC's libraries find other matches than ours.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest
from pymysql.constants import FIELD_TYPE

from simulator.errors import ChangefeedError, EncodeError, UserError
from simulator.reader.decode import DdlEvent as DdlRead
from simulator.reader.decode import Image, RowEvent, Watermark, before_image, decode
from simulator.releases import Release
from simulator.ticdc import changefeed
from simulator.ticdc.changefeed import Changefeed, keys
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent, EncodedRows, RowChanges, StoredFile
from simulator.ticdc.codecs.canal_json.columns import mysql_type, promotion, sql_type
from simulator.ticdc.codecs.large_messages import decompress
from simulator.ticdc.dispatch import route, router, topic_of
from simulator.ticdc.table_info import BINARY, NULLABLE, UNSIGNED, flags, handle_columns
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import is_binary, type_code
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.definitions import CreateTable
from simulator.tidb.syntax.expressions import TableName
from simulator.tidb.syntax.statements import RenameTable
from support import codec_rows
from support.codec_rows import unframed
from support.playing import row_text
from support.vectors.files import Json, Kind, Vector, keys_of

Message = tuple[bytes | None, bytes]

# -- options -----------------------------------------------------------------------------------------------------------

TABLES = ("sink", "sink.open", "sink.kafka-config", "sink.kafka-config.codec-config")
PLACES = ("sink-uri", "(top level)", *TABLES, "sink.kafka-config.large-message-handle")
"""Where an option may stand; the first place at which the release has it is taken."""

load = cache(changefeed.load)
of_statement = cache(create_table)
"""Many vectors are of one changefeed or table."""


def loaded(data: Json, release: Release) -> Changefeed:
    """The changefeed that a vector's `protocol` and `options` make; raises ChangefeedError.

    Old value is on in every vector that does not say otherwise, also where it was off by default. Vectors are what
    encoders say: an option that the release's Kafka sink refuses, and its encoder takes, is left out. One that the
    release does not have stands in the sink-uri, where TiCDC ignores it.
    """
    old_value = {"enable-old-value": "true"} if keys.key("(top level)", "enable-old-value", release) else {}
    given = {**old_value, **data.get("options", {})}
    if data["protocol"] == "open-protocol" and release.kafka_refuses_tidb_extension:
        given.pop("enable-tidb-extension", None)
    uri, places = f"kafka://127.0.0.1:9092/topic?protocol={data['protocol']}", dict[str, list[str]]()
    for name, value in given.items():
        place = next((each for each in PLACES if keys.key(each, name, release)), "sink-uri")
        if place == "sink-uri":
            uri += f"&{name}={quote(str(value), safe='')}"
        else:
            places.setdefault(place, []).append(f"{name} = {_toml(value, place, name)}")
    top = places.pop("(top level)", [])
    lines = [*top, *(line for place, lines in places.items() for line in (f"[{place}]", *lines))]
    return load(uri, "\n".join(lines), release)


def _toml(value: object, place: str, name: str) -> str:
    """A value as TOML: vectors write numbers and booleans as text, too."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {_toml(item, place, name)}' for key, item in value.items())}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(_toml(item, place, name) for item in value)}]"
    bare = isinstance(value, str) and keys.KEYS[place][name].kind in ("bool", "int", "int16", "int32", "duration")
    return str(value) if bare else json.dumps(value)


def codec_options(data: Json, release: Release) -> CodecOptions:
    """The encoder's options; `ts` of Canal-JSON, a clock, is 0 in vectors.

    Vectors were made by encoders alone: what a release's Kafka sink gives its encoder otherwise than asked is not in
    them (the end of a row, Release.canal_ends_rows; a batch size that sets another option, batch_size_sets_bytes).
    """
    codec = replace(loaded(data, release).codec, build_ts=data.get("build_time", 0), terminator="")
    if not release.batch_size_sets_bytes:
        return codec
    given = data.get("options", {})
    return replace(
        codec,
        max_batch_size=int(given.get("max-batch-size", release.max_batch_size)),
        max_message_bytes=int(given.get("max-message-bytes", release.max_message_bytes)),
    )


# -- rows and batches --------------------------------------------------------------------------------------------------


def raw(value: str | Json | None) -> bytes | None:
    return None if value is None else value.encode() if isinstance(value, str) else bytes.fromhex(value["hex"])


def rows(vectors: Sequence[Json], data: Json, release: Release) -> RowChanges:
    """Row vectors of one table and partition, without what column selectors take out; a column not given is NULL."""
    first = vectors[0]
    table = of_statement(first["create_table"], first["schema"])
    binary = frozenset(column.name for column in table.columns if is_binary(column.type))
    names = [column.name for column in visible_columns(table)]

    def images(side: str) -> pa.Array:
        values = (
            {name: raw(row[side].get(name)) for name in names} if row[side] is not None else None for row in vectors
        )
        return pa.array([codec_rows.image(each, table, binary) for each in values], pa.binary())

    commit_ts, row_id = (pa.array([row.get(name) for row in vectors], pa.int64()) for name in ("commit_ts", "row_id"))
    made = RowChanges(table, first.get("partition_id"), commit_ts, row_id, images("before"), images("after"))
    return replace(made, selected=route(router(loaded(data, release), release), table).selected)


def encoded(vectors: Sequence[Json], data: Json, release: Release, options: CodecOptions | None = None) -> EncodedRows:
    options = options or codec_options(data, release)
    return CODECS[options.protocol].encode(rows(vectors, data, release), options, release)


def messages(
    vectors: Sequence[Json], data: Json, release: Release, apart: bool = False
) -> list[tuple[bytes | None, bytes, int]]:
    """Key, value and number of rows of each message; the rows may be of several tables, and share messages unless they
    are `apart`."""
    parts = [
        encoded(list(part), data, release)
        for _, part in groupby(vectors, lambda vector: (vector["create_table"], vector.get("partition_id")))
    ]
    values = pa.concat_arrays([part.values for part in parts])
    keys_ = None if parts[0].keys is None else pa.concat_arrays([part.keys for part in parts])
    return framed(EncodedRows(keys_, values), data, release, apart)


def framed(
    made: EncodedRows, data: Json, release: Release, apart: bool = False
) -> list[tuple[bytes | None, bytes, int]]:
    options = codec_options(data, release)
    found = CODECS[options.protocol].frame(made, np.arange(len(made.values)) * apart, options, release)
    counts = np.diff(found.first_row.to_numpy()).tolist()
    return [(*pair, count) for pair, count in zip(pairs(found.keys, found.values), counts, strict=True)]


def pairs(keys: pa.Array | None, values: pa.Array) -> list[Message]:
    """Key and value of each message or entry."""
    return list(zip([None] * len(values) if keys is None else keys.to_pylist(), values.to_pylist(), strict=True))


def plain_base64(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def wanted(data: Json) -> list[tuple[bytes | None, bytes, int]]:
    """The messages that the vector holds."""
    return [
        (plain_base64(message["key"]), base64.b64decode(message["value"]), message["rows"])
        for message in data["messages"]
    ]


def check_rows(vector: Vector) -> None:
    """`rows` and `batches`."""
    data, release = vector.data, vector.release
    try:
        made = messages(data.get("rows") or [data], data, release)
    except (ChangefeedError, EncodeError) as error:
        assert_refused(error, data["error"])
        return
    assert (made, None) == (wanted(data), data["error"])


def encoded_alike(vector: Vector) -> Hashable:
    """What rows that are encoded together share; one that is refused is alone."""
    data = vector.data
    if data["error"]:
        return vector.line
    shared = ("create_table", "schema", "table", "partition_id", "protocol", "options", "build_time")
    return vector.release, json.dumps([data.get(name) for name in shared], sort_keys=True)


def check_rows_together(vectors: Sequence[Vector]) -> None:
    """`rows` of one table: each is a message of its own."""
    given = [vector.data for vector in vectors]
    made = messages(given, given[0], vectors[0].release, apart=True)
    assert made == [each for data in given for each in wanted(data)]


def assert_refused(error: ChangefeedError | EncodeError, expected: str | None) -> None:
    """The refusal is TiCDC's: `[code]text`, or how the release crashes."""
    assert expected, error
    code, _, text = expected.lstrip("[").rpartition("]")
    assert (error.code, error.text[: len(text)]) == (code, text)


def check_extra(vector: Vector) -> None:
    """`extra`: compressed messages, and files of claim-check."""
    data, release = vector.data, vector.release
    try:
        made, files = messages([data], data, release), encoded([data], data, release).files
    except (ChangefeedError, EncodeError) as error:
        assert_refused(error, data["error"])
        return
    assert data["error"] is None
    kept = data.get("files") or {}
    names = dict(zip((file.name for file in files), kept, strict=True))
    assert [plain(message, data, names, release) for message in made] == [
        plain(message, data, {}, release) for message in wanted(data)
    ]
    theirs = [StoredFile(name, base64.b64decode(content)) for name, content in kept.items()]
    assert [stored(file, data, release) for file in files] == [stored(file, data, release) for file in theirs]


def plain(
    message: tuple[bytes | None, bytes, int], data: Json, names: Mapping[str, str], release: Release
) -> list[bytes | None]:
    """Key and decompressed values of a message, with the vector's names of files."""
    key, value, _ = message
    compression = codec_options(data, release).large_message_handle_compression
    texts = [key, *(decompress(part, compression) for part in ([value] if key is None else unframed(value)))]
    for ours, theirs in names.items():
        texts = [text and text.replace(ours.encode(), theirs.encode()) for text in texts]
    return texts


def stored(file: StoredFile, data: Json, release: Release) -> list[bytes | None]:
    """What a consumer gets out of a file."""
    if codec_options(data, release).claim_check_raw_value:
        return plain((None, file.content, 1), data, {}, release)
    content = json.loads(file.content)
    assert file.content == json.dumps(content, separators=(",", ":")).encode()
    assert list(content) == ["key", "value"]
    return plain((plain_base64(content["key"]), base64.b64decode(content["value"]), 1), data, {}, release)


# -- statements and watermarks -----------------------------------------------------------------------------------------

WATERMARK = -1
"""The `type_code` that stands for a watermark."""

SEVERAL = {Action.RENAME_TABLES: Action.RENAME_TABLE, Action.CREATE_TABLES: Action.CREATE_TABLE}
"""Jobs of several tables → the type of the events that the new architecture makes of them."""


def check_ddl_event(vector: Vector) -> None:
    """`ddl_events`: as many messages as events, each with the bytes that TiCDC sent."""
    data, release = vector.data, vector.release
    try:
        chosen = codec_options(data, release)
    except ChangefeedError as error:
        assert_refused(error, data.get("error"))
        return
    codec = CODECS[chosen.protocol]
    if data["type_code"] in (WATERMARK, None):
        entry = codec.watermark(data["commit_ts"], chosen, release)
        entries = [entry] if entry else []
    else:
        entries = [codec.ddl(event, chosen, release) for event in events(data)]
    assert data.get("error") is None
    assert [(*codec.message(entry, chosen, release), 0) for entry in entries] == wanted(data)


def events(data: Json) -> Iterator[DdlEvent]:
    """The events of a statement: one, or one for each part of a RENAME or CREATE of several tables, whose text is
    already the parts' texts in a row, each with its `;`. How statements become events is the business of `ddl`."""
    if not data["query"].endswith(";"):
        yield DdlEvent(data["commit_ts"], data["schema"], data["table"], data["query"], data["type_code"])
        return
    for part in re.findall(r".+?;(?=CREATE |RENAME |$)", data["query"], re.DOTALL):
        statement = parse_ddl(part)
        if isinstance(statement, RenameTable):
            name = statement.pairs[-1][1]
        else:
            assert isinstance(statement, CreateTable)
            name = TableName(statement.schema, statement.name)
        yield DdlEvent(data["commit_ts"], name.schema or data["schema"], name.name, part, SEVERAL[data["type_code"]])


# -- whole messages that TiCDC's own tests assert or its documentation prints ------------------------------------------
# What was asserted of an encoder is encoded, and every message, made or shown, is read back to what went in.

NULLABLE_FLAG = 64
BASE64 = (FIELD_TYPE.TINY_BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB, FIELD_TYPE.BLOB)
"""Type codes whose values are in base64, by the docs' table."""


def check_literal(vector: Vector) -> None:
    """`facts.literals`: encoded where it was asserted of an encoder, and read back."""
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
    message = json.dumps({"u": {"c": {"f": NULLABLE_FLAG, **column}}})
    (event,) = decode(*_one_event('{"ts":1,"scm":"test","tbl":"t","t":1}', message), "open-protocol")
    assert isinstance(event, RowEvent) and event.after is not None
    text = base64.b64decode(value).decode() if code in BASE64 and value is not None else value
    assert event.after["c"] == (None if text is None else str(text))
    assert event.columns["c"].type == code


def _shown(data: Json, release: Release) -> None:
    """A whole message that no encoder was asked for."""
    key, text = data["key_text"], data["value_text"] + data.get("terminator", "")
    message: Message = _one_event(key, text) if data["protocol"] == "open-protocol" else (None, text.encode())
    if data["protocol"] == "canal-json" and data["kind"] == "row" and "mysqlType" not in json.loads(text):
        # TiCDC's own decoder refuses it, too: "mysql type does not found" (tiflow v8.5.7 canal_json_message.go)
        with pytest.raises(UserError, match="is missing"):
            decode(*message, data["protocol"])
        return
    _compare(data, [(key and key.encode(), data["value_text"].encode())])
    _read(data, [message], release)


def _one_event(key: str | None, value: str) -> Message:
    """A message of Open Protocol with one event."""
    framed_key, framed_value = (len(part).to_bytes(8, "big") + part for part in ((key or "").encode(), value.encode()))
    return (1).to_bytes(8, "big") + framed_key, framed_value if value else b""


def _ddl(data: Json, release: Release) -> None:
    event = DdlEvent(*(data["input"][name] for name in ("commit_ts", "schema", "table", "query", "type_code")))
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
    given = data["input"]
    each = [{**given, **row, "create_table": _statement(given)} for row in given.get("rows") or [given]]
    try:
        made = encoded(each, _of_input(data), release)
    except (ChangefeedError, EncodeError) as error:
        assert error.code == (data.get("error_code") or data.get("error")), error
        assert data.get("error_text", "") in error.text
        return
    assert "error" not in data and "error_code" not in data
    sent, entries = framed(made, _of_input(data), release), pairs(made.keys, made.values)
    _compare(data, entries)
    for message, (key, value, count) in zip(data.get("messages", sent), sent, strict=True):
        if "messages" in data:
            assert (message["key_hex"], message["value_hex"]) == (key and key.hex(), value.hex())
            assert message.get("rows", count) == count
    for at, name in enumerate(("event_keys", "event_values")):
        texts = [text.encode() for message in data.get("messages", ()) for text in message.get(name, ())]
        assert texts in ([], [entry[at] for entry in entries])
    _read(data, [(key, value) for key, value, _ in sent], release)
    topic = topic_of(router(loaded(_of_input(data), release), release), given["schema"], given["table"])
    assert topic == data.get("topic", topic)
    if "length_formula" in data:  # gives the smallest max-message-bytes that takes the row
        lengths = {"len(key)": len(entries[0][0] or b""), "len(value)": len(entries[0][1])}
        size = sum(lengths[part] if part in lengths else int(part) for part in data["length_formula"].split("+"))
        options = _options(data, release)
        encoded(each, _of_input(data), release, replace(options, max_message_bytes=size))
        with pytest.raises(EncodeError):
            encoded(each, _of_input(data), release, replace(options, max_message_bytes=size - 1))


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
    return {"protocol": data["protocol"], "options": given.get("options", {}), "build_time": given.get("build_time", 0)}


def _options(data: Json, release: Release) -> CodecOptions:
    return codec_options(_of_input(data), release)


def _compare(data: Json, entries: list[Message]) -> None:
    """Key and value of one event, or those members of them that are asserted."""
    if data["key_text"] is None and data["value_text"] is None and not data.get("asserted"):
        return
    ((key, value),) = entries
    assert data["key_text"] in (None, key and key.decode())
    assert data["value_text"] in (None, value.decode())
    members = {**json.loads(key or b"{}"), **json.loads(value or b"{}")}
    for name, expected in data.get("asserted", {}).items():
        # TiCDC's test has some members as the JSON that it made of them
        is_json = isinstance(expected, str) and expected[:1] in ("[", "{", "n")
        assert members[name] in ((expected, json.loads(expected)) if is_json else (expected,)), name
    indented = json.dumps(members, indent=2, ensure_ascii=False)
    assert indented == data.get("value_text_indented", indented)


def _read(data: Json, sent: list[Message], release: Release) -> None:
    """The messages decode to what was put in."""
    found = [event for message in sent for event in decode(*message, data["protocol"])]
    given = data["input"]
    if data["kind"] in ("watermark", "resolved"):
        assert found == [Watermark(given["commit_ts"])]
        return
    table = create_table(text, given["schema"]) if (text := _statement(given)) else None
    selectors = given.get("options", {}).get("column-selectors")
    left = selectors[0]["columns"] if selectors else ["*"]
    for event, row in zip(found, [{**given, **row} for row in given.get("rows") or [given]], strict=True):
        assert not isinstance(event, Watermark)
        assert (event.schema, event.table) == (given["schema"], given["table"])
        commit_ts = row.get("commit_ts")
        if event.commit_ts is not None:
            assert event.commit_ts == commit_ts
        else:  # Canal-JSON without the extension has its milliseconds
            assert event.es == (row["es_ms"] if commit_ts is None else commit_ts >> 18)
        if data["kind"] == "ddl":
            assert isinstance(event, DdlRead)
            assert event.query == given["query"]
            assert data["protocol"] == "canal-json" or event.type == given["type_code"]
        else:
            assert isinstance(event, RowEvent)
            _read_row(event, row, table, left, release)


def _read_row(event: RowEvent, row: Json, table: Table | None, left: Sequence[str], release: Release) -> None:
    """Kind of change and values; an UPDATE whose old values are not sent looks like an INSERT."""
    before, after = row["before"], row["after"]
    if after is not None and row.get("options", {}).get("enable-old-value") == "false":
        before = None
    assert event.op == ("INSERT" if before is None else "DELETE" if after is None else "UPDATE")
    handle = handle_columns(table, release) if event.only_handle and table else None
    patterns = "|".join(re.escape(each).replace(r"\*", ".*").replace(r"\?", ".") for each in left)
    for read, given in ((before_image(event), before), (event.after, after)):
        assert (read is None) == (given is None)
        if read is not None and given is not None:
            image: Image | Mapping[str, object] = read if table is None else row_text(read, table)
            assert image == {
                name: _text(value, table, name)
                for name, value in given.items()
                if re.fullmatch(patterns, name, re.I) and (handle is None or name in handle)
            }


def _text(value: object, table: Table | None, name: str) -> object:
    """A given value as TiDB text; bytes of a binary column in Latin-1."""
    if not isinstance(value, Mapping):
        return value
    data = bytes.fromhex(value["hex"])
    binary = table is None or any(is_binary(column.type) for column in table.columns if column.name == name)
    return data.decode("latin-1") if binary else data.decode("utf-8", "surrogateescape")


LITERAL_KINDS = {"ddl": _ddl, "watermark": _watermark, "resolved": _watermark, "row": _rows, "batch": _rows}


# -- types -------------------------------------------------------------------------------------------------------------


def check_table_info(vector: Vector) -> None:
    """`table_info`: codes, flags, handle, mysqlType and sqlType of each visible column."""
    table, release = of_statement(vector.data["create_table"]), vector.release
    bits, handle = flags(table, release), handle_columns(table, release)
    assert vector.data["columns"] == [
        {
            "name": column.name,
            "type": type_code(column.type),
            "flags": bits[column.name],
            "handle": column.name in handle,
            "mysql_type": mysql_type(column.type, False, release),
            "mysql_type_full": mysql_type(column.type, True, release),
            "sql_type": sql_type(column.type, release),
        }
        for column in visible_columns(table)
    ]


def parse_column_definition(text: str) -> Column:
    """The column of a definition that may lack what TiDB requires: a length, or members."""
    text = re.sub(r"\b(VARCHAR|VARBINARY)$", r"\1(1)", re.sub(r"\b(SET|ENUM)$", r"\1('a')", text))
    return create_table(f"CREATE TABLE t ({text})").columns[0]


def check_column_type(vector: Vector) -> None:
    """`facts.column_types`: mysqlType short and full, type code, java type of a value in the column (`java_type` is
    that of the value or of the type alone), and the value's text."""
    data, release = vector.data, vector.release
    of = parse_column_definition(re.sub(r"^(\w+)", r"`\1`", data["column_ddl"]))
    assert data["mysql_type_short"] == mysql_type(of.type, False, release)
    assert data["mysql_type_full"] in (None, mysql_type(of.type, True, release))
    value = int(data["value"]) if str(data["value"]).lstrip("-").isdecimal() else None
    limit, usual = promotion(of.type, release), sql_type(of.type, release)
    promoted = limit[1] if limit and value is not None and value > limit[0] else usual
    assert data["java_type_for_value"] in (None, promoted)
    assert data["java_type"] in (None, promoted, usual)
    if "mysql_type_code_name" in data:  # `TypeTinyBlob`, as tidb pkg/parser/mysql/type.go calls MySQL's TINY_BLOB
        name = re.sub("(Tiny|Medium|Long|)Blob", r"\1_Blob", data["mysql_type_code_name"].removeprefix("Type"))
        assert getattr(FIELD_TYPE, name.removeprefix("_").upper()) == type_code(of.type)
    bits = flags(Table("test", "t", (of,), (), (), False), release)[of.name]
    named = {"BinaryFlag": BINARY, "NullableFlag": NULLABLE, "UnsignedFlag": UNSIGNED}
    assert all(bits & named[name] for name in data.get("flags", ())), bits
    if "rendered_value" in data:
        assert rendered(data, release) == data["rendered_value"]


def rendered(data: Json, release: Release) -> object:
    """The value as Canal-JSON has it; bytes as the text that they are, NULL as TiCDC's test has it, an empty text."""
    wide = data.get("value_go_type") == "float64"
    of = parse_column_definition(data["column_ddl"].replace("FLOAT", "DOUBLE") if wide else data["column_ddl"])
    value = None if data["value"] is None else str(data["value"])
    if of.type.name in ("set", "enum"):
        elements, number = tuple("abcdefgh"), int(data["value"])
        of = replace(of, type=replace(of.type, elements=elements))
        chosen = [element for bit, element in enumerate(elements) if number >> bit & 1]
        value = ",".join(chosen) if of.type.name == "set" else elements[number - 1]
    binary = is_binary(of.type)
    given = value.encode() if binary and value is not None else value
    table = Table("test", "t", (of,), (), (), False)
    row = codec_rows.rows(table, [(None, {of.name: given})], frozenset([of.name] if binary else ()))
    made = CODECS["canal-json"].encode(row, CodecOptions("canal-json"), release).values[0].as_py()
    found = json.loads(made)["data"][0][of.name]
    return "" if found is None else found.encode("latin-1").decode() if binary else found


MESSAGES = keys_of("key value rows")
ROW = "create_table schema table commit_ts row_id partition_id before after"
KINDS = {
    "rows": Kind(
        check_rows,
        keys_of(f"{ROW} protocol options error", messages=MESSAGES),
        alike=encoded_alike,
        check_together=check_rows_together,
    ),
    "batches": Kind(check_rows, keys_of("protocol options error", rows=keys_of(ROW), messages=MESSAGES)),
    "ddl_events": Kind(
        check_ddl_event, keys_of("protocol options error query sql type_code schema table commit_ts", messages=MESSAGES)
    ),
    "extra": Kind(check_extra, keys_of(f"{ROW} protocol options error files", messages=MESSAGES)),
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
    ),
    "table_info": Kind(
        check_table_info,
        keys_of("create_table", columns=keys_of("name type flags handle mysql_type mysql_type_full sql_type")),
    ),
    "facts.column_types": Kind(
        check_column_type,
        keys_of(
            "column_ddl mysql_type_short mysql_type_full mysql_type_code_name flags java_type java_type_name value "
            "value_go_type java_type_for_value java_type_for_value_name rendered_value rendered_value_note"
        ),
    ),
}
