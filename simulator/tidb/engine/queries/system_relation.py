"""The tables of information_schema in FROM, whose names are searched without regard to case, and sorted with regard to it."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.tidb import syntax
from simulator.tidb.engine.queries.filters import Filtered, compile_condition
from simulator.tidb.engine.queries.relation import table_fields
from simulator.tidb.engine.scopes.scope import QueryScope
from simulator.tidb.engine.system_tables.definitions import NAMES, searched
from simulator.tidb.engine.system_tables.tables import SystemTable
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import visible_columns


class SystemRelation(Filtered):
    """The rows of a table of information_schema."""

    def __init__(self, system: SystemTable, alias: str, schema: str) -> None:
        table = system.table
        super().__init__(
            table_fields(table, alias, schema),
            len(visible_columns(table)) + 1,
            lambda context: ([*cells, (0, 0)] for cells in system.rows(context)),
        )
        self._searched = table_fields(searched(table), alias, schema)

    def restrict(self, conditions: Sequence[syntax.Node], scope: QueryScope) -> Sequence[syntax.Node]:
        names = [node for node in conditions if _is_search(node)]
        self.filter([compile_condition(node, scope.of_rows(self._searched)) for node in names])
        return super().restrict([node for node in conditions if node not in names], scope)


def _is_search(node: syntax.Node) -> bool:
    """Return whether a condition compares a name with constants."""
    if isinstance(node, syntax.Binary) and node.operator == "=":
        sides = [node.left, node.right]
    elif isinstance(node, syntax.In | syntax.PatternMatch) and not node.negated:
        sides = [node.operand, *(node.candidates if isinstance(node, syntax.In) else [node.pattern])]
    else:
        return False
    columns = [side for side in map(strip_parentheses, sides) if isinstance(side, syntax.ColumnName)]
    others = [side for side in map(strip_parentheses, sides) if not isinstance(side, syntax.ColumnName)]
    return (
        len(columns) == 1
        and columns[0].parts[-1].upper().endswith(NAMES)
        and all(isinstance(side, syntax.Literal) for side in others)
    )
