"""Prepared statements: PREPARE, EXECUTE and DEALLOCATE PREPARE, and what a client is told of one.

EXECUTE parses the text again, with the values of its variables for `?`, and executes that statement. Tables without a
database are resolved in the current database of EXECUTE; TiDB uses that of PREPARE.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.release_syntax import read_syntax
from simulator.tidb.engine.queries.compilation import reading_context
from simulator.tidb.engine.queries.statements import query_columns
from simulator.tidb.engine.scopes.names import resolve_table
from simulator.tidb.engine.sessions.outcome import StatementOutcome
from simulator.tidb.engine.sessions.result_columns import ResultColumn
from simulator.tidb.engine.sessions.session import Session
from simulator.tidb.engine.sessions.settings import DEFAULT_SQL_MODE, PreparedStatement, SqlSession
from simulator.tidb.engine.writes.insert import assigned_columns
from simulator.tidb.parser.expressions.literals import float_literal
from simulator.tidb.parser.sql import parse_prepared, parse_sql
from simulator.tidb.syntax.session import Show


def columns_of_prepared(statement: syntax.SqlStatement, session: Session, now_ms: int) -> tuple[ResultColumn, ...]:
    """Return the columns of a statement's result; none if it returns no rows. Raises the SqlError that TiDB raises when it
    prepares the statement."""
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
            from simulator.tidb.engine.show.statements import run_show  # most scripts have none

            return run_show(statement, "", context).columns
    return ()


def prepare(statement: syntax.Prepare, text: str, session: Session, now_ms: int) -> StatementOutcome:
    """Keep a prepared statement, which replaces one of the same name. A refused one leaves the old one."""
    settings = session.settings
    prepared = statement.text
    if statement.is_variable:
        value = settings.variables.get(statement.text)
        prepared = "NULL" if value is None else value.decode("utf-8", "surrogateescape")
    modes = settings.sql_mode - frozenset(DEFAULT_SQL_MODE)
    parsed, parameters = parse_prepared(prepared, modes)
    columns_of_prepared(parsed, session, now_ms)
    kept = PreparedStatement(prepared, parameters, modes)
    session.settings = replace(settings, prepared={**settings.prepared, statement.name: kept})
    return StatementOutcome()


def resolve_execute(statement: syntax.SqlStatement, text: str, settings: SqlSession) -> tuple[syntax.SqlStatement, str]:
    """Return the statement that EXECUTE runs, and its text; any other statement as it is. Raises SqlError."""
    if not isinstance(statement, syntax.Execute):
        return statement, text
    prepared = _prepared(settings, statement.name)
    if len(statement.variables) != prepared.parameters:
        raise SqlError(8112, "HY000", "Wrong parameter count")
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


NUMBERS = MappingProxyType({"integer": "integer", "unsigned": "integer", "decimal": "decimal", "float": "float"})
"""The kinds of numbers of literals by those of variables."""


def deallocate(statement: syntax.Deallocate, text: str, session: Session, now_ms: int) -> StatementOutcome:
    settings = session.settings
    _prepared(settings, statement.name)
    remaining = {name: each for name, each in settings.prepared.items() if name != statement.name}
    session.settings = replace(settings, prepared=remaining)
    return StatementOutcome()


def _prepared(settings: SqlSession, name: str) -> PreparedStatement:
    """Return a prepared statement. Raises SqlError 8111. Names are case-sensitive, as in TiDB."""
    if name not in settings.prepared:
        raise SqlError(8111, "HY000", "Prepared statement not found")
    return settings.prepared[name]
