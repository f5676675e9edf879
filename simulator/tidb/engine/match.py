"""The rows that an UPDATE or a DELETE changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.tidb import syntax
from simulator.tidb.engine.common_tables import with_common_tables
from simulator.tidb.engine.locking import Locking
from simulator.tidb.engine.relation import Relation, Values
from simulator.tidb.engine.scope import QueryScope, StatementCompilation, new_compilation
from simulator.tidb.engine.selects import build_query
from simulator.tidb.engine.sorting import SortKey, limited, sort_key, sorted_rows
from simulator.tidb.engine.sources import TableRelation, build_source, compile_condition, filtered
from simulator.tidb.expressions.trees import conjuncts
from simulator.tidb.exprs.compile import compile_expression

if TYPE_CHECKING:
    from simulator.tidb.engine.context import StatementContext


def match(statement: syntax.Update | syntax.Delete, context: StatementContext) -> tuple[Relation, QueryScope]:
    """Return the rows that WHERE, ORDER BY and LIMIT select, and the scope of expressions over them.

    Without ORDER BY they are in the order of a scan in TiKV. The rows of a single table are locked when they are read, and
    the keys by which they are read even if there is no row (tidb pkg/planner/core/logical_plan_builder.go, buildUpdate).
    Read them once, after all expressions are compiled. Raises SqlError.
    """
    compilation, source = new_compilation(context), statement.source
    around = QueryScope(compilation)
    if statement.common is not None:
        around = with_common_tables(statement.common, around, build_query)
    if isinstance(statement, syntax.Delete) and statement.partitions and isinstance(source, syntax.TableSource):
        source = replace(source, partitions=statement.partitions)
    relation = build_source(source, around, build_query)
    locking = None
    if isinstance(relation, TableRelation):
        relation.locks, locking = True, Locking(relation.bases, None)
    scope = QueryScope(compilation, relation.fields, around)
    where, ordering = scope.within("where clause"), scope.within("order clause")
    tests = [compile_condition(node, where) for node in relation.restrict(conjuncts(statement.where), where)]
    keys = [
        SortKey(sort_key(compile_expression(item.expression, ordering)), item.descending) for item in statement.order
    ]

    def rows(context: StatementContext) -> Iterator[Values]:
        evaluate_subqueries(compilation)
        found: Iterator[Values] = filtered(relation.rows(context), tests, context) if tests else relation.rows(context)
        if keys:
            found = iter(sorted_rows(found, keys, context))
        found = iter(limited(found, statement.limit))
        return found if locking is None else locking.rows(found, context)

    return Relation(relation.fields, relation.width, rows, relation.bases), scope


def evaluate_subqueries(compilation: StatementCompilation) -> None:
    """Evaluate the subqueries that do not depend on rows. Raises SqlError."""
    for evaluate in compilation.eager:
        evaluate((), compilation.context)
