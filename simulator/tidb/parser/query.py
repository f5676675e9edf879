"""Parse queries into text and tree: SELECT, TABLE, VALUES, WITH and set operations.

The text is the one that TiDB writes back (pkg/parser/ast/dml.go). ORDER BY and LIMIT after a set operation belong to the
whole operation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from msgspec import structs

from simulator.tidb import syntax
from simulator.tidb.parser.aggregates import parse_order, restore_order
from simulator.tidb.parser.atoms import OPERATORS
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions import text_in_any_mode
from simulator.tidb.parser.select import ParsedLimit, ParsedSelect, ParsedWith, parse_limit, parse_select
from simulator.tidb.restore import quote_name

MOST_ENCLOSING = 100
"""Queries around a query, each of which needs several frames of Python's stack."""


@dataclass(frozen=True)
class ParsedOperand:
    """A query in parentheses, as an operand of a set operation."""

    query: ParsedSelect | ParsedOperation
    last: bool = False
    """Whether it is the last operand. TiDB writes the WITH of a SELECT in it twice."""


@dataclass(frozen=True)
class ParsedOperation:
    """UNION, EXCEPT, INTERSECT, or a query in parentheses with an ORDER BY or LIMIT after them."""

    operands: tuple[tuple[str, ParsedSelect | ParsedOperand], ...]
    """Each with the operator before it."""

    order: tuple[syntax.OrderItem, ...] = ()
    limit: ParsedLimit | None = None
    common: ParsedWith | None = None
    braced: bool = False


def parse_query(cursor: Cursor) -> syntax.EmbeddedQuery:
    """Parse SELECT, WITH, TABLE, VALUES, a set operation or a query in parentheses; raises SchemaError."""
    start = cursor.next_token()
    try:
        query = parse_any_query(cursor)
        restored = _restore_operand(query)
        text = text_in_any_mode(cursor, start, restored, lambda again: _restore_operand(parse_any_query(again)))
        return syntax.EmbeddedQuery(text, restored, query_tree(query))
    except RecursionError:
        cursor.fail("this query is nested too deeply", start)


def parse_subquery(cursor: Cursor) -> tuple[str, syntax.QueryTree]:
    """Parse `( query )`, and return its restored text in one pair of parentheses, and its tree."""
    query = _parse_parenthesised_query(cursor)
    return f"({restore_query(query)})", query_tree(query)


def parse_any_query(cursor: Cursor) -> ParsedSelect | ParsedOperation | ParsedOperand:
    """Parse a query. The result is a ParsedOperand if the query is in parentheses."""
    if cursor.word() != "WITH":
        return _parse_set_operation(cursor)
    common = parse_with(cursor)
    query = _parse_set_operation(cursor)
    if isinstance(query, ParsedOperand):
        query = replace(query.query, braced=True)
    return replace(query, common=common)


def _parse_set_operation(cursor: Cursor) -> ParsedSelect | ParsedOperation | ParsedOperand:
    first = _parse_operand(cursor)
    if cursor.word() not in OPERATORS:
        return _parse_single(cursor, first)
    operands: list[tuple[str, ParsedSelect | ParsedOperand]] = [("", first)]
    while cursor.word() in OPERATORS:
        operator = _parse_set_operator(cursor)
        operands.append((operator, _parse_operand(cursor)))
    operator, last = operands.pop()
    if isinstance(last, ParsedSelect):
        return ParsedOperation((*operands, (operator, replace(last, order=(), limit=None))), last.order, last.limit)
    return _parse_order_and_limit(cursor, ParsedOperation((*operands, (operator, replace(last, last=True)))))


def _parse_operand(cursor: Cursor) -> ParsedSelect | ParsedOperand:
    return ParsedOperand(_parse_parenthesised_query(cursor)) if cursor.word() == "(" else parse_select(cursor)


def _parse_single(
    cursor: Cursor, first: ParsedSelect | ParsedOperand
) -> ParsedSelect | ParsedOperation | ParsedOperand:
    """Parse an optional ORDER BY or LIMIT after a query in parentheses."""
    if isinstance(first, ParsedOperand) and cursor.word() in ("ORDER BY", "LIMIT", "FETCH"):
        return _parse_order_and_limit(cursor, ParsedOperation((("", replace(first, last=True)),)))
    return first


def _parse_order_and_limit(cursor: Cursor, operation: ParsedOperation) -> ParsedOperation:
    return replace(operation, order=parse_order(cursor), limit=parse_limit(cursor))


