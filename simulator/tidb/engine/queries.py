"""Queries as statements, and their results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.tidb import syntax
from simulator.tidb.engine.match import Matched as Matched
from simulator.tidb.engine.match import evaluate_subqueries as evaluate_subqueries
from simulator.tidb.engine.match import match as match
from simulator.tidb.engine.outcome import ResultSet
from simulator.tidb.engine.relation import Relation
from simulator.tidb.engine.results import result_column, sent
from simulator.tidb.engine.scope import QueryScope, StatementCompilation, new_compilation
from simulator.tidb.engine.selects import build_query
from simulator.tidb.sql_engine.result_columns import ResultColumn
from simulator.tidb.sql_engine.sessions.session_variables import variable_text
from simulator.tidb.syntax.queries import Limit, QueryTree

if TYPE_CHECKING:
    from simulator.tidb.engine.context import StatementContext

NO_LIMIT = 2**64 - 1


def run_query(query: QueryTree, context: StatementContext) -> ResultSet:
    """Return the rows of a query. Raises SqlError."""
    compilation = new_compilation(context)
    relation = build_query(limited_query(query, context), QueryScope(compilation))
    evaluate_subqueries(compilation)
    if relation.unprojected is not None:
        rows, values, fields = relation.unprojected
        makers = [sent(value, field) for value, field in zip(values, fields, strict=True)]
        found = rows(context)
    else:
        makers = [sent(field.value) for field in relation.fields]
        found = relation.rows(context)
    sent_rows = list[tuple[bytes | None, ...]]()
    size = 100 + 60 * len(makers)
    for count, row in enumerate(found, 1):
        sent_rows.append(tuple([make(row, context) for make in makers]))
        if not count % 1024:
            context.check()
            context.hold(1024 * size)
    return ResultSet(tuple(map(result_column, relation.fields)), sent_rows)


def limited_query(query: QueryTree, context: StatementContext) -> QueryTree:
    """Return a query with the limit of `sql_select_limit`, unless it has one (tidb pkg/planner/optimize.go,
    handleInvalidBindRecord; pkg/planner/core/preprocess.go, TryAddExtraLimit)."""
    most = int(variable_text(context.session.settings, "sql_select_limit"))
    if most == NO_LIMIT:
        return query
    if isinstance(query, syntax.SelectTree | syntax.SetOperation):
        return query if query.limit is not None else replace(query, limit=Limit(most))
    return query


def query_columns(query: QueryTree, context: StatementContext) -> tuple[ResultColumn, ...]:
    """Return the columns of a query's result. Raises SqlError."""
    return tuple(map(result_column, build_query(query, QueryScope(new_compilation(context))).fields))


def selected(query: QueryTree, compilation: StatementCompilation) -> Relation:
    """Return the relation of the query of an INSERT … SELECT. Raises SqlError."""
    return build_query(query, QueryScope(compilation))
