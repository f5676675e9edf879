"""Sources and conversion of the values of existing rows when a table gets another definition.

Each visible column of the later definition has one source. Columns are identified by their ids. A value that the later
definition cannot hold becomes null; `rows_that_fit` distinguishes it from NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.datums.changed_types import convert_text
from simulator.tidb.ddl.columns.type_changes import needs_reorganization
from simulator.tidb.ddl.definitions.defaults import stored_value
from simulator.tidb.expressions.over_columns import compute_generated_columns
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import TYPES, ColumnType, family, is_binary


@dataclass(frozen=True)
class FromColumn:
    """The value of a column of the earlier definition."""

    index: int
    """Its position among the visible columns of the earlier definition."""

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
    text: str | None
    """TiDB text, None for NULL."""


@dataclass(frozen=True)
class FromExpression:
    """The value of a stored generated column."""


ColumnSource = FromColumn | FromDefault | FromExpression


def find_column_sources(before: Table, after: Table) -> tuple[ColumnSource, ...]:
    """Return the source of each visible column of `after`, a later definition of `before`."""
    target = {column.id: (index, column) for index, column in enumerate(visible_columns(before))}
    return tuple(_column_source(column, target.get(column.id)) for column in visible_columns(after))


def columns_lacked(before: Table, after: Table) -> tuple[frozenset[int], frozenset[int]]:
    """Return the ids of columns that rows of `before` lack in `after` if they lacked them before, and of those that all
    of them lack, until they are written.

    ADD COLUMN writes no row, and MODIFY COLUMN writes the columns that a row has and the changed one (tidb v6.5
    pkg/ddl/column.go, updateColumnWorker).
    """
    sources = list(zip(find_column_sources(before, after), visible_columns(after), strict=True))
    kept = frozenset(
        column.id
        for source, column in sources
        if isinstance(source, FromColumn) and not needs_reorganization(source.before, source.after)
    )
    return kept, frozenset(column.id for source, column in sources if isinstance(source, FromDefault))


def _column_source(column: Column, before: tuple[int, Column] | None) -> ColumnSource:
    if column.generated and (before is None or before[1].generated_expression != column.generated_expression):
        return FromExpression()
    return (
        FromDefault(stored_value(column.origin_default, column.type))
        if before is None
        else FromColumn(before[0], before[1].type, column.type)
    )


def text_changes(old: ColumnType, new: ColumnType) -> bool:
    """Return whether a value of one type can have another TiDB text in the other."""
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


# -- rows -----------------------------------------------------------------------------------------------------------------


class ConvertedRows(NamedTuple):
    """Rows in the later definition."""

    texts: dict[str, pa.Array]
    """TiDB texts of each visible column of the later definition, in its order."""

    given: Mapping[str, pa.Array]
    """Results of the expressions of generated columns, as a file would have them."""


def convert_rows(after: Table, sources: Sequence[ColumnSource], texts: Sequence[pa.Array], rows: int) -> ConvertedRows:
    """Convert the texts (string) of the visible columns before to the definition `after`.

    Raises SnapshotError for a stored generated column that cannot be computed, if there is a row.
    """
    names = [column.name for column in visible_columns(after)]
    converted = {
        name: convert_column(source, texts, rows)
        for name, source in zip(names, sources, strict=True)
        if not isinstance(source, FromExpression)
    }
    computed, raw, _ = compute_generated_columns(after, converted)
    return ConvertedRows({name: computed[name] for name in names}, raw)


def convert_column(source: ColumnSource, texts: Sequence[pa.Array], rows: int) -> pa.Array:
    """Return the texts of a column from those of the table before; nulls for a generated column."""
    match source:
        case FromColumn(index, before, after):
            return convert_text(before, after, texts[index]) if source.cast else texts[index]
        case FromDefault(text):
            return repeat_text(text, rows)
        case FromExpression():
            return repeat_text(None, rows)


def repeat_text(text: str | None, rows: int) -> pa.Array:
    """Return a column with the same TiDB text in every row."""
    return pa.repeat(pa.scalar(text, pa.string()), rows)


def rows_that_fit(
    after: Table, sources: Sequence[ColumnSource], texts: Sequence[pa.Array], now: ConvertedRows
) -> Iterator[tuple[Column, ColumnSource, pa.Array]]:
    """Yield each visible column of `after` that values may not fit, with a mask of the rows that fit (no nulls)."""
    for source, column in zip(sources, visible_columns(after), strict=True):
        text = now.texts[column.name]
        if column.not_null and not isinstance(source, FromDefault):
            yield column, source, pc.is_valid(text)
        elif isinstance(source, FromColumn) and source.cast:
            yield column, source, pc.or_(pc.is_valid(text), pc.is_null(texts[source.index]))
        elif isinstance(source, FromExpression):
            yield column, source, pc.or_(pc.is_valid(text), pc.is_null(now.given[column.name]))
