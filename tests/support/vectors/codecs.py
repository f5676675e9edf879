"""Vectors of messages: rows, batches, DDL statements and watermarks → messages, and the files that claim-check stores.

Options are loaded as a user's are. A file's name stands in for a random one, and compressed bytes are compared by what
they decompress to: TiCDC's libraries find other matches than ours.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.errors import ChangefeedError, EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent, EncodedRows, RowChanges, StoredFile
from simulator.ticdc.codecs.compression import decompress
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model import types
from simulator.tidb.model.table import Column
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.ddl import RenameTable
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.tables import CreateTable
from support.codec_rows import unframed
from support.vectors.files import Vector
from support.vectors.kinds import Kind, keys_of
from support.vectors.options import codec_options, selected

Json = Mapping[str, Any]
MESSAGES = keys_of("key value rows")
OF_ENCODING = ("create_table", "schema", "table", "partition_id", "protocol", "options", "build_time")
OF_ROW = "create_table schema table commit_ts row_id partition_id before after"


def cell(value: str | Json | None, column: Column) -> bytes:
    """A value of a vector as a cell of a row image."""
    if value is None:
        return b"\xfe"
    raw = value.encode() if isinstance(value, str) else bytes.fromhex(value["hex"])
    if types.is_binary(column.type):
        return raw.decode("latin-1").encode()
    return raw.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")


def image(values: Json | None, columns: Sequence[Column]) -> bytes | None:
    """A row image of the visible columns; one that is not given is NULL."""
    return None if values is None else b"\xff".join(cell(values.get(column.name), column) for column in columns)


def rows(vectors: Sequence[Json]) -> RowChanges:
    """Row vectors of one table, all of one partition."""
    first = vectors[0]
    table = create_table(first["create_table"], first["schema"])
    columns = table_info.visible_columns(table)
    images = {
        side: pa.array([image(vector[side], columns) for vector in vectors], pa.binary())
        for side in ("before", "after")
    }
    return RowChanges(
        table,
        first.get("partition_id"),
        pa.array([vector["commit_ts"] for vector in vectors], pa.int64()),
        pa.array([vector.get("row_id") for vector in vectors], pa.int64()),
        images["before"],
        images["after"],
    )


def encoded(vectors: Sequence[Json], data: Json, options: CodecOptions, release: Release) -> EncodedRows:
    """Rows of one table, without what the vector's column selectors take out of them."""
    made = rows(vectors)
    left = selected(data, made.table, release)
    return CODECS[options.protocol].encode(replace(made, selected=left), options, release)


def messages(
    vectors: Sequence[Json], data: Json, release: Release, apart: bool = False
) -> list[tuple[bytes | None, bytes, int]]:
    """Key, value and number of rows of each message; the rows may be of several tables, and share messages unless they
    are `apart`."""
    options = codec_options(data, release)
    codec = CODECS[options.protocol]
    parts = [
        encoded(list(part), data, options, release)
        for _, part in groupby(vectors, lambda vector: (vector["create_table"], vector.get("partition_id")))
    ]
    values = pa.concat_arrays([part.values for part in parts])
    joined = EncodedRows(None if parts[0].keys is None else pa.concat_arrays([part.keys for part in parts]), values)
    framed = codec.frame(joined, np.arange(len(values)) * apart, options, release)
    counts = np.diff(framed.first_row.to_numpy())
    keys_ = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    return list(zip(keys_, framed.values.to_pylist(), map(int, counts), strict=True))


def wanted(data: Json) -> list[tuple[bytes | None, bytes, int]]:
    """The messages that the vector holds."""
    return [
        (
            None if message["key"] is None else base64.b64decode(message["key"]),
            base64.b64decode(message["value"]),
            message["rows"],
        )
        for message in data["messages"]
    ]


