"""Queries from a cursor, as text and tree: SELECT, TABLE, VALUES, WITH and set operations.

One law: a query is restored as TiDB writes it (pkg/parser/ast/dml.go): what ORDER BY and LIMIT follow a set operation
belongs to all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.aggregates import read_order, written_order
from simulator.tidb.parser.queries.lookahead import OPERATORS
from simulator.tidb.parser.queries.select import Common, Limited, Select, read_limit, read_select
from simulator.tidb.restore.names import quoted


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


def read_query(cursor: Cursor) -> syntax.EmbeddedQuery:
    """SELECT, WITH, TABLE, VALUES, a set operation or a query in parentheses, to its end; raises SchemaError."""
    start = cursor.next_token()
    try:
        query = read_any(cursor)
        return syntax.EmbeddedQuery(cursor.text_since(start), _written_operand(query), tree_of(query))
    except RecursionError:
        cursor.fail("this query is nested too deeply", start)


def read_subquery(cursor: Cursor) -> tuple[str, syntax.QueryTree]:
    """`( query )`: as TiDB writes it back, in one pair of parentheses, and what it says."""
    query = _in_parentheses(cursor)
    return f"({written(query)})", tree_of(query)


def read_any(cursor: Cursor) -> Select | Operation | Operand:
    """A query; an Operand if it is one in parentheses and nothing else."""
    if cursor.word() != "WITH":
        return _set_operation(cursor)
    common = read_common(cursor)
    query = _set_operation(cursor)
    if isinstance(query, Operand):
        query = replace(query.query, braced=True)
    return replace(query, common=common)


def _set_operation(cursor: Cursor) -> Select | Operation | Operand:
    first = _operand(cursor)
    if cursor.word() not in OPERATORS:
        return _single(cursor, first)
    operands: list[tuple[str, Select | Operand]] = [("", first)]
    while cursor.word() in OPERATORS:
        operator = _operator(cursor)
        operands.append((operator, _operand(cursor)))
    operator, last = operands.pop()
    if isinstance(last, Select):
        return Operation((*operands, (operator, replace(last, order=(), limit=None))), last.order, last.limit)
    return _tail(cursor, Operation((*operands, (operator, replace(last, last=True)))))


def _operand(cursor: Cursor) -> Select | Operand:
    return Operand(_in_parentheses(cursor)) if cursor.word() == "(" else read_select(cursor)


def _single(cursor: Cursor, first: Select | Operand) -> Select | Operation | Operand:
    """One query alone, or with an ORDER BY or LIMIT behind its parentheses."""
    if isinstance(first, Operand) and cursor.word() in ("ORDER BY", "LIMIT", "FETCH"):
        return _tail(cursor, Operation((("", replace(first, last=True)),)))
    return first


def _tail(cursor: Cursor, operation: Operation) -> Operation:
    return replace(operation, order=read_order(cursor), limit=read_limit(cursor))


def _operator(cursor: Cursor) -> str:
    word = cursor.take()
    if cursor.accept("ALL"):
        return f"{word} ALL"
    cursor.accept("DISTINCT") or cursor.accept("DISTINCTROW")
    return word


def _in_parentheses(cursor: Cursor) -> Select | Operation:
    cursor.expect("(")
    query = read_any(cursor)
    cursor.expect(")")
    return query.query if isinstance(query, Operand) else query


def read_common(cursor: Cursor) -> Common:
    """`WITH [RECURSIVE] name [(columns)] AS (query), …`"""
    cursor.expect("WITH")
    recursive = cursor.accept("RECURSIVE")
    tables = [_common_table(cursor)]
    while cursor.accept(","):
        tables.append(_common_table(cursor))
    text = f"WITH {'RECURSIVE ' * recursive}{', '.join(text for text, _ in tables)} "
    return Common(text, tuple(table for _, table in tables), recursive)


def _common_table(cursor: Cursor) -> tuple[str, syntax.CommonTable]:
    name = cursor.name("the name of a table")
    names: tuple[str, ...] = ()
    if cursor.word() == "(":
        names = cursor.comma_separated(lambda cursor: cursor.name("a column"))
    columns = f" ({', '.join(map(quoted, names))})" if names else ""
    cursor.expect("AS")
    text, query = read_subquery(cursor)
    return f"{quoted(name)}{columns} AS {text}", syntax.CommonTable(name, names, query)


def written(query: Select | Operation) -> str:
    """The text of a query without the parentheses around it."""
    body = query.written if isinstance(query, Select) else _written_operation(query)
    return _written_common(query) + (f"({body})" if query.braced else body)


def _written_common(query: Select | Operation) -> str:
    return query.common.text if query.common else ""


def _written_operation(query: Operation) -> str:
    operands = (f" {operator} " * bool(operator) + _written_operand(operand) for operator, operand in query.operands)
    limit = query.limit.text if query.limit else ""
    return "".join(operands) + "".join(f" {part}" for part in (written_order(query.order), limit) if part)


def _written_operand(operand: Select | Operation | Operand) -> str:
    if not isinstance(operand, Operand):
        return written(operand)
    if isinstance(operand.query, Operation):
        return f"({written(replace(operand.query, braced=False))})"
    return f"({_written_common(operand.query) * operand.last}{written(operand.query)})"


def tree_of(query: Select | Operation | Operand) -> syntax.QueryTree:
    """What a query says."""
    if isinstance(query, Operand):
        return tree_of(query.query)
    tree = query.tree if isinstance(query, Select) else _operation(query)
    return syntax.WithTree(query.common.tables, query.common.recursive, tree) if query.common else tree


def _operation(query: Operation) -> syntax.QueryTree:
    """INTERSECT binds tighter than the others, which go from left to right.

    Source: tidb pkg/planner/core/logical_plan_builder.go, buildSetOpr.
    """
    groups: list[tuple[str, syntax.QueryTree]] = []
    for operator, operand in query.operands:
        tree = tree_of(operand)
        if operator.startswith("INTERSECT"):
            before, left = groups.pop()
            groups.append((before, syntax.SetOperation(operator, left, tree)))
        else:
            groups.append((operator, tree))
    found = groups[0][1]
    for operator, tree in groups[1:]:
        found = syntax.SetOperation(operator, found, tree)
    return _ordered(found, query.order, query.limit)


def _ordered(tree: syntax.QueryTree, order: tuple[syntax.OrderItem, ...], limit: Limited | None) -> syntax.QueryTree:
    """The query with what follows it: of one that has an ORDER BY or LIMIT of its own, what it gives is ordered."""
    if not order and limit is None:
        return tree
    most = limit.tree if limit else None
    if isinstance(tree, syntax.WithTree) or tree.order or tree.limit:
        return syntax.SelectTree((syntax.Star(),), syntax.DerivedTable(tree, ""), order=order, limit=most)
    return replace(tree, order=order, limit=most)
