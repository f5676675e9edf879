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
from simulator.tidb.ddl.execute import STATEMENTS
from simulator.tidb.sql_engine import prepared_statements, set_and_use
from simulator.tidb.sql_engine.changes.delete import delete
from simulator.tidb.sql_engine.changes.insert import insert
from simulator.tidb.sql_engine.changes.update import update
from simulator.tidb.sql_engine.ddl import execute_ddl
from simulator.tidb.sql_engine.errors import error_number
from simulator.tidb.sql_engine.queries.expression_problems import ExpressionProblems
from simulator.tidb.sql_engine.queries.result_sets import run_select
from simulator.tidb.sql_engine.sessions import transactions
from simulator.tidb.sql_engine.storage.outcome import (
    CommittedTransaction,
    CompletedDdl,
    FailedStatement,
    StatementOutcome,
)
from simulator.tidb.sql_engine.storage.state import Upstream

__all__ = ["error_number", "execute", "new_upstream"]


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
        return EXECUTORS[type(statement)](statement, text, upstream, now_ms)
    except (SqlError, DdlError) as error:
        return FailedStatement(error, upstream)


def _execute_ddl(
    statement: syntax.Statement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    """Commit the open transaction before looking at the statement (tidb pkg/executor/ddl.go, DDLExec.Next)."""
    behind, events = _commit_open_transaction(upstream)
    try:
        outcome = execute_ddl.execute_ddl(statement, text, behind, now_ms)
    except (SqlError, DdlError) as error:
        return FailedStatement(error, behind, events)
    return replace(outcome, events=(*events, *outcome.events))


def _commit_open_transaction(upstream: Upstream) -> tuple[Upstream, tuple[CommittedTransaction | CompletedDdl, ...]]:
    behind, committed = transactions.commit(upstream)
    return behind, () if committed is None else (committed,)


def _use(statement: syntax.Use, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    return StatementOutcome(set_and_use.use(statement, upstream))


def _set(statement: syntax.SetVariables, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    """Commit the open transaction if SET turns autocommit on (tidb pkg/sessionctx/variable/sysvar.go, AutoCommit)."""
    behind = set_and_use.set_variables(statement, upstream, now_ms)
    if behind.session.autocommit and not upstream.session.autocommit:
        behind, events = _commit_open_transaction(behind)
        return StatementOutcome(behind, events)
    return StatementOutcome(behind)


def _begin(statement: syntax.Begin, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    behind, committed = transactions.begin(upstream)
    return StatementOutcome(behind, () if committed is None else (committed,))


def _commit(statement: syntax.Commit, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    behind, events = _commit_open_transaction(upstream)
    return StatementOutcome(behind, events)


def _rollback(statement: syntax.Rollback, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    if statement.savepoint:
        return StatementOutcome(transactions.rollback_to(upstream, statement.savepoint))
    behind = transactions.rollback(upstream)
    return StatementOutcome(behind)


def _savepoint(statement: syntax.Savepoint, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    return StatementOutcome(transactions.savepoint(upstream, statement.name))


def _release(statement: syntax.ReleaseSavepoint, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    return StatementOutcome(transactions.release_savepoint(upstream, statement.name))


def _select(statement: syntax.SelectStatement, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    problems = ExpressionProblems(upstream.session)
    result = run_select(statement.query, upstream, now_ms, problems)
    return StatementOutcome(upstream, result=result, warnings=tuple(problems.warnings))


def _execute_row_statement(
    statement: syntax.RowStatement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    outcome = ROW_STATEMENTS[type(statement)](statement, upstream, now_ms)
    return outcome if isinstance(outcome, FailedStatement) else transactions.autocommit(outcome)


def _prepare(statement: syntax.Prepare, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    return StatementOutcome(prepared_statements.prepare(statement, upstream, now_ms))


def _execute(
    statement: syntax.Execute, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    return execute(*prepared_statements.resolve_execute(statement, text, upstream), upstream, now_ms)


def _deallocate(statement: syntax.Deallocate, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    return StatementOutcome(prepared_statements.deallocate(statement, upstream))


def _ignore(statement: syntax.IgnoredStatement, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome:
    return StatementOutcome(upstream)


ROW_STATEMENTS: Mapping[type, Callable[[Any, Upstream, int], StatementOutcome | FailedStatement]] = MappingProxyType(
    {syntax.Insert: insert, syntax.Update: update, syntax.Delete: delete}
)

EXECUTORS: Mapping[type, Callable[[Any, str, Upstream, int], StatementOutcome | FailedStatement]] = MappingProxyType(
    {
        **dict.fromkeys(STATEMENTS, _execute_ddl),
        **dict.fromkeys(ROW_STATEMENTS, _execute_row_statement),
        syntax.Use: _use,
        syntax.SetVariables: _set,
        syntax.Begin: _begin,
        syntax.Commit: _commit,
        syntax.Rollback: _rollback,
        syntax.Savepoint: _savepoint,
        syntax.ReleaseSavepoint: _release,
        syntax.SelectStatement: _select,
        syntax.Prepare: _prepare,
        syntax.Execute: _execute,
        syntax.Deallocate: _deallocate,
        syntax.IgnoredStatement: _ignore,
    }
)
