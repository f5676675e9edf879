"""The rows of an INSERT: those of its VALUES, or of its SELECT with the names that ON DUPLICATE KEY UPDATE may use.

These names are columns of the table, the names of the query's columns, and for a plain SELECT columns of its sources
(tidb pkg/planner/core/planbuilder.go, buildSelectPlanOfInsert).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from simulator.errors import SqlError
from simulator.tidb.datums.kinds import Datum, datum_list
from simulator.tidb.ddl.definitions.defaults import implicit_value
from simulator.tidb.expressions.operators.casts import cast_to_column
from simulator.tidb.expressions.sql.graph import text as text_of
from simulator.tidb.expressions.translate import KnownValue, translate
from simulator.tidb.expressions.trees import strip_parentheses, walk
from simulator.tidb.expressions.values.literals import column_value
from simulator.tidb.expressions.values.value import Value, null
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.evaluate import QueryColumn, evaluate
from simulator.tidb.sql_engine.queries.literals import NotSimple, literal_datum
from simulator.tidb.sql_engine.queries.match_rows import match_rows
from simulator.tidb.sql_engine.queries.scopes import Field, QueryScope, default_value, stored_type
from simulator.tidb.sql_engine.queries.selects import add_common_tables, build_from, build_relation, contains_aggregate
from simulator.tidb.sql_engine.queries.statement_evaluation import ExpressionProblems, StatementEvaluation
from simulator.tidb.sql_engine.sessions import clock
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.dml import DefaultValue
from simulator.tidb.syntax.expressions import Call, ColumnName, Node, names_in
from simulator.tidb.syntax.queries import DerivedTable, QueryTree, SelectItem, SelectTree, Star, WithTree

EXPRESSION_BATCH = 256
"""The number of expressions that one query evaluates."""


def evaluate_rows(
    rows: Sequence[tuple[Node, ...]],
    columns: Sequence[Column],
    upstream: Upstream,
    now_ms: int,
    table: Table,
    problems: ExpressionProblems | None = None,
) -> tuple[dict[str, list[Datum | None]], dict[str, pa.Array]]:
    """Return the values of VALUES for these columns of the table, by column, and which rows of a column have DEFAULT.

    Values are datums, null for NULL and for DEFAULT. A column without DEFAULT has no entry in the second (bool). A value of a TIMESTAMP is in the session's time zone. Raises SqlError.
    """
    datums_by_column: list[list[Datum | None]] = [[None] * len(rows) for _ in columns]
    defaults: list[set[int]] = [set() for _ in columns]
    waiting: dict[tuple[int, Node | int, int], tuple[Node, list[int]]] = {}
    for place, row in enumerate(rows):
        for number, (node, _column) in enumerate(zip(row, columns, strict=True)):
            if isinstance(node, DefaultValue) and node.column is None:
                defaults[number].add(place)
                continue
            try:
                datums_by_column[number][place] = literal_datum(node)
            except NotSimple:
                own_row = place if any(names_in(node)) or _has_random(node) else -1
                waiting.setdefault((number, _key(node), own_row), (node, []))[1].append(place)
    expressions = [(number, node, own_row, places) for (number, _, own_row), (node, places) in waiting.items()]
    for start in range(0, len(expressions), EXPRESSION_BATCH):
        batch = expressions[start : start + EXPRESSION_BATCH]
        evaluation = StatementEvaluation(upstream, now_ms, problems)
        nodes = [
            node if own_row < 0 else _resolve_in_row(node, rows[own_row], number, columns, table, evaluation)
            for number, node, own_row, _ in batch
        ]
        values = evaluate(nodes, [columns[number] for number, *_ in batch], upstream, now_ms, problems=problems)
        for (number, _, _, places), value in zip(batch, values, strict=True):
            datum = datum_list(value.slice(0, 1))[0]
            for place in places:
                datums_by_column[number][place] = datum
    names = [column.name for column in columns]
    default_rows = {
        name: pa.array([place in places for place in range(len(rows))])
        for name, places in zip(names, defaults, strict=True)
        if places
    }
    return dict(zip(names, datums_by_column, strict=True)), default_rows


def _key(node: Node) -> Node | int:
    """Return what equal expressions share; nothing is shared by one that nests too deeply for `hash`, which calls itself
    through C (500 levels in Python 3.12.1)."""
    try:
        hash(node)
    except RecursionError:
        return id(node)
    return node


def _has_random(node: Node) -> bool:
    """Return whether the expression has another value in each row."""
    return any(isinstance(part, Call) and part.name in ("RAND", "UUID") for part in walk(node))


def _resolve_in_row(
    node: Node,
    row: Sequence[Node],
    number: int,
    columns: Sequence[Column],
    table: Table,
    evaluation: StatementEvaluation,
) -> Node:
    """Return an expression of VALUES with its column names resolved.

    A name means the value that the row has for that column before the expression, else its default, and without a
    default the zero of the type of a NOT NULL column (tidb pkg/executor/insert_common.go, setValueForRefColumn).
    """
    places = {column.name: place for place, column in enumerate(columns)}

    def read(column: Column, number: int) -> Value:
        place = places.get(column.name, number)
        if place < number and not isinstance(row[place], DefaultValue):
            return cast_to_column(translate(row[place], scope(place)), column)
        return _value_before_assignment(column, evaluation)

    def scope(number: int) -> QueryScope:
        def fields(read: Callable[[Column], Value]) -> tuple[Field, ...]:
            return tuple(
                Field(column.name, partial(read, column), table.schema, table.name, column) for column in table.columns
            )

        return QueryScope(
            evaluation, fields(lambda column: read(column, number)), inserted=fields(lambda column: null())
        )

    return KnownValue(translate(node, scope(number)))


def _value_before_assignment(column: Column, evaluation: StatementEvaluation) -> Value:
    """Return the value of a column that the row has not set yet."""
    now = clock.default_time_text(column, evaluation.upstream.session, evaluation.now_ms)
    if now is not None:
        return column_value(column, text_of(now))
    if column.default is not None:
        return default_value(column)
    needed = (column.not_null or column.auto_increment) and not column.generated
    return column_value(column, text_of(implicit_value(column.type))) if needed else null()


class SelectedRows(NamedTuple):
    """The rows that a query provides."""

    values: Mapping[str, pa.Array]
    """Raw values by target column."""

    rows: int
    query_columns: tuple[QueryColumn, ...] = ()
    """The names of the query's columns."""

    extra: Table | None = None
    """Columns that only ON DUPLICATE KEY UPDATE names."""

    texts: Mapping[str, pa.Array] = {}
    """The cells of the extra columns."""

    extra_columns: tuple[QueryColumn, ...] = ()
    """The names of the extra columns."""


