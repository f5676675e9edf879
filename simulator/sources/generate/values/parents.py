"""Which row of another table a row refers to.

One law: one that was there when the row came, and that never goes: any of a table that loses no rows, else one of those
that the table began with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.cells import raw
from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.sources.generate.model import TableModel, TableRows
from simulator.sources.generate.values.draws import GOLDEN, MASK, hashed
from simulator.sources.generate.values.recipes import Recipe
from simulator.tidb.ddl.column_sources import text_changes
from simulator.tidb.model.types import ColumnType
from simulator.tidb.values.changed_types import text_as


@dataclass(frozen=True)
class Pairing:
    """For rows that no unique column tells apart: one combination of parents after another."""

    before: int
    """How many combinations the parents ahead of this one have."""

    combinations: int
    """Of all parents."""

    again: bool
    """Whether combinations may come again, as the rows that had them are gone by then."""


@dataclass(frozen=True)
class Parents:
    place: int
    """In `Model.tables`."""

    rows: int
    """With which the parent began."""

    grows: bool
    """Whether later ones are referred to, too."""

    itself: bool
    """Whether it is the table of the rows: they refer to earlier ones, the first to none."""

    seed: int
    where: str
    pairing: Pairing | None = None

    def keys(self, rows: TableRows) -> Ints:
        """Of the parent's rows; -1 for none. Raises UserError where combinations run out."""
        if self.pairing is not None:
            return self._paired(rows.keys, self.pairing)
        hashes = hashed((self.seed + rows.since * GOLDEN) & MASK, rows.keys)
        there = np.broadcast_to(np.int64(self.rows), len(rows.keys))
        if self.itself:
            there = rows.keys if self.grows else np.minimum(rows.keys, self.rows)
        elif self.grows:
            inserted = rows.lives.inserted(self.place, np.maximum(rows.born, 0), 0)
            there = np.where(rows.born < 0, self.rows, inserted)
        found: Ints = ((hashes >> np.uint64(32)) * there.astype(np.uint64) >> np.uint64(32)).view(np.int64)
        return found if there.min(initial=1) else np.where(there > 0, found, -1)

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
class Referring:
    """What the rows that are referred to have in a column, which is never touched."""

    recipe: Recipe
    parents: Parents
    before: ColumnType
    after: ColumnType
    not_null: bool

    def texts(self, rows: TableRows) -> pa.Array:
        keys = self.parents.keys(rows)
        gone = keys < 0
        since = rows.since if self.parents.itself else 0
        known = np.maximum(keys, 0)
        found = self.recipe.texts(TableRows(known, np.zeros_like(known), since, rows.lives, self.parents.place))
        if text_changes(self.before, self.after):
            made = raw(text_as(self.before, self.after, found))
            if made.null_count > found.null_count:
                raise UserError(f"{self.parents.where}: {self.after.name} does not hold every value that it refers to")
            found = made
        if not gone.any() or self.not_null and self.parents.itself:
            return found
        if self.not_null:
            raise UserError(f"{self.parents.where}: NOT NULL, and there is no row yet that it could refer to")
        return found.filter(pa.array(~gone)).take(pa.array(np.cumsum(~gone) - 1, mask=gone))
