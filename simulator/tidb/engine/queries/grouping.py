"""GROUP BY: the row of a group is its first source row, and behind it the list of the results of aggregate functions.

WITH ROLLUP has groups by fewer and fewer keys, too. In their rows the other keys are NULL, and the number of keys follows
the results (tidb pkg/executor/expand.go).

With ONLY_FULL_GROUP_BY a value that may differ within the group is refused, as in TiDB
(pkg/planner/core/logical_plan_builder.go, checkOnlyFullGroupBy).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simulator.tidb import syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.aggregates import Start, compile_aggregate
from simulator.tidb.engine.queries.relation import CELL_SIZE, ROW_SIZE, Values, distinct_key
from simulator.tidb.engine.scope import Field, Known, QueryScope, map_expression
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.expression import Evaluate, Expression
from simulator.tidb.expressions.trees import conjuncts, strip_parentheses
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.expressions import Binary, Call, ColumnName, Literal, Node
from simulator.tidb.syntax.queries import Aggregate

MIXED = (
    "In aggregated query without GROUP BY, expression #{} of SELECT list contains nonaggregated column '{}'; this is"
    " incompatible with sql_mode=only_full_group_by"
)

GROUP_SIZE = 300
"""About the bytes of the state of an aggregate function."""


class Grouping:
    """A query with groups: the keys and the aggregate functions that its clauses name."""

    def __init__(
        self, tree: syntax.SelectTree, scope: QueryScope, width: int, keys: Sequence[tuple[Node, Expression]]
    ) -> None:
        """`width` is that of the source rows."""
        self._scope, self._width = scope, width
        self._whole, self.rollup = not tree.group_by, tree.rollup
        """Whether all rows are one group; whether there are groups by fewer keys, too."""

        self._keys = [distinct_key(value) for _, value in keys]
        self._known = [(node, self._rolled(place, value)) for place, (node, value) in enumerate(keys)]
        self._aggregates: dict[Aggregate, Expression] = {}
        self._starts: list[Start] = []
        self._checks = "ONLY_FULL_GROUP_BY" in scope.context.session.settings.sql_mode
        self._named = [scope.find(node) if isinstance(node, ColumnName) else None for node, _ in keys]
        where = scope.within("where clause")
        self._fixed = [*(field for field in self._named if field is not None), *_constant_columns(tree.where, where)]
        equal = _equal_columns(tree, where)
        for _ in equal:
            self._fixed += [other for one, other in equal if one in self._fixed and other not in self._fixed]
        self.place = "SELECT list", 1
        """The clause that asks, and the number of its expression."""

    def scope(self) -> QueryScope:
        """Return the scope of expressions over the groups."""
        return self._scope.changed(aggregate=self.aggregate, check=self.check)

    def known(self, node: Node) -> Node | None:
        """Return the value of an expression of GROUP BY, or None. Raises SqlError 3602."""
        if self.rollup and isinstance(node, Call) and node.name == "GROUPING":
            return Known(self._grouping_function(node))
        place = self._place_of(node)
        return None if place is None else Known(self._known[place][1])

    def _place_of(self, node: Node) -> int | None:
        """Return the place of an expression in GROUP BY."""
        for place, (key, _) in enumerate(self._known):
            if key == node:
                return place
        if not self.rollup or not isinstance(node, ColumnName) or (field := self._scope.find(node)) is None:
            return None
        return self._named.index(field) if field in self._named else None

    def _rolled(self, place: int, value: Expression) -> Expression:
        """Return the value of a key in the rows of groups."""
        width = self._width

        def of_group(evaluate: Evaluate) -> Evaluate:
            return lambda row, context: evaluate(row, context) if place < row[width][-1] else None

        return map_expression(value, of_group) if self.rollup else value

    def _grouping_function(self, node: Call) -> Expression:
        """Return GROUPING(…): a bit for each argument, 1 in the rows of groups without it."""
        places, width = [], self._width
        for number, argument in enumerate(node.arguments):
            place = self._place_of(strip_parentheses(argument))
            if place is None:
                raise sql_error(3602, number)
            places.append(place)
        self._scope.compilation.varying += 1

        def evaluate(row: Sequence[Any], context: Any) -> int:
            bits = 0
            for place in places:
                bits = bits << 1 | (place >= row[width][-1])
            return bits

        return Expression(evaluate, "int")

    def aggregate(self, tree: Aggregate) -> Expression:
        """Return the value of an aggregate function for each group."""
        if tree not in self._aggregates:
            aggregation = compile_aggregate(tree, self._scope)
            number, width = len(self._starts), self._width
            self._starts.append(aggregation.start)

            def of_group(evaluate: Evaluate) -> Evaluate:
                return lambda row, context: evaluate(row[width][number], context)

            self._aggregates[tree] = map_expression(aggregation.value, of_group)
        self._scope.compilation.varying += 1
        return self._aggregates[tree]

    def check(self, field: Field) -> None:
        """Refuse a column that has several values in a group. Raises SqlError 1055, 8123."""
        if not self._checks or field in self._fixed:
            return
        if field.base is not None and self._has_key(field.base, field.table, field.schema):
            return
        clause, number = self.place
        if self._whole:
            raise sql_error_with_text(8123, MIXED.format(number, field.name))
        schema = field.schema or self._scope.database
        name = f"{schema}.{field.table}.{field.name}" if field.table else field.name
        raise sql_error(1055, number, clause, "" if clause == "ORDER BY" else name)

    def _has_key(self, table: Table, alias: str, schema: str) -> bool:
        """Return whether the fixed columns contain a key of a base table."""
        names = {each.name.lower() for each in self._fixed if (each.table, each.schema) == (alias, schema)}
        unique = [table.primary_key] if table.primary_key else []
        required = {column.name for column in table.columns if column.not_null}
        unique += [
            tuple(part.name for part in index.columns)
            for index in table.indexes
            if index.unique and all(part.name in required and part.length < 0 for part in index.columns)
        ]
        return any(names >= {part.lower() for part in columns} for columns in unique)

    def rows(self, rows: Iterator[Values], context: StatementContext) -> Iterator[Values]:
        """Yield a row for each group, in the order of their first rows."""
        groups: dict[tuple[Any, ...], tuple[Values, list[Any], list[Any]]] = {}
        keys = self._keys
        for row in rows:
            whole = tuple([key(row, context) for key in keys])
            for key in [whole[:count] for count in range(len(whole), -1, -1)] if self.rollup else (whole,):
                group = groups.get(key)
                if group is None:
                    context.hold(ROW_SIZE + CELL_SIZE * len(row) + GROUP_SIZE * len(self._starts))
                    group = groups[key] = self._start(row, context)
                for add in group[1]:
                    add(row)
        if self._whole and not groups:
            groups[()] = self._start([None] * self._width, context)
        for key, (row, _, results) in groups.items():
            yield [*row, [*[result() for result in results], len(key)]]

    def _start(self, row: Values, context: StatementContext) -> tuple[Values, list[Any], list[Any]]:
        states = [start(context) for start in self._starts]
        return row, [add for add, _ in states], [result for _, result in states]


def _constant_columns(where: Node | None, scope: QueryScope) -> list[Field]:
    """Return the columns for which a condition allows one value: `a = 1 AND …`."""
    fields: list[Field] = []
    for node in conjuncts(where):
        if isinstance(node, Binary) and node.operator == "=":
            left, right = strip_parentheses(node.left), strip_parentheses(node.right)
            for side, other in ((left, right), (right, left)):
                if isinstance(side, ColumnName) and isinstance(other, Literal) and (field := scope.find(side)):
                    fields.append(field)
    return fields


def _equal_columns(tree: syntax.SelectTree, scope: QueryScope) -> list[tuple[Field, Field]]:
    """Return pairs of columns, in both orders, that are equal in all rows of a query: `t.a = s.a`, USING (a)."""
    pairs = []
    for node in [*conjuncts(tree.where), *_join_conditions(tree.source)]:
        if isinstance(node, Binary) and node.operator == "=":
            left, right = strip_parentheses(node.left), strip_parentheses(node.right)
            if isinstance(left, ColumnName) and isinstance(right, ColumnName):
                pairs.append((scope.find(left), scope.find(right)))
    for field in scope.fields:
        if field.hidden:
            pairs += [(field, other) for other in scope.fields.by_name[field.name.lower()] if not other.hidden]
    found = [(one, other) for one, other in pairs if one is not None and other is not None]
    return [*found, *((other, one) for one, other in found)]


def _join_conditions(source: syntax.Source | None) -> Iterator[Node]:
    """Yield the conditions of inner joins."""
    if isinstance(source, syntax.Join):
        yield from _join_conditions(source.left)
        yield from _join_conditions(source.right)
        if source.kind == "INNER":
            yield from conjuncts(source.on)
