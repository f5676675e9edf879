"""The result set of a query, as a client sees it."""

from __future__ import annotations

import pyarrow as pa

from simulator.tidb.expressions.operators.texts import as_blob
from simulator.tidb.expressions.sql.graph import Sql, sql, when
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.values.value import Value, as_text, real_text, with_shown_digits
from simulator.tidb.sql_engine.queries.evaluate import fetched_column
from simulator.tidb.sql_engine.queries.expression_problems import ExpressionProblems
from simulator.tidb.sql_engine.queries.scopes import QueryScope
from simulator.tidb.sql_engine.queries.selects import build_relation
from simulator.tidb.sql_engine.queries.statement_evaluation import StatementEvaluation
from simulator.tidb.sql_engine.storage.outcome import ResultSet
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.queries import QueryTree


def run_select(
    tree: QueryTree, upstream: Upstream, now_ms: int, problems: ExpressionProblems | None = None
) -> ResultSet:
    """Return the rows of a query. Raises SqlError."""
    evaluation = StatementEvaluation(upstream, now_ms, problems)
    relation = build_relation(tree, evaluation, QueryScope(evaluation))
    values = [field.read() for field in relation.fields]
    order = f" ORDER BY {', '.join(relation.order)}" if relation.order else ""
    wanted = {f"shown {place}": client_bytes(value) for place, value in enumerate(values)}
    result = evaluation.fetch(wanted or {"nothing": sql("1")}, relation.sql, order)
    rows = pa.table([fetched_column(result, column) for column in wanted], list(wanted))
    return ResultSet(tuple(field.name for field in relation.fields), rows, tuple(value.is_binary for value in values))


def client_bytes(value: Value) -> Sql:
    """Return a value as the server sends it to a client (tidb pkg/server/internal/column/column.go, DumpTextRow)."""
    if value.kind == "null":
        return sql("NULL::BLOB")
    if value.is_binary:
        return as_blob(value)
    if value.shown_scale is not None:
        return sql("encode({}::VARCHAR)", with_shown_digits(value).sql)
    if value.kind == "real" and (value.text is None or value.constant is not None):
        size = sql("abs({})", value.sql)
        usual = sql("{} = 0 OR {} >= 1e-15 AND {} < 1e15", size, size, size)
        other = python_call("shown_real", sql("{}::VARCHAR", value.sql))
        return sql("encode({})", when(usual, real_text(value.sql), other))
    return sql("encode({})", as_text(value))
