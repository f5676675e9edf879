"""What Arrow's kernels lack; conversions of columns to texts, ENUM, numbers and VECTOR, with null for what strict mode
would reject.

Null stays null, and an invalid cell becomes null. The TiDB text of binary columns is the Latin-1 text of their bytes.
Decimals are rounded half away from zero and padded to the scale; null stands for too many digits before the point.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import cells as column_cells
from simulator.columns.cells import buffers
from simulator.tidb.model.types import INTEGER_BITS, UNSIGNED_BIGINT, ColumnType, bounds


def utf8(raw: pa.Array) -> pa.Array:
    """Cast a string or binary array to strings, with null for invalid UTF-8."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        if len(raw) == 1:
            return pa.nulls(1, pa.string())
        half = len(raw) // 2
        return pa.concat_arrays([utf8(raw.slice(0, half)), utf8(raw.slice(half))])


def null_unless(mask: pa.Array, cells: pa.Array) -> pa.Array:
    """Return the cells where the mask is true, null elsewhere."""
    return pc.if_else(mask, cells, pa.scalar(None, cells.type))


def replace_unusual(
    cells: pa.Array, usual: pa.Array, odd: Callable[[pa.Array], pa.Array], made: pa.Array | None = None
) -> pa.Array:
    """Return the usual cells, or `made` in their place, with the others converted by `odd`.

    A cell is unusual if `usual` is false or null.
    """
    others = pc.and_not(cells.is_valid(), pc.fill_null(usual, False))
    made = cells if made is None else made
    if not pc.any(others).as_py():
        return made
    return pc.replace_with_mask(made, others, odd(cells.filter(others)))


def map_distinct(texts: pa.Array, function: Callable[[str], str | None]) -> pa.Array:
    """Call a function once for each distinct text: for rare values that no kernel converts."""
    distinct = texts.dictionary_encode()
    values = [None if text is None else function(text) for text in distinct.dictionary.to_pylist()]
    return pa.array(values, pa.string()).take(distinct.indices)


