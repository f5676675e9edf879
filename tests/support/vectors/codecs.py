"""Vectors of the codecs: rows and batches → messages, under options that are loaded as a user's are."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from support.vectors import keys as vector_keys
from simulator.errors import ChangefeedError, EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import CODECS, CodecOptions, Encoded, Rows
from simulator.tidb.ddl import create_table as parse
from simulator.tidb.model import types
from simulator.tidb.model.table import Column
from support.vectors.files import Vector
from support.vectors.keys import Kind
from support.vectors.options import codec_options, selected

Json = Mapping[str, Any]
MESSAGES = vector_keys.of("key value rows")
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


def rows(vectors: Sequence[Json]) -> Rows:
    """Row vectors of one table, all of one partition."""
    first = vectors[0]
    table = parse.create_table(first["create_table"], first["schema"])
    columns = table_info.visible_columns(table)
    images = {
        side: pa.array([image(vector[side], columns) for vector in vectors], pa.binary())
        for side in ("before", "after")}
    return Rows(
        table, first.get("partition_id"), pa.array([vector["commit_ts"] for vector in vectors], pa.int64()),
        pa.array([vector.get("row_id") for vector in vectors], pa.int64()), images["before"], images["after"])


def encoded(vectors: Sequence[Json], data: Json, options: CodecOptions, release: Release) -> Encoded:
    """Rows of one table, without what the vector's column selectors take out of them."""
    made = rows(vectors)
    left = selected(data, made.table, release)
    return CODECS[options.protocol].encode(replace(made, selected=left), options, release)


def messages(vectors: Sequence[Json], data: Json, release: Release) -> list[tuple[bytes | None, bytes, int]]:
    """Key, value and number of rows of each message; the rows may be of several tables."""
    options = codec_options(data, release)
    codec = CODECS[options.protocol]
    parts = [
        encoded(list(part), data, options, release)
        for _, part in groupby(vectors, lambda one: (one["create_table"], one.get("partition_id")))]
    values = pa.concat_arrays([part.values for part in parts])
    joined = Encoded(None if parts[0].keys is None else pa.concat_arrays([part.keys for part in parts]), values)
    framed = codec.frame(joined, np.zeros(len(values), np.int64), options, release)
    counts = np.diff(framed.first_row.to_numpy())
    keys_ = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    return list(zip(keys_, framed.values.to_pylist(), map(int, counts), strict=True))


def wanted(data: Json) -> list[tuple[bytes | None, bytes, int]]:
    """The messages that the vector holds."""
    return [
        (None if one["key"] is None else base64.b64decode(one["key"]), base64.b64decode(one["value"]), one["rows"])
        for one in data["messages"]]


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


def assert_refused(error: ChangefeedError | EncodeError, told: str | None) -> None:
    """The refusal is TiCDC's: `[code]text`, or how the release crashes."""
    assert told, error
    code, _, text = told.lstrip("[").rpartition("]")
    assert (error.code, error.text[: len(text)]) == (code, text)


KINDS = {
    "rows": Kind(check_rows, vector_keys.of(f"{OF_ROW} protocol options error", messages=MESSAGES)),
    "batches": Kind(check_rows, vector_keys.of(
        "protocol options error", rows=vector_keys.of(OF_ROW), messages=MESSAGES)),
}
