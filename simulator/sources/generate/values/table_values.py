"""The values of the rows of a table: out of keys and versions come TiDB texts, images and handles.

One law: a column's text depends on the seed, the table, the row's key and the column's version alone; nothing is kept
between two questions, and whoever asks, wherever, is told the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from simulator.columns import row_image
from simulator.columns.cells import raw
from simulator.errors import SchemaError, SnapshotError, UserError
from simulator.sources.generate.model import Model, TableRows
from simulator.sources.generate.values.generators import TableWanted
from simulator.sources.generate.values.probe_rows import tried_rows
from simulator.sources.generate.values.recipes import Constant, Converted, Recipe
from simulator.sources.generate.values.table_recipes import TableRecipes, each_table
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.column_sources import FromColumn, FromDefault, find_column_sources
from simulator.tidb.expressions.generated_columns import compute_generated_columns
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.sql_engine.storage.row_keys import column_cells, columns_by_name
from simulator.tso import DEFAULT_START

START_MS = int(DEFAULT_START.timestamp() * 1000)


def table_values(
    tables: Sequence[Table], wanted: Sequence[TableWanted], model: Model, start_ms: int = START_MS
) -> tuple[TableValues, ...]:
    """Of the tables of a model, in its order; `start_ms` is when the stream starts, in milliseconds since 1970.

    Raises UserError with every mistake: a column or a row that is not there, a value that its column does not take.
    """
    making = TableRecipes(tuple(tables), tuple(wanted), model, start_ms)
    making.check()

    def values(place: int) -> TableValues:
        found = TableValues(tables[place], making.recipes(place))
        _try(found, place, model)
        return found

    return each_table(tables, values)


@dataclass(frozen=True)
class TableValues:
    table: Table
    recipes: tuple[Recipe | None, ...]
    """Of the visible columns; None for those that are generated."""

    def texts(self, names: Sequence[str], rows: TableRows) -> dict[str, pa.Array]:
        """TiDB text (binary) of columns, by name; null for NULL. Raises UserError for a column that has counted to its
        end."""
        recipes = self._recipes
        computed = [name for name in names if recipes.get(name) is None]
        if not computed:
            return {name: recipes[name].texts(rows) for name in names}  # type: ignore[union-attr]
        found = self._all(rows)
        for name in computed:
            if name not in found:
                found[name] = raw(column_cells(self.table, columns_by_name(self.table)[name.lower()], found))
        return {name: found[name] for name in names}

    def images(self, rows: TableRows) -> pa.Array:
        """`columns.row_image` of the visible columns."""
        names = [column.name for column in visible_columns(self.table)]
        return row_image.pack(list(self.texts(names, rows).values()))

    def handles(self, rows: TableRows) -> pa.Array:
        """`ticdc.key_bytes.handle_keys`."""
        names = handle_key(self.table) or [column.name for column in visible_columns(self.table)]
        return key_bytes.handle_keys(self.table, self.texts(names, rows))

    def altered(self, table: Table) -> TableValues:
        """The same rows in an altered definition: a column that is new has its default in all of them."""
        names = f"table {table.schema}.{table.name}"
        recipes: list[Recipe | None] = []
        for column, source in zip(visible_columns(table), find_column_sources(self.table, table), strict=True):
            was = self.recipes[source.index] if isinstance(source, FromColumn) else None
            if column.generated:
                recipes.append(None)
            elif isinstance(source, FromDefault):
                recipes.append(Constant(None if source.text is None else source.text.encode("utf-8", "surrogatepass")))
            elif isinstance(source, FromColumn) and was is not None and source.cast:
                recipes.append(Converted(was, source.before, source.after, f"{names}: column {column.name!r}"))
            else:
                recipes.append(was)
        return replace(self, table=table, recipes=tuple(recipes))

    @property
    def _recipes(self) -> Mapping[str, Recipe | None]:
        names = (column.name for column in visible_columns(self.table))
        return dict(zip(names, self.recipes, strict=True))

    def _all(self, rows: TableRows) -> dict[str, pa.Array]:
        """All visible columns, those that are generated computed."""
        texts = {name: recipe.texts(rows) for name, recipe in self._recipes.items() if recipe is not None}
        if len(texts) == len(self.recipes):
            return texts
        try:
            made = compute_generated_columns(self.table, texts)
        except (SchemaError, SnapshotError) as error:
            raise UserError(f"table {self.table.schema}.{self.table.name}: {error}") from None
        return {name: raw(text) for name, text in made.texts.items()}


def _try(values: TableValues, place: int, model: Model) -> None:
    """Raises UserError for rows that cannot be made."""
    values.images(tried_rows(model, place))
