"""Statements that change a session: USE, SET, PREPARE, EXECUTE and DEALLOCATE PREPARE.

SET computes its assignments one after another, and keeps none if one is refused. EXECUTE parses the text again, with
the values of its variables for `?`, and executes that statement. Tables without a database are resolved in the current
database of EXECUTE; TiDB uses that of PREPARE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.release_syntax import check_syntax
from simulator.tidb.expressions.translate import translate
from simulator.tidb.parser.expressions.literals import float_literal
from simulator.tidb.parser.sql import parse_prepared, parse_sql
from simulator.tidb.sql_engine.changes.insert import assigned_columns
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.evaluate import evaluate, run_select
from simulator.tidb.sql_engine.queries.scopes import QueryScope
from simulator.tidb.sql_engine.queries.selects import build_relation
from simulator.tidb.sql_engine.queries.statement_evaluation import StatementEvaluation
from simulator.tidb.sql_engine.sessions.session_variables import NAMES, set_variable
from simulator.tidb.sql_engine.storage.names import is_system_database, resolve_table
from simulator.tidb.sql_engine.storage.state import DEFAULT_SQL_MODE, PreparedStatement, SqlSession, Upstream


def use(name: str, upstream: Upstream) -> Upstream:
    """Return the upstream with another current database. Raises SqlError."""
    database = upstream.catalog.database(name)
    if database is None and not is_system_database(name):
        raise sql_error(1049, name)
    current = name if database is None else database.name
    return replace(upstream, session=replace(upstream.session, database=current))


def set_variables(settings: Sequence[syntax.VariableAssignment], upstream: Upstream, now_ms: int) -> Upstream:
    """Return the upstream with all variables set. Raises SqlError."""
    for setting in settings:
        upstream = replace(upstream, session=_set_one(setting, upstream, now_ms))
    return upstream


def _set_one(setting: syntax.VariableAssignment, upstream: Upstream, now_ms: int) -> SqlSession:
    session = upstream.session
    if setting.scope == "user":
        assert setting.value is not None, "there is no SET @a = DEFAULT"
        return _set_user_variable(session, setting.name, setting.value, upstream, now_ms)
    value = None if setting.value is None else value_text(setting.value, upstream, now_ms)
    text = None if value is None else value.decode("utf-8", "replace")
    if setting.name in NAMES:
        return NAMES[setting.name](session, setting.name, text or "utf8mb4")
    if setting.value is not None and text is None:
        text = ""
    return set_variable(session, setting.name, setting.scope, text)


def _set_user_variable(
    session: SqlSession, name: str, node: syntax.Node, upstream: Upstream, now_ms: int
) -> SqlSession:
    kind = _value_kind(node, upstream, now_ms)
    if kind == "hex":
        value: bytes | None = (
            run_select(syntax.SelectTree((syntax.SelectItem(node, name),)), upstream, now_ms).rows.column(0)[0].as_py()
        )
    else:
        value = value_text(node, upstream, now_ms)
    return replace(
        session, variables={**session.variables, name: value}, variable_kinds={**session.variable_kinds, name: kind}
    )


def value_text(node: syntax.Node, upstream: Upstream, now_ms: int) -> bytes | None:
    if isinstance(node, syntax.Literal) and node.kind in ("string", "integer", "decimal"):
        return node.text.encode("utf-8", "surrogateescape")
    value: bytes | str | None = evaluate([node], [None], upstream, now_ms)[0][0].as_py()
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


def _value_kind(node: syntax.Node, upstream: Upstream, now_ms: int) -> str:
    """Return the kind of a user variable's value, named as the kinds of `Literal`."""
    if isinstance(node, syntax.Literal) and node.kind in ("string", "integer", "decimal", "float"):
        return node.kind
    value = translate(node, QueryScope(StatementEvaluation(upstream, now_ms)))
    return "hex" if value.is_binary else LITERAL_KINDS.get(value.kind, "string")


LITERAL_KINDS = MappingProxyType(
    {
        "bool": "integer",
        "int": "integer",
        "uint": "integer",
        "decimal": "decimal",
        "real": "float",
        "date": "date",
        "datetime": "timestamp",
        "time": "time",
    }
)
"""The kind of literal by the kind of a value; `string` for other kinds."""


def prepare(statement: syntax.Prepare, upstream: Upstream, now_ms: int) -> Upstream:
    """Return the upstream with the prepared statement, which replaces one of the same name. Raises SqlError and keeps
    the old one then."""
    session = upstream.session
    text = _variable_text(session, statement.text) if statement.is_variable else statement.text
    modes = session.sql_mode - frozenset(DEFAULT_SQL_MODE)
    parsed, parameters = parse_prepared(text, modes)
    check_prepared(parsed, upstream, now_ms)
    return _with_prepared(upstream, {**session.prepared, statement.name: PreparedStatement(text, parameters, modes)})


def _variable_text(session: SqlSession, name: str) -> str:
    value = session.variables.get(name)
    return "NULL" if value is None else value.decode("utf-8", "surrogateescape")


def check_prepared(statement: syntax.SqlStatement, upstream: Upstream, now_ms: int) -> None:
    """Raise the SqlError that TiDB raises at PREPARE already."""
    match statement:
        case syntax.Statement():
            check_syntax(statement, "", upstream.release)
            return
        case syntax.Insert():
            assigned_columns(statement, resolve_table(upstream, statement.table, "insert into"))
            return
        case syntax.Update(common=None) | syntax.Delete(common=None):
            query: syntax.QueryTree = syntax.SelectTree(
                (syntax.Star(),), statement.source, statement.where, order=statement.order
            )
        case syntax.SelectStatement(query):
            pass
        case _:
            return
    evaluation = StatementEvaluation(upstream, now_ms)
    build_relation(query, evaluation, QueryScope(evaluation))


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


def deallocate(name: str, upstream: Upstream) -> Upstream:
    """Return the upstream without the prepared statement. Raises SqlError."""
    _statement_named(upstream.session, name)
    remaining = {other: each for other, each in upstream.session.prepared.items() if other != name}
    return _with_prepared(upstream, remaining)


def _statement_named(session: SqlSession, name: str) -> PreparedStatement:
    """Return a prepared statement. Raises SqlError 8111. Names are case-sensitive, as in TiDB."""
    if name not in session.prepared:
        raise SqlError(8111, "HY000", "Prepared statement not found")
    return session.prepared[name]


def _with_prepared(upstream: Upstream, prepared: Mapping[str, PreparedStatement]) -> Upstream:
    return replace(upstream, session=replace(upstream.session, prepared=prepared))
