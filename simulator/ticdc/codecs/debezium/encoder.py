"""Rows of Debezium.

The rows of one operation are joined from constants and columns in one call, never row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import Image
from simulator.releases import Release
from simulator.ticdc.codecs import json_members
from simulator.ticdc.codecs.codec_options import CodecOptions, supported_options
from simulator.ticdc.codecs.compression import compress_entries
from simulator.ticdc.codecs.debezium.schemas import CLUSTER, value_schema
from simulator.ticdc.codecs.debezium.values import is_string, value_format
from simulator.ticdc.codecs.json_members import JsonMember, Piece
from simulator.ticdc.codecs.json_text import decimal, join, raw_quoted
from simulator.ticdc.codecs.row_changes import EncodedRows, OperationRows, RowChanges, encode_by_operation
from simulator.ticdc.table_info import visible_columns
from simulator.tidb.model.table import Table
from simulator.tso import LOGICAL_BITS

OPERATIONS = {"INSERT": b"c", "UPDATE": b"u", "DELETE": b"d"}


def encode(rows: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Return the values of the rows, whatever their size."""
    options = supported_options(options, release)
    count = len(visible_columns(rows.table))
    values = encode_by_operation(rows, count, partial(_encode_operation, options=options, release=release))
    return compress_entries(EncodedRows(None, values), options)


def _encode_operation(changes: OperationRows, options: CodecOptions, release: Release) -> pa.Array:
    table = changes.rows.table
    schema = b"" if options.debezium_disable_schema else b',"schema":' + value_schema(table, release)
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
    columns = members(changes.rows.table, release)
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
def members(table: Table, release: Release) -> tuple[JsonMember, ...]:
    """Return the columns of a row in the table's order."""
    return tuple(
        JsonMember(
            place, column.type, raw_quoted(column.name) + b":", b"", is_string(column.type), False, value_format(column)
        )
        for place, column in enumerate(visible_columns(table))
    )
