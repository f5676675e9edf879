"""Queries as statements: their results, and the rows that UPDATE and DELETE change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from simulator.tidb import syntax
from simulator.tidb.engine.queries.common_tables import with_common_tables
from simulator.tidb.engine.queries.compilation import new_compilation
from simulator.tidb.engine.queries.filters import TableRelation, compile_condition, filtered
from simulator.tidb.engine.queries.locking import Locking
from simulator.tidb.engine.queries.plans import kept_plan, plan_query
from simulator.tidb.engine.queries.relation import CELL_SIZE, CHECKED_ROWS, ROW_SIZE, Base, Relation, Values, held
from simulator.tidb.engine.queries.results import result_column
from simulator.tidb.engine.queries.selects import build_query
from simulator.tidb.engine.queries.sorting import SortKey, limited, sort_key, sorted_rows
from simulator.tidb.engine.queries.sources import build_source
from simulator.tidb.engine.scopes.scope import QueryScope, StatementCompilation
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.outcome import ResultSet
from simulator.tidb.engine.sessions.result_columns import ResultColumn
from simulator.tidb.engine.sessions.session_variables import variable_text
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.trees import conjuncts
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import Limit, OrderItem, QueryTree, Source, WithTree

NO_LIMIT = 2**64 - 1


def run_query(query: QueryTree, context: StatementContext) -> ResultSet:
    """Return the rows of a query. Raises SqlError."""
    query = limited_query(query, context)
    plan = kept_plan(query, context)
    if plan is None:
        compilation = new_compilation(context)
        plan = plan_query(query, compilation)
        evaluate_subqueries(compilation)
    rows, makers, columns = plan
    sent_rows = list[tuple[bytes | None, ...]]()
    size = ROW_SIZE + CELL_SIZE * len(makers)
    for count, row in enumerate(rows(context), 1):
        sent_rows.append(tuple([make(row, context) for make in makers]))
        if not count % CHECKED_ROWS:
            context.check()
            context.hold(CHECKED_ROWS * size)
    return ResultSet(columns, sent_rows)


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


class Matched(NamedTuple):
    """The rows that WHERE, ORDER BY and LIMIT of a statement select."""

    bases: tuple[Base, ...]
    """The base tables in the order of FROM. A row has the location of its row at `place`, None if an outer join has none."""

    scope: QueryScope
    """The scope of expressions over the rows."""

    rows: Callable[[StatementContext], list[Values]]
    """Reads all rows. Call it once, after all expressions are compiled."""


def match(
    source: Source,
    where: Node | None,
    order: Sequence[OrderItem],
    limit: Limit | None,
    common: WithTree | None,
    compilation: StatementCompilation,
) -> Matched:
    """Return the rows that an UPDATE or DELETE changes. Without ORDER BY they are in the order of a scan in TiKV.

    The rows of a single table are locked, and the keys by which it is read even if there is no row (tidb
    pkg/planner/core/logical_plan_builder.go, buildUpdate). Raises SqlError.
    """
    around = QueryScope(compilation)
    if common is not None:
        around = with_common_tables(common, around)
    relation = build_source(source, around)
    locking = None
    if isinstance(relation, TableRelation):
        relation.lock_keys()
        locking = Locking(relation.bases, None)
    scope = QueryScope(compilation, relation.fields, around)
    within, ordering = scope.within("where clause"), scope.within("order clause")
    tests = [compile_condition(node, within) for node in relation.restrict(conjuncts(where), within)]
    keys = [SortKey(sort_key(compile_expression(item.expression, ordering)), item.descending) for item in order]

    def rows(context: StatementContext) -> list[Values]:
        evaluate_subqueries(compilation)
        found: Iterator[Values] = filtered(relation.rows(context), tests, context) if tests else relation.rows(context)
        if keys:
            found = iter(sorted_rows(found, keys, context))
        found = iter(limited(found, limit))
        return held(found if locking is None else locking.rows(found, context), context)

    return Matched(relation.bases, scope, rows)


def evaluate_subqueries(compilation: StatementCompilation) -> None:
    """Evaluate the subqueries that do not depend on rows. Raises SqlError."""
    for evaluate in compilation.eager:
        evaluate((), compilation.context)
