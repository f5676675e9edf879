"""Queries from a cursor, as text and tree: SELECT, TABLE, VALUES, WITH and set operations.

One law: a query is restored as TiDB writes it (pkg/parser/ast/dml.go): what ORDER BY and LIMIT follow a set operation
belongs to all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.aggregates import parse_order, restore_order
from simulator.tidb.parser.queries.lookahead import OPERATORS
from simulator.tidb.parser.queries.select import Common, Limited, Select, parse_limit, parse_select
from simulator.tidb.restore.names import quote_name


@dataclass(frozen=True)
class Operand:
    """A query in parentheses, one side of a set operation."""

    query: Select | Operation
    last: bool = False
    """Whether it is the last one. TiDB then writes the WITH of a SELECT in it twice."""


@dataclass(frozen=True)
class Operation:
    """UNION, EXCEPT and INTERSECT, or a query in parentheses with an ORDER BY or LIMIT of its own."""

    operands: tuple[tuple[str, Select | Operand], ...]
    """Each with the operator before it."""

    order: tuple[syntax.OrderItem, ...] = ()
    limit: Limited | None = None
    common: Common | None = None
    braced: bool = False


def parse_query(cursor: Cursor) -> syntax.EmbeddedQuery:
    """SELECT, WITH, TABLE, VALUES, a set operation or a query in parentheses, to its end; raises SchemaError."""
    start = cursor.next_token()
    try:
        query = parse_any_query(cursor)
        return syntax.EmbeddedQuery(cursor.text_since(start), _restore_operand(query), query_tree(query))
    except RecursionError:
        cursor.fail("this query is nested too deeply", start)


def parse_subquery(cursor: Cursor) -> tuple[str, syntax.QueryTree]:
    """`( query )`: as TiDB writes it back, in one pair of parentheses, and what it says."""
    query = _parse_parenthesised_query(cursor)
    return f"({restore_query(query)})", query_tree(query)


def parse_any_query(cursor: Cursor) -> Select | Operation | Operand:
    """A query; an Operand if it is one in parentheses and nothing else."""
    if cursor.word() != "WITH":
        return _parse_set_operation(cursor)
    common = parse_with(cursor)
    query = _parse_set_operation(cursor)
    if isinstance(query, Operand):
        query = replace(query.query, braced=True)
    return replace(query, common=common)


def _parse_set_operation(cursor: Cursor) -> Select | Operation | Operand:
    first = _parse_operand(cursor)
    if cursor.word() not in OPERATORS:
        return _parse_single(cursor, first)
    operands: list[tuple[str, Select | Operand]] = [("", first)]
    while cursor.word() in OPERATORS:
        operator = _parse_set_operator(cursor)
        operands.append((operator, _parse_operand(cursor)))
    operator, last = operands.pop()
    if isinstance(last, Select):
        return Operation((*operands, (operator, replace(last, order=(), limit=None))), last.order, last.limit)
    return _parse_order_and_limit(cursor, Operation((*operands, (operator, replace(last, last=True)))))


def _parse_operand(cursor: Cursor) -> Select | Operand:
    return Operand(_parse_parenthesised_query(cursor)) if cursor.word() == "(" else parse_select(cursor)


def _parse_single(cursor: Cursor, first: Select | Operand) -> Select | Operation | Operand:
    """One query alone, or with an ORDER BY or LIMIT behind its parentheses."""
    if isinstance(first, Operand) and cursor.word() in ("ORDER BY", "LIMIT", "FETCH"):
        return _parse_order_and_limit(cursor, Operation((("", replace(first, last=True)),)))
    return first


def _parse_order_and_limit(cursor: Cursor, operation: Operation) -> Operation:
    return replace(operation, order=parse_order(cursor), limit=parse_limit(cursor))


def _parse_set_operator(cursor: Cursor) -> str:
    word = cursor.take()
    if cursor.accept("ALL"):
        return f"{word} ALL"
    cursor.accept("DISTINCT") or cursor.accept("DISTINCTROW")
    return word


def _parse_parenthesised_query(cursor: Cursor) -> Select | Operation:
    cursor.expect("(")
    query = parse_any_query(cursor)
    cursor.expect(")")
    return query.query if isinstance(query, Operand) else query


def parse_with(cursor: Cursor) -> Common:
    """`WITH [RECURSIVE] name [(columns)] AS (query), …`"""
    cursor.expect("WITH")
    recursive = cursor.accept("RECURSIVE")
    tables = [_parse_common_table(cursor)]
    while cursor.accept(","):
        tables.append(_parse_common_table(cursor))
    text = f"WITH {'RECURSIVE ' * recursive}{', '.join(text for text, _ in tables)} "
    return Common(text, tuple(table for _, table in tables), recursive)


def _parse_common_table(cursor: Cursor) -> tuple[str, syntax.CommonTable]:
    name = cursor.name("the name of a table")
    names: tuple[str, ...] = ()
    if cursor.word() == "(":
        names = cursor.parenthesised_list(lambda cursor: cursor.name("a column"))
    columns = f" ({', '.join(map(quote_name, names))})" if names else ""
    cursor.expect("AS")
    text, query = parse_subquery(cursor)
    return f"{quote_name(name)}{columns} AS {text}", syntax.CommonTable(name, names, query)


def restore_query(query: Select | Operation) -> str:
    """The text of a query without the parentheses around it."""
    body = query.written if isinstance(query, Select) else _restore_operation(query)
    return _restore_with(query) + (f"({body})" if query.braced else body)


def _restore_with(query: Select | Operation) -> str:
    return query.common.text if query.common else ""


def _restore_operation(query: Operation) -> str:
    operands = (f" {operator} " * bool(operator) + _restore_operand(operand) for operator, operand in query.operands)
    limit = query.limit.text if query.limit else ""
    return "".join(operands) + "".join(f" {part}" for part in (restore_order(query.order), limit) if part)


def _restore_operand(operand: Select | Operation | Operand) -> str:
    if not isinstance(operand, Operand):
        return restore_query(operand)
    if isinstance(operand.query, Operation):
        return f"({restore_query(replace(operand.query, braced=False))})"
    return f"({_restore_with(operand.query) * operand.last}{restore_query(operand.query)})"


def query_tree(query: Select | Operation | Operand) -> syntax.QueryTree:
    """What a query says."""
    if isinstance(query, Operand):
        return query_tree(query.query)
    tree = query.tree if isinstance(query, Select) else _operation_tree(query)
    return syntax.WithTree(query.common.tables, query.common.recursive, tree) if query.common else tree


def _operation_tree(query: Operation) -> syntax.QueryTree:
    """INTERSECT binds tighter than the others, which go from left to right.

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
    found = groups[0][1]
    for operator, tree in groups[1:]:
        found = syntax.SetOperation(operator, found, tree)
    return _ordered_tree(found, query.order, query.limit)


def _ordered_tree(
    tree: syntax.QueryTree, order: tuple[syntax.OrderItem, ...], limit: Limited | None
) -> syntax.QueryTree:
    """The query with what follows it: of one that has an ORDER BY or LIMIT of its own, what it gives is ordered."""
    if not order and limit is None:
        return tree
    most = limit.tree if limit else None
    if isinstance(tree, syntax.WithTree) or tree.order or tree.limit:
        return syntax.SelectTree((syntax.Star(),), syntax.DerivedTable(tree, ""), order=order, limit=most)
    return replace(tree, order=order, limit=most)
