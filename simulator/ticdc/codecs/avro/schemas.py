"""Columns as fields of Avro records, their values in binary, and the schemas of keys and values as TiCDC registers them.

* TINYINT to MEDIUMINT, INT and YEAR are `int`; INT UNSIGNED and BIGINT are `long`. BIGINT UNSIGNED is `long`, which wraps
  from 2^63 on, or `string` (avro-bigint-unsigned-handling-mode).
* DECIMAL is `bytes` of the logical type `decimal`, or `string` (avro-decimal-handling-mode).
* BIT and byte strings are `bytes`; texts, times, ENUM, SET, JSON and VECTOR are `string`.
* A type has TiDB's name for it, `connect.parameters`, and what Kafka Connect wants to know of it.

A schema is a record `{"type":"record","name":table,"namespace":"default.schema","fields":[…]}`. A field is `{"default":…,
"name":…,"type":…}`. A nullable column is a union of its type and null; null is first unless the column has a default.
Names keep letters, digits and `_`; every other character becomes `_`, and a leading digit gets one before it.

Sources: tiflow v8.5.7: pkg/sink/codec/avro/avro.go columnToAvroSchema, columnToAvroData; github.com/linkedin/goavro v2.11.1: record.go.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.debezium.schemas import clean_name, escaped_member
from simulator.ticdc.codecs.json_members import Piece
from simulator.ticdc.codecs.wire_numbers import go_float
from simulator.ticdc.codecs.wire_text import quoted, sent_bytes
from simulator.ticdc.table_info import cached_by_columns
from simulator.tidb.ddl.defaults import stored_expression
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table, places_of
from simulator.tidb.model.types import ColumnType

NAMESPACE = "default"
"""The changefeed's namespace."""

EXTENSION = {
    "_tidb_op": b'{"default":"","name":"_tidb_op","type":"string"}',
    "_tidb_commit_ts": b'{"default":0,"name":"_tidb_commit_ts","type":"long"}',
    "_tidb_commit_physical_time": b'{"default":0,"name":"_tidb_commit_physical_time","type":"long"}',
}
"""Fields of a value with enable-tidb-extension, by name."""

CHECKSUMS = {
    "_tidb_row_level_checksum": b'{"default":"","name":"_tidb_row_level_checksum","type":"string"}',
    "_tidb_corrupted": b'{"default":false,"name":"_tidb_corrupted","type":"boolean"}',
    "_tidb_checksum_version": b'{"default":0,"name":"_tidb_checksum_version","type":"int"}',
}
"""Those that follow with row checksums."""

SCHEMA_REFUSED = "CDC:ErrAvroSchemaAPIError"


@dataclass(frozen=True)
class AvroField:
    """A column as a field of records."""

    place: int | None
    """Position of the column among the visible columns; None for a virtual one, which is always NULL."""

    column: Column
    name: str
    type: AvroType
    default: bytes | None
    """The JSON of the default; None for null or no default."""

    default_first: bool
    """Whether the type is before null in the union of a nullable column, as it has a default."""

    short: bool
    """Whether control characters have short escapes."""

    problem: str = ""
    """Why goavro cannot encode the default."""

    @property
    def schema(self) -> bytes:
        """The JSON of the field in a schema."""
        name, type, nullable = quoted(self.name), self.type.schema(self.short), not self.column.not_null
        if nullable:
            union = b"[%s,%s]" % ((type, b'"null"') if self.default_first else (b'"null"', type))
            default = b"null" if self.default is None else self.default
            return b'{"default":%s,"name":%s,"type":%s}' % (default, name, union)
        if self.default is None:
            return b'{"name":%s,"type":%s}' % (name, type)
        return b'{"default":%s,"name":%s,"type":%s}' % (self.default, name, type)


def record_name(table: Table) -> str:
    """Return the full name of a table's records."""
    return f"{clean_name(NAMESPACE)}.{clean_name(table.schema)}.{clean_name(table.name)}"


@cached_by_columns
def fields(
    table: Table, options: CodecOptions, release: Release, selected: frozenset[str] | None, keys: bool
) -> tuple[AvroField, ...]:
    """Return the fields of values, or of `keys`, in the order of the table; `selected` is what column selectors leave."""
    if release.avro_virtual_columns and not keys and _has_hidden_columns(table):
        raise EncodeError(
            f"TiCDC {release.name} sends the hidden columns of functional indexes in Avro; that is not simulated"
        )
    places = places_of(table)
    within = key_columns(table, release) if keys else None
    columns = [
        column
        for column in table.columns
        if (column.name in places or release.avro_virtual_columns)
        and (selected is None or column.name in selected or not release.avro_selectors)
        and (within is None or column.name in within)
    ]
    if options.row_checksums and not keys:
        columns = _sorted(columns, release)
    return tuple(_field(places.get(column.name), column, options, release) for column in columns)


