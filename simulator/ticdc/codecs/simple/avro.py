"""Simple's messages in Avro, in the schema of tiflow's pkg/sink/codec/simple/message.json.

The schema is a union of named types, of which a message is the last; `data` and `old` are maps, here in the order of
their names (TiCDC's is that of a Go map). Integers are longs, BIGINT UNSIGNED a record around a long that wraps.
Numbers and texts are in Avro's binary encoding, by columns and one by one (avro.apache.org: specification).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1, surrogate_unescaped
from simulator.columns.row_image import Image
from simulator.releases import Release
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.avro.numbers import long, longs, sized, string
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.json_members import Piece
from simulator.ticdc.codecs.json_text import join
from simulator.ticdc.codecs.row_changes import DdlEvent, OperationRows, RowChecksums, TableInfo, row_checksums
from simulator.ticdc.codecs.simple.mistaken import has_binary_flag, value_kind
from simulator.ticdc.codecs.simple.rows import location, row_table_id, sent_columns
from simulator.ticdc.codecs.simple.schemas import ColumnSchema, IndexSchema, length, scale, table_schema, type_name
from simulator.ticdc.codecs.simple.statements import build_ts, ddl_type, table_before
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


def floats(numbers: npt.NDArray[np.float32] | npt.NDArray[np.float64]) -> pa.Array:
    """Return numbers as float or double, by their width."""
    width = numbers.dtype.itemsize
    little = np.ascontiguousarray(numbers.astype(numbers.dtype.newbyteorder("<")))
    ends = np.arange(0, width * (len(numbers) + 1), width, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), len(numbers), [None, pa.py_buffer(ends), pa.py_buffer(little)])


MESSAGE = long(11)
"""The branch of the schema that a message is."""

WATERMARK, BOOTSTRAP, DDL, DML = (MESSAGE + long(kind) * 2 for kind in range(4))
"""Its type, and the branch of its payload."""

VERSION = long(1)
NULL, PRESENT = long(0), long(1)
"""Branches of a union of null and something."""

DDL_TYPES = ("CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY")
OPERATIONS = ("INSERT", "UPDATE", "DELETE")
LONG, FLOAT, DOUBLE, STRING, BYTES, TIMESTAMP, UNSIGNED_BIGINT = (long(branch) for branch in range(1, 8))
"""Branches of a value."""


def watermark_message(ts: int, options: CodecOptions, release: Release) -> bytes:
    """Return the message of a watermark."""
    return WATERMARK + VERSION + long(ts) + long(build_ts(ts, options))


def bootstrap_message(info: TableInfo, ts: int, options: CodecOptions, release: Release) -> bytes:
    """Return the message that tells a table's schema, sent at `ts`."""
    return BOOTSTRAP + VERSION + long(build_ts(ts, options)) + _schema(info, release)


def ddl_message(event: DdlEvent, options: CodecOptions, release: Release) -> bytes:
    """Return the message of a DDL statement."""
    head = DDL + VERSION + long(DDL_TYPES.index(ddl_type(event.type_code, release))) + string(event.query)
    times = long(event.commit_ts) + long(build_ts(event.commit_ts, options))
    infos = (
        NULL if info is None else PRESENT + _schema(info, release)
        for info in (event.after, table_before(event, release))
    )
    return head + times + b"".join(infos)


def _schema(info: TableInfo, release: Release) -> bytes:
    schema = table_schema(info, release)
    names = string(schema.schema) + string(schema.table) + long(schema.table_id) + long(schema.version)
    columns = array([_column(column, release) for column in schema.columns])
    return names + columns + array([index_schema(index) for index in schema.indexes])


def _column(column: ColumnSchema, release: Release) -> bytes:
    default = NULL if column.default is None else PRESENT + default_value(column.default, column.type)
    return string(column.name) + _data_type(column.type, release) + boolean(column.nullable) + default


