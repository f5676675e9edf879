"""The keys of TiKV that a transaction locks: the handles and unique keys of the rows that it writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import fixed
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.model.table import visible_columns
from simulator.tidb.sql_engine.storage import row_keys
from simulator.tidb.sql_engine.storage.rows import KeyedRows, key_rows
from simulator.tidb.sql_engine.storage.state import TableChanges

LockKeys = dict[Key, set[tuple[str, bytes]]]
"""By table: the name of an index, empty for the handle, and the bytes of its key."""


def table_of(changes: TableChanges) -> Key:
    return object_key(changes.table.schema, changes.table.name)


def add_written_keys(keys: LockKeys, writes: Iterable[TableChanges]) -> None:
    """Add the keys of the rows before and after each write."""
    for changes in writes:
        place = keys.setdefault(table_of(changes), set())
        place.update(("", handle) for handle in full_handles(changes).to_pylist())
        if any(not key.clustered for key in row_keys.unique_keys(changes.table)):
            for images in (changes.before, changes.after):
                _add_unique_keys(place, written_rows(changes, images))


def add_row_keys(keys: LockKeys, table: Key, rows: KeyedRows) -> None:
    """Add the keys of stored rows."""
    place = keys.setdefault(table, set())
    place.update(("", handle) for handle in rows.handles.to_pylist())
    _add_unique_keys(place, rows)


def share_a_key(one: Mapping[Key, set[tuple[str, bytes]]], other: Mapping[Key, set[tuple[str, bytes]]]) -> bool:
    """Return whether two transactions lock the same key."""
    return any(not keys.isdisjoint(other[table]) for table, keys in one.items() if table in other)


def full_handles(changes: TableChanges) -> pa.Array:
    """Return handles with the partition's ordinal before them, as `RowKeys.handles` has them."""
    if changes.table.partitioning is None:
        return changes.handle
    ordinals = changes.partition.to_numpy().astype(">u4")
    return pc.binary_join_element_wise(fixed(ordinals, changes.partition), changes.handle, b"")


def written_rows(changes: TableChanges, images: pa.Array) -> KeyedRows:
    """Return the rows of those images that are not null, with their keys."""
    places = pa.array(np.flatnonzero(images.is_valid().to_numpy(zero_copy_only=False)))
    names = [column.name for column in visible_columns(changes.table)]
    texts = row_image.named(images.take(places), names)
    ordinals = None if changes.table.partitioning is None else changes.partition.take(places)
    return key_rows(changes.table, texts, changes.row_id.take(places), ordinals)


def _add_unique_keys(keys: set[tuple[str, bytes]], rows: KeyedRows) -> None:
    for name, values in rows.unique.items():
        keys.update((name, value) for value in values.to_pylist() if value is not None)
