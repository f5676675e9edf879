"""Executes any statement: the entry point of the SQL engine.

A statement on rows outside of BEGIN is a transaction of its own unless autocommit is off. A DDL statement commits the
open transaction first, even if the statement is refused. A refused statement on rows only uses up ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from simulator.errors import DdlError, SqlError
from simulator.nesting import TOO_DEEP
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, with_database
from simulator.tidb.sql_engine import session_statements
from simulator.tidb.sql_engine.changes.insert import insert
from simulator.tidb.sql_engine.changes.update import delete, update
from simulator.tidb.sql_engine.ddl import execute_ddl
from simulator.tidb.sql_engine.errors import not_simulated
from simulator.tidb.sql_engine.queries.evaluate import run_select
from simulator.tidb.sql_engine.queries.statement_evaluation import ExpressionProblems
from simulator.tidb.sql_engine.sessions import transactions
from simulator.tidb.sql_engine.storage.state import (
    CommittedTransaction,
    CompletedDdl,
    FailedStatement,
    FinishedJob,
    LastStatement,
    StatementOutcome,
    Upstream,
)
from simulator.tidb.syntax.load_data import LoadData
from simulator.tidb.syntax.show import Show


def new_upstream(release: Release, catalog: Catalog | None = None, seed: int = 0) -> Upstream:
    """Return a TiDB before its first statement, with the database `test` unless a catalog is given."""
    if catalog is None:
        catalog = with_database(Catalog(policies=frozenset()), DatabaseInfo("test"))
    return Upstream(release, catalog, seed=seed)


def execute(
    statement: syntax.SqlStatement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    """Execute a statement at a millisecond of simulated time. `text` is the statement's own text."""
    outcome = _execute(statement, text, upstream, now_ms)
    if isinstance(statement, Show) and statement.kind in KEEP_WARNINGS:
        return outcome
    return replace(outcome, upstream=_with_last_statement(outcome, now_ms))


KEEP_WARNINGS = ("WARNINGS", "ERRORS")
"""What SHOW shows without replacing the warnings of the statement before it."""


def _with_last_statement(outcome: StatementOutcome | FailedStatement, now_ms: int) -> Upstream:
    """Return the upstream behind a statement, which remembers what the statement did and when its transaction began."""
    upstream = outcome.upstream
    before, transaction = upstream.session.last, upstream.transaction
    if isinstance(outcome, FailedStatement):
        last = LastStatement((), outcome.error, -1, before.found)
    elif outcome.result is not None:
        last = LastStatement(outcome.warnings, None, -1, outcome.result.rows.num_rows)
    else:
        last = LastStatement(outcome.warnings, None, outcome.affected, before.found)
    if last != before:
        upstream = replace(upstream, session=replace(upstream.session, last=last))
    if transaction is not None and not transaction.started_ms:
        upstream = replace(upstream, transaction=replace(transaction, started_ms=now_ms))
    return upstream


