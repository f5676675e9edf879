"""UNION, EXCEPT and INTERSECT, and the keys by which rows are sorted and told apart.

ORDER BY, GROUP BY and DISTINCT use the same keys: values that are equal in TiDB have equal keys, and smaller values
have smaller keys. NULL comes first.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from simulator.tidb import syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.filters import Filtered
from simulator.tidb.engine.queries.relation import Relation, Selected, Values, export, held, projected
from simulator.tidb.engine.scope import QueryScope
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.choices import common_type, convert_to
from simulator.tidb.expressions.collations import union_collation, with_collation
from simulator.tidb.expressions.comparisons import comparison_operands
from simulator.tidb.expressions.expression import Evaluate, Expression, replace
from simulator.tidb.expressions.json_documents import json_key
from simulator.tidb.expressions.texts import compared_text
from simulator.tidb.syntax.queries import Limit


def build_set_operation(tree: syntax.SetOperation, outer: QueryScope) -> Relation:
    """Return the rows of a set operation: of UNION in the common types of its columns. Raises SqlError 1222."""
    sides = [outer.build(side) for side in _sides(tree)]
    if len({len(side.fields) for side in sides}) > 1:
        raise sql_error(1222)
    if tree.operator in _COMPARISONS:
        left, right = sides
        return _compared(left, right, *_COMPARISONS[tree.operator])
    columns = list(zip(*([field.value for field in side.fields] for side in sides), strict=True))
    kinds = [_common_value(values) for values in columns]
    converted = [
        [
            Selected(field.name, replace(kind, evaluate=convert_to(field.value, kind), text=None, number=None))
            for field, kind in zip(side.fields, kinds, strict=True)
        ]
        for side in sides
    ]
    fields, _ = export(converted[0])
    makers = [export(each)[1] for each in converted]
    combine, keys = _OPERATIONS[tree.operator], [distinct_key(field.value) for field in fields]

    def rows(context: StatementContext) -> Iterator[Values]:
        parts = [projected(side.rows(context), make, context) for side, make in zip(sides, makers, strict=True)]
        return combine(parts, keys, context)

    relation = Filtered(fields, len(makers[0]), rows)
    relation.depends = any(side.depends for side in sides)
    return relation


def _sides(tree: syntax.SetOperation) -> list[syntax.QueryTree]:
    """Return the queries of a chain of UNIONs, which leans to the left."""
    left = tree.left
    same = (
        isinstance(left, syntax.SetOperation)
        and left.operator == tree.operator
        and tree.operator.startswith("UNION")
        and (not left.order and left.limit is None)
    )
    return [*(_sides(left) if same and isinstance(left, syntax.SetOperation) else [left]), tree.right]


def _common_value(values: Sequence[Expression]) -> Expression:
    """Return a NULL of the type of a column, which is BIT if it is that of all queries (tidb pkg/planner/core
    unionJoinFieldType)."""
    kind = common_type(values)
    types = [value.column_type for value in values if value.kind != "null" and value.is_column]
    bits = [type for type in types if type is not None and type.name == "bit"]
    if bits and len(bits) == sum(value.kind != "null" for value in values):
        return replace(kind, column_type=max(bits, key=lambda type: type.length), is_column=True)
    return with_collation(kind, union_collation(values)) if kind.kind == "string" else kind


Parts = Sequence[Iterator[Values]]


def _keyed(
    rows: Iterator[Values], keys: Sequence[Evaluate], context: StatementContext
) -> Iterator[tuple[tuple[Any, ...], Values]]:
    for row in rows:
        yield tuple([key(row, context) for key in keys]), row


def union_all(parts: Parts, keys: Sequence[Evaluate], context: StatementContext) -> Iterator[Values]:
    for part in parts:
        yield from part


def union(parts: Parts, keys: Sequence[Evaluate], context: StatementContext) -> Iterator[Values]:
    """Yield each row that has not been there before."""
    known = set()
    for key, row in _keyed(union_all(parts, keys, context), keys, context):
        if key not in known:
            context.hold(100)
            known.add(key)
            yield row


def _compared(left: Relation, right: Relation, is_kept: Callable[[int], bool], is_all: bool) -> Relation:
    """Return the rows of the first query that EXCEPT or INTERSECT keeps, given which are kept by how often the second one
    has them still. They are compared as `<=>` does (tidb pkg/planner/core/logical_plan_builder.go, buildIntersect)."""
    pairs = [
        (one.value.evaluate, other.value.evaluate)
        if "null" in (one.value.kind, other.value.kind)
        else comparison_operands(one.value, other.value)
        for one, other in zip(left.fields, right.fields, strict=True)
    ]

    def rows(context: StatementContext) -> Iterator[Values]:
        counts = Counter(tuple([key(row, context) for _, key in pairs]) for row in right.rows(context))
        context.hold(100 * len(counts))
        known = set()
        for row in left.rows(context):
            key = tuple([key(row, context) for key, _ in pairs])
            if is_kept(counts[key]) and (is_all or key not in known):
                yield row
                known.add(key)
            if is_all and counts[key]:
                counts[key] -= 1

    relation = Filtered(left.fields, left.width, rows)
    relation.depends = left.depends or right.depends
    return relation


_OPERATIONS: dict[str, Callable[[Parts, Sequence[Evaluate], StatementContext], Iterator[Values]]] = {
    "UNION ALL": union_all,
    "UNION": union,
}

_COMPARISONS: dict[str, tuple[Callable[[int], bool], bool]] = {
    "EXCEPT": (lambda count: not count, False),
    "EXCEPT ALL": (lambda count: not count, True),
    "INTERSECT": (bool, False),
    "INTERSECT ALL": (bool, True),
}
"""Which rows are kept, and whether equal ones are kept apart."""


T = TypeVar("T")


class SortKey(NamedTuple):
    evaluate: Evaluate
    descending: bool = False


def sort_key(value: Expression) -> Evaluate:
    """Return the key by which a value is sorted; None for NULL."""
    if value.kind == "string" and value.number is not None and value.column_type is not None:
        return value.number
    return distinct_key(value)


def distinct_key(value: Expression) -> Evaluate:
    """Return the key by which a value is compared with others; None for NULL."""
    if value.kind == "string" and not value.is_binary:
        return compared_text(value, value.evaluate, value.collation)
    return json_key(value) if value.kind == "json" else value.evaluate


def _of_pairs(place: int) -> Callable[[tuple[Sequence[Any], Any]], tuple[bool, Any]]:
    def key(pair: tuple[Sequence[Any], Any]) -> tuple[bool, Any]:
        value = pair[0][place]
        return value is not None, value

    return key


def sorted_by(pairs: list[tuple[Sequence[Any], T]], descending: Sequence[bool]) -> list[T]:
    """Sort pairs of keys and objects, and return the objects; those with equal keys stay in their order."""
    for place in reversed(range(len(descending))):
        pairs.sort(key=_of_pairs(place), reverse=descending[place])
    return [each for _, each in pairs]


def sorted_rows(rows: Iterator[Values], keys: Sequence[SortKey], context: StatementContext) -> list[Values]:
    found = held(rows, context)
    pairs: list[tuple[Sequence[Any], Values]] = [([key.evaluate(row, context) for key in keys], row) for row in found]
    return sorted_by(pairs, [key.descending for key in keys])


def limited(rows: Iterable[T], limit: Limit | None) -> Iterable[T]:
    return rows if limit is None else islice(rows, limit.offset, min(limit.offset + limit.count, sys.maxsize))
