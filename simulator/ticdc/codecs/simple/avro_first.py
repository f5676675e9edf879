"""Avro of Simple's first form (tiflow v7.6.0: pkg/sink/codec/simple/message.json, avro.go).

The schema is a union of named types, of which each kind of message is one. Nothing of a type is optional; ENUM, SET,
TIMESTAMP and integers from 2^63 on are strings.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1, surrogate_unescaped
from simulator.releases import Release
from simulator.ticdc.codecs.avro.numbers import long, longs, sized, string
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.json_members import Piece
from simulator.ticdc.codecs.json_text import join
from simulator.ticdc.codecs.row_changes import DdlEvent, OperationRows, TableInfo, row_checksums
from simulator.ticdc.codecs.simple import avro
from simulator.ticdc.codecs.simple.avro import array, boolean
from simulator.ticdc.codecs.simple.rows import member_names
from simulator.ticdc.codecs.simple.schemas import ColumnSchema, length, scale, table_schema, type_name
from simulator.ticdc.codecs.simple.statements import build_ts, table_before
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType
from simulator.tso import LOGICAL_BITS

WATERMARK, BOOTSTRAP, DDL, DML = (long(branch) for branch in range(5, 9))
"""Branches of the schema."""

LONG, FLOAT, DOUBLE, STRING, BYTES = (long(branch) for branch in (2, 3, 4, 5, 7))
"""Branches of a value."""

NO_LONG = 1 << 63
"""The first integer that is a string."""


def watermark_message(ts: int, options: CodecOptions, release: Release) -> bytes:
    """Return the message of a watermark."""
    return WATERMARK + avro.VERSION + b"WATERMARK" + long(ts) + long(build_ts(ts, options))


def bootstrap_message(info: TableInfo, ts: int, options: CodecOptions, release: Release) -> bytes:
    """Return the message that tells a table's schema, sent at `ts`."""
    return BOOTSTRAP + avro.VERSION + b"BOOTSTRAP" + long(build_ts(ts, options)) + _schema(info, release)


def ddl_message(event: DdlEvent, options: CodecOptions, release: Release) -> bytes:
    """Return the message of a DDL statement."""
    times = long(event.commit_ts) + long(build_ts(event.commit_ts, options))
    infos = (
        avro.NULL if info is None else avro.PRESENT + _schema(info, release)
        for info in (event.after, table_before(event, release))
    )
    return DDL + avro.VERSION + b"DDL" + string(event.query) + times + b"".join(infos)


def _schema(info: TableInfo, release: Release) -> bytes:
    schema = table_schema(info, release)
    columns = array([_column(column, release) for column in schema.columns])
    indexes = array([avro.index_schema(index) for index in schema.indexes])
    return string(schema.schema) + string(schema.table) + long(schema.version) + columns + indexes


def _column(column: ColumnSchema, release: Release) -> bytes:
    default = avro.NULL if column.default is None else avro.PRESENT + avro.default_value(column.default, column.type)
    return string(column.name) + _data_type(column.type, release) + boolean(column.nullable) + default


def _data_type(type: ColumnType | None, release: Release) -> bytes:
    charset, collation, elements = (type.charset, type.collation, type.elements) if type else ("", "", ())
    names = string(type_name(type)) + string(charset) + string(collation)
    sizes = long(length(type)) + long(scale(type, release))
    flags = (types.is_unsigned(type), type.zerofill or type.name == "year") if type else (False, False)
    return names + sizes + array([*map(string, elements)]) + b"".join(map(boolean, flags))


# -- rows --------------------------------------------------------------------------------------------------------------


def row_values(
    changes: OperationRows, options: CodecOptions, release: Release, only_handle_key: bool, locations: pa.Array | None
) -> pa.Array:
    """Return the messages of rows of one operation; `locations` are those of claim-check (binary)."""
    rows = changes.rows
    members = avro.members_of(rows.table, rows.selected, 0, "", release, _converter)
    if only_handle_key:
        members = tuple(member for member in members if member.handle)
    head = DML + avro.VERSION + string(rows.table.schema) + string(rows.table.name)
    commit_ts = np.asarray(rows.commit_ts, np.int64)
    build = longs(commit_ts >> LOGICAL_BITS) if options.build_ts is None else long(options.build_ts)
    pieces: list[Piece] = [head + long(avro.OPERATIONS.index(changes.operation)), longs(commit_ts), build]
    pieces.append(long(rows.version))
    pieces += [string("")] if locations is None else sized(changes.own(locations))
    pieces.append(boolean(only_handle_key))
    checksums = options.row_checksums
    pieces.append(
        avro.checksum_values(row_checksums(changes, options.time_zone, release), release) if checksums else avro.NULL
    )
    pieces += [avro.NULL] if changes.operation == "DELETE" else avro.image_map(members, changes.after())
    pieces += [avro.NULL] if changes.operation == "INSERT" else avro.image_map(members, changes.before())
    return join(*pieces)


def _converter(type: ColumnType, zone: str, release: Release) -> avro.ValuePieces:
    if types.is_binary(type):
        return lambda cells, type: [BYTES, *sized(latin1(cells))]
    match types.family(type):
        case "integer" | "bit" if types.is_unsigned(type):
            return _unsigned
        case "integer" | "year":
            return lambda cells, type: [LONG, avro.integers(cells)]
        case "enum" | "set":
            return lambda cells, type: [STRING, *sized(member_names(cells, type))]
        case "float":
            return lambda cells, type: [FLOAT if type.name == "float" else DOUBLE, avro.float_values(cells, type)]
    return lambda cells, type: [STRING, *sized(surrogate_unescaped(cells))]


def _unsigned(cells: pa.Array, type: ColumnType) -> list[Piece]:
    numbers = cells.cast(pa.string()).cast(pa.uint64())
    large = pc.greater_equal(numbers, pa.scalar(NO_LONG, pa.uint64()))
    return [pc.if_else(large, join(STRING, *sized(cells)), join(LONG, avro.integers(cells)))]
