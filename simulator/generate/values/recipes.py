"""Recipes of the values of columns: rows → TiDB text. Each column type has a default one.

A recipe is a small value. The same rows give the same texts in any process, whatever other rows are generated with
them. In tables with a configured row size, default texts share the rest of it equally; none is longer than its column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Protocol, TypeAlias, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.generate.model import TableRows
from simulator.generate.values.generators import Range, Text, ValueChoice
from simulator.generate.values.pools import (
    GOLDEN,
    MASK,
    Documents,
    PooledValues,
    Words,
    misfit,
    numbers,
    pool,
    random_below,
    random_share,
    steps,
)
from simulator.generate.values.reading import LONGEST
from simulator.tidb.datums.cast import convert_text, tidb_text
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, bounds, family, is_binary
from simulator.tidb.values.kernels import BYTES


class Recipe(Protocol):
    def texts(self, rows: TableRows) -> pa.Array:
        """Return the TiDB text (binary) of each row; null for NULL."""


@dataclass(frozen=True)
class UpdateGroup:
    """The updates that change a column: every `groups`-th, each group in turn."""

    group: int
    groups: int

    def touches(self, rows: TableRows) -> Ints:
        """Return how often each row's column has been changed."""
        if self.groups == 1:
            return rows.versions
        return (rows.versions + (self.groups - self.group)) // self.groups


@dataclass(frozen=True)
class ColumnRandom:
    """Random numbers for the rows of one column."""

    seed: int
    touched: UpdateGroup | None
    """None if no update changes the column."""

    def of(self, rows: TableRows, size: int, least: int = 1) -> Ints:
        touches = None if self.touched is None else self.touched.touches(rows)
        return random_below(self._seed(rows), rows.keys, touches, size, least)

    def chosen(self, rows: TableRows, share: float) -> pa.Array:
        touches = None if self.touched is None else self.touched.touches(rows)
        return pa.array(random_share(self._seed(rows) ^ GOLDEN, rows.keys, touches, share))

    def _seed(self, rows: TableRows) -> int:
        return (self.seed + rows.since * GOLDEN) & MASK


@dataclass(frozen=True)
class PooledRecipe:
    values: PooledValues
    type: ColumnType
    pool_seed: int
    dice: ColumnRandom

    def texts(self, rows: TableRows) -> pa.Array:
        pool_values = pool(self.values, self.type, self.pool_seed)
        places = self.dice.of(rows, pool_values.size, pool_values.widest)
        return pool_values.texts.take(pa.array(places if pool_values.slots is None else pool_values.slots[places]))


@dataclass(frozen=True)
class RangeRecipe:
    """The numbers, dates or times of a range (`pools.steps`)."""

    kind: type
    least: int
    size: int
    digits: int
    type: ColumnType
    dice: ColumnRandom

    def texts(self, rows: TableRows) -> pa.Array:
        integers = (self.dice.of(rows, self.size).view(np.uint64) + np.uint64(self.least & MASK)).view(np.int64)
        if self.type.name == "bit" and not self.digits:
            return raw(pa.array(integers.view(np.uint64)).cast(pa.string()))
        return raw(tidb_text(self.type, numbers(self.kind, integers, self.digits, self.type)))


@dataclass(frozen=True)
class NullableRecipe:
    recipe: Recipe
    share: float
    dice: ColumnRandom

    def texts(self, rows: TableRows) -> pa.Array:
        texts = self.recipe.texts(rows)
        return pc.if_else(self.dice.chosen(rows, self.share), pa.scalar(None, pa.binary()), texts)


@dataclass(frozen=True)
class ConstantRecipe:
    text: bytes | None

    def texts(self, rows: TableRows) -> pa.Array:
        return pa.repeat(pa.scalar(self.text, pa.binary()), len(rows.keys))


@dataclass(frozen=True)
class AddedRecipe:
    """A column that was added after the stream began."""

    default: ConstantRecipe
    recipe: Recipe
    since: int
    """The first transaction after it was added. Versions from before have the default."""

    def texts(self, rows: TableRows) -> pa.Array:
        return pc.if_else(pa.array(rows.changed >= self.since), self.recipe.texts(rows), self.default.texts(rows))


