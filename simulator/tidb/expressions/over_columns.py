"""Expressions of a table's definition, for one row and over columns: generated columns, partitions, indexes, CHECKs.

They have been checked before (`expressions.trees.definition_tree`), and are compiled once for each definition. Over
columns each distinct row is computed once, and an expression that cannot be computed is an error only if there is a
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.errors import SchemaError, SnapshotError, SqlError
from simulator.tidb import syntax
from simulator.tidb.datums import STRICT_MODE, Datum, datums_of, nulls, tagged_bodies
from simulator.tidb.datums.cast import cast_column
from simulator.tidb.expressions.casts import cast_to_column, column_cell, datum_of
from simulator.tidb.expressions.compile import Compilation, compile_expression, compile_function
from simulator.tidb.expressions.expression import Context, Evaluate, Expression, place
from simulator.tidb.expressions.literals import column_value
from simulator.tidb.expressions.trees import FUNCTIONS, definition_tree, parse_expression
from simulator.tidb.model.table import Cells, Column, Table, cached_by_table, columns_by_name, places_of
from simulator.tidb.syntax.expressions import names_in

BATCH = 1 << 16
"""Rows that are Python objects at a time, and distinct rows whose results are known."""

Result = TypeVar("Result")


def needed_columns(table: Table, expressions: Iterable[str], names: Iterable[str] = ()) -> frozenset[str]:
    """Return the visible columns that expressions and columns depend on, directly or by virtual columns."""
    needed, waiting = set[str](), [*names]
    for expression in expressions:
        for named in names_in(parse_expression(expression)):
            waiting.append(columns_by_name(table)[named.parts[-1].lower()].name)
    for name in waiting:
        column = next(each for each in table.columns if each.name == name)
        if column.generated == "virtual":
            needed |= needed_columns(table, [column.generated_expression])
        else:
            needed.add(name)
    return frozenset(needed)


def over_columns(
    table: Table, compute: Callable[[Cells], Result], names: Iterable[str], texts: Mapping[str, pa.Array], rows: int
) -> list[Result]:
    """Return what a function of the rows of a table gives for each row. It depends on the columns `names` alone, whose
    TiDB texts are strings or binary; `texts` has those that are not NULL in all rows."""
    places = places_of(table)
    used = [name for name in names if name in texts]
    row: Cells = [None] * len(places)
    if not used:
        return [compute(row)] * rows if rows else []
    if len(used) == 1:
        return _over_column(compute, row, places[used[0]], raw(texts[used[0]]))
    numbers = [places[name] for name in used]
    results, known = list[Result](), dict[tuple[bytes | None, ...], Result]()
    for start in range(0, rows, BATCH):
        cells = [raw(texts[name].slice(start, BATCH)).to_pylist() for name in used]
        for values in zip(*cells, strict=True):
            if values not in known:
                for number, value in zip(numbers, values, strict=True):
                    row[number] = value
                known[values] = compute(row)
            results.append(known[values])
        if len(known) > BATCH:
            known.clear()
    return results


def _over_column(compute: Callable[[Cells], Result], row: Cells, place: int, cells: pa.Array) -> list[Result]:
    distinct = cells.dictionary_encode(null_encoding="encode")
    results = []
    for cell in distinct.dictionary.to_pylist():
        row[place] = cell
        results.append(compute(row))
    return [results[number] for number in distinct.indices.to_pylist()]


# -- stored generated columns ---------------------------------------------------------------------------------------------


OUT_OF_RANGE = 1690


class GeneratedColumns(NamedTuple):
    """Computed columns by name, in two forms."""

    texts: dict[str, pa.Array]
    """TiDB texts; those of computed columns are null where the value is NULL, out of range, or rejected by strict mode."""

    raw: dict[str, pa.Array]
    """Results of the expressions, as a file would have them."""


def compute_generated_columns(table: Table, texts: Mapping[str, pa.Array]) -> GeneratedColumns:
    """Return the texts, with those of missing stored generated columns added.

    Raises SnapshotError for an expression that cannot be computed, if there is a row.
    """
    result = GeneratedColumns(dict(texts), {})
    waiting = [column for column in table.columns if column.generated == "stored" and column.name not in texts]
    rows = len(next(iter(texts.values()))) if texts else 0
    while waiting:
        names = {column.name for column in waiting}
        ready = [column for column in waiting if _needed_columns(column, table).isdisjoint(names)]
        assert ready, "TiDB takes no generated columns that name each other"
        for column in ready:
            values = _expression_values(column, table, result.texts, rows)
            result.raw[column.name] = tagged_bodies(column.type, values)
            result.texts[column.name] = _strict_texts(column, values)
        waiting = [column for column in waiting if column not in ready]
    return result


def _strict_texts(column: Column, values: pa.Array) -> pa.Array:
    """Return the TiDB texts of datums; null where strict mode rejects the value."""
    cast = cast_column(column, values, STRICT_MODE)
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


class TableScope:
    """The columns of one table."""

    def __init__(self, table: Table) -> None:
        self.table, self.compilation = table, Compilation()
        self._places = places_of(table)

    def column(self, node: syntax.ColumnName) -> Expression:
        self.compilation.varying += 1
        return table_column(self.table, columns_by_name(self.table)[node.parts[-1].lower()])

    def call(self, node: syntax.Call) -> Expression:
        return compile_function(node, FUNCTIONS[node.name], self)

    def other(self, node: syntax.Node, operand: syntax.Node | None = None) -> Expression:
        raise AssertionError("checked before")


@cached_by_table
def _expressions(table: Table) -> dict[str, Expression]:
    return {}


def table_expression(table: Table, text: str) -> Expression:
    """Return an expression over the rows of a table. Raises SchemaError for one that cannot be computed, SqlError."""
    known = _expressions(table)
    if text not in known:
        known[text] = compile_expression(definition_tree(text, table), TableScope(table))
    return known[text]


def generated_value(table: Table, column: Column) -> Expression:
    """Return what a generated column's expression gives, before it is cast to the column."""
    return table_expression(table, column.generated_expression)


@cached_by_table
def _columns(table: Table) -> dict[str, Expression]:
    return {}


def table_column(table: Table, column: Column) -> Expression:
    """Return a column of a table's rows; a virtual generated column is computed."""
    known = _columns(table)
    if column.name not in known:
        number = places_of(table).get(column.name)
        if number is None:
            tree = parse_expression(column.generated_expression)
            known[column.name] = cast_to_column(compile_expression(tree, TableScope(table)), column)
        else:
            known[column.name] = column_value(column, place(number))
    return known[column.name]


def table_cell(table: Table, column: Column) -> Evaluate:
    """Return the cell of a column of a table's rows; that of a virtual generated column is computed."""
    number = places_of(table).get(column.name)
    return column_cell(generated_value(table, column), column) if number is None else place(number)
