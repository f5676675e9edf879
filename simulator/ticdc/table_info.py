"""Properties of a table that the protocols use: handle key, flag bits, primary key; the handles of its rows, and row ids.

A handle is the handle key as bytes that sort and compare as TiDB's keys do: keys that are equal in TiDB give equal bytes,
others give different ones, and smaller keys give smaller bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from itertools import takewhile
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Places, Texts, buffers, fixed
from simulator.columns.hashing import Hashes, xxhash64
from simulator.releases import Release
from simulator.tidb.collations import is_exact
from simulator.tidb.keys import SIGN, encode_index_column
from simulator.tidb.model.table import Column, Index, Table, has_common_handle, row_id_column, visible_columns
from simulator.tidb.model.types import BIGINT, family, is_unsigned

BINARY, HANDLE_KEY, GENERATED, PRIMARY_KEY, UNIQUE_KEY, MULTIPLE_KEY, NULLABLE, UNSIGNED, ZEROFILL = (
    1 << n for n in range(9)
)
"""Open Protocol's flag bits (tiflow 4.0.5+: cdc/model/sink.go)."""

FLAG_NAMES = {
    BINARY: "binary",
    HANDLE_KEY: "handle key",
    GENERATED: "generated",
    PRIMARY_KEY: "primary key",
    UNIQUE_KEY: "unique key",
    MULTIPLE_KEY: "multiple key",
    NULLABLE: "nullable",
    UNSIGNED: "unsigned",
    ZEROFILL: "zerofill",
}


def flag_names(bits: int) -> tuple[str, ...]:
    """Return the names of the flags that are set."""
    return tuple(name for bit, name in FLAG_NAMES.items() if bits & bit)


def handle_key(table: Table) -> tuple[str, ...]:
    """Return the columns that identify a row, in key order; an empty tuple if no key does.

    It is the primary key, or the unique key without a nullable or virtual column that has the fewest columns, then the
    lowest id (tiflow: cdc/model/schema_storage.go, findHandleIndex). `handle_columns` has the columns that a release
    marks.
    """
    if table.primary_key:
        return table.primary_key
    index = handle_index(table)
    return tuple(column.name for column in index.columns) if index else ()


def handle_index(table: Table) -> Index | None:
    """Return the index that identifies a row; None if the clustered integer primary key does, or nothing."""
    for index in table.indexes:
        if index.primary:
            return index
    if table.primary_key:
        return None
    return _best_unique(table.indexes, visible_columns(table))


def other_unique_indexes(table: Table) -> Iterator[Index]:
    """Yield the unique keys but the one that identifies a row, whose value is the row's own."""
    handle = handle_index(table)
    yield from (index for index in table.indexes if index.unique and index != handle)


def handle_lengths(table: Table) -> tuple[int, ...]:
    """Return the prefix length in characters of each column of the handle key, in key order; -1 for whole columns."""
    index = handle_index(table)
    lengths = {column.name: column.length for column in index.columns} if index else {}
    return tuple(lengths.get(name, -1) for name in handle_key(table))


def _best_unique(indexes: Sequence[Index], columns: Sequence[Column]) -> Index | None:
    """Return the smallest unique index whose columns are all among `columns` and NOT NULL."""
    certain = {column.name for column in columns if column.not_null}
    unique = (index for index in indexes if index.unique)
    candidates = [index for index in unique if all(column.name in certain for column in index.columns)]
    return min(candidates, key=lambda index: (len(index.columns), index.id), default=None)


def handle_columns(table: Table, release: Release) -> frozenset[str]:
    """Return the columns that the release treats as the handle key: those with `h`, and those of a handle-key-only row.

    Virtual columns may be among them; no message has values of these.
    """
    names = set(handle_key(table))
    if not table.primary_key and release.handle_may_be_virtual:
        best = _best_unique(table.indexes, table.columns)
        names = {column.name for column in best.columns} if best else set()
    if table.primary_key and not table.clustered and release.handle_joins_unique:
        before = takewhile(lambda index: not index.primary, table.indexes)
        best = _best_unique(tuple(before), visible_columns(table))
        names |= {column.name for column in best.columns} if best else set()
    return frozenset(names)


def unique_not_null_columns(table: Table) -> frozenset[str]:
    """Return the columns of every unique key that cannot be NULL, including the primary key."""
    certain = {column.name for column in table.columns if column.not_null}
    unique = [{column.name for column in index.columns} for index in table.indexes if index.unique or index.primary]
    return frozenset(table.primary_key).union(*(names for names in unique if names <= certain))


