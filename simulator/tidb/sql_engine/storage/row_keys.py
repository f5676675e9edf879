"""The keys under which TiKV stores a row: its handle, and the entries of its unique indexes.

Two rows conflict if one of their keys has equal bytes. A key that contains NULL conflicts with no other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places, binary, buffers, fixed, latin1, raw, surrogate_unescaped
from simulator.errors import SchemaError, SqlError
from simulator.tidb.collations.compare import sort_keys
from simulator.tidb.expressions.sql.evaluate import EvaluationError, evaluate
from simulator.tidb.expressions.sql.graph import identifier as named
from simulator.tidb.expressions.translate import TableScope, translate
from simulator.tidb.expressions.trees import definition_tree
from simulator.tidb.expressions.values.value import as_text
from simulator.tidb.keys import SIGN, encode_index_column
from simulator.tidb.model.table import Column, IndexColumn, Table, has_common_handle, row_id_column, visible_columns
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.syntax.expressions import ColumnName

ORDINAL_BYTES = 4
"""The size of the partition ordinal before the handle of a row."""

CACHED_TABLES = 1024
"""The number of tables whose computed properties are cached."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class UniqueKey:
    name: str
    """The key's name in errors: `PRIMARY`, or the name of the index."""

    columns: tuple[IndexColumn, ...]
    clustered: bool = False
    """Whether it is the handle."""


def cached_by_table(compute: Callable[[Table], Result]) -> Callable[[Table], Result]:
    """Cache a function of a table by the table's identity. Tables are immutable, and hashing one is slow."""
    cache: dict[int, tuple[Table, Result]] = {}

    @functools.wraps(compute)
    def cached(table: Table) -> Result:
        entry = cache.get(id(table))
        if entry is None or entry[0] is not table:
            if len(cache) >= CACHED_TABLES:
                cache.clear()
            entry = cache[id(table)] = table, compute(table)
        return entry[1]

    return cached


@cached_by_table
def unique_keys(table: Table) -> tuple[UniqueKey, ...]:
    """Return the unique keys in the order in which TiDB looks for duplicates: the handle, then unique indexes in their
    order (tidb pkg/executor/batch_checker.go, getKeysNeedCheckOneRow). Those of arrays have `array_keys`."""
    keys = []
    if table.clustered:
        primary = next((index for index in table.indexes if index.primary), None)
        columns = primary.columns if primary else tuple(IndexColumn(name) for name in table.primary_key)
        keys.append(UniqueKey("PRIMARY", columns, clustered=True))
    for index in table.indexes:
        if index.unique and not (index.primary and table.clustered) and not any(map(is_array, index.columns)):
            keys.append(UniqueKey("PRIMARY" if index.primary else index.name, index.columns))
    return tuple(keys)


def is_array(part: IndexColumn) -> bool:
    """Return whether a part of an index is `CAST(… AS … ARRAY)`."""
    return part.expression.rstrip(" )").upper().endswith(" ARRAY")


@cached_by_table
def columns_by_name(table: Table) -> Mapping[str, Column]:
    """Return the columns by their names in lower case."""
    return {column.name.lower(): column for column in table.columns}


@cached_by_table
def key_columns(table: Table) -> frozenset[str]:
    """Return the visible columns that determine a row's keys and partition; all columns if an expression does."""
    parts = [part for key in unique_keys(table) for part in key.columns]
    visible = frozenset(column.name for column in visible_columns(table))
    named = (
        frozenset()
        if any(part.expression for part in parts)
        else frozenset(columns_by_name(table)[part.name.lower()].name for part in parts)
    )
    expression = any(part.expression for part in parts) or table.partitioning is not None
    return visible if expression or not named <= visible else named


