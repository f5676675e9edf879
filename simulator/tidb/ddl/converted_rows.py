"""Conversion of rows, as columns of TiDB text, to a later definition of their table.

A value that the later definition cannot hold becomes null; `rows_that_fit` distinguishes it from NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.datums.changed_types import convert_text
from simulator.tidb.ddl.column_sources import ColumnSource, FromColumn, FromDefault, FromExpression
from simulator.tidb.expressions.generated_columns import compute_generated_columns
from simulator.tidb.model.table import Column, Table, visible_columns


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
