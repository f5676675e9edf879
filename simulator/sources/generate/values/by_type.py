"""Values for columns that nobody says anything of, and the recipe of what somebody says.

One law: every column of every type has values that it takes.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import TypeAlias, Union

import pyarrow as pa

from simulator.errors import UserError
from simulator.sources.generate.values.generators import Choice, Range
from simulator.sources.generate.values.pools import Documents, PooledValues, Words, misfit, pool, steps
from simulator.sources.generate.values.recipes import Counting, Dice, Pooled, Recipe
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.values.conversion import tidb_text
from simulator.tidb.values.numbers import bounds

MOST = 1_000_000
"""Of whole numbers that nobody asked for."""

FIRST_DAY = date(2020, 1, 1)
DAYS = 5 * 365

POOLED = 1 << 12
"""Values of a range up to which they are made once."""

Drawn: TypeAlias = Union[PooledValues, Range]


def by_type(column: Column) -> Drawn:
    """Raises UserError for a type that nobody makes values of."""
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
            return Choice(type_.elements)
        case "set" | "json" | "vector":
            return Documents()
        case "string" | "text":
            return Documents() if is_binary(type_) else Words()
    raise UserError(f"no values are made of type {type_.name}: say which the column has")


def _most(digits: int) -> float:
    """Of numbers with so many digits before the point."""
    return float(10 ** min(digits, 6) - 1) if digits > 0 else 0.99


def drawn(values: Drawn, type: ColumnType, seed: int, dice: Dice) -> Recipe:
    """Raises UserError for values that the column does not take."""
    if isinstance(values, Range):
        least, size, digits = steps(values.least, values.greatest)
        if size > POOLED:
            recipe = Counting(values.least.__class__, least, size, digits, type, dice)
            _check_ends(recipe, values)
            return recipe
    pool(values, type, seed)
    return Pooled(values, type, seed, dice)


def _check_ends(recipe: Counting, values: Range) -> None:
    for bound in (values.least, values.greatest):
        given = pa.array([bound.replace(tzinfo=None).isoformat(" ") if isinstance(bound, datetime) else str(bound)])
        if not tidb_text(recipe.type, given)[0].is_valid:
            raise misfit(recipe.type, bound)
