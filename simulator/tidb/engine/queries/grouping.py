"""GROUP BY: the row of a group is its first source row, and behind it the list of the results of aggregate functions.

With ONLY_FULL_GROUP_BY a value that may differ within the group is refused, as in TiDB
(pkg/planner/core/logical_plan_builder.go, checkOnlyFullGroupBy).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from simulator.errors import SqlError
from simulator.tidb.engine.queries.aggregates import Start, compile_aggregate
from simulator.tidb.engine.queries.relation import CELL_SIZE, ROW_SIZE, Relation, Values
from simulator.tidb.engine.queries.sorting import distinct_key
from simulator.tidb.engine.scopes.scope import Field, Known, QueryScope, map_expression
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.expression import Evaluate, Expression
from simulator.tidb.expressions.trees import conjuncts, strip_parentheses
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.expressions import Binary, ColumnName, Literal, Node
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
        self,
        scope: QueryScope,
        source: Relation,
        keys: Sequence[tuple[Node, Expression]],
        constant: Collection[Field],
        whole: bool,
    ) -> None:
        """`constant` are fields that have one value in all rows; `whole` is whether all rows are one group."""
        self._scope, self._width, self._whole = scope, source.width, whole
        self._keys = [distinct_key(value) for _, value in keys]
        self._known = list(keys)
        self._aggregates: dict[Aggregate, Expression] = {}
        self._starts: list[Start] = []
        self._checks = "ONLY_FULL_GROUP_BY" in scope.context.session.settings.sql_mode
        named = [scope.find(node) for node, _ in keys if isinstance(node, ColumnName)]
        self._fixed = [*(field for field in named if field is not None), *constant]
        self.place = "SELECT list", 1
        """The clause that asks, and the number of its expression."""

    def scope(self) -> QueryScope:
        """Return the scope of expressions over the groups."""
        return self._scope.changed(aggregate=self.aggregate, check=self.check)

    def known(self, node: Node) -> Node | None:
        """Return the value of an expression of GROUP BY, or None."""
        return next((Known(value) for key, value in self._known if key == node), None)

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
            key = tuple([key(row, context) for key in keys])
            group = groups.get(key)
            if group is None:
                context.hold(ROW_SIZE + CELL_SIZE * len(row) + GROUP_SIZE * len(self._starts))
                group = groups[key] = self._start(row, context)
            for add in group[1]:
                add(row)
        if self._whole and not groups:
            groups[()] = self._start([None] * self._width, context)
        for row, _, results in groups.values():
            yield [*row, [result() for result in results]]

    def _start(self, row: Values, context: StatementContext) -> tuple[Values, list[Any], list[Any]]:
        states = [start(context) for start in self._starts]
        return row, [add for add, _ in states], [result for _, result in states]


def constant_columns(where: Node | None, scope: QueryScope) -> list[Field]:
    """Return the columns for which a condition allows one value: `a = 1 AND …`."""
    fields: list[Field] = []
    for node in conjuncts(where):
        if isinstance(node, Binary) and node.operator == "=":
            left, right = strip_parentheses(node.left), strip_parentheses(node.right)
            for side, other in ((left, right), (right, left)):
                if isinstance(side, ColumnName) and isinstance(other, Literal) and (field := scope.find(side)):
                    fields.append(field)
    return fields


def refuse_aggregate() -> SqlError:
    return SqlError(1056, "42000", "Can't group on an aggregate function")
