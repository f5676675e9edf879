"""Records of Avro before 6.1.

* A record has the table's name, without its database; names stay as they are, so that goavro may refuse them.
* Up to 5.4 columns outside of the handle key are unions of null and their type, in 6.0 those that may be NULL.
* DATE, DATETIME and TIMESTAMP are milliseconds since 1970 (`timestamp-millis`), TIME is milliseconds (`time-millis`).
* BIGINT UNSIGNED and BIT are `bytes` of the logical type `decimal`, up to 5.4 ENUM and SET, too; DECIMAL is a `string`.
* Up to 5.4 texts of TEXT are `bytes`, those of CHAR and VARCHAR `string`; a BINARY outside of the handle key is refused.
* Subjects are `{database}_{table}-key` and `-value`.

Source: tiflow v5.4.3, v6.0.0: cdc/sink/codec/avro.go; goavro v2.9.8: logical_type.go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import binary, stored_buffers, surrogate_unescaped
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.avro.schemas import SCHEMA_REFUSED, union_branch
from simulator.ticdc.codecs.json_members import Piece
from simulator.ticdc.codecs.row_changes import EncodedRows, OperationRows, RowChanges, Schema, encode_by_operation
from simulator.ticdc.codecs.schema_registry import HEADER
from simulator.ticdc.codecs.wire_text import join, quoted, sent_bytes
from simulator.ticdc.mounter import has_zone, to_instants
from simulator.ticdc.table_info import handle_columns, visible_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType

UNIONS, NULLABLE = "unions", "nullable"
"""The forms of records up to 5.4 and of 6.0, as in `Release.avro_records`."""

EARLY = (UNIONS, NULLABLE)

MILLIS = 1000
ZERO_TIME = -6795364578871
"""Milliseconds of Go's zero time, as its nanoseconds overflow."""

NUMBER = b'{"type":"bytes","logicalType":"decimal","precision":%d,"scale":0}'
PRECISIONS = {UNIONS: 8, NULLABLE: 64}
TIMESTAMP = b'{"type":"long","logicalType":"timestamp-millis"}'
TIME = b'{"type":"int","logicalType":"time-millis"}'
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
DURATION = r"^(?P<hours>-?\d+):(?P<minutes>\d+):(?P<seconds>\d+)(?:\.(?P<fraction>\d+))?$"


def encode(rows: RowChanges, time_zone: str, release: Release) -> EncodedRows:
    """Return keys and values of rows with their schemas, whatever their size."""
    count = len(visible_columns(rows.table))
    if pc.any(pc.and_(rows.before.is_null(), rows.after.is_null()), min_count=0).as_py():
        raise EncodeError(
            f"a row of {rows.table.schema}.{rows.table.name} that a transaction inserts and deletes: TiCDC {release.name} "
            "encodes it without columns in Avro, and stops (tiflow PR 2615)"
        )
    value_schema, values = None, pa.nulls(len(rows.after), pa.binary())
    if rows.after.null_count < len(rows.after):
        value_schema = schema(rows, True, release)
        encoded = encode_by_operation(rows, count, lambda changes: _records(changes, True, time_zone, release))
        values = binary(*stored_buffers(encoded), rows.after)
    if rows.after.null_count and release.avro_delete == "no-key":
        schema_text(rows.table, (), handle_columns(rows.table, release), release)
    key_schema = schema(rows, False, release)
    keys = encode_by_operation(rows, count, lambda changes: _records(changes, False, time_zone, release))
    return EncodedRows(keys, values, key_schema=key_schema, value_schema=value_schema)


def _records(changes: OperationRows, of_values: bool, time_zone: str, release: Release) -> pa.Array:
    """Return values or keys; the value of a DELETE is empty."""
    if changes.operation == "DELETE" and of_values:
        return pa.repeat(pa.scalar(b"", pa.binary()), len(changes.rows.commit_ts))
    image, handle = changes.last(), handle_columns(changes.rows.table, release)
    pieces: list[Piece] = [HEADER]
    for place, column in enumerate(visible_columns(changes.rows.table)):
        if of_values or column.name in handle:
            cells, union = image.cells(place), is_union(column, handle, release)
            if union:
                pieces.append(union_branch(cells, False))
            pieces += value_pieces(cells, column, union, release, time_zone)
    return join(*pieces, null=b"")


