"""Calls of functions from a cursor that are more than a list of arguments.

One law: each reads from the `(` behind the name to its `)`.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.model.charsets import charset
from simulator.tidb.parser.casts import read_cast_type
from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.time_calls import TIME_FORMS
from simulator.tidb.restore.expressions import restored
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.expressions import Binary, Call, Cast, ColumnName, Fragment, Literal, Node, Word


def read_arguments(parser: TiDBParser) -> tuple[Node, ...]:
    """`( expression, … )` or `()`"""
    if parser.accept("( )"):
        return ()
    return parser.comma_separated(parser.rules.node)


def _renamed(name: str) -> Callable[[TiDBParser, str], Node]:
    return lambda parser, _: Call(name, read_arguments(parser))


def _cast(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    operand = parser.rules.node(parser)
    parser.expect("AS")
    type = read_cast_type(parser)
    array = " ARRAY" if parser.accept("ARRAY") else ""
    parser.expect(")")
    return Cast(operand, type + array)


def _sum_crc32(parser: TiDBParser, name: str) -> Node:
    cast = _cast(parser, name)
    if isinstance(cast, Cast) and not cast.type.endswith(" ARRAY"):
        parser.fail(f"{name} takes an ARRAY")
    return Fragment(restored(cast).replace("CAST", name, 1), name)


def _convert(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    operand = parser.rules.node(parser)
    if parser.accept("USING"):
        return Call(name, (operand, _charset(parser)))
    parser.expect(",")
    type = read_cast_type(parser)
    parser.expect(")")
    return Cast(operand, type, convert=True)


def _charset(parser: TiDBParser) -> Node:
    """The charset behind USING, and the `)`."""
    name = charset(parser.name_or_string("a character set"), "USING")
    parser.expect(")")
    return Literal("string", name)


def _char(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    arguments = [parser.rules.node(parser)]
    while parser.accept(","):
        arguments.append(parser.rules.node(parser))
    if parser.accept("USING"):
        return Call("CHAR_FUNC", (*arguments, _charset(parser)))
    parser.expect(")")
    return Call("CHAR_FUNC", (*arguments, Literal("null", "NULL")))


def _mod(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    left = parser.rules.node(parser)
    parser.expect(",")
    right = parser.rules.node(parser)
    parser.expect(")")
    return Binary("%", left, right)


def _of_column(parser: TiDBParser, name: str) -> Node:
    """`VALUES(column)`, `DEFAULT(column)`"""
    parser.expect("(")
    parts = [parser.name("a column")]
    while len(parts) < 3 and parser.accept("."):
        parts.append(parser.name("a column"))
    parser.expect(")")
    return Fragment(f"{name}({restored(ColumnName(tuple(parts)))})", f"{name}()")


def _position(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    part = parser.rules.bits(parser)
    parser.expect("IN")
    text = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (part, text))


def _substring(parser: TiDBParser, name: str) -> Node:
    """`SUBSTRING(x, 1, 2)`, `SUBSTRING(x FROM 1 FOR 2)`"""
    parser.expect("(")
    arguments = [parser.rules.node(parser)]
    second = "FOR" if parser.accept("FROM") else ","
    if second == ",":
        parser.expect(",")
    arguments.append(parser.rules.node(parser))
    if parser.accept(second):
        arguments.append(parser.rules.node(parser))
    parser.expect(")")
    return Call(name, tuple(arguments))


def _trim(parser: TiDBParser, name: str) -> Node:
    """`TRIM(x)`, `TRIM(y FROM x)`, `TRIM(LEADING y FROM x)`, `TRIM(LEADING FROM x)`"""
    parser.expect("(")
    side = parser.take() if parser.word() in ("BOTH", "LEADING", "TRAILING") else ""
    first = Literal("string", " ", parser.charset) if parser.word() == "FROM" and side else (
        parser.rules.node(parser))
    if not side and parser.accept(")"):
        return Call(name, (first,))
    parser.expect("FROM")
    text = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (text, first, Word(side)) if side else (text, first))


def _weight_string(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    text = parser.rules.node(parser)
    if parser.accept(")"):
        return Call(name, (text,))
    parser.expect("AS")
    if parser.word() not in ("CHAR", "CHARACTER", "BINARY"):
        parser.unexpected("CHAR or BINARY")
    kind = "BINARY" if parser.take() == "BINARY" else "CHAR"
    (length,) = parser.comma_separated(lambda cursor: cursor.integer())
    parser.expect(")")
    return Call(name, (text, Word(kind), Word(str(length))))


def _sequence(parser: TiDBParser, name: str) -> Node:
    """`NEXTVAL(s)`, `LASTVAL(s)`, `SETVAL(s, 5)`"""
    parser.expect("(")
    table = read_sequence_name(parser)
    value = ""
    if name == "SETVAL":
        parser.expect(",")
        sign = parser.take() if parser.word() in ("-", "+") else ""
        value = f", {sign.strip('+')}{parser.integer()}"
    parser.expect(")")
    return Fragment(f"{name}({table}{value})", "a sequence")


def read_sequence_name(parser: TiDBParser) -> str:
    return ".".join(quoted(part) for part in parser.qualified_name("a sequence") if part)


FORMS: dict[str, Callable[[TiDBParser, str], Node]] = {
    **TIME_FORMS,
    **{name: _substring for name in ("SUBSTR", "SUBSTRING", "MID")},
    **{name: _sequence for name in ("NEXTVAL", "LASTVAL", "SETVAL")},
    **{name: _of_column for name in ("VALUES", "DEFAULT")},
    "CAST": _cast,
    "CHAR": _char,
    "CONVERT": _convert,
    "INSERT": _renamed("INSERT_FUNC"),
    "JSON_SUM_CRC32": _sum_crc32,
    "MOD": _mod,
    "POSITION": _position,
    "TRIM": _trim,
    "WEIGHT_STRING": _weight_string,
}
"""By name."""
