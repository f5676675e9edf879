"""The rows of one table that a statement has written so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.errors import SqlError
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.storage import auto_ids
from simulator.tidb.sql_engine.storage.allocators import Counters
from simulator.tidb.sql_engine.storage.auto_ids import Ids
from simulator.tidb.sql_engine.storage.names import Mask, Warnings, mask_places
from simulator.tidb.sql_engine.storage.row_keys import encode_handles, partition_ordinals, unique_keys
from simulator.tidb.sql_engine.storage.rows import (
    KeyedRows,
    replace_rows,
    row_images,
    table_rows,
    take_rows,
    take_stored,
)
from simulator.tidb.sql_engine.storage.state import StoredRows, Upstream

Numbering = Callable[[int, Counters], tuple[Ids, Counters]]
"""Returns `_tidb_rowid` for a number of new rows, and the counters after them."""

NO_PLACES = np.zeros(0, np.int64)


@dataclass(frozen=True)
class RowDelta:
    """Rows deleted from and inserted into one table."""

    table: Table
    removed: KeyedRows
    inserted: KeyedRows
    updates: int = 0
    """The first `updates` rows of both sides are rows before and after an UPDATE."""


class PartialWriteError(Exception):
    """A statement is refused after some of its rows. The ids that it used are lost."""

    def __init__(self, error: SqlError, counters: Counters, added: int) -> None:
        super().__init__(error)
        self.error, self.counters, self.added = error, counters, added


@dataclass(frozen=True)
class TableWrites:
    """The writes of a statement to one table."""

    stored: StoredRows
    counters: Counters
    numbering: Numbering
    changes: tuple[RowDelta, ...] = ()
    affected: int = 0
    warned: Warnings = Warnings()
    added: int = 0
    """The number of new rows, which set LAST_INSERT_ID()."""

    def with_new(self, removed: Places, new_rows: KeyedRows, affected: int) -> TableWrites:
        """Replace the rows at some positions with new rows, which are numbered in a table without a clustered key.

        A row that violates a CHECK uses up a number but is not inserted.
        """
        new_rows, counters = self.numbered(new_rows)
        writes = self.with_change(removed, drop_broken(new_rows), 0, affected)
        return replace(writes, counters=counters, added=self.added + len(new_rows))

    def with_changed(self, places: Places, changed: KeyedRows, new_rows: KeyedRows, affected: int) -> TableWrites:
        """Replace the rows at some positions with changed rows, and insert new ones."""
        new_rows, counters = self.numbered(new_rows)
        writes = self.with_change(places, concat_rows(changed, new_rows), len(changed), affected)
        return replace(writes, counters=counters, added=self.added + len(new_rows))

    def numbered(self, new_rows: KeyedRows) -> tuple[KeyedRows, Counters]:
        """Return new rows with their `_tidb_rowid`. Raises PartialWriteError."""
        table = self.stored.table
        if table.clustered or not len(new_rows):
            return new_rows, self.counters
        try:
            ids, counters = self.numbering(len(new_rows), self.counters)
        except SqlError as error:
            raise self.failed(error) from None
        row_ids = pa.array(ids)
        ordinals = None if table.partitioning is None else partition_ordinals(table, new_rows.handles)
        return replace(
            new_rows, row_ids=row_ids, handles=encode_handles(table, new_rows.texts, row_ids, ordinals)
        ), counters

    def in_partitions(self, old: KeyedRows, new: KeyedRows) -> tuple[KeyedRows, Counters]:
        """Return changed rows with a new `_tidb_rowid` for those that move to another partition (tidb
        pkg/table/tables/partition.go, partitionedTableUpdateRecord). Raises PartialWriteError."""
        table = self.stored.table
        if table.clustered or table.partitioning is None:
            return new, self.counters
        moves = np.asarray(
            pc.not_equal(partition_ordinals(table, old.handles), partition_ordinals(table, new.handles)), bool
        )
        if not moves.any():
            return new, self.counters
        renumbered, counters = self.numbered(take_rows(new, mask_places(moves)))
        mask = pa.array(moves)
        row_ids = pc.replace_with_mask(new.row_ids, mask, renumbered.row_ids)
        return replace(
            new, row_ids=row_ids, handles=pc.replace_with_mask(new.handles, mask, renumbered.handles)
        ), counters

    def with_change(self, removed: Places, new_rows: KeyedRows, updates: int, affected: int) -> TableWrites:
        if not len(removed) and not len(new_rows):
            return replace(self, affected=self.affected + affected)
        change = RowDelta(self.stored.table, take_stored(self.stored, removed), new_rows, updates)
        stored = replace_rows(self.stored, removed, new_rows)
        return replace(self, stored=stored, changes=(*self.changes, change), affected=self.affected + affected)

    def failed(self, error: SqlError) -> PartialWriteError:
        return PartialWriteError(error, self.counters, self.added)


def start_writes(
    upstream: Upstream, table: Table, now_ms: int, counters: Counters | None = None, warned: Warnings = Warnings()
) -> TableWrites:
    """Return the writes of a statement before its first row."""
    stored = table_rows(upstream, table)

    def numbering(rows: int, before: Counters) -> tuple[Ids, Counters]:
        return auto_ids.allocate_row_ids(table, rows, upstream, before, now_ms)

    return TableWrites(stored, counters or stored.counters, numbering, warned=warned)


def key_bytes(table: Table, rows: KeyedRows) -> list[pa.Array]:
    """Return the bytes of each unique key of rows, in TiDB's order."""
    return [rows.handles if key.clustered else rows.unique[key.name.lower()] for key in unique_keys(table)]


