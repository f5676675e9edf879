"""Values that are unique in a table: they count up by the row's key.

A column that has reached its last number raises an error; it never starts again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.sources.generate.model import TableRows
from simulator.sources.generate.values.recipes import ColumnRandom, PooledRecipe
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.sql_engine.storage.auto_ids import random_counter_bits
from simulator.tidb.values.conversion import tidb_text
from simulator.tidb.values.numbers import bounds

COUNTED = ("integer", "string", "text", "decimal", "date", "datetime", "float", "bit")
"""Families that can count, best first."""

FIRST_DAY = date(2020, 1, 1)
EPOCH = date(1970, 1, 1)
WIDEST = (1 << 63) - 1
LAST = {"date": (date.max - EPOCH).days, "datetime": (date.max - EPOCH).days * 86_400, "timestamp": (1 << 31) - 1}


@dataclass(frozen=True)
class CountingRecipe:
    type: ColumnType
    first: int
    step: int
    least: int
    most: int
    where: str

    def texts(self, rows: TableRows) -> pa.Array:
        if len(rows.keys):
            self.check(int(rows.keys.min()), int(rows.keys.max()))
        return text_of(self.type, self.first + self.step * rows.keys)

    def check(self, *keys: int) -> None:
        """Raise UserError for a key beyond the column's numbers."""
        for number in (self.first + self.step * each for each in keys):
            if not self.least <= number <= self.most:
                raise UserError(
                    f"{self.where}: {self.type.name} has no number {number:,} to count to; accepted: "
                    f"{self.least:,} to {self.most:,}"
                )


def counting_recipe(
    type: ColumnType, where: str, first: int | None = None, step: int = 1, prefix: int = -1
) -> CountingRecipe:
    """Return the recipe of a column that counts from `first`; `prefix` is the number of characters that must differ."""
    kind = family(type)
    least, most = 0, WIDEST
    if kind == "integer":
        low, high = bounds(type)
        least, most = low, min(high, WIDEST)
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
    """Maximum characters of the column; -1 for no limit."""

    def texts(self, rows: TableRows) -> pa.Array:
        numbers = self.counted.texts(rows)
        texts = pc.binary_join_element_wise(numbers, self.pooled.texts(rows), b"-")
        if self.length < 0 or not (pc.max(pc.binary_length(texts)).as_py() or 0) > self.length:
            return texts
        return raw(pc.utf8_slice_codeunits(texts.view(pa.string()), 0, self.length))


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
