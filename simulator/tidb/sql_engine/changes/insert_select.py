"""INSERT … SELECT: the rows of the query, and the names that ON DUPLICATE KEY UPDATE may use.

These are columns of the table, the names of the query's columns, and for a plain SELECT columns of its sources (tidb
pkg/planner/core/planbuilder.go, buildSelectPlanOfInsert).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from simulator.errors import SqlError
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.column_types import stored_type
from simulator.tidb.sql_engine.queries.evaluate import QueryColumn
from simulator.tidb.sql_engine.queries.expression_problems import ExpressionProblems
from simulator.tidb.sql_engine.queries.match_rows import match_rows
from simulator.tidb.sql_engine.queries.scopes import Field, QueryScope
from simulator.tidb.sql_engine.queries.selects import add_common_tables, build_from, build_relation, contains_aggregate
from simulator.tidb.sql_engine.queries.statement_evaluation import StatementEvaluation
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.expressions import ColumnName, Node, names_in
from simulator.tidb.syntax.queries import DerivedTable, QueryTree, SelectItem, SelectTree, Star, WithTree


class SelectedRows(NamedTuple):
    """The rows that a query provides."""

    values: Mapping[str, pa.Array]
    """Raw values by target column."""

    rows: int
    query_columns: tuple[QueryColumn, ...] = ()
    """The names of the query's columns."""

    extra: Table | None = None
    """Columns that only ON DUPLICATE KEY UPDATE names."""

    texts: Mapping[str, pa.Array] = {}
    """The cells of the extra columns."""

    extra_columns: tuple[QueryColumn, ...] = ()
    """The names of the extra columns."""


def select_rows(
    query: QueryTree,
    columns: Sequence[Column],
    updates: Sequence[Node],
    table: Table,
    upstream: Upstream,
    now_ms: int,
    problems: ExpressionProblems,
) -> SelectedRows:
    """Return the rows of a query for columns of a table. Raises SqlError 1136 for another number of columns."""
    fields = _query_fields(query, upstream, now_ms) if updates else []
    if updates and len(fields) != len(columns):
        raise sql_error(1136, 1)
    extra = list(_extra_columns(query, updates, table))
    query = _with_extra_columns(query, extra)
    names = [f"column {place}" for place in range(len(columns))] + [f"extra {place}" for place in range(len(extra))]
    wanted: dict[str, Node] = {name: ColumnName((name,)) for name in names}
    source = DerivedTable(query, "selected rows", tuple(names))
    try:
        targets = dict(zip(names, columns, strict=False))
        matches = match_rows(source, None, (), None, upstream, now_ms, wanted, targets, problems=problems)
    except SqlError as error:
        raise sql_error(1136, 1) if error.number == 1353 else error from None
    values = {column.name: matches.values[name] for name, column in zip(names, columns, strict=False)}
    rows = len(next(iter(matches.values.values())))
    query_columns = tuple(
        QueryColumn(field.schema, field.table, field.name, column.name)
        for field, column in zip(fields, columns, strict=False)
    )
    if not extra:
        return SelectedRows(values, rows, query_columns)
    others = _query_fields(query, upstream, now_ms)[len(columns) :]
    extra_table = Table(
        "",
        "",
        tuple(Column(name, stored_type(field)) for name, field in zip(names[len(columns) :], others, strict=True)),
    )
    texts = {column.name: matches.values[column.name] for column in extra_table.columns}
    extra_columns = tuple(
        QueryColumn(field.schema, field.table, field.name, column.name)
        for field, column in zip(others, extra_table.columns, strict=True)
    )
    return SelectedRows(values, rows, query_columns, extra_table, texts, extra_columns)


def _query_fields(query: QueryTree, upstream: Upstream, now_ms: int) -> list[Field]:
    """Return the columns of a query; a column of a source has its table."""
    evaluation = StatementEvaluation(upstream, now_ms)
    around = QueryScope(evaluation)
    fields = list(build_relation(query, evaluation, around).fields)
    while isinstance(query, WithTree):
        around, query = add_common_tables(query, around), query.query
    if not isinstance(query, SelectTree) or query.source is None:
        return fields
    sources = build_from(query.source, evaluation, around).fields
    scope = QueryScope(evaluation, sources, common=around.common)
    origins: list[Field | None] = []
    for item in query.items:
        if isinstance(item, Star):
            origins += [
                each
                for each in sources
                if each.shown and (item.table is None or each.table.lower() == item.table.name.lower())
            ]
        else:
            node = strip_parentheses(item.expression)
            origins.append(scope.find(node) if isinstance(node, ColumnName) else None)
    return [
        field if origin is None else replace(field, schema=origin.schema, table=origin.table, column=origin.column)
        for field, origin in zip(fields, origins, strict=True)
    ]


def _extra_columns(query: QueryTree, updates: Iterable[Node], table: Table) -> Iterator[ColumnName]:
    """Yield the names that are neither a column of the table nor of the query, for a SELECT without aggregates and
    stars."""
    while isinstance(query, WithTree):
        query = query.query
    if not isinstance(query, SelectTree) or query.group_by:
        return
    if any(isinstance(item, Star) or contains_aggregate(item.expression) for item in query.items):
        return
    expressions = [item.expression for item in query.items if isinstance(item, SelectItem)]
    columns = [node.parts for node in map(strip_parentheses, expressions) if isinstance(node, ColumnName)]
    for node in dict.fromkeys(name for update in updates for name in names_in(update)):
        *qualifier, name = (part.lower() for part in node.parts)
        own = name in columns_by_name(table) and qualifier in (
            [],
            [table.name.lower()],
            [table.schema.lower(), table.name.lower()],
        )
        if not own and not any(_same_column(node.parts, parts) for parts in columns):
            yield node


def _same_column(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names agree in the parts that both have."""
    return all(mine.lower() == theirs.lower() for mine, theirs in zip(reversed(one), reversed(other)))


def _with_extra_columns(query: QueryTree, names: Sequence[ColumnName]) -> QueryTree:
    if isinstance(query, WithTree):
        return replace(query, query=_with_extra_columns(query.query, names))
    if not isinstance(query, SelectTree) or not names:
        return query
    return replace(query, items=(*query.items, *(SelectItem(node, node.parts[-1]) for node in names)))
