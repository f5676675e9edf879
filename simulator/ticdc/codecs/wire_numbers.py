"""Conversion of a column's TiDB text to the number or text on the wire, and numbers in Avro's binary encoding. Nulls stay
nulls.

In Avro:

* `int` and `long` are zigzag numbers of 7 bits a byte, the lowest first, the high bit set on all bytes but the last.
* `float` and `double` are IEEE numbers, little-endian.
* `string` and `bytes` are a `long` with the length, then the bytes.
* A decimal is `bytes` with the unscaled number in two's complement, big-endian and as short as it can be.

Source: Avro's specification, "Binary Encoding"; goavro v2.11.1: integer.go, logical_type.go.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import (
    binary,
    fixed,
    latin1,
    lengths,
    pieces_between,
    raw,
    stored_buffers,
    surrogate_unescaped,
)
from simulator.errors import EncodeError
from simulator.ticdc.codecs.wire_text import decimal
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType

_FLOAT = 4


def go_float(cells: pa.Array, type: ColumnType, widened: bool = False) -> pa.Array:
    """Return FLOAT and DOUBLE as encoding/json writes them: the shortest digits, an exponent below 1e-6 and from 1e21.

    A `widened` FLOAT has the digits of the 64-bit number. Arrow's cast gives the same digits, but an exponent from 1e10
    on.
    """
    text = _shortest(cells, type, widened)
    if not _has_exponents(text):
        return text.cast(pa.binary())
    return _expand_exponents(text, pc.match_substring_regex(text, r"e\+(1\d|20)$"))


def _has_exponents(text: pa.Array) -> bool:
    return b"e" in stored_buffers(text)[0].tobytes()


def padded_float(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return the same as jsoniter writes it: two digits in a negative exponent."""
    text = go_float(cells, type)
    return pc.replace_substring_regex(text, r"e-(\d)$", r"e-0\1") if _has_exponents(text) else text


def plain_float(cells: pa.Array, type: ColumnType, widened: bool = False) -> pa.Array:
    """Return FLOAT and DOUBLE as strconv.FormatFloat(…, 'f', -1, …) does: the shortest digits, never an exponent.

    A `widened` FLOAT became a 64-bit number: `3.140000104904175` (Release.float_widened).
    """
    text = _shortest(cells, type, widened)
    return _expand_exponents(text, pc.match_substring(text, "e"))


def percent_v_float(cells: pa.Array, type: ColumnType, widened: bool = False) -> pa.Array:
    """Return FLOAT and DOUBLE as Go's `%v` does: the shortest digits, an exponent below 1e-4 and from 1e6 on."""
    numbers, text = to_float64(cells), _shortest(cells, type, widened)
    size = pc.abs(numbers)
    unusual = pc.or_(pc.greater_equal(size, 1e6), pc.and_(pc.less(size, 1e-4), pc.greater(size, 0.0)))
    if not pc.any(unusual).as_py():
        return text.cast(pa.binary())
    rare = _with_exponents(text.filter(unusual))
    return pc.replace_with_mask(text, pc.fill_null(unusual, False), rare).cast(pa.binary())


def _with_exponents(text: pa.Array) -> pa.Array:
    """Return Arrow's text of numbers with Go's exponents; Arrow has none from 1e-6 up to 1e10."""
    for digits in range(6, 10):
        text = pc.replace_substring_regex(text, rf"^(-?\d)(\d{{{digits}}})(?:\.(\d+))?$", rf"\1.\2\3e+0{digits}")
    for zeros in (4, 5):
        text = pc.replace_substring_regex(text, rf"^(-?)0\.0{{{zeros}}}([1-9])(\d*)$", rf"\1\2.\3e-0{zeros + 1}")
    text = pc.replace_substring_regex(text, r"(\.\d*?)0+e", r"\1e")
    return pc.replace_substring_regex(pc.replace_substring(text, ".e", "e"), r"e([+-])(\d)$", r"e\10\2")


def _shortest(cells: pa.Array, type: ColumnType, widened: bool) -> pa.Array:
    numbers = to_float64(cells)
    if types.type_code(type) != _FLOAT:
        return numbers.cast(pa.string())
    narrow = numbers.cast(pa.float32())
    return (narrow.cast(pa.float64()) if widened else narrow).cast(pa.string())


