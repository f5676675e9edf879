"""Values that are unique in a table, which count up by the row's key, and those of rows of other tables that a row refers to.

A column that has reached its last number raises an error; it never starts again. A row that is referred to existed when
the row was inserted, and is never deleted: any row of a table without deletes, otherwise one of the table's first rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import lengths, raw
from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.generate.model import TableModel, TableRows
from simulator.generate.values.pools import GOLDEN, MASK, hashed
from simulator.generate.values.recipes import FIRST_DAY, ColumnRandom, PooledRecipe, Recipe
from simulator.tidb.datums.cast import convert_text, tidb_text
from simulator.tidb.ddl.column_definitions import text_changes
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, bare_name, bounds, family, is_binary
from simulator.tidb.storage.ids import random_counter_bits
from simulator.tidb.values.kernels import BYTES

COUNTED = ("integer", "string", "text", "decimal", "date", "datetime", "float", "bit")
"""Families that can count, best first."""

EPOCH = date(1970, 1, 1)
WIDEST = (1 << 63) - 1
YEARS = 1901, 2155
LAST = {"date": (date.max - EPOCH).days, "datetime": (date.max - EPOCH).days * 86_400, "timestamp": (1 << 31) - 1}


@dataclass(frozen=True)
class CountingRecipe:
    type: ColumnType
    first: int
    step: int
    least: int
    most: int
    where: str

    @property
    def rows(self) -> int:
        """How many rows it counts."""
        if not self.least <= self.first <= self.most:
            return 0
        return (self._last - self.first) // self.step + 1

    @property
    def _last(self) -> int:
        return self.most if self.step > 0 else self.least

    def texts(self, rows: TableRows) -> pa.Array:
        count = int(rows.keys.max(initial=-1)) + 1
        if count > self.rows:
            raise UserError(f"{self.where}: {self.refusal(f'row {count:,} is beyond them')}")
        return text_of(self.type, self.first + self.step * rows.keys)

    def refusal(self, needed: str) -> str:
        """Return the message for more rows than it counts; `needed` says how many."""
        by = f" by {self.step:,}" if self.step != 1 else ""
        numbers = f"from {self._shown(self.first)} to {self._shown(self._last)}{by}"
        return (
            f"{bare_name(self.type)} counts {numbers}, which is {self.rows:,} rows, and {needed}; accepted: a type that "
            "holds more, or fewer rows"
        )

    def _shown(self, number: int) -> str:
        if family(self.type) not in ("date", "datetime"):
            return f"{number:,}"
        shown: bytes = text_of(self.type, np.array([number]))[0].as_py()
        return shown.decode()


def counting_recipe(
    type: ColumnType, where: str, first: int | None = None, step: int = 1, prefix: int = -1
) -> CountingRecipe:
    """Return the recipe of a column that counts from `first`; `prefix` is the number of characters that must differ.

    Raise UserError for a type that does not count.
    """
    kind = family(type)
    least, most = 0, WIDEST
    if kind not in (*COUNTED, "year", "json"):
        raise UserError(f"sequence: {type.name} does not count; accepted: a number, a date or a text")
    if kind == "integer":
        low, high = bounds(type)
        least, most = low, min(high, WIDEST)
    elif kind == "year":
        least, most = YEARS
    elif kind == "bit":
        most = min((1 << type.length) - 1, WIDEST)
    elif kind == "decimal":
        most = min(10 ** (type.length - max(type.decimal, 0)) - 1, WIDEST)
        least = 0 if type.unsigned else -most
    elif kind == "float":
        most = 1 << (24 if type.name == "float" else 53)
        if type.decimal >= 0:
            most = min(most, 10 ** (type.length - type.decimal) - 1)
        least = 0 if type.unsigned else -most
    elif kind in ("date", "datetime"):
        most = LAST[type.name]
        first = (FIRST_DAY - EPOCH).days * (1 if kind == "date" else 86_400) if first is None else first
    else:
        length = prefix if prefix >= 0 else type.length
        most = min(10 ** min(max(length, 0), 18) - 1, WIDEST) if length >= 0 else WIDEST
    return CountingRecipe(type, 1 if first is None else first, step, least, most, where)


def text_of(type: ColumnType, whole: Ints) -> pa.Array:
    """Return integers as values of a column; days and seconds since 1970 become dates and times."""
    kind = family(type)
    if kind == "date":
        return raw(tidb_text(type, pa.array(whole.astype(np.int32)).view(pa.date32())))
    if kind == "datetime":
        return raw(tidb_text(type, pa.array(whole).view(pa.timestamp("s"))))
    if kind in ("float", "decimal"):
        return raw(tidb_text(type, pa.array(whole).cast(pa.decimal128(19, 0) if kind == "decimal" else pa.float64())))
    text = raw(pa.array(whole).cast(pa.string()))
    return raw(tidb_text(type, text)) if type.name == "char" and is_binary(type) else text


@dataclass(frozen=True)
class NumberedTextRecipe:
    """A number that makes the value unique, followed by a text."""

    counted: CountingRecipe
    pooled: PooledRecipe
    length: int
    """Maximum characters, in a TEXT bytes."""

    def texts(self, rows: TableRows) -> pa.Array:
        numbers = self.counted.texts(rows)
        texts = pc.binary_join_element_wise(numbers, self.pooled.texts(rows), b"-")
        return shortened(self.counted.type, texts, self.length)


def shortened(type: ColumnType, texts: pa.Array, length: int) -> pa.Array:
    """Return texts cut to a length, as the column stores them."""
    if lengths(texts).max(initial=0) > length:
        cut = pc.utf8_slice_codeunits(texts.view(pa.string()), 0, length)
        if type.name in BYTES and not is_binary(type):
            cut = pa.array([text.encode()[:length].decode(errors="ignore") for text in cut.to_pylist()], pa.string())
        texts = raw(cut)
    if type.name != "char":
        return texts
    text = texts.view(pa.string())
    return raw(pc.utf8_rpad(text, type.length, "\0") if is_binary(type) else pc.utf8_rtrim(text, " "))


@dataclass(frozen=True)
class AutoRandomRecipe:
    """AUTO_RANDOM: shard bits above a counter."""

    counted: CountingRecipe
    shard_bits: int
    counter_bits: int
    unsigned: bool
    dice: ColumnRandom

    def texts(self, rows: TableRows) -> pa.Array:
        self.counted.texts(rows)
        shards = self.dice.of(rows, 1 << self.shard_bits)
        ids = shards << self.counter_bits | rows.keys + 1
        return raw(pa.array(ids.view(np.uint64) if self.unsigned else ids).cast(pa.string()))


def auto_random_recipe(column: Column, where: str, dice: ColumnRandom) -> AutoRandomRecipe:
    bits = random_counter_bits(column)
    within = CountingRecipe(column.type, 1, 1, 1, (1 << bits) - 1, where)
    return AutoRandomRecipe(within, column.shard_bits, bits, column.type.unsigned, dice)


@dataclass(frozen=True)
class Pairing:
    """Combinations of parents for rows without another unique column."""

    before: int
    """Number of combinations of the preceding parents."""

    combinations: int
    """Number of combinations of all parents."""

    again: bool
    """Whether combinations may repeat, because the rows that had them are deleted by then."""


@dataclass(frozen=True)
class Parents:
    place: int
    """Index in `Model.tables`."""

    rows: int
    """Number of rows of the parent at the start."""

    grows: bool
    """Whether later rows are referred to, too."""

    itself: bool
    """Whether the parent is the rows' own table: they refer to earlier rows, the first to none."""

    seed: int
    where: str
    pairing: Pairing | None = None

    def keys(self, rows: TableRows) -> Ints:
        """Return the keys of the parent's rows; -1 for none. Raise UserError if there are no more combinations."""
        if self.pairing is not None:
            return self._paired(rows.keys, self.pairing)
        hashes = hashed((self.seed + rows.since * GOLDEN) & MASK, rows.keys)
        there = np.broadcast_to(np.int64(self.rows), len(rows.keys))
        if self.itself:
            there = rows.keys if self.grows else np.minimum(rows.keys, self.rows)
        elif self.grows:
            inserted = rows.lives.inserted(self.place, np.maximum(rows.born, 0), 0)
            there = np.where(rows.born < 0, self.rows, inserted)
        parent_keys: Ints = ((hashes >> np.uint64(32)) * there.astype(np.uint64) >> np.uint64(32)).view(np.int64)
        return parent_keys if there.min(initial=1) else np.where(there > 0, parent_keys, -1)

    def _paired(self, keys: Ints, pairing: Pairing) -> Ints:
        most = int(keys.max(initial=-1))
        if not pairing.again and most >= pairing.combinations:
            raise UserError(
                f"{self.where}: no two rows may refer to the same rows, of which there are {pairing.combinations:,} "
                f"combinations, and row {most + 1:,} came; accepted: more rows to refer to, or as many deletes"
            )
        digits = keys // pairing.before % self.rows
        return digits if pairing.before == 1 else (digits + keys) % self.rows


