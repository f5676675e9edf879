"""Statements about a session and its transaction: BEGIN … SAVEPOINT, USE, SET, and those that show something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from simulator.tidb import syntax
from simulator.tidb.engine.prepared import columns_of_prepared, deallocate, prepare, resolve_execute
from simulator.tidb.engine.queries.compilation import evaluate_alone, new_compilation, reading_context
from simulator.tidb.engine.scopes.past import moment_ts
from simulator.tidb.engine.scopes.scope import QueryScope
from simulator.tidb.engine.sessions.outcome import Event, FailedStatement, StatementOutcome
from simulator.tidb.engine.sessions.session import Session
from simulator.tidb.engine.set_variables import noop_warnings, set_variables
from simulator.tidb.engine.system_tables.definitions import system_databases
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.syntax.session import LoadData, Show

__all__ = ["columns_of_prepared", "execute_in_session", "resolve_execute"]

Outcome = StatementOutcome | FailedStatement


def execute_in_session(statement: syntax.SessionStatement, text: str, session: Session, now_ms: int) -> Outcome:
    """Execute a statement that neither reads nor writes tables, or shows something. Raises SqlError."""
    return STATEMENTS[type(statement)](statement, text, session, now_ms)


# -- transactions ------------------------------------------------------------------------------------------------------


def _begin(statement: syntax.Begin, text: str, session: Session, now_ms: int) -> Outcome:
    """Begin a transaction, after committing the open one."""
    warnings: tuple[str, ...] = ()
    past = None
    if statement.as_of is not None:
        past = moment_ts(statement.as_of, QueryScope(new_compilation(reading_context(session, now_ms))))
    elif statement.read_only:
        warnings = noop_warnings(session.settings, "READ ONLY")
    events = session.commit(now_ms)
    session.begin(now_ms, statement.mode, past)
    return StatementOutcome(events, warnings=warnings)


def _commit(statement: syntax.Commit, text: str, session: Session, now_ms: int) -> Outcome:
    """Commit the transaction. TiDB does not begin another one after AND CHAIN."""
    return StatementOutcome(session.commit(now_ms))


def _rollback(statement: syntax.Rollback, text: str, session: Session, now_ms: int) -> Outcome:
    if statement.savepoint:
        _transaction_with(statement.savepoint, session).rollback_to(statement.savepoint)
        return StatementOutcome()
    session.roll_back()
    return StatementOutcome()


def _savepoint(statement: syntax.Savepoint, text: str, session: Session, now_ms: int) -> Outcome:
    """Set a savepoint. There are none outside of a transaction (tidb pkg/executor/simple.go, executeSavepoint)."""
    if session.transaction is None and not session.settings.autocommit:
        session.begin(now_ms)
    if session.transaction is not None:
        session.transaction.savepoint(statement.name)
    return StatementOutcome()


def _release_savepoint(statement: syntax.ReleaseSavepoint, text: str, session: Session, now_ms: int) -> Outcome:
    _transaction_with(statement.name, session).release_savepoint(statement.name)
    return StatementOutcome()


def _transaction_with(savepoint: str, session: Session) -> Transaction:
    if session.transaction is None:
        raise sql_error(1305, "SAVEPOINT", savepoint)
    return session.transaction


# -- USE and SET -------------------------------------------------------------------------------------------------------


def _use(statement: syntax.Use, text: str, session: Session, now_ms: int) -> Outcome:
    database = session.database.catalog.database(statement.database)
    system = (name.lower() for name in system_databases(session.database.release))
    if database is None and statement.database.lower() not in system:
        raise sql_error(1049, statement.database)
    current = statement.database if database is None else database.name
    session.settings = replace(session.settings, database=current)
    return StatementOutcome()


def _set(statement: syntax.SetVariables, text: str, session: Session, now_ms: int) -> Outcome:
    """Set variables. SET autocommit = 1 commits (tidb pkg/sessionctx/variable/sysvar.go, AutoCommit)."""
    before, events = session.settings, tuple[Event, ...]()
    after, warnings = set_variables(statement.settings, session, now_ms)
    if after.autocommit and not before.autocommit:
        events = session.commit(now_ms)
    session.settings = after
    return StatementOutcome(events, warnings=warnings)


# -- the rest ----------------------------------------------------------------------------------------------------------


def _do(statement: syntax.Do, text: str, session: Session, now_ms: int) -> Outcome:
    """Evaluate expressions for what they do."""
    context = reading_context(session, now_ms)
    for node in statement.expressions:
        evaluate_alone(node, context)
    return StatementOutcome(warnings=tuple(context.warnings))


def _show(statement: Show, text: str, session: Session, now_ms: int) -> Outcome:
    from simulator.tidb.engine.show.statements import run_show  # most scripts have none

    context = reading_context(session, now_ms)
    return StatementOutcome(result=run_show(statement, text, context), warnings=tuple(context.warnings))


def _load_data(statement: LoadData, text: str, session: Session, now_ms: int) -> Outcome:
    raise not_simulated("LOAD DATA LOCAL needs a MySQL client that sends the file; accepted: INSERT")


def _ignore(statement: syntax.IgnoredStatement, text: str, session: Session, now_ms: int) -> Outcome:
    return StatementOutcome()


STATEMENTS: Mapping[type, Callable[[Any, str, Any, int], Outcome]] = MappingProxyType(
    {
        syntax.Begin: _begin,
        syntax.Commit: _commit,
        syntax.Rollback: _rollback,
        syntax.Savepoint: _savepoint,
        syntax.ReleaseSavepoint: _release_savepoint,
        syntax.Use: _use,
        syntax.SetVariables: _set,
        syntax.Prepare: prepare,
        syntax.Deallocate: deallocate,
        syntax.IgnoredStatement: _ignore,
        syntax.Do: _do,
        Show: _show,
        LoadData: _load_data,
    }
)
