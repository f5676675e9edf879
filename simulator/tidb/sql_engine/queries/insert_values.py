"""The values of the rows of INSERT … VALUES."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from simulator.tidb.datums.kinds import Datum, cells_of, each
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
"""Expressions of VALUES that one query evaluates."""


class InputValues(NamedTuple):
    """The values that rows of VALUES give a column."""

    raw: pa.Array
    """Datums; null for NULL and where the statement says DEFAULT."""

    default: pa.Array | None
    """bool: in which rows it says DEFAULT; None if in none."""


def evaluate_rows(
    rows: Sequence[tuple[Node, ...]],
    columns: Sequence[Column],
    upstream: Upstream,
    now_ms: int,
    table: Table,
    problems: ExpressionProblems | None = None,
) -> tuple[InputValues, ...]:
    """The values of the rows of VALUES for these columns of the table, one `InputValues` for each column. Raises SqlError.

    What a TIMESTAMP is given is in the session's time zone.
    """
    found: list[list[Datum | None]] = [[None] * len(rows) for _ in columns]
    defaults: list[set[int]] = [set() for _ in columns]
    waiting: dict[tuple[int, Node, int], list[int]] = {}
    for place, row in enumerate(rows):
        for number, (node, column) in enumerate(zip(row, columns, strict=True)):
            if isinstance(node, DefaultValue) and node.column is None:
                defaults[number].add(place)
                continue
            try:
                found[number][place] = simple_values.literal_datum(node)
            except NotSimple:
                apart = place if any(names_in(node)) or _has_random(node) else -1
                waiting.setdefault((number, node, apart), []).append(place)
    asked = list(waiting)
    for start in range(0, len(asked), EXPRESSION_BATCH):
        batch = asked[start : start + EXPRESSION_BATCH]
        evaluation = StatementEvaluation(upstream, now_ms, problems)
        nodes = [
            node if apart < 0 else _resolve_in_row(node, rows[apart], number, columns, table, evaluation)
            for number, node, apart in batch
        ]
        values = evaluate(nodes, [columns[number] for number, _, _ in batch], upstream, now_ms, problems=problems)
        for (number, node, apart), value in zip(batch, values, strict=True):
            given = cells_of(value.slice(0, 1))[0]
            for place in waiting[number, node, apart]:
                found[number][place] = given
    return tuple(
        InputValues(each(cells), pa.array([place in known for place in range(len(rows))]) if known else None)
        for cells, known in zip(found, defaults, strict=True)
    )


def _has_random(node: Node) -> bool:
    """Whether each row has another value."""
    return any(isinstance(part, Call) and part.name in ("RAND", "UUID") for part in walk(node))


def _resolve_in_row(
    node: Node,
    row: Sequence[Node],
    number: int,
    columns: Sequence[Column],
    table: Table,
    evaluation: StatementEvaluation,
) -> Node:
    """An expression of VALUES where a name means what the row gives that column before it, else its default, and of one
    that is NOT NULL without a default the zero of its type (tidb pkg/executor/insert_common.go, setValueForRefColumn).
    """
    places = {column.name: place for place, column in enumerate(columns)}

    def read(column: Column, number: int) -> Value:
        place = places.get(column.name, number)
        if place < number and not isinstance(row[place], DefaultValue):
            return cast_to_column(translate(row[place], scope(place)), column)
        return _unset_value(column, evaluation)

    def scope(number: int) -> QueryScope:
        def fields(read: Callable[[Column], Value]) -> tuple[Field, ...]:
            return tuple(
                Field(column.name, partial(read, column), table.schema, table.name, column) for column in table.columns
            )

        return QueryScope(
            evaluation, fields(lambda column: read(column, number)), inserted=fields(lambda column: null())
        )

    return KnownValue(translate(node, scope(number)))


def _unset_value(column: Column, evaluation: StatementEvaluation) -> Value:
    """What a name means of a column that the row has not given yet."""
    now = clock.default_time_text(column, evaluation.upstream.session, evaluation.now_ms)
    if now is not None:
        return column_value(column, text_of(now))
    if column.default is not None:
        return default_value(column)
    needed = (column.not_null or column.auto_increment) and not column.generated
    return column_value(column, text_of(implicit_default(column.type))) if needed else null()