def _has_hidden_columns(table: Table) -> bool:
    return any(column.expression for index in table.indexes for column in index.columns)


def key_columns(table: Table, release: Release) -> frozenset[str]:
    """Return the columns of keys."""
    return frozenset(table.primary_key) if release.avro_key == "primary" else table_info.handle_columns(table, release)


def _sorted(columns: list[Column], release: Release) -> list[Column]:
    """Return columns by their ids; raise EncodeError if TiCDC then mixes their values up."""
    by_id = sorted(columns, key=lambda column: column.id)
    if by_id != columns and release.avro_sorts_columns == "mixed-up":
        raise EncodeError(
            f"with row checksums TiCDC {release.name} mixes up the values of a table whose columns are not in the "
            "order of their ids, as after ADD COLUMN … FIRST; that is not simulated"
        )
    return by_id


@lru_cache(maxsize=1024)
def schema_text(table: Table, found: Sequence[AvroField], extended: bool, checked: bool) -> str:
    """Return the JSON of a schema, with the fields of EXTENSION and CHECKSUMS or not; raise EncodeError if goavro
    refuses it."""
    more = {**(EXTENSION if extended else {}), **(CHECKSUMS if extended and checked else {})}
    _check(table, found, tuple(more))
    members = b",".join([*(field.schema for field in found), *more.values()])
    namespace, _, name = record_name(table).rpartition(".")
    return (
        b'{"type":"record","name":%s,"namespace":%s,"fields":[%s]}' % (quoted(name), quoted(namespace), members)
    ).decode()


def _field(place: int | None, column: Column, options: CodecOptions, release: Release) -> AvroField:
    type, default = avro_type(column.type, options), None
    if not type.logical:
        default = _default(column, type, release)
    # goavro reads the text "null" as no value (record.go)
    as_null = default is None or default == b'"null"' and release.avro_null_text == "null"
    field = AvroField(place, column, clean_name(column.name), type, default, not as_null, release.avro_short_escapes)
    return replace(field, problem=_default_problem(field, release))


def _default(column: Column, type: AvroType, release: Release) -> bytes | None:
    """Return the JSON of a column's default, or None if it has none; expressions are texts."""
    text = column.origin_default if column.default is None and release.avro_origin_defaults else column.default
    if text is None and column.type.name == "year" and column.not_null and not column.default_dropped:
        text = "0"  # TiDB: pkg/ddl/add_column.go setYearDefaultValue
    if text is None:
        return None
    if column.default_expression and column.default is not None:
        is_now = text.upper().startswith("CURRENT_TIMESTAMP")
        text = "CURRENT_TIMESTAMP" if is_now else stored_expression(text)
    if type.name == "string":
        return quoted(text, release.avro_short_escapes)
    if type.name == "bytes":
        return quoted(base64.b64encode(text.encode("latin-1")).decode())
    return _number(column, type, text)


def _number(column: Column, type: AvroType, text: str) -> bytes:
    """Return a number's JSON; raise EncodeError for an expression."""
    kind = "ParseInt" if type.name in ("int", "long") else "ParseFloat"
    try:
        if kind == "ParseInt":
            number = int(text)
            return b"%d" % (number - (1 << 64) if number >> 63 == 1 else number)
        cells = pa.array([str(float(text)).encode()], pa.binary())
        written: bytes = go_float(cells, column.type, widened=True)[0].as_py()
        return written
    except ValueError as error:
        problem = f'strconv.{kind}: parsing "{text}": invalid syntax'
        raise EncodeError(problem, "CDC:ErrAvroEncodeFailed") from error


def _check(table: Table, found: Sequence[AvroField], more: Sequence[str]) -> None:
    """Raise EncodeError for the first field that goavro refuses."""
    record, names = record_name(table), set[str]()
    if not found and not more:
        raise EncodeError(
            f'schema manager API error, %s: Record "{record}" fields ought to be non-nil array: <nil>', SCHEMA_REFUSED
        )
    for number, (name, problem) in enumerate(_names_and_problems(found, more), 1):
        if name in names:
            raise EncodeError(
                f'schema manager API error, %s: Record "{record}" field {number} ought to have unique name: "{name}"',
                SCHEMA_REFUSED,
            )
        if problem:
            text = f'Record "{record}" field "{name}": default value ought to encode using field schema: {problem}'
            raise EncodeError(f"schema manager API error, %s: {text}", SCHEMA_REFUSED)
        names.add(name)


def _names_and_problems(found: Sequence[AvroField], more: Sequence[str]) -> Iterator[tuple[str, str]]:
    for field in found:
        yield field.name, field.problem
    yield from ((name, "") for name in more)