def cast_or_none(text: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Cast text to another type, or return None if Arrow cannot parse all of it."""
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None


def matches(text: pa.Array, pattern: str) -> pa.Array:
    """Whether each whole text matches a regular expression."""
    return pc.match_substring_regex(text, f"^(?:{pattern})$")


def contains_character(cells: pa.Array, character: str) -> bool:
    """Whether a string array contains an ASCII character."""
    return bool((buffers(cells)[0] == ord(character)).any())


def latin1_text(bytes: pa.Array) -> pa.Array:
    data, offsets = buffers(bytes)
    wide = np.flatnonzero(data >= 0x80)
    if not len(wide):
        return bytes.cast(pa.string())
    text = np.frombuffer(data.tobytes().decode("latin-1").encode(), np.uint8)
    return column_cells.binary(text, offsets + np.searchsorted(wide, offsets), bytes).view(pa.string())


BYTES = {"tinytext": 2**8 - 1, "text": 2**16 - 1, "mediumtext": 2**24 - 1, "longtext": 2**32 - 1}


def text(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert to CHAR, VARCHAR or a TEXT, with the limit in characters, or in bytes for a TEXT."""
    value = _of_charset(type.charset, value)
    if type.name in BYTES:
        return replace_unusual(value, pc.less_equal(pc.binary_length(value), BYTES[type.name]), _none)
    if type.name == "char" and pc.any(pc.ends_with(value, " ")).as_py():
        value = pc.utf8_rtrim(value, " ")
    short = pc.less_equal(pc.binary_length(value), type.length)
    return replace_unusual(value, short, lambda odd: _cut(type.length, odd))


def _none(cells: pa.Array) -> pa.Array:
    return pa.nulls(len(cells), cells.type)


def _of_charset(charset: str, value: pa.Array) -> pa.Array:
    """Replace texts with characters outside of the charset by null."""
    if charset == "ascii":
        return replace_unusual(value, pc.string_is_ascii(value), _none)
    if charset in ("utf8", "utf8mb3") and (buffers(value)[0] >= 0xF0).any():
        return null_unless(pc.invert(pc.match_substring_regex(value, r"[\x{10000}-\x{10FFFF}]")), value)
    return value


def _cut(length: int, value: pa.Array) -> pa.Array:
    """Cut strings to `length` characters, with null if more than spaces would be cut off."""
    fits = pc.less_equal(pc.utf8_length(pc.utf8_rtrim(value, " ")), length)
    return pc.utf8_slice_codeunits(null_unless(fits, value), 0, length)


def binary(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert bytes to BINARY (padded with zero bytes), VARBINARY or a BLOB."""
    limit = BYTES.get(type.name, type.length)
    text = latin1_text(replace_unusual(value, pc.less_equal(pc.binary_length(value), limit), _none))
    return pc.utf8_rpad(text, limit, "\0") if type.name == "char" else text


def enum(type: ColumnType, value: pa.Array) -> pa.Array:
    """Return the names of members, and the empty error value; null for other texts."""
    return null_unless(pc.is_in(value, pa.array((*type.elements, ""), pa.string())), value)


# -- numbers -----------------------------------------------------------------------------------------------------------


_WIDE = pa.decimal128(20, 0)
"""The type for every integer of 64 bits, signed or not."""


def integer(type: ColumnType, text: pa.Array) -> pa.Array:
    """Convert text to an integer type: `007` to 7, `1.5` to 2 (MySQL rounds)."""
    low, high = bounds(type)
    return replace_unusual(text, _usual(type, text), lambda odd: _within(rounded(odd, 20, 0), low, high))


def _usual(type: ColumnType, text: pa.Array) -> pa.Array:
    """Whether each text is an integer in range, as TiDB prints it."""
    low, high = bounds(type)
    kind, shape = (pa.uint64(), "0|[1-9][0-9]{0,18}") if high >= 2**63 else (pa.int64(), "0|-?[1-9][0-9]{0,17}")
    bytes, offsets = buffers(text)
    digits = ((bytes - ord("0") < 10) | (bytes == ord("-"))).all() and len(bytes)
    number = cast_or_none(text, kind) if digits else None
    if number is not None:
        starts = offsets[:-1] + (bytes.take(offsets[:-1], mode="clip") == ord("-"))
        padded = (bytes.take(starts, mode="clip") == ord("0")) & (np.diff(offsets) > 1)
        usual = pa.array(~padded)
    else:
        number = null_unless(matches(text, shape), text).cast(kind)
        usual = number.is_valid()
    if INTEGER_BITS[type.name] < 64:
        usual = pc.and_(usual, pc.and_(pc.greater_equal(number, low), pc.less_equal(number, high)))
    return usual


def _within(text: pa.Array, low: int, high: int) -> pa.Array:
    number = text.cast(_WIDE)
    lowest, highest = (pa.scalar(Decimal(bound), _WIDE) for bound in (low, high))
    return null_unless(pc.and_(pc.greater_equal(number, lowest), pc.less_equal(number, highest)), text)


def whole(type: ColumnType, number: pa.Array) -> pa.Array:
    """Convert integers, or decimals with scale 0, to an integer type."""
    text, (low, high) = plain(number) if is_whole(number.type) else number.cast(pa.string()), bounds(type)
    extremes = pc.min_max(number).as_py()
    if extremes["min"] is None or low <= extremes["min"] and extremes["max"] <= high:
        return text
    return _within(text, low, high)


def floating(type: ColumnType, number: pa.Array) -> pa.Array:
    if type.decimal >= 0:
        number = _fixed(type, number.cast(pa.float64()))
    number = number.cast(pa.float32() if type.name == "float" else pa.float64())
    valid = pc.is_finite(number)
    return shortest(null_unless(pc.and_(valid, pc.greater_equal(number, 0)) if type.unsigned else valid, number))


def _fixed(type: ColumnType, number: pa.Array) -> pa.Array:
    """Round for FLOAT(M,D) and DOUBLE(M,D), half to even (tidb pkg/types/helper.go, TruncateFloat).

    A number too large to have digits after D stays as it is, so that stored values do not change again.
    """
    shift = 10.0**type.decimal
    shifted = pc.multiply(number, shift)
    few = pc.less(pc.abs(shifted), 2.0**53)
    rounded = pc.if_else(few, pc.divide(pc.round(shifted, round_mode="half_to_even"), shift), number)
    most = 10.0 ** (type.length - type.decimal) - 1 / shift
    return null_unless(pc.less_equal(pc.abs(rounded), most), rounded)


def number(text: pa.Array) -> pa.Array:
    """Convert text to float64; null for a number in an unusual spelling."""
    numbers = cast_or_none(text, pa.float64())
    if numbers is not None:
        return numbers
    usual = matches(text, r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
    return null_unless(usual, text).cast(pa.float64())


def shortest(number: pa.Array) -> pa.Array:
    """Print floats as a MySQL client: with the fewest digits, and an exponent below 1e-15 and from 1e15 on."""
    text = number.cast(pa.string())
    return (
        replace_unusual(text, pc.invert(pc.match_substring(text, "e")), _respelt)
        if contains_character(text, "e")
        else text
    )


def _respelt(text: pa.Array) -> pa.Array:
    """Print numbers with an exponent in Arrow, which has one below 1e-6 and from 1e10 on."""
    usual = pc.match_substring_regex(text, r"e(-[0-9]|-1[0-5]|\+1[0-4])$")
    digits = pc.utf8_rtrim(plain(null_unless(usual, text).cast(pa.decimal256(PRECISION, 40))), "0")
    return pc.coalesce(pc.utf8_rtrim(digits, "."), pc.replace_substring(text, "e+", "e"))


def positional(text: pa.Array) -> pa.Array:
    """Return the texts of floats without exponents."""
    if not contains_character(text, "e"):
        return text
    return replace_unusual(
        text,
        pc.invert(pc.match_substring(text, "e")),
        lambda odd: map_distinct(odd, lambda number: format(Decimal(number), "f")),
    )


def bit(type: ColumnType, tagged: pa.Array) -> pa.Array:
    """Convert tagged binary to BIT: `n` and the text of a number, or `x` and big-endian bytes."""
    body = pc.binary_slice(tagged, 1, 2**31 - 1)
    is_number = pc.equal(pc.binary_slice(tagged, 0, 1), b"n")
    digits = integer(UNSIGNED_BIGINT, utf8(null_unless(is_number, body))).cast(pa.uint64())
    return bits(type, pc.coalesce(digits, _big_endian(null_unless(pc.invert(is_number), body))))


def bits(type: ColumnType, number: pa.Array) -> pa.Array:
    """Convert unsigned 64-bit numbers to BIT."""
    most = pa.scalar(2 ** max(type.length, 1) - 1, pa.uint64())
    return null_unless(pc.less_equal(number, most), number).cast(pa.string())


def _big_endian(bytes: pa.Array) -> pa.Array:
    """Decode numbers of at most 64 bits, with null for longer bytes."""
    bytes = pc.replace_substring_regex(bytes, r"^\x00+", "")
    bytes = null_unless(pc.less_equal(pc.binary_length(bytes), 8), bytes)
    data, offsets = buffers(bytes)
    data = np.append(data, np.uint8(0)).astype(np.uint64)
    values = np.zeros(len(bytes), np.uint64)
    for place in range(8):
        at = offsets[1:] - 1 - place
        values |= data[np.where(at >= offsets[:-1], at, -1)] << np.uint64(8 * place)
    return null_unless(bytes.is_valid(), pa.array(values))


PRECISION = 76
"""The digits of Arrow's widest decimal. TiDB's have at most 65."""

_CUT = 9
"""The digits that Arrow rounds correctly. With 17, it rounds 4294967295.5 to 4294967294 (Arrow 26: pc.round)."""


def is_whole(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a decimal with scale 0, as UNSIGNED BIGINT in Parquet."""
    return bool(pa.types.is_decimal(kind) and kind.scale == 0)


def decimal(type: ColumnType, text: pa.Array) -> pa.Array:
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


_JSON_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_VECTOR = rf"\s*\[\s*({_JSON_NUMBER}(\s*,\s*{_JSON_NUMBER})*)?\s*\]\s*"
_DIMENSIONS = 16383
"""The largest number of dimensions of a VECTOR (tidb pkg/types/vector.go)."""


def vector(dimensions: int, text: pa.Array) -> pa.Array:
    """Convert text `[1,2.5]` to VECTOR, with the shortest digits of float32; null for other dimensions than the type's."""
    inside = pc.replace_substring_regex(null_unless(matches(text, _VECTOR), text), r"[\[\]\s]", "")
    lists = pc.split_pattern(null_unless(pc.not_equal(inside, ""), inside), ",")
    size = pc.fill_null(pc.list_value_length(lists), 0)
    number = lists.flatten().cast(pa.float64()).cast(pa.float32())
    spelt = positional(shortest(null_unless(pc.is_finite(number), number)))
    joined = pc.binary_join(pa.ListArray.from_arrays(lists.offsets, spelt), ",")
    vectors = pc.binary_join_element_wise("[", pc.if_else(pc.equal(inside, ""), "", joined), "]", "")
    fits = pc.equal(size, dimensions) if dimensions > 0 else pc.less_equal(size, _DIMENSIONS)
    return null_unless(fits, vectors)