def select_rows(
    query: QueryTree,
    columns: Sequence[Column],
    updates: Sequence[Node],
    table: Table,
    upstream: Upstream,
    now_ms: int,
    problems: ExpressionProblems,
) -> SelectedRows:
    """Return the rows of a query for columns of a table. Raises SqlError 1136 for another number of columns."""
    fields = _query_fields(query, upstream, now_ms) if updates else []
    if updates and len(fields) != len(columns):
        raise sql_error(1136, 1)
    extra = list(_extra_columns(query, updates, table))
    query = _with_extra_columns(query, extra)
    names = [f"column {place}" for place in range(len(columns))] + [f"extra {place}" for place in range(len(extra))]
    expressions: dict[str, Node] = {name: ColumnName((name,)) for name in names}
    source = DerivedTable(query, "selected rows", tuple(names))
    try:
        targets = dict(zip(names, columns, strict=False))
        matches = match_rows(source, None, (), None, upstream, now_ms, expressions, targets, problems=problems)
    except SqlError as error:
        raise sql_error(1136, 1) if error.number == 1353 else error from None
    values = {column.name: matches.values[name] for name, column in zip(names, columns, strict=False)}
    rows = len(next(iter(matches.values.values())))
    query_columns = tuple(
        QueryColumn(field.schema, field.table, field.name, column.name)
        for field, column in zip(fields, columns, strict=False)
    )
    if not extra:
        return SelectedRows(values, rows, query_columns)
    others = _query_fields(query, upstream, now_ms)[len(columns) :]
    extra_table = Table(
        "",
        "",
        tuple(Column(name, stored_type(field)) for name, field in zip(names[len(columns) :], others, strict=True)),
    )
    texts = {column.name: matches.values[column.name] for column in extra_table.columns}
    extra_columns = tuple(
        QueryColumn(field.schema, field.table, field.name, column.name)
        for field, column in zip(others, extra_table.columns, strict=True)
    )
    return SelectedRows(values, rows, query_columns, extra_table, texts, extra_columns)


def _query_fields(query: QueryTree, upstream: Upstream, now_ms: int) -> list[Field]:
    """Return the columns of a query; a column of a source has its table."""
    evaluation = StatementEvaluation(upstream, now_ms)
    around = QueryScope(evaluation)
    fields = list(build_relation(query, evaluation, around).fields)
    while isinstance(query, WithTree):
        around, query = add_common_tables(query, around), query.query
    if not isinstance(query, SelectTree) or query.source is None:
        return fields
    sources = build_from(query.source, evaluation, around).fields
    scope = QueryScope(evaluation, sources, common=around.common)
    origins: list[Field | None] = []
    for item in query.items:
        if isinstance(item, Star):
            origins += [
                each
                for each in sources
                if each.shown and (item.table is None or each.table.lower() == item.table.name.lower())
            ]
        else:
            node = strip_parentheses(item.expression)
            origins.append(scope.find(node) if isinstance(node, ColumnName) else None)
    return [
        field if origin is None else replace(field, schema=origin.schema, table=origin.table, column=origin.column)
        for field, origin in zip(fields, origins, strict=True)
    ]


def _extra_columns(query: QueryTree, updates: Iterable[Node], table: Table) -> Iterator[ColumnName]:
    """Yield the names that are neither a column of the table nor of the query, for a SELECT without aggregates and
    stars."""
    while isinstance(query, WithTree):
        query = query.query
    if not isinstance(query, SelectTree) or query.group_by:
        return
    if any(isinstance(item, Star) or contains_aggregate(item.expression) for item in query.items):
        return
    expressions = [item.expression for item in query.items if isinstance(item, SelectItem)]
    columns = [node.parts for node in map(strip_parentheses, expressions) if isinstance(node, ColumnName)]
    for node in dict.fromkeys(name for update in updates for name in names_in(update)):
        *qualifier, name = (part.lower() for part in node.parts)
        own = name in columns_by_name(table) and qualifier in (
            [],
            [table.name.lower()],
            [table.schema.lower(), table.name.lower()],
        )
        if not own and not any(_same_column(node.parts, parts) for parts in columns):
            yield node


def _same_column(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names agree in the parts that both have."""
    return all(mine.lower() == theirs.lower() for mine, theirs in zip(reversed(one), reversed(other)))


def _with_extra_columns(query: QueryTree, names: Sequence[ColumnName]) -> QueryTree:
    if isinstance(query, WithTree):
        return replace(query, query=_with_extra_columns(query.query, names))
    if not isinstance(query, SelectTree) or not names:
        return query
    return replace(query, items=(*query.items, *(SelectItem(node, node.parts[-1]) for node in names)))
