"""What operators stand between, from a cursor: names, variables, CASE, parentheses.

One law: a name keeps its spelling, and is no reserved word.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.parser.call_forms import read_arguments
from simulator.tidb.parser.calls import WITHOUT_PARENTHESES, is_function, read_call
from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.literals import LITERALS, read_fraction
from simulator.tidb.parser.lookahead import begins_subquery
from simulator.tidb.restore.expressions import restored
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.expressions import Call, Case, ColumnName, Fragment, Literal, Node, Parenthesised, Row


def read_atom(parser: TiDBParser) -> Node:
    """A literal, a name, a call, CASE, or anything in parentheses; raises SchemaError."""
    kind = parser.kind()
    if kind in LITERALS:
        return LITERALS[kind](parser)
    word = parser.word()
    qualifies = word.isidentifier() and parser.word_after() == "." and parser.touches_next()
    if word in _KEYWORDS and not qualifies:
        return _KEYWORDS[word](parser)
    if word in ("DATE", "TIME", "TIMESTAMP") and parser.string_follows():
        parser.take()
        return Literal(word.lower(), parser.literal())
    if word and parser.word_after() == "(" and is_function(parser):
        return read_call(parser)
    if word in WITHOUT_PARENTHESES and not qualifies:
        return read_call(parser)
    if not parser.is_free_name():
        parser.unexpected("an expression")
    return _name(parser)


def begins_assignment(parser: TiDBParser) -> bool:
    """Whether `@name :=` comes next."""
    return parser.word() == "@" and parser.word_ahead(2) == ":="


def read_assignment(parser: TiDBParser, value: Callable[[TiDBParser], Node]) -> Node:
    """`@name := value`"""
    name = restored(_variable(parser))
    parser.take()
    return Fragment(f"{name}:={restored(value(parser))}", "a variable")


def _name(parser: TiDBParser) -> Node:
    """A column, with what JSON path follows it, or a call of a function of a schema."""
    in_quotes = parser.kind() == "name"
    parts = [parser.name("an expression")]
    while len(parts) < 3 and parser.accept("."):
        parts.append(parser.name("a name"))
    if parser.word() == "(" and (in_quotes if len(parts) == 1 else len(parts) == 2):
        arguments = read_arguments(parser)
        return Call(parts[-1], arguments, parts[0]) if len(parts) == 2 else Call(parts[0].upper(), arguments)
    return _path(parser, ColumnName(tuple(parts)))


def _path(parser: TiDBParser, column: Node) -> Node:
    """`->'$.path'` and `->>'$.path'` behind a column."""
    arrow = parser.word()
    if arrow not in ("->", "->>"):
        return column
    parser.take()
    if parser.kind() != "string":
        parser.unexpected("a path in quotes")
    found = Call("JSON_EXTRACT", (column, Literal("string", parser.literal(), parser.charset)))
    return Call("JSON_UNQUOTE", (found,)) if arrow == "->>" else found


def _word_literal(parser: TiDBParser) -> Node:
    word = parser.take()
    return Literal("null" if word == "NULL" else "boolean", word)


def _escaped_null(parser: TiDBParser) -> Node:
    """`\\N`"""
    if parser.word_after() != "N" or not parser.touches_next():
        parser.unexpected("an expression")
    parser.take()
    parser.take()
    return Literal("null", "NULL")


def _parentheses(parser: TiDBParser) -> Node:
    """A subquery, an expression, or a row."""
    if begins_subquery(parser):
        return Fragment(parser.rules.subquery(parser), "a subquery")
    items = parser.comma_separated(parser.rules.node)
    return Row(items) if len(items) > 1 else Parenthesised(items[0])


def _row(parser: TiDBParser) -> Node:
    at = parser.next_token()
    parser.take()
    items = parser.comma_separated(parser.rules.node)
    if len(items) < 2:
        parser.fail("ROW takes two values or more", at)
    return Row(items)


def _exists(parser: TiDBParser) -> Node:
    parser.take()
    return Fragment(f"EXISTS {parser.rules.subquery(parser)}", "EXISTS")


def _case(parser: TiDBParser) -> Node:
    parser.take()
    value = None if parser.word() == "WHEN" else parser.rules.node(parser)
    branches = []
    while parser.accept("WHEN"):
        condition = parser.rules.node(parser)
        parser.expect("THEN")
        branches.append((condition, parser.rules.node(parser)))
    if not branches:
        parser.unexpected("'WHEN'")
    otherwise = parser.rules.node(parser) if parser.accept("ELSE") else None
    parser.expect("END")
    return Case(value, tuple(branches), otherwise)


def _braces(parser: TiDBParser) -> Node:
    """`{d '…'}`, `{t '…'}`, `{ts '…'}`, and `{anything expression}`, which is the expression."""
    parser.take()
    name = parser.name("a name")
    inner = parser.rules.node(parser)
    parser.expect("}")
    kind = {"d": "date", "t": "time", "ts": "timestamp"}.get(name)
    if not kind:
        return inner
    if isinstance(inner, Literal) and inner.kind == "string":
        return Literal(kind, inner.text)
    return Fragment(f"{kind.upper()} {restored(inner)}", "a literal of time")


def _variable(parser: TiDBParser) -> Node:
    """`@name`"""
    parser.take()
    name = parser.string() if parser.kind() == "string" else parser.name("a variable")
    while parser.accept("."):
        name += f".{parser.name('a variable')}"
    return Fragment(f"@{quoted(name)}", "a variable")


def _system_variable(parser: TiDBParser) -> Node:
    """`@@name`, `@@global.name`"""
    parser.take()
    name = parser.name("a variable")
    while parser.accept("."):
        name += f".{parser.name('a variable')}"
    name = name.lower()
    scope, point, rest = name.partition(".")
    if point and scope in ("global", "session", "local", "instance"):
        scope = "SESSION" if scope == "local" else scope.upper()
        return Fragment(f"@@{scope}.{quoted(rest)}", "a variable")
    return Fragment(f"@@{quoted(name)}", "a variable")


_KEYWORDS: dict[str, Callable[[TiDBParser], Node]] = {
    ".": read_fraction,
    "(": _parentheses,
    "{": _braces,
    "\\": _escaped_null,
    "@": _variable,
    "@@": _system_variable,
    "TRUE": _word_literal,
    "FALSE": _word_literal,
    "NULL": _word_literal,
    "CASE": _case,
    "EXISTS": _exists,
    "ROW": _row,
}
