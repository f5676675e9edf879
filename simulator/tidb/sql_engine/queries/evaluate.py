"""Expressions of statements, evaluated over rows that the statement has: new rows, stored rows, both side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

from simulator.tidb.datums.kinds import datums
from simulator.tidb.expressions.datums import DatumSql, datum_sql
from simulator.tidb.expressions.sql.graph import quote, sql
from simulator.tidb.expressions.translate import translate
from simulator.tidb.expressions.values.value import Value, as_text
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.queries import simple_values
from simulator.tidb.sql_engine.queries.expression_problems import ExpressionProblems
from simulator.tidb.sql_engine.queries.scopes import Field, QueryScope
from simulator.tidb.sql_engine.queries.simple_values import NotSimple
from simulator.tidb.sql_engine.queries.sources import table_fields
from simulator.tidb.sql_engine.queries.statement_evaluation import StatementEvaluation
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.dml import InsertedValue
from simulator.tidb.syntax.expressions import ColumnName, Node


class QueryColumn(NamedTuple):
    """What a column of given rows is called."""

    schema: str
    table: str
    called: str
    column: str
    """Of the rows' table."""


class RowSource(NamedTuple):
    """Rows that expressions name the columns of: equally long arrays of TiDB text by column name."""

    table: Table
    texts: Mapping[str, pa.Array]
    known: tuple[QueryColumn, ...] = ()
    """What the columns are called, where a query gave the rows; nothing else names them."""

    inserted: bool = False
    """Whether VALUES(column) means these rows; a plain name means them only where they have names of their own, or
    there is no other source."""


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
    """Raw values of expressions, each for the column that takes it (TiDB text for None), over the sources' rows side by
    side; `rows` counts where there is no source. Without `problems` they are met as in a SELECT. Raises SqlError."""
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
    numbers = [evaluation.number() for _ in sources] or [evaluation.number()]
    for number, rows_of in zip(numbers, sources, strict=False):
        evaluation.hand_over(rows_of.table, number, rows_of.texts, rows)
    if not sources:
        evaluation.hand_over(NO_TABLE, numbers[0], {}, rows)
    place = quote(f"{numbers[0]}.place")
    text = f"(SELECT * FROM {quote(f'rows {numbers[0]}')}"
    for number in numbers[1:]:
        text += f" JOIN {quote(f'rows {number}')} ON {place} = {quote(f'{number}.place')}"
    known = [
        table_fields(rows_of.table, rows_of.table.schema, rows_of.table.name, number, upstream.session)
        for rows_of, number in zip(sources, numbers, strict=False)
    ]
    inserted = [fields for rows_of, fields in zip(sources, known, strict=True) if rows_of.inserted]
    named = [
        _query_named_fields(rows_of, fields)
        for rows_of, fields in zip(sources, known, strict=True)
        if not rows_of.inserted or rows_of.known
    ]
    scope = QueryScope(
        evaluation, tuple(chain(*(named or inserted))), inserted=tuple(chain(*inserted)), row=sql(f"{place}::VARCHAR")
    )
    values = [datum_or_text(translate(node, scope), column) for node, column in zip(nodes, columns, strict=True)]
    if not values:
        return []
    wanted = {f"value {number}": value.body for number, value in enumerate(values)}
    found = evaluation.rows(wanted, f"{text})", f" ORDER BY {place}")
    return [as_datums(fetched_column(found, key), value) for key, value in zip(wanted, values, strict=True)]


def resolve_stored_column(table: Table, schema: str, alias: str, node: Node) -> Column:
    """The column of a table that a name means, whose cells are stored. Raises NotSimple."""
    if isinstance(node, ColumnName):
        *qualifier, name = (part.lower() for part in node.parts)
        if qualifier in ([], [alias.lower()]) or schema and qualifier == [schema.lower(), alias.lower()]:
            column = columns_by_name(table).get(name)
            if column is not None and column.generated != "virtual":
                return column
    raise NotSimple


def _resolve_source_column(sources: Sequence[RowSource], node: Node) -> tuple[RowSource, Column]:
    """The column of given rows that a name or VALUES(name) means. Raises NotSimple."""
    inserted = isinstance(node, InsertedValue)
    found = [rows for rows in sources if rows.inserted == inserted]
    if len(found) != 1 or any(rows.known for rows in sources):
        raise NotSimple
    table = found[0].table
    column = resolve_stored_column(
        table, table.schema, table.name, node.column if isinstance(node, InsertedValue) else node
    )
    if column.name not in found[0].texts:
        raise NotSimple
    return found[0], column


def _query_named_fields(rows: RowSource, fields: Sequence[Field]) -> tuple[Field, ...]:
    """The columns by the names that a query gives them."""
    if not rows.known:
        return tuple(fields)
    by_column = {field.name: field for field in fields}
    return tuple(
        replace(by_column[each.column], name=each.called, schema=each.schema, table=each.table) for each in rows.known
    )


def datum_or_text(value: Value, column: Column | None) -> DatumSql:
    """A datum for a column, else TiDB text as bytes."""
    if column is not None:
        return datum_sql(value, column)
    return DatumSql("", sql("NULL::BLOB") if value.kind == "null" else sql("encode({})", as_text(value)))


def as_datums(found: pa.Array, value: DatumSql) -> pa.Array:
    return datums(value.kind, found) if value.kind else found


def fetched_column(found: pa.Table, column: str) -> pa.Array:
    return found.column(column).combine_chunks()
