"""What a statement has done so far to the rows of one table: rows went, rows came, ids were given."""

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
from simulator.tidb.sql_engine.storage.row_keys import encode_handles, find_keys, partition_ordinals, unique_keys
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
"""`_tidb_rowid` for so many new rows, and what is given next."""

NO_PLACES = np.zeros(0, np.int64)


@dataclass(frozen=True)
class RowDelta:
    """Rows that go and rows that come, in one table."""

    table: Table
    gone: KeyedRows
    fresh: KeyedRows
    updates: int = 0
    """How many of the first ones of both are a row before and after an update; the others go, and come."""


class PartialWriteError(Exception):
    """A statement that is refused in the midst of its rows, which leaves used-up ids behind."""

    def __init__(self, error: SqlError, counters: Counters, added: int) -> None:
        super().__init__(error)
        self.error, self.counters, self.added = error, counters, added


@dataclass(frozen=True)
class TableWrites:
    stored: StoredRows
    counters: Counters
    numbering: Numbering
    changes: tuple[RowDelta, ...] = ()
    affected: int = 0
    warned: Warnings = Warnings()
    added: int = 0
    """How many rows came that are no others changed: LAST_INSERT_ID() is theirs."""

    def with_new(self, gone: Places, fresh: KeyedRows, affected: int) -> TableWrites:
        """Without the rows at some places, with new ones, which are numbered where the table has no clustered key.

        What breaks a CHECK uses up a number, and does not come.
        """
        fresh, counters = self.numbered(fresh)
        found = self.with_change(gone, drop_broken(fresh), 0, affected)
        return replace(found, counters=counters, added=self.added + len(fresh))

    def with_changed(self, places: Places, changed: KeyedRows, fresh: KeyedRows, affected: int) -> TableWrites:
        """With other rows in place of those at some places, and with new ones."""
        fresh, counters = self.numbered(fresh)
        found = self.with_change(places, concat_rows(changed, fresh), len(changed), affected)
        return replace(found, counters=counters, added=self.added + len(fresh))

    def numbered(self, fresh: KeyedRows) -> tuple[KeyedRows, Counters]:
        """New rows with their `_tidb_rowid`. Raises PartialWriteError."""
        table = self.stored.table
        if table.clustered or not len(fresh):
            return fresh, self.counters
        try:
            ids, counters = self.numbering(len(fresh), self.counters)
        except SqlError as error:
            raise self.failed(error) from None
        row_ids = pa.array(ids)
        ordinals = None if table.partitioning is None else partition_ordinals(table, fresh.handles)
        return replace(fresh, row_ids=row_ids, handles=encode_handles(table, fresh.texts, row_ids, ordinals)), counters

    def in_partitions(self, old: KeyedRows, new: KeyedRows) -> tuple[KeyedRows, Counters]:
        """Changed rows, those with a new number that come into another partition (tidb
        pkg/table/tables/partition.go, partitionedTableUpdateRecord). Raises PartialWriteError."""
        table = self.stored.table
        if table.clustered or table.partitioning is None:
            return new, self.counters
        moves = np.asarray(
            pc.not_equal(partition_ordinals(table, old.handles), partition_ordinals(table, new.handles)), bool
        )
        if not moves.any():
            return new, self.counters
        came, counters = self.numbered(take_rows(new, mask_places(moves)))
        mask = pa.array(moves)
        row_ids = pc.replace_with_mask(new.row_ids, mask, came.row_ids)
        return replace(new, row_ids=row_ids, handles=pc.replace_with_mask(new.handles, mask, came.handles)), counters

    def with_change(self, gone: Places, fresh: KeyedRows, updates: int, affected: int) -> TableWrites:
        if not len(gone) and not len(fresh):
            return replace(self, affected=self.affected + affected)
        change = RowDelta(self.stored.table, take_stored(self.stored, gone), fresh, updates)
        stored = replace_rows(self.stored, gone, fresh)
        return replace(self, stored=stored, changes=(*self.changes, change), affected=self.affected + affected)

    def failed(self, error: SqlError) -> PartialWriteError:
        return PartialWriteError(error, self.counters, self.added)


def start_writes(
    upstream: Upstream, table: Table, now_ms: int, counters: Counters | None = None, warned: Warnings = Warnings()
) -> TableWrites:
    """Before the first row."""
    stored = table_rows(upstream, table)

    def numbering(rows: int, before: Counters) -> tuple[Ids, Counters]:
        return auto_ids.allocate_row_ids(table, rows, upstream, before, now_ms)

    return TableWrites(stored, counters or stored.counters, numbering, warned=warned)


def key_bytes(table: Table, rows: KeyedRows) -> list[pa.Array]:
    """The bytes of each unique key of rows, in TiDB's order."""
    return [rows.handles if key.clustered else rows.unique[key.name.lower()] for key in unique_keys(table)]


def find_conflicts(stored: StoredRows, rows: KeyedRows) -> npt.NDArray[np.int64]:
    """For each unique key and row the place of the stored row that has the key, -1 for none."""
    table, keys = stored.table, stored.keys
    assert keys is not None
    found = np.full((len(unique_keys(table)), len(rows)), -1, np.int64)
    for place, key in enumerate(unique_keys(table)):
        if key.clustered:
            found[place] = find_keys(keys.handles, rows.handles, ascending=True)
        else:
            found[place] = find_keys(keys.unique[key.name.lower()], rows.unique[key.name.lower()])
    return found


def slice_rows(rows: KeyedRows, start: int, size: int) -> KeyedRows:
    """So many of the rows, from one on."""
    if not start and size >= len(rows):
        return rows
    return KeyedRows(
        {name: cells.slice(start, size) for name, cells in rows.texts.items()},
        rows.row_ids.slice(start, size),
        rows.handles.slice(start, size),
        {name: keys.slice(start, size) for name, keys in rows.unique.items()},
        None if rows.broken is None else rows.broken.slice(start, size),
    )


def concat_rows(one: KeyedRows, other: KeyedRows) -> KeyedRows:
    """Both, one after the other; rows that break nothing."""
    if not len(one) or not len(other):
        return one if len(one) else other
    return KeyedRows(
        {name: pa.concat_arrays([cells, other.texts[name]]) for name, cells in one.texts.items()},
        pa.concat_arrays([one.row_ids, other.row_ids]),
        pa.concat_arrays([one.handles, other.handles]),
        {name: pa.concat_arrays([keys, other.unique[name]]) for name, keys in one.unique.items()},
    )


def broken_mask(rows: KeyedRows) -> Mask:
    """Which rows break a CHECK."""
    found: Mask = np.zeros(len(rows), np.bool_) if rows.broken is None else np.asarray(rows.broken.is_valid(), bool)
    return found


def drop_broken(rows: KeyedRows) -> KeyedRows:
    if rows.broken is None:
        return rows
    return replace(take_rows(rows, mask_places(~broken_mask(rows))), broken=None)


def check_error(rows: KeyedRows, row: int) -> SqlError:
    """Error 3819 for a row that breaks a CHECK."""
    assert rows.broken is not None
    return sql_error(3819, rows.broken[row].as_py())


def rows_differ(table: Table, old: KeyedRows, new: KeyedRows) -> Mask:
    """Which rows are not as they were."""
    found: Mask = np.asarray(pc.not_equal(row_images(table, old.texts), row_images(table, new.texts)), bool)
    return found
