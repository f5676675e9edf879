"""The row of another table that a row refers to.

It existed when the row was inserted, and is never deleted: any row of a table without deletes, otherwise one of the
table's first rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.cells import raw
from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.generate.model import TableModel, TableRows
from simulator.generate.values.draws import GOLDEN, MASK, hashed
from simulator.generate.values.recipes import Recipe
from simulator.tidb.datums.cast import convert_text
from simulator.tidb.ddl.column_definitions import text_changes
from simulator.tidb.model.types import ColumnType


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
