"""Execution of DDL statements.

STATEMENTS maps each kind of statement to its function, which returns the jobs that TiDB queues, whether TiCDC
replicates them or not, or raises DdlError with TiDB's text. Sources: tidb pkg/executor/ddl.go, pkg/ddl/executor.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl import alter_table as alter
from simulator.tidb.ddl import create_table, databases
from simulator.tidb.ddl import databases as tables
from simulator.tidb.ddl import views_and_sequences as others
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.grammar import read_syntax
from simulator.tidb.ddl.session import ExecutionResult, Job, Session

__all__ = ["execute", "execute_batch"]


def execute(statement: syntax.Statement, text: str, session: Session) -> ExecutionResult:
    """Execute a statement. Raises DdlError, also for a statement that fails after some of its jobs."""
    executed = attempt(read_syntax(statement, text, session.release), text, session)
    if executed.error is not None:
        raise executed.error
    return executed


def attempt(statement: syntax.Statement, text: str, session: Session) -> ExecutionResult:
    """Execute a statement that `read_syntax` returned, and which may fail after some of its jobs; the result then has the
    error.

    `text` is the text of the statement. Raises DdlError with TiDB's text for a statement that fails before its first
    job. Without a catalog in the session, checks that need one are skipped.
    """
    return _complete(STATEMENTS[type(statement)](statement, text, session), session)


def execute_in_catalog(
    catalog: Catalog, statement: syntax.Statement, text: str, session: Session
) -> tuple[tuple[Job, ...], Catalog]:
    """Execute a statement in a catalog; return the jobs and the catalog after it. Raises DdlError."""
    executed = execute(statement, text, replace(session, catalog=catalog))
    return executed.jobs, catalog if executed.catalog is None else executed.catalog


def execute_batch(statements: Sequence[syntax.CreateTable], text: str, session: Session) -> ExecutionResult:
    """Execute several CREATE TABLE in one text as one job. Raises DdlError."""
    read = [read_syntax(statement, text, session.release) for statement in statements]
    return _complete(create_table.create_tables(read, text, session), session)


def _complete(executed: ExecutionResult, session: Session) -> ExecutionResult:
    database = session.schema_name("") if session.database else ""
    jobs = tuple(
        _with_ticdc_code(replace(job, database=database, sql_mode=session.sql_mode), session.release)
        for job in executed.jobs
    )
    return replace(executed, jobs=jobs)


def _with_ticdc_code(job: Job, release: Release) -> Job:
    """Return a job with TiCDC's own code, which some releases assign by a search in the text, comments included
    (ticdc v8.5.4: logservice/schemastore/persist_storage.go handleDDLJob)."""
    text = job.query.upper() if release.codes_search_indexes else ""
    if text.strip().startswith("CREATE HYBRID INDEX"):
        return replace(job, code=Action.CREATE_HYBRID_INDEX)
    return replace(job, code=Action.ADD_FULLTEXT_INDEX) if "ADD FULLTEXT INDEX" in text else job


STATEMENTS: Mapping[type, Callable[[Any, str, Session], ExecutionResult]] = {
    syntax.CreateDatabase: databases.create_database,
    syntax.AlterDatabase: databases.alter_database,
    syntax.DropDatabase: databases.drop_database,
    syntax.FlashbackDatabase: databases.flashback_database,
    syntax.FlashbackCluster: databases.flashback_cluster,
    syntax.PlacementPolicy: databases.placement_policy,
    syntax.ResourceGroup: databases.resource_group,
    syntax.CreateTable: create_table.create_table,
    syntax.DropTable: tables.drop_table,
    syntax.TruncateTable: tables.truncate_table,
    syntax.RenameTable: tables.rename_table,
    syntax.RecoverTable: tables.recover_table,
    syntax.FlashbackTable: tables.flashback_table,
    syntax.RepairTable: tables.repair_table,
    syntax.LockTables: tables.lock_tables,
    syntax.UnlockTables: tables.unlock_tables,
    syntax.CreateIndex: alter.create_index,
    syntax.DropIndex: alter.drop_index,
    syntax.AlterTable: alter.alter_table,
    syntax.CreateView: others.create_view,
    syntax.DropView: others.drop_view,
    syntax.CreateSequence: others.create_sequence,
    syntax.AlterSequence: others.alter_sequence,
    syntax.DropSequence: others.drop_sequence,
}
