"""How the values of a column come about, a recipe for each kind: rows in, TiDB text out.

One law: a recipe is a small value that says all; given the same rows it gives the same texts in any process, whatever
rows are beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.sources.generate.model import TableRows
from simulator.sources.generate.values.draws import GOLDEN, MASK, chosen, dealt, hashed
from simulator.sources.generate.values.pools import PooledValues, misfit, numbers, pool
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.values.changed_types import text_as
from simulator.tidb.values.conversion import tidb_text


class Recipe(Protocol):
    def texts(self, rows: TableRows) -> pa.Array:
        """TiDB text (binary) of each row; null for NULL."""


@dataclass(frozen=True)
class Touched:
    """Which updates touch a column: every `groups`-th, each group in its turn."""

    group: int
    groups: int

    def touches(self, rows: TableRows) -> Ints:
        """How often each row's column has been touched."""
        if self.groups == 1:
            return rows.versions
        return (rows.versions + (self.groups - self.group)) // self.groups


@dataclass(frozen=True)
class Dice:
    """Numbers for the rows of one column."""

    seed: int
    touched: Touched | None
    """None where no update touches the column."""

    def of(self, rows: TableRows, size: int, least: int = 1) -> Ints:
        touches = None if self.touched is None else self.touched.touches(rows)
        return dealt(self._seed(rows), rows.keys, touches, size, least)

    def chosen(self, rows: TableRows, share: float) -> pa.Array:
        touches = None if self.touched is None else self.touched.touches(rows)
        return pa.array(chosen(self._seed(rows) ^ GOLDEN, rows.keys, touches, share))

    def hashed(self, rows: TableRows) -> Ints:
        found: Ints = hashed(self._seed(rows), rows.keys).view(np.int64)
        return found

    def _seed(self, rows: TableRows) -> int:
        return (self.seed + rows.since * GOLDEN) & MASK


@dataclass(frozen=True)
class Pooled:
    values: PooledValues
    type: ColumnType
    pool_seed: int
    dice: Dice

    def texts(self, rows: TableRows) -> pa.Array:
        found = pool(self.values, self.type, self.pool_seed)
        places = self.dice.of(rows, found.size, found.widest)
        return found.texts.take(pa.array(places if found.slots is None else found.slots[places]))


@dataclass(frozen=True)
class Counting:
    """Any of the numbers, dates or times of a range (`pools.steps`)."""

    kind: type
    least: int
    size: int
    digits: int
    type: ColumnType
    dice: Dice

    def texts(self, rows: TableRows) -> pa.Array:
        found = (self.dice.of(rows, self.size).view(np.uint64) + np.uint64(self.least & MASK)).view(np.int64)
        if self.type.name == "bit" and not self.digits:
            return raw(pa.array(found.view(np.uint64)).cast(pa.string()))
        return raw(tidb_text(self.type, numbers(self.kind, found, self.digits, self.type)))


@dataclass(frozen=True)
class Nullable:
    recipe: Recipe
    share: float
    dice: Dice

    def texts(self, rows: TableRows) -> pa.Array:
        found = self.recipe.texts(rows)
        return pc.if_else(self.dice.chosen(rows, self.share), pa.scalar(None, pa.binary()), found)


@dataclass(frozen=True)
class Constant:
    text: bytes | None

    def texts(self, rows: TableRows) -> pa.Array:
        return pa.repeat(pa.scalar(self.text, pa.binary()), len(rows.keys))


@dataclass(frozen=True)
class Clock:
    """When rows were inserted, or changed last."""

    changed: bool
    type: ColumnType
    start_ms: int
    """When the stream starts, in milliseconds since 1970."""

    def texts(self, rows: TableRows) -> pa.Array:
        ms = rows.lives.milliseconds(rows.changed if self.changed else rows.born) + self.start_ms
        return moments(self.type, ms)


def moments(type: ColumnType, ms: Ints) -> pa.Array:
    """Milliseconds since 1970 as CURRENT_TIMESTAMP gives them to a column, in UTC; seconds as numbers."""
    if family(type) in ("integer", "decimal", "float"):
        return raw(tidb_text(type, pa.array(ms // 1000)))
    digits = min(max(type.decimal, 0), 3)
    part = 10 ** (3 - digits)
    known = ms // part * part
    if not digits:
        return raw(tidb_text(type, pa.array(ms // 1000).view(pa.timestamp("s"))))
    return raw(tidb_text(type, pa.array(known).view(pa.timestamp("ms"))))


@dataclass(frozen=True)
class Versions:
    """How often rows were updated."""

    type: ColumnType
    where: str

    def texts(self, rows: TableRows) -> pa.Array:
        arrived = rows.lives.arrived(rows.table, rows.keys, rows.since)
        return fitting(self.type, pa.array(rows.versions - arrived), self.where)


@dataclass(frozen=True)
class Joined:
    """A template: the texts of other columns with others between them; NULL is as nothing."""

    literals: tuple[str, ...]
    """One before each recipe, and one behind the last."""

    recipes: tuple[Recipe, ...]
    type: ColumnType
    where: str

    def texts(self, rows: TableRows) -> pa.Array:
        parts: list[object] = [self.literals[0].encode()]
        for recipe, literal in zip(self.recipes, self.literals[1:], strict=True):
            parts += [pc.fill_null(recipe.texts(rows), b""), literal.encode()]
        if not self.recipes:
            return Constant(self.literals[0].encode()).texts(rows)
        joined = pc.binary_join_element_wise(*parts, b"")
        return fitting(self.type, joined if is_binary(self.type) else joined.cast(pa.string()), self.where)


@dataclass(frozen=True)
class Converted:
    """A column whose type was changed after the stream began."""

    recipe: Recipe
    before: ColumnType
    after: ColumnType
    where: str

    def texts(self, rows: TableRows) -> pa.Array:
        found = self.recipe.texts(rows)
        made = raw(text_as(self.before, self.after, found))
        _check(made, found, self.after, self.where)
        return made


def fitting(type: ColumnType, given: pa.Array, where: str) -> pa.Array:
    """TiDB text of values. Raises UserError for one that the column does not take."""
    made = raw(tidb_text(type, given))
    _check(made, given, type, where)
    return made


def _check(made: pa.Array, given: pa.Array, type: ColumnType, where: str) -> None:
    if made.null_count > given.null_count:
        wrong = int(np.argmax(np.asarray(pc.and_(made.is_null(), given.is_valid()))))
        raise UserError(f"{where}: {misfit(type, given[wrong].as_py())}")