def flags(table: Table, release: Release) -> dict[str, int]:
    """Return Open Protocol's `"f"` of every column, including virtual ones, by name.

    Source: tiflow: cdc/model/schema_storage.go, initColumnsFlag.
    """
    bits = {column.name: column_bits(column, release) for column in table.columns}
    row_id = row_id_column(table)
    for name in table.primary_key:
        bits[name] |= PRIMARY_KEY | (HANDLE_KEY if name == row_id else 0)
    generated = frozenset(column.name for column in table.columns if column.generated)
    excluded = frozenset() if release.generated_get_key_bits else generated
    in_handle_key = handle_columns(table, release)
    for index in table.indexes:
        add_index_bits(bits, index, in_handle_key, excluded, release)
    return bits


def column_bits(column: Column, release: Release) -> int:
    """Return the bits that do not come from an index."""
    zerofill = column.type.zerofill or column.type.name == "year"
    return (
        BINARY * (column.type.charset == "binary")
        | GENERATED * bool(column.generated)
        | NULLABLE * (not column.not_null)
        | UNSIGNED * is_unsigned(column.type)
        | ZEROFILL * (zerofill and release.zerofill_bit)
    )


def add_index_bits(
    bits: dict[str, int], index: Index, in_handle_key: frozenset[str], excluded: frozenset[str], release: Release
) -> None:
    """Add the bits that an index gives its columns; hidden columns of a functional index are not in `bits`.

    Columns of the handle key are `in_handle_key`. Columns in `excluded` get the bits of TiDB's own flags.
    """
    shared = MULTIPLE_KEY * (len(index.columns) > 1) | PRIMARY_KEY * index.primary
    shared |= UNIQUE_KEY * (index.unique and (not index.primary or release.primary_is_unique))
    for place, column in enumerate(index.columns):
        if column.name in excluded:
            bits[column.name] |= _tidb_index_bits(index, place)
        elif column.name in bits:
            bits[column.name] |= shared | _tidb_index_bits(index, place) | HANDLE_KEY * (column.name in in_handle_key)


def _tidb_index_bits(index: Index, place: int) -> int:
    """Return the bits of an index column in TiDB's own flags (TiDB: pkg/ddl/index.go AddIndexColumnFlag)."""
    if index.unmarked:
        return 0
    if index.primary or place:
        return PRIMARY_KEY * index.primary
    return UNIQUE_KEY if index.unique and len(index.columns) == 1 else MULTIPLE_KEY


_NOT_NULL, _PRIMARY, _UNIQUE, _MULTIPLE = 1, 2, 4, 8
_UNSIGNED, _ZEROFILL, _BINARY, _AUTO_INCREMENT, _TIMESTAMP, _NO_DEFAULT, _ON_UPDATE = 32, 64, 128, 512, 1024, 4096, 8192


def tidb_flags(table: Table) -> dict[str, int]:
    """Return TiDB's own flag word of every column by name (TiDB: pkg/parser/mysql/type.go, pkg/ddl/create_table.go)."""
    words = {column.name: _tidb_word(column) for column in table.columns}
    for name in table.primary_key:
        words[name] |= _PRIMARY
    for index in table.indexes:
        first = index.columns[0].name
        if first in words and not index.primary and not index.unmarked:
            words[first] |= _UNIQUE if index.unique and len(index.columns) == 1 else _MULTIPLE
    return words


def _tidb_word(column: Column) -> int:
    """Return the flags that do not come from an index."""
    number = family(column.type) in ("integer", "float", "decimal", "bit", "year")
    binary = column.type.charset == "binary" and not number
    timestamp = column.type.name == "timestamp"
    no_default = column.not_null and column.default is None and not column.auto_increment and not timestamp
    return (
        _NOT_NULL * column.not_null
        | _UNSIGNED * is_unsigned(column.type)
        | _ZEROFILL * (column.type.zerofill or column.type.name == "year")
        | _BINARY * binary
        | _AUTO_INCREMENT * column.auto_increment
        | _TIMESTAMP * timestamp
        | _NO_DEFAULT * no_default
        | _ON_UPDATE * bool(column.on_update)
    )


def primary_key_names(table: Table, release: Release) -> tuple[str, ...]:
    """Return Canal's pkNames: the columns with the PrimaryKey bit, in table order."""
    bits = flags(table, release)
    return tuple(column.name for column in visible_columns(table) if bits[column.name] & PRIMARY_KEY)


P = ParamSpec("P")
Returned = TypeVar("Returned")


