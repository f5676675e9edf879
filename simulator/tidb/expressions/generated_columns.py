"""Computation of stored generated columns that rows come without.

An expression that cannot be computed is an error only if there is a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SchemaError, SnapshotError
from simulator.tidb.datums.columns import cast_column
from simulator.tidb.datums.kinds import datums, nulls, tagged_bodies
from simulator.tidb.datums.modes import Mode
from simulator.tidb.expressions.datums import datum_sql
from simulator.tidb.expressions.sql.evaluate import EvaluationError, evaluate
from simulator.tidb.expressions.sql.graph import identifier
from simulator.tidb.expressions.translate import TableScope, translate
from simulator.tidb.expressions.trees import definition_tree, find_column
from simulator.tidb.model.table import Column, Table
from simulator.tidb.syntax.expressions import names_in

STRICT = Mode(frozenset(("STRICT_TRANS_TABLES",)))


class GeneratedColumns(NamedTuple):
    """Computed columns by name, in three forms."""

    texts: dict[str, pa.Array]
    """TiDB texts; those of computed columns are null where the value is NULL or strict mode rejects it."""

    raw: dict[str, pa.Array]
    """Results of the expressions, as a file would have them."""

    given: dict[str, pa.Array]
    """Results of the expressions as datums."""


def compute_generated_columns(table: Table, texts: Mapping[str, pa.Array]) -> GeneratedColumns:
    """Return the texts, with those of missing stored generated columns added.

    Raises SnapshotError for an expression that cannot be computed, if there is a row.
    """
    result = GeneratedColumns(dict(texts), {}, {})
    waiting = [column for column in table.columns if column.generated == "stored" and column.name not in texts]
    rows = len(next(iter(texts.values()))) if texts else 0
    while waiting:
        names = [column.name for column in waiting]
        ready = [column for column in waiting if _needed_columns(column, table).isdisjoint(names)]
        assert ready, "TiDB takes no generated columns that name each other"
        scope = TableScope(table, {text: identifier(text) for text in result.texts})
        for column in ready:
            values = _expression_values(column, scope, result.texts, rows)
            result.given[column.name], result.raw[column.name] = values, tagged_bodies(column.type, values)
            result.texts[column.name] = _strict_texts(column, values)
        waiting = [column for column in waiting if column not in ready]
    return result


def _strict_texts(column: Column, values: pa.Array) -> pa.Array:
    """Return the TiDB texts of datums; null where strict mode rejects the value."""
    cast = cast_column(column, values, STRICT)
    is_rejected = np.zeros(len(values), np.bool_)
    is_rejected[[misfit.row for misfit in cast.misfits]] = True
    return pc.if_else(pa.array(is_rejected), None, cast.texts.cast(pa.string()))


def _needed_columns(column: Column, table: Table) -> set[str]:
    """Return the columns that a generated column depends on, directly or by virtual columns; none if it is invalid."""
    try:
        tree = definition_tree(column.generated_expression, table)
    except SchemaError:
        return set()
    needed = set()
    for named in names_in(tree):
        other = find_column(named, table)
        assert other is not None, "checked before"
        needed |= _needed_columns(other, table) if other.generated == "virtual" else {other.name}
    return needed


def _expression_values(column: Column, scope: TableScope, texts: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """Return the datums of a column's expression."""
    if not rows:
        return nulls(0)
    table, expression = scope.table, column.generated_expression
    try:
        value = datum_sql(translate(definition_tree(expression, table), scope), column)
        return datums(value.kind, evaluate({column.name: value.body}, texts, rows)[column.name])
    except (SchemaError, EvaluationError) as error:
        raise SnapshotError(
            f"table `{table.schema}`.`{table.name}`: the files leave out generated column {column.name!r} and "
            f"{expression!r} cannot be computed here: {str(error).splitlines()[0]}"
        ) from None