def to_float64(cells: pa.Array) -> pa.Array:
    """Return a column's text as float64."""
    try:
        return cells.cast(pa.string()).cast(pa.float64())
    except pa.ArrowInvalid as error:
        raise EncodeError(f"not a number: {error}") from error


def _expand_exponents(text: pa.Array, unusual: pa.Array) -> pa.Array:
    """Return text without an exponent where `unusual`. Such numbers are few; each distinct one is formatted once."""
    if not pc.any(unusual).as_py():
        return text.cast(pa.binary())
    rare = text.filter(unusual).dictionary_encode()
    written = pa.array([format(Decimal(number), "f") for number in rare.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(text, pc.fill_null(unusual, False), written.take(rare.indices)).cast(pa.binary())


def enum_number(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return the number of each ENUM member, from 1; 0 for the error value '' unless a member has that name."""
    members = [*type.elements, *([] if "" in type.elements else [""])]
    numbers = [*range(1, len(type.elements) + 1), 0]
    indexes = pc.index_in(cells, value_set=_names(members))
    _require_members(cells, indexes, "enum", type)
    return decimal(pa.array(numbers, pa.int64())).take(indexes)


def require_enum_members(cells: pa.Array, type: ColumnType, code: str, doing: str) -> None:
    """Raise EncodeError for the error value of an ENUM, number 0, which has no name (tidb v8.0.0: pkg/types/enum.go
    ParseEnumValue); `doing` is TiCDC's text before TiDB's."""
    if "" not in type.elements and pc.any(pc.equal(pc.binary_length(cells), 0)).as_py():
        text = f"convert to MySQL enum failed: number 0 overflow enum boundary [1, {len(type.elements)}]"
        raise EncodeError(f"{doing}: {text}: [types:1265]Data truncated for column '%s' at row %d", code)


def set_number(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return the bitmap, unsigned, of SET members joined by commas."""
    lists = pc.split_pattern(cells, b",")
    names = lists.flatten()
    indexes = pc.index_in(names, value_set=_names(type.elements))
    _require_members(names.filter(pc.not_equal(names, b"")), indexes.filter(pc.not_equal(names, b"")), "set", type)
    bits = np.left_shift(np.uint64(1), indexes.fill_null(0).to_numpy().astype(np.uint64))
    total = np.zeros(len(bits) + 1, np.uint64)
    np.cumsum(bits * indexes.is_valid().to_numpy(zero_copy_only=False), dtype=np.uint64, out=total[1:])
    ends = np.concatenate(([0], np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy())))
    sums = total[ends[1:]] - total[ends[:-1]]
    nulls = None if cells.null_count == 0 else cells.is_null().to_numpy(zero_copy_only=False)
    return decimal(pa.array(sums, pa.uint64(), mask=nulls))


def value_text(cells: pa.Array, type: ColumnType, widened: bool = False) -> pa.Array:
    """Return a column's text as the bytes of `ColumnValueString` (tiflow v8.5.3 cdc/model/sink.go), which dispatchers
    hash: ENUM and SET are numbers, floats have no exponent, binary strings stay as they are."""
    if types.is_binary(type):
        return latin1(cells)
    match types.family(type):
        case "float":
            return plain_float(cells, type, widened)
        case "enum":
            return enum_number(raw(cells), type)
        case "set":
            return set_number(raw(cells), type)
    return surrogate_unescaped(cells)


def _names(members: tuple[str, ...] | list[str]) -> pa.Array:
    return pa.array([name.encode("utf-8", "surrogatepass") for name in members], pa.binary())


def _require_members(cells: pa.Array, indexes: pa.Array, kind: str, type: ColumnType) -> None:
    is_unknown = pc.and_(indexes.is_null(), cells.is_valid())
    if pc.any(is_unknown).as_py():
        value = cells.filter(is_unknown)[0].as_py().decode("utf-8", "replace")
        raise EncodeError(f"not a member of the {kind}: {value!r}; accepted: {', '.join(map(repr, type.elements))}")


Numbers = npt.NDArray[np.int64]

_DECIMAL128_DIGITS = 38
_DECIMAL_DIGITS = 76


def integers(cells: pa.Array, unsigned: bool) -> pa.Array:
    """Return the integers of a column's text as `long`; unsigned ones above 2^63 become negative."""
    kind = pa.uint64() if unsigned else pa.int64()
    try:
        numbers = cells.cast(pa.string()).cast(kind).fill_null(0)
    except pa.ArrowInvalid as error:
        raise EncodeError(f"not an integer: {error}") from error
    return longs(numbers.to_numpy().view(np.int64), cells)


def long(number: int) -> bytes:
    """Return a number as `int` or `long`."""
    written: bytes = longs(np.array([number], np.int64))[0].as_py()
    return written


def string(text: str) -> bytes:
    """Return a text as `string`; lone surrogates stand for bytes that are no UTF-8."""
    content = text.encode("utf-8", "surrogateescape")
    return long(len(content)) + content


def longs(numbers: Numbers, like: pa.Array | None = None) -> pa.Array:
    """Return numbers as `long`, null where `like` is."""
    zigzag = (numbers << 1 ^ numbers >> 63).view(np.uint64)
    longest = max(-(-int(zigzag.max(initial=0)).bit_length() // 7), 1)
    digits, sizes = np.empty((len(numbers), longest), np.uint8), np.ones(len(numbers), np.int64)
    for place in range(longest):
        digits[:, place] = zigzag.astype(np.uint8) & 0x7F
        zigzag = zigzag >> np.uint64(7)
        more = zigzag != 0
        digits[:, place] |= more.view(np.uint8) << 7
        sizes += more
    ends = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    data = digits if ends[-1] == digits.size else digits[np.arange(longest) < sizes[:, None]]
    return pieces_between(ends, pa.py_buffer(data)) if like is None else binary(data, ends, like)


def floats(cells: pa.Array, bytes_each: int) -> pa.Array:
    """Return the numbers of a column's text as `float` (4 bytes) or `double` (8)."""
    numbers = to_float64(cells).fill_null(0.0).to_numpy()
    with np.errstate(over="ignore"):
        return fixed(numbers.astype(f"<f{bytes_each}"), cells)


def sized(cells: pa.Array) -> list[pa.Array]:
    """Return the pieces of `string` or `bytes`: the length, then the cells."""
    return [longs(lengths(cells), cells), cells]


def bit_strings(cells: pa.Array, least: int = 1) -> pa.Array:
    """Return BIT's numbers as their bytes, big-endian and as few as hold the number, but at least so many."""
    numbers = cells.cast(pa.string()).cast(pa.uint64()).fill_null(0).to_numpy()
    matrix = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    needed = matrix != 0
    needed[:, 8 - least :] = True
    return _without_leading(matrix, needed, cells)


def decimals(cells: pa.Array, scale: int) -> pa.Array:
    """Return the unscaled numbers of DECIMAL's text, without their lengths."""
    narrow = len(cells) == 0 or int(lengths(cells).max()) <= _DECIMAL128_DIGITS
    kind = pa.decimal128(_DECIMAL128_DIGITS, scale) if narrow else pa.decimal256(_DECIMAL_DIGITS, scale)
    try:
        numbers = cells.cast(pa.string()).cast(kind)
    except pa.ArrowInvalid as error:
        raise EncodeError(f"not a decimal: {error}") from error
    width = kind.byte_width
    stored = np.frombuffer(numbers.buffers()[1], np.uint8, width * len(cells), width * numbers.offset)
    matrix = stored.reshape(-1, width)[:, ::-1]
    sign = (matrix[:, :1] >> 7) * np.uint8(0xFF)
    differs = matrix != sign
    # a byte is needed, too, if the one behind it has another sign
    differs[:, :-1] |= (matrix[:, 1:] >> 7) * np.uint8(0xFF) != sign
    return _without_leading(matrix, differs, cells)


def _without_leading(matrix: npt.NDArray[np.uint8], needed: npt.NDArray[np.bool_], like: pa.Array) -> pa.Array:
    """Return rows of bytes from the first that is needed, or the last byte; null where `like` is."""
    width = matrix.shape[1]
    first = np.where(needed.any(axis=1), needed.argmax(axis=1), width - 1)
    if like.null_count:
        first[like.is_null().to_numpy(zero_copy_only=False)] = width
    kept = np.arange(width) >= first[:, None]
    return binary(matrix[kept], np.concatenate(([0], np.cumsum(width - first))), like)
