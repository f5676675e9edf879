"""Calls of functions from a cursor, in all the forms that TiDB's grammar gives them.

One law: a function keeps the name that the text gives it, in capitals, unless TiDB's parser itself renames it.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.schema.charsets import charset
from simulator.schema.cursor import TiDBParser
from simulator.schema.expression_tree import Binary, Call, Cast, ColumnName, Fragment, Literal, Node, Word
from simulator.schema.read_aggregates import AGGREGATES, WINDOWS, read_aggregate, read_window
from simulator.schema.read_casts import read_cast_type
from simulator.schema.read_units import read_unit
from simulator.schema.reserved import RESERVED
from simulator.schema.restore_expressions import restored
from simulator.schema.restoring import quoted

CALLABLE = frozenset((
    "CONVERT", "DEFAULT", "VALUES", "INSERT", "MOD", "CHAR", "CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE",
    "TIDB_CURRENT_TSO", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME",
    "UTC_TIMESTAMP", "DATABASE", "IF", "INTERVAL", "LEFT", "REPEAT", "REPLACE", "RIGHT",
))
"""Reserved words that are functions before a `(` (pkg/parser/parser.y, FunctionCallKeyword)."""

WITHOUT_PARENTHESES = frozenset((
    "CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE", "TIDB_CURRENT_TSO", "CURRENT_TIME",
    "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME", "UTC_TIMESTAMP", "NEXT",
))
"""Functions that may stand without `()`; NEXT only as NEXT VALUE FOR."""

TOUCHING = frozenset((
    "CAST", "CURDATE", "CURTIME", "DATE_ADD", "DATE_SUB", "EXTRACT", "NOW", "POSITION", "SUBSTR", "SUBSTRING", "TRIM",
    "BIT_AND", "BIT_OR", "BIT_XOR", "GROUP_CONCAT", "MAX", "MIN", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "SUM",
    "VARIANCE", "VAR_POP", "VAR_SAMP", "APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE",
))
"""Functions whose `(` must stand right behind the name."""

GENERIC_APART = frozenset(("COUNT", "MID", "SYSDATE", "TRANSLATE"))
"""Functions that have a grammar of their own only if their `(` stands right behind the name."""


def is_function(parser: TiDBParser) -> bool:
    """Whether the next word, which has a `(` behind it, is the name of a function."""
    word = parser.word()
    return parser.is_name() and (word not in RESERVED or word in CALLABLE or word in WINDOWS)


def read_call(parser: TiDBParser) -> Node:
    """The call that begins here."""
    word = parser.word()
    if word == "NEXT":
        return _next_value(parser)
    touching = parser.touches_next()
    at = parser.next_token()
    parser.take()
    if word in TOUCHING and not touching:
        parser.fail(f"{word} takes its '(' right behind its name", at)
    if word in WINDOWS:
        return read_window(parser, word)
    if word in AGGREGATES and (touching or word not in GENERIC_APART):
        return read_aggregate(parser, word)
    read = _FORMS.get(word)
    return read(parser, word) if read and (touching or word not in GENERIC_APART) else _plain(parser, word)


def read_arguments(parser: TiDBParser) -> tuple[Node, ...]:
    """`( expression, … )` or `()`"""
    if parser.accept("( )"):
        return ()
    return parser.comma_separated(parser.rules.node)


def _plain(parser: TiDBParser, name: str) -> Node:
    return Call(name, read_arguments(parser))


def _optional(parser: TiDBParser, name: str) -> Node:
    """`CURRENT_DATE`, `CURRENT_DATE()`"""
    parser.accept("( )")
    return Call(name)


def _empty(parser: TiDBParser, name: str) -> Node:
    """`CURDATE()`"""
    parser.expect("( )")
    return Call(name)


def _precise(parser: TiDBParser, name: str) -> Node:
    """`CURRENT_TIMESTAMP`, `NOW()`, `NOW(6)`"""
    if not parser.accept("(") or parser.accept(")"):
        return Call(name)
    digits = parser.integer("a number of digits or ')'")
    parser.expect(")")
    return Call(name, (Literal("integer", str(digits)),))


def _renamed(name: str) -> Callable[[TiDBParser, str], Node]:
    return lambda parser, _: Call(name, read_arguments(parser))


def _interval_call(parser: TiDBParser, name: str) -> Node:
    """`DATE_ADD(x, INTERVAL 1 DAY)`; `ADDDATE(x, 1)` adds days."""
    parser.expect("(")
    time = parser.rules.node(parser)
    parser.expect(",")
    unit = Word("DAY")
    if parser.word() == "INTERVAL" and (parser.word_after() != "(" or name.startswith("DATE_")):
        parser.take()
        amount = parser.rules.node(parser)
        unit = read_unit(parser)
    elif name.startswith("DATE_"):
        parser.unexpected("'INTERVAL'")
    else:
        amount = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (time, amount, unit))


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


def _extract(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    unit = read_unit(parser)
    parser.expect("FROM")
    time = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (unit, time))


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


def _timestamp_unit(parser: TiDBParser, name: str) -> Node:
    """`TIMESTAMPADD(DAY, 1, x)`"""
    parser.expect("(")
    at = parser.next_token()
    unit = read_unit(parser)
    if "_" in unit.text:
        parser.fail(f"{name} takes no unit {unit.text}", at)
    parser.expect(",")
    first = parser.rules.node(parser)
    parser.expect(",")
    second = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (unit, first, second))


def _get_format(parser: TiDBParser, name: str) -> Node:
    parser.expect("(")
    if parser.word() not in ("DATE", "DATETIME", "TIME", "TIMESTAMP"):
        parser.unexpected("DATE, DATETIME, TIME or TIMESTAMP")
    kind = parser.take()
    parser.expect(",")
    region = parser.rules.node(parser)
    parser.expect(")")
    return Call(name, (Word("DATETIME" if kind == "TIMESTAMP" else kind), region))


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
    table = _table(parser)
    value = ""
    if name == "SETVAL":
        parser.expect(",")
        sign = parser.take() if parser.word() in ("-", "+") else ""
        value = f", {sign.strip('+')}{parser.integer()}"
    parser.expect(")")
    return Fragment(f"{name}({table}{value})", "a sequence")


def _next_value(parser: TiDBParser) -> Node:
    """`NEXT VALUE FOR s`"""
    if not parser.accept("NEXT VALUE FOR"):
        return ColumnName((parser.name(),))
    return Fragment(f"NEXTVAL({_table(parser)})", "a sequence")


def _table(parser: TiDBParser) -> str:
    return ".".join(quoted(part) for part in parser.qualified_name("a sequence") if part)


_FORMS: dict[str, Callable[[TiDBParser, str], Node]] = {
    **{name: _optional for name in ("CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE", "TIDB_CURRENT_TSO")},
    **{name: _precise for name in (
        "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME", "UTC_TIMESTAMP", "CURTIME",
        "SYSDATE")},
    **{name: _interval_call for name in ("ADDDATE", "SUBDATE", "DATE_ADD", "DATE_SUB")},
    **{name: _substring for name in ("SUBSTR", "SUBSTRING", "MID")},
    **{name: _timestamp_unit for name in ("TIMESTAMPADD", "TIMESTAMPDIFF")},
    **{name: _sequence for name in ("NEXTVAL", "LASTVAL", "SETVAL")},
    **{name: _of_column for name in ("VALUES", "DEFAULT")},
    "CAST": _cast,
    "CHAR": _char,
    "CURDATE": _empty,
    "CONVERT": _convert,
    "EXTRACT": _extract,
    "GET_FORMAT": _get_format,
    "INSERT": _renamed("INSERT_FUNC"),
    "JSON_SUM_CRC32": _sum_crc32,
    "MOD": _mod,
    "POSITION": _position,
    "TRIM": _trim,
    "WEIGHT_STRING": _weight_string,
}
