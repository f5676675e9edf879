"""Rounds of inserts, updates and deletes; each row occurs once in a round.

Updates and deletes of a round concern rows that existed when it began, so that its transactions may have them in any
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simulator.columns.cells import Places
from simulator.errors import UserError
from simulator.generate.model import Skew, Uniform, Zipf

ROUNDS = 16


class Round(NamedTuple):
    inserts: int
    updates: int
    deletes: int

    @property
    def rows(self) -> int:
        return sum(self)


def rounds(total: Round, there: int, most: int) -> list[Round]:
    """Return rounds of about `most` rows that add up to `wanted`, for a table with `there` rows; raise UserError."""
    if total.deletes > there + total.inserts:
        raise UserError(
            f"deletes: {total.deletes:,} are more than the rows there are: {there:,} before, and {total.inserts:,} "
            "inserted"
        )
    if total.updates and not there + total.inserts:
        raise UserError(f"updates: the table has no row for {total.updates:,} of them, and inserts says none")
    return list(_rounds(total, there, max(1, -(-total.rows // most))))


def _rounds(total: Round, there: int, count: int) -> Iterator[Round]:
    done, number = Round(0, 0, 0), 0
    while done != total:
        number = min(number + 1, count)
        inserts, updates, deletes = (each * number // count - so_far for each, so_far in zip(total, done, strict=True))
        updates = min(updates, there)
        made = Round(inserts, updates, min(deletes, there - updates))
        there += made.inserts - made.deletes
        done = Round(*(before + now for before, now in zip(done, made, strict=True)))
        if made.rows:
            yield made


def chosen_rows(numbers: np.random.Generator, rows: int, updates: int, deletes: int, skew: Skew) -> Places:
    """Return positions of rows, each once; those of the updates follow the skew, with the first rows as the hot
    ones."""
    if isinstance(skew, Uniform) or not updates:
        positions: Places = numbers.choice(rows, updates + deletes, replace=False)
        return positions
    if isinstance(skew, Zipf):
        weights = np.arange(1, rows + 1, dtype=np.float64) ** -skew.exponent
    else:
        hot = min(max(1, round(skew.rows * rows)), rows)
        weights = np.full(rows, (1 - skew.updates) / max(rows - hot, 1))
        weights[:hot] = skew.updates / hot
    updated_rows = numbers.choice(rows, updates, replace=False, p=weights / weights.sum())
    others = np.setdiff1d(np.arange(rows), updated_rows)
    return np.concatenate((updated_rows, numbers.choice(others, deletes, replace=False)))
