"""Plans of queries. That of columns by an integer handle is kept, and takes another integer each time (tidb
pkg/planner/core/plan_cache.go, point_get_plan.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.engine.queries.access import handle_column
from simulator.tidb.engine.queries.compilation import new_compilation
from simulator.tidb.engine.queries.relation import Rows
from simulator.tidb.engine.queries.results import result_column, sent
from simulator.tidb.engine.queries.selects import build_query
from simulator.tidb.engine.scopes.scope import QueryScope, StatementCompilation
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.result_columns import ResultColumn
from simulator.tidb.expressions.expression import Evaluate
from simulator.tidb.model.table import Table
from simulator.tidb.model.table_keys import cached_by_table
from simulator.tidb.storage.tables import StoredTable
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.syntax.queries import QueryTree, SelectTree

DIGITS = 18
"""Digits of an integer that is an `int`, whatever they are."""

MOST = 64


class Plan(NamedTuple):
    """How the rows of a query are read and sent."""

    rows: Rows
    makers: Sequence[Evaluate]
    """Return what a client is sent of a row's columns."""

    columns: tuple[ResultColumn, ...]


class KeptPlan(NamedTuple):
    shape: Mapping[str, object]
    """The query without its integer."""

    stored: StoredTable
    plan: Plan


def plan_query(query: QueryTree, compilation: StatementCompilation) -> Plan:
    """Return the plan of a query. Raises SqlError."""
    relation = build_query(query, QueryScope(compilation))
    columns = tuple(map(result_column, relation.fields))
    if relation.unprojected is None:
        return Plan(relation.rows, [sent(field.value) for field in relation.fields], columns)
    rows, values, fields = relation.unprojected
    return Plan(rows, [sent(value, field) for value, field in zip(values, fields, strict=True)], columns)


def kept_plan(query: QueryTree, context: StatementContext) -> Plan | None:
    """Return the kept plan of a query, and note its integer; None if it has none. Raises SqlError."""
    if not isinstance(query, SelectTree) or not isinstance(query.source, syntax.TableSource):
        return None
    source, where = query.source, query.where
    if not isinstance(where, syntax.Binary) or where.operator != "=" or not isinstance(where.left, syntax.ColumnName):
        return None
    column, literal = where.left, where.right
    if not isinstance(literal, syntax.Literal) or literal.kind != "integer" or len(literal.text) > DIGITS:
        return None
    table = context.catalog.tables.get(
        object_key(source.name.schema or context.session.settings.database, source.name.name)
    )
    if table is None or table.soft_delete is not None or context.snapshot is not None:
        return None
    plans, stored, shape = _kept_plans(table), context.stored(table), {**vars(query), "where": column}
    kept = plans.get(id(query.items))
    if kept is None or kept.stored is not stored or kept.shape != shape:
        if query != SelectTree(query.items, source, where) or not _is_point_get(query, column, table):
            return None
        unread = Transaction(context.database.locks, context.database.last_ts)  # a plan outlives the session's
        reader = new_compilation(StatementContext(context.session, unread, context.now_ms))
        if len(plans) >= MOST:
            plans.clear()
        plan = plan_query(SelectTree(query.items, source, syntax.Binary("=", column, syntax.Parameter())), reader)
        kept = plans[id(query.items)] = KeptPlan(shape, stored, plan)
    context.parameter = int(literal.text)
    return kept.plan


@cached_by_table
def _kept_plans(table: Table) -> dict[int, KeptPlan]:
    return {}


def _is_point_get(query: SelectTree, column: syntax.ColumnName, table: Table) -> bool:
    """Return whether a query shows columns of the row with a handle, and nothing that a session decides."""
    assert isinstance(query.source, syntax.TableSource), "it reads a table"
    return (
        query.source.as_of is None
        and handle_column(table) == column.parts[-1].lower()
        and all(isinstance(item, syntax.Star) or isinstance(item.expression, syntax.ColumnName) for item in query.items)
    )
