"""Simple's messages in Avro, in the schema of tiflow's pkg/sink/codec/simple/message.json.

The schema is a union of named types, of which a message is the last; `data` and `old` are maps, here in the order of
their names (TiCDC's is that of a Go map). Integers are longs, BIGINT UNSIGNED a record around a long that wraps.
Numbers and texts are in Avro's binary encoding, by columns and one by one (avro.apache.org: specification).

In the first form (tiflow v7.6.0: pkg/sink/codec/simple/message.json, avro.go) each kind of message is one of the named
types. Nothing of a type is optional; ENUM, SET, TIMESTAMP and integers from 2^63 on are strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1, surrogate_unescaped
from simulator.columns.row_image import Image
from simulator.releases import Release
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.json_members import Piece
from simulator.ticdc.codecs.row_changes import DdlEvent, OperationRows, RowChecksums, TableInfo, row_checksums
from simulator.ticdc.codecs.simple.rows import (
    has_binary_flag,
    location,
    member_names,
    row_table_id,
    sent_columns,
    value_kind,
)
from simulator.ticdc.codecs.simple.schemas import (
    ColumnSchema,
    IndexSchema,
    build_ts,
    ddl_type,
    length,
    scale,
    table_before,
    table_schema,
    type_name,
)
from simulator.ticdc.codecs.wire_numbers import floats, long, longs, sized, string
from simulator.ticdc.codecs.wire_text import join
from simulator.ticdc.table_info import cached_by_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import ColumnType
from simulator.tso import LOGICAL_BITS


def boolean(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def array(items: list[bytes]) -> bytes:
    """Return an array in one block."""
    return (long(len(items)) + b"".join(items) if items else b"") + b"\0"


MESSAGE = long(11)
"""The branch of the schema that a message is."""

WATERMARK, BOOTSTRAP, DDL, DML = range(4)
"""The types of messages, and the branches of their payloads."""

FIRST_BRANCHES = range(5, 9)
"""Branches of the schema that these are in the first form."""

VERSION = long(1)
NULL, PRESENT = long(0), long(1)
"""Branches of a union of null and something."""

DDL_TYPES = ("CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY")
OPERATIONS = ("INSERT", "UPDATE", "DELETE")
LONG, FLOAT, DOUBLE, STRING, BYTES, TIMESTAMP, UNSIGNED_BIGINT = (long(branch) for branch in range(1, 8))
"""Branches of a value."""

FIRST_DML = long(FIRST_BRANCHES[DML])
FIRST_LONG, FIRST_FLOAT, FIRST_DOUBLE, FIRST_STRING, FIRST_BYTES = (long(branch) for branch in (2, 3, 4, 5, 7))
NO_LONG = 1 << 63
"""The first integer that is a string in the first form."""


def _head(kind: int, release: Release, first: bytes = b"") -> bytes:
    """Return the beginning of a message; `first` is its type in the first form."""
    if release.simple_first_form:
        return long(FIRST_BRANCHES[kind]) + VERSION + first
    return MESSAGE + long(kind) * 2 + VERSION


def watermark_message(ts: int, options: CodecOptions, release: Release) -> bytes:
    """Return the message of a watermark."""
    return _head(WATERMARK, release, b"WATERMARK") + long(ts) + long(build_ts(ts, options))


def bootstrap_message(info: TableInfo, ts: int, options: CodecOptions, release: Release) -> bytes:
    """Return the message that tells a table's schema, sent at `ts`."""
    return _head(BOOTSTRAP, release, b"BOOTSTRAP") + long(build_ts(ts, options)) + _schema(info, release)


def ddl_message(event: DdlEvent, options: CodecOptions, release: Release) -> bytes:
    """Return the message of a DDL statement."""
    kind = b"" if release.simple_first_form else long(DDL_TYPES.index(ddl_type(event.type_code, release)))
    times = long(event.commit_ts) + long(build_ts(event.commit_ts, options))
    infos = (
        NULL if info is None else PRESENT + _schema(info, release)
        for info in (event.after, table_before(event, release))
    )
    return _head(DDL, release, b"DDL") + kind + string(event.query) + times + b"".join(infos)


def _schema(info: TableInfo, release: Release) -> bytes:
    schema = table_schema(info, release)
    table_id = b"" if release.simple_first_form else long(schema.table_id)
    columns = array([_column(column, release) for column in schema.columns])
    indexes = array([_index(index) for index in schema.indexes])
    return string(schema.schema) + string(schema.table) + table_id + long(schema.version) + columns + indexes


def _column(column: ColumnSchema, release: Release) -> bytes:
    default = NULL if column.default is None else PRESENT + _default(column.default)
    type = (_first_data_type if release.simple_first_form else _data_type)(column.type, release)
    return string(column.name) + type + boolean(column.nullable) + default


