"""Statements about a session: BEGIN … SAVEPOINT, USE, SET, prepared statements, and those that show something.

The assignments of SET are computed one after another, and none is kept if one is refused (tidb pkg/executor/set.go,
pkg/sessionctx/variable). EXECUTE parses the text again, with the values of its variables for `?`, and executes that
statement. Tables without a database are resolved in the current database of EXECUTE; TiDB uses that of PREPARE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.grammar import read_syntax
from simulator.tidb.engine import Event, FailedStatement, ResultColumn, StatementOutcome
from simulator.tidb.engine.names import moment_ts, resolve_table, snapshot_ts, with_user_variable
from simulator.tidb.engine.queries import evaluate_alone, new_compilation, query_columns, reading_context
from simulator.tidb.engine.scope import QueryScope
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.settings import (
    DEFAULT_SQL_MODE,
    NAMES,
    PreparedStatement,
    SqlSession,
    check_name,
    noop_warning,
    set_variable,
    variable_text,
)
from simulator.tidb.engine.system_columns import system_databases
from simulator.tidb.engine.writes.insert import assigned_columns
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.parser.sql import parse_prepared, parse_sql
from simulator.tidb.parser.tokens import float_literal
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.syntax.statements import LoadData, Show
from simulator.tidb.system_variables import VARIABLES


def columns_of_prepared(
    statement: syntax.SqlStatement, session: Session, now_ms: int | None = None
) -> tuple[ResultColumn, ...]:
    """Return the columns of a statement's result; none if it returns no rows. Raises the SqlError that TiDB raises when it
    prepares the statement. `now_ms` is as in `reading_context`."""
    context = reading_context(session, now_ms)
    match statement:
        case syntax.Statement():
            read_syntax(statement, "", session.database.release)
        case syntax.SelectStatement(query):
            return query_columns(query, context)
        case syntax.Insert():
            verb = "replace into" if statement.replace else "insert into"
            assigned_columns(statement, resolve_table(context, statement.table, verb))
            if statement.query is not None:
                query_columns(statement.query, context)
        case syntax.Update(common=None) | syntax.Delete(common=None):
            everything = (syntax.Star(),)
            query_columns(
                syntax.SelectTree(everything, statement.source, statement.where, order=statement.order), context
            )
        case Show():
            from simulator.tidb.engine.show import run_show  # most scripts have none

            return run_show(statement, context).columns
    return ()


def prepare(statement: syntax.Prepare, session: Session) -> StatementOutcome:
    """Keep a prepared statement, which replaces one of the same name. A refused one leaves the old one."""
    settings = session.settings
    prepared = statement.text
    if statement.is_variable:
        value = settings.variables.get(statement.text)
        prepared = "NULL" if value is None else value.decode("utf-8", "surrogateescape")
    modes = settings.sql_mode - frozenset(DEFAULT_SQL_MODE)
    parsed, parameters = parse_prepared(prepared, modes)
    columns_of_prepared(parsed, session)
    kept = PreparedStatement(prepared, parameters, modes)
    session.settings = replace(settings, prepared={**settings.prepared, statement.name: kept})
    return StatementOutcome()


def resolve_execute(statement: syntax.SqlStatement, text: str, settings: SqlSession) -> tuple[syntax.SqlStatement, str]:
    """Return the statement that EXECUTE runs, and its text; any other statement as it is. Raises SqlError."""
    if not isinstance(statement, syntax.Execute):
        return statement, text
    prepared = _prepared(settings, statement.name)
    if len(statement.variables) != prepared.parameters:
        raise sql_error(8112)
    values = [_variable_literal(settings, name) for name in statement.variables]
    parsed = parse_sql(prepared.text, prepared.sql_mode, parameters=values)
    assert parsed is not None, "PREPARE parsed it"
    return parsed, prepared.text


def _variable_literal(settings: SqlSession, name: str) -> syntax.Node:
    """Return the value of a user variable as a literal."""
    value, kind = settings.variables.get(name), settings.variable_kinds.get(name, "string")
    if value is None:
        return syntax.Literal("null")
    if kind == "hex":
        return syntax.Literal("hex", value.hex())
    digits = value.decode("utf-8", "surrogateescape")
    if kind not in NUMBERS:
        return syntax.Literal(kind, digits, "utf8mb4" if kind == "string" else "")
    size = digits.removeprefix("-")
    literal = float_literal(float(size)) if kind == "float" else syntax.Literal(NUMBERS[kind], size)
    return syntax.Unary("-", literal) if digits.startswith("-") else literal


NUMBERS = {"integer": "integer", "unsigned": "integer", "decimal": "decimal", "float": "float"}
"""The kinds of numbers of literals by those of variables."""


def deallocate(statement: syntax.Deallocate, session: Session) -> StatementOutcome:
    settings = session.settings
    _prepared(settings, statement.name)
    remaining = {name: each for name, each in settings.prepared.items() if name != statement.name}
    session.settings = replace(settings, prepared=remaining)
    return StatementOutcome()


def _prepared(settings: SqlSession, name: str) -> PreparedStatement:
    """Return a prepared statement. Raises SqlError 8111. Names are case-sensitive, as in TiDB."""
    if name not in settings.prepared:
        raise sql_error(8111)
    return settings.prepared[name]


Outcome = StatementOutcome | FailedStatement


# -- transactions ------------------------------------------------------------------------------------------------------


def _begin(statement: syntax.Begin, session: Session) -> Outcome:
    """Begin a transaction, after committing the open one."""
    warnings, past = list[str](), None
    if statement.as_of is not None:
        past = moment_ts(statement.as_of, QueryScope(new_compilation(reading_context(session))))
    elif statement.read_only:
        _warn_of_noop(session.settings, "READ ONLY", warnings)
    events = session.commit()
    session.begin(statement.mode, past)
    return StatementOutcome(events, warnings=tuple(warnings))


def _commit(statement: syntax.Commit, session: Session) -> Outcome:
    """Commit the transaction. TiDB does not begin another one after AND CHAIN."""
    return StatementOutcome(session.commit())


def _rollback(statement: syntax.Rollback, session: Session) -> Outcome:
    if statement.savepoint:
        _transaction_with(statement.savepoint, session).rollback_to(statement.savepoint)
        return StatementOutcome()
    session.roll_back()
    return StatementOutcome()


def _savepoint(statement: syntax.Savepoint, session: Session) -> Outcome:
    """Set a savepoint. There are none outside of a transaction (tidb pkg/executor/simple.go, executeSavepoint)."""
    if session.transaction is None and not session.settings.autocommit:
        session.begin()
    if session.transaction is not None:
        session.transaction.savepoint(statement.name)
    return StatementOutcome()


def _release_savepoint(statement: syntax.ReleaseSavepoint, session: Session) -> Outcome:
    _transaction_with(statement.name, session).release_savepoint(statement.name)
    return StatementOutcome()


def _transaction_with(savepoint: str, session: Session) -> Transaction:
    if session.transaction is None:
        raise sql_error(1305, "SAVEPOINT", savepoint)
    return session.transaction


# -- USE and SET -------------------------------------------------------------------------------------------------------


def _use(statement: syntax.Use, session: Session) -> Outcome:
    database = session.database.catalog.database(statement.database)
    system = (name.lower() for name in system_databases(session.database.release))
    if database is None and statement.database.lower() not in system:
        raise sql_error(1049, statement.database)
    current = statement.database if database is None else database.name
    session.settings = replace(session.settings, database=current)
    return StatementOutcome()


def _set(statement: syntax.SetVariables, session: Session) -> Outcome:
    """Set variables. SET autocommit = 1 commits (tidb pkg/sessionctx/variable/sysvar.go, AutoCommit)."""
    before, events = session.settings, tuple[Event, ...]()
    after, warnings = set_variables(statement.settings, session)
    if after.autocommit and not before.autocommit:
        events = session.commit()
    session.settings = after
    return StatementOutcome(events, warnings=warnings)


# -- the rest ----------------------------------------------------------------------------------------------------------


def _do(statement: syntax.Do, session: Session) -> Outcome:
    """Evaluate expressions for what they do."""
    context = reading_context(session)
    for node in statement.expressions:
        evaluate_alone(node, context)
    return StatementOutcome(warnings=tuple(context.warnings))


def _show(statement: Show, session: Session) -> Outcome:
    from simulator.tidb.engine.show import run_show  # most scripts have none

    context = reading_context(session)
    return StatementOutcome(result=run_show(statement, context), warnings=tuple(context.warnings))


def _load_data(statement: LoadData, session: Session) -> Outcome:
    raise not_simulated("LOAD DATA LOCAL needs a MySQL client that sends the file; accepted: INSERT")


STATEMENTS: Mapping[type, Callable[[Any, Session], Outcome]] = {
    syntax.Begin: _begin,
    syntax.Commit: _commit,
    syntax.Rollback: _rollback,
    syntax.Savepoint: _savepoint,
    syntax.ReleaseSavepoint: _release_savepoint,
    syntax.Use: _use,
    syntax.SetVariables: _set,
    syntax.Prepare: prepare,
    syntax.Deallocate: deallocate,
    syntax.IgnoredStatement: lambda statement, session: StatementOutcome(),
    syntax.Do: _do,
    Show: _show,
    LoadData: _load_data,
}


NOOP_VARIABLES = {
    **dict.fromkeys(("tx_read_only", "transaction_read_only", "read_only", "super_read_only"), "READ ONLY"),
    "offline_mode": "OFFLINE MODE",
    "sql_auto_is_null": "sql_auto_is_null",
}
"""Variables that do nothing in TiDB, which may be ON only if tidb_enable_noop_functions is, and their names in the error."""

INSTANCE_VARIABLES = frozenset(
    """
    ddl_slow_threshold max_connections tidb_check_mb4_value_in_utf8 tidb_enable_collect_execution_info
    tidb_enable_slow_log tidb_expensive_query_time_threshold tidb_expensive_txn_time_threshold tidb_force_priority
    tidb_general_log tidb_log_file_max_days tidb_pprof_sql_cpu tidb_record_plan_in_slow_log tidb_slow_log_threshold
    """.split()
)
"""Variables of a server, which SET SESSION sets, too, with a warning (tidb_enable_legacy_instance_scope)."""

ISOLATION = ("tx_isolation", "transaction_isolation", "tx_isolation_one_shot")
UNSUPPORTED_LEVELS = ("SERIALIZABLE", "READ-UNCOMMITTED")


def set_variables(
    assignments: Sequence[syntax.VariableAssignment], session: Session
) -> tuple[SqlSession, tuple[str, ...]]:
    """Return the settings with all variables set, and the warnings. Raises SqlError."""
    before, warnings = session.settings, list[str]()
    try:
        for assignment in assignments:
            session.settings = _with_variable(assignment, session, warnings)
        return session.settings, tuple(warnings)
    finally:
        session.settings = before


def _with_variable(assignment: syntax.VariableAssignment, session: Session, warnings: list[str]) -> SqlSession:
    node, name, shown = assignment.value, assignment.name, None
    if node is not None:
        context = reading_context(session)
        value, result = evaluate_alone(node, context)
        shown = None if result is None else as_text(value)((), context)
        if context.given_id is not None:
            session.settings = replace(session.settings, last_insert_id=context.given_id)
        if assignment.scope == "user":
            return with_user_variable(session.settings, name, value, shown)
        if shown is None:
            shown = ""
    settings = session.settings
    if name in NAMES:
        return NAMES[name](settings, name, shown or "utf8mb4")
    return system_variable_set(session, name, assignment.scope, shown, warnings)


def system_variable_set(session: Session, name: str, scope: str, value: str | None, warnings: list[str]) -> SqlSession:
    """Return the settings with a system variable set; a value of None means DEFAULT. Raises SqlError."""
    settings = session.settings
    check_name(name, "global" if name in INSTANCE_VARIABLES else scope)
    if name in NOOP_VARIABLES and value is not None and value.upper() in ("ON", "1"):
        _warn_of_noop(settings, NOOP_VARIABLES[name], warnings)
    if name == "tx_isolation_one_shot" and session.transaction is not None:
        raise sql_error(1568)
    if name in ISOLATION and value is not None and value.upper() in UNSUPPORTED_LEVELS:
        try:
            return set_variable(settings, name, scope, value)
        except SqlError as error:
            if error.number != 8048 or variable_text(settings, "tidb_skip_isolation_level_check") != "1":
                raise
            warnings.append(f"{error.number} {error.text}")
            stored = "transaction_isolation" if name == "tx_isolation" else name
            return replace(settings, settings={**settings.settings, stored: value.upper()})
    if name in INSTANCE_VARIABLES and scope != "global":
        warnings.append(f"8142 modifying {name} will require SET GLOBAL in a future version of TiDB")
        scope = "global"
    if name == "tidb_snapshot" and value:
        snapshot_ts(value, session)
    after = set_variable(settings, name, scope, value)
    if value is not None and _is_clipped(name, value):
        warnings.append(f"1292 Truncated incorrect {name} value: '{value}'")
    return after


def _warn_of_noop(settings: SqlSession, feature: str, warnings: list[str]) -> None:
    if error := noop_warning(settings, feature):
        warnings.append(f"{error.number} {error.text}")


def _is_clipped(name: str, value: str) -> bool:
    """Return whether a number is outside of the bounds of its variable, which takes the nearest one."""
    variable = VARIABLES.get(name)
    if variable is None or variable.type != "number":
        return False
    least, most = map(int, variable.accepted)
    return not least <= int(value) <= most
