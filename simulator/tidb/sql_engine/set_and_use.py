"""USE and SET.

SET computes its assignments one after another, and keeps none if one is refused.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from simulator.tidb import syntax
from simulator.tidb.expressions.translate import translate
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.evaluate import evaluate
from simulator.tidb.sql_engine.queries.result_sets import run_select
from simulator.tidb.sql_engine.queries.scopes import QueryScope
from simulator.tidb.sql_engine.queries.statement_evaluation import StatementEvaluation
from simulator.tidb.sql_engine.sessions.session_variables import NAMES, set_variable
from simulator.tidb.sql_engine.storage.state import SqlSession, Upstream


def use(statement: syntax.Use, upstream: Upstream) -> Upstream:
    """Return the upstream with another current database. Raises SqlError."""
    database = upstream.catalog.database(statement.database)
    if database is None:
        raise sql_error(1049, statement.database)
    return replace(upstream, session=replace(upstream.session, database=database.name))


def set_variables(statement: syntax.SetVariables, upstream: Upstream, now_ms: int) -> Upstream:
    """Return the upstream with all variables set. Raises SqlError."""
    for setting in statement.settings:
        upstream = replace(upstream, session=_set_one(setting, upstream, now_ms))
    return upstream


def _set_one(setting: syntax.VariableAssignment, upstream: Upstream, now_ms: int) -> SqlSession:
    session = upstream.session
    if setting.scope == "user":
        assert setting.value is not None, "there is no SET @a = DEFAULT"
        return _set_user_variable(session, setting.name, setting.value, upstream, now_ms)
    value = None if setting.value is None else _value_text(setting.value, upstream, now_ms)
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
        value = _value_text(node, upstream, now_ms)
    return replace(
        session, variables={**session.variables, name: value}, variable_kinds={**session.variable_kinds, name: kind}
    )


def _value_text(node: syntax.Node, upstream: Upstream, now_ms: int) -> bytes | None:
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
