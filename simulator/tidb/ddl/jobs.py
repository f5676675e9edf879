"""A statement as jobs of TiDB's queue: which action, on which tables.

One law: a job says what TiDB would queue, whether TiCDC replicates it or not; no job comes of what TiDB takes and
ignores. Sources: tidb pkg/executor/ddl.go, pkg/ddl/executor.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from simulator.releases import Release
from simulator.tidb.ddl import actions, jobs_databases, jobs_tables
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.jobs_alter import alter_table
from simulator.tidb.ddl.jobs_shape import Job, Session, Step, Steps
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.objects import (
    AlterSequence,
    CreateSequence,
    CreateView,
    DropSequence,
    DropView,
    PlacementPolicy,
    ResourceGroup,
)
from simulator.tidb.syntax.statements import (
    AlterDatabase,
    AlterTable,
    CreateDatabase,
    CreateIndex,
    CreateTable,
    DropDatabase,
    DropIndex,
    DropTable,
    FlashbackCluster,
    FlashbackDatabase,
    FlashbackTable,
    LockTables,
    RecoverTable,
    RenameTable,
    RepairTable,
    Statement,
    TruncateTable,
    UnlockTables,
)

__all__ = ["Job", "Session", "jobs", "notes", "batch"]

NONE_DROPPED: Mapping[int, TableName] = MappingProxyType({})


def jobs(
    statement: Statement, query: str, database: str, catalog: Catalog | None, release: Release,
    dropped: Mapping[int, TableName] = NONE_DROPPED,
) -> tuple[Job, ...]:
    """The jobs of a statement, of which `query` is the text, in order.

    `dropped` says which table an earlier job dropped (RECOVER TABLE BY JOB). Raises DdlError, in TiDB's words, for
    what TiDB parses and refuses. Tables and columns that the catalog lacks are not its matter, but under IF EXISTS.
    """
    return tuple(step for step in _steps(statement, Session(query, database, catalog, release, dropped))
                 if isinstance(step, Job))


def notes(
    statement: Statement, query: str, database: str, catalog: Catalog | None, release: Release,
) -> tuple[str, ...]:
    """What of the statement is no job, and why; raises as `jobs`."""
    return tuple(step for step in _steps(statement, Session(query, database, catalog, release))
                 if isinstance(step, str))


def batch(
    statements: Sequence[CreateTable], query: str, database: str, catalog: Catalog | None, release: Release,
) -> Job:
    """The one job of several CREATE TABLE in one text (CREATE TABLES), as restoring tools queue it."""
    return jobs_tables.create_tables(statements, Session(query, database, catalog, release))


def _steps(statement: Statement, session: Session) -> list[Step]:
    database = session.schema("") if session.database else ""
    steps = STATEMENTS[type(statement)](statement, session)
    return [step if isinstance(step, str) else _recoded(replace(step, database=database), session.release)
            for step in steps]


def _recoded(job: Job, release: Release) -> Job:
    """A job under TiCDC's own code, which some releases give by the text alone, comments included
    (ticdc v8.5.4: logservice/schemastore/persist_storage.go handleDDLJob)."""
    text = job.query.upper() if release.codes_search_indexes else ""
    if text.strip().startswith("CREATE HYBRID INDEX"):
        return replace(job, code=actions.CREATE_HYBRID_INDEX)
    return replace(job, code=actions.ADD_FULLTEXT_INDEX) if "ADD FULLTEXT INDEX" in text else job


STATEMENTS: Mapping[type, Callable[[Any, Session], Steps]] = {
    CreateDatabase: jobs_databases.create_database,
    AlterDatabase: jobs_databases.alter_database,
    DropDatabase: jobs_databases.drop_database,
    FlashbackDatabase: jobs_databases.flashback_database,
    FlashbackCluster: jobs_databases.flashback_cluster,
    PlacementPolicy: jobs_databases.placement_policy,
    ResourceGroup: jobs_databases.resource_group,
    CreateTable: jobs_tables.create_table,
    DropTable: jobs_tables.drop_table,
    TruncateTable: jobs_tables.truncate_table,
    RenameTable: jobs_tables.rename_table,
    RecoverTable: jobs_tables.recover_table,
    FlashbackTable: jobs_tables.flashback_table,
    RepairTable: jobs_tables.repair_table,
    LockTables: jobs_tables.lock_tables,
    UnlockTables: jobs_tables.unlock_tables,
    CreateView: jobs_tables.create_view,
    DropView: jobs_tables.drop_view,
    CreateSequence: jobs_tables.create_sequence,
    AlterSequence: jobs_tables.alter_sequence,
    DropSequence: jobs_tables.drop_sequence,
    CreateIndex: jobs_tables.create_index,
    DropIndex: jobs_tables.drop_index,
    AlterTable: alter_table,
}
