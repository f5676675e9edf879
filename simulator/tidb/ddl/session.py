"""What a statement is run in, and what TiDB makes of it: jobs of its queue, notes, the catalog behind it.

One law: a name in a job is spelled as the catalog spells it, where it knows it, else as the statement does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timezone, tzinfo

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb.ddl.catalog import Catalog, Sequence, View, object_key
from simulator.tidb.ddl.tidb_errors import tidb_error
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.ddl import Statement
from simulator.tidb.syntax.definitions import Pair, TableName
from simulator.tidb.syntax.tables import CreateTable

EPOCH = "1970-01-01 00:00:00.000000"
STRICT_MODES = ("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES")


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

    renames: tuple[Pair, ...] = ()
    """RENAME: old and new name of each table."""

    renames_as_written: tuple[Pair, ...] = ()
    """The same names as the statement has them, perhaps without a schema."""

    tables: tuple[CreateTable, ...] = ()
    """CREATE TABLES: the statements in the text."""

    like: TableName | None = None
    """CREATE TABLE … LIKE: the table that is copied."""

    exchanged_table: TableName | None = None
    """EXCHANGE PARTITION: the plain table."""

    sub_jobs: tuple[int, ...] = ()
    """Multi-schema change: the codes of its sub-jobs."""

    database: str = ""
    """The current one of the session, empty for none."""

    def with_object(self, schema: str, table: str) -> Job:
        """The same job on another object."""
        return replace(self, schema=schema, table=table)


@dataclass(frozen=True)
class ExecutionResult:
    """What TiDB makes of a statement."""

    jobs: tuple[Job, ...]
    """In order."""

    notes: tuple[str, ...]
    """What of the statement is no job, and why."""

    catalog: Catalog | None
    """What exists behind it; None where the session has no catalog."""

    error: DdlError | None = None
    """What TiDB refuses of it behind the jobs; None where it carries all of it out."""


@dataclass(frozen=True)
class Session:
    """What a statement is run in."""

    database: str
    """The current database, empty for none."""

    catalog: Catalog | None
    """What exists; None where nothing is known: what needs to be looked up is then taken to be as the statement wants
    it, and IF EXISTS and IF NOT EXISTS to let the job run."""

    release: Release
    now: str = EPOCH
    """What CURRENT_TIMESTAMP(6) gives, for rows older than a column with that default: `2020-02-20 02:20:20.123456`."""

    sql_mode: frozenset[str] = frozenset((STRICT_MODES[0], "NO_ZERO_IN_DATE", "NO_ZERO_DATE"))
    foreign_key_checks: bool = True
    check_constraints: bool | None = None
    """tidb_enable_check_constraint; None where nobody knows."""

    remove_auto_increment: bool = False
    """tidb_allow_remove_auto_inc"""

    clustered_index: str = "ON"
    """tidb_enable_clustered_index: ON, OFF or INT_ONLY."""

    zone: tzinfo = timezone.utc
    """The time zone that defaults of TIMESTAMP columns are of."""

    dropped: Mapping[int, TableName] = field(default_factory=dict)
    """The table that each job dropped, for RECOVER TABLE BY JOB."""

    @property
    def is_strict(self) -> bool:
        return not self.sql_mode.isdisjoint(STRICT_MODES)

    def schema_name(self, name: str) -> str:
        """The database of an object, as it was created; raises DdlError where none is named or current."""
        if not name and not self.database:
            raise tidb_error("planner:1046")
        name = name or self.database
        found = self.catalog.database(name) if self.catalog else None
        return found.name if found else name

    def qualified_name(self, name: TableName) -> TableName:
        """A name with its database, both as the statement has them; raises as `schema`."""
        if not name.schema and not self.database:
            raise tidb_error("planner:1046")
        return TableName(name.schema or self.database, name.name)

    def new_name(self, name: TableName) -> TableName:
        """A name that is given to something, with its database."""
        return TableName(self.schema_name(name.schema), name.name)

    def existing_name(self, name: TableName) -> TableName:
        """The name of something that exists, with its database, as it was created."""
        new = self.new_name(name)
        found = self._existing(new)
        return TableName(new.schema, found.name) if found else new

    def _existing(self, name: TableName) -> Table | View | Sequence | None:
        if self.catalog is None:
            return None
        place = object_key(*name)
        return self.catalog.tables.get(place) or self.catalog.views.get(place) or self.catalog.sequences.get(place)

    def without_jobs(self, *notes: str) -> ExecutionResult:
        """A statement that is no job and changes nothing."""
        return ExecutionResult((), notes, self.catalog)

    def with_jobs(
        self, jobs: Iterable[Job], change: Callable[[Catalog], Catalog] = lambda catalog: catalog
    ) -> ExecutionResult:
        """Jobs that change the catalog so, where there is one."""
        return ExecutionResult(tuple(jobs), (), None if self.catalog is None else change(self.catalog))