def _execute(
    statement: syntax.SqlStatement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    try:
        if isinstance(statement, syntax.RowStatement):
            outcome = ROW_STATEMENTS[type(statement)](statement, upstream, now_ms)
            return outcome if isinstance(outcome, FailedStatement) else transactions.autocommit(outcome)
        if isinstance(statement, syntax.Statement):
            return _execute_ddl(statement, text, upstream, now_ms)
        return _execute_in_session(statement, text, upstream, now_ms)
    except (SqlError, DdlError) as error:
        return FailedStatement(error, upstream)
    except RecursionError:
        return FailedStatement(not_simulated(TOO_DEEP), upstream)


ROW_STATEMENTS: Mapping[type, Callable[[Any, Upstream, int], StatementOutcome | FailedStatement]] = MappingProxyType(
    {syntax.Insert: insert, syntax.Update: update, syntax.Delete: delete}
)


def _execute_ddl(
    statement: syntax.Statement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    """Commit the open transaction before looking at the statement (tidb pkg/executor/ddl.go, DDLExec.Next)."""
    before = _outcome(transactions.commit(upstream))
    if isinstance(statement, syntax.LockTables | syntax.UnlockTables):
        return replace(
            before,
            warnings=(TABLE_LOCK_IS_OFF.format("UNLOCK" if isinstance(statement, syntax.UnlockTables) else "LOCK"),),
        )
    try:
        outcome = execute_ddl.execute_ddl(statement, text, before.upstream, now_ms)
    except (SqlError, DdlError) as error:
        return FailedStatement(error, before.upstream, before.events)
    except RecursionError:
        return FailedStatement(not_simulated(TOO_DEEP), before.upstream, before.events)
    behind = _with_finished_jobs(outcome, now_ms)
    return replace(outcome, upstream=behind, events=(*before.events, *outcome.events))


TABLE_LOCK_IS_OFF = (
    "1235 {} TABLES is not supported. To enable this experimental feature, set 'enable-table-lock' in the configuration"
    " file."
)

KEPT_JOBS = 100
"""Finished DDL jobs that are kept for ADMIN SHOW DDL JOBS."""


def _with_finished_jobs(outcome: StatementOutcome | FailedStatement, now_ms: int) -> Upstream:
    upstream = outcome.upstream
    jobs = [job for event in outcome.events if isinstance(event, CompletedDdl) for job in event.jobs]
    finished = (*upstream.finished_jobs, *(FinishedJob(job, now_ms) for job in jobs))[-KEPT_JOBS:]
    return replace(upstream, finished_jobs=finished, job_count=upstream.job_count + len(jobs)) if jobs else upstream


def _execute_in_session(
    statement: syntax.SessionStatement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    match statement:
        case syntax.SelectStatement(query):
            problems = ExpressionProblems(upstream.session)
            result = run_select(query, upstream, now_ms, problems)
            return StatementOutcome(upstream, result=result, warnings=tuple(problems.warnings))
        case Show():
            from simulator.tidb.sql_engine.show import run_show  # most scripts have none

            return StatementOutcome(upstream, result=run_show(statement, text, upstream, now_ms))
        case syntax.Begin(read_only=True):
            raise not_simulated(
                "START TRANSACTION READ ONLY is not simulated. Accepted: START TRANSACTION [READ WRITE]"
            )
        case syntax.Begin():
            return _outcome(transactions.begin(upstream))
        case syntax.Commit():
            return _outcome(transactions.commit(upstream))
        case syntax.Rollback(savepoint):
            after = transactions.rollback_to(upstream, savepoint) if savepoint else transactions.rollback(upstream)
            return StatementOutcome(after)
        case syntax.Savepoint(name):
            return StatementOutcome(transactions.savepoint(upstream, name))
        case syntax.ReleaseSavepoint(name):
            return StatementOutcome(transactions.release_savepoint(upstream, name))
        case syntax.Use(database):
            return StatementOutcome(session_statements.use(database, upstream))
        case syntax.SetVariables(settings):
            after = session_statements.set_variables(settings, upstream, now_ms)
            # SET autocommit = 1 commits (tidb pkg/sessionctx/variable/sysvar.go, AutoCommit)
            turned_on = after.session.autocommit and not upstream.session.autocommit
            return _outcome(transactions.commit(after)) if turned_on else StatementOutcome(after)
        case syntax.Prepare():
            return StatementOutcome(session_statements.prepare(statement, upstream, now_ms))
        case syntax.Execute():
            return execute(*session_statements.resolve_execute(statement, text, upstream), upstream, now_ms)
        case syntax.Deallocate(name):
            return StatementOutcome(session_statements.deallocate(name, upstream))
        case LoadData():
            raise not_simulated("LOAD DATA LOCAL needs a MySQL client that sends the file; accepted: INSERT")
    assert isinstance(statement, syntax.IgnoredStatement | syntax.Do), statement
    return StatementOutcome(upstream)


def _outcome(after: tuple[Upstream, CommittedTransaction | None]) -> StatementOutcome:
    upstream, committed = after
    return StatementOutcome(upstream, () if committed is None else (committed,))