def _default_problem(field: AvroField, release: Release) -> str:
    """Return why goavro cannot encode the default of a union, or an empty text."""
    if field.column.not_null or not field.default_first:
        return ""
    if field.default == b'"null"' and release.avro_null_text == "refused":
        return "cannot encode binary bytes: expected: string; received: <nil>"
    if field.type.name == "long" and field.default and float(field.default) >= 2.0**63:
        return f"cannot encode binary long: provided Go float64 would lose precision: {float(field.default):f}"
    return ""


TIDB_TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int"), "INT"),
    **dict.fromkeys(("date", "datetime", "timestamp", "time", "year"), ""),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), "TEXT"),
    "vector": "TiDBVECTORFloat32",
}
"""TiDB's names in schemas; an empty text, and a type that is not here, mean the type's name in upper case."""

PRECISION, SCALE, BITS = 10, 0, 1
"""Lengths of a DECIMAL and a BIT that has none."""


@dataclass(frozen=True)
class AvroType:
    """The Avro type of a column."""

    name: str
    """int, long, float, double, bytes or string."""

    parameters: tuple[tuple[str, str], ...]
    """Names and texts, in the order of the names."""

    logical: bytes = b""
    """The members of a logical type."""

    def schema(self, short: bool) -> bytes:
        """Return the JSON of the type in a schema; `short` is whether control characters have short escapes."""
        members = b",".join(quoted(key) + b":" + quoted(text, short) for key, text in self.parameters)
        return b'{"type":%s,"connect.parameters":{%s}%s}' % (quoted(self.name), members, self.logical)


def avro_type(type: ColumnType, options: CodecOptions) -> AvroType:
    """Return the Avro type of a column's type."""
    tidb_type = ("tidb_type", _tidb_type(type))
    parameters = (tidb_type,)
    family = types.family(type)
    match family:
        case "bit":
            length = BITS if type.length < 0 else type.length
            return AvroType("bytes", (("length", str(length)), tidb_type))
        case "decimal" if options.avro_decimal_handling_mode == "precise":
            precision = PRECISION if type.length < 0 else type.length
            scale = SCALE if type.decimal < 0 else type.decimal
            return AvroType(
                "bytes", parameters, b',"logicalType":"decimal","precision":%d,"scale":%d' % (precision, scale)
            )
        case "enum" | "set":
            return AvroType("string", (("allowed", ",".join(map(escaped_member, type.elements))), tidb_type))
        case "float":
            return AvroType(type.name, parameters)
        case "integer":
            return AvroType(_integer(type, options), parameters)
        case "year":
            return AvroType("int", parameters)
    return AvroType("bytes" if types.is_binary(type) else "string", parameters)


def _tidb_type(type: ColumnType) -> str:
    name = TIDB_TYPES.get(type.name) or type.name.upper()
    if type.unsigned and types.family(type) == "integer":
        return f"{name} UNSIGNED"
    return "BLOB" if types.is_binary(type) else name


def _integer(type: ColumnType, options: CodecOptions) -> str:
    if type.name == "bigint":
        is_string = type.unsigned and options.avro_bigint_unsigned_handling_mode == "string"
        return "string" if is_string else "long"
    return "long" if type.name == "int" and type.unsigned else "int"


def value_pieces(cells: pa.Array, type: ColumnType, avro: AvroType, whole_bits: bool) -> list[Piece]:
    """Return the pieces of a column's values in binary, for TiDB texts; raise EncodeError for what TiCDC refuses.

    With `whole_bits` a BIT has all its bytes.
    """
    family = types.family(type)
    match avro.name:
        case "int" | "long":
            return [wire_numbers.integers(cells, type.unsigned)]
        case "float":
            return [wire_numbers.floats(cells, 4)]
        case "double":
            return [wire_numbers.floats(cells, 8)]
    if family == "bit":
        width = (max(type.length, BITS) + 7) // 8 if whole_bits else 1
        return [*wire_numbers.sized(wire_numbers.bit_strings(cells, width))]
    if avro.logical:
        return [*wire_numbers.sized(wire_numbers.decimals(cells, max(type.decimal, 0)))]
    if family == "enum":
        wire_numbers.require_enum_members(cells, type, "CDC:ErrAvroEncodeFailed", "encode to avro native data")
    return [*wire_numbers.sized(sent_bytes(cells, type))]


def union_branch(cells: pa.Array, default_first: bool) -> Piece:
    """Return the position of each value's type in the union of its type and null."""
    of_value, of_null = (b"\x00", b"\x02") if default_first else (b"\x02", b"\x00")
    if not cells.null_count:
        return of_value
    return pc.if_else(cells.is_valid(), pa.scalar(of_value, pa.binary()), pa.scalar(of_null, pa.binary()))