def schema(rows: RowChanges, of_values: bool, release: Release) -> Schema:
    """Return the schema of keys or values; raise EncodeError if goavro refuses it."""
    handle = handle_columns(rows.table, release)
    columns = visible_columns(rows.table)
    found = [column for column in columns if of_values or column.name in handle]
    subject = f"{rows.table.schema}_{rows.table.name}{'-value' if of_values else '-key'}"
    return Schema(subject, schema_text(rows.table, found, handle, release), rows.snapshot_version)


def schema_text(table: Table, columns: Sequence[Column], handle: frozenset[str], release: Release) -> str:
    """Return the JSON of the schema of a record with these columns; raise EncodeError if goavro refuses it."""
    _check_names(table, columns)
    fields = b",".join(_field(column, is_union(column, handle, release), release) for column in columns)
    return (b'{"type":"record","name":%s,"fields":[%s]}' % (quoted(table.name), fields)).decode()


def is_union(column: Column, handle: frozenset[str], release: Release) -> bool:
    """Return whether a column is a union of null and its type."""
    return not column.not_null if release.avro_records == NULLABLE else column.name not in handle


def _field(column: Column, union: bool, release: Release) -> bytes:
    name, type = quoted(column.name), type_schema(column.type, release)
    if union:
        return b'{"default":null,"name":%s,"type":["null",%s]}' % (name, type)
    return b'{"name":%s,"type":%s}' % (name, type)


def type_schema(type: ColumnType, release: Release) -> bytes:
    """Return the JSON of a column's type."""
    number, nullable = NUMBER % PRECISIONS[release.avro_records], release.avro_records == NULLABLE
    match types.family(type):
        case "date" | "datetime":
            return TIMESTAMP
        case "time":
            return TIME
        case "bit":
            return number
        case "enum" | "set":
            return b'"string"' if nullable else number
        case "float":
            return quoted(type.name)
        case "year":
            return b'"long"'
        case "integer" if type.name == "bigint":
            return number if type.unsigned else b'"long"'
        case "integer":
            return b'"long"' if type.name == "int" and type.unsigned else b'"int"'
        case "text" if not nullable:
            return b'"bytes"'
        case "string" | "text" if nullable and types.is_binary(type):
            return b'"bytes"'
    return b'"string"'


def _check_names(table: Table, columns: Sequence[Column]) -> None:
    """Raise EncodeError for the first name that goavro refuses, and for a record without fields."""
    if not NAME.fullmatch(table.name):
        raise _refused(f"Record ought to have valid name: {table.name}")
    if not columns:
        raise _refused(f'Record "{table.name}" fields ought to be non-nil array: <nil>')
    for number, column in enumerate(columns, 1):
        if not NAME.fullmatch(column.name):
            raise _refused(f'Record "{table.name}" field {number} ought to have valid name: {column.name}')


def _refused(text: str) -> EncodeError:
    return EncodeError(f"schema manager API error, %s: {text}", SCHEMA_REFUSED)


def value_pieces(cells: pa.Array, column: Column, union: bool, release: Release, time_zone: str) -> list[Piece]:
    """Return the pieces of a column's values in binary; raise EncodeError for what TiCDC refuses."""
    type, family = column.type, types.family(column.type)
    if cells.null_count < len(cells):
        _reject_type(column, union, release)
    match family:
        case "date" | "datetime":
            if has_zone(type) and release.avro_instants:
                cells = to_instants(cells, time_zone)
            return [wire_numbers.longs(_timestamps(cells, family, release), cells)]
        case "time":
            return [wire_numbers.longs(_durations(cells), cells)]
        case "float":
            return [wire_numbers.floats(cells, 4 if type.name == "float" else 8)]
        case "enum" | "set" if release.avro_records == NULLABLE:
            return _member_names(cells, type)
        case "enum":
            return _decimals(wire_numbers.enum_number(cells, type))
        case "set":
            return _decimals(wire_numbers.set_number(cells, type))
        case "bit":
            return _decimals(cells)
        case "integer" if types.exceeds_int64(type):
            return _decimals(cells)
        case "integer" | "year":
            return [wire_numbers.integers(cells, type.unsigned)]
    return [*wire_numbers.sized(sent_bytes(cells, type))]


