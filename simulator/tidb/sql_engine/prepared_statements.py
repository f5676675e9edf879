"""PREPARE, EXECUTE and DEALLOCATE PREPARE.

EXECUTE parses the text again, with the values of its variables for `?`, and executes that statement. Tables without a
database are resolved in the current database of EXECUTE; TiDB uses that of PREPARE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.parser.expressions.literals import float_literal
from simulator.tidb.parser.sql import parse_prepared, parse_sql
from simulator.tidb.sql_engine.changes.insert import assigned_columns
from simulator.tidb.sql_engine.queries.scopes import QueryScope
from simulator.tidb.sql_engine.queries.selects import build_relation
from simulator.tidb.sql_engine.queries.statement_evaluation import StatementEvaluation
from simulator.tidb.sql_engine.storage.names import resolve_table
from simulator.tidb.sql_engine.storage.state import DEFAULT_SQL_MODE, PreparedStatement, SqlSession, Upstream


def prepare(statement: syntax.Prepare, upstream: Upstream, now_ms: int) -> Upstream:
    """Return the upstream with the prepared statement, which replaces one of the same name. Raises SqlError and keeps
    the old one then."""
    session = upstream.session
    text = _variable_text(session, statement.text) if statement.is_variable else statement.text
    modes = session.sql_mode - frozenset(DEFAULT_SQL_MODE)
    parsed, parameters = parse_prepared(text, modes)
    CHECKS.get(type(parsed), _accept)(parsed, upstream, now_ms)
    return _with_prepared(upstream, {**session.prepared, statement.name: PreparedStatement(text, parameters, modes)})


def _variable_text(session: SqlSession, name: str) -> str:
    value = session.variables.get(name)
    return "NULL" if value is None else value.decode("utf-8", "surrogateescape")


def _accept(statement: syntax.SqlStatement, upstream: Upstream, now_ms: int) -> None:
    """Accept a statement that TiDB checks at EXECUTE only."""


def _check_query(statement: syntax.SelectStatement, upstream: Upstream, now_ms: int) -> None:
    evaluation = StatementEvaluation(upstream, now_ms)
    build_relation(statement.query, evaluation, QueryScope(evaluation))


def _check_insert(statement: syntax.Insert, upstream: Upstream, now_ms: int) -> None:
    assigned_columns(statement, resolve_table(upstream, statement.table, "insert into"))


def _check_update(statement: syntax.Update | syntax.Delete, upstream: Upstream, now_ms: int) -> None:
    if statement.common is None:
        tree = syntax.SelectTree((syntax.Star(),), statement.source, statement.where, order=statement.order)
        _check_query(syntax.SelectStatement(tree), upstream, now_ms)


CHECKS: Mapping[type, Callable[[Any, Upstream, int], None]] = MappingProxyType(
    {
        syntax.SelectStatement: _check_query,
        syntax.Insert: _check_insert,
        syntax.Update: _check_update,
        syntax.Delete: _check_update,
    }
)


def resolve_execute(statement: syntax.SqlStatement, text: str, upstream: Upstream) -> tuple[syntax.SqlStatement, str]:
    """Return the statement that EXECUTE runs, and its text; any other statement as it is. Raises SqlError."""
    if not isinstance(statement, syntax.Execute):
        return statement, text
    session = upstream.session
    prepared = _statement_named(session, statement.name)
    if len(statement.variables) != prepared.parameters:
        raise SqlError(8112, "HY000", "Wrong parameter count")
    parsed = parse_sql(
        prepared.text, prepared.sql_mode, parameters=[_variable_literal(session, name) for name in statement.variables]
    )
    assert parsed is not None, "PREPARE parsed it"
    return parsed, prepared.text


def _variable_literal(session: SqlSession, name: str) -> syntax.Node:
    """Return the value of a user variable as a literal."""
    value, kind = session.variables.get(name), session.variable_kinds.get(name, "string")
    if value is None:
        return syntax.Literal("null")
    if kind == "hex":
        return syntax.Literal("hex", value.hex())
    digits = value.decode("utf-8", "surrogateescape")
    if kind not in ("integer", "decimal", "float"):
        return syntax.Literal(kind, digits, "utf8mb4" if kind == "string" else "")
    negate: Callable[[syntax.Node], syntax.Node] = (
        partial(syntax.Unary, "-") if digits.startswith("-") else lambda node: node
    )
    size = digits.removeprefix("-")
    return negate(float_literal(float(size)) if kind == "float" else syntax.Literal(kind, size))


def deallocate(statement: syntax.Deallocate, upstream: Upstream) -> Upstream:
    """Return the upstream without the prepared statement. Raises SqlError."""
    _statement_named(upstream.session, statement.name)
    remaining = {name: each for name, each in upstream.session.prepared.items() if name != statement.name}
    return _with_prepared(upstream, remaining)


def _statement_named(session: SqlSession, name: str) -> PreparedStatement:
    """Return a prepared statement. Raises SqlError 8111. Names are case-sensitive, as in TiDB."""
    if name not in session.prepared:
        raise SqlError(8111, "HY000", "Prepared statement not found")
    return session.prepared[name]


def _with_prepared(upstream: Upstream, prepared: Mapping[str, PreparedStatement]) -> Upstream:
    return replace(upstream, session=replace(upstream.session, prepared=prepared))
