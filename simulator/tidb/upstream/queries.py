"""Queries and expressions of statements, over the rows of an upstream.

One law: a statement is one query of the one evaluator of expressions; what is not computed is refused by its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from simulator.tidb.ddl.catalog import Key
from simulator.tidb.model.table import Column, Table
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import Limit, OrderItem, QueryTree, Source, WithTree
from simulator.tidb.upstream.outcome import ResultSet
from simulator.tidb.upstream.state import Upstream


class MatchedTable(NamedTuple):
    """A base table of a FROM clause."""

    alias: str
    """As written: its alias, else its name."""

    key: Key
    table: Table
    places: pa.Array
    """int64 places in its `StoredRows`, in the order of the statement; null where an outer join has no row."""


class Matched(NamedTuple):
    """What a statement's WHERE, ORDER BY and LIMIT let through; all arrays equally long."""

    tables: tuple[MatchedTable, ...]
    """In the order of the FROM clause."""

    values: Mapping[str, pa.Array]
    """Raw values of what was wanted, by its name."""


class RowSource(NamedTuple):
    """Rows that expressions name the columns of: equally long arrays of TiDB text by column name."""

    table: Table
    texts: Mapping[str, pa.Array]
    alias: str = ""
    """Instead of the table's name."""

    names: Mapping[str, str] = {}
    """What the columns are called instead: other name -> column of the table (`AS new(a, b)`)."""

    inserted: bool = False
    """Whether VALUES(column) means these rows; a plain name means them only where no other source has it, unless they
    have an alias."""


class Given(NamedTuple):
    """The values that rows of VALUES give a column."""

    raw: pa.Array
    """Raw values; null for NULL and where the statement says DEFAULT."""

    default: pa.Array | None
    """bool: in which rows it says DEFAULT; None if in none."""


def select(query: QueryTree, upstream: Upstream, now_ms: int) -> ResultSet:
    """The rows of a query. Raises SqlError."""
    raise NotImplementedError


def columns_of(
    rows: Sequence[tuple[Node, ...]], columns: Sequence[Column], upstream: Upstream, now_ms: int, table: Table
) -> tuple[Given, ...]:
    """The values of the rows of VALUES for these columns of the table, one `Given` for each column. Raises SqlError.

    A raw value is what `casts.raw` makes for its column and `conversion.tidb_text` takes: bytes as a file of SQL would
    have them. So `12.7` and `'12.7'` are alike for an INT, a number for an ENUM has become its member, a BIT is tagged.
    """
    raise NotImplementedError


def values_of(
    nodes: Sequence[Node], columns: Sequence[Column | None], upstream: Upstream, now_ms: int,
    sources: Sequence[RowSource] = (), rows: int = 1,
) -> list[pa.Array]:
    """Raw values of expressions, each for the column that takes it (TiDB text for None), over the sources' rows side by
    side; `rows` counts where there is no source. Raises SqlError."""
    raise NotImplementedError


def matching(
    source: Source, where: Node | None, order: Sequence[OrderItem], limit: Limit | None, upstream: Upstream,
    now_ms: int, wanted: Mapping[str, Node], targets: Mapping[str, Column], common: WithTree | None = None,
) -> Matched:
    """The rows that a statement is about, and raw values of `wanted` for the columns in `targets` (TiDB text for names
    that have no target), computed from the rows as they are before it. Raises SqlError.

    Without ORDER BY rows come by their places: `StoredRows.cells` are kept in TiKV's order, which is that of a scan.
    """
    raise NotImplementedError
