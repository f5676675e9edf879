"""What a stream of changes is asked to be: tables, how their rows come, change and go, and how transactions are made.

One law: with these values and a seed every change is known, wherever in the stream it stands; nothing else counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias, Union

from simulator.columns.change_frame import Ints


@dataclass(frozen=True)
class Mix:
    """Of so many changes of a table so many are of each kind, where several updates of a hot row in one transaction
    are counted each, though they are one change in the end."""

    inserts: int
    updates: int
    deletes: int


@dataclass(frozen=True)
class Uniform:
    """Every row is updated as often as any other."""


@dataclass(frozen=True)
class Zipf:
    exponent: float
    """The row of rank r is updated 1 / r ** exponent times as often as the first."""


@dataclass(frozen=True)
class HotSet:
    rows: float
    """Share of the rows that are hot, between 0 and 1."""

    updates: float
    """Share of the updates that they get."""


Skew: TypeAlias = Union[Uniform, Zipf, HotSet]


@dataclass(frozen=True)
class TableModel:
    """How the rows of one table live. They are numbered from 0 as they are inserted (`key` below)."""

    schema: str
    name: str
    rows: int
    """With how many rows the table starts; they are inserted first, or there before."""

    weight: int = 1
    """How many of the changes of all tables are this one's, beside the others' weights."""

    mix: Mix = Mix(20, 70, 10)
    skew: Skew = Uniform()
    kept: bool = False
    """Whether the rows with which it starts are never deleted, as rows of other tables refer to them."""


@dataclass(frozen=True)
class Model:
    seed: int
    tables: tuple[TableModel, ...]
    """Parents before the tables that refer to them: they are filled in this order."""

    rows_per_transaction: tuple[int, int] = (10, 10)
    """Least and most."""

    tables_per_transaction: int = 1
    """Most."""

    present: bool = False
    """Whether the rows with which tables start are there before the stream; otherwise it begins with them."""


@dataclass(frozen=True)
class KeyChanges:
    """Net changes of a window, one of each row and transaction, ordered by transaction; columns are equally long."""

    table: Ints
    """Place in `Model.tables`."""

    transaction: Ints
    """Number of the transaction in the stream, from 0."""

    key: Ints
    """Number of the row in its table, from 0 since the table was created or truncated."""

    before: Ints
    """Version of the row before; -1 where it was not there."""

    after: Ints
    """Version of the row after; -1 where it is not there any more. Versions of a row only rise."""


class RowTimes(Protocol):
    """When rows get their versions: what `sources.generate.changes.stream.Stream` knows."""

    def born(self, table: int, keys: Ints, since: int) -> Ints:
        """See `TableRows.born`."""

    def changed(self, table: int, keys: Ints, versions: Ints, since: int) -> Ints:
        """See `TableRows.changed`."""

    def arrived(self, table: int, keys: Ints, since: int) -> Ints:
        """The version in which each row was inserted."""

    def inserted(self, table: int, transactions: Ints, since: int) -> Ints:
        """How many rows of a table had been inserted before each transaction."""

    def milliseconds(self, transactions: Ints) -> Ints:
        """When transactions commit, in milliseconds since the stream's start; -1 for -1."""


@dataclass(frozen=True)
class TableRows:
    """Some rows of a table in some versions: what the values of columns are made of."""

    keys: Ints
    versions: Ints
    since: int
    """Number of the transaction before which the table was empty: 0, or that behind its last TRUNCATE."""

    lives: RowTimes
    """Asked for `born` and `changed`."""

    table: int
    """Place in `Model.tables`."""

    @cached_property
    def born(self) -> Ints:
        """The transaction in which each row was inserted; -1 for those that were there before the stream."""
        return self.lives.born(self.table, self.keys, self.since)

    @cached_property
    def changed(self) -> Ints:
        """The transaction in which each row got this version; -1 as above."""
        return self.lives.changed(self.table, self.keys, self.versions, self.since)
