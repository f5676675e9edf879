"""Writes rows of a table in a transaction: their partitions, handles, unique keys, CHECKs and locks.

A statement locks the rows that it writes or leaves unchanged, and their unique keys (tidb pkg/executor/write.go,
addUnchangedKeysForLockByRow; pkg/session/txn.go, KeysNeedToLock). It looks for duplicates in the order of the handle and
the unique indexes (pkg/executor/batch_checker.go, getKeysNeedCheckOneRow).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simulator.errors import SqlError
from simulator.tidb.engine.checks import violated_check
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.ids import advance_after_update, allocate_row_ids
from simulator.tidb.engine.references import is_related
from simulator.tidb.engine.shown_keys import shown_key
from simulator.tidb.model.table import visible_columns
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.storage.auto_ids import auto_column
from simulator.tidb.storage.partitions import no_partition_error, partition_of
from simulator.tidb.storage.row_keys import RowKey, entry_keys, handle_of
from simulator.tidb.storage.rows import Handle
from simulator.tidb.storage.tables import Cells, StoredTable

ENTRY_SIZE_LIMIT = 6 << 20
"""Bytes of a row in TiKV: TiDB's default of txn-entry-size-limit."""

HANDLE = -1
"""The place of the handle among the keys of a row, before those of `entry_keys`."""

Location = tuple[int, Handle]
"""The ordinal of a row's partition, and its handle."""


class KeyedRow(NamedTuple):
    """A row with its keys."""

    cells: Cells
    ordinal: int
    handle: Handle | None
    """None for a new row of a table without a clustered key."""

    entries: Sequence[bytes | None]
    """The bytes of each unique key; None for a key with NULL."""


class RowChange(NamedTuple):
    """A row that was inserted (`old` is None), deleted (`new` is None) or changed."""

    old: Cells | None
    new: Cells | None


