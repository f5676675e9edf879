"""Multi-valued indexes: `(CAST(… AS SIGNED ARRAY))`, which have an entry for each value of a JSON array.

Each value has to be of the type. In a unique index no two rows have a value in common.

Sources: tidb v8.5 pkg/expression/builtin_cast.go castJSONAsArrayFunctionSig, convertJSON2Tp; pkg/table/tables/index.go
getIndexedValue; pkg/executor/insert_common.go completeError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from simulator.columns.cells import raw
from simulator.errors import SqlError
from simulator.tidb.expressions.translate import translate
from simulator.tidb.expressions.trees import definition_tree
from simulator.tidb.expressions.values.value import as_text
from simulator.tidb.model.table import Index, Table
from simulator.tidb.sql_engine.errors import not_simulated, sql_error
from simulator.tidb.sql_engine.storage.row_keys import (
    UniqueKey,
    cached_by_table,
    encode_key,
    evaluate_in_table,
    is_array,
    key_cells,
    table_scope,
)

ARRAY = re.compile(
    r"[\s(]*cast\((?P<operand>.*)\s+as\s+(?P<type>\w+)(?:\((?P<length>\d+)\))?\s+array\)[\s)]*", re.I | re.S
)
SIGNED_BOUNDS, UNSIGNED_BOUNDS = (-(1 << 63), (1 << 63) - 1), (0, (1 << 64) - 1)

Entry = tuple[bytes, str]
"""Bytes that are equal for equal values of a row's key, and the text of its value in error 1062."""


class ArrayDuplicateError(SqlError):
    """Error 1062 of a unique multi-valued index."""

    def __init__(self, value: str, key: str) -> None:
        error = sql_error(1062, value, key)
        super().__init__(error.number, error.state, error.text)


@dataclass(frozen=True)
class ArrayIndex:
    index: Index
    operand: str
    type: str
    length: int


@cached_by_table
def array_indexes(table: Table) -> tuple[ArrayIndex, ...]:
    """Return the multi-valued indexes."""
    found = []
    for index in table.indexes:
        for part in index.columns:
            if match := ARRAY.fullmatch(part.expression) if is_array(part) else None:
                found.append(ArrayIndex(index, match["operand"], match["type"].upper(), int(match["length"] or -1)))
    return tuple(found)


def check_values(table: Table, texts: Mapping[str, pa.Array]) -> None:
    """Raise SqlError 3903, 3752 or 3907 for a row whose values are not of an index's type."""
    for index in array_indexes(table):
        for _ in _values(index, table, texts):
            pass


def check_distinct(table: Table, texts: Mapping[str, pa.Array]) -> None:
    """Raise SqlError 1062 for the first row that has a value of a unique index in common with an earlier one."""
    for index in array_indexes(table):
        if not index.index.unique:
            continue
        owners: dict[bytes, int] = {}
        for row, entries in enumerate(_entries(index, table, texts)):
            for key, shown in entries:
                if owners.setdefault(key, row) != row:
                    raise ArrayDuplicateError(shown, f"{table.name}.{index.index.name}")


def _entries(index: ArrayIndex, table: Table, texts: Mapping[str, pa.Array]) -> Iterator[Sequence[Entry]]:
    """Yield the entries of each row; none for a NULL in its key, which conflicts with no other."""
    others = tuple(part for part in index.index.columns if not is_array(part))
    place = next(place for place, part in enumerate(index.index.columns) if is_array(part))
    rows = len(next(iter(texts.values())))
    keys = encode_key(table, UniqueKey(index.index.name, others), texts).to_pylist() if others else [b""] * rows
    shown = [key_cells(table, part, texts) for part in others]
    for row, values in enumerate(_values(index, table, texts)):
        if keys[row] is None or values is None:
            yield ()
            continue
        beside = [cells(row) for cells in shown]
        yield [
            (keys[row] + b"\0" + str(value).encode(), "-".join([*beside[:place], str(value), *beside[place:]]))
            for value in values
        ]


def _values(index: ArrayIndex, table: Table, texts: Mapping[str, pa.Array]) -> Iterator[Sequence[object] | None]:
    """Yield the values of each row in the index's type, or None for NULL. Raises SqlError."""
    document = translate(definition_tree(index.operand, table), table_scope(table))
    if document.kind != "json":
        raise not_simulated(f"index {index.index.name} of an array that is no JSON; accepted: one of a JSON column")
    for row, cell in enumerate(raw(evaluate_in_table(table, texts, as_text(document))).to_pylist()):
        if cell is None:
            yield None
            continue
        content = json.loads(cell)
        if isinstance(content, dict):
            raise sql_error(1235, "CAST-ing JSON OBJECT type to array")
        yield [_value(each, index, row) for each in (content if isinstance(content, list) else [content])]


def _value(content: object, index: ArrayIndex, row: int) -> object:
    name = index.index.name
    match index.type:
        case "SIGNED" | "UNSIGNED" if isinstance(content, int) and not isinstance(content, bool):
            low, high = UNSIGNED_BOUNDS if index.type == "UNSIGNED" else SIGNED_BOUNDS
            if not low <= content <= high:
                raise SqlError(3752, "HY000", f"Value is out of range for expression index '{name}' at row {row + 1}")
            return content
        case "DOUBLE" | "REAL" if isinstance(content, int | float) and not isinstance(content, bool):
            return float(content)
        case "CHAR" if isinstance(content, str):
            if len(content.rstrip(" ")) > index.length:
                raise SqlError(3907, "22001", f"Data too long for expression index '{name}'")
            return content[: index.length].rstrip(" ")
        case "SIGNED" | "UNSIGNED" | "DOUBLE" | "REAL" | "CHAR":
            raise SqlError(3903, "HY000", f"Invalid JSON value for CAST for expression index '{name}'")
    raise not_simulated(f"index {name} of {index.type} ARRAY; accepted: SIGNED, UNSIGNED, DOUBLE, CHAR")
