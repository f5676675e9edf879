"""DEFAULT values: the text that TiDB stores of one, and the value that the column makes of that text.

TableInfo keeps a literal much as it was written: `'70'` of a YEAR, `2.50` of a DECIMAL(10,0), the shortest bytes of a
BIT's number. Only integers, floats, members, dates and times are converted first, and TiDB before 6.2 converts fewer
(`Release.literal_defaults`). An expression stays SQL text. The text that TiDB stores is `Column.default` and
`Column.origin_default`; rows have the `row_default`.

Sources: tidb v8.0.0 pkg/ddl/ddl_api.go getDefaultValue, setDefaultValueWithBinaryPadding; pkg/parser/model ColumnInfo
(DefaultValue, DefaultValueBit, OriginDefaultValue, OriginDefaultValueBit); pkg/table/column.go GetColDefaultValue.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from functools import lru_cache

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.syntax.definitions import literal_bytes
from simulator.tidb.values import spellings


def default_text(
    default: syntax.ColumnDefault | None, type: ColumnType, where: str, literal: Collection[str] = ()
) -> tuple[str | None, bool]:
    """Return the default as TiDB stores it, None for NULL or no default, and whether it is an expression.

    `literal` is the release's `literal_defaults`. Raises SchemaError, with a text that begins with `where`, for a value that the type does not have.
    """
    if default is None or default.kind == "null":
        return None, False
    if default.kind == "expression":
        return default.text, True
    text = value_text(default, type)
    if text is None:
        raise SchemaError(f"{where}: invalid default {default.text!r} for a column of type {type.name}")
    return _stored_text(default, type, text, literal), False


def _stored_text(default: syntax.ColumnDefault, type: ColumnType, value: str, literal: Collection[str]) -> str:
    """Return what TableInfo keeps of a literal; bytes are text in Latin-1. `value` is what the column makes of it."""
    kind = family(type)
    is_bytes = default.kind in ("hex", "bit")
    if kind in literal and not is_bytes:
        return literal_text(default)
    if kind == "float":
        return positional_float(value, type)
    if kind == "bit":
        return _bits(default).decode("latin-1")
    if kind in ("decimal", "year") and is_bytes:
        return bytes_to_number(literal_bytes(default.kind, default.text)) or ""
    if kind in ("decimal", "year"):
        return literal_text(default)
    if kind == "string" and is_binary(type):
        return stored_in_json(value.encode("latin-1")).decode("latin-1")
    return value


def _bits(default: syntax.ColumnDefault) -> bytes:
    """Return the bytes of a BIT's default: the shortest of an integer, else those of the literal or of its text."""
    if default.kind in ("hex", "bit"):
        return literal_bytes(default.kind, default.text)
    text = literal_text(default)
    if default.kind == "string" or not text.removeprefix("-").isdecimal() or not -1 << 63 <= int(text) < 1 << 64:
        return text.encode("utf-8", "surrogateescape")
    number = int(text) % (1 << 64)
    return number.to_bytes(max((number.bit_length() + 7) // 8, 1), "big")


def literal_text(default: syntax.ColumnDefault) -> str:
    """Return a literal as a string: a decimal with its digits, a number with an exponent without it."""
    text = default.text
    if default.kind == "boolean":
        return "1" if text == "TRUE" else "0"
    if default.kind != "number":
        return text
    if "e" in text.lower():
        return format(Decimal(repr(float(text))), "f").removesuffix(".0")
    whole, point, digits = text.lstrip("-").partition(".")
    number = (whole.lstrip("0") or "0") + (point + digits if digits else "")
    return f"-{number}" if text.startswith("-") and number.strip("0.") else number


def positional_float(text: str, type: ColumnType) -> str:
    """Return a FLOAT or DOUBLE without an exponent, as strconv.FormatFloat(…, 'f', -1, …) does."""
    digits = shortest_digits(float(text), "f" if type.name == "float" else "d")
    plain = format(Decimal(digits or text), "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def stored_in_json(text: bytes) -> bytes:
    """Return bytes as they are read back from TableInfo's JSON: each that is no UTF-8 is U+FFFD."""
    decoded = text.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= each <= "\udcff" else each for each in decoded).encode()


def row_default(column: Column) -> str | None:
    """Return the TiDB text of a column's literal default in rows; None for NULL and for no default."""
    return stored_value(column.default, column.type)


@lru_cache(4096)
def stored_value(stored: str | None, type: ColumnType) -> str | None:
    """Return the TiDB text of the value that a column makes of a stored default."""
    if stored is None:
        return None
    if family(type) == "bit":
        return str(int.from_bytes(stored.encode("latin-1"), "big"))
    if is_binary(type):
        return stored
    text = value_text(syntax.ColumnDefault("string", stored), type)
    return numbered_members(stored, type) if text is None and type.name == "enum" else text


def value_text(default: syntax.ColumnDefault, type: ColumnType) -> str | None:
    """Return a literal as TiDB text of the type; None if the type has no such value."""
    kind = family(type)
    if kind == "bit":
        return bytes_to_number(_bits(default))
    if default.kind in ("hex", "bit"):
        return bytes_text(literal_bytes(default.kind, default.text), type)
    text = default.text
    if default.kind == "boolean":
        text = "1" if text == "TRUE" else "0"
    if kind in ("integer", "decimal"):
        return number_text(text, max(type.decimal, 0) if kind == "decimal" else 0)
    if kind == "float":
        return float_text(text, type)
    if kind in ("enum", "set"):
        return numbered_members(text, type) if default.kind == "number" else member_text(text, type)
    if kind in ("date", "datetime", "time"):
        if default.kind == "number" and kind != "time" and not text.strip("0"):
            text = "0000-00-00"
        return _time_text(
            spellings.number(text) if default.kind == "number" and kind != "time" and text.strip("0-") else text, type
        )
    if kind == "year":
        return year_text(text)
    text = literal_text(default)
    if is_binary(type):
        text = text.encode("utf-8", "surrogateescape").decode("latin-1")
        return text.ljust(type.length if type.name == "char" else 0, "\0")
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
    if kind in ("integer", "decimal", "year", "float"):
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
    exact = number_text(text, 400)
    if exact is None:
        return None
    number = float(exact)
    if type.decimal >= 0 and abs(number * 10.0**type.decimal) < 2.0**53:
        number = round(number * 10.0**type.decimal) / 10.0**type.decimal  # half to even (pkg/types/helper.go, Round)
    written = shortest_digits(number, "f" if type.name == "float" else "d")
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

    def fold(name: str) -> str:
        name = name if type.collation == "binary" or "_0900_" in type.collation else name.rstrip(" ")
        return name.lower() if type.collation.endswith("_ci") else name

    target = {fold(member): member for member in type.elements}
    names = [fold(name) for name in (text.split(",") if type.name == "set" and text else [text])]
    if type.name == "set" and not text:
        return ""
    if any(name not in target for name in names):
        return None
    return ",".join(member for key, member in target.items() if key in names)


def implicit_default(type: ColumnType) -> str:
    """Return what TiDB stores as the default of a new NOT NULL column without one: a zero without scale or fraction."""
    kind = family(type)
    if kind == "string":
        return "\0" * type.length if type.name == "char" and is_binary(type) else ""
    if kind == "enum":
        return type.elements[0]
    times = {"date": "0000-00-00", "datetime": "0000-00-00 00:00:00", "time": "00:00:00"}
    rest = {"json": "null", "text": "", "set": "", "vector": "[]", "bit": "", "year": "0000"}
    return times.get(kind) or rest.get(kind, "0")


def implicit_value(type: ColumnType) -> str:
    """Return the TiDB text of that zero in rows."""
    value = stored_value(implicit_default(type), type)
    assert value is not None, f"{type.name} has no zero"
    return value
