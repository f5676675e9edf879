"""Columns as fields of Avro records: their types in schemas, and their values in binary.

* TINYINT to MEDIUMINT, INT and YEAR are `int`; INT UNSIGNED and BIGINT are `long`. BIGINT UNSIGNED is `long`, which wraps
  from 2^63 on, or `string` (avro-bigint-unsigned-handling-mode).
* DECIMAL is `bytes` of the logical type `decimal`, or `string` (avro-decimal-handling-mode).
* BIT and byte strings are `bytes`; texts, times, ENUM, SET, JSON and VECTOR are `string`.
* A type has TiDB's name for it, `connect.parameters`, and what Kafka Connect wants to know of it.

Source: tiflow v8.5.7: pkg/sink/codec/avro/avro.go columnToAvroSchema, columnToAvroData.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.avro import numbers
from simulator.ticdc.codecs.binary import sent_bytes
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.debezium.schemas import escaped_member
from simulator.ticdc.codecs.json_members import Piece
from simulator.ticdc.codecs.json_text import quoted
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType

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
            return [numbers.integers(cells, type.unsigned)]
        case "float":
            return [numbers.floats(cells, 4)]
        case "double":
            return [numbers.floats(cells, 8)]
    if family == "bit":
        width = (max(type.length, BITS) + 7) // 8 if whole_bits else 1
        return [*numbers.sized(numbers.bit_strings(cells, width))]
    if avro.logical:
        return [*numbers.sized(numbers.decimals(cells, max(type.decimal, 0)))]
    if family == "enum":
        wire_numbers.require_enum_members(cells, type, "CDC:ErrAvroEncodeFailed", "encode to avro native data")
    return [*numbers.sized(sent_bytes(cells, type))]