def cached_by_columns(function: Callable[Concatenate[Table, P], Returned]) -> Callable[Concatenate[Table, P], Returned]:
    """Cache a function of a table and of what can be hashed, by position; the ids and origin defaults of columns count,
    too, which are not in the equality of tables."""

    @lru_cache(maxsize=1024)
    def cached(columns: tuple[Hashable, ...], table: Table, /, *others: Any) -> Returned:
        return cast("Callable[..., Returned]", function)(table, *others)

    @wraps(function)
    def by_columns(table: Table, /, *others: P.args, **named: P.kwargs) -> Returned:
        return cached(tuple((each.id, each.origin_default) for each in table.columns), table, *others)

    return by_columns


POSITIVE = np.int64((1 << 63) - 1)


def handles_of_rows(table: Table, texts: Texts) -> pa.Array:
    """Return the handles of rows; for a table without a handle key the row images."""
    parts = [part for _, part in key_parts(table, texts)]
    if not parts:
        return row_image.pack([texts[column.name] for column in visible_columns(table)])
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")


def handles_of_row_ids(texts: pa.Array) -> pa.Array:
    """Return the handles of rows whose `_tidb_rowid` is known, from its text."""
    return encode_index_column(BIGINT, -1, texts)


def row_ids_of_handles(handles: pa.Array) -> pa.Array:
    """Return the `_tidb_rowid` of rows with such handles."""
    return pa.array((_bits(handles) ^ SIGN).view(np.int64))


def number_duplicates(handles: pa.Array, numbers: Places) -> pa.Array:
    """Return the handles of a table without a handle key, each followed by its number among equal rows, from 1, as
    eight big-endian bytes."""
    return pc.binary_join_element_wise(handles, fixed(numbers.astype(">u8"), handles), b"")


def key_parts(table: Table, texts: Texts) -> Iterator[tuple[str, pa.Array]]:
    """Yield each column of the handle key with its part of the key."""
    types = {column.name: column.type for column in table.columns}
    for name, length in zip(handle_key(table), handle_lengths(table), strict=True):
        yield name, encode_index_column(types[name], length, texts[name])


def columns_known_by_handle(table: Table) -> frozenset[str]:
    """Return the columns of the handle key whose text follows from the handle."""
    types = {column.name: column.type for column in table.columns}
    return frozenset(
        name
        for name, length in zip(handle_key(table), handle_lengths(table), strict=True)
        if length < 0 and is_exact(types[name]) and family(types[name]) != "float"
    )


def row_ids(table: Table, handles: pa.Array, place: int) -> pa.Array:
    """Return int64 row ids, null for a common handle.

    A row id is the integer handle, as the signed number of its bits, or a positive `_tidb_rowid` derived from the
    handle of a row whose own is not known. `place` is the table's position in the run's list.
    """
    if has_common_handle(table):
        return pa.nulls(len(handles), pa.int64())
    name = row_id_column(table)
    if name is not None:
        return pa.array(_bits(handles).view(np.int64)) if _is_unsigned(table, name) else row_ids_of_handles(handles)
    if not handle_key(table):
        return pa.array(xxhash64(place, handles) & POSITIVE)
    return pa.array(np.maximum(xxhash64(handles) & POSITIVE, 1))


def column_from_row_id(table: Table, row_ids: pa.Array) -> dict[str, pa.Array]:
    """Return the TiDB text of the column whose values are the row ids, if there is one."""
    name = row_id_column(table)
    if name is None:
        return {}
    return {name: pc.cast(row_ids.view(pa.uint64()) if _is_unsigned(table, name) else row_ids, pa.string())}


def row_ids_from_column(table: Table, cells: Mapping[str, pa.Array]) -> pa.Array | None:
    """Return the row ids of rows with these columns as TiDB text, null for a common handle; None if no column tells
    them. Raises ValueError for a text that is no integer."""
    name = row_id_column(table)
    if name is None:
        return pa.nulls(len(next(iter(cells.values()))), pa.int64()) if has_common_handle(table) else None
    numbers = cells[name].cast(pa.string())
    return numbers.cast(pa.uint64()).view(pa.int64()) if _is_unsigned(table, name) else numbers.cast(pa.int64())


def _bits(handles: pa.Array) -> Hashes:
    """Return the eight bytes of each handle as a number."""
    bits: Hashes = buffers(handles)[0].view(">u8").astype(np.uint64)
    return bits


def _is_unsigned(table: Table, name: str) -> bool:
    return next(column.type.unsigned for column in table.columns if column.name == name)
