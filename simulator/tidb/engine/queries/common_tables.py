"""WITH and set operations: tables that a query names, and UNION, EXCEPT and INTERSECT of queries.

WITH RECURSIVE has the rows of a seed, then level by level the rows that other queries compute from the level before.
The columns of a recursive table have the types of the seed (tidb pkg/planner/core/logical_plan_builder.go,
buildRecursiveCTE; pkg/executor/cte.go).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.names import source_parts
from simulator.tidb.engine.queries.filters import Filtered
from simulator.tidb.engine.queries.relation import (
    Relation,
    Selected,
    Values,
    distinct,
    distinct_key,
    export,
    held,
    materialised,
    projected,
)
from simulator.tidb.engine.queries.sources import build_source, renamed
from simulator.tidb.engine.scope import TOP, Fields, QueryScope
from simulator.tidb.engine.settings import variable_text
from simulator.tidb.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.expressions.casts import cast
from simulator.tidb.expressions.choices import common_type, convert_to
from simulator.tidb.expressions.collations import union_collation, with_collation
from simulator.tidb.expressions.comparisons import comparison_operands
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import Evaluate, Expression, apply
from simulator.tidb.expressions.texts import as_blob
from simulator.tidb.expressions.trees import strip_parentheses

CHARACTERS = re.compile(r"CHAR\((\d+)\)")


class CommonTable(NamedTuple):
    """A table of WITH."""

    relation: Relation
    reach: int
    """The least depth of a scope that it names a column of."""

    def __call__(self, scope: QueryScope) -> Relation:
        """Return its rows as they are named in a scope."""
        scope.compilation.reach = min(scope.compilation.reach, self.reach)
        return self.relation


def with_common_tables(tree: syntax.WithTree, outer: QueryScope) -> QueryScope:
    """Return a scope with the tables of WITH. Raises SqlError."""
    scope, names = outer, set[str]()
    for table in tree.tables:
        name = table.name.lower()
        if name in names:
            raise sql_error(1066, table.name)
        names.add(name)
        common = _build(table, tree.recursive, scope)
        scope = scope.changed(common={**scope.common, name: common})
    return scope


def _build(table: syntax.CommonTable, recursive: bool, scope: QueryScope) -> CommonTable:
    compilation = scope.compilation
    reach, compilation.reach = compilation.reach, TOP
    if recursive and _references(table.query, table.name):
        relation = Recursion(table, scope).relation()
    else:
        relation = renamed(scope.build(table.query), table.name, table.columns)
    own, compilation.reach = compilation.reach, min(reach, compilation.reach)
    if own <= scope.depth:
        relation.depends = True
    else:
        read = materialised(relation.rows)
        relation.rows = lambda context: iter(read(context))
    return CommonTable(relation, own)


# -- the parts of a recursive table ------------------------------------------------------------------------------------


class RecursiveParts(NamedTuple):
    seed: syntax.QueryTree
    steps: tuple[syntax.SelectTree, ...]
    """Each names the table once."""

    distinct: bool
    limit: syntax.Limit | None


def split_recursive(table: syntax.CommonTable) -> RecursiveParts:
    """Split a table into its parts. Raises SqlError for what TiDB does not accept."""
    tree, steps, operators = table.query, list[syntax.QueryTree](), list[str]()
    while isinstance(tree, syntax.SetOperation) and _references(tree.right, table.name):
        steps.insert(0, tree.right)
        operators.append(tree.operator)
        tree = tree.left
    if _references(tree, table.name):
        if not isinstance(table.query, syntax.SetOperation):
            raise sql_error_with_text(3573, f"Recursive Common Table Expression '{table.name}' should contain a UNION")
        raise sql_error_with_text(
            3574,
            f"Recursive Common Table Expression '{table.name}' should have one or more non-recursive"
            " query blocks followed by one or more recursive ones",
        )
    assert isinstance(table.query, syntax.SetOperation), "something of it names the table, and something does not"
    for operator in operators:
        if operator not in ("UNION", "UNION ALL"):
            raise sql_error(
                1235,
                f"{operator} between seed part and recursive part, hint: The operator between seed part"
                " and recursive part must bu UNION[DISTINCT] or UNION ALL",
            )
    if table.query.order:
        raise sql_error(1235, "ORDER BY over UNION in recursive Common Table Expression")
    checked = tuple(_check_step(step, table.name) for step in steps)
    return RecursiveParts(tree, checked, "UNION" in operators, table.query.limit)


def _check_step(tree: syntax.QueryTree, named: str) -> syntax.SelectTree:
    """Return one recursive query block. Raises SqlError for clauses that it may not have."""
    if not isinstance(tree, syntax.SelectTree):
        raise not_simulated(
            "a recursive part in parentheses of several queries is not computed; queries side by side are"
        )
    block = f"In recursive query block of Recursive Common Table Expression '{named}', the recursive table must "
    if _references(tree, named) != 1 or tree.source is None or not _in_from(tree.source, named):
        raise sql_error_with_text(3577, f"{block}be referenced only once, and not in any subquery")
    if tree.group_by or any(
        isinstance(part, syntax.Aggregate | syntax.WindowFunction) for part in syntax.parts_of(tree)
    ):
        raise sql_error_with_text(
            3575,
            f"Recursive Common Table Expression '{named}' can contain neither aggregation nor window"
            " functions in recursive query block",
        )
    if _is_optional(tree.source, named):
        raise sql_error_with_text(
            3576,
            f"{block}neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with"
            " join order hints",
        )
    if tree.distinct or tree.order or tree.limit:
        raise sql_error(1235, "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression")
    return tree


def _references(tree: object, named: str) -> int:
    return sum(isinstance(part, syntax.TableSource) and _is_reference(part, named) for part in syntax.parts_of(tree))


def _is_reference(source: syntax.TableSource, named: str) -> bool:
    return not source.name.schema and source.name.name.lower() == named.lower()


def _in_from(source: syntax.Source, named: str) -> bool:
    return any(isinstance(part, syntax.TableSource) and _is_reference(part, named) for part in source_parts(source))


def _is_optional(source: syntax.Source, named: str) -> bool:
    """Return whether an outer join may have no row of the table."""
    if not isinstance(source, syntax.Join):
        return False
    aside = {"LEFT": source.right, "RIGHT": source.left}.get(source.kind)
    return (
        aside is not None
        and _in_from(aside, named)
        or (_is_optional(source.left, named) or _is_optional(source.right, named))
    )


# -- recursion ---------------------------------------------------------------------------------------------------------


class Recursion:
    """The evaluation of a recursive table."""

    def __init__(self, table: syntax.CommonTable, scope: QueryScope) -> None:
        """Raises SqlError."""
        self._parts = parts = split_recursive(table)
        self._name = table.name
        seed = scope.build(parts.seed)
        names = table.columns or tuple(field.name for field in seed.fields)
        if len(names) != len(seed.fields):
            raise sql_error(1353)
        types = list(zip((field.value for field in seed.fields), _lengths(parts.seed, scope, len(names)), strict=True))
        self._fields, self._seed = self._converted(names, seed, types)
        self._level: list[Values] = []
        current = Filtered(self._fields, len(self._seed[1]), lambda context: iter(self._level))
        current.depends = True
        inner = scope.changed(common={**scope.common, table.name.lower(): CommonTable(current, TOP)})
        self._steps = []
        for step in parts.steps:
            relation = inner.build(step)
            if len(relation.fields) != len(names):
                raise sql_error(1222)
            self._steps.append(self._converted(names, relation, types)[1])
        self._keys = [distinct_key(field.value) for field in self._fields]
        settings = scope.context.session.settings
        self._most = int(variable_text(settings, "cte_max_recursion_depth") or 0)

    def relation(self) -> Relation:
        return renamed(Relation(self._fields, len(self._seed[1]), self._rows), self._name, ())

    def _converted(
        self, names: Sequence[str], relation: Relation, types: Sequence[tuple[Expression, int | None]]
    ) -> tuple[Fields, tuple[Relation, list[Evaluate]]]:
        """Return the fields of a relation, and how its rows are made, in the types of the seed."""
        columns = [
            Selected(name, _as_type(field.value, *type))
            for name, field, type in zip(names, relation.fields, types, strict=True)
        ]
        fields, makers = export(columns)
        return fields, (relation, makers)

    def _rows(self, context: StatementContext) -> Iterator[Values]:
        """Yield the rows of all levels. Raises SqlError 3636 for too many."""
        limit, known = self._parts.limit, set[Any]()
        found: list[Values] = []
        needed = None if limit is None else limit.offset + limit.count
        parts, level = [self._seed], 0
        while True:
            rows: list[Values] = []
            for relation, makers in parts:
                rows += held(projected(relation.rows(context), makers, context), context)
            if self._parts.distinct:
                rows = list(self._new(rows, known, context))
            found += rows
            if not rows or not self._steps or needed is not None and len(found) >= needed:
                break
            level += 1
            if level > self._most:
                raise sql_error(3636, level)
            self._level, parts = rows, self._steps
        return iter(found if limit is None else found[limit.offset : limit.offset + limit.count])

    def _new(self, rows: Sequence[Values], known: set[Any], context: StatementContext) -> Iterator[Values]:
        for row in rows:
            key = tuple([key(row, context) for key in self._keys])
            if key not in known:
                known.add(key)
                yield row


def _as_type(value: Expression, seed: Expression, length: int | None) -> Expression:
    """Return a value in the type of a column of the seed."""
    if seed.kind == "null":
        return seed
    return replace(
        seed, evaluate=_converted(value, seed, length), text=None, number=None, constant=None, is_constant=False
    )


def _converted(value: Expression, seed: Expression, length: int | None) -> Evaluate:
    if value.kind == "null":
        return value.evaluate
    if seed.kind in ("bool", "int", "uint"):
        return cast(value, "UNSIGNED" if seed.kind == "uint" else "SIGNED").evaluate
    if seed.kind == "decimal":
        return cast(value, f"DECIMAL({seed.digits or 65}, {seed.scale})").evaluate
    if seed.kind == "string" and seed.is_binary:
        return apply(lambda blob: blob.decode("latin-1"), as_blob(value))
    if seed.kind == "string":
        text = as_text(value)
        return text if length is None else apply(lambda shown: shown[:length], text)
    digits = f"({seed.scale})" if seed.kind in ("datetime", "time") and seed.scale else ""
    return cast(value, {"real": "DOUBLE"}.get(seed.kind, seed.kind.upper()) + digits).evaluate


def _lengths(tree: syntax.QueryTree, scope: QueryScope, columns: int) -> list[int | None]:
    """Return the maximum number of characters of the seed's texts, if a literal, a cast or a column defines it."""
    if isinstance(tree, syntax.SetOperation):
        sides = [_lengths(side, scope, columns) for side in (tree.left, tree.right)]
        return [None if None in pair else max(pair) for pair in zip(*sides, strict=True)]
    if not isinstance(tree, syntax.SelectTree) or not all(isinstance(item, syntax.SelectItem) for item in tree.items):
        return [None] * columns
    nodes = [strip_parentheses(item.expression) for item in tree.items if isinstance(item, syntax.SelectItem)]
    fields = Fields()
    if tree.source is not None and any(isinstance(node, syntax.ColumnName) for node in nodes):
        fields = build_source(tree.source, scope).fields
    own = QueryScope(scope.compilation, fields)
    return [_length(node, own) for node in nodes]