def _default(default: str | int) -> bytes:
    """Return a string; the default of a BIT column is its bytes."""
    if isinstance(default, str):
        return string(default)
    content = default.to_bytes(max((default.bit_length() + 7) // 8, 1), "big")
    return long(len(content)) + content


def _data_type(type: ColumnType | None, release: Release) -> bytes:
    charset, collation = (type.charset, type.collation) if type else ("", "")
    parts = [string(type_name(type)), string(charset), string(collation), long(length(type))]
    if type is None:
        return b"".join(parts) + NULL * 4
    family = types.family(type)
    has_scale = family == "decimal" or type.name == "timestamp" and release.simple_timestamp_scale
    parts.append(PRESENT + long(scale(type, release)) if has_scale else NULL)
    parts.append(PRESENT + array([*map(string, type.elements)]) if family in ("enum", "set") else NULL)
    signs = family in ("integer", "float", "bit", "year") or family == "decimal" and release.simple_decimal_signs
    for flag in (types.is_unsigned(type), type.zerofill or family == "year"):
        parts.append(PRESENT + boolean(flag) if signs else NULL)
    return b"".join(parts)


def _first_data_type(type: ColumnType | None, release: Release) -> bytes:
    charset, collation, elements = (type.charset, type.collation, type.elements) if type else ("", "", ())
    names = string(type_name(type)) + string(charset) + string(collation)
    sizes = long(length(type)) + long(scale(type, release))
    flags = (types.is_unsigned(type), type.zerofill or type.name == "year") if type else (False, False)
    return names + sizes + array([*map(string, elements)]) + b"".join(map(boolean, flags))


def _index(index: IndexSchema) -> bytes:
    flags = b"".join(map(boolean, (index.unique, index.primary, index.nullable)))
    return string(index.name) + flags + array([*map(string, index.columns)])


# -- rows --------------------------------------------------------------------------------------------------------------


def row_values(
    changes: OperationRows, options: CodecOptions, release: Release, only_handle_key: bool, locations: pa.Array | None
) -> pa.Array:
    """Return the messages of rows of one operation; `locations` are those of claim-check (binary)."""
    rows, first = changes.rows, release.simple_first_form
    members = _members(rows.table, rows.selected, rows.told, location(options, release), release)
    if only_handle_key:
        members = tuple(member for member in members if member.handle)
    head = _head(DML, release) + string(rows.table.schema) + string(rows.table.name)
    head += b"" if first else long(row_table_id(rows, release))
    commit_ts = np.asarray(rows.commit_ts, np.int64)
    build = longs(commit_ts >> LOGICAL_BITS) if options.build_ts is None else long(options.build_ts)
    pieces: list[Piece] = [
        head + long(OPERATIONS.index(changes.operation)),
        longs(commit_ts),
        build,
        long(rows.version),
    ]
    place = [] if locations is None else sized(changes.own(locations))
    if first:
        pieces += [*(place or [string("")]), boolean(only_handle_key)]
    else:
        pieces += [PRESENT, *place] if place else [NULL]
        pieces.append(PRESENT + boolean(True) if only_handle_key else NULL)
    pieces.append(
        _checksums(row_checksums(changes, options.time_zone, release), release) if options.row_checksums else NULL
    )
    pieces += [NULL] if changes.operation == "DELETE" else _image_map(members, changes.after())
    pieces += [NULL] if changes.operation == "INSERT" else _image_map(members, changes.before())
    return join(*pieces)


def _checksums(checksums: RowChecksums, release: Release) -> pa.Array:
    """Return the checksums of each row, with their branch."""
    head = PRESENT + long(release.checksum_version) + boolean(False)
    return pc.if_else(pa.array(checksums.known), join(head, longs(checksums.current), longs(checksums.previous)), NULL)


ValuePieces = Callable[[pa.Array, ColumnType], list[Piece]]
"""Converts cells to the pieces of values, branch included; what it gives for a null is not used."""


@dataclass(frozen=True)
class AvroMember:
    """A column as a member of a map."""

    position: int | None
    """Position of the column among the visible columns; None for one that is always null."""

    type: ColumnType
    name: bytes
    """Its name as an Avro string."""

    handle: bool
    convert: ValuePieces


@cached_by_columns
def _members(
    table: Table, selected: frozenset[str] | None, told: int, zone: str, release: Release
) -> tuple[AvroMember, ...]:
    """Return the members of a row that column selectors leave."""
    members = []
    for place, type, encoded, handle in sent_columns(table, selected, told, True, release):
        right = encoded.type == type
        convert = _converter(type, zone, release) if right else _mistaken(type, encoded.type, zone, release)
        members.append(AvroMember(place, type, string(encoded.name), handle, convert))
    return tuple(members)


def _mistaken(type: ColumnType, taken: ColumnType, zone: str, release: Release) -> ValuePieces:
    """Return the converter of a column that TiCDC takes for one of another type."""
    kind = value_kind(type)
    if taken.name == "timestamp":
        return lambda cells, type: [TIMESTAMP + string(zone), *sized(cells)]
    if types.exceeds_int64(taken):
        return lambda cells, type: [UNSIGNED_BIGINT, *_converter(type, zone, release)(cells, type)[1:]]
    if kind == "bytes":
        branch = BYTES if has_binary_flag(taken) else STRING
        own = latin1 if types.is_binary(type) else surrogate_unescaped
        return lambda cells, type: [branch, *sized(own(cells))]
    if kind == "number":
        return _converter(replace(type, unsigned=False) if types.exceeds_int64(type) else type, zone, release)
    return lambda cells, type: [STRING, *sized(cells)]


def _image_map(members: Sequence[AvroMember], image: Image) -> list[Piece]:
    """Return the map of a row, with its branch."""
    pieces: list[Piece] = [PRESENT + (long(len(members)) if members else b"")]
    for member in members:
        pieces.append(member.name)
        pieces += [NULL] if member.position is None else _with_nulls(image.cells(member.position), member)
    return [*pieces, b"\0"]


def _with_nulls(cells: pa.Array, member: AvroMember) -> list[Piece]:
    if cells.null_count == 0:
        return member.convert(cells, member.type)
    valid = cells.is_valid()
    some = join(*member.convert(cells.filter(valid), member.type))
    return [pc.replace_with_mask(pa.repeat(pa.scalar(NULL, pa.binary()), len(cells)), valid, some)]


def _converter(type: ColumnType, zone: str, release: Release) -> ValuePieces:
    if release.simple_first_form:
        return _first_converter(type)
    if types.is_binary(type):
        return lambda cells, type: [BYTES, *sized(latin1(cells))]
    if type.name == "timestamp":
        return lambda cells, type: [TIMESTAMP + string(zone), *sized(cells)]
    match types.family(type):
        case "integer" if types.exceeds_int64(type):
            return lambda cells, type: [UNSIGNED_BIGINT, integers(cells)]
        case "bit" if release.simple_bit_texts:
            return lambda cells, type: [STRING, *sized(cells)]
        case "integer" | "year" | "bit":
            return lambda cells, type: [LONG, integers(cells)]
        case "enum":
            return lambda cells, type: [LONG, integers(wire_numbers.enum_number(cells, type))]
        case "set":
            return lambda cells, type: [LONG, integers(wire_numbers.set_number(cells, type))]
        case "float":
            branch, width = (FLOAT, 4) if type.name == "float" else (DOUBLE, 8)
            return lambda cells, type: [branch, floats(cells, width)]
    return lambda cells, type: [STRING, *sized(surrogate_unescaped(cells))]


def _first_converter(type: ColumnType) -> ValuePieces:
    if types.is_binary(type):
        return lambda cells, type: [FIRST_BYTES, *sized(latin1(cells))]
    match types.family(type):
        case "integer" | "bit" if types.is_unsigned(type):
            return _unsigned
        case "integer" | "year":
            return lambda cells, type: [FIRST_LONG, integers(cells)]
        case "enum" | "set":
            return lambda cells, type: [FIRST_STRING, *sized(member_names(cells, type))]
        case "float":
            branch, width = (FIRST_FLOAT, 4) if type.name == "float" else (FIRST_DOUBLE, 8)
            return lambda cells, type: [branch, floats(cells, width)]
    return lambda cells, type: [FIRST_STRING, *sized(surrogate_unescaped(cells))]


def _unsigned(cells: pa.Array, type: ColumnType) -> list[Piece]:
    numbers = cells.cast(pa.string()).cast(pa.uint64())
    large = pc.greater_equal(numbers, pa.scalar(NO_LONG, pa.uint64()))
    return [pc.if_else(large, join(FIRST_STRING, *sized(cells)), join(FIRST_LONG, integers(cells)))]


def integers(cells: pa.Array) -> pa.Array:
    """Return decimal texts as longs; unsigned ones wrap."""
    numbers = cells.cast(pa.string())
    if pc.any(pc.starts_with(numbers, "-")).as_py():
        return longs(numbers.cast(pa.int64()).to_numpy(zero_copy_only=False))
    return longs(numbers.cast(pa.uint64()).to_numpy(zero_copy_only=False).view(np.int64))
