"""A value as a user writes it in JSON, checked and brought to TiDB text.

One law: what TiDB could not hold is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from simulator.errors import UserError
from simulator.schema.table import Column, ColumnType
from simulator.schema.types import family, is_binary, is_unsigned

BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}


def read_value(value: Any, column: Column) -> str | None:
    """Null, text, a number or {"hex": "…"} as TiDB text: bytes of a binary column as Latin-1 text, in any other column
    bytes that are not UTF-8 as lone surrogates; raises UserError."""
    if value is None:
        if column.not_null:
            raise UserError(f"column {column.name!r} is NOT NULL: a value is needed")
        return None
    data = _data(value, column)
    text = data.decode("latin-1") if is_binary(column.type) else data.decode("utf-8", "surrogateescape")
    reader = READERS.get(family(column.type))
    try:
        return text if reader is None else reader(text, column.type)
    except (ValueError, InvalidOperation) as error:
        reason = f" ({error})" if type(error) is ValueError and not str(error).startswith("invalid literal") else ""
        raise UserError(f"column {column.name!r}: {value!r} is no {column.type.name}{reason}") from None


def _data(value: Any, column: Column) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise UserError(f"column {column.name!r}: {value[error.start]!r} is half a character") from None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value).encode()
    if not isinstance(value, dict) or value.keys() != {"hex"} or not isinstance(value["hex"], str):
        shape = 'null, text, a number or {"hex": "…"}'
        raise UserError(f"column {column.name!r}: {value!r} is not {shape}")
    try:
        return bytes.fromhex(value["hex"])
    except ValueError as error:
        raise UserError(f"column {column.name!r}: hex {value['hex'][:40]!r}: {error}") from None


def _integer(text: str, type: ColumnType) -> str:
    bits = BITS[type.name]
    low, high = (0, (1 << bits) - 1) if is_unsigned(type) else (-1 << bits - 1, (1 << bits - 1) - 1)
    return _between(text, low, high)


def _between(text: str, low: int, high: int) -> str:
    if not low <= int(text) <= high:
        raise ValueError(f"{low} to {high} are")
    return str(int(text))


def _float(text: str, type: ColumnType) -> str:
    if not math.isfinite(float(text)):
        raise ValueError("it is not finite")
    return text


def _decimal(text: str, type: ColumnType) -> str:
    scale, number = max(type.decimal, 0), Decimal(text)
    if not number.is_finite() or number.adjusted() >= type.length - scale and number:
        raise ValueError(f"at most {type.length - scale} digits stand before the point")
    exact = f"{number:.{scale}f}"
    if Decimal(exact) != number:
        raise ValueError(f"at most {scale} digits stand behind the point")
    return exact.removeprefix("-") if not number else exact


def _pattern(shape: str) -> Callable[[str, ColumnType], str]:
    def read(text: str, type: ColumnType) -> str:
        digits = max(type.decimal, 0)
        if not re.fullmatch(shape + (rf"\.[0-9]{{{digits}}}" if digits else ""), text):
            raise ValueError(f"TiDB prints it with {digits} digits of a second" if ":" in shape else "YYYY-MM-DD")
        return text
    return read


def _enum(text: str, type: ColumnType) -> str:
    if text and text not in type.elements:
        raise ValueError(f"its members are {', '.join(type.elements)}")
    return text


def _set(text: str, type: ColumnType) -> str:
    chosen = set(text.split(",")) if text else set()
    if not chosen <= set(type.elements):
        raise ValueError(f"its members are {', '.join(type.elements)}")
    return ",".join(one for one in type.elements if one in chosen)


READERS: dict[str, Callable[[str, ColumnType], str]] = {
    "integer": _integer,
    "float": _float,
    "decimal": _decimal,
    "bit": lambda text, type: _between(text, 0, (1 << type.length) - 1),
    "year": lambda text, type: "0" if int(text) == 0 else _between(text, 1901, 2155),
    "date": _pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "time": _pattern(r"-?[0-9]{2,3}:[0-5][0-9]:[0-5][0-9]"),
    "datetime": _pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"),
    "enum": _enum,
    "set": _set,
}
"""Family -> check; a text, JSON or vector is taken as it is."""
