"""What an ALTER TABLE does to a table, step by step: the shape that all its specs share.

One law: a spec is checked against the table before the statement, and applied to what the specs before it left
(TiDB: pkg/ddl/executor.go, AlterTable; pkg/ddl/multi_schema_change.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.model.table import Column, Index, Table
from simulator.tidb.syntax.definitions import TableName


@dataclass(frozen=True)
class KnownTable:
    """A table that a statement is about, as it is before the statement."""

    catalog: Catalog
    table: Table
    text: str
    """The statement, which positions point into."""

    now: str = ""
    """As a session has it."""


@dataclass(frozen=True)
class Alteration:
    """What the specs of an ALTER TABLE are carried out on."""

    session: Session
    name: TableName
    """The table's, with its database."""

    known: KnownTable | None
    """None where the session has no catalog."""


def unchanged(table: Table) -> Table:
    return table


@dataclass(frozen=True)
class Touched:
    """Names in lower case that a step adds, drops, changes or refers to."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()
    """Columns that others are put behind."""

    related: tuple[str, ...] = ()
    """Columns of new keys and of new generated columns."""

    added_keys: tuple[str, ...] = ()
    dropped_keys: tuple[str, ...] = ()
    altered_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """What is a job, or together with others a part of one."""

    action: int
    """TiDB's job type."""

    apply: Callable[[Table], Table] = unchanged
    touched: Touched = Touched()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New names of columns by their old ones."""


Steps = Iterator[Step | str]
"""The steps of a spec, and notes on what TiDB takes and makes no job of."""


def column_named(table: Table, name: str) -> Column | None:
    """The column of that name, in any case."""
    wanted = name.lower()
    return next((column for column in table.columns if column.name.lower() == wanted), None)


def index_named(table: Table, name: str) -> Index | None:
    """The index of that name, in any case; columnar ones too."""
    wanted = name.lower()
    return next((index for index in (*table.indexes, *table.columnar_indexes) if index.name.lower() == wanted), None)


def lower(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)
