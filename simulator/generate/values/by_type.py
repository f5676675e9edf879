"""Default values of a column by its type, and the recipe of a generator.

Every column type has values that it accepts.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import TypeAlias, Union

import pyarrow as pa

from simulator.errors import UserError
from simulator.generate.values.generators import Range, ValueChoice
from simulator.generate.values.pools import Documents, PooledValues, Words, misfit, pool, steps
from simulator.generate.values.recipes import ColumnRandom, PooledRecipe, RangeRecipe, Recipe
from simulator.tidb.datums.columns import tidb_text
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.values.numbers import bounds

MOST = 1_000_000
"""Maximum of default integers."""

FIRST_DAY = date(2020, 1, 1)
DAYS = 5 * 365

POOLED = 1 << 12
"""Maximum size of a range whose values are pooled."""

Drawn: TypeAlias = Union[PooledValues, Range]


def default_generator(column: Column) -> Drawn:
    """Return the default generator of a column; raise UserError for a type without one."""
    type_, kind = column.type, family(column.type)
    match kind:
        case "integer":
            return Range(0, min(MOST, bounds(type_)[1]))
        case "bit":
            return Range(0, (1 << min(type_.length, 62)) - 1)
        case "year":
            return Range(2000, 2030)
        case "decimal":
            return Range(0.0, _most(type_.length - max(type_.decimal, 0)))
        case "float":
            return Range(0.0, _most(type_.length - max(type_.decimal, 0)) if type_.decimal >= 0 else 1000.0)
        case "date":
            return Range(FIRST_DAY, FIRST_DAY + timedelta(DAYS))
        case "datetime":
            return Range(datetime(2020, 1, 1), datetime(2025, 1, 1))
        case "time":
            return Range(time(0), time(23, 59, 59))
        case "enum":
            return ValueChoice(type_.elements)
        case "set" | "json" | "vector":
            return Documents()
        case "string" | "text":
            return Documents() if is_binary(type_) else Words()
    raise UserError(f"no values are made of type {type_.name}: say which the column has")


def _most(digits: int) -> float:
    """Return the largest default number with that many digits before the point."""
    return float(10 ** min(digits, 6) - 1) if digits > 0 else 0.99


def make_recipe(values: Drawn, type: ColumnType, seed: int, dice: ColumnRandom) -> Recipe:
    """Return the recipe of a generator; raise UserError for values that the column does not accept."""
    if isinstance(values, Range):
        least, size, digits = steps(values.least, values.greatest)
        if size > POOLED:
            recipe = RangeRecipe(values.least.__class__, least, size, digits, type, dice)
            _check_ends(recipe, values)
            return recipe
    pool(values, type, seed)
    return PooledRecipe(values, type, seed, dice)


def _check_ends(recipe: RangeRecipe, values: Range) -> None:
    for bound in (values.least, values.greatest):
        bounds = pa.array([bound.replace(tzinfo=None).isoformat(" ") if isinstance(bound, datetime) else str(bound)])
        if not tidb_text(recipe.type, bounds)[0].is_valid:
            raise misfit(recipe.type, bound)
