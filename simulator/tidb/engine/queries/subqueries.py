"""Subqueries as values: scalar ones, IN, EXISTS, ANY and ALL.

One that names a column of the query around it runs for each row of that; any other runs once in a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, TypeAlias

from simulator.tidb import syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.relation import Relation, Values, held
from simulator.tidb.engine.scope import TOP, QueryScope, map_expression
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.comparisons import comparison_operands, of_today
from simulator.tidb.expressions.compile import compare_rows, constant, row_values
from simulator.tidb.expressions.expression import MOMENT_KINDS, Evaluate, Expression, Row, boolean

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


def _build(query: syntax.QueryTree, scope: QueryScope, columns: int) -> tuple[Relation, bool]:
    """Return a subquery, and whether it depends on rows of a query around it. Raises SqlError 1241."""
    compilation = scope.compilation
    varying, reach, compilation.reach = compilation.varying, compilation.reach, TOP
    relation: Relation = scope.build(query)
    depends = compilation.reach <= scope.depth
    compilation.varying = varying + depends
    compilation.reach = min(reach, compilation.reach)
    if columns and len(relation.fields) != columns:
        raise sql_error(1241, columns)
    return relation, depends


def _fetch(relation: Relation, depends: bool, scope: QueryScope, most: int | None = None) -> Fetch:
    """Return how the rows of a subquery are read, at most some of them. What they take of the memory is free again when
    they are read for another row."""
    known: StatementContext | None = None
    found: list[Values] = []
    frame = scope.frame

    def read(row: Row, context: StatementContext) -> list[Values]:
        nonlocal known, found
        if depends or known is not context:
            before, frame.row, size = frame.row, row, context.held
            rows = relation.rows(context)
            found = held(rows, context) if most is None else list(islice(rows, most))
            known, frame.row = context, before
            if depends:
                context.held = size
        return found

    return read


def _scalar(query: syntax.QueryTree, scope: QueryScope) -> Expression:
    relation, depends = _build(query, scope, 1)
    fetch = _fetch(relation, depends, scope, 2)

    def part(evaluate: Evaluate) -> Evaluate:
        def of_only(row: Row, context: Any) -> Any:
            rows = fetch(row, context)
            if len(rows) > 1:
                raise sql_error(1242)
            return evaluate(rows[0], context) if rows else None

        return of_only

    result = map_expression(relation.fields[0].value, part)
    if depends:
        return result
    scope.compilation.eager.append(part(lambda row, context: None))
    return constant(result)


def _exists(tree: syntax.Exists, scope: QueryScope) -> Expression:
    relation, depends = _build(tree.query, scope, 0)
    fetch, negated = _fetch(relation, depends, scope, 1), tree.negated

    def evaluate(row: Row, context: Any) -> bool:
        return (not fetch(row, context)) is negated

    if not depends:
        scope.compilation.eager.append(evaluate)
    return boolean(evaluate)


def _in(operand: syntax.Node, query: syntax.QueryTree, scope: QueryScope) -> Evaluate:
    """Return whether values are a row of a subquery; NULL if only a NULL could make them one."""
    values = row_values(operand, scope)
    relation, depends = _build(query, scope, len(values))
    fetch = _fetch(relation, depends, scope)
    others = [field.value for field in relation.fields]
    if any("null" in (value.kind, other.kind) for value, other in zip(values, others, strict=True)):

        def of_null(row: Row, context: Any) -> bool | None:
            return None if fetch(row, context) else False

        return of_null
    pairs = []
    for value, other in zip(values, others, strict=True):
        if any(each.kind in MOMENT_KINDS for each in (value, other)):
            value, other = of_today(value), of_today(other)
        pairs.append(comparison_operands(value, other))
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
        if None in key:
            partial_keys: Sequence[tuple[Any, ...]] = [*keys, *partial]
        else:
            partial_keys = partial
        unknown = any(
            all(one is None or other is None or one == other for one, other in zip(key, each, strict=True))
            for each in partial_keys
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
    relation, depends = _build(tree.query, scope, len(values))
    fetch = _fetch(relation, depends, scope)
    # Pairs of a row and a row of the subquery are the rows of the comparison.
    pairs = [_of_pair(value, 0) for value in values], [_of_pair(field.value, 1) for field in relation.fields]
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
