"""The rows that an UPDATE or a DELETE changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from simulator.tidb.engine.common_tables import with_common_tables
from simulator.tidb.engine.locking import Locking
from simulator.tidb.engine.relation import Base, Values, held
from simulator.tidb.engine.scope import QueryScope, StatementCompilation
from simulator.tidb.engine.selects import build_query
from simulator.tidb.engine.sorting import SortKey, limited, sort_key, sorted_rows
from simulator.tidb.engine.sources import TableRelation, build_source, compile_condition, filtered
from simulator.tidb.expressions.trees import conjuncts
from simulator.tidb.exprs.compile import compile_expression
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import Limit, OrderItem, Source, WithTree

if TYPE_CHECKING:
    from simulator.tidb.engine.context import StatementContext


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
        around = with_common_tables(common, around, build_query)
    relation = build_source(source, around, build_query)
    locking = None
    if isinstance(relation, TableRelation):
        relation.locks, locking = True, Locking(relation.bases, None)
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
