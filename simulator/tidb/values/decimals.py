"""Convert text and Arrow's decimals to DECIMAL.

Values are rounded half away from zero and padded to the scale. The result is null for too many digits before the point.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.model.types import ColumnType
from simulator.tidb.values.kernels import contains_character, matches, null_unless, replace_unusual

PRECISION = 76
"""The digits of Arrow's widest decimal. TiDB's have at most 65."""

_CUT = 9
"""The digits that Arrow rounds correctly. With 17, it rounds 4294967295.5 to 4294967294 (Arrow 26: pc.round)."""


def is_whole(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a decimal with scale 0, as UNSIGNED BIGINT in Parquet."""
    return bool(pa.types.is_decimal(kind) and kind.scale == 0)


def decimal(type: ColumnType, text: pa.Array) -> pa.Array:
    """Convert text to DECIMAL."""
    scale = max(type.decimal, 0)
    whole = type.length - scale
    before = f"(0|[1-9][0-9]{{0,{whole - 1}}})" if whole else "0"
    zero = "-0." + scale * "0" if scale else "-0"
    usual = matches(text, ("" if type.unsigned else "-?") + before + (rf"\.[0-9]{{{scale}}}" if scale else ""))
    usual = pc.and_(usual, pc.not_equal(text, zero))
    return replace_unusual(text, usual, lambda odd: _signed(type, rounded(odd, type.length, scale)))


def fixed(type: ColumnType, number: pa.Array) -> pa.Array:
    """Convert Arrow's decimals of any scale to DECIMAL."""
    scale = max(type.decimal, 0)
    whole = type.length - scale
    if number.type.scale > scale + _CUT:
        return decimal(type, plain(number))
    if number.type.scale != scale or number.type.precision - scale > whole:
        number = _rounded(number.cast(pa.decimal256(PRECISION, number.type.scale)), whole, scale)
    return _signed(type, plain(number))


def _signed(type: ColumnType, text: pa.Array) -> pa.Array:
    return null_unless(pc.invert(pc.starts_with(text, "-")), text) if type.unsigned else text


def rounded(text: pa.Array, precision: int, scale: int) -> pa.Array:
    """Round numbers without an exponent and without many digits, and return their text; null for others."""
    text, whole = pc.ascii_trim_whitespace(text), precision - scale
    size = 38 if precision < 38 else PRECISION
    kind = _decimal(size, min(size - whole - 1, scale + _CUT))
    known = matches(text, rf"[+-]?([0-9]{{1,{whole + 1}}}(\.[0-9]{{0,{kind.scale}}})?|\.[0-9]{{1,{kind.scale}}})")
    return plain(_rounded(null_unless(known, text).cast(kind), whole, scale))


def _rounded(number: pa.Array, whole: int, scale: int) -> pa.Array:
    """Round decimals to another scale; null for more than `whole` digits before the point."""
    number = _below(pc.round(_below(number, whole), scale, "half_towards_infinity"), whole)
    return number.cast(_decimal(whole + scale, scale))


def _decimal(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _below(number: pa.Array, whole: int) -> pa.Array:
    if whole + number.type.scale >= number.type.precision:
        return number
    return null_unless(pc.less(pc.abs(number), pa.scalar(Decimal(10**whole), number.type)), number)


def plain(number: pa.Array) -> pa.Array:
    """Return the text of decimals without an exponent. Arrow prints one below 0.000001."""
    text = number.cast(pa.string())
    if number.type.scale <= 6 or not contains_character(text, "E"):
        return text
    return replace_unusual(text, pc.invert(pc.match_substring(text, "E")), lambda odd: _tiny(odd, number.type.scale))


def _tiny(text: pa.Array, scale: int) -> pa.Array:
    """Convert `-1.5E-7` to a text with `scale` fractional digits."""
    captures = pc.extract_regex(text, r"^(?P<sign>-?)(?P<first>[0-9])\.?(?P<rest>[0-9]*)E-(?P<places>[0-9]+)$")
    sign, first, rest, places = (pc.struct_field(captures, name) for name in ("sign", "first", "rest", "places"))
    digits = pc.binary_join_element_wise(first, rest, "")
    zeros = pc.subtract(pc.cast(places, pa.int64()), 1)
    padded = pc.utf8_rpad(pc.binary_join_element_wise(pc.binary_repeat("0", zeros), digits, ""), scale, "0")
    return pc.binary_join_element_wise(sign, "0.", padded, "")
