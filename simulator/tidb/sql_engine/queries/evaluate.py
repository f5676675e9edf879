"""Evaluates queries, and expressions over rows that a statement has at hand: new rows, stored rows, or both side by side.

Literals, columns, sums and CONCAT of a few rows are computed directly (`simple_values.py`); DuckDB evaluates
everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

from simulator.tidb.datums.kinds import datums
from simulator.tidb.expressions.datums import DatumSql, datum_sql
from simulator.tidb.expressions.operators.texts import as_blob
from simulator.tidb.expressions.sql.graph import Sql, quote, sql, when
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.translate import translate
from simulator.tidb.expressions.values.value import Value, as_text, real_text, with_shown_digits
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.queries import simple_values
from simulator.tidb.sql_engine.queries.literals import NotSimple
from simulator.tidb.sql_engine.queries.scopes import Field, QueryScope, result_column
from simulator.tidb.sql_engine.queries.selects import build_relation
from simulator.tidb.sql_engine.queries.simple_queries import resolve_stored_column, select_simply
from simulator.tidb.sql_engine.queries.sources import table_fields
from simulator.tidb.sql_engine.queries.statement_evaluation import ExpressionProblems, StatementEvaluation
from simulator.tidb.sql_engine.result_columns import ResultColumn
from simulator.tidb.sql_engine.storage.state import ResultSet, Upstream
from simulator.tidb.syntax.dml import InsertedValue
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import QueryTree


class QueryColumn(NamedTuple):
    """A column of rows under the name that a query gives it."""

    schema: str
    table: str
    name: str
    column: str
    """The column of the rows' table."""


class RowSource(NamedTuple):
    """Rows whose columns an expression may name: arrays of TiDB text of equal length, by column name."""

    table: Table
    texts: Mapping[str, pa.Array]
    query_columns: tuple[QueryColumn, ...] = ()
    """The names of the columns if a query provides the rows. They have no other names then."""

    inserted: bool = False
    """Whether VALUES(column) means these rows. A plain name means them only if a query names them, or if there is no
    other source."""


NO_TABLE = Table("", "", ())


def evaluate(
    nodes: Sequence[Node],
    columns: Sequence[Column | None],
    upstream: Upstream,
    now_ms: int,
    sources: Sequence[RowSource] = (),
    rows: int = 1,
    problems: ExpressionProblems | None = None,
) -> list[pa.Array]:
    """Return the raw values of expressions, each for the column that takes it (TiDB text for None).

    The sources' rows stand side by side; without sources there are `rows` rows. Without `problems` they are handled as
    in a SELECT. Raises SqlError.
    """
    if sources:
        rows = len(next(iter(sources[0].texts.values()))) if sources[0].texts else rows

    def find(node: Node) -> tuple[RowSource, Column]:
        return _resolve_source_column(sources, node)

    def read_cells(node: Node) -> pa.Array:
        source, column = find(node)
        return source.texts[column.name]

    try:
        return simple_values.simple_columns(nodes, columns, lambda node: find(node)[1], read_cells, rows)
    except NotSimple:
        pass
    evaluation = StatementEvaluation(upstream, now_ms, problems)
    numbers = [evaluation.next_number() for _ in sources] or [evaluation.next_number()]
    for number, source in zip(numbers, sources, strict=False):
        evaluation.add_rows(source.table, number, source.texts, rows)
    if not sources:
        evaluation.add_rows(NO_TABLE, numbers[0], {}, rows)
    place = quote(f"{numbers[0]}.place")
    text = f"(SELECT * FROM {quote(f'rows {numbers[0]}')}"
    for number in numbers[1:]:
        text += f" JOIN {quote(f'rows {number}')} ON {place} = {quote(f'{number}.place')}"
    source_fields = [
        table_fields(source.table, source.table.schema, source.table.name, number, upstream.session)
        for source, number in zip(sources, numbers, strict=False)
    ]
    inserted = [fields for source, fields in zip(sources, source_fields, strict=True) if source.inserted]
    named = [
        _query_named_fields(source, fields)
        for source, fields in zip(sources, source_fields, strict=True)
        if not source.inserted or source.query_columns
    ]
    scope = QueryScope(
        evaluation, tuple(chain(*(named or inserted))), inserted=tuple(chain(*inserted)), row=sql(f"{place}::VARCHAR")
    )
    values = [datum_or_text(translate(node, scope), column) for node, column in zip(nodes, columns, strict=True)]
    if not values:
        return []
    parts = {f"value {number}": value.body for number, value in enumerate(values)}
    result = evaluation.fetch(parts, f"{text})", f" ORDER BY {place}")
    return [as_datums(fetched_column(result, key), value) for key, value in zip(parts, values, strict=True)]


def _resolve_source_column(sources: Sequence[RowSource], node: Node) -> tuple[RowSource, Column]:
    """Return the column of given rows that a name or VALUES(name) means. Raises NotSimple."""
    inserted = isinstance(node, InsertedValue)
    candidates = [rows for rows in sources if rows.inserted == inserted]
    if len(candidates) != 1 or any(rows.query_columns for rows in sources):
        raise NotSimple
    table = candidates[0].table
    column = resolve_stored_column(
        table, table.schema, table.name, node.column if isinstance(node, InsertedValue) else node
    )
    if column.name not in candidates[0].texts:
        raise NotSimple
    return candidates[0], column


def _query_named_fields(rows: RowSource, fields: Sequence[Field]) -> tuple[Field, ...]:
    """Return the fields under the names that a query gives them."""
    if not rows.query_columns:
        return tuple(fields)
    by_column = {field.name: field for field in fields}
    return tuple(
        replace(by_column[each.column], name=each.name, schema=each.schema, table=each.table)
        for each in rows.query_columns
    )


def datum_or_text(value: Value, column: Column | None) -> DatumSql:
    """Return a datum for a column, or TiDB text as bytes without one."""
    if column is not None:
        return datum_sql(value, column)
    return DatumSql("", sql("NULL::BLOB") if value.kind == "null" else sql("encode({})", as_text(value)))


def as_datums(cells: pa.Array, value: DatumSql) -> pa.Array:
    return datums(value.kind, cells) if value.kind else cells


def fetched_column(table: pa.Table, column: str) -> pa.Array:
    return table.column(column).combine_chunks()


def run_select(
    tree: QueryTree, upstream: Upstream, now_ms: int, problems: ExpressionProblems | None = None
) -> ResultSet:
    """Return the rows of a query. Raises SqlError."""
    try:
        return select_simply(tree, upstream)
    except NotSimple:
        pass
    evaluation = StatementEvaluation(upstream, now_ms, problems)
    relation = build_relation(tree, evaluation, QueryScope(evaluation))
    values = [field.read() for field in relation.fields]
    order = f" ORDER BY {', '.join(relation.order)}" if relation.order else ""
    columns = {f"shown {place}": client_bytes(value) for place, value in enumerate(values)}
    result = evaluation.fetch(columns or {"nothing": sql("1")}, relation.sql, order)
    rows = pa.table([fetched_column(result, column) for column in columns], list(columns))
    return ResultSet(tuple(map(result_column, relation.fields)), rows)


def query_columns(tree: QueryTree, upstream: Upstream, now_ms: int) -> tuple[ResultColumn, ...]:
    """Return the columns of a query's result. Raises SqlError."""
    evaluation = StatementEvaluation(upstream, now_ms)
    return tuple(map(result_column, build_relation(tree, evaluation, QueryScope(evaluation)).fields))


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
