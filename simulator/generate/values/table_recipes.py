"""The recipe of each column of each table of a model: from its generator, its references, its definition or its type.

Recipes that could generate no row are refused before the first row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import pyarrow.compute as pc

from simulator.errors import UserError, did_you_mean
from simulator.generate.model import Model, probe_rows
from simulator.generate.values import generators
from simulator.generate.values.distinct import (
    DistinctColumns,
    distinct_columns,
    distinct_template,
    fixed_columns,
    tells,
)
from simulator.generate.values.key_recipes import (
    CountingRecipe,
    NumberedTextRecipe,
    Pairing,
    Parents,
    ReferenceRecipe,
    auto_random_recipe,
    counting_recipe,
    grows,
)
from simulator.generate.values.pools import seed_of
from simulator.generate.values.recipes import (
    ColumnRandom,
    NullableRecipe,
    PooledRecipe,
    Recipe,
    RowTimeRecipe,
    TemplateRecipe,
    UpdateCountRecipe,
    UpdateGroup,
    default_generator,
    filling_text,
    make_recipe,
    share_bytes,
    text_capacity,
)
from simulator.tidb.model.table import Column, ForeignKey, Table, columns_by_name, visible_columns
from simulator.tidb.model.types import family, is_text
from simulator.tidb.values.kernels import BYTES

ColumnPlace = tuple[int, str]
"""Index of a table in the model, and the column's name."""

Found = TypeVar("Found")

RULED = (
    generators.NumberSequence,
    generators.Reference,
    generators.Template,
    generators.RowTime,
    generators.UpdateCount,
)
"""Generators of values that follow from something else; updates do not change them."""


def each_table(tables: Sequence[Table], of_table: Callable[[int], Found]) -> tuple[Found, ...]:
    """Return the result for each table by its index; raise UserError with all mistakes and their tables."""
    made, mistakes = [], []
    for place, table in enumerate(tables):
        try:
            made.append(of_table(place))
        except UserError as error:
            mistakes += [f"table {table.schema}.{table.name}: {each}" for each in error.args]
    if mistakes:
        raise UserError(*mistakes)
    return tuple(made)


def _place(tables: Sequence[Table], schema: str, name: str, of: Table) -> int:
    for place, table in enumerate(tables):
        if (table.schema.lower(), table.name.lower()) == (schema.lower(), name.lower()):
            return place
    known = [f"{table.schema}.{table.name}" for table in tables]
    raise UserError(
        f"table {of.schema}.{of.name} refers to {schema}.{name}, which is not there."
        f"{did_you_mean(f'{schema}.{name}', known)} Tables: {', '.join(known)}"
    )