def _parse_set_operator(cursor: Cursor) -> str:
    word = cursor.take()
    if cursor.accept("ALL"):
        return f"{word} ALL"
    cursor.accept("DISTINCT") or cursor.accept("DISTINCTROW")
    return word


def _parse_parenthesised_query(cursor: Cursor) -> ParsedSelect | ParsedOperation:
    cursor.expect("(")
    cursor.enclosing_queries += 1
    if cursor.enclosing_queries > MOST_ENCLOSING:
        cursor.fail(f"more than {MOST_ENCLOSING} queries are nested here", cursor.next_token())
    query = parse_any_query(cursor)
    cursor.expect(")")
    cursor.enclosing_queries -= 1
    return query.query if isinstance(query, ParsedOperand) else query


def parse_with(cursor: Cursor) -> ParsedWith:
    """Parse `WITH [RECURSIVE] name [(columns)] AS (query), …`."""
    cursor.expect("WITH")
    recursive = cursor.accept("RECURSIVE")
    tables = [_parse_common_table(cursor)]
    while cursor.accept(","):
        tables.append(_parse_common_table(cursor))
    text = f"WITH {'RECURSIVE ' * recursive}{', '.join(text for text, _ in tables)} "
    return ParsedWith(text, tuple(table for _, table in tables), recursive)


def _parse_common_table(cursor: Cursor) -> tuple[str, syntax.CommonTable]:
    name = cursor.name("the name of a table")
    names: tuple[str, ...] = ()
    if cursor.word() == "(":
        names = cursor.parenthesised_list(lambda cursor: cursor.name("a column"))
    columns = f" ({', '.join(map(quote_name, names))})" if names else ""
    cursor.expect("AS")
    text, query = parse_subquery(cursor)
    return f"{quote_name(name)}{columns} AS {text}", syntax.CommonTable(name, names, query)


def restore_query(query: ParsedSelect | ParsedOperation) -> str:
    """Return the text of a query without the parentheses around it."""
    body = query.written if isinstance(query, ParsedSelect) else _restore_operation(query)
    return _restore_with(query) + (f"({body})" if query.braced else body)


def _restore_with(query: ParsedSelect | ParsedOperation) -> str:
    return query.common.text if query.common else ""


def _restore_operation(query: ParsedOperation) -> str:
    operands = (f" {operator} " * bool(operator) + _restore_operand(operand) for operator, operand in query.operands)
    limit = query.limit.text if query.limit else ""
    return "".join(operands) + "".join(f" {part}" for part in (restore_order(query.order), limit) if part)


def _restore_operand(operand: ParsedSelect | ParsedOperation | ParsedOperand) -> str:
    if not isinstance(operand, ParsedOperand):
        return restore_query(operand)
    if isinstance(operand.query, ParsedOperation):
        return f"({restore_query(replace(operand.query, braced=False))})"
    return f"({_restore_with(operand.query) * operand.last}{restore_query(operand.query)})"


def query_tree(query: ParsedSelect | ParsedOperation | ParsedOperand) -> syntax.QueryTree:
    if isinstance(query, ParsedOperand):
        return query_tree(query.query)
    tree = query.tree if isinstance(query, ParsedSelect) else _operation_tree(query)
    return syntax.WithTree(query.common.tables, query.common.recursive, tree) if query.common else tree


def _operation_tree(query: ParsedOperation) -> syntax.QueryTree:
    """Return the tree of a set operation. INTERSECT binds tighter than the others, which associate to the left.

    Source: tidb pkg/planner/core/logical_plan_builder.go, buildSetOpr.
    """
    groups: list[tuple[str, syntax.QueryTree]] = []
    for operator, operand in query.operands:
        tree = query_tree(operand)
        if operator.startswith("INTERSECT"):
            before, left = groups.pop()
            groups.append((before, syntax.SetOperation(operator, left, tree)))
        else:
            groups.append((operator, tree))
    result = groups[0][1]
    for operator, tree in groups[1:]:
        result = syntax.SetOperation(operator, result, tree)
    return _ordered_tree(result, query.order, query.limit)


def _ordered_tree(
    tree: syntax.QueryTree, order: tuple[syntax.OrderItem, ...], limit: ParsedLimit | None
) -> syntax.QueryTree:
    """Add ORDER BY and LIMIT to a query. A query that already has one becomes a derived table."""
    if not order and limit is None:
        return tree
    limit_tree = limit.tree if limit else None
    if isinstance(tree, syntax.WithTree) or tree.order or tree.limit:
        return syntax.SelectTree((syntax.Star(),), syntax.DerivedTable(tree, ""), order=order, limit=limit_tree)
    return structs.replace(tree, order=order, limit=limit_tree)
