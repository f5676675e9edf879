"""DEFAULT values as TiDB text: a literal is converted to the type of the column, an expression stays SQL text."""

from __future__ import annotations

import struct
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.parser.types import literal_bytes
from simulator.tidb.values import spellings


def default_text(default: syntax.ColumnDefault | None, type: ColumnType, where: str) -> tuple[str | None, bool]:
    """Return the text of the default, None for NULL or no default, and whether it is an expression.

    Raises SchemaError, with a text that begins with `where`, for a value that the type does not have.
    """
    if default is None or default.kind == "null":
        return None, False
    if default.kind == "expression":
        return default.text, True
    text = value_text(default, type)
    if text is None:
        raise SchemaError(f"{where}: invalid default {default.text!r} for a column of type {type.name}")
    return text, False


def value_text(default: syntax.ColumnDefault, type: ColumnType) -> str | None:
    """Return a literal as TiDB text of the type; None if the type has no such value."""
    kind = family(type)
    if default.kind in ("hex", "bit"):
        return bytes_text(literal_bytes(default.kind, default.text), type)
    text = default.text
    if default.kind == "boolean":
        text = "1" if text == "TRUE" else "0"
    if kind == "bit" and default.kind == "string":
        return bytes_to_number(text.encode())
    if kind in ("integer", "bit", "decimal"):
        return number_text(text, max(type.decimal, 0) if kind == "decimal" else 0)
    if kind == "float":
        return float_text(text, type)
    if kind in ("enum", "set"):
        return numbered_members(text, type) if default.kind == "number" else member_text(text, type)
    if kind in ("date", "datetime", "time"):
        return _time_text(spellings.number(text) if default.kind == "number" and kind != "time" else text, type)
    if kind == "year":
        return year_text(text)
    if type.name == "char" and is_binary(type):
        return text.ljust(type.length, "\0")
    return text


def _time_text(text: str, type: ColumnType) -> str | None:
    if type.name == "date":
        return spellings.date(text)
    read = {"datetime": spellings.moment, "timestamp": spellings.timestamp, "time": spellings.time}[type.name]
    return read(text, max(type.decimal, 0))


def bytes_to_number(value: bytes) -> str | None:
    """Return the number of a binary literal; None if it exceeds 64 bits (tidb: BinaryLiteral.ToInt)."""
    value = value.lstrip(b"\0")
    return str(int.from_bytes(value, "big")) if len(value) <= 8 else None


def bytes_text(value: bytes, type: ColumnType) -> str | None:
    """Return a hexadecimal or binary literal: its number for a numeric type, its bytes for text."""
    kind = family(type)
    if kind in ("integer", "bit", "decimal", "year", "float"):
        number = bytes_to_number(value)
        if number is None or kind not in ("decimal", "float"):
            return number
        return number_text(number, max(type.decimal, 0)) if kind == "decimal" else float_text(number, type)
    if kind == "time":
        number = bytes_to_number(value)
        return None if number is None else spellings.time(number, max(type.decimal, 0))
    if kind in ("date", "datetime"):
        return None
    if kind in ("enum", "set"):
        return member_text(value.decode("utf-8", "replace"), type)
    if is_binary(type):
        return value.decode("latin-1").ljust(type.length if type.name == "char" else 0, "\0")
    return value.decode("utf-8", "replace")


def year_text(text: str) -> str | None:
    """Return a YEAR. Two digits are a year from 1970 to 2069.

    TiDB stores the number 0 as text, which is the year 2000; '0000' is the year 0.
    """
    number = int(number_text(text, 0) or -1)
    if 0 < number < 100 or number == 0 and len(text.strip()) < 4:
        number += 2000 if number < 70 else 1900
    return str(number) if number >= 0 else None


def number_text(text: str, scale: int) -> str | None:
    """Return a number with the scale of the column; None for text that is no number."""
    try:
        with localcontext() as context:
            context.prec = 800
            number = Decimal(text.strip().replace("_", "?")).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    return format(abs(number) if number == 0 else number, "f")


def float_text(text: str, type: ColumnType) -> str | None:
    """Return a FLOAT or DOUBLE as snapshots have it: `0.0`, `1.5`, `1.0E20`; None for text that is no number.

    The form is that of Java's Double.toString and Float.toString.
    """
    exact = number_text(text, type.decimal) if type.decimal >= 0 else number_text(text, 400)
    if exact is None:
        return None
    written = shortest_digits(float(exact), "f" if type.name == "float" else "d")
    if written is None:
        return None
    digits, _, exponent = written.partition("e")
    if -3 <= int(exponent) < 7 or not float(digits):
        plain = format(Decimal(written), "f")
        return plain if "." in plain else f"{plain}.0"
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def shortest_digits(value: float, format: str) -> str | None:
    """Return the shortest text, such as `1.5e+20`, that identifies a number of its width (`f` is 32 bits, `d` 64)."""
    try:
        packed = struct.pack(format, value)
    except OverflowError:
        return None
    texts = (f"{struct.unpack(format, packed)[0]:.{count}e}" for count in range(18))
    return next((text for text in texts if struct.pack(format, float(text)) == packed and "n" not in text), None)


def numbered_members(text: str, type: ColumnType) -> str | None:
    """Return the members of a number; None if the type does not have them."""
    number = int(text) if text.isdecimal() and len(text) < 21 else -1
    if type.name == "set":
        members = (member for bit, member in enumerate(type.elements) if number >> bit & 1)
        return ",".join(members) if 0 <= number < 1 << len(type.elements) else None
    return type.elements[number - 1] if 0 < number <= len(type.elements) else None


def member_text(text: str, type: ColumnType) -> str | None:
    """Return members by name in the order and case of their definition; None if one is unknown."""
    fold = str.lower if type.collation.endswith("_ci") else str
    target = {fold(member): member for member in type.elements}
    names = [fold(name) for name in (text.split(",") if type.name == "set" and text else [text])]
    if type.name == "set" and not text:
        return ""
    if any(name not in target for name in names):
        return None
    return ",".join(member for key, member in target.items() if key in names)