def grows(model: TableModel) -> bool:
    return not model.mix.deletes and model.mix.inserts > 0 and model.weight > 0


@dataclass(frozen=True)
class ReferenceRecipe:
    """A column with the values of a referred column, which updates never change."""

    recipe: Recipe
    parents: Parents
    before: ColumnType
    after: ColumnType
    not_null: bool

    def texts(self, rows: TableRows) -> pa.Array:
        keys = self.parents.keys(rows)
        is_missing = keys < 0
        since = rows.since if self.parents.itself else 0
        parent_keys = np.maximum(keys, 0)
        texts = self.recipe.texts(
            TableRows(parent_keys, np.zeros_like(parent_keys), since, rows.lives, self.parents.place)
        )
        if text_changes(self.before, self.after):
            made = raw(convert_text(self.before, self.after, texts))
            if made.null_count > texts.null_count:
                raise UserError(f"{self.parents.where}: {self.after.name} does not hold every value that it refers to")
            texts = made
        if not is_missing.any() or self.not_null and self.parents.itself:
            return texts
        if self.not_null:
            raise UserError(f"{self.parents.where}: NOT NULL, and there is no row yet that it could refer to")
        return texts.filter(pa.array(~is_missing)).take(pa.array(np.cumsum(~is_missing) - 1, mask=is_missing))
