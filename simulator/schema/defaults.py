"""DEFAULT as TiDB text of the column's type.

One law: a literal becomes what a row that takes the default holds; an expression stays SQL text.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation, ROUND_HALF_UP, localcontext

from simulator.schema.read_types import bytes_of
from simulator.schema.syntax import DefaultSyntax
from simulator.schema.table import ColumnType
from simulator.schema.types import family, is_binary


def default_text(syntax: DefaultSyntax | None, type: ColumnType) -> tuple[str | None, bool]:
    """The default's text and whether it is an expression; None where there is none or it is NULL."""
    if syntax is None or syntax.kind == "null":
        return None, False
    if syntax.kind == "expression":
        return syntax.text, True
    return value_text(syntax, type), False


def value_text(syntax: DefaultSyntax, type: ColumnType) -> str:
    """A literal in the form that TiDB prints values of the type in."""
    kind = family(type)
    if syntax.kind in ("hex", "bit"):
        return bytes_text(bytes_of(syntax.kind, syntax.text), type)
    text = syntax.text
    if syntax.kind == "boolean":
        text = "1" if text == "TRUE" else "0"
    if kind == "bit" and syntax.kind == "string":
        return str(int.from_bytes(text.encode(), "big"))
    if kind in ("integer", "bit", "decimal", "year"):
        return number_text(text, max(type.decimal, 0) if kind == "decimal" else 0)
    if kind in ("enum", "set") and syntax.kind == "number":
        return member_text(text, type)
    if kind in ("time", "datetime") and type.decimal > 0:
        whole, _, fraction = text.partition(".")
        return f"{whole}.{fraction[:type.decimal].ljust(type.decimal, '0')}"
    if type.name == "char" and is_binary(type):
        return text.ljust(type.length, "\0")
    return text


def bytes_text(value: bytes, type: ColumnType) -> str:
    """A hexadecimal or binary literal: a number for a number, the bytes for text."""
    kind = family(type)
    if kind in ("integer", "bit", "decimal", "year", "float"):
        return str(int.from_bytes(value, "big"))
    if is_binary(type):
        return value.decode("latin-1").ljust(type.length if type.name == "char" else 0, "\0")
    return value.decode("utf-8", "replace")


def number_text(text: str, scale: int) -> str:
    """A number with as many decimals as the column has; text that is none stays as it is."""
    try:
        with localcontext() as context:
            context.prec = 120
            number = Decimal(text.strip()).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    except InvalidOperation:
        return text
    return format(abs(number) if number == 0 else number, "f")


def member_text(text: str, type: ColumnType) -> str:
    """The members that a number stands for."""
    number = int(text) if text.isdecimal() else 0
    if type.name == "set":
        return ",".join(member for bit, member in enumerate(type.elements) if number >> bit & 1)
    return type.elements[number - 1] if 0 < number <= len(type.elements) else ""
