"""Stored generated columns of rows that come without them.

One law: a column is computed once all that it names is there; an expression that cannot be computed is an error only
once a row needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from simulator.errors import SchemaError, SnapshotError
from simulator.expressions.casts import written
from simulator.expressions.evaluate import Uncomputable, evaluated
from simulator.expressions.reading import column_of, definition
from simulator.expressions.sql import Sql, name
from simulator.expressions.translate import Scope, valued
from simulator.schema.expression_tree import names_in
from simulator.schema.table import Column, Table


def generated(table: Table, texts: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """The texts with those of the stored generated columns that they lack.

    Virtual columns are computed on the way. Raises SnapshotError for what cannot be computed, if there is a row.
    """
    found = dict(texts)
    waiting = [column for column in table.columns if column.generated == "stored" and column.name not in texts]
    rows = len(next(iter(texts.values()))) if texts else 0
    while waiting:
        ready = [column for column in waiting if _needed(column, table).isdisjoint(one.name for one in waiting)]
        assert ready, "TiDB takes no generated columns that name each other"
        found |= _computed(ready, table, found, rows)
        waiting = [column for column in waiting if column not in ready]
    return found


def _needed(column: Column, table: Table) -> set[str]:
    """The columns that a generated column names, be it through virtual ones; none where it cannot be read."""
    try:
        tree = definition(column.generated_expression, table)
    except SchemaError:
        return set()
    needed = set()
    for named in names_in(tree):
        other = column_of(named, table)
        assert other is not None, "checked before"
        needed |= _needed(other, table) if other.generated == "virtual" else {other.name}
    return needed


def _computed(
        columns: list[Column], table: Table, texts: Mapping[str, pa.Array], rows: int) -> dict[str, pa.Array]:
    if not rows:
        return {column.name: pa.nulls(0, pa.string()) for column in columns}
    scope = Scope(table, {text: name(text) for text in texts})
    found: dict[str, pa.Array] = {}
    for column in columns:
        try:
            found |= evaluated({column.name: _text(column, scope)}, texts, rows)
        except (SchemaError, Uncomputable) as error:
            raise SnapshotError(
                f"table `{table.schema}`.`{table.name}`: the files leave out generated column {column.name!r} and "
                f"{column.generated_expression!r} cannot be computed here: {str(error).splitlines()[0]}") from None
    return found


def _text(column: Column, scope: Scope) -> Sql:
    return written(valued(definition(column.generated_expression, scope.table), scope), column)
