"""Queries: how they are compiled to relations, as statements and as values, and which plans are kept.

The plan of columns by an integer handle is kept, and takes another integer each time (tidb
pkg/planner/core/plan_cache.go, point_get_plan.go). UPDATE and DELETE find the rows that they change by the same
plans. A subquery that names a column of the query around it runs for each row of that; any other runs once in a
statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.engine import ResultColumn, ResultSet
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.names import compile_variable
from simulator.tidb.engine.queries.access import handle_column
from simulator.tidb.engine.queries.common_tables import with_common_tables
from simulator.tidb.engine.queries.filters import Locking, TableRelation, compile_condition, hashed
from simulator.tidb.engine.queries.relation import (
    CELL_SIZE,
    CHECKED_ROWS,
    ROW_SIZE,
    Base,
    Relation,
    Rows,
    SortKey,
    Values,
    filtered,
    held,
    limited,
    sort_key,
    sorted_rows,
)
from simulator.tidb.engine.queries.results import result_column, sent
from simulator.tidb.engine.queries.selects import build_query
from simulator.tidb.engine.queries.sources import build_source
from simulator.tidb.engine.scope import TOP, Frame, QueryScope, StatementCompilation, compile_sequence, map_expression
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.settings import variable_text
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.comparisons import comparison_operands, of_today
from simulator.tidb.expressions.compile import compare_rows, compile_expression, constant, row_values
from simulator.tidb.expressions.expression import MOMENT_KINDS, Evaluate, Expression, Row, boolean
from simulator.tidb.expressions.trees import conjuncts
from simulator.tidb.model.table import Table, cached_by_table
from simulator.tidb.storage.tables import StoredTable
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import Limit, OrderItem, QueryTree, SelectTree, Source, WithTree

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
    shape: SelectTree
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
    plans, stored, shape = _kept_plans(table), context.stored(table), replace(query, where=column)
    kept = plans.get(id(query.items))
    if kept is None or kept.stored is not stored or kept.shape != shape:
        if query != SelectTree(query.items, source, where) or not _is_point_get(query, column, table):
            return None
        unread = Transaction(context.database.locks, context.database.last_ts)  # a plan outlives the session's
        reader = new_compilation(StatementContext(context.session, unread))
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
    if isinstance(query, syntax.WithTree):
        return replace(query, query=limited_query(query.query, context))
    return query if query.limit is not None else replace(query, limit=Limit(most))


def query_columns(query: QueryTree, context: StatementContext) -> tuple[ResultColumn, ...]:
    """Return the columns of a query's result. Raises SqlError."""
    return tuple(map(result_column, build_query(query, QueryScope(new_compilation(context))).fields))


class Matched(NamedTuple):
    """The rows that WHERE, ORDER BY and LIMIT of a statement select."""

    bases: tuple[Base, ...]
    """The base tables in the order of FROM. A row has the location of its row at `place`, None if an outer join has none."""

    scope: QueryScope
    """The scope of expressions over the rows."""

    rows: Callable[[StatementContext], list[Values]]
    """Reads all rows. Call it once, after all expressions are compiled."""


def match(statement: syntax.Update | syntax.Delete, compilation: StatementCompilation) -> Matched:
    """Return the rows that an UPDATE or DELETE changes. Without ORDER BY they are in the order of a scan in TiKV.

    The rows of a single table are locked, and the keys by which it is read even if there is no row (tidb
    pkg/planner/core/logical_plan_builder.go, buildUpdate). Raises SqlError.
    """
    around = QueryScope(compilation)
    if statement.common is not None:
        around = with_common_tables(statement.common, around)
    relation = build_source(statement.source, around)
    locking = None
    if isinstance(relation, TableRelation):
        relation.lock_keys()
        locking = Locking(relation.bases, None)
    scope = QueryScope(compilation, relation.fields, around)
    within, ordering = scope.within("where clause"), scope.within("order clause")
    tests = [compile_condition(node, within) for node in relation.restrict(conjuncts(statement.where), within)]
    keys = [
        SortKey(sort_key(compile_expression(item.expression, ordering)), item.descending) for item in statement.order
    ]

    def rows(context: StatementContext) -> list[Values]:
        evaluate_subqueries(compilation)
        found: Iterator[Values] = filtered(relation.rows(context), tests, context) if tests else relation.rows(context)
        if keys:
            found = iter(sorted_rows(found, keys, context))
        found = iter(limited(found, statement.limit))
        return held(found if locking is None else locking.rows(found, context), context)

    return Matched(relation.bases, scope, rows)


