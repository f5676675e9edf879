"""Rows that are made before any other, to see whether they can be and how long they are.

One law: they need no stream; what a stream would say of their times is made up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.sources.generate.model import Model, TableRows

TRIED = 64


def tried_rows(model: Model, place: int) -> TableRows:
    """Some of the rows with which a table begins, in a few versions."""
    keys = np.arange(min(TRIED, max(model.tables[place].rows, 1)))
    return TableRows(keys, keys % 3, 0, Tried(model), place)


@dataclass(frozen=True)
class Tried:
    """All are there from the first transaction on."""

    model: Model

    def born(self, table: int, keys: Ints, since: int) -> Ints:
        return np.zeros_like(keys)

    def changed(self, table: int, keys: Ints, versions: Ints, since: int) -> Ints:
        return versions

    def arrived(self, table: int, keys: Ints, since: int) -> Ints:
        return np.zeros_like(keys)

    def inserted(self, table: int, transactions: Ints, since: int) -> Ints:
        return np.full_like(transactions, max(self.model.tables[table].rows, 1))

    def milliseconds(self, transactions: Ints) -> Ints:
        return transactions
