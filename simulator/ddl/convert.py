"""Where the values of existing rows come from when a table gets another definition.

One law: pure data, one source for each visible column of the later definition, in its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from simulator.ddl.evolve_steps import column_named
from simulator.ddl.statements import AlterTable, ChangeColumn, RenameColumn, Statement
from simulator.schema.keys import visible_columns
from simulator.schema.table import Column, ColumnType, Table
from simulator.schema.types import TYPES, family, is_binary


@dataclass(frozen=True)
class Kept:
    """The value of a column that was there before."""

    index: int
    """Its place among the visible columns of the definition before."""

    type: ColumnType
    """Its type before."""

    cast: bool
    """Whether its TiDB text may change with the type."""


@dataclass(frozen=True)
class Filled:
    """The value that a column has in rows older than itself."""

    text: str | None
    """TiDB text, None for NULL."""


@dataclass(frozen=True)
class Computed:
    """The value of a stored generated column, from its expression."""


ColumnSource = Kept | Filled | Computed
NONE: Mapping[str, str] = MappingProxyType({})


def conversion(before: Table, after: Table, renamed: Mapping[str, str] = NONE) -> tuple[ColumnSource, ...]:
    """The source of each visible column of `after`; `renamed` gives columns' new names by their old ones."""
    was = {new.lower(): old for old, new in renamed.items()}
    gone = {old.lower() for old in renamed}
    places = {column.name.lower(): place for place, column in enumerate(visible_columns(before))}

    def source(column: Column) -> ColumnSource:
        name = was.get(column.name.lower(), "" if column.name.lower() in gone else column.name)
        old = column_named(before, name)
        if column.generated and (old is None or old.generated_expression != column.generated_expression):
            return Computed()
        if old is None or old.generated == "virtual":
            return Filled(column.origin_default)
        return Kept(places[old.name.lower()], old.type, text_changes(old.type, column.type))

    return tuple(map(source, visible_columns(after)))


def renames(statement: Statement) -> Mapping[str, str]:
    """New names of columns by their old ones, as an ALTER TABLE gives them."""
    if not isinstance(statement, AlterTable):
        return NONE
    changes = [(one.old, one.column.name) for one in statement.specs if isinstance(one, ChangeColumn)]
    changes += [(one.old, one.new) for one in statement.specs if isinstance(one, RenameColumn)]
    return {old: new for old, new in changes if old.lower() != new.lower()}


def text_changes(one: ColumnType, two: ColumnType) -> bool:
    """Whether some value of the one type has another TiDB text in the other."""
    old, new = family(one), family(two)
    if one == two:
        return False
    if old == new == "integer":
        return one.unsigned != two.unsigned or TYPES[two.name].length < TYPES[one.name].length or two.zerofill
    if old in ("string", "text") and new in ("string", "text"):
        padded = two.name == "char" and is_binary(two)
        return padded or is_binary(one) != is_binary(two) or two.length < one.length
    if old == new and old in ("enum", "set"):
        return two.elements[:len(one.elements)] != one.elements
    return (old, one.name, one.length, one.decimal) != (new, two.name, two.length, two.decimal)
