"""Vectors of the codecs: rows, batches, DDL statements and watermarks → messages."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.codecs import CODECS, CodecOptions, DdlEvent, Encoded, Rows
from simulator.errors import EncodeError
from simulator.releases import V8_5, Release
from simulator.schema import keys, parse, types
from simulator.schema.table import Column
from vector_files import Vector

Json = Mapping[str, Any]
WATERMARK = -1
"""The `type_code` that stands for a watermark."""


def options(data: Json, release: Release = V8_5) -> CodecOptions:
    """Options as a sink-uri spells them, with the release's defaults; unknown ones are ignored, as TiCDC does."""
    chosen = CodecOptions(
        data["protocol"], max_batch_size=release.max_batch_size, max_message_bytes=release.max_message_bytes,
        build_ts=0)
    fields = chosen.__dataclass_fields__
    for key, text in data["options"].items():
        name = key.replace("-", "_")
        if name in fields:
            kind = type(getattr(chosen, name))
            chosen = replace(chosen, **{name: text == "true" if kind is bool else kind(text)})
    return chosen


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
    columns = keys.visible_columns(table)
    images = {
        side: pa.array([image(vector[side], columns) for vector in vectors], pa.binary())
        for side in ("before", "after")}
    return Rows(
        table, first.get("partition_id"), pa.array([vector["commit_ts"] for vector in vectors], pa.int64()),
        pa.array([vector.get("row_id") for vector in vectors], pa.int64()), images["before"], images["after"])


def messages(vectors: Sequence[Json], options: CodecOptions, release: Release) -> list[tuple[bytes | None, bytes, int]]:
    """Key, value and number of rows of each message; the rows may be of several tables."""
    codec = CODECS[options.protocol]
    parts = [
        codec.encode(rows(list(part)), options, release)
        for _, part in groupby(vectors, lambda one: (one["create_table"], one["partition_id"]))]
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
    data = vector.data
    try:
        made = messages(data.get("rows") or [data], options(data, vector.release), vector.release)
    except EncodeError as error:
        assert data["error"], error
        code, _, text = data["error"].lstrip("[").rpartition("]")
        assert (error.code, error.text[: len(text)]) == (code, text)
        return
    assert (made, None) == (wanted(data), data["error"])


def check_ddl_event(vector: Vector) -> None:
    """A vector of `ddl_events`."""
    data = vector.data
    codec = CODECS[data["protocol"]]
    made: tuple[bytes | None, bytes] | None
    if data["type_code"] == WATERMARK:
        made = codec.watermark(data["commit_ts"], options(data, vector.release), vector.release)
    else:
        event = DdlEvent(data["commit_ts"], data["schema"], data["table"], data["query"], data["type_code"])
        made = codec.ddl(event, options(data, vector.release), vector.release)
    framed = [(*codec.message(made, options(data, vector.release), vector.release), 0)] if made else []
    assert framed == wanted(data)
