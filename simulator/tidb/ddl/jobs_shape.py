"""What TiDB queues for a statement: jobs, and what a statement needs to become jobs.

One law: a name in a job is spelled as the catalog spells it, where it knows it, else as the statement does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb.ddl.catalog import Catalog, Sequence, View, key
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.definitions import Pair, TableName
from simulator.tidb.syntax.statements import CreateTable, Statement


@dataclass(frozen=True)
class Job:
    """One job of TiDB's queue, as TiCDC reads it (tidb: pkg/meta/model/job.go)."""

    code: int
    """TiDB's action type, or TiCDC's own 230 and 231."""

    query: str
    """The statement's whole text: all jobs of a statement have the same."""

    statement: Statement | None
    """None for the several statements of CREATE TABLES."""

    schema: str = ""
    """After the job; empty for what belongs to no database."""

    table: str = ""
    """Table, view or sequence after the job, of several the first; empty for a job on a database or on none."""

    pairs: tuple[Pair, ...] = ()
    """RENAME: old and new name of each table."""

    written: tuple[Pair, ...] = ()
    """The same names as the statement has them, perhaps without a schema."""

    tables: tuple[CreateTable, ...] = ()
    """CREATE TABLES: the statements in the text."""

    like: TableName | None = None
    """CREATE TABLE … LIKE: the table that is copied."""

    exchanged: TableName | None = None
    """EXCHANGE PARTITION: the plain table."""

    steps: tuple[int, ...] = ()
    """Multi-schema change: the codes of its sub-jobs."""

    database: str = ""
    """The current one of the session, empty for none."""


Step = Job | str
"""A job, or a note: what TiDB does not do, and why."""

Steps = Iterator[Step]


@dataclass(frozen=True)
class Session:
    """What a statement is run in."""

    query: str
    database: str
    """The current database, empty for none."""

    catalog: Catalog | None
    """What exists; None where nothing is known: IF EXISTS and IF NOT EXISTS are then taken to let the job run."""

    release: Release
    dropped: Mapping[int, TableName] = field(default_factory=dict)
    """The table that each job dropped, for RECOVER TABLE BY JOB."""

    def schema(self, name: str) -> str:
        """The database of an object, as it was created; raises DdlError where none is named or current."""
        if not name and not self.database:
            raise DdlError("No database selected", "planner:1046")
        name = name or self.database
        found = self.catalog.database(name) if self.catalog else None
        return found.name if found else name

    def new(self, name: TableName) -> TableName:
        """A name that is given to something, with its database."""
        return TableName(self.schema(name.schema), name.name)

    def named(self, name: TableName) -> TableName:
        """The name of something that exists, with its database, as it was created."""
        new = self.new(name)
        found = self._found(new)
        return TableName(new.schema, found.name) if found else new

    def table(self, name: TableName) -> Table | None:
        """The table, where the catalog knows it."""
        return self.catalog.table(*self.new(name)) if self.catalog else None

    def exists(self, name: TableName) -> bool:
        """Whether the catalog has a table, view or sequence of that name."""
        return self._found(self.new(name)) is not None

    def missing(self, name: TableName) -> bool:
        """Whether the catalog is sure that there is none."""
        return self.catalog is not None and not self.exists(name)

    def _found(self, name: TableName) -> Table | View | Sequence | None:
        if self.catalog is None:
            return None
        place = key(*name)
        return self.catalog.tables.get(place) or self.catalog.views.get(place) or self.catalog.sequences.get(place)


def unsupported(what: str) -> DdlError:
    """TiDB's error on something that it parses and does not do (ErrUnsupportedDDLOperation)."""
    return DdlError(f"Unsupported {what}", "ddl:8200")


UNKNOWN_SPEC = "Unsupported/unknown ALTER TABLE specification"
"""TiDB says `Unsupported` twice."""
