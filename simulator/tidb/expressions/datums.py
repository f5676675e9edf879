"""The datums that values are where a column takes them (see `datums.kinds`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

from simulator.tidb.datums.cast import cast_value
from simulator.tidb.datums.kinds import Datum, Mode
from simulator.tidb.expressions import decimals
from simulator.tidb.expressions.conversions import as_text, with_shown_digits
from simulator.tidb.expressions.expression import (
    INTEGER_KINDS,
    MAX_DIGITS,
    MAX_SCALE,
    NULL_VALUE,
    Context,
    Evaluate,
    Expression,
    Row,
    apply,
    replace,
)
from simulator.tidb.expressions.literals import column_value
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS
from simulator.tidb.syntax.expressions import Literal, Node, Parenthesised, Unary
from simulator.tidb.values.numbers import bounds

_TIMES = {
    "date": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "timestamp": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII),
    "time": re.compile(r"-?\d{2,3}:\d\d:\d\d(\.\d{1,6})?", re.ASCII),
}
"""Time literals that are written as TiDB prints them."""


def datum_of(value: Expression, column: Column) -> Evaluate:
    """Return an expression as a datum for a column, None for NULL. Only a decimal column takes all digits of a quotient."""
    if value.shown_scale is not None and column.type.name != "decimal":
        value = with_shown_digits(value)
    if value.kind == "null":
        return NULL_VALUE
    type = value.column_type
    if type is not None and type.name in ("enum", "set") and value.number is not None:
        kind = type.name
        return apply(lambda number, text: Datum(kind, b"%d:%s" % (number, text.encode())), value.number, value.evaluate)
    if type is not None and type.name == "bit":
        size = (max(type.length, 1) + 7) // 8
        return apply(lambda number: Datum("bit", number.to_bytes(size, "big")), value.evaluate)
    if value.kind == "json" and column.type.name == "json":
        return apply(lambda text: Datum("json", text.encode("utf-8", "surrogatepass")), value.evaluate)
    kind, part, encode = _form(value)
    return apply(lambda each: Datum(kind, encode(each)), part)


LENIENT = Mode(frozenset())


def column_cell(value: Expression, column: Column) -> Evaluate:
    """Return the cell of a value in a column. A value that does not fit is clipped, since rows were checked before."""
    evaluate = datum_of(value, column)

    def cell(row: Row, context: Context) -> bytes | None:
        datum = evaluate(row, context)
        return None if datum is None else cast_value(column.type, column.name, datum, LENIENT)[0]

    return cell


def cast_to_column(value: Expression, column: Column) -> Expression:
    """Return a value as if it were written to a column and read again."""
    result = column_value(column, column_cell(value, column))
    same = value.kind == result.kind and value.is_binary == result.is_binary and result.number is None
    if same and (value.kind in ("string", "json") or column.type.name in ("bigint", "double")):
        return replace(result, evaluate=value.evaluate, text=None)
    if same and column.type.name in INTEGER_BITS:
        low, high = bounds(column.type)
        return replace(result, evaluate=apply(lambda each: min(max(each, low), high), value.evaluate), text=None)
    return result


def _form(value: Expression) -> tuple[str, Evaluate, Callable[..., bytes]]:
    """Return the kind of a value's datum, and how its body is made of a part of the value."""
    kind, type = value.kind, value.column_type
    if kind in INTEGER_KINDS:
        is_unsigned = kind == "uint" or type is not None and type.unsigned
        return "uint" if is_unsigned else "int", value.evaluate, lambda number: b"%d" % number
    if kind == "real":
        if type is not None and type.name == "float":
            return "float", as_text(value), str.encode
        return "double", value.evaluate, lambda number: repr(number).encode()
    if kind == "decimal":
        return "decimal", value.evaluate, lambda number: decimals.text(number).encode()
    if kind in ("date", "time", "json"):
        return kind, as_text(value), str.encode
    if kind == "datetime":
        is_timestamp = type is not None and type.name == "timestamp"
        return "timestamp" if is_timestamp else "datetime", as_text(value), str.encode
    if value.is_binary:
        return "bytes" if value.number is None else "literal", value.evaluate, lambda text: text.encode("latin-1")
    is_gbk = value.collation.startswith("gbk")
    return "gbk" if is_gbk else "string", as_text(value), lambda text: text.encode("utf-8", "surrogatepass")


class NotLiteral(Exception):
    """The value has to be computed as an expression."""


def literal_datum(node: Node) -> Datum | None:
    """Return the value of a literal, or of a number with a sign; None for NULL. Raises NotLiteral."""
    sign = ""
    while isinstance(node, (Parenthesised, Unary)):
        if isinstance(node, Unary):
            if node.operator not in ("-", "+") or sign and node.operator == "-":
                raise NotLiteral
            sign = "-" if node.operator == "-" else sign
            node = node.operand
            if not isinstance(node, Literal) or node.kind not in ("integer", "decimal", "float"):
                raise NotLiteral
        else:
            node = node.inner
    if not isinstance(node, Literal):
        raise NotLiteral
    if node.kind == "null":
        return None
    if node.kind == "string":
        if node.charset not in ("", "utf8mb4", "utf8", "binary"):
            raise NotLiteral
        if node.charset == "binary":
            return Datum("bytes", node.text.encode("utf-8", "surrogateescape"))
        return Datum("string", node.text.encode("utf-8", "surrogatepass"))
    if node.kind == "boolean":
        return Datum("int", b"1" if node.text == "TRUE" else b"0")
    if node.kind in ("hex", "bit"):
        return Datum("literal", _literal_bytes(node))
    if node.kind in _TIMES:
        if not _TIMES[node.kind].fullmatch(node.text):
            raise NotLiteral
        return Datum("datetime" if node.kind == "timestamp" else node.kind, node.text.encode())
    return _number_datum(sign + node.text, node.kind)


def _number_datum(text: str, kind: str) -> Datum:
    if kind == "float":
        number = float(text)
        if math.isinf(number):
            raise NotLiteral
        return Datum("double", repr(number).encode())
    if kind == "integer" and -(2**63) <= int(text) < 2**64:
        return Datum("int" if int(text) < 2**63 else "uint", b"%d" % int(text))
    whole, _, fraction = text.lstrip("+-").partition(".")
    if len(whole) + len(fraction) > MAX_DIGITS or len(fraction) > MAX_SCALE:
        raise NotLiteral
    value = Decimal(text)
    return Datum("decimal", decimals.text(value if value else abs(value)).encode())


def _literal_bytes(node: Literal) -> bytes:
    base, digits_per_byte = (2, 8) if node.kind == "bit" else (16, 2)
    size = (len(node.text) + digits_per_byte - 1) // digits_per_byte
    return int(node.text or "0", base).to_bytes(size, "big")
