"""The bytes that dispatchers hash for the values of a column (`ColumnValueString`, tiflow v8.5.3 cdc/model/sink.go).

One law: members go by number, floats have no exponent, binary strings are as they are.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import cells
from simulator.ticdc.dispatch.hashing import FLOATS, Hashing
from simulator.tidb.model import types
from simulator.tidb.model.table import Column
from simulator.tidb.values.strings import enum_numbers, set_bits

PLAIN = r"^-?(0|[1-9]\d*)(\.\d*[1-9])?$"
"""A number as Go's strconv.FormatFloat(…, 'f', -1, …) writes it."""


def value_bytes(column: Column, texts: pa.Array, hashing: Hashing = Hashing()) -> pa.Array:
    """The bytes hashed for TiDB texts; null for NULL."""
    if types.is_binary(column.type):
        return cells.latin1(texts)
    if column.type.name in ("enum", "set"):
        numbers = enum_numbers if column.type.name == "enum" else set_bits
        made = pa.array(numbers(column.type.elements, texts)).cast(pa.string())
        return pc.if_else(texts.is_valid(), made, None).cast(pa.binary())
    if column.type.name in FLOATS:
        widened = column.type.name == "float" and hashing.widens_float
        return _without_exponent(_widened(texts) if widened else texts.cast(pa.string())).cast(pa.binary())
    if column.type.name == "time" and not hashing.time_fraction:
        return pc.replace_substring_regex(texts.cast(pa.string()), r"\..*", "").cast(pa.binary())
    return cells.undisguised(texts)


def _widened(texts: pa.Array) -> pa.Array:
    """32-bit numbers with the digits that they have as 64-bit ones."""
    return texts.cast(pa.string()).cast(pa.float32()).cast(pa.float64()).cast(pa.string())


def _without_exponent(texts: pa.Array) -> pa.Array:
    """Numbers without exponent and without zeros at the end; those that are written so are brought to it once each."""
    other = pc.invert(pc.fill_null(pc.match_substring_regex(texts, PLAIN), True))
    if not other.true_count:
        return texts
    found = texts.filter(other).dictionary_encode()
    plain = pa.array([f"{Decimal(one).normalize():f}" for one in found.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(texts, other, plain.take(found.indices))
