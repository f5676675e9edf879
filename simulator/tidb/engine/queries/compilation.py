"""Compiles the expressions and queries of a statement."""

from __future__ import annotations

from typing import Any

from simulator.tidb import syntax
from simulator.tidb.engine.queries.selects import build_query
from simulator.tidb.engine.queries.subqueries import compile_subquery
from simulator.tidb.engine.scopes.scope import QueryScope, StatementCompilation
from simulator.tidb.engine.scopes.sequences import compile_sequence
from simulator.tidb.engine.scopes.variables import compile_variable
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.session import Session
from simulator.tidb.engine.sessions.session_variables import variable_text
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import Expression
from simulator.tidb.storage.transactions import Transaction


def new_compilation(context: StatementContext) -> StatementCompilation:
    """Return what all parts of a statement are compiled with."""
    settings = context.session.settings
    return StatementCompilation(
        variable_text(settings, "collation_connection") or "utf8mb4_bin",
        "NO_UNSIGNED_SUBTRACTION" in settings.sql_mode,
        int(variable_text(settings, "div_precision_increment")),
        context=context,
        build_query=build_query,
        compile_tree=_compile_tree,
    )


def _compile_tree(tree: Any, scope: QueryScope, operand: syntax.Node | None) -> Expression | None:
    if isinstance(tree, syntax.Subquery | syntax.Exists | syntax.Quantified):
        return compile_subquery(tree, scope, operand)
    if isinstance(tree, syntax.Variable | syntax.AssignedVariable):
        return compile_variable(tree, scope)
    return compile_sequence(tree, scope) if isinstance(tree, syntax.SequenceCall) else None


def reading_context(session: Session, now_ms: int) -> StatementContext:
    """Return the context of a statement that only reads."""
    transaction = session.transaction or Transaction(session.database.locks, session.database.last_ts)
    return StatementContext(session, transaction, now_ms, transaction.start_ts)


def evaluate_alone(node: syntax.Node, context: StatementContext) -> tuple[Expression, Any]:
    """Return an expression without columns and its value. Raises SqlError."""
    compilation = new_compilation(context)
    value = compile_expression(node, QueryScope(compilation))
    for subquery in compilation.eager:
        subquery((), context)
    return value, value.evaluate((), context)
