"""Execution of DDL statements.

STATEMENTS maps each kind of statement to its function, which returns the jobs that TiDB queues, whether TiCDC
replicates them or not, or raises DdlError with TiDB's text. Sources: tidb pkg/executor/ddl.go, pkg/ddl/executor.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from simulator.releases import Release
from simulator.tidb.ddl import actions, databases
from simulator.tidb.ddl import alter_table as alter
from simulator.tidb.ddl import views_and_sequences as others
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import ExecutionResult, Job, Session
from simulator.tidb.ddl.tables import create
from simulator.tidb.ddl.tables import statements as tables
from simulator.tidb.syntax.ddl import (
    AlterDatabase,
    AlterTable,
    CreateDatabase,
    CreateIndex,
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
from simulator.tidb.syntax.objects import (
    AlterSequence,
    CreateSequence,
    CreateView,
    DropSequence,
    DropView,
    PlacementPolicy,
    ResourceGroup,
)
from simulator.tidb.syntax.tables import CreateTable

__all__ = ["execute", "execute_batch"]


def execute(statement: Statement, text: str, session: Session) -> ExecutionResult:
    """Execute a statement. Raises DdlError, also for a statement that fails after some of its jobs."""
    executed = attempt(statement, text, session)
    if executed.error is not None:
        raise executed.error
    return executed


def attempt(statement: Statement, text: str, session: Session) -> ExecutionResult:
    """Execute a statement, which may fail after some of its jobs; the result then has the error.

    `text` is the text of the statement. Raises DdlError with TiDB's text for a statement that fails before its first
    job. Without a catalog in the session, checks that need one are skipped.
    """
    return _complete(STATEMENTS[type(statement)](statement, text, session), session)


def execute_in_catalog(
    catalog: Catalog, statement: Statement, text: str, session: Session
) -> tuple[tuple[Job, ...], Catalog]:
    """Execute a statement in a catalog; return the jobs and the catalog after it. Raises DdlError."""
    executed = execute(statement, text, replace(session, catalog=catalog))
    return executed.jobs, catalog if executed.catalog is None else executed.catalog


def execute_batch(statements: Sequence[CreateTable], text: str, session: Session) -> ExecutionResult:
    """Execute several CREATE TABLE in one text as one job. Raises DdlError."""
    return _complete(create.create_tables(statements, text, session), session)


def _complete(executed: ExecutionResult, session: Session) -> ExecutionResult:
    database = session.schema_name("") if session.database else ""
    jobs = tuple(_with_ticdc_code(replace(job, database=database), session.release) for job in executed.jobs)
    return replace(executed, jobs=jobs)


def _with_ticdc_code(job: Job, release: Release) -> Job:
    """Return a job with TiCDC's own code, which some releases assign by a search in the text, comments included
    (ticdc v8.5.4: logservice/schemastore/persist_storage.go handleDDLJob)."""
    text = job.query.upper() if release.codes_search_indexes else ""
    if text.strip().startswith("CREATE HYBRID INDEX"):
        return replace(job, code=actions.CREATE_HYBRID_INDEX)
    return replace(job, code=actions.ADD_FULLTEXT_INDEX) if "ADD FULLTEXT INDEX" in text else job


STATEMENTS: Mapping[type, Callable[[Any, str, Session], ExecutionResult]] = MappingProxyType(
    {
        CreateDatabase: databases.create_database,
        AlterDatabase: databases.alter_database,
        DropDatabase: databases.drop_database,
        FlashbackDatabase: databases.flashback_database,
        FlashbackCluster: databases.flashback_cluster,
        PlacementPolicy: databases.placement_policy,
        ResourceGroup: databases.resource_group,
        CreateTable: create.create_table,
        DropTable: tables.drop_table,
        TruncateTable: tables.truncate_table,
        RenameTable: tables.rename_table,
        RecoverTable: tables.recover_table,
        FlashbackTable: tables.flashback_table,
        RepairTable: tables.repair_table,
        LockTables: tables.lock_tables,
        UnlockTables: tables.unlock_tables,
        CreateIndex: alter.create_index,
        DropIndex: alter.drop_index,
        AlterTable: alter.alter_table,
        CreateView: others.create_view,
        DropView: others.drop_view,
        CreateSequence: others.create_sequence,
        AlterSequence: others.alter_sequence,
        DropSequence: others.drop_sequence,
    }
)
