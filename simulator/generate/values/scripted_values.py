"""Values of columns for the step `generate`, chosen from pools or counted up, for whole columns.

Each column has its own random numbers, so that its values do not depend on the other columns.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import latin1
from simulator.errors import UserError, did_you_mean
from simulator.generate.model import Model, ProbeTimes, TableRows
from simulator.generate.values import generators
from simulator.generate.values.key_recipes import counting_recipe as counted_up
from simulator.generate.values.pools import MASK, seed_of
from simulator.generate.values.recipes import FIRST_DAY, ColumnRandom, Recipe, default_generator, make_recipe
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.model.table import Column, ForeignKey, Table, columns_by_name, unique_keys
from simulator.tidb.model.types import family, is_binary

Draw: TypeAlias = Callable[[int], pa.Array]
"""Return that many values in the form of `upstream.assign`; each call continues where the last one ended."""

NOTHING = Model(0, ())


def draws(
    table: Table, by_column: Mapping[str, generators.ColumnGenerator], upstream: Upstream, seed: int, salt: int
) -> dict[str, Draw]:
    """Return a Draw for each column that new rows need a value for, by name.

    Raise UserError for a column type without default values, and for missing rows of other tables.
    """
    counted, seeds = _counted(table, by_column), _Seeds(table, seed, salt)
    draws_by_column: dict[str, Draw] = {}
    for column in table.columns:
        generator = by_column.get(column.name, generators.ColumnGenerator())
        if (
            column.generated
            or column.auto_increment
            or column.auto_random
            or isinstance(generator.values, generators.RowTime)
            or (is_time(column) and column.name not in by_column)
        ):
            continue
        draws_by_column[column.name] = _draw(column, generator, column.name in counted, upstream, seeds)
    for foreign in table.foreign_keys:
        named = {
            columns_by_name(table)[name.lower()].name: other
            for name, other in zip(foreign.columns, foreign.references, strict=True)
        }
        open_ = {name: other for name, other in named.items() if name in draws_by_column and name not in by_column}
        draws_by_column |= _of_parents(table, foreign, open_, upstream, seeds.numbers(foreign.name))
    return draws_by_column


def is_time(column: Column) -> bool:
    """Return whether new rows have the time of their transaction in the column."""
    return column.default_expression and (column.default or "").upper().startswith("CURRENT_TIMESTAMP")


def keyed(table: Table) -> Collection[str]:
    """Return the columns of unique keys and of foreign keys, which updates do not change."""
    known = columns_by_name(table)
    names = [part.name.lower() for each in unique_keys(table) for part in each.columns]
    names += [name.lower() for foreign in table.foreign_keys for name in foreign.columns]
    return {known[name].name for name in names if name in known}


def _sequence(by_column: Mapping[str, generators.ColumnGenerator], column: Column) -> bool:
    return column.name in by_column and isinstance(by_column[column.name].values, generators.NumberSequence)


def _counted(table: Table, by_column: Mapping[str, generators.ColumnGenerator]) -> Collection[str]:
    """Return a column of each unique key that counts up, so that no two rows are equal in it."""
    known, counted = columns_by_name(table), set[str]()
    foreign = {name.lower() for each in table.foreign_keys for name in each.columns}
    for unique in unique_keys(table):
        columns = [known[part.name.lower()] for part in unique.columns if part.name.lower() in known]
        if any(
            column.auto_increment or column.auto_random or column.name in counted or _sequence(by_column, column)
            for column in columns
        ):
            continue
        free = [
            column
            for column in columns
            if not column.generated and column.name.lower() not in foreign and (family(column.type) in COUNTED)
        ]
        free.sort(key=lambda column: (column.name in by_column, COUNTED.index(family(column.type))))
        counted |= {column.name for column in free[:1]}
    return counted


COUNTED = ("integer", "string", "text", "decimal", "date", "datetime", "float")


@dataclass(frozen=True)
class _Seeds:
    """What the random numbers of a table's columns follow from."""

    table: Table
    seed: int
    salt: int

    def numbers(self, name: str) -> np.random.Generator:
        where = zlib.crc32(f"{self.table.schema}.{self.table.name}.{name}".lower().encode())
        return np.random.default_rng([self.seed & MASK, where, self.salt])

    def of_nulls(self) -> _Seeds:
        return replace(self, salt=~self.salt & MASK)

    def dice(self, column: Column) -> ColumnRandom:
        return ColumnRandom(seed_of(self.seed, self.table.schema, self.table.name, column.name, self.salt), None)


def _draw(
    column: Column, generator: generators.ColumnGenerator, counted: bool, upstream: Upstream, seeds: _Seeds
) -> Draw:
    kind, values = family(column.type), generator.values
    if isinstance(values, generators.Reference):
        return _nullable(_referred(values, upstream, seeds.numbers(column.name)), generator, column, seeds)
    if isinstance(values, generators.Template | generators.UpdateCount):
        raise UserError(
            f"columns: {column.name!r}: a template and a version are for the tables of a load; accepted here: faker, "
            "choice, min and max, sequence, distribution, text, reference, time or value"
        )
    if isinstance(values, generators.NumberSequence):
        return _drawing(column, counted_up(column.type, f"column {column.name!r}", values.first, values.step))
    if not counted or isinstance(values, generators.ValueChoice):
        return _nullable(_chosen(column, values, seeds), generator, column, seeds)
    first = _first(upstream.rows(seeds.table).texts()[column.name].cast(pa.string()), kind)
    if isinstance(values, generators.Range) and isinstance(values.least, int) and isinstance(first, int):
        first = max(first, values.least)
    step = _stepping(first)
    if kind not in ("string", "text") or values is None:
        return step
    chosen = _chosen(column, values, seeds)
    return lambda count: pc.binary_join_element_wise(step(count), chosen(count).cast(pa.string()), "-")