def encode_key(table: Table, key: UniqueKey, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return the bytes of a key for each row, null for a key with NULL. `texts` has all visible columns."""
    parts = [_encode_part(table, column, texts) for column in key.columns]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")


def _encode_part(table: Table, part: IndexColumn, texts: Mapping[str, pa.Array]) -> pa.Array:
    if part.expression:
        collation, cells = _expression_cells(table, part.expression, texts)
        return raw(cells) if collation is None else sort_keys(collation, cells)
    column = columns_by_name(table)[part.name.lower()]
    cells = column_cells(table, column, texts)
    return raw(encode_index_column(column.type, part.length, cells))


def column_cells(table: Table, column: Column, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return the TiDB text of a column; a virtual column is computed if `texts` lacks it."""
    if column.name in texts:
        return texts[column.name]
    return evaluate_in_table(table, texts, *_column_text(table, column.name))


def _expression_cells(table: Table, expression: str, texts: Mapping[str, pa.Array]) -> tuple[str | None, pa.Array]:
    """Return the collation (None unless it is a text) and the cells of an expression in an index."""
    value = translate(definition_tree(expression, table), table_scope(table))
    cells = evaluate_in_table(table, texts, as_text(value))
    return (value.collation or "binary") if value.kind == "string" else None, cells


@functools.lru_cache(1024)
def _column_text(table: Table, name: str) -> tuple[object]:
    return (as_text(translate(ColumnName((name,)), table_scope(table))),)


def table_scope(table: Table) -> TableScope:
    """Return the scope of expressions of a table's definition."""
    return TableScope(table, {column.name: named(column.name) for column in visible_columns(table)})


def evaluate_in_table(table: Table, texts: Mapping[str, pa.Array], expression: object) -> pa.Array:
    """Return the text of an expression for each row, whose SQL it is. Raises SqlError 1105."""
    rows = len(next(iter(texts.values())))
    try:
        return raw(evaluate({"key": expression}, texts, rows)["key"])  # type: ignore[dict-item]
    except (SchemaError, EvaluationError) as error:
        raise SqlError(1105, "HY000", f"table {table.name!r}: a key of it cannot be computed: {error}") from None


def encode_handles(
    table: Table, texts: Mapping[str, pa.Array], row_ids: pa.Array, ordinals: pa.Array | None
) -> pa.Array:
    """Return the TiKV keys of rows without their table prefix, in the sort order of TiKV.

    In a partitioned table the partition's ordinal comes first. `row_ids` is the `_tidb_rowid` of a table without a
    clustered key.
    """
    if table.clustered:
        handles = encode_key(table, unique_keys(table)[0], texts)
    else:
        handles = fixed((row_ids.to_numpy().view(np.uint64) ^ SIGN).astype(">u8"), row_ids)
    if ordinals is None:
        return handles
    return pc.binary_join_element_wise(fixed(ordinals.to_numpy().astype(">u4"), ordinals), handles, b"")


def row_ids_from_handles(table: Table, handles: pa.Array) -> pa.Array:
    """Return the int64 row ids of rows in a table with a clustered key, from handles without ordinals."""
    if has_common_handle(table):
        return pa.nulls(len(handles), pa.int64())
    name = row_id_column(table)
    assert name is not None, "tables without clustered keys number their rows"
    bits = buffers(handles)[0].view(">u8").astype(np.uint64)
    unsigned = columns_by_name(table)[name.lower()].type.unsigned
    return pa.array((bits if unsigned else bits ^ SIGN).view(np.int64))


def strip_ordinals(table: Table, handles: pa.Array) -> pa.Array:
    """Return handles without the partition ordinal before them."""
    if table.partitioning is None:
        return handles
    data, offsets = buffers(handles)
    shorter = np.delete(data, (offsets[:-1, None] + np.arange(ORDINAL_BYTES)).ravel())
    return binary(shorter, offsets - ORDINAL_BYTES * np.arange(len(offsets)), handles)


def partition_ordinals(table: Table, handles: pa.Array) -> pa.Array:
    """Return the int32 partition ordinals of handles; 0 for a table without partitions."""
    if table.partitioning is None:
        return pa.array(np.zeros(len(handles), np.int32))
    data, offsets = buffers(handles)
    heads = offsets[:-1, None] + np.arange(ORDINAL_BYTES)
    return pa.array(np.ascontiguousarray(data[heads]).view(">u4").ravel().astype(np.int32))


def find_keys(existing: pa.Array, keys: pa.Array) -> Places:
    """Return the position in `existing` of each of the keys (both binary), or -1. A null is at no position."""
    positions = np.full(len(keys), -1, np.int64)
    if not len(existing) or not len(keys):
        return positions
    if len(keys) == 1:
        if keys[0].is_valid:
            positions[0] = pc.index(existing, keys[0]).as_py()
        return positions
    if len(keys) * 8 < len(existing):
        near = np.flatnonzero(pc.is_in(existing, value_set=keys, skip_nulls=True))
        if not len(near):
            return positions
        inner = find_keys(existing.take(pa.array(near)), keys)
        hits = np.flatnonzero(inner >= 0)
        positions[hits] = near[inner[hits]]
        return positions
    indexes = pc.index_in(keys, value_set=existing, skip_nulls=True)
    return np.asarray(pc.fill_null(indexes, -1), np.int64)


def earlier_duplicates(keys: Sequence[pa.Array]) -> Places:
    """Return for each row the last earlier row with an equal key, or -1."""
    rows = len(keys[0]) if keys else 0
    duplicates = np.full(rows, -1, np.int64)
    if rows < 2:
        return duplicates
    for key in keys:
        codes = pc.fill_null(pc.dictionary_encode(key).indices, -1).to_numpy().astype(np.int64)
        order = np.argsort(codes, kind="stable")
        sorted_codes = codes[order]
        same = np.flatnonzero((sorted_codes[1:] == sorted_codes[:-1]) & (sorted_codes[1:] >= 0))
        duplicates[order[same + 1]] = np.maximum(duplicates[order[same + 1]], order[same])
    return duplicates


def duplicate_error(table: Table, key: UniqueKey, texts: Mapping[str, pa.Array], row: int) -> SqlError:
    """Return error 1062 for one row (tidb pkg/executor/batch_checker.go, formatDataForDupError: values joined by
    hyphens)."""
    values = (key_cells(table, part, texts)(row) for part in key.columns)
    return sql_error(1062, "-".join(values), f"{table.name}.{key.name}")


def key_cells(table: Table, part: IndexColumn, texts: Mapping[str, pa.Array]) -> Callable[[int], str]:
    """Return the function that returns the value of a row in a part of a key, as error 1062 shows it."""
    column = None if part.expression else columns_by_name(table)[part.name.lower()]
    cells = (
        _expression_cells(table, part.expression, texts)[1] if column is None else column_cells(table, column, texts)
    )

    def shown(row: int) -> str:
        cell = cells[row].as_py()
        if column is not None:
            one = cells.slice(row, 1)
            cell = (latin1 if is_binary(column.type) else surrogate_unescaped)(one)[0].as_py()
            cell = None if cell is None else _error_bytes(column.type, cell)
        return "NULL" if cell is None else cell.decode("utf-8", "replace")

    return shown


def _error_bytes(type: ColumnType, cell: bytes) -> bytes:
    r"""Return a cell as error 1062 prints it: all digits of a double, `\xNN` for bytes outside ASCII (tidb
    pkg/types/datum.go, ToString; pkg/kv/error.go, GenKeyExistsErr)."""
    if family(type) == "float":
        return f"{Decimal(cell.decode()):f}".encode()
    if family(type) == "bit":
        cell = int(cell).to_bytes((type.length + 7) // 8, "big")
    elif not is_binary(type):
        return cell
    return b"".join(b"%c" % byte if 32 <= byte < 127 else b"\\x%02X" % byte for byte in cell)
