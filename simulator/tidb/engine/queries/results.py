"""The columns of a result: what a client is told of them and sent, and their names in other clauses.

ORDER BY prefers the names of the select list to those of the sources; GROUP BY and HAVING prefer the sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.engine import ResultColumn, table_column, type_flags
from simulator.tidb.engine.scope import Field, Fields, Known, QueryScope
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.conversions import as_text, with_shown_digits
from simulator.tidb.expressions.expression import Evaluate, Expression, apply, place
from simulator.tidb.expressions.number_functions import shown
from simulator.tidb.expressions.numbers import real_text
from simulator.tidb.expressions.texts import as_blob, encode
from simulator.tidb.expressions.trees import replace_nodes, strip_parentheses
from simulator.tidb.model.table import Table, cached_by_table
from simulator.tidb.model.types import BIGINT, UNSIGNED_BIGINT, ColumnType, is_text
from simulator.tidb.syntax.expressions import ColumnName, Literal, Node, names_in

TYPES = {
    "bool": ColumnType("tinyint", 1),
    "int": BIGINT,
    "uint": UNSIGNED_BIGINT,
    "decimal": ColumnType("decimal", 65, 30),
    "real": ColumnType("double"),
    "date": ColumnType("date"),
    "datetime": ColumnType("datetime", decimal=6),
    "time": ColumnType("time", decimal=6),
    "json": ColumnType("json"),
}
"""The type by the kind of a column's values; other kinds are texts."""

SHORT_TEXT = ColumnType("varchar", charset="utf8mb4", collation="utf8mb4_bin")
SHORT_BYTES = ColumnType("varchar", charset="binary", collation="binary")

SHOWN_TYPES = frozenset(
    "tinyint smallint mediumint int bigint decimal date datetime time char varchar tinytext text mediumtext longtext enum"
    " set year".split()
)
"""Types whose cells are what a client is sent, unless they are binary strings."""


def result_column(field: Field) -> ResultColumn:
    """Return a query's column as a client is told of it."""
    shown = field.shown_column
    if shown is None or shown.column is None or shown.base is None:
        type = value_type(field.value)
        return ResultColumn(field.name, type, type_flags(type))
    known, key = _known_columns(shown.base), (field.name, shown.column.name, shown.table)
    if key not in known:
        known[key] = table_column(field.name, shown.column, shown.base, shown.base.schema, shown.table)
    return known[key]


@cached_by_table
def _known_columns(table: Table) -> dict[tuple[str, str, str], ResultColumn]:
    return {}


def value_type(value: Expression) -> ColumnType:
    """Return the type of an expression."""
    if value.kind == "null":
        return ColumnType("null")
    if value.is_year:
        return ColumnType("year", 4)
    if value.kind == "string":
        return SHORT_BYTES if value.is_binary else replace(SHORT_TEXT, collation=value.collation or "utf8mb4_bin")
    if value.is_column and value.column_type is not None:
        return value.column_type
    type = TYPES.get(value.kind, SHORT_TEXT)
    if value.kind == "decimal":
        scale = value.digits_shown
        return replace(type, length=value.digits or 65, decimal=scale)
    return replace(type, decimal=value.scale) if value.kind in ("datetime", "time") else type


def sent(value: Expression, field: Field | None = None) -> Evaluate:
    """Return a value as the server sends it to a client (tidb pkg/server/internal/column/column.go, DumpTextRow), given the
    field that it is read from."""
    if field is not None and field.column is not None and field.slots and field.column.type.name in SHOWN_TYPES:
        cell = place(field.start + field.slots[0])
        if field.column.type.name == "year":
            return apply(lambda year: b"0000" if year == b"0" else year, cell)
        if not is_text(field.column.type):
            return cell
        if not value.is_binary:
            return apply(_sent_text, cell)
    if value.column_type is not None and value.column_type.name == "bit" and value.is_column:
        size = (max(value.column_type.length, 1) + 7) // 8
        return apply(lambda bits: bits.to_bytes(size, "big"), value.evaluate)
    if value.is_binary:
        return as_blob(value)
    if value.kind == "decimal" or value.kind == "real" and value.shown_scale is not None:
        return apply(str.encode, as_text(with_shown_digits(value)))
    if value.kind == "real" and (value.text is None or value.constant is not None):
        return apply(_sent_real, value.evaluate)
    return apply(encode, as_text(value))


def _sent_text(cell: bytes) -> bytes:
    """Return the bytes of a text; those that are not UTF-8 are lone surrogates in a cell."""
    return cell if 0xED not in cell else cell.decode("utf-8", "surrogatepass").encode("utf-8", "surrogateescape")


def _sent_real(number: float) -> bytes:
    size = abs(number)
    usual = number == 0 or 1e-15 <= size < 1e15
    return (real_text(number) if usual else shown(repr(number))).encode()


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
                raise sql_error(1096)
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