def _chosen(column: Column, values: generators.Generator | None, seeds: _Seeds) -> Draw:
    assert not isinstance(
        values,
        generators.Reference
        | generators.Template
        | generators.UpdateCount
        | generators.RowTime
        | generators.NumberSequence,
    ), "handled before"
    try:
        wanted = default_generator(column) if values is None else values
        recipe = make_recipe(wanted, column.type, seeds.seed, seeds.dice(column))
    except UserError as error:
        raise UserError(*(f"column {column.name!r}: {each}" for each in error.args)) from None
    return _drawing(column, recipe)


def _drawing(column: Column, recipe: Recipe) -> Draw:
    """Return a Draw of a recipe, with rows numbered in the order of the calls."""
    first = 0

    def draw(count: int) -> pa.Array:
        nonlocal first
        keys = np.arange(first, first + count)
        first += count
        return as_given(column, recipe.texts(TableRows(keys, np.zeros_like(keys), 0, ProbeTimes(NOTHING), 0)))

    return draw


def as_given(column: Column, text: pa.Array) -> pa.Array:
    """Return TiDB text in the form of `upstream.assign`: the bytes of a binary column, a BIT's number tagged."""
    if column.type.name == "bit":
        return pc.binary_join_element_wise(b"n", text, b"")
    return latin1(text) if is_binary(column.type) else text.view(pa.string())


def _nullable(draw: Draw, wanted: generators.ColumnGenerator, column: Column, seeds: _Seeds) -> Draw:
    if not wanted.null:
        return draw
    numbers = seeds.of_nulls().numbers(column.name)

    def with_nulls(count: int) -> pa.Array:
        values = draw(count)
        return pc.if_else(pa.array(numbers.random(count) < wanted.null), pa.scalar(None, values.type), values)

    return with_nulls


def _referred(values: generators.Reference, upstream: Upstream, numbers: np.random.Generator) -> Draw:
    name = f"{values.schema}.{values.table}"
    parent = upstream.catalog.tables.get(object_key(values.schema, values.table))
    if parent is None:
        raise UserError(f"reference: there is no table {name}")
    known = columns_by_name(parent)
    if values.column.lower() not in known:
        raise UserError(f"reference: {name} has no column {values.column!r}.{did_you_mean(values.column, list(known))}")
    stored = upstream.rows(parent)
    if not len(stored):
        raise UserError(f"reference: {name} has no rows")
    column = known[values.column.lower()]
    return _from(as_given(column, stored.texts()[column.name]), numbers)


def _first(there: pa.Array, kind: str) -> int | date:
    """Return the number from which a column continues counting, above all its values."""
    if kind in ("date", "datetime"):
        days = pc.utf8_slice_codeunits(there, 0, 10)
        highest = pc.max(days).as_py()
        return FIRST_DAY if highest is None else max(FIRST_DAY, date.fromisoformat(highest) + timedelta(1))
    digits = pc.struct_field(pc.extract_regex(there, r"^(?P<n>[0-9]{1,18})"), "n")
    return (pc.max(digits.cast(pa.int64())).as_py() or 0) + 1


def _stepping(first: int | date) -> Draw:
    now = first

    def step(count: int) -> pa.Array:
        nonlocal now
        if isinstance(now, int):
            start, now = now, now + count
            return pa.array(np.arange(start, start + count)).cast(pa.string())
        day = np.datetime64(now, "D")
        now = now + timedelta(count)
        return pa.array(day + np.arange(count)).cast(pa.string())

    return step


def _from(values: pa.Array, numbers: np.random.Generator) -> Draw:
    return lambda count: values.take(pa.array(numbers.integers(len(values), size=count)))


def _of_parents(
    table: Table, foreign: ForeignKey, columns: Mapping[str, str], upstream: Upstream, numbers: np.random.Generator
) -> dict[str, Draw]:
    """Return values of rows that a foreign key may refer to; NULL if there are none, and if a table refers to
    itself."""
    parent = upstream.catalog.tables.get(object_key(foreign.schema, foreign.table))
    if not columns or parent is None:
        return {}
    stored = upstream.rows(parent)
    known = columns_by_name(parent)
    itself = object_key(parent.schema, parent.name) == object_key(table.schema, table.name)
    if itself or not len(stored):
        bound = [name for name in columns if columns_by_name(table)[name.lower()].not_null]
        if bound and not itself:
            raise UserError(f"column {bound[0]!r} refers to {parent.schema}.{parent.name}, which has no rows")
        return {name: lambda count: pa.nulls(count, pa.string()) for name in columns if name not in bound}
    texts, state = stored.texts(), numbers.integers(1 << 62)

    def of(name: str) -> Draw:
        values = texts[known[name.lower()].name]
        return _from(values, np.random.default_rng(int(state)))  # the same rows for all columns of the key

    return {name: of(other) for name, other in columns.items()}
