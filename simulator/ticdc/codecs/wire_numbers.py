"""Conversion of a column's TiDB text to the number or text on the wire. Nulls stay nulls."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1, raw, stored_buffers, surrogate_unescaped
from simulator.errors import EncodeError
from simulator.ticdc.codecs.json_text import decimal
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