def find_conflicts(stored: StoredRows, rows: KeyedRows) -> npt.NDArray[np.int64]:
    """Return for each unique key and row the position of the stored row with the same key, or -1."""
    table, keys = stored.table, stored.keys
    assert keys is not None
    positions = np.full((len(unique_keys(table)), len(rows)), -1, np.int64)
    for place, key in enumerate(unique_keys(table)):
        if key.clustered:
            positions[place] = keys.find_handles(rows.handles)
        else:
            positions[place] = keys.find_unique(key.name.lower(), rows.unique[key.name.lower()])
    return positions


def slice_rows(rows: KeyedRows, start: int, size: int) -> KeyedRows:
    return rows if not start and size >= len(rows) else rows.map(lambda array: array.slice(start, size))


def concat_rows(one: KeyedRows, other: KeyedRows) -> KeyedRows:
    """Return both one after the other. No row of either violates a CHECK."""
    if not len(one) or not len(other):
        return one if len(one) else other
    return KeyedRows(
        {name: pa.concat_arrays([cells, other.texts[name]]) for name, cells in one.texts.items()},
        pa.concat_arrays([one.row_ids, other.row_ids]),
        pa.concat_arrays([one.handles, other.handles]),
        {name: pa.concat_arrays([keys, other.unique[name]]) for name, keys in one.unique.items()},
    )


def violates_check(rows: KeyedRows) -> Mask:
    """Return which rows violate a CHECK."""
    mask: Mask = (
        np.zeros(len(rows), np.bool_)
        if rows.violated_checks is None
        else np.asarray(rows.violated_checks.is_valid(), bool)
    )
    return mask


def drop_broken(rows: KeyedRows) -> KeyedRows:
    if rows.violated_checks is None:
        return rows
    return replace(take_rows(rows, mask_places(~violates_check(rows))), violated_checks=None)


def check_error(rows: KeyedRows, row: int) -> SqlError:
    """Return error 3819 for a row that violates a CHECK."""
    assert rows.violated_checks is not None
    return sql_error(3819, rows.violated_checks[row].as_py())


def rows_differ(table: Table, old: KeyedRows, new: KeyedRows) -> Mask:
    """Return which rows have changed."""
    mask: Mask = np.asarray(pc.not_equal(row_images(table, old.texts), row_images(table, new.texts)), bool)
    return mask
