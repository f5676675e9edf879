"""Sub-jobs of ALTER TABLE.

A spec is checked against the table before the statement, and applied to the table that the specs before it left (TiDB:
pkg/ddl/executor.go, AlterTable).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.model.table import Table


@dataclass(frozen=True)
class TargetTable:
    """The table of a statement, before the statement."""

    catalog: Catalog
    table: Table
    text: str
    """The statement; positions point into it."""

    now: str = ""
    """As in Session."""


@dataclass(frozen=True)
class Alteration:
    session: Session
    name: syntax.TableName
    """The name of the table with its database."""

    target: TargetTable | None
    """None if the session has no catalog."""


def unchanged(table: Table) -> Table:
    return table


@dataclass(frozen=True)
class AffectedNames:
    """Names of columns and keys, in lower case, that a sub-job adds, drops, changes or refers to."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()
    """Columns of AFTER."""

    related: tuple[str, ...] = ()
    """Columns of new keys and of new generated columns."""

    added_keys: tuple[str, ...] = ()
    dropped_keys: tuple[str, ...] = ()
    altered_keys: tuple[str, ...] = ()


class WrittenSpec(NamedTuple):
    """A spec in place of another one, and the statement with its text."""

    spec: syntax.Spec
    query: str


@dataclass(frozen=True)
class SubJob:
    """A change of a table: a job, or a part of a multi-schema change (TiDB: model.SubJob)."""

    action: int
    """TiDB's job type."""

    apply: Callable[[Table], Table] = unchanged
    affected: AffectedNames = AffectedNames()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New names of columns by their old ones."""

    written: WrittenSpec | None = None
    """What TiDB writes into the job in place of the spec."""


SubJobs = Iterator[SubJob | str]
"""The sub-jobs of a spec, and notes on parts that are accepted without a job."""
