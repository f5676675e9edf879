"""The bytes that dispatchers hash for the values of a column, by release.

ENUM and SET are hashed as numbers, floats have no exponent, binary strings stay as they are (`ColumnValueString`,
tiflow v8.5.3 cdc/model/sink.go). `default` of TiCDC 4.0.0 to 4.0.4 hashes a single value, without table and name, as
json.Marshal writes it: numbers as numbers, byte strings in base64 and everything else as a string (tiflow v4.0.4
cdc/sink/dispatcher/default.go).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import cells
from simulator.errors import ChangefeedError
from simulator.releases import Release
from simulator.ticdc.codecs.binary import base64
from simulator.tidb.model import types
from simulator.tidb.model.table import Column
from simulator.tidb.values.strings import enum_numbers, set_bits

FLOATS = ("float", "double")
NULL = b"null"

PLAIN = r"^-?(0|[1-9]\d*)(\.\d*[1-9])?$"
"""A number as Go's strconv.FormatFloat(…, 'f', -1, …) writes it."""

NUMBERS = ("integer", "bit", "year", "enum", "set")
STRINGS = ("decimal", "date", "time", "datetime", "string", "json")
SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
ESCAPES = SHORT | {
    mark: f"\\u{ord(mark):04x}" for mark in (*map(chr, range(0x20)), *"<>&\u2028\u2029") if mark not in SHORT
}
"""Characters that Go's encoding/json escapes; the backslash comes first."""


@dataclass(frozen=True)
class Hashing:
    """How values become the bytes that are hashed."""

    nulls: bool = True
    """Whether a NULL is hashed as `null`; otherwise its column is skipped."""

    widens_float: bool = False
    """Whether a FLOAT has the digits of the 64-bit number."""

    time_fraction: bool = True
    """Whether a TIME keeps its fraction of a second."""

    @staticmethod
    def of(release: Release, source: str) -> Hashing:
        """Return the release's rules for columns from `source`, one of `release.dispatch_nulls`."""
        return Hashing(source in release.dispatch_nulls, release.float_widened, release.dispatch_time_fraction)


def value_bytes(column: Column, texts: pa.Array, hashing: Hashing = Hashing()) -> pa.Array:
    """Return the bytes that are hashed for TiDB texts; null for NULL."""
    if types.is_binary(column.type):
        return cells.latin1(texts)
    if column.type.name in ("enum", "set"):
        numbers = enum_numbers if column.type.name == "enum" else set_bits
        text = pa.array(numbers(column.type.elements, texts)).cast(pa.string())
        return pc.if_else(texts.is_valid(), text, None).cast(pa.binary())
    if column.type.name in FLOATS:
        widened = column.type.name == "float" and hashing.widens_float
        return _without_exponent(_widened(texts) if widened else texts.cast(pa.string())).cast(pa.binary())
    if column.type.name == "time" and not hashing.time_fraction:
        return pc.replace_substring_regex(texts.cast(pa.string()), r"\..*", "").cast(pa.binary())
    return cells.surrogate_unescaped(texts)


def _widened(texts: pa.Array) -> pa.Array:
    """Return 32-bit numbers with the digits of the 64-bit ones."""
    return texts.cast(pa.string()).cast(pa.float32()).cast(pa.float64()).cast(pa.string())


def _without_exponent(texts: pa.Array) -> pa.Array:
    """Return numbers without exponent and trailing zeros; each distinct unusual text is converted once."""
    is_unusual = pc.invert(pc.fill_null(pc.match_substring_regex(texts, PLAIN), True))
    if not is_unusual.true_count:
        return texts
    unusual_texts = texts.filter(is_unusual).dictionary_encode()
    plain = pa.array(
        [f"{Decimal(number).normalize():f}" for number in unusual_texts.dictionary.to_pylist()], pa.string()
    )
    return pc.replace_with_mask(texts, is_unusual, plain.take(unusual_texts.indices))


def single_column(column: Column) -> str:
    """Return `number`, `string` or `base64`; raise ChangefeedError for a FLOAT, DOUBLE, BINARY or VARBINARY."""
    family = types.family(column.type)
    if family == "text":
        return "base64"
    if family in NUMBERS:
        return "number"
    if family in STRINGS and not types.is_binary(column.type):
        return "string"
    raise ChangefeedError(
        f"the default dispatcher of TiCDC 4.0.0 – 4.0.4 hashes the only unique column, {column.name}, whose type"
        f" {types.mysql_type(column.type, False)} is not simulated: give the table a rule with dispatcher table"
    )


def json_texts(column: Column, texts: pa.Array) -> pa.Array:
    """Return the JSON of values, given as the bytes that later releases hash."""
    kind = single_column(column)
    if kind == "number":
        return texts
    inside = base64(texts) if kind == "base64" else _escaped(texts)
    return pc.binary_join_element_wise(b'"', inside, b'"', b"")


def _escaped(texts: pa.Array) -> pa.Array:
    for mark, escape in ESCAPES.items():
        texts = pc.replace_substring(texts, mark.encode(), escape.encode())
    return texts