def evaluate_subqueries(compilation: StatementCompilation) -> None:
    """Evaluate the subqueries that do not depend on rows. Raises SqlError."""
    for evaluate in compilation.eager:
        evaluate((), compilation.context)


def new_compilation(context: StatementContext) -> StatementCompilation:
    """Return what all parts of a statement are compiled with."""
    settings = context.session.settings
    return StatementCompilation(
        variable_text(settings, "collation_connection") or "utf8mb4_bin",
        "NO_UNSIGNED_SUBTRACTION" in settings.sql_mode,
        int(variable_text(settings, "div_precision_increment")),
        context=context,
        build_query=build_query,
        compile_tree=_compile_tree,
    )


def _compile_tree(tree: Any, scope: QueryScope, operand: syntax.Node | None) -> Expression | None:
    if isinstance(tree, syntax.Subquery | syntax.Exists | syntax.Quantified):
        return compile_subquery(tree, scope, operand)
    if isinstance(tree, syntax.Variable | syntax.AssignedVariable):
        return compile_variable(tree, scope)
    return compile_sequence(tree, scope) if isinstance(tree, syntax.SequenceCall) else None


def reading_context(session: Session, now_ms: int | None = None) -> StatementContext:
    """Return the context of a statement that only reads; `now_ms` is its time, if it is not the one that runs."""
    if now_ms is not None:
        session.now_ms = now_ms
    transaction = session.transaction or Transaction(session.database.locks, session.database.last_ts)
    return StatementContext(session, transaction, transaction.start_ts)


def evaluate_alone(node: syntax.Node, context: StatementContext) -> tuple[Expression, Any]:
    """Return an expression without columns and its value. Raises SqlError."""
    compilation = new_compilation(context)
    value = compile_expression(node, QueryScope(compilation))
    evaluate_subqueries(compilation)
    return value, value.evaluate((), context)


Tree: TypeAlias = syntax.Subquery | syntax.Exists | syntax.Quantified
Fetch: TypeAlias = "Callable[[Row, StatementContext], list[Values]]"


def compile_subquery(tree: Tree, scope: QueryScope, operand: syntax.Node | None) -> Expression:
    """Return the value of a subquery; with an operand, whether that is IN its rows. Raises SqlError."""
    if isinstance(tree, syntax.Exists):
        return _exists(tree, scope)
    if isinstance(tree, syntax.Quantified):
        return boolean(_quantified(tree, scope))
    if operand is not None:
        return boolean(_in(operand, tree.query, scope))
    return _scalar(tree.query, scope)


class Subquery(NamedTuple):
    columns: Sequence[Expression]
    depends: bool
    """Whether it depends on rows of a query around it."""

    fetch: Fetch
    """Returns its rows for a row of the query around it."""


def _build(query: syntax.QueryTree, scope: QueryScope, columns: int, most: int | None = None) -> Subquery:
    """Return a subquery of so many columns, 0 for any, of which at most some rows are read. Raises SqlError 1241."""
    compilation = scope.compilation
    varying, reach, compilation.reach = compilation.varying, compilation.reach, TOP
    relation: Relation = scope.build(query)
    depends = compilation.reach <= scope.depth
    compilation.varying = varying + depends
    compilation.reach = min(reach, compilation.reach)
    if columns and len(relation.fields) != columns:
        raise sql_error(1241, columns)
    values = [field.value for field in relation.fields]
    return Subquery(values, depends, _fetch(relation.rows, depends, scope.frame, most))