@dataclass(frozen=True)
class RowTimeRecipe:
    """When rows were inserted, or last changed."""

    changed: bool
    type: ColumnType
    start_ms: int
    """Start of the stream, in milliseconds since 1970."""

    def texts(self, rows: TableRows) -> pa.Array:
        ms = rows.lives.milliseconds(rows.changed if self.changed else rows.born) + self.start_ms
        return moments(self.type, ms)


def moments(type: ColumnType, ms: Ints) -> pa.Array:
    """Return milliseconds since 1970 as CURRENT_TIMESTAMP of a column, in UTC; seconds as numbers."""
    if family(type) in ("integer", "decimal", "float"):
        return raw(tidb_text(type, pa.array(ms // 1000)))
    digits = min(max(type.decimal, 0), 3)
    part = 10 ** (3 - digits)
    known = ms // part * part
    if not digits:
        return raw(tidb_text(type, pa.array(ms // 1000).view(pa.timestamp("s"))))
    return raw(tidb_text(type, pa.array(known).view(pa.timestamp("ms"))))


@dataclass(frozen=True)
class UpdateCountRecipe:
    """How often rows were updated."""

    type: ColumnType
    where: str

    def texts(self, rows: TableRows) -> pa.Array:
        arrived = rows.lives.arrived(rows.table, rows.keys, rows.since)
        return fitting(self.type, pa.array(rows.versions - arrived), self.where)


@dataclass(frozen=True)
class TemplateRecipe:
    """A template: texts of other columns with literals between them; NULL is empty."""

    literals: tuple[str, ...]
    """One before each recipe, and one after the last."""

    recipes: tuple[Recipe, ...]
    type: ColumnType
    where: str

    def texts(self, rows: TableRows) -> pa.Array:
        parts: list[object] = [self.literals[0].encode()]
        for recipe, literal in zip(self.recipes, self.literals[1:], strict=True):
            parts += [pc.fill_null(recipe.texts(rows), b""), literal.encode()]
        if not self.recipes:
            return ConstantRecipe(self.literals[0].encode()).texts(rows)
        joined = pc.binary_join_element_wise(*parts, b"")
        return fitting(self.type, joined if is_binary(self.type) else joined.cast(pa.string()), self.where)


@dataclass(frozen=True)
class ConvertedRecipe:
    """A column whose type was changed after the stream began."""

    recipe: Recipe
    before: ColumnType
    after: ColumnType
    where: str

    def texts(self, rows: TableRows) -> pa.Array:
        texts = self.recipe.texts(rows)
        converted = raw(convert_text(self.before, self.after, texts))
        _check(converted, texts, self.after, self.where)
        return converted


def fitting(type: ColumnType, values: pa.Array, where: str) -> pa.Array:
    """Return the TiDB text of values; raise UserError for one that the column does not accept."""
    made = raw(tidb_text(type, values))
    _check(made, values, type, where)
    return made


def _check(made: pa.Array, values: pa.Array, type: ColumnType, where: str) -> None:
    if made.null_count > values.null_count:
        wrong = int(np.argmax(np.asarray(pc.and_(made.is_null(), values.is_valid()))))
        value = values[wrong].as_py()
        shown = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        raise UserError(f"{where}: {misfit(type, shown)}")


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


DOCUMENT = 60
"""Bytes of a JSON document without its text."""


def text_capacity(type: ColumnType) -> int:
    """Return the maximum bytes of ASCII in a column; 0 for one that holds no text."""
    kind = family(type)
    if kind in ("string", "text"):
        return min(BYTES.get(type.name, type.length), LONGEST)
    return LONGEST if kind == "json" else 0


def share_bytes(missing: int, room: Mapping[str, int]) -> dict[str, int]:
    """Return how many of the missing bytes each column gets; raise UserError if there is not enough room."""
    if sum(room.values()) < missing:
        raise UserError(
            f"row-size: {missing:,} bytes are missing beside the columns that have a generator or are no texts, and "
            f"the others hold {sum(room.values()):,}: {', '.join(room) or 'there are none'}"
        )
    shares, left = {}, missing
    for count, (name, most) in enumerate(sorted(room.items(), key=lambda item: item[1])):
        shares[name] = min(most, -(-left // (len(room) - count)))
        left -= shares[name]
    return shares


def filling_text(type: ColumnType, size: int) -> Text | Documents:
    """Return a generator of texts with about that many bytes."""
    if family(type) == "json":
        return Documents(max(size, DOCUMENT))
    spread = min(size // 10, text_capacity(type) - size)
    return Text(size - spread, size + spread)
