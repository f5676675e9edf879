"""Rows that are generated before any other, to check the recipes and measure the length of rows.

They need no stream; their times are invented.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.generate.model import Model, TableRows

TRIED = 64


def probe_rows(model: Model, place: int, count: int = TRIED) -> TableRows:
    """Return some of a table's first rows, in a few versions."""
    keys = np.arange(min(count, max(model.tables[place].rows, 1)))
    return TableRows(keys, keys % 3, 0, ProbeTimes(model), place)


@dataclass(frozen=True)
class ProbeTimes:
    """Times with which all rows exist from the first transaction on."""

    model: Model

    def born(self, table: int, keys: Ints, since: int) -> Ints:
        return np.zeros_like(keys)

    def changed(self, table: int, keys: Ints, versions: Ints, since: int) -> Ints:
        return versions

    def versions(self, table: int, keys: Ints, transactions: Ints, since: int) -> Ints:
        return transactions - 1

    def arrived(self, table: int, keys: Ints, since: int) -> Ints:
        return np.zeros_like(keys)

    def inserted(self, table: int, transactions: Ints, since: int) -> Ints:
        return np.full_like(transactions, max(self.model.tables[table].rows, 1))

    def milliseconds(self, transactions: Ints) -> Ints:
        return transactions
