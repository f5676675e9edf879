"""Functions of a row over columns of cells: each distinct row is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import pyarrow as pa

from simulator.columns.cells import raw
from simulator.tidb.expressions.tables import places_of
from simulator.tidb.expressions.trees import find_column, parse_expression
from simulator.tidb.model.table import Cells, Table
from simulator.tidb.syntax.expressions import names_in

BATCH = 1 << 16
"""Rows that are Python objects at a time, and distinct rows whose results are known."""

Result = TypeVar("Result")


def needed_columns(table: Table, expressions: Iterable[str], names: Iterable[str] = ()) -> frozenset[str]:
    """Return the visible columns that expressions and columns depend on, directly or by virtual columns."""
    needed, waiting = set[str](), [*names]
    for expression in expressions:
        for named in names_in(parse_expression(expression)):
            column = find_column(named, table)
            assert column is not None, "checked before"
            waiting.append(column.name)
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
