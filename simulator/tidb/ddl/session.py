"""The session of a DDL statement, its jobs, the sub-jobs of ALTER TABLE, and the result.

Names in jobs are spelled as in the catalog; names that it does not have, as in the statement. A spec of ALTER TABLE is
checked against the table before the statement, and applied to the table that the specs before it left (TiDB:
pkg/ddl/executor.go, AlterTable).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import NamedTuple

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, SequenceInfo, ViewInfo, object_key
from simulator.tidb.errors import tidb_error
from simulator.tidb.model.table import Table

EPOCH = "1970-01-01 00:00:00.000000"
STRICT_MODES = ("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES")


@dataclass(frozen=True)
class Job:
    """A job of TiDB's DDL queue, as TiCDC reads it (tidb: pkg/meta/model/job.go)."""

    code: int
    """TiDB's action type, or TiCDC's own 230 and 231."""

    query: str
    """The whole text of the statement, which all of its jobs share."""

    statement: syntax.Statement | None
    """None for CREATE TABLES, which has several statements."""

    schema: str = ""
    """The database after the job; empty for objects of the cluster."""

    table: str = ""
    """The table, view or sequence after the job, the first of several; empty for jobs on databases and the cluster."""

    renames: tuple[syntax.Pair, ...] = ()
    """RENAME: old and new name of each table."""

    renames_as_written: tuple[syntax.Pair, ...] = ()
    """The same names as in the statement, perhaps without a schema."""

    tables: tuple[syntax.CreateTable, ...] = ()
    """CREATE TABLES: the statements."""

    like: syntax.TableName | None = None
    """CREATE TABLE … LIKE: the table that is copied."""

    exchanged_table: syntax.TableName | None = None
    """EXCHANGE PARTITION: the plain table."""

    sub_jobs: tuple[int, ...] = ()
    """Multi-schema change: the types of its sub-jobs."""

    database: str = ""
    """The current database of the session, empty for none."""

    sql_mode: frozenset[str] = frozenset()
    """The sql_mode of the session, which TiDB keeps from 8.0 on (tidb#51321)."""

    charset: str = ""
    """character_set_connection of the session; empty for utf8mb4."""

    def with_object(self, schema: str, table: str) -> Job:
        return replace(self, schema=schema, table=table)


class FinishedJob(NamedTuple):
    """A DDL job that is done, for ADMIN SHOW DDL JOBS."""

    job: Job
    end_ms: int


@dataclass(frozen=True)
class ExecutionResult:
    jobs: tuple[Job, ...]
    """Jobs in the order of the queue."""

    notes: tuple[str, ...]
    """Parts of the statement that are no job, with the reason."""

    catalog: Catalog | None
    """The catalog after the statement; None if the session has none."""

    error: DdlError | None = None
    """The error after the jobs, which do happen; None for a statement that succeeds."""


@dataclass(frozen=True)
class Session:
    """The session of a statement: database, catalog, release and variables."""

    database: str
    """The current database, empty for none."""

    catalog: Catalog | None
    """What exists, or None if that is unknown.

    Without a catalog, objects are assumed to be as the statement needs them, also for IF EXISTS and IF NOT EXISTS.
    """

    release: Release
    now: str = EPOCH
    """CURRENT_TIMESTAMP(6), which rows older than a column with that default get: `2020-02-20 02:20:20.123456`."""

    sql_mode: frozenset[str] = frozenset((STRICT_MODES[0], "NO_ZERO_IN_DATE", "NO_ZERO_DATE"))
    charset: str = ""
    """character_set_connection; empty for utf8mb4."""

    foreign_key_checks: bool = True
    check_constraints: bool | None = None
    """tidb_enable_check_constraint; None if it is unknown."""

    remove_auto_increment: bool = False
    """tidb_allow_remove_auto_inc"""

    clustered_index: str = "ON"
    """tidb_enable_clustered_index: ON, OFF or INT_ONLY."""

    zone: tzinfo = UTC
    """The time zone of defaults of TIMESTAMP columns."""

    dropped: Mapping[int, syntax.TableName] = field(default_factory=dict)
    """The table that each job dropped, for RECOVER TABLE BY JOB."""

    @property
    def is_strict(self) -> bool:
        return not self.sql_mode.isdisjoint(STRICT_MODES)

    def schema_name(self, name: str) -> str:
        """Return the database of an object, spelled as in the catalog. Raises DdlError without a database."""
        if not name and not self.database:
            raise tidb_error("planner:1046")
        name = name or self.database
        result = self.catalog.database(name) if self.catalog else None
        return result.name if result else name

    def qualified_name(self, name: syntax.TableName) -> syntax.TableName:
        """Return a name with its database, both spelled as in the statement. Raises DdlError without a database."""
        if not name.schema and not self.database:
            raise tidb_error("planner:1046")
        return syntax.TableName(name.schema or self.database, name.name)

    def new_name(self, name: syntax.TableName) -> syntax.TableName:
        return syntax.TableName(self.schema_name(name.schema), name.name)

    def existing_name(self, name: syntax.TableName) -> syntax.TableName:
        """Return the name of an existing object with its database, spelled as in the catalog."""
        new = self.new_name(name)
        result = self._existing(new)
        return syntax.TableName(new.schema, result.name) if result else new

    def _existing(self, name: syntax.TableName) -> Table | ViewInfo | SequenceInfo | None:
        if self.catalog is None:
            return None
        place = object_key(*name)
        return self.catalog.tables.get(place) or self.catalog.views.get(place) or self.catalog.sequences.get(place)

    def without_jobs(self, *notes: str) -> ExecutionResult:
        return ExecutionResult((), notes, self.catalog)

    def with_jobs(
        self, jobs: Iterable[Job], change: Callable[[Catalog], Catalog] = lambda catalog: catalog
    ) -> ExecutionResult:
        return ExecutionResult(tuple(jobs), (), None if self.catalog is None else change(self.catalog))


Drop = Callable[[Catalog, syntax.TableName], Catalog | None]
"""Returns the catalog without the object, None for an unknown name. Raises DdlError for an error that ends the DROP."""


def drop_each(
    names: Iterable[syntax.TableName], drop: Drop, job: Job, unknown: str, session: Session
) -> ExecutionResult:
    """Drop tables, views or sequences one by one, each with a job of its own, which is `job` with its name.

    Unknown names are an error (`unknown` lists them) after all others are dropped, or with IF EXISTS a note each.
    Another error leaves those dropped that come before it (TiDB: pkg/ddl/executor.go, dropTableObject).
    """
    assert isinstance(job.statement, syntax.DropTable | syntax.DropView | syntax.DropSequence)
    jobs, missing, catalog, error = [], [], session.catalog, None
    for name in map(session.qualified_name, names):
        if catalog is not None:
            try:
                behind = drop(catalog, name)
            except DdlError as stopped:
                error = stopped
                break
            if behind is None:
                missing.append(".".join(name))
                continue
            catalog = behind
        jobs.append(job.with_object(*session.existing_name(name)))
    notes: tuple[str, ...] = ()
    if job.statement.if_exists:
        notes = tuple(f"{tidb_error(unknown, text).text}: no job" for text in missing)
    elif missing and error is None:
        error = tidb_error(unknown, ",".join(missing))
    return ExecutionResult(tuple(jobs), notes, catalog, error)


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
