"""Rows of Debezium.

The rows of one operation are joined from constants and columns in one call, never row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import Image
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs import json_members
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.compression import compress_entries
from simulator.ticdc.codecs.debezium.defaults import null_text
from simulator.ticdc.codecs.debezium.schemas import CLUSTER, key_schema, value_schema
from simulator.ticdc.codecs.debezium.values import is_string, value_format
from simulator.ticdc.codecs.json_members import Converter, JsonMember, Piece
from simulator.ticdc.codecs.json_text import decimal, join, raw_quoted
from simulator.ticdc.codecs.row_changes import EncodedRows, OperationRows, RowChanges, encode_by_operation
from simulator.ticdc.table_info import handle_columns, visible_columns
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType
from simulator.tso import LOGICAL_BITS

OPERATIONS = {"INSERT": b"c", "UPDATE": b"u", "DELETE": b"d"}


def encode(rows: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Return keys and values of the rows, whatever their size.

    Raise EncodeError for rows that crash the release or that its encoder refuses.
    """
    options = supported_options(options, release)
    _reject_selection(rows, release)
    count = len(visible_columns(rows.table))
    values = encode_by_operation(rows, count, partial(_encode_operation, options=options, release=release))
    encoded = compress_entries(EncodedRows(None, values), options)
    if not release.debezium_keys:
        return encoded
    keys = encode_by_operation(rows, count, partial(_encode_keys, options=options, release=release))
    return replace(encoded, keys=compress_entries(EncodedRows(None, keys), options).values)


def _reject_selection(rows: RowChanges, release: Release) -> None:
    if rows.selected is None or release.debezium_selects_columns:
        return
    if left_out := [column.name for column in visible_columns(rows.table) if column.name not in rows.selected]:
        raise EncodeError(
            f"panic: invalid memory address: a row of {rows.table.schema}.{rows.table.name} without {left_out[0]}; "
            f"TiCDC {release.name} crashes on column-selectors in debezium, 8.5.3 does not"
        )


def _encode_operation(changes: OperationRows, options: CodecOptions, release: Release) -> pa.Array:
    table = changes.rows.table
    schema = (
        b"" if options.debezium_disable_schema else b',"schema":' + value_schema(table, changes.rows.selected, release)
    )
    return join(*_source(changes, options), *_images(changes, options, release), b"}" + schema + b"}")


def _source(changes: OperationRows, options: CodecOptions) -> list[Piece]:
    """Return the pieces up to the row's images."""
    commit_ts, table = changes.rows.commit_ts, changes.rows.table
    physical = decimal(pc.shift_right(commit_ts, LOGICAL_BITS))
    cluster = raw_quoted(CLUSTER)
    return [
        b'{"payload":{"source":{"version":"2.4.0.Final","connector":"TiCDC","name":' + cluster + b',"ts_ms":',
        physical,
        b',"snapshot":"false","db":%s,"table":%s' % (raw_quoted(table.schema), raw_quoted(table.name)),
        b',"server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,"query":null,"commit_ts":',
        decimal(commit_ts),
        b',"cluster_id":' + cluster + b'},"ts_ms":',
        physical if options.build_ts is None else b"%d" % options.build_ts,
        b',"transaction":null,"op":"' + OPERATIONS[changes.operation] + b'"',
    ]


def _images(changes: OperationRows, options: CodecOptions, release: Release) -> list[Piece]:
    columns = members(changes.rows.table, changes.rows.selected, release)
    match changes.operation:
        case "INSERT":
            return [b',"before":null', *_image(b"after", columns, changes.after())]
        case "DELETE":
            return [b',"after":null', *_image(b"before", columns, changes.before())]
    before = _image(b"before", columns, changes.before()) if options.debezium_output_old_value else []
    return [*before, *_image(b"after", columns, changes.after())]


def _image(name: bytes, columns: Sequence[JsonMember], image: Image) -> list[Piece]:
    return [b',"' + name + b'":{', *json_members.object_pieces(columns, image), b"}"]


@lru_cache(maxsize=1024)
def members(table: Table, selected: frozenset[str] | None, release: Release) -> tuple[JsonMember, ...]:
    """Return the columns of a row in the table's order; `selected` are those that column selectors leave."""
    handle = handle_columns(table, release)
    return tuple(
        JsonMember(
            place,
            column.type,
            raw_quoted(column.name) + b":",
            b"",
            is_string(column.type),
            column.name in handle,
            _format(column, release),
        )
        for place, column in enumerate(visible_columns(table))
        if selected is None or column.name in selected
    )


def _format(column: Column, release: Release) -> Converter:
    """Return the format of a column's values, with its default in place of NULL where the release does that."""
    plain = value_format(column, release)
    if column.default is None or not release.debezium_null_is_default:
        return plain

    def convert(cells: pa.Array, type: ColumnType) -> pa.Array:
        texts = plain(cells, type)
        if not cells.null_count:
            return texts
        return pc.if_else(cells.is_null(), pa.scalar(null_text(column, release), pa.binary()), texts)

    return convert


def _encode_keys(changes: OperationRows, options: CodecOptions, release: Release) -> pa.Array:
    table, selected = changes.rows.table, changes.rows.selected
    handle = [member for member in members(table, selected, release) if member.handle]
    columns = visible_columns(table)
    described = tuple(columns[member.position] for member in handle)
    schema = b"" if options.debezium_disable_schema else b',"schema":' + key_schema(table, described, release)
    image = changes.before() if changes.operation == "DELETE" else changes.after()
    pieces = [b'{"payload":{', *json_members.object_pieces(handle, image), b"}" + schema + b"}"]
    return join(*pieces) if handle else pa.repeat(pa.scalar(b"".join(map(bytes, pieces)), pa.binary()), image.rows)
