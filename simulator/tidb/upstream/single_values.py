"""The values of a statement of a few rows, one by one and without a library, whose calls cost more than so few cells.

One law: what is read here is what `tidb/values` makes of a whole column; a value that is not read here is None, and the
whole column goes there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa

from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.values import spellings
from simulator.tidb.values.documents import normal_json
from simulator.tidb.values.numbers import bounds
from simulator.tidb.values.strings import BYTES

Read = Callable[[bytes], bytes | None]

FEW = 16
"""Rows up to which cells are read so."""


def few_texts(type: ColumnType, values: pa.Array) -> pa.Array | None:
    """TiDB text (binary) of values (binary); None where one is not read here."""
    read = _reader(type) if pa.types.is_binary(values.type) else None
    if read is None:
        return None
    cells = values.to_pylist()
    texts = [None if cell is None else read(cell) for cell in cells]
    return None if texts.count(None) > values.null_count else pa.array(texts, pa.binary())


@lru_cache(4096)
def _reader(type: ColumnType) -> Read | None:
    return _READERS[family(type)](type) if family(type) in _READERS else None


def _spelt(pattern: str) -> Read:
    """Text that is spelt as TiDB prints it."""
    matches = re.compile(pattern.encode()).fullmatch
    return lambda value: value if matches(value) else None


def _sign(type: ColumnType) -> str:
    return "" if type.unsigned else "-?"


def _integer(type: ColumnType) -> Read:
    matches, (low, high) = re.compile(b"0|-?[1-9][0-9]{0,19}").fullmatch, bounds(type)
    return lambda value: value if matches(value) and low <= int(value) <= high else None


def _decimal(type: ColumnType) -> Read | None:
    """Without digits to round away; zeros are added."""
    scale, whole = max(type.decimal, 0), type.length - max(type.decimal, 0)
    if not whole:
        return None
    fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    matches = re.compile(f"({_sign(type)}[1-9][0-9]{{0,{whole - 1}}}|0){fraction}".encode()).fullmatch

    def read(value: bytes) -> bytes | None:
        found = matches(value)
        if not found or not scale:
            return value if found else None
        return found[1] + (found[2] or b".").ljust(scale + 1, b"0")

    return read


def _float(type: ColumnType) -> Read | None:
    """So few digits that the nearest number has no shorter text."""
    most = 3 if type.name == "float" else 7
    return None if type.decimal >= 0 else (
        _spelt(rf"0|{_sign(type)}[1-9][0-9]{{0,{most - 1}}}(\.[0-9]{{0,{most - 1}}}[1-9])?"))


def _bit(type: ColumnType) -> Read:
    """Of the tagged form: `n` and a number, `x` and bytes."""
    most, is_number = 2 ** max(type.length, 1) - 1, re.compile(b"n[0-9]{1,20}").fullmatch

    def read(value: bytes) -> bytes | None:
        if not value.startswith(b"x") and not is_number(value):
            return None
        number = int.from_bytes(value[1:], "big") if value.startswith(b"x") else int(value[1:])
        return str(number).encode() if number <= most else None

    return read


def _moment(type: ColumnType) -> Read:
    """A moment of the calendar that no sql_mode refuses; a TIMESTAMP of the session, well within its range."""
    digits = max(type.decimal, 0)
    least, most = ("1970-01-03", "2038-01-17") if type.name == "timestamp" else ("0001", "9999-12-31 24")

    def read(value: bytes) -> bytes | None:
        text = spellings.moment(value.decode(), digits) if value.isascii() else None
        if text is None or not spellings.in_calendar(text) or not least <= text < most:
            return None
        return (text[:10] if type.name == "date" else text).encode()

    return read


def _time(type: ColumnType) -> Read:
    digits = max(type.decimal, 0)

    def read(value: bytes) -> bytes | None:
        text = spellings.time(value.decode(), digits) if value.isascii() else None
        return text.encode() if text else None

    return read


def _string(type: ColumnType) -> Read | None:
    limit = BYTES.get(type.name, type.length)
    if is_binary(type):
        width = limit if type.name == "char" else 0
        return lambda value: (value if value.isascii() else value.decode("latin-1").encode()).ljust(
            width, b"\0") if len(value) <= limit and (not width or value.isascii()) else None
    if type.name == "char":
        return lambda value: value if len(value) <= limit and value.isascii() and not value.endswith(b" ") else None
    if type.charset == "utf8mb4":
        return lambda value: value if len(value) <= limit and _is_utf8(value) else None
    return lambda value: value if len(value) <= limit and value.isascii() else None


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _enum(type: ColumnType) -> Read:
    known = {member.encode(): member.encode() for member in type.elements if member}
    return known.get


def _set(type: ColumnType) -> Read:
    known = {member.encode(): place for place, member in enumerate(type.elements)}

    def read(value: bytes) -> bytes | None:
        places = {known.get(name, -1) for name in value.split(b",")} if value else set()
        return None if -1 in places else ",".join(type.elements[place] for place in sorted(places)).encode()

    return read


def _json(type: ColumnType) -> Read:
    def read(value: bytes) -> bytes | None:
        text = normal_json(value.decode()) if _is_utf8(value) else None
        return text.encode() if text is not None else None

    return read


_READERS: dict[str, Callable[[ColumnType], Read | None]] = {
    "integer": _integer, "decimal": _decimal, "float": _float, "bit": _bit, "date": _moment, "datetime": _moment,
    "time": _time, "year": lambda type: _spelt("19[1-9][0-9]|20[0-9]{2}"), "string": _string, "text": _string,
    "enum": _enum, "set": _set, "json": _json,
}
"""By family."""
