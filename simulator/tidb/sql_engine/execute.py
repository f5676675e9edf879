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
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, with_database
from simulator.tidb.sql_engine import session_statements
from simulator.tidb.sql_engine.changes.insert import insert
from simulator.tidb.sql_engine.changes.update import delete, update
from simulator.tidb.sql_engine.ddl import execute_ddl
from simulator.tidb.sql_engine.queries.evaluate import run_select
from simulator.tidb.sql_engine.queries.statement_evaluation import ExpressionProblems
from simulator.tidb.sql_engine.sessions import transactions
from simulator.tidb.sql_engine.storage.state import CommittedTransaction, FailedStatement, StatementOutcome, Upstream


def new_upstream(release: Release, catalog: Catalog | None = None, seed: int = 0) -> Upstream:
    """Return a TiDB before its first statement, with the database `test` unless a catalog is given."""
    if catalog is None:
        catalog = with_database(Catalog(policies=frozenset()), DatabaseInfo("test"))
    return Upstream(release, catalog, seed=seed)


def execute(
    statement: syntax.SqlStatement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    """Execute a statement at a millisecond of simulated time. `text` is the statement's own text."""
    try:
        if isinstance(statement, syntax.RowStatement):
            outcome = ROW_STATEMENTS[type(statement)](statement, upstream, now_ms)
            return outcome if isinstance(outcome, FailedStatement) else transactions.autocommit(outcome)
        if isinstance(statement, syntax.Statement):
            return _execute_ddl(statement, text, upstream, now_ms)
        return _execute_in_session(statement, text, upstream, now_ms)
    except (SqlError, DdlError) as error:
        return FailedStatement(error, upstream)


ROW_STATEMENTS: Mapping[type, Callable[[Any, Upstream, int], StatementOutcome | FailedStatement]] = MappingProxyType(
    {syntax.Insert: insert, syntax.Update: update, syntax.Delete: delete}
)


def _execute_ddl(
    statement: syntax.Statement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    """Commit the open transaction before looking at the statement (tidb pkg/executor/ddl.go, DDLExec.Next)."""
    before = _outcome(transactions.commit(upstream))
    try:
        outcome = execute_ddl.execute_ddl(statement, text, before.upstream, now_ms)
    except (SqlError, DdlError) as error:
        return FailedStatement(error, before.upstream, before.events)
    return replace(outcome, events=(*before.events, *outcome.events))


def _execute_in_session(
    statement: syntax.SessionStatement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    match statement:
        case syntax.SelectStatement(query):
            problems = ExpressionProblems(upstream.session)
            result = run_select(query, upstream, now_ms, problems)
            return StatementOutcome(upstream, result=result, warnings=tuple(problems.warnings))
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
    assert isinstance(statement, syntax.IgnoredStatement), statement
    return StatementOutcome(upstream)


def _outcome(after: tuple[Upstream, CommittedTransaction | None]) -> StatementOutcome:
    upstream, committed = after
    return StatementOutcome(upstream, () if committed is None else (committed,))
