"""Computation of stored generated columns that rows come without.

An expression that cannot be computed is an error only if there is a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SchemaError, SnapshotError, SqlError
from simulator.tidb.datums.columns import cast_column
from simulator.tidb.datums.kinds import Datum, datums_of, nulls, tagged_bodies
from simulator.tidb.datums.problems import Mode
from simulator.tidb.expressions.context import Context
from simulator.tidb.expressions.datums import datum_of
from simulator.tidb.expressions.over_columns import needed_columns, over_columns
from simulator.tidb.expressions.tables import generated_value
from simulator.tidb.model.table import Cells, Column, Table

STRICT = Mode(frozenset(("STRICT_TRANS_TABLES",)))
OUT_OF_RANGE = 1690


class GeneratedColumns(NamedTuple):
    """Computed columns by name, in three forms."""

    texts: dict[str, pa.Array]
    """TiDB texts; those of computed columns are null where the value is NULL, out of range, or rejected by strict mode."""

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
        names = {column.name for column in waiting}
        ready = [column for column in waiting if _needed_columns(column, table).isdisjoint(names)]
        assert ready, "TiDB takes no generated columns that name each other"
        for column in ready:
            values = _expression_values(column, table, result.texts, rows)
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


def _needed_columns(column: Column, table: Table) -> frozenset[str]:
    """Return the columns that a generated column depends on, directly or by virtual columns; none if it is invalid."""
    try:
        generated_value(table, column)
    except (SchemaError, SqlError):
        return frozenset()
    return needed_columns(table, [column.generated_expression])


def _expression_values(column: Column, table: Table, texts: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """Return the datums of a column's expression."""
    if not rows:
        return nulls(0)
    try:
        evaluate, context = datum_of(generated_value(table, column), column), Context()

        def datum(cells: Cells) -> Datum | None:
            try:
                value: Datum | None = evaluate(cells, context)
            except SqlError as error:
                if error.number != OUT_OF_RANGE:
                    raise
                return None
            return value

        return datums_of(over_columns(table, datum, _needed_columns(column, table), texts, rows))
    except (SchemaError, SqlError) as error:
        raise SnapshotError(
            f"table `{table.schema}`.`{table.name}`: the files leave out generated column {column.name!r} and "
            f"{column.generated_expression!r} cannot be computed here: {str(error).splitlines()[0]}"
        ) from None