def check_rows(vector: Vector) -> None:
    """A vector of `rows` or `batches`."""
    data, release = vector.data, vector.release
    given = data.get("rows") or [data]
    try:
        made = messages(given, data, release)
    except (ChangefeedError, EncodeError) as error:
        assert_refused(error, data["error"])
        return
    assert (made, None) == (wanted(data), data["error"])


def encoded_alike(vector: Vector) -> Hashable:
    """What rows that are encoded together share; one that is refused is alone."""
    data = vector.data
    if data["error"]:
        return vector.line
    settings = {name: data.get(name) for name in OF_ENCODING}
    return vector.release, json.dumps(settings, sort_keys=True)


def check_rows_together(vectors: Sequence[Vector]) -> None:
    """Vectors of `rows` of one table: each is a message of its own."""
    given = [vector.data for vector in vectors]
    assert messages(given, given[0], vectors[0].release, apart=True) == [
        each for data in given for each in wanted(data)
    ]


def assert_refused(error: ChangefeedError | EncodeError, expected: str | None) -> None:
    """The refusal is TiCDC's: `[code]text`, or how the release crashes."""
    assert expected, error
    code, _, text = expected.lstrip("[").rpartition("]")
    assert (error.code, error.text[: len(text)]) == (code, text)


WATERMARK = -1
"""The `type_code` that stands for a watermark."""


def check_ddl_event(vector: Vector) -> None:
    """A vector of `ddl_events`: as many messages as events, each with the bytes that TiCDC sent."""
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
        name = table_made(part)
        yield DdlEvent(data["commit_ts"], name.schema or data["schema"], name.name, part, SEVERAL[data["type_code"]])


def table_made(part: str) -> TableName:
    """The table as it is called after a RENAME or CREATE."""
    statement = parse_ddl(part)
    if isinstance(statement, RenameTable):
        return statement.pairs[-1][1]
    assert isinstance(statement, CreateTable)
    return TableName(statement.schema, statement.name)


SEVERAL = {Action.RENAME_TABLES: Action.RENAME_TABLE, Action.CREATE_TABLES: Action.CREATE_TABLE}
"""Jobs of several tables → the type of the events that the new architecture makes of them."""


def check_extra(vector: Vector) -> None:
    """A vector of `extra`."""
    data, release = vector.data, vector.release
    try:
        made = messages([data], data, release)
        files = encoded([data], data, codec_options(data, release), release).files
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
    parts = [value] if key is None else unframed(value)
    compression = codec_options(data, release).large_message_handle_compression
    texts = [key, *(decompress(part, compression) for part in parts)]
    return [None if text is None else renamed(text, names) for text in texts]


def renamed(text: bytes, names: Mapping[str, str]) -> bytes:
    for ours, theirs in names.items():
        text = text.replace(ours.encode(), theirs.encode())
    return text


def stored(file: StoredFile, data: Json, release: Release) -> list[bytes | None]:
    """What a consumer gets out of a file."""
    if codec_options(data, release).claim_check_raw_value:
        return plain((None, file.content, 1), data, {}, release)
    content = json.loads(file.content)
    assert file.content == json.dumps(content, separators=(",", ":")).encode()
    assert list(content) == ["key", "value"]
    key = None if content["key"] is None else base64.b64decode(content["key"])
    return plain((key, base64.b64decode(content["value"]), 1), data, {}, release)


KINDS = {
    "rows": Kind(
        check_rows,
        keys_of(f"{OF_ROW} protocol options error", messages=MESSAGES),
        alike=encoded_alike,
        check_together=check_rows_together,
    ),
    "batches": Kind(check_rows, keys_of("protocol options error", rows=keys_of(OF_ROW), messages=MESSAGES)),
    "ddl_events": Kind(
        check_ddl_event, keys_of("protocol options error query sql type_code schema table commit_ts", messages=MESSAGES)
    ),
    "extra": Kind(check_extra, keys_of(f"{OF_ROW} protocol options error files", messages=MESSAGES)),
}
