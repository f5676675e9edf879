"""Values of Debezium in Avro's binary encoding, for whole columns.

They are those of `debezium.values`, with a column's default in place of NULL, but for numbers: DECIMAL and BIGINT
UNSIGNED keep their digits.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import fixed, latin1, surrogate_unescaped
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.avro import numbers
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.debezium.defaults import null_cell
from simulator.ticdc.codecs.debezium.schemas import connect_type
from simulator.ticdc.codecs.debezium.values import bit_bytes, number_format, timestamp_format
from simulator.ticdc.codecs.wire_numbers import to_float64
from simulator.tidb.model import types
from simulator.tidb.model.table import Column

_LARGEST = (1 << 63) - 1


def value_pieces(
    cells: pa.Array, column: Column, options: CodecOptions, release: Release
) -> tuple[list[pa.Array], pa.Array | None]:
    """Return the pieces of a column's values without their branches, null for null, and which are null, if any is.

    Raise EncodeError for what TiCDC refuses or crashes at.
    """
    pieces = _pieces(_with_default(cells, column, release), column, options, release)
    return pieces, pieces[0].is_null() if pieces[0].null_count else None


def _with_default(cells: pa.Array, column: Column, release: Release) -> pa.Array:
    if not cells.null_count or not release.debezium_null_is_default:
        return cells
    default = null_cell(column, release)
    return cells if default is None else cells.fill_null(default.encode("utf-8", "surrogatepass"))


def _pieces(cells: pa.Array, column: Column, options: CodecOptions, release: Release) -> list[pa.Array]:
    type, counted = column.type, number_format(column, release)
    if counted is not None:
        found = counted(cells, type)
        return [numbers.longs(found.fill_null(0).to_numpy(), found)]
    match types.family(type):
        case "bit" if type.length == 1:
            return [pc.if_else(pc.equal(cells, b"0"), pa.scalar(b"\0", pa.binary()), pa.scalar(b"\1", pa.binary()))]
        case "bit":
            return numbers.sized(bit_bytes(cells, type))
        case "integer" if type.name == "bigint" and type.unsigned:
            if options.avro_bigint_unsigned_handling_mode == "string":
                return numbers.sized(cells)
            _require_signed(cells)
            return [numbers.integers(cells, True)]
        case "integer" | "year":
            return [numbers.integers(cells, type.unsigned)]
        case "float":
            return [_floats(cells, column, release)]
        case "decimal" if options.avro_decimal_handling_mode == "precise":
            return numbers.sized(numbers.decimals(cells, max(type.decimal, 0)))
        case "datetime":
            return numbers.sized(timestamp_format(column, release, options.time_zone)(cells, type))
    return numbers.sized(latin1(cells) if types.is_binary(type) else surrogate_unescaped(cells))


def _require_signed(cells: pa.Array) -> None:
    """Raise EncodeError for a number that has no place in a `long`."""
    largest = pc.max(cells.cast(pa.string()).cast(pa.uint64())).as_py()
    if largest is not None and largest > _LARGEST:
        raise EncodeError(f"unsigned bigint value {largest} overflows avro long", "CDC:ErrDebeziumEncodeFailed")


def _floats(cells: pa.Array, column: Column, release: Release) -> pa.Array:
    """Return the numbers in the bytes of their type; a FLOAT that is `double` keeps the digits of 32 bits."""
    found = to_float64(cells).fill_null(0.0).to_numpy()
    with np.errstate(over="ignore"):
        narrow = found.astype("<f4") if column.type.name == "float" else found
    return fixed(narrow.astype("<f8" if connect_type(column.type, release) == "double" else "<f4"), cells)
