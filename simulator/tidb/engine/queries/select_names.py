"""The names of the select list in GROUP BY, HAVING and ORDER BY.

ORDER BY prefers the names of the select list to those of the sources, GROUP BY and HAVING prefer the sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.engine.scopes.scope import Field, Fields, Known, QueryScope
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.expression import Expression
from simulator.tidb.expressions.trees import replace_nodes, strip_parentheses
from simulator.tidb.syntax.expressions import ColumnName, Literal, Node, names_in


class SelectItem(NamedTuple):
    """A column of the select list: an expression, or a field that a star stands for."""

    name: str
    node: Node | None
    field: Field | None = None


def expand_items(
    items: Sequence[syntax.SelectItem | syntax.Star], fields: Fields, stars: Mapping[Key, Sequence[str]]
) -> list[SelectItem]:
    """Return the columns that the select list stands for, given those that `*` means of tables. Raises SqlError."""
    found = []
    for item in items:
        if isinstance(item, syntax.SelectItem):
            found.append(SelectItem(item.name, item.expression))
            continue
        if item.table is None:
            shown = [field for field in fields if field.shown]
            if not shown:
                raise SqlError(1096, "HY000", "No tables used")
        else:
            schema, table = item.table.schema.lower(), item.table.name.lower()
            shown = [
                field
                for field in fields
                if not field.extra and field.table.lower() == table and (not schema or field.schema.lower() == schema)
            ]
            if not shown:
                raise sql_error(1051, item.table.name)
        found += [SelectItem(field.name, None, field) for field in (_of_stars(shown, stars) if stars else shown)]
    return found


def _of_stars(shown: Sequence[Field], stars: Mapping[Key, Sequence[str]]) -> Iterator[Field]:
    """Yield columns, those of a table that `stars` has as it has them. Raises SqlError 1054."""
    for _, group in groupby(shown, lambda field: (field.schema, field.table)):
        fields = [*group]
        table = fields[0].base
        names = None if table is None else stars.get(object_key(table.schema, table.name))
        if names is None:
            yield from fields
            continue
        known = {field.name.lower(): field for field in fields}
        for name in names:
            if name.lower() not in known:
                raise sql_error(1054, name, "field list")
            yield known[name.lower()]


def select_ordinal(text: str, count: int, clause: str = "order clause") -> int:
    """Return the position, from 0, of the column that a number in ORDER BY or GROUP BY means. Raises SqlError."""
    place = int(text)
    if not 1 <= place <= count:
        raise sql_error(1054, text, clause)
    return place - 1


def resolve_aliases(
    node: Node, items: Sequence[SelectItem], values: Sequence[Expression], scope: QueryScope, first: bool = False
) -> Node:
    """Replace names of the select list by their values, unless a source has a column of that name. With `first` the
    select list takes precedence."""
    by_name = {item.name.lower(): value for item, value in reversed(list(zip(items, values, strict=True)))}

    def change(part: Node) -> Node | None:
        if not isinstance(part, ColumnName) or len(part.parts) > 1 or part.parts[0].lower() not in by_name:
            return None
        return Known(by_name[part.parts[0].lower()]) if first or scope.find(part) is None else None

    return replace_nodes(node, change)


def resolve_having_names(
    node: Node, tree: syntax.SelectTree, items: Sequence[SelectItem], values: Sequence[Expression], scope: QueryScope
) -> Node:
    """Replace names of the select list in HAVING by their values. A column of GROUP BY takes precedence."""
    grouped = {column.parts[-1].lower() for column in map(_column_name, tree.group_by) if column is not None}
    chosen = [(item, value) for item, value in zip(items, values, strict=True) if item.name.lower() not in grouped]
    node = resolve_aliases(node, [item for item, _ in chosen], [value for _, value in chosen], scope, first=True)
    return resolve_aliases(node, items, values, scope)


def having_fields(tree: syntax.SelectTree, items: Sequence[SelectItem], scope: QueryScope) -> Fields:
    """Return the columns that HAVING may name outside of aggregate functions: those of the select list and of GROUP BY
    (tidb pkg/planner/core/logical_plan_builder.go, havingWindowAndOrderbyExprResolver)."""
    columns = [item.node for item in items if isinstance(item.node, ColumnName)]
    columns += [column for column in map(_column_name, tree.group_by) if column is not None]
    fields = [*(item.field for item in items), *map(scope.find, columns)]
    return Fields(dict.fromkeys(field for field in fields if field is not None))


def check_having_names(having: Node, items: Sequence[SelectItem], scope: QueryScope) -> None:
    """Raise SqlError 1054 and 1052 for names in HAVING, also in an expression that GROUP BY has."""
    for node in names_in(having):
        named = [item for item in items if len(node.parts) == 1 and item.name.lower() == node.parts[0].lower()]
        meant = {
            item.field or (scope.find(item.node) if isinstance(item.node, ColumnName) else item.node) for item in named
        }
        if len(meant) > 1:
            raise sql_error(1052, node.parts[0], "field list")
        around: QueryScope | None = scope
        while around is not None and not named and around.find(node) is None:
            around = around.outer
        if around is None:
            raise sql_error(1054, ".".join(node.parts), "having clause")


def _column_name(item: syntax.OrderItem) -> ColumnName | None:
    node = strip_parentheses(item.expression)
    return node if isinstance(node, ColumnName) else None


def resolve_group_key(item: syntax.OrderItem, items: Sequence[SelectItem], scope: QueryScope) -> Node:
    """Return the expression of a GROUP BY item. A name or a number may stand for a column of the select list."""
    node = strip_parentheses(item.expression)
    if isinstance(node, Literal) and node.kind == "integer":
        return item_node(items[select_ordinal(node.text, len(items), "group statement")])
    if isinstance(node, ColumnName) and len(node.parts) == 1 and scope.find(node) is None:
        item_of_name = next((each for each in items if each.name.lower() == node.parts[0].lower()), None)
        return node if item_of_name is None else item_node(item_of_name)
    return node


def item_node(item: SelectItem) -> Node:
    if item.node is not None:
        return strip_parentheses(item.node)
    assert item.field is not None
    parts = (item.field.schema, item.field.table, item.field.name)
    return ColumnName(tuple(part for part in parts if part))
