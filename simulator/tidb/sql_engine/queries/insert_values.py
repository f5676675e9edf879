"""The values of INSERT … VALUES."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from simulator.tidb.datums.kinds import Datum, datum_list, datums_of
from simulator.tidb.ddl.columns.definitions import implicit_default
from simulator.tidb.expressions.operators.casts import cast_to_column
from simulator.tidb.expressions.sql.graph import text as text_of
from simulator.tidb.expressions.translate import KnownValue, translate
from simulator.tidb.expressions.trees import walk
from simulator.tidb.expressions.values.literals import column_value
from simulator.tidb.expressions.values.value import Value, null
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.queries import simple_values
from simulator.tidb.sql_engine.queries.evaluate import evaluate
from simulator.tidb.sql_engine.queries.expression_problems import ExpressionProblems
from simulator.tidb.sql_engine.queries.scopes import Field, QueryScope, default_value
from simulator.tidb.sql_engine.queries.simple_values import NotSimple
from simulator.tidb.sql_engine.queries.statement_evaluation import StatementEvaluation
from simulator.tidb.sql_engine.sessions import clock
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.dml import DefaultValue
from simulator.tidb.syntax.expressions import Call, Node, names_in

EXPRESSION_BATCH = 256
"""The number of expressions that one query evaluates."""


class InputValues(NamedTuple):
    """The values that the rows of VALUES have for a column."""

    raw: pa.Array
    """Datums; null for NULL and for DEFAULT."""

    default: pa.Array | None
    """bool: the rows that have DEFAULT; None if there are none."""


def evaluate_rows(
    rows: Sequence[tuple[Node, ...]],
    columns: Sequence[Column],
    upstream: Upstream,
    now_ms: int,
    table: Table,
    problems: ExpressionProblems | None = None,
) -> tuple[InputValues, ...]:
    """Return the values of VALUES for these columns of the table, one `InputValues` for each column.

    A value of a TIMESTAMP is in the session's time zone. Raises SqlError.
    """
    datums_by_column: list[list[Datum | None]] = [[None] * len(rows) for _ in columns]
    defaults: list[set[int]] = [set() for _ in columns]
    waiting: dict[tuple[int, Node, int], list[int]] = {}
    for place, row in enumerate(rows):
        for number, (node, _column) in enumerate(zip(row, columns, strict=True)):
            if isinstance(node, DefaultValue) and node.column is None:
                defaults[number].add(place)
                continue
            try:
                datums_by_column[number][place] = simple_values.literal_datum(node)
            except NotSimple:
                own_row = place if any(names_in(node)) or _has_random(node) else -1
                waiting.setdefault((number, node, own_row), []).append(place)
    expressions = list(waiting)
    for start in range(0, len(expressions), EXPRESSION_BATCH):
        batch = expressions[start : start + EXPRESSION_BATCH]
        evaluation = StatementEvaluation(upstream, now_ms, problems)
        nodes = [
            node if own_row < 0 else _resolve_in_row(node, rows[own_row], number, columns, table, evaluation)
            for number, node, own_row in batch
        ]
        values = evaluate(nodes, [columns[number] for number, _, _ in batch], upstream, now_ms, problems=problems)
        for (number, node, own_row), value in zip(batch, values, strict=True):
            datum = datum_list(value.slice(0, 1))[0]
            for place in waiting[number, node, own_row]:
                datums_by_column[number][place] = datum
    return tuple(
        InputValues(
            datums_of(cells),
            pa.array([place in default_places for place in range(len(rows))]) if default_places else None,
        )
        for cells, default_places in zip(datums_by_column, defaults, strict=True)
    )


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
    return column_value(column, text_of(implicit_default(column.type))) if needed else null()