def _length(node: syntax.Node, scope: QueryScope) -> int | None:
    if isinstance(node, syntax.Literal) and node.kind == "string":
        return len(node.text)
    if isinstance(node, syntax.Cast):
        match = CHARACTERS.match(node.type)
        return int(match[1]) if match else None
    field = scope.find(node) if isinstance(node, syntax.ColumnName) else None
    if field is None or field.column is None or field.column.type.name not in ("char", "varchar"):
        return None
    return int(field.column.type.length)


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
    keys = [distinct_key(field.value) for field in fields]

    def rows(context: StatementContext) -> Iterator[Values]:
        found = chain.from_iterable(
            projected(side.rows(context), make, context) for side, make in zip(sides, makers, strict=True)
        )
        return found if tree.operator == "UNION ALL" else distinct(found, keys, context)

    relation = Filtered(fields, len(makers[0]), rows)
    relation.depends = any(side.depends for side in sides)
    return relation


def _sides(tree: syntax.SetOperation) -> list[syntax.QueryTree]:
    """Return the queries of a chain of UNIONs, which leans to the left."""
    left, operator = tree.left, tree.operator
    if isinstance(left, syntax.SetOperation) and left.operator == operator and operator.startswith("UNION"):
        if not left.order and left.limit is None:
            return [*_sides(left), tree.right]
    return [left, tree.right]


def _common_value(values: Sequence[Expression]) -> Expression:
    """Return a NULL of the type of a column, which is BIT if it is that of all queries (tidb pkg/planner/core
    unionJoinFieldType)."""
    kind = common_type(values)
    types = [value.column_type for value in values if value.kind != "null" and value.is_column]
    bits = [type for type in types if type is not None and type.name == "bit"]
    if bits and len(bits) == sum(value.kind != "null" for value in values):
        return replace(kind, column_type=max(bits, key=lambda type: type.length), is_column=True)
    return with_collation(kind, union_collation(values)) if kind.kind == "string" else kind


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


_COMPARISONS: dict[str, tuple[Callable[[int], bool], bool]] = {
    "EXCEPT": (lambda count: not count, False),
    "EXCEPT ALL": (lambda count: not count, True),
    "INTERSECT": (bool, False),
    "INTERSECT ALL": (bool, True),
}
"""Which rows are kept, and whether equal ones are kept apart."""
