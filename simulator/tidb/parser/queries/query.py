"""Queries inside other statements, from a cursor: SELECT, TABLE, VALUES, WITH and set operations.

One law: a query is restored as TiDB writes it (pkg/parser/ast/dml.go): what ORDER BY and LIMIT follow a set operation
belongs to all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.aggregates import read_order
from simulator.tidb.parser.queries.lookahead import OPERATORS
from simulator.tidb.parser.queries.select import Select, read_limit, read_select
from simulator.tidb.restore.names import quoted
from simulator.tidb.syntax.tables import Query


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

    order: str = ""
    limit: str = ""
    common: str = ""
    """WITH …"""

    braced: bool = False


def read_query(cursor: Cursor) -> Query:
    """SELECT, WITH, TABLE, VALUES, a set operation or a query in parentheses, to its end; raises SchemaError."""
    start = cursor.next_token()
    try:
        query = read_any(cursor)
        return Query(cursor.text_since(start), _written_operand(query))
    except RecursionError:
        cursor.fail("this query is nested too deeply", start)


def read_subquery(cursor: Cursor) -> str:
    """`( query )`, as TiDB writes it back, in one pair of parentheses."""
    return f"({written(_in_parentheses(cursor))})"


def read_any(cursor: Cursor) -> Select | Operation | Operand:
    """A query; an Operand if it is one in parentheses and nothing else."""
    if cursor.word() != "WITH":
        return _set_operation(cursor)
    common = _with(cursor)
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
        return Operation((*operands, (operator, replace(last, order="", limit=""))), last.order, last.limit)
    return _tail(cursor, Operation((*operands, (operator, replace(last, last=True)))))


def _operand(cursor: Cursor) -> Select | Operand:
    return Operand(_in_parentheses(cursor)) if cursor.word() == "(" else read_select(cursor)


def _single(cursor: Cursor, first: Select | Operand) -> Select | Operation | Operand:
    """One query alone, or with an ORDER BY or LIMIT behind its parentheses."""
    if isinstance(first, Operand) and cursor.word() in ("ORDER BY", "LIMIT", "FETCH"):
        return _tail(cursor, Operation((("", replace(first, last=True)),)))
    return first


def _tail(cursor: Cursor, operation: Operation) -> Operation:
    order = read_order(cursor) if cursor.word() == "ORDER BY" else ""
    return replace(operation, order=order, limit=read_limit(cursor))


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


def _with(cursor: Cursor) -> str:
    """`WITH [RECURSIVE] name [(columns)] AS (query), …`, with a blank behind it."""
    cursor.expect("WITH")
    recursive = "RECURSIVE " if cursor.accept("RECURSIVE") else ""
    tables = [_common_table(cursor)]
    while cursor.accept(","):
        tables.append(_common_table(cursor))
    return f"WITH {recursive}{', '.join(tables)} "


def _common_table(cursor: Cursor) -> str:
    name = quoted(cursor.name("the name of a table"))
    columns = ""
    if cursor.word() == "(":
        names = cursor.comma_separated(lambda cursor: cursor.name("a column"))
        columns = f" ({', '.join(map(quoted, names))})"
    cursor.expect("AS")
    return f"{name}{columns} AS {read_subquery(cursor)}"


def written(query: Select | Operation) -> str:
    """The text of a query without the parentheses around it."""
    body = query.written if isinstance(query, Select) else _written_operation(query)
    return query.common + (f"({body})" if query.braced else body)


def _written_operation(query: Operation) -> str:
    operands = (f" {operator} " * bool(operator) + _written_operand(operand) for operator, operand in query.operands)
    return "".join(operands) + "".join(f" {part}" for part in (query.order, query.limit) if part)


def _written_operand(operand: Select | Operation | Operand) -> str:
    if not isinstance(operand, Operand):
        return written(operand)
    if isinstance(operand.query, Operation):
        return f"({written(replace(operand.query, braced=False))})"
    return f"({operand.query.common * operand.last}{written(operand.query)})"
