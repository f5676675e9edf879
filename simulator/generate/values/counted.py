"""Values that are unique in a table: they count up by the row's key.

A column that has reached its last number raises an error; it never starts again.
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
from simulator.generate.model import TableRows
from simulator.generate.values.recipes import ColumnRandom, PooledRecipe
from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, bare_name, family, is_binary
from simulator.tidb.storage.ids import random_counter_bits
from simulator.tidb.values.documents import BYTES
from simulator.tidb.values.numbers import bounds

COUNTED = ("integer", "string", "text", "decimal", "date", "datetime", "float", "bit")
"""Families that can count, best first."""

FIRST_DAY = date(2020, 1, 1)
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