class RowWriter:
    """Writes rows of a table for one statement."""

    def __init__(self, stored: StoredTable, context: StatementContext) -> None:
        self.stored, self.context, self.table = stored, context, stored.table
        self.transaction = context.transaction
        self.keys = entry_keys(self.table)
        self.changes: list[RowChange] = []
        """What foreign keys look at."""

        self._is_related = is_related(context, self.table)
        self._handle_of = handle_of(self.table) if self.table.clustered else None
        self._ordinal_of = partition_of(self.table) if self.table.partitioning else None
        self._row_ids: Iterator[int] = iter(())
        self._expected = 1
        column = auto_column(self.table)
        self._auto = None if column is None else (column, visible_columns(self.table).index(column))

    # -- keys ----------------------------------------------------------------------------------------------------------

    def keyed(self, cells: Cells, allowed: Sequence[int] | None = None) -> KeyedRow:
        """Return a row that is to be written with its keys.

        Raises SqlError 1526 if no partition takes it, 1748 if none of the `allowed` ones does, 8025 if it is too large.
        """
        size = 0
        for cell in cells:
            if cell is not None:
                size += len(cell)
        if size > ENTRY_SIZE_LIMIT:
            raise sql_error(8025, ENTRY_SIZE_LIMIT, size)
        self.context.hold(size)
        ordinal = self._ordinal(cells)
        if allowed is not None and ordinal not in allowed:
            raise sql_error(1748)
        handle = None if self._handle_of is None else self._handle_of(cells)
        return KeyedRow(cells, ordinal, handle, [key.of(cells) for key in self.keys])

    def _ordinal(self, cells: Cells) -> int:
        if self._ordinal_of is None:
            return 0
        ordinal = self._ordinal_of(cells)
        if ordinal is None:
            raise no_partition_error(self.table, cells)
        return ordinal

    def owner(self, row: KeyedRow, place: int) -> Location | None:
        """Return the row that has a key of a new row, by its place; None for none."""
        if place == HANDLE:
            if row.handle is None or self.cells((row.ordinal, row.handle)) is None:
                return None
            return row.ordinal, row.handle
        value = row.entries[place]
        if value is None:
            return None
        return self.transaction.owner_of(self.stored, row.ordinal, self.keys[place], value)

    def owners(self, row: KeyedRow) -> Iterator[tuple[int, Location]]:
        """Yield the place of each key that another row has, and that row."""
        for place in range(HANDLE if row.handle is not None else 0, len(self.keys)):
            owner = self.owner(row, place)
            if owner is not None:
                yield place, owner

    def cells(self, location: Location) -> Cells | None:
        return self.transaction.get(self.stored, *location)

    def duplicate_error(self, row: KeyedRow, place: int) -> SqlError:
        """Return error 1062 (formatDataForDupError: values joined by hyphens)."""
        index_id, name = (0, "PRIMARY") if place == HANDLE else self.keys[place][:2]
        return sql_error(1062, shown_key(self.context, self.table, index_id, row.cells), f"{self.table.name}.{name}")

    def lock(self, row: KeyedRow) -> None:
        """Lock a row and its unique keys. Raises LockWait."""
        if row.handle is not None:
            self.transaction.lock_row(self.stored, row.ordinal, row.handle)
        for key, value in zip(self.keys, row.entries, strict=True):
            if value is not None:
                self.transaction.lock_entry(self.stored, row.ordinal, key, value)

    def lock_key(self, row: KeyedRow, place: int) -> None:
        """Lock one key of a row. Raises LockWait."""
        value = row.handle if place == HANDLE else row.entries[place]
        if place == HANDLE:
            self.transaction.lock_row(self.stored, row.ordinal, value)
        elif value is not None:
            self.transaction.lock_entry(self.stored, row.ordinal, self.keys[place], value)

    # -- writes --------------------------------------------------------------------------------------------------------

    def expect(self, rows: int) -> None:
        """Tell how many rows will be inserted: their `_tidb_rowid`s are reserved with that of the first one."""
        self._expected = rows

    def insert(self, row: KeyedRow, is_new: bool = False) -> None:
        """Insert a row (tidb pkg/table/tables/tables.go, AddRecord). Raises SqlError 3819 if it violates a CHECK, 1062 for
        a key that another row has, unless none has (`is_new`). The `_tidb_rowid` that it would have is used up then."""
        if row.handle is None:
            row = row._replace(handle=self._next_row_id())
        check = violated_check(self.context, self.table, row.cells)
        if check is not None:
            raise sql_error(3819, check)
        self.lock(row)
        for place in () if is_new else range(HANDLE if self._handle_of is not None else 0, len(self.keys)):
            if self.owner(row, place) is not None:
                raise self.duplicate_error(row, place)
        self._put(row, row.cells, [(key, None, value) for key, value in zip(self.keys, row.entries, strict=True)])
        self._note(None, row.cells)

    def _next_row_id(self) -> int:
        number = next(self._row_ids, None)
        if number is None:
            self._row_ids = iter(allocate_row_ids(self.stored, self.context, self._expected))
            self._expected, number = 1, next(self._row_ids)
        return number

    def update(self, location: Location, old: Cells, new: Cells) -> bool:
        """Replace a row, and return whether it changes (tidb pkg/executor/write.go, updateRecord). Raises SqlError 3819 and
        1062, after which the row is as before."""
        entries = [key.of(old) for key in self.keys]
        before = KeyedRow(old, *location, entries)
        self.lock(before)
        if new == old:
            return False
        if self._auto is not None:
            column, place = self._auto
            advance_after_update(self.stored, column, old[place], new[place])
        row = self.keyed(new)
        moves = row.ordinal != location[0] or row.handle is not None and row.handle != location[1]
        if row.handle is None:
            row = row._replace(handle=self._next_row_id() if moves else location[1])
        check = violated_check(self.context, self.table, new)
        if check is not None:
            raise sql_error(3819, check)
        self.lock(row)
        if moves and self._handle_of is not None and self.owner(row, HANDLE) is not None:
            raise self.duplicate_error(row, HANDLE)
        for place, (one, other) in enumerate(zip(entries, row.entries, strict=True)):
            if (one != other or moves) and self.owner(row, place) not in (None, location):
                raise self.duplicate_error(row, place)
        if moves:
            self._put(before, None, [(*pair, None) for pair in zip(self.keys, entries, strict=True)])
            self._put(row, new, [(key, None, value) for key, value in zip(self.keys, row.entries, strict=True)])
        else:
            changed = zip(self.keys, entries, row.entries, strict=True)
            self._put(row, new, [each for each in changed if each[1] != each[2]])
        self._note(old, new)
        return True

    def delete(self, location: Location, cells: Cells) -> None:
        """Delete a row."""
        row = KeyedRow(cells, *location, [key.of(cells) for key in self.keys])
        self.lock(row)
        self._put(row, None, [(*pair, None) for pair in zip(self.keys, row.entries, strict=True)])
        self._note(cells, None)

    def _put(
        self, row: KeyedRow, cells: Cells | None, keys: Sequence[tuple[RowKey, bytes | None, bytes | None]]
    ) -> None:
        self.transaction.put(self.stored, row.ordinal, row.handle, cells, keys)

    def _note(self, old: Cells | None, new: Cells | None) -> None:
        if self._is_related:
            self.changes.append(RowChange(old, new))
