"""Where the values of existing rows come from when a table gets another definition.

One law: pure data, one source for each visible column of the later definition, in its order; a column is known by its
id, whatever it is called.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import TYPES, ColumnType, family, is_binary


@dataclass(frozen=True)
class FromColumn:
    """The value of a column that was there before."""

    index: int
    """Its place among the visible columns of the definition before."""

    before: ColumnType
    after: ColumnType

    @property
    def cast(self) -> bool:
        """Whether its TiDB text may change with the type."""
        return text_changes(self.before, self.after)

    @property
    def cast_back(self) -> bool:
        """Whether a value of the later type may have another text in the earlier one, or none."""
        return text_changes(self.after, self.before)


@dataclass(frozen=True)
class FromDefault:
    """The value that a column has in rows older than itself."""

    text: str | None
    """TiDB text, None for NULL."""


@dataclass(frozen=True)
class FromExpression:
    """The value of a stored generated column, from its expression."""


ColumnSource = FromColumn | FromDefault | FromExpression


def find_column_sources(before: Table, after: Table) -> tuple[ColumnSource, ...]:
    """The source of each visible column of `after`, which statements made of `before`."""
    known = {column.id: (index, column) for index, column in enumerate(visible_columns(before))}
    return tuple(_column_source(column, known.get(column.id)) for column in visible_columns(after))


def _column_source(column: Column, was: tuple[int, Column] | None) -> ColumnSource:
    if column.generated and (was is None or was[1].generated_expression != column.generated_expression):
        return FromExpression()
    return FromDefault(column.origin_default) if was is None else FromColumn(was[0], was[1].type, column.type)


def text_changes(old: ColumnType, new: ColumnType) -> bool:
    """Whether some value of the one type has another TiDB text in the other."""
    old_family, new_family = family(old), family(new)
    if old == new:
        return False
    if old_family == new_family == "integer":
        return old.unsigned != new.unsigned or TYPES[new.name].length < TYPES[old.name].length or new.zerofill
    if old_family in ("string", "text") and new_family in ("string", "text"):
        padded = new.name == "char" and is_binary(new)
        return padded or is_binary(old) != is_binary(new) or new.length < old.length
    if old_family == new_family and old_family in ("enum", "set"):
        return new.elements[: len(old.elements)] != old.elements
    return (old_family, old.name, old.length, old.decimal) != (new_family, new.name, new.length, new.decimal)
