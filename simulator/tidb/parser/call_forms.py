"""Calls of functions from a cursor that are more than a list of arguments.

One law: each reads from the `(` behind the name to its `)`.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.model.charsets import charset
from simulator.tidb.parser.casts import read_cast_type
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.time_calls import TIME_FORMS
from simulator.tidb.restore.expressions import restored
from simulator.tidb.restore.names import quoted
from simulator.tidb.syntax.expressions import Binary, Call, Cast, ColumnName, Fragment, Literal, Node, Word


def read_arguments(cursor: Cursor) -> tuple[Node, ...]:
    """`( expression, … )` or `()`"""
    if cursor.accept("( )"):
        return ()
    return cursor.comma_separated(cursor.rules.node)


def _renamed(name: str) -> Callable[[Cursor, str], Node]:
    return lambda cursor, _: Call(name, read_arguments(cursor))


def _cast(cursor: Cursor, name: str) -> Node:
    cursor.expect("(")
    operand = cursor.rules.node(cursor)
    cursor.expect("AS")
    type = read_cast_type(cursor)
    array = " ARRAY" if cursor.accept("ARRAY") else ""
    cursor.expect(")")
    return Cast(operand, type + array)


def _sum_crc32(cursor: Cursor, name: str) -> Node:
    cast = _cast(cursor, name)
    if isinstance(cast, Cast) and not cast.type.endswith(" ARRAY"):
        cursor.fail(f"{name} takes an ARRAY")
    return Fragment(restored(cast).replace("CAST", name, 1), name)


def _convert(cursor: Cursor, name: str) -> Node:
    cursor.expect("(")
    operand = cursor.rules.node(cursor)
    if cursor.accept("USING"):
        return Call(name, (operand, _charset(cursor)))
    cursor.expect(",")
    type = read_cast_type(cursor)
    cursor.expect(")")
    return Cast(operand, type, convert=True)


def _charset(cursor: Cursor) -> Node:
    """The charset behind USING, and the `)`."""
    name = charset(cursor.name_or_string("a character set"), "USING")
    cursor.expect(")")
    return Literal("string", name)


def _char(cursor: Cursor, name: str) -> Node:
    cursor.expect("(")
    arguments = [cursor.rules.node(cursor)]
    while cursor.accept(","):
        arguments.append(cursor.rules.node(cursor))
    if cursor.accept("USING"):
        return Call("CHAR_FUNC", (*arguments, _charset(cursor)))
    cursor.expect(")")
    return Call("CHAR_FUNC", (*arguments, Literal("null", "NULL")))


def _mod(cursor: Cursor, name: str) -> Node:
    cursor.expect("(")
    left = cursor.rules.node(cursor)
    cursor.expect(",")
    right = cursor.rules.node(cursor)
    cursor.expect(")")
    return Binary("%", left, right)


def _of_column(cursor: Cursor, name: str) -> Node:
    """`VALUES(column)`, `DEFAULT(column)`"""
    cursor.expect("(")
    parts = [cursor.name("a column")]
    while len(parts) < 3 and cursor.accept("."):
        parts.append(cursor.name("a column"))
    cursor.expect(")")
    return Fragment(f"{name}({restored(ColumnName(tuple(parts)))})", f"{name}()")


def _position(cursor: Cursor, name: str) -> Node:
    cursor.expect("(")
    part = cursor.rules.bits(cursor)
    cursor.expect("IN")
    text = cursor.rules.node(cursor)
    cursor.expect(")")
    return Call(name, (part, text))


def _substring(cursor: Cursor, name: str) -> Node:
    """`SUBSTRING(x, 1, 2)`, `SUBSTRING(x FROM 1 FOR 2)`"""
    cursor.expect("(")
    arguments = [cursor.rules.node(cursor)]
    second = "FOR" if cursor.accept("FROM") else ","
    if second == ",":
        cursor.expect(",")
    arguments.append(cursor.rules.node(cursor))
    if cursor.accept(second):
        arguments.append(cursor.rules.node(cursor))
    cursor.expect(")")
    return Call(name, tuple(arguments))


def _trim(cursor: Cursor, name: str) -> Node:
    """`TRIM(x)`, `TRIM(y FROM x)`, `TRIM(LEADING y FROM x)`, `TRIM(LEADING FROM x)`"""
    cursor.expect("(")
    side = cursor.take() if cursor.word() in ("BOTH", "LEADING", "TRAILING") else ""
    first = Literal("string", " ", cursor.charset) if cursor.word() == "FROM" and side else (
        cursor.rules.node(cursor))
    if not side and cursor.accept(")"):
        return Call(name, (first,))
    cursor.expect("FROM")
    text = cursor.rules.node(cursor)
    cursor.expect(")")
    return Call(name, (text, first, Word(side)) if side else (text, first))


def _weight_string(cursor: Cursor, name: str) -> Node:
    cursor.expect("(")
    text = cursor.rules.node(cursor)
    if cursor.accept(")"):
        return Call(name, (text,))
    cursor.expect("AS")
    if cursor.word() not in ("CHAR", "CHARACTER", "BINARY"):
        cursor.unexpected("CHAR or BINARY")
    kind = "BINARY" if cursor.take() == "BINARY" else "CHAR"
    (length,) = cursor.comma_separated(lambda cursor: cursor.integer())
    cursor.expect(")")
    return Call(name, (text, Word(kind), Word(str(length))))


def _sequence(cursor: Cursor, name: str) -> Node:
    """`NEXTVAL(s)`, `LASTVAL(s)`, `SETVAL(s, 5)`"""
    cursor.expect("(")
    table = read_sequence_name(cursor)
    value = ""
    if name == "SETVAL":
        cursor.expect(",")
        sign = cursor.take() if cursor.word() in ("-", "+") else ""
        value = f", {sign.strip('+')}{cursor.integer()}"
    cursor.expect(")")
    return Fragment(f"{name}({table}{value})", "a sequence")


def read_sequence_name(cursor: Cursor) -> str:
    return ".".join(quoted(part) for part in cursor.qualified_name("a sequence") if part)


FORMS: dict[str, Callable[[Cursor, str], Node]] = {
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
