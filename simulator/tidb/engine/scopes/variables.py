"""Variables in expressions: `@a`, `@a := 1`, `@@sql_mode`.

A user variable has a type, which is that of the value that it was given last. An expression takes the type that the
variable has before the statement (tidb pkg/expression/builtin_other.go, getVarFunctionClass).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from simulator.tidb import syntax
from simulator.tidb.engine.scopes.scope import QueryScope
from simulator.tidb.engine.sessions.computed_variables import COMPUTED, settings_of
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.session_variables import variable_text
from simulator.tidb.engine.sessions.settings import SqlSession
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import Evaluate, Expression, Row, fixed
from simulator.tidb.expressions.literals import number_value, text_value
from simulator.tidb.expressions.moments import parse_printed_moment
from simulator.tidb.system_variables import VARIABLES, is_text
from simulator.tidb.values.durations import duration_micros

PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d{0,18})(\.\d{1,18})?")


def compile_variable(tree: syntax.Variable | syntax.AssignedVariable, scope: QueryScope) -> Expression:
    """Return the value of a variable. Raises SqlError."""
    if isinstance(tree, syntax.AssignedVariable):
        return _assigned(tree, scope)
    if tree.scope == "user":
        return _user_variable(tree.name.lower(), scope)
    return _system_variable(tree, scope.context)


# -- user variables ----------------------------------------------------------------------------------------------------


def _user_variable(name: str, scope: QueryScope) -> Expression:
    """Return the value of `@name`, which may change from row to row in a statement that has assignments."""
    session = scope.context.session
    if ":=" in session.text:
        scope.compilation.varying += 1
    kind = session.settings.variable_kinds.get(name, "string")
    read, like = READERS.get(kind, READERS["string"])

    def evaluate(row: Row, context: Any) -> Any:
        value = context.session.settings.variables.get(name)
        return None if value is None else read(value)

    scale = 0
    if kind in ("decimal", "timestamp", "time"):
        value = session.settings.variables.get(name)
        scale = 0 if value is None else len(value.partition(b".")[2])
    return replace(like, evaluate=evaluate, scale=scale)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _moment(value: bytes) -> str:
    return parse_printed_moment(value.decode())


READERS: Mapping[str, tuple[Callable[[bytes], Any], Expression]] = MappingProxyType(
    {
        "string": (_text, Expression(fixed(None), "string", coercibility=2)),
        "hex": (
            lambda value: value.decode("latin-1"),
            Expression(fixed(None), "string", "binary", coercibility=2, is_binary=True),
        ),
        "integer": (int, Expression(fixed(None), "int")),
        "unsigned": (int, Expression(fixed(None), "uint")),
        "decimal": (lambda value: Decimal(value.decode()), Expression(fixed(None), "decimal")),
        "float": (float, Expression(fixed(None), "real")),
        "date": (_moment, Expression(fixed(None), "date")),
        "timestamp": (_moment, Expression(fixed(None), "datetime")),
        "time": (lambda value: duration_micros(value.decode()), Expression(fixed(None), "time")),
    }
)
"""By the kind of a variable: what returns its value, and what an expression with it is like."""

KINDS = MappingProxyType(
    {
        "bool": "integer",
        "int": "integer",
        "uint": "unsigned",
        "decimal": "decimal",
        "real": "float",
        "date": "date",
        "datetime": "timestamp",
        "time": "time",
    }
)
"""The kind of a variable by that of its value; `string` for other kinds, `hex` for a binary string."""


def _assigned(tree: syntax.AssignedVariable, scope: QueryScope) -> Expression:
    """Return the value of `@name := value`, which is assigned for each row."""
    scope.compilation.varying += 1
    name, value = tree.name.lower(), compile_expression(tree.value, scope)
    text = as_text(value)

    def assigned(evaluate: Evaluate) -> Evaluate:
        def compute(row: Row, context: Any) -> Any:
            result = evaluate(row, context)
            shown = None if result is None else text(row, context)
            session = context.session
            session.settings = with_user_variable(session.settings, name, value, shown)
            return result

        return compute

    plain = replace(value, constant=None, is_constant=False, is_column=False, text=None, number=None)
    return replace(plain, evaluate=assigned(value.evaluate))


def with_user_variable(settings: SqlSession, name: str, value: Expression, shown: str | None) -> SqlSession:
    """Return the settings with a user variable, given the text of its value."""
    kind = "hex" if value.is_binary else KINDS.get(value.kind, "string")
    cell = None if shown is None else shown.encode(*(("latin-1",) if kind == "hex" else ("utf-8", "surrogateescape")))
    if settings.variable_kinds.get(name) != kind:
        settings = replace(settings, variable_kinds={**settings.variable_kinds, name: kind})
    return replace(settings, variables={**settings.variables, name: cell})


# -- system variables --------------------------------------------------------------------------------------------------


def _system_variable(tree: syntax.Variable, context: StatementContext) -> Expression:
    name, is_global = tree.name.lower(), tree.scope == "global"
    session, known = context.session, VARIABLES.get(tree.name.lower())
    if known is not None and known.scope in ("session", "global") and tree.scope not in ("", known.scope):
        raise sql_error(1238, name, known.scope.upper())
    if name in COMPUTED:
        setting = COMPUTED[name](session, context)
    else:
        setting = variable_text(settings_of(session.settings, is_global), name)
    if name == "timestamp":
        return Expression(fixed(Decimal(setting)), "decimal", scale=6, is_constant=True)
    if PLAIN_NUMBER.fullmatch(setting) and not is_text(name):
        return number_value(setting)
    return replace(text_value(setting), constant=None)
