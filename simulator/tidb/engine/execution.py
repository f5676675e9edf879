"""Executes the statements of a session.

A DDL statement commits the open transaction first, even if the statement is refused. A refused statement leaves no
trace but the ids that it used up. SET_VAR and MAX_EXECUTION_TIME count in the first comment `/*+ … */` of a statement
(tidb pkg/util/hint/hint_processor.go).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from simulator.errors import DdlError, SqlError
from simulator.limits import TOO_DEEP
from simulator.tidb import syntax
from simulator.tidb.ddl.grammar import read_syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.ddl import ddl_session, execute_ddl, execute_on_local
from simulator.tidb.engine.names import past_of_session
from simulator.tidb.engine.outcome import FailedStatement, StatementOutcome
from simulator.tidb.engine.queries.plans import run_query
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.session_statements import execute_in_session, resolve_execute, system_variable_set
from simulator.tidb.engine.writes.insert import insert
from simulator.tidb.engine.writes.load_data import load_data
from simulator.tidb.engine.writes.update import delete, recover_values, update
from simulator.tidb.errors import not_simulated, sql_error_with_text
from simulator.tidb.storage.rows import LockWait, TooLong
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.syntax.session import LoadFile, Show

AnyStatement = syntax.SqlStatement | LoadFile
Outcome = StatementOutcome | FailedStatement

VARIABLE_FIELDS = (
    "settings",
    "sql_mode",
    "time_zone",
    "timestamp",
    "foreign_key_checks",
    "check_constraints",
    "soft_deletes",
)
"""The fields of SqlSession that system variables set."""

KEEP_WARNINGS = ("WARNINGS", "ERRORS")
"""What SHOW shows without replacing the warnings of the statement before it."""


def execute(session: Session, statement: AnyStatement, text: str, now_ms: int) -> Outcome:
    """Execute a statement at a millisecond of simulated time. `text` is the statement's own text.

    Raises LockWait if another transaction has a lock that it needs, and Pause; it is undone then and may be executed
    again. Raises what `Database.publish` raises; then it has no effect, and its transaction is as before.
    """
    session.step += 1
    try:
        session.text, session.now_ms = text, now_ms
        if isinstance(statement, syntax.Execute):
            statement, session.text = resolve_execute(statement, text, session.settings)
        run = _execute_with_hints if "/*+" in session.text else _execute
        outcome = run(session, statement)
    except (SqlError, DdlError) as error:
        outcome = FailedStatement(_of_prepared(error) if text is not session.text else error)
    except RecursionError:
        outcome = FailedStatement(not_simulated(TOO_DEEP))
    if not (isinstance(statement, Show) and statement.kind in KEEP_WARNINGS):
        session.remember(outcome)
    session.abandon()
    return outcome


def _execute_with_hints(session: Session, statement: AnyStatement) -> Outcome:
    """Execute a statement with the variables that its hints set. A hint that is refused is a warning."""
    before, warnings = session.settings, list[str]()
    for name, value in hinted_variables(session.text):
        try:
            session.settings = system_variable_set(session, name, "session", value, warnings)
        except SqlError as error:
            warnings.append(f"{error.number} {error.text}")
    changed = {name: getattr(before, name) for name in VARIABLE_FIELDS}
    try:
        outcome = _execute(session, statement)
    finally:
        session.settings = replace(session.settings, **changed)
    if warnings and isinstance(outcome, StatementOutcome):
        outcome = replace(outcome, warnings=(*warnings, *outcome.warnings))
    return outcome


def _execute(session: Session, statement: AnyStatement) -> Outcome:
    """Raises SqlError and DdlError."""
    if isinstance(statement, syntax.RowStatement | LoadFile):
        return _change_rows(session, statement)
    if isinstance(statement, syntax.SelectStatement):
        return _query(session, statement)
    if isinstance(statement, syntax.Statement):
        return _execute_ddl(session, statement)
    return execute_in_session(statement, session)


def _change_rows(session: Session, statement: syntax.RowStatement | LoadFile) -> StatementOutcome:
    """Execute INSERT, UPDATE, DELETE or LOAD DATA."""
    session.check_writes()
    transaction = session.begin_statement()
    position = transaction.position
    inserting = isinstance(statement, syntax.Insert | LoadFile)
    context = StatementContext(session, transaction, transaction.current_ts, True, statement.ignore, inserting)
    session.earlier_ids, session.given_ids = session.given_ids, []
    try:
        outcome = ROW_STATEMENTS[type(statement)](statement, context)
        committed = session.end_statement(transaction)
    except BaseException as error:
        if not isinstance(error, LockWait | TooLong):
            session.given_ids = []
        transaction.undo(position)
        session.refuse_statement(transaction)
        raise
    _keep_given_id(context)
    if context.given_id is not None:
        outcome = replace(outcome, insert_id=context.given_id)
    return replace(outcome, events=committed)


ROW_STATEMENTS: Mapping[type, Callable[[Any, StatementContext], StatementOutcome]] = {
    syntax.Insert: insert,
    syntax.Update: update,
    syntax.Delete: delete,
    syntax.RecoverValues: recover_values,
    LoadFile: load_data,
}


def _keep_given_id(context: StatementContext) -> None:
    """Remember the argument of LAST_INSERT_ID."""
    session = context.session
    if context.given_id is not None:
        session.settings = replace(session.settings, last_insert_id=context.given_id)


def _query(session: Session, statement: syntax.SelectStatement) -> StatementOutcome:
    transaction = session.begin_statement()
    is_current = statement.locks_rows or transaction.reads_committed
    read_ts = transaction.current_ts if is_current else transaction.start_ts
    context = StatementContext(session, transaction, read_ts)
    limit_ms = int(session.settings.settings.get("max_execution_time", "0"))
    session.deadline = time.monotonic() + limit_ms / 1000 if limit_ms else None
    try:
        past = transaction.start_ts if transaction.stale else past_of_session(session)
        if past is not None:
            context.read_at(past)
        result = run_query(statement.query, context)
        session.end_statement(transaction)
    except BaseException:
        session.refuse_statement(transaction)
        raise
    finally:
        session.deadline = None
    _keep_given_id(context)
    return StatementOutcome(result=result, warnings=tuple(context.warnings))


def _execute_ddl(session: Session, statement: syntax.Statement) -> Outcome:
    """Commit the open transaction before looking at a statement that TiDB could parse (tidb pkg/executor/ddl.go,
    DDLExec.Next)."""
    text, database = session.text, session.database
    statement = read_syntax(statement, text, database.release)
    session.check_writes()
    remaining = execute_on_local(statement, text, session, ddl_session(session))
    if isinstance(remaining, StatementOutcome):
        return remaining
    before = (*session.committed_before, *session.commit())
    try:
        waiter = session.waiter or Transaction(database.locks, database.last_ts)
        try:
            outcome = execute_ddl(remaining, text, session, waiter)
        except LockWait:
            session.waiter, session.committed_before = waiter, before
            raise
    except (SqlError, DdlError) as error:
        return FailedStatement(error, before)
    except RecursionError:
        return FailedStatement(not_simulated(TOO_DEEP), before)
    return replace(outcome, events=(*before, *outcome.events))


def _of_prepared(error: SqlError | DdlError) -> SqlError | DdlError:
    """Return an error of EXECUTE: a table that is gone since PREPARE (tidb pkg/planner/core/plan_cache.go,
    planCachePreprocess)."""
    if not isinstance(error, SqlError) or error.number != 1146:
        return error
    return sql_error_with_text(8113, f"Schema change caused error: [schema:1146]{error.text}")


COMMENT = re.compile(r"/\*\+(.*?)\*/", re.DOTALL)
SET_VARIABLE = re.compile(r"\bSET_VAR\s*\(\s*`?(\w+)`?\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|([\w.+-]+))\s*\)", re.IGNORECASE)
TIME_LIMIT = re.compile(r"\bMAX_EXECUTION_TIME\s*\(\s*(?:@\w+\s+)?(\d+)\s*\)", re.IGNORECASE)


@lru_cache(256)
def hinted_variables(text: str) -> tuple[tuple[str, str], ...]:
    """Return the variables that hints set while the statement runs, with their values."""
    comment = COMMENT.search(text)
    if comment is None:
        return ()
    limits = [("max_execution_time", number) for number in TIME_LIMIT.findall(comment[1])]
    found = SET_VARIABLE.findall(comment[1])
    return (*((name.lower(), one or other or word) for name, one, other, word in found), *limits)
