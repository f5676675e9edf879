"""Joins: for each row of the first side those of the second one, by a key of a table, by a hash of keys, or all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from simulator.tidb import syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.access import Comparison
from simulator.tidb.engine.queries.filters import (
    Lookup,
    TableRelation,
    compile_condition,
    filtered,
    hashed,
    is_movable,
    lookup,
)
from simulator.tidb.engine.queries.relation import CHECKED_ROWS, Relation, Rows, Values, materialised
from simulator.tidb.engine.scope import Field, Fields, QueryScope
from simulator.tidb.expressions.comparisons import comparison
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import Evaluate, Expression
from simulator.tidb.expressions.trees import strip_parentheses


class Equality(NamedTuple):
    """A condition of a join that a value of its first side equals a value of the second one."""

    test: Callable[[], Evaluate]
    """Compiles it for the rows of the join."""

    value: Expression
    """Of rows of the first side."""

    key: Expression
    """Of rows of the second side."""

    column: str
    """The column that `key` is, in lower case; empty if it is none."""


class JoinedRelation(Relation):
    """A join: for each row of its first side (the left one unless it is a RIGHT JOIN) those of the second one."""

    def __init__(
        self,
        left: Relation,
        right: Relation,
        kind: str,
        using: Sequence[tuple[Field, Field]],
        on: Sequence[syntax.Node],
        outer: QueryScope,
    ) -> None:
        bases = (*left.bases, *(base._replace(place=base.place + left.width) for base in right.bases))
        moved = right.fields.moved(left.width)
        super().__init__(Fields((*left.fields, *moved)), left.width + right.width, self._joined, bases)
        self.left, self.right = left, right
        self._is_outer, self._by_right = kind != "INNER", kind == "RIGHT"
        self._scope = QueryScope(outer.compilation, self.fields, outer).within("on clause")
        self._on, self._using = on, using
        if using:
            self.fields = self._merged(moved)
        self._path: Lookup = lambda row, context: ()
        self._tests: Sequence[Evaluate] = ()

    def _merged(self, moved: Fields) -> Fields:
        """Return the fields of a join with USING: each merged column comes first, and once."""
        pairs = [(one, moved[self.right.fields.index(other)]) for one, other in self._using]
        one, other = [pair[self._by_right] for pair in pairs], [pair[not self._by_right] for pair in pairs]
        rest = [*moved, *self.left.fields] if self._by_right else [*self.left.fields, *moved]
        return Fields(
            (*one, *(field._replace(hidden=field.hidden or field in other) for field in rest if field not in one))
        )

    def restrict(self, conditions: Sequence[syntax.Node], scope: QueryScope) -> Sequence[syntax.Node]:
        first = "right" if self._by_right else "left"
        on: dict[str, list[syntax.Node]] = {"left": [], "right": [], "both": []}
        where: dict[str, list[syntax.Node]] = {"left": [], "right": [], "both": [], "": []}
        for node in self._on:
            side = self._side(node, self._scope)
            on["both" if not side or self._is_outer and side == first else side].append(node)
        for node in conditions:
            side = self._side(node, scope)
            where["" if self._is_outer and side != first else side].append(node)
        for name, relation in (("left", self.left), ("right", self.right)):
            own = (scope if where[name] else self._scope).of_rows(relation.fields)
            rest = relation.restrict([*on[name], *where[name]], own)
            if rest:
                tests = [compile_condition(node, own) for node in rest]
                relation.rows = partial(_filtered_rows, relation.rows, tests)
        self._prepare([*((node, self._scope) for node in on["both"]), *((node, scope) for node in where["both"])])
        self.depends = self.left.depends or self.right.depends
        return where[""]

    def _side(self, node: syntax.Node, scope: QueryScope) -> str:
        """Return the side whose rows a condition tests: `left`, `right` or `both`; empty if it is not to be moved."""
        if not is_movable(node):
            return ""
        sides = self._sides(node, scope)
        return sides.pop() if len(sides) == 1 else "both"

    def _sides(self, node: syntax.Node, scope: QueryScope) -> set[str]:
        fields = [scope.find(part) for part in syntax.walk(node) if isinstance(part, syntax.ColumnName)]
        return {"left" if field.start < self.left.width else "right" for field in fields if field is not None}

    def _prepare(self, conditions: Sequence[tuple[syntax.Node, QueryScope]]) -> None:
        """Find the way from a row of the first side to those of the second one: by a key of a table, by a hash, or all."""
        second = self.left if self._by_right else self.right
        equalities = [self._using_equality(pair) for pair in self._using]
        tests = list[Evaluate]()
        for node, scope in conditions:
            equality = self._equality(node, scope)
            if equality is None:
                tests.append(compile_condition(node, scope))
            else:
                equalities.append(equality)
        nothing = syntax.Literal("null")
        comparisons = [Comparison(each.column, "=", [each.value], nothing) for each in equalities if each.column]
        path = second.looked_up(comparisons) if isinstance(second, TableRelation) and comparisons else None
        if path is None:
            pairs = [pair for each in equalities if (pair := hashed(each.key, each.value)) is not None]
            if pairs:
                path = lookup(second, pairs)
            else:
                read = materialised(second.rows)
                path = (
                    (lambda row, context: second.rows(context))
                    if second.depends
                    else lambda row, context: read(context)
                )
            equalities = [each for each in equalities if "null" in (each.key.kind, each.value.kind)]
        self._path, self._tests = path, [*(each.test() for each in equalities), *tests]

    def _using_equality(self, pair: tuple[Field, Field]) -> Equality:
        left, right = pair
        self._scope.compilation.varying += 1
        value, key = (right, left) if self._by_right else (left, right)

        def test() -> Evaluate:
            return comparison("=", left.value, right.read(right.start + self.left.width))

        return Equality(test, value.value, key.value, key.name.lower() if key.column else "")

    def _equality(self, node: syntax.Node, scope: QueryScope) -> Equality | None:
        if not isinstance(node, syntax.Binary) or node.operator != "=":
            return None
        parts = strip_parentheses(node.left), strip_parentheses(node.right)
        sides = [self._sides(part, scope) for part in parts]
        if not is_movable(node) or len(sides[0]) != 1 or len(sides[1]) != 1 or sides[0] == sides[1]:
            return None
        if any(isinstance(part, syntax.RowExpression) for part in parts):
            return None
        left, right = parts if sides[0] == {"left"} else (parts[1], parts[0])
        value, key = (right, left) if self._by_right else (left, right)
        first, second = (self.right, self.left) if self._by_right else (self.left, self.right)
        field = second.fields.by_name if isinstance(key, syntax.ColumnName) else None
        return Equality(
            lambda: compile_condition(node, scope),
            compile_expression(value, scope.of_rows(first.fields)),
            compile_expression(key, scope.of_rows(second.fields)),
            key.parts[-1].lower() if field is not None and isinstance(key, syntax.ColumnName) else "",
        )

    def _joined(self, context: StatementContext) -> Iterator[Values]:
        first, second = (self.right, self.left) if self._by_right else (self.left, self.right)
        path, tests, missing = self._path, self._tests, [None] * second.width
        count = 0
        for row in first.rows(context):
            found = False
            for other in path(row, context):
                count += 1
                if not count % CHECKED_ROWS:
                    context.check()
                joined = other + row if self._by_right else row + other
                if not tests or all(test(joined, context) for test in tests):
                    found = True
                    yield joined
            if not found and self._is_outer:
                yield missing + row if self._by_right else row + missing


def _filtered_rows(rows: Rows, tests: Sequence[Evaluate], context: StatementContext) -> Iterator[Values]:
    return filtered(rows(context), tests, context)
