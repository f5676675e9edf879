"""The model of a stream of changes: its tables, the lifecycle of their rows, the sizes of transactions, and rounds.

The model and a seed determine every change of the stream. A row occurs once in a round, and updates and deletes of a
round concern rows that existed when it began, so that its transactions may have them in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias, Union

import numpy as np

from simulator.columns.cells import Places
from simulator.columns.change_frame import Ints
from simulator.errors import UserError


@dataclass(frozen=True)
class Mix:
    """Numbers of inserts, updates and deletes among the changes of a table.

    Several updates of a hot row in one transaction count each, although they become one change.
    """

    inserts: int
    updates: int
    deletes: int


@dataclass(frozen=True)
class Uniform:
    """Every row is updated equally often."""


@dataclass(frozen=True)
class Zipf:
    exponent: float
    """The row of rank r is updated 1 / r ** exponent times as often as the first."""


@dataclass(frozen=True)
class HotSet:
    rows: float
    """Share of hot rows, between 0 and 1."""

    updates: float
    """Share of the updates that hot rows get."""


Skew: TypeAlias = Union[Uniform, Zipf, HotSet]


@dataclass(frozen=True)
class TableModel:
    """The lifecycle of the rows of one table. Rows are numbered from 0 in the order of insertion (`key` below)."""

    schema: str
    name: str
    rows: int
    """Number of rows at the start; they are inserted first, or exist before the stream."""

    weight: int = 1
    """Share of this table's changes, relative to the other tables' weights."""

    mix: Mix = Mix(20, 70, 10)
    skew: Skew = Uniform()
    kept: bool = False
    """Whether the first rows are never deleted, because rows of other tables refer to them."""


@dataclass(frozen=True)
class Model:
    seed: int
    tables: tuple[TableModel, ...]
    """Parents before the tables that refer to them: they are filled in this order."""

    rows_per_transaction: tuple[int, int] = (10, 10)
    """Minimum and maximum."""

    tables_per_transaction: int = 1
    """Maximum."""

    present: bool = False
    """Whether the first rows exist before the stream; otherwise it begins with inserting them."""


@dataclass(frozen=True)
class KeyChanges:
    """Net changes of a window, one for each row and transaction, ordered by transaction; columns have equal lengths."""

    table: Ints
    """Index in `Model.tables`."""

    transaction: Ints
    """Number of the transaction in the stream, from 0."""

    key: Ints
    """Number of the row in its table, from 0 since the table was created or truncated."""

    before: Ints
    """Version of the row before; -1 if it did not exist."""

    after: Ints
    """Version of the row after; -1 if it no longer exists. Versions of a row only increase."""


class RowTimes(Protocol):
    """The times of rows' versions, as in `generate.stream.Stream`."""

    def born(self, table: int, keys: Ints, since: int) -> Ints:
        """See `TableRows.born`."""

    def changed(self, table: int, keys: Ints, versions: Ints, since: int) -> Ints:
        """See `TableRows.changed`."""

    def versions(self, table: int, keys: Ints, transactions: Ints, since: int) -> Ints:
        """Return the version of each row before a transaction that follows its insertion."""

    def arrived(self, table: int, keys: Ints, since: int) -> Ints:
        """Return the version in which each row was inserted."""

    def inserted(self, table: int, transactions: Ints, since: int) -> Ints:
        """Return how many rows of a table had been inserted before each transaction."""

    def milliseconds(self, transactions: Ints) -> Ints:
        """Return when transactions commit, in milliseconds since the stream's start; -1 for -1."""


@dataclass(frozen=True)
class TableRows:
    """Rows of a table in some versions, from which the values of columns are derived."""

    keys: Ints
    versions: Ints
    since: int
    """Number of the transaction before which the table was empty: 0, or the one after its last TRUNCATE."""

    lives: RowTimes
    """The source of `born` and `changed`."""

    table: int
    """Index in `Model.tables`."""

    def at(self, places: Ints, versions: Ints) -> TableRows:
        """Return the rows at these positions in other versions."""
        return replace(self, keys=self.keys[places], versions=versions)

    @cached_property
    def born(self) -> Ints:
        """The transaction in which each row was inserted; -1 for rows that existed before the stream."""
        return self.lives.born(self.table, self.keys, self.since)

    @cached_property
    def changed(self) -> Ints:
        """The transaction in which each row got this version; -1 as for `born`."""
        return self.lives.changed(self.table, self.keys, self.versions, self.since)


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