@dataclass(frozen=True)
class TableRecipes:
    tables: tuple[Table, ...]
    wanted: tuple[generators.TableGenerators, ...]
    model: Model
    start_ms: int
    _made: dict[ColumnPlace, Recipe] = field(default_factory=dict)
    _open: list[ColumnPlace] = field(default_factory=list)
    """Columns whose recipe is being built, each for the one before."""

    def check(self) -> None:
        """Raise UserError for mistakes of tables as a whole."""
        assert len(self._distincts) == len(self._referred) == len(self.touched)

    def recipes(self, place: int) -> tuple[Recipe | None, ...]:
        """Return the recipes of a table's visible columns; None for generated ones. Raise UserError with all
        mistakes."""
        recipes: list[Recipe | None] = []
        mistakes = list(self._unknown(place))
        self._fill(place)
        for column in visible_columns(self.tables[place]):
            try:
                recipes.append(None if column.generated else self.recipe(place, column.name))
            except UserError as error:
                mistakes += [f"column {column.name!r}: {each}" for each in error.args]
        if mistakes:
            raise UserError(*mistakes)
        return tuple(recipes)

    def recipe(self, place: int, name: str) -> Recipe:
        """Return the recipe of a column, as its table spells it; raise UserError."""
        at = place, name
        if at in self._open:
            raise UserError("its values lead back to itself by references and templates")
        if at not in self._made:
            self._open.append(at)
            try:
                self._made[at] = self._column(place, columns_by_name(self.tables[place])[name.lower()])
            finally:
                self._open.pop()
        return self._made[at]

    def _unknown(self, place: int) -> Iterator[str]:
        known = {column.name: column for column in self.tables[place].columns}
        for name in self.wanted[place].columns:
            if name not in known:
                yield f"columns: the table has no column {name!r}.{did_you_mean(name, known)}"
            elif known[name].generated:
                yield f"columns: {name!r} is a generated column, which takes no values"

    def _column(self, place: int, column: Column) -> Recipe:
        generator = self.wanted[place].columns.get(column.name, generators.ColumnGenerator())
        if generator.null and column.not_null:
            raise UserError(f"null: expected none, as the column is NOT NULL; got {generator.null}")
        dice = ColumnRandom(self._seed(place, column.name), self.touched[place].get(column.name))
        recipe = self._values(place, column, generator.values, dice)
        return NullableRecipe(recipe, generator.null, dice) if generator.null else recipe

    def _seed(self, place: int, name: str) -> int:
        table = self.tables[place]
        return seed_of(self.model.seed, table.schema, table.name, name)

    def _where(self, place: int, column: Column) -> str:
        table = self.tables[place]
        return f"table {table.schema}.{table.name}: column {column.name!r}"

    def _values(self, place: int, column: Column, values: generators.Generator | None, dice: ColumnRandom) -> Recipe:
        where, table = self._where(place, column), self.tables[place]
        if column.name in self._distincts[place].counted:
            return self._counted(place, column, values, dice)
        match values:
            case generators.NumberSequence(first, step):
                prefix = self._distincts[place].telling.get(column.name, -1)
                return self._checked(place, counting_recipe(column.type, where, first, step, prefix))
            case generators.Reference(schema, name, other):
                parent = _place(self.tables, schema, name, table)
                known = columns_by_name(self.tables[parent])
                if other.lower() not in known:
                    raise UserError(
                        f"reference: {schema}.{name} has no column {other!r}.{did_you_mean(other, list(known))}"
                    )
                return self._referring(
                    place, column, parent, known[other.lower()], f"{column.name} → {schema}.{name}.{other}"
                )
            case generators.Template(parts):
                names = [self._in_template(place, each) for _, each in parts if each]
                template = TemplateRecipe(
                    tuple(text for text, _ in parts),
                    tuple(self.recipe(place, each) for each in names),
                    column.type,
                    where,
                )
                return self._distinct(place, column, template, names)
            case generators.RowTime(changed):
                return self._clock(column, changed)
            case generators.UpdateCount():
                return UpdateCountRecipe(column.type, where)
        if values is None:
            recipe = self._by_definition(place, column, dice)
            if recipe is not None:
                return recipe
        size = self._sizes[place].get(column.name) if values is None else None
        if size is not None:
            return make_recipe(filling_text(column.type, size), column.type, self.model.seed, dice)
        return make_recipe(default_generator(column) if values is None else values, column.type, self.model.seed, dice)

    @cached_property
    def _sizes(self) -> list[Mapping[str, int]]:
        """Lengths of the texts that fill the rows of each table."""
        return [{} for _ in self.tables]

    def _fill(self, place: int) -> None:
        """Compute the lengths of texts; raise UserError if a row cannot have the configured size."""
        table, of_table = self.tables[place], self.wanted[place]
        if of_table.row_size is None:
            return
        room = {
            column.name: text_capacity(column.type) for column in visible_columns(table) if self._fills(place, column)
        }
        rows, known = probe_rows(self.model, place), 0
        for column in visible_columns(table):
            values = of_table.columns.get(column.name, generators.ColumnGenerator()).values
            named = {name for _, name in values.parts} if isinstance(values, generators.Template) else set()
            if column.name not in room and not column.generated and named.isdisjoint(room):
                texts = self.recipe(place, column.name).texts(rows)
                known += (pc.sum(pc.binary_length(texts)).as_py() or 0) // len(rows.keys)
        self._sizes[place] = share_bytes(max(of_table.row_size - known, 0), room)

    def _fills(self, place: int, column: Column) -> bool:
        """Return whether a column is a text without a generator."""
        generator = self.wanted[place].columns.get(column.name, generators.ColumnGenerator())
        free = not column.generated and column.name not in fixed_columns(self.tables[place]) | self._referred[place]
        return generator.values is None and free and text_capacity(column.type) > 0

    def _by_definition(self, place: int, column: Column, dice: ColumnRandom) -> Recipe | None:
        """Return the recipe from the table definition for a column without a generator, or None."""
        table, where = self.tables[place], self._where(place, column)
        if column.auto_random:
            return auto_random_recipe(column, where, dice)
        if column.auto_increment:
            first = int(dict(table.options).get("AUTO_INCREMENT", 1))
            return self._checked(place, counting_recipe(column.type, where, max(first, 1)))
        for foreign in table.foreign_keys:
            for name, other in zip(foreign.columns, foreign.references, strict=True):
                if name.lower() == column.name.lower():
                    return self._of_key(place, column, foreign, other)
        if column.on_update:
            return self._clock(column, True)
        default = (column.default or "").strip("( ").upper()
        if column.default_expression and default.startswith(("CURRENT_TIMESTAMP", "CURRENT_DATE", "NOW", "CURDATE")):
            return self._clock(column, False)
        return None

    def _of_key(self, place: int, column: Column, foreign: ForeignKey, other: str) -> Recipe:
        parent = _place(self.tables, foreign.schema, foreign.table, self.tables[place])
        return self._referring(place, column, parent, columns_by_name(self.tables[parent])[other.lower()], foreign.name)

    def _clock(self, column: Column, changed: bool) -> Recipe:
        if family(column.type) not in ("date", "datetime", "time", "integer") and not is_text(column.type):
            raise UserError(f"time: a {column.type.name} holds none; accepted: a date, a time, an integer or a text")
        return RowTimeRecipe(changed, column.type, self.start_ms)

    def _in_template(self, place: int, name: str) -> str:
        known = {column.name: column for column in self.tables[place].columns}
        if name not in known:
            raise UserError(f"template: the table has no column {name!r}.{did_you_mean(name, known)}")
        if known[name].generated:
            raise UserError(f"template: {name!r} is a generated column, which is computed after all others")
        return name

    @cached_property
    def _distincts(self) -> tuple[DistinctColumns, ...]:
        return each_table(self.tables, lambda place: distinct_columns(self.tables[place], self.wanted[place].columns))

    def _counted(self, place: int, column: Column, values: generators.Generator | None, dice: ColumnRandom) -> Recipe:
        """Return the recipe of a column that makes rows unique."""
        where, prefix = self._where(place, column), self._distincts[place].counted[column.name]
        numbers = counting_recipe(column.type, where, None, 1, prefix)
        if values is None:
            return self._checked(place, numbers)
        assert not isinstance(values, RULED), "unique in another way"
        words = make_recipe(values, column.type, self.model.seed, dice)
        if isinstance(values, generators.Range) and isinstance(values.least, int):
            assert isinstance(values.greatest, int | float), "of the same type"
            most = min(numbers.most, int(values.greatest))
            return self._checked(place, replace(numbers, first=values.least, most=most))
        if not is_text(column.type):
            return self._checked(place, numbers)
        assert isinstance(words, PooledRecipe)
        length = BYTES.get(column.type.name, column.type.length)
        if isinstance(values, generators.Text):
            length = min(length, values.greatest)
            numbers = counting_recipe(column.type, where, None, 1, length if prefix < 0 else min(prefix, length))
        return NumberedTextRecipe(self._checked(place, numbers), words, length)

    def _distinct(self, place: int, column: Column, recipe: TemplateRecipe, names: Sequence[str]) -> Recipe:
        """Return the recipe of a template, which tells rows apart if it has to; raise UserError if it does not."""
        distinct, table, wanted = self._distincts[place], self.tables[place], self.wanted[place].columns
        if column.name not in distinct.telling:
            return recipe
        telling = [at for at, name in enumerate(names) if tells(table, name, wanted, distinct.counted)]
        unique = distinct_template(recipe, telling, distinct.telling[column.name])
        if unique is None:
            prefix = distinct.telling[column.name]
            apart = " or ".join(f"{{{names[at]}}}" for at in telling)
            raise UserError(
                "template: two rows may have the same value, and the column is in a unique key"
                + (f", which sees {prefix} characters of it" if prefix >= 0 else "")
                + f"; accepted: {apart} "
                + ("at its beginning, followed by" if prefix >= 0 else "apart from its neighbours by")
                + " a character that the values have not"
            )
        for each in unique.recipes:
            if isinstance(each, CountingRecipe):
                self._checked(place, each)
        return unique

    def _checked(self, place: int, recipe: CountingRecipe) -> CountingRecipe:
        """Return the recipe; raise UserError if the table begins with more rows than the column counts."""
        rows = self.model.tables[place].rows
        if rows > recipe.rows:
            raise UserError(recipe.refusal(f"the table begins with {rows:,}"))
        return recipe

    def _referring(self, place: int, column: Column, parent: int, other: Column, name: str) -> Recipe:
        if other.generated:
            raise UserError(f"refers to {other.name!r}, a generated column, which is computed after all others")
        model, itself = self.model.tables[parent], parent == place
        if not itself and not model.rows and not grows(model):
            raise UserError(f"refers to {model.schema}.{model.name}, which has no rows; accepted: rows = 1 or more")
        parents = Parents(
            parent,
            model.rows,
            grows(model),
            itself,
            self._seed(place, name),
            self._where(place, column),
            self._pairing(place, column),
        )
        recipe = self.recipe(parent, other.name)
        return ReferenceRecipe(recipe, parents, other.type, column.type, column.not_null)

    def _pairing(self, place: int, column: Column) -> Pairing | None:
        for names in self._distincts[place].paired:
            if column.name not in names:
                continue
            parents = self._paired_parents(place, names)
            rows = [self.model.tables[parent].rows for parent, _ in parents]
            before, combinations = 1, 1
            for (_, columns), count in zip(parents, rows, strict=True):
                before = combinations if column.name in columns else before
                combinations *= count
            mine = self.model.tables[place]
            again = 0 < mine.mix.inserts <= mine.mix.deletes and not mine.kept and combinations >= 2 * mine.rows
            if mine.rows > combinations:
                raise UserError(
                    f"no two rows may refer to the same rows, of which there are {combinations:,} combinations; got "
                    f"rows = {mine.rows:,}"
                )
            return Pairing(before, combinations, again)
        return None

    def _paired_parents(self, place: int, names: frozenset[str]) -> list[tuple[int, frozenset[str]]]:
        """Return each parent that columns of a unique key refer to, with these columns."""
        table, parents, left = self.tables[place], [], set(names)
        for name, each in self.wanted[place].columns.items():
            if name in left and isinstance(each.values, generators.Reference):
                parents.append((_place(self.tables, each.values.schema, each.values.table, table), frozenset((name,))))
                left.discard(name)
        for foreign in table.foreign_keys:
            columns = frozenset(columns_by_name(table)[name.lower()].name for name in foreign.columns)
            if columns & left:
                parents.append((_place(self.tables, foreign.schema, foreign.table, table), columns))
                left -= columns
        return parents

    @cached_property
    def touched(self) -> tuple[Mapping[str, UpdateGroup], ...]:
        """The columns of each table that updates change. Raise UserError if there are none, or not the configured
        ones."""
        return each_table(self.tables, self._groups)

    def _groups(self, place: int) -> Mapping[str, UpdateGroup]:
        table, of_table = self.tables[place], self.wanted[place]
        fixed = fixed_columns(table) | self._referred[place]
        free = [column.name for column in visible_columns(table) if self._free(place, column, fixed)]
        update_columns = of_table.update_columns
        if isinstance(update_columns, tuple):
            for name in update_columns:
                if name.lower() not in columns_by_name(table):
                    raise UserError(f"update-columns: the table has no column {name!r}.{did_you_mean(name, free)}")
                if name not in free:
                    raise UserError(
                        f"update-columns: no update touches {name!r}: it is of a key, refers to another table, is "
                        f"generated, or its generator rules it; accepted: {', '.join(free) or 'none'}"
                    )
            return {name: UpdateGroup(0, 1) for name in update_columns}
        model = self.model.tables[place]
        timed = any(
            isinstance(each.values, generators.UpdateCount) or each.values == generators.RowTime(True)
            for each in of_table.columns.values()
        )
        if model.mix.updates and not free and not timed:
            raise UserError("mix: updates are asked for, and the table has no column outside of its keys to change")
        if update_columns is not None and update_columns < 1:
            raise UserError(f"update-columns: expected 1 or more, got {update_columns}")
        groups = -(-len(free) // update_columns) if update_columns else 1
        return {name: UpdateGroup(at % groups, groups) for at, name in enumerate(free)}

    def _free(self, place: int, column: Column, fixed: set[str]) -> bool:
        """Return whether updates may change a column."""
        values = self.wanted[place].columns.get(column.name, generators.ColumnGenerator()).values
        ruled = isinstance(values, RULED) or (
            values is None and bool(column.auto_increment or column.auto_random or column.on_update)
        )
        clocked = values is None and column.default_expression and (column.default or "").upper().startswith("CURRENT")
        return not (column.generated or column.name in fixed or ruled or clocked)

    @cached_property
    def _referred(self) -> tuple[set[str], ...]:
        """The columns of each table that others refer to."""
        referred: tuple[set[str], ...] = tuple(set() for _ in self.tables)
        for place, table in enumerate(self.tables):
            for foreign in table.foreign_keys:
                parent = _place(self.tables, foreign.schema, foreign.table, table)
                known = columns_by_name(self.tables[parent])
                referred[parent].update(known[name.lower()].name for name in foreign.references)
            for each in self.wanted[place].columns.values():
                if isinstance(each.values, generators.Reference):
                    parent = _place(self.tables, each.values.schema, each.values.table, table)
                    known = columns_by_name(self.tables[parent])
                    referred[parent].update(
                        column.name for name, column in known.items() if name == each.values.column.lower()
                    )
        return referred