def default_value(default: str | int, type: ColumnType | None) -> bytes:
    """Return a string; the default of a BIT column is its bytes."""
    if isinstance(default, str):
        return string(default)
    content = default.to_bytes(max((default.bit_length() + 7) // 8, 1), "big")
    return long(len(content)) + content


def _data_type(type: ColumnType | None, release: Release) -> bytes:
    charset, collation = (type.charset, type.collation) if type else ("", "")
    parts = [string(type_name(type)), string(charset), string(collation), long(length(type))]
    family = "" if type is None else types.family(type)
    if type is None:
        return b"".join(parts) + NULL * 4
    has_scale = family == "decimal" or type.name == "timestamp" and release.simple_timestamp_scale
    parts.append(PRESENT + long(scale(type, release)) if has_scale else NULL)
    parts.append(PRESENT + array([*map(string, type.elements)]) if family in ("enum", "set") else NULL)
    signs = family in ("integer", "float", "bit", "year") or family == "decimal" and release.simple_decimal_signs
    for flag in (types.is_unsigned(type), type.zerofill or family == "year"):
        parts.append(PRESENT + boolean(flag) if signs else NULL)
    return b"".join(parts)


def index_schema(index: IndexSchema) -> bytes:
    """Return an index."""
    flags = b"".join(map(boolean, (index.unique, index.primary, index.nullable)))
    return string(index.name) + flags + array([*map(string, index.columns)])


# -- rows --------------------------------------------------------------------------------------------------------------


def row_values(
    changes: OperationRows, options: CodecOptions, release: Release, only_handle_key: bool, locations: pa.Array | None
) -> pa.Array:
    """Return the messages of rows of one operation; `locations` are those of claim-check (binary)."""
    rows = changes.rows
    zone = location(options, release)
    members = members_of(rows.table, rows.selected, rows.told, zone, release, _converter)
    if only_handle_key:
        members = tuple(member for member in members if member.handle)
    head = DML + VERSION + string(rows.table.schema) + string(rows.table.name) + long(row_table_id(rows, release))
    commit_ts = np.asarray(rows.commit_ts, np.int64)
    build = longs(commit_ts >> LOGICAL_BITS) if options.build_ts is None else long(options.build_ts)
    pieces: list[Piece] = [head + long(OPERATIONS.index(changes.operation)), longs(commit_ts), build]
    pieces.append(long(rows.version))
    pieces += [NULL] if locations is None else [PRESENT, *sized(changes.own(locations))]
    pieces.append(PRESENT + boolean(True) if only_handle_key else NULL)
    pieces.append(
        checksum_values(row_checksums(changes, options.time_zone, release), release) if options.row_checksums else NULL
    )
    pieces += [NULL] if changes.operation == "DELETE" else image_map(members, changes.after())
    pieces += [NULL] if changes.operation == "INSERT" else image_map(members, changes.before())
    return join(*pieces)


def checksum_values(checksums: RowChecksums, release: Release) -> pa.Array:
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
def members_of(
    table: Table,
    selected: frozenset[str] | None,
    told: int,
    zone: str,
    release: Release,
    converter: Callable[[ColumnType, str, Release], ValuePieces],
) -> tuple[AvroMember, ...]:
    """Return the members of a row that column selectors leave."""
    members = []
    for place, type, encoded, handle in sent_columns(table, selected, told, True, release):
        right = encoded.type == type
        convert = converter(type, zone, release) if right else _mistaken(type, encoded.type, zone, release)
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


def image_map(members: Sequence[AvroMember], image: Image) -> list[Piece]:
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
            return lambda cells, type: [FLOAT if type.name == "float" else DOUBLE, float_values(cells, type)]
    return lambda cells, type: [STRING, *sized(surrogate_unescaped(cells))]


def integers(cells: pa.Array) -> pa.Array:
    """Return decimal texts as longs; unsigned ones wrap."""
    numbers = cells.cast(pa.string())
    if pc.any(pc.starts_with(numbers, "-")).as_py():
        return longs(numbers.cast(pa.int64()).to_numpy(zero_copy_only=False))
    return longs(numbers.cast(pa.uint64()).to_numpy(zero_copy_only=False).view(np.int64))


def float_values(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return FLOAT as floats, DOUBLE as doubles."""
    numbers = wire_numbers.to_float64(cells).to_numpy(zero_copy_only=False)
    return floats(numbers.astype(np.float32) if type.name == "float" else numbers)
