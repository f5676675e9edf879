"""Parse the operands of operators: literals, names, variables, calls, CASE, parentheses."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb import syntax
from simulator.tidb.parser.calls import WITHOUT_PARENTHESES, is_function, parse_arguments, parse_call
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.tokens import LITERALS, parse_fraction
from simulator.tidb.restore import quote_name, restore_node

OPERATORS = ("UNION", "EXCEPT", "INTERSECT")
CONTINUATIONS = (*OPERATORS, "ORDER BY", "LIMIT", "FETCH")
"""The words that may follow a query in parentheses."""


def begins_query(cursor: Cursor, places: int = 0) -> bool:
    """Whether a query without parentheses begins `places` tokens ahead."""
    word = cursor.word_ahead(places)
    return word in ("SELECT", "WITH", "TABLE") or word == "VALUES" and cursor.word_ahead(places + 1) == "ROW"


def begins_subquery(cursor: Cursor, nested: bool = False) -> bool:
    """Whether the next `(` contains a query. With `nested`, several pairs of parentheses may surround it.

    `((SELECT 1))` is an expression that contains a query, `((SELECT 1) UNION SELECT 2)` is a query.
    """
    if cursor.word() != "(":
        return False
    places = 1
    while cursor.word_ahead(places) == "(":
        places += 1
    if not begins_query(cursor, places):
        return False
    endings = (*CONTINUATIONS, ")") if nested else CONTINUATIONS
    return all(cursor.word_ahead(cursor.closing_ahead(opening) + 1) in endings for opening in range(1, places))


def parse_atom(cursor: Cursor) -> syntax.Node:
    """Parse a literal, a name, a call, CASE, or anything in parentheses; raises SchemaError."""
    kind = cursor.kind()
    if kind in LITERALS:
        return LITERALS[kind](cursor)
    word = cursor.word()
    qualifies = word.isidentifier() and cursor.word_after() == "." and cursor.touches_next()
    if word in _KEYWORDS and not qualifies:
        return _KEYWORDS[word](cursor)
    if word in ("DATE", "TIME", "TIMESTAMP") and cursor.string_follows():
        cursor.take()
        return syntax.Literal(word.lower(), cursor.literal())
    if word and cursor.word_after() == "(" and is_function(cursor):
        return parse_call(cursor)
    if word in WITHOUT_PARENTHESES and not qualifies:
        return parse_call(cursor)
    if not cursor.is_free_name():
        cursor.unexpected("an expression")
    return _parse_name_or_call(cursor)


def begins_assignment(cursor: Cursor) -> bool:
    """Whether `@name :=` comes next."""
    return cursor.word() == "@" and cursor.word_ahead(2) == ":="


def parse_assignment(cursor: Cursor, value: Callable[[Cursor], syntax.Node]) -> syntax.Node:
    """Parse `@name := value`."""
    name = cursor.user_variable()
    cursor.take()
    node = value(cursor)
    tree = syntax.AssignedVariable(name.lower(), node)
    return syntax.ContextExpression(f"@{quote_name(name)}:={restore_node(node)}", "a variable", tree)


def _parse_name_or_call(cursor: Cursor) -> syntax.Node:
    """Parse a column with an optional JSON path, or a call of a function of a schema."""
    in_quotes = cursor.kind() == "name"
    parts = cursor.dotted_name("an expression", "a name")
    if cursor.word() == "(" and len(parts) == 2:
        return syntax.Call(parts[1], parse_arguments(cursor), parts[0])
    if cursor.word() == "(" and len(parts) == 1 and in_quotes:
        return syntax.Call(parts[0].upper(), parse_arguments(cursor))
    return _parse_path(cursor, syntax.ColumnName(parts))


def _parse_path(cursor: Cursor, column: syntax.Node) -> syntax.Node:
    """Parse an optional `->'$.path'` or `->>'$.path'` after a column."""
    arrow = cursor.word()
    if arrow not in ("->", "->>"):
        return column
    cursor.take()
    if cursor.kind() != "string":
        cursor.unexpected("a path in quotes")
    call = syntax.Call("JSON_EXTRACT", (column, syntax.Literal("string", cursor.literal(), cursor.charset)))
    return syntax.Call("JSON_UNQUOTE", (call,)) if arrow == "->>" else call


def _parse_word_literal(cursor: Cursor) -> syntax.Node:
    word = cursor.take()
    return syntax.Literal("null" if word == "NULL" else "boolean", word)


def _parse_escaped_null(cursor: Cursor) -> syntax.Node:
    """Parse `\\N`."""
    if cursor.word_after() != "N" or not cursor.touches_next():
        cursor.unexpected("an expression")
    cursor.take()
    cursor.take()
    return syntax.Literal("null", "NULL")


def _parse_parentheses(cursor: Cursor) -> syntax.Node:
    """Parse a subquery, an expression or a row in parentheses."""
    if begins_subquery(cursor):
        text, query = cursor.grammar.subquery(cursor)
        return syntax.ContextExpression(text, "a subquery", syntax.Subquery(query))
    items = cursor.parenthesised_list(cursor.grammar.expression)
    return syntax.RowExpression(items) if len(items) > 1 else syntax.Parenthesised(items[0])


def _parse_row(cursor: Cursor) -> syntax.Node:
    at = cursor.next_token()
    cursor.take()
    items = cursor.parenthesised_list(cursor.grammar.expression)
    if len(items) < 2:
        cursor.fail("ROW takes two values or more", at)
    return syntax.RowExpression(items)


def _parse_exists(cursor: Cursor) -> syntax.Node:
    cursor.take()
    text, query = cursor.grammar.subquery(cursor)
    return syntax.ContextExpression(f"EXISTS {text}", "EXISTS", syntax.Exists(query))


def _parse_case(cursor: Cursor) -> syntax.Node:
    cursor.take()
    value = None if cursor.word() == "WHEN" else cursor.grammar.expression(cursor)
    branches = []
    while cursor.accept("WHEN"):
        condition = cursor.grammar.expression(cursor)
        cursor.expect("THEN")
        branches.append((condition, cursor.grammar.expression(cursor)))
    if not branches:
        cursor.unexpected("'WHEN'")
    otherwise = cursor.grammar.expression(cursor) if cursor.accept("ELSE") else None
    cursor.expect("END")
    return syntax.Case(value, tuple(branches), otherwise)


def _parse_braces(cursor: Cursor) -> syntax.Node:
    """Parse `{d '…'}`, `{t '…'}`, `{ts '…'}`, or `{name expression}`, which means the expression."""
    cursor.take()
    name = cursor.name("a name")
    inner = cursor.grammar.expression(cursor)
    cursor.expect("}")
    kind = {"d": "date", "t": "time", "ts": "timestamp"}.get(name)
    if not kind:
        return inner
    if isinstance(inner, syntax.Literal) and inner.kind == "string":
        return syntax.Literal(kind, inner.text)
    return syntax.ContextExpression(f"{kind.upper()} {restore_node(inner)}", "a literal of time")


def _parse_variable(cursor: Cursor) -> syntax.Node:
    """Parse `@name`."""
    name = cursor.user_variable()
    return syntax.ContextExpression(f"@{quote_name(name)}", "a variable", syntax.Variable(name.lower(), "user"))


def _parse_system_variable(cursor: Cursor) -> syntax.Node:
    """Parse `@@name` or `@@global.name`."""
    cursor.take()
    name = cursor.system_variable()
    scope, point, rest = name.partition(".")
    if not point or scope not in ("global", "session", "local", "instance"):
        return syntax.ContextExpression(f"@@{quote_name(name)}", "a variable", syntax.Variable(name))
    scope = "session" if scope == "local" else scope
    text = f"@@{scope.upper()}.{quote_name(rest)}"
    return syntax.ContextExpression(text, "a variable", syntax.Variable(rest, scope))


_KEYWORDS: dict[str, Callable[[Cursor], syntax.Node]] = {
    ".": parse_fraction,
    "(": _parse_parentheses,
    "{": _parse_braces,
    "\\": _parse_escaped_null,
    "?": Cursor.parameter,
    "@": _parse_variable,
    "@@": _parse_system_variable,
    **dict.fromkeys(("TRUE", "FALSE", "NULL"), _parse_word_literal),
    "CASE": _parse_case,
    "EXISTS": _parse_exists,
    "ROW": _parse_row,
}