def _fetch(read_rows: Rows, depends: bool, frame: Frame, most: int | None) -> Fetch:
    """Return how the rows of a subquery are read, at most some of them. What they take of the memory is free again when
    they are read for another row."""
    known: StatementContext | None = None
    found: list[Values] = []

    def read(row: Row, context: StatementContext) -> list[Values]:
        nonlocal known, found
        if depends or known is not context:
            before, frame.row, size = frame.row, row, context.held
            rows = read_rows(context)
            found = held(rows, context) if most is None else list(islice(rows, most))
            known, frame.row = context, before
            if depends:
                context.held = size
        return found

    return read


def _scalar(query: syntax.QueryTree, scope: QueryScope) -> Expression:
    columns, depends, fetch = _build(query, scope, 1, 2)

    def part(evaluate: Evaluate) -> Evaluate:
        def of_only(row: Row, context: Any) -> Any:
            rows = fetch(row, context)
            if len(rows) > 1:
                raise sql_error(1242)
            return evaluate(rows[0], context) if rows else None

        return of_only

    result = map_expression(columns[0], part)
    if depends:
        return result
    scope.compilation.eager.append(part(lambda row, context: None))
    return constant(result)


def _exists(tree: syntax.Exists, scope: QueryScope) -> Expression:
    _, depends, fetch = _build(tree.query, scope, 0, 1)

    def evaluate(row: Row, context: Any) -> bool:
        return (not fetch(row, context)) is tree.negated

    if not depends:
        scope.compilation.eager.append(evaluate)
    return boolean(evaluate)


def _in(operand: syntax.Node, query: syntax.QueryTree, scope: QueryScope) -> Evaluate:
    """Return whether values are a row of a subquery; NULL if only a NULL could make them one."""
    values = row_values(operand, scope)
    others, _, fetch = _build(query, scope, len(values))
    pairs = [pair for value, other in zip(values, others, strict=True) if (pair := hashed(value, other)) is not None]
    if len(pairs) < len(values):

        def of_null(row: Row, context: Any) -> bool | None:
            return None if fetch(row, context) else False

        return of_null
    wanted, members = [value for value, _ in pairs], [other for _, other in pairs]
    known: Any = None
    keys: set[tuple[Any, ...]] = set()
    partial: list[tuple[Any, ...]] = []

    def evaluate(row: Row, context: Any) -> bool | None:
        nonlocal known, keys, partial
        rows = fetch(row, context)
        if known is not rows:
            found = {tuple([member(each, context) for member in members]) for each in rows}
            partial = [key for key in found if None in key]
            keys, known = found.difference(partial), rows
        key = tuple([value(row, context) for value in wanted])
        if key in keys:
            return True
        unknown = any(
            all(one is None or other is None or one == other for one, other in zip(key, each, strict=True))
            for each in ([*keys, *partial] if None in key else partial)
        )
        return None if unknown else False

    return evaluate


def _of_pair(value: Expression, place: int) -> Expression:
    def of(evaluate: Evaluate) -> Evaluate:
        return lambda row, context: evaluate(row[place], context)

    return map_expression(value, of)


def _quantified(tree: syntax.Quantified, scope: QueryScope) -> Evaluate:
    """Return a comparison with ANY or ALL rows of a subquery, or with its only row."""
    values = row_values(tree.operand, scope)
    others, _, fetch = _build(tree.query, scope, len(values))
    # Pairs of a row and a row of the subquery are the rows of the comparison.
    pairs = [_of_pair(value, 0) for value in values], [_of_pair(value, 1) for value in others]
    compared, is_all = compare_rows(tree.operator, *pairs), tree.quantifier == "ALL"

    def evaluate(row: Row, context: Any) -> bool | None:
        rows = fetch(row, context)
        if not tree.quantifier and len(rows) != 1:
            if rows:
                raise sql_error(1242)
            return None
        result: bool | None = is_all
        for each in rows:
            found = compared((row, each), context)
            if found is (not is_all):
                return found
            if found is None:
                result = None
        return result

    return evaluate