def _reject_type(column: Column, union: bool, release: Release) -> None:
    """Raise EncodeError for a column with values that the release cannot send."""
    type, family = column.type, types.family(column.type)
    if family == "json" and release.avro_json_crashes:
        raise EncodeError(f"panic: interface conversion: interface {{}} is string, not json.BinaryJSON: {column.name}")
    if type.name in ("tinyint", "smallint", "mediumint") and type.unsigned and release.avro_unsigned_crashes:
        raise EncodeError(f"panic: interface conversion: interface {{}} is uint64, not int64: {column.name}")
    is_bytes = family == "string" and types.is_binary(type) and release.avro_records == UNIONS
    if union and (is_bytes or type.name == "float" and release.avro_refuses_floats):
        allowed = "string" if is_bytes else "float"
        raise EncodeError(
            f'field "{column.name}": value does not match its schema: cannot encode binary union: no member schema types '
            f"support datum: allowed types: [null {allowed}]; received: map[string]interface {{}}",
            "CDC:ErrAvroEncodeToBinary",
        )


def _decimals(cells: pa.Array) -> list[Piece]:
    return [*wire_numbers.sized(wire_numbers.decimals(cells.cast(pa.string()).cast(pa.binary()), 0))]


def _member_names(cells: pa.Array, type: ColumnType) -> list[Piece]:
    if type.name == "enum":
        wire_numbers.require_enum_members(cells, type, "CDC:ErrAvroEncodeFailed", "encode to avro native data")
    return [*wire_numbers.sized(surrogate_unescaped(cells))]


def _timestamps(cells: pa.Array, family: str, release: Release) -> npt.NDArray[np.int64]:
    """Return dates and times as milliseconds since 1970. Their nanoseconds overflow before 1678 and after 2261."""
    texts = cells.cast(pa.string()).fill_null("1970-01-01")
    zero = "0000-00-00" if family == "date" else "0000-00-00 00:00:00"
    zeros = pc.equal(texts, zero).to_numpy(zero_copy_only=False)
    if release.avro_zero_dates:
        texts = pc.if_else(pa.array(zeros), "1970-01-01", texts)
    try:
        micros = texts.to_numpy(zero_copy_only=False).astype("datetime64[us]").view(np.int64)
    except ValueError as error:
        raise EncodeError(f"parsing time: {error}", "CDC:ErrAvroEncodeFailed") from error
    with np.errstate(over="ignore"):
        nanos = micros * 1000
    millis: npt.NDArray[np.int64] = np.where(nanos < 0, -(-nanos // 1_000_000), nanos // 1_000_000)
    return np.where(zeros, ZERO_TIME, millis) if release.avro_zero_dates else millis


def _durations(cells: pa.Array) -> npt.NDArray[np.int64]:
    """Return times as milliseconds. The sign is that of the hours alone, so that -01:30:00 is half an hour before."""
    parts = pc.extract_regex(cells.cast(pa.string()).fill_null("00:00:00"), DURATION)

    def part(name: str) -> npt.NDArray[np.int64]:
        texts = pc.struct_field(parts, name)
        if name == "fraction":
            texts = pc.utf8_rpad(texts, 6, "0")
        found: npt.NDArray[np.int64] = texts.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return found

    micros = (part("hours") * 3600 + part("minutes") * 60 + part("seconds")) * 1_000_000 + part("fraction")
    return np.where(micros < 0, -(-micros // MILLIS), micros // MILLIS)
