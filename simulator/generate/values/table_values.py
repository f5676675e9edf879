"""The values of a table's rows: from keys and versions to TiDB texts, images and handles.

A column's text depends only on the seed, the table, the row's key and the column's version. Nothing is stored between
calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import raw
from simulator.errors import SchemaError, SnapshotError, UserError
from simulator.generate.model import Model, TableRows, probe_rows
from simulator.generate.values.generators import TableGenerators
from simulator.generate.values.pools import seed_of
from simulator.generate.values.recipes import (
    AddedRecipe,
    ColumnRandom,
    ConstantRecipe,
    ConvertedRecipe,
    Recipe,
    UpdateGroup,
    default_generator,
    make_recipe,
)
from simulator.generate.values.table_recipes import TableRecipes, each_table
from simulator.ticdc import table_info
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.column_definitions import FromColumn, FromDefault, find_column_sources
from simulator.tidb.expressions.over_columns import compute_generated_columns
from simulator.tidb.model.table import Column, Table, columns_by_name, unique_keys, visible_columns
from simulator.tidb.storage.row_keys import column_cells, encode_key
from simulator.tso import DEFAULT_START

START_MS = int(DEFAULT_START.timestamp() * 1000)


COMPARED = 256
"""How many rows are compared before a stream begins."""


def table_values(
    tables: Sequence[Table], of_tables: Sequence[TableGenerators], model: Model, start_ms: int = START_MS
) -> tuple[TableValues, ...]:
    """Return the values of a model's tables, in its order; `start_ms` is the stream's start in milliseconds since 1970.

    Raise UserError with all mistakes: a missing column or row, a value that its column does not accept.
    """
    making = TableRecipes(tuple(tables), tuple(of_tables), model, start_ms)
    making.check()

    def values(place: int) -> TableValues:
        values = TableValues(tables[place], making.recipes(place))
        _try(values, place, model)
        return values

    return each_table(tables, values)


@dataclass(frozen=True)
class TableValues:
    table: Table
    recipes: tuple[Recipe | None, ...]
    """Recipes of the visible columns; None for generated ones."""

    def texts(self, names: Sequence[str], rows: TableRows) -> dict[str, pa.Array]:
        """Return the TiDB text (binary) of columns by name; null for NULL. Raise UserError for a column without
        further numbers."""
        recipes = self._recipes
        computed = [name for name in names if recipes.get(name) is None]
        if not computed:
            return {name: recipes[name].texts(rows) for name in names}  # type: ignore[union-attr]
        texts = self._all(rows)
        for name in computed:
            if name not in texts:
                texts[name] = raw(column_cells(self.table, columns_by_name(self.table)[name.lower()], texts))
        return {name: texts[name] for name in names}

    def images(self, rows: TableRows) -> pa.Array:
        """Return the row images of the visible columns."""
        names = [column.name for column in visible_columns(self.table)]
        return row_image.pack(list(self.texts(names, rows).values()))

    def handles(self, rows: TableRows) -> pa.Array:
        """Return the handles, as `ticdc.table_info.handles_of_rows`."""
        names = handle_key(self.table) or [column.name for column in visible_columns(self.table)]
        return table_info.handles_of_rows(self.table, self.texts(names, rows))

    def altered(self, table: Table, since: int | None = None, seed: int = 0) -> TableValues:
        """Return the same rows in an altered definition: a new column has its default in all of them.

        With `since`, rows that get a version in that transaction or later have values of the column's type instead.
        Raise UserError for a type without default values.
        """
        names = f"table {table.schema}.{table.name}"
        recipes: list[Recipe | None] = []
        for column, source in zip(visible_columns(table), find_column_sources(self.table, table), strict=True):
            was = self.recipes[source.index] if isinstance(source, FromColumn) else None
            if column.generated:
                recipes.append(None)
            elif isinstance(source, FromDefault):
                default = ConstantRecipe(None if source.text is None else source.text.encode("utf-8", "surrogatepass"))
                recipes.append(
                    default if since is None else AddedRecipe(default, _new_recipe(table, column, seed), since)
                )
            elif isinstance(source, FromColumn) and was is not None and source.cast:
                recipes.append(ConvertedRecipe(was, source.before, source.after, f"{names}: column {column.name!r}"))
            else:
                recipes.append(was)
        return replace(self, table=table, recipes=tuple(recipes))

    @property
    def _recipes(self) -> Mapping[str, Recipe | None]:
        names = (column.name for column in visible_columns(self.table))
        return dict(zip(names, self.recipes, strict=True))

    def _all(self, rows: TableRows) -> dict[str, pa.Array]:
        """Return all visible columns, with generated ones computed."""
        texts = {name: recipe.texts(rows) for name, recipe in self._recipes.items() if recipe is not None}
        if len(texts) == len(self.recipes):
            return texts
        try:
            made = compute_generated_columns(self.table, texts)
        except (SchemaError, SnapshotError) as error:
            raise UserError(f"table {self.table.schema}.{self.table.name}: {error}") from None
        return {name: raw(text) for name, text in made.texts.items()}


def _new_recipe(table: Table, column: Column, seed: int) -> Recipe:
    dice = ColumnRandom(seed_of(seed, table.schema, table.name, column.name), UpdateGroup(0, 1))
    return make_recipe(default_generator(column), column.type, seed, dice)


def require_unique(values: TableValues, texts: Mapping[str, pa.Array]) -> None:
    """Raise UserError for rows that are equal in a unique key; `texts` has all visible columns."""
    for key in unique_keys(values.table):
        keys = encode_key(values.table, key, texts).drop_null()
        if pc.count_distinct(keys).as_py() < len(keys):
            raise UserError(
                f"unique key {key.name}: generated rows are equal in it; accepted: a key that is not unique"
            )


def _try(values: TableValues, place: int, model: Model) -> None:
    """Raise UserError for rows that cannot be generated."""
    texts = values.texts([column.name for column in visible_columns(values.table)], probe_rows(model, place, COMPARED))
    require_unique(values, texts)
