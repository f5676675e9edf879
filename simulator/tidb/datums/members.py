"""Cast datums to ENUM, SET and BIT (tidb pkg/types/enum.go, set.go, binary_literal.go)."""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa

from simulator.tidb.collations.compare import sort_keys
from simulator.tidb.datums.kinds import Datum, datum_text
from simulator.tidb.datums.numbers import literal_number, unsigned
from simulator.tidb.datums.problems import TRUNCATED, CastProblem, too_long
from simulator.tidb.model.types import ColumnType

STRINGS = ("string", "gbk", "bytes", "literal")


def cast_enum(type: ColumnType, datum: Datum, lenient: bool) -> tuple[str, CastProblem | None]:
    """Cast a datum to ENUM (convertToMysqlEnum). The error value is the empty text."""
    if datum.kind == "enum" and datum.body.startswith(b"0:"):
        return "", None
    if datum.kind in (*STRINGS, "enum", "set"):
        name = datum_text(datum)
        place = _places(type, (name,))[0]
        number = place if place is not None else _whole_number(name)
        if place is not None:
            return type.elements[place], None
    else:
        number, problem = unsigned(datum, 65535, type, lenient)
        number = 0 if problem and not (lenient and problem.name == "wrong value") else number
    if number is None or not 0 < number <= len(type.elements):
        return "", TRUNCATED
    return type.elements[number - 1], None


def cast_set(type: ColumnType, datum: Datum, lenient: bool) -> tuple[str, CastProblem | None]:
    """Cast a datum to SET (convertToMysqlSet)."""
    if datum.kind in (*STRINGS, "enum", "set"):
        name = datum_text(datum)
        if not name:
            return "", None
        places = _places(type, tuple(name.split(",")))
        if None not in places:
            return _joined(type, {place for place in places if place is not None}), None
        bits = _whole_number(name)
    else:
        bits, problem = unsigned(datum, 2**64 - 1, type, lenient)
        if problem and not (lenient and problem.name == "wrong value"):
            return "", TRUNCATED
    if bits is None or bits >> len(type.elements):
        return "", TRUNCATED
    return _joined(type, {place for place in range(len(type.elements)) if bits >> place & 1}), None


_NUMBER = re.compile(
    r"(?P<hex>0[xX])(_?[0-9a-fA-F])+|(?P<binary>0[bB])(_?[01])+|(?P<octal>0[oO]?)(_?[0-7])+"
    r"|[1-9](_?[0-9]){0,19}|0"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8}


def _whole_number(text: str) -> int | None:
    """Parse an integer of 64 bits with Go's prefixes and underscores (strconv.ParseUint, base 0)."""
    match = _NUMBER.fullmatch(text)
    if not match:
        return None
    base = next((base for name, base in _BASES.items() if match[name]), 10)
    number = int(text.replace("_", ""), base)
    return number if number < 2**64 else None


def _joined(type: ColumnType, places: set[int]) -> str:
    return ",".join(type.elements[place] for place in sorted(places))


def _places(type: ColumnType, names: tuple[str, ...]) -> list[int | None]:
    """Return the index of each name's member in the column's collation."""
    members = _keys(type)
    return [members.get(key) for key in sort_keys(type.collation, pa.array(names, pa.string())).to_pylist()]


@lru_cache(1024)
def _keys(type: ColumnType) -> dict[bytes, int]:
    keys = sort_keys(type.collation, pa.array(type.elements, pa.string())).to_pylist()
    return {key: place for place, key in reversed(list(enumerate(keys)))}


def cast_bit(type: ColumnType, datum: Datum, lenient: bool) -> tuple[str, CastProblem | None]:
    """Cast a datum to BIT (convertToMysqlBit). A text is its bytes, or the number of b'101' and 0b101."""
    length = max(type.length, 1)
    if datum.kind in ("string", "gbk", "bytes"):
        number, problem = _of_text(datum.body, length)
    elif datum.kind == "int":
        number, problem = int(datum.body) % 2**64, None
    else:
        number, problem = unsigned(datum, 2**64 - 1, type, lenient)
    if number >> length:
        return str(2**length - 1), too_long(length, 0)._replace(text=f"Data Too Long, field len {length}")
    return str(number), problem


def _of_text(body: bytes, length: int) -> tuple[int, CastProblem | None]:
    if length == 1 and body.lower() in (b"true", b"1", b"false", b"0"):
        return int(body.lower() in (b"true", b"1")), None
    digits = body[1:].strip(b"'") if body[:1] in (b"b", b"B") else body[2:] if body.startswith(b"0b") else None
    if digits is None or digits.strip(b"01"):
        return literal_number(body)
    return literal_number(int(digits or b"0", 2).to_bytes(-(-len(digits) // 8), "big"))
