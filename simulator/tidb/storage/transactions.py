"""Transactions: a buffer of writes over a snapshot, locks, and savepoints.

A statement reads the snapshot of its `ts` with the writes of its own transaction: a query the snapshot of the
transaction's start, a statement that writes or locks the newest commits (tidb pkg/sessiontxn/isolation: pessimistic
transactions with REPEATABLE READ; the ts of the latter is TiDB's for-update-ts).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from simulator.columns.row_image import image_of
from simulator.errors import SqlError
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.model.table import Cells, Table
from simulator.tidb.storage.row_keys import RowKey
from simulator.tidb.storage.rows import (
    ALL_KEYS,
    NEWEST,
    Entry,
    Handle,
    KeyRange,
    Locks,
    LockWait,
    Owner,
    TableRows,
    Version,
)
from simulator.tidb.storage.tables import RowReader, StoredTable, layout_of

MISSING = object()
"""Stands in the undo log for a key that the buffer did not have."""


class Change(NamedTuple):
    """The net change of a row in a transaction."""

    stored: StoredTable
    ordinal: int
    handle: Handle
    before: Version | None
    after: bytes | None
    gone: bytes | None = None
    """The last image of a row that was inserted and deleted."""


class Transaction(Owner):
    """A transaction of one session."""

    def __init__(self, locks: Locks, start_ts: int, pessimistic: bool = True, explicit: bool = True) -> None:
        self._locks, self.start_ts = locks, start_ts
        self.pessimistic, self.explicit = pessimistic, explicit
        self.reads_committed = self.stale = False
        """Whether queries read the newest commits; whether it reads the past, and only reads."""
        self._rows: dict[TableRows, dict[Handle, Cells | None]] = {}
        self._entries: dict[tuple[TableRows, int], dict[bytes, Handle | None]] = {}
        self._tables: dict[TableRows, tuple[StoredTable, int]] = {}
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self._locked: dict[Hashable, None] = {}
        """The locked keys in their order."""
        self._selected: list[tuple[TableRows, Handle]] = []
        self._savepoints: list[tuple[str, int]] = []
        self._readers: dict[StoredTable, RowReader] = {}
        self._presumed: list[tuple[int, SqlError]] = []
        """The errors of keys that an optimistic transaction took for free, with the position after their writes."""

        self._changes: list[Change] | None = None
        """What `changes` returned, until the next write."""

    @property
    def current_ts(self) -> int:
        """What a statement that writes or locks reads: the newest commits, unless the transaction is optimistic."""
        return NEWEST if self.pessimistic else self.start_ts

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, stored: StoredTable, ordinal: int, handle: Handle, ts: int = NEWEST) -> Cells | None:
        """Return the cells of a row as this transaction sees it at `ts`; None if there is none."""
        rows = stored.partitions[ordinal]
        own = self._rows.get(rows)
        if own is not None and handle in own:
            return own[handle]
        reader, version = self._reader(stored), rows.version(handle, ts)
        return None if version is None else reader.cells(version)

    def has(self, stored: StoredTable, ordinal: int, handle: Handle) -> bool:
        """Return whether there is a row, as this transaction sees the newest commits."""
        rows = stored.partitions[ordinal]
        own = self._rows.get(rows)
        if own is not None and handle in own:
            return own[handle] is not None
        return rows.version(handle) is not None

    def owner_of(
        self, stored: StoredTable, ordinal: int, key: RowKey, value: bytes, ts: int = NEWEST
    ) -> tuple[int, Handle] | None:
        """Return the ordinal and the handle of the row that has a unique key, given the ordinal of a row that is to have
        it. Entries of a GLOBAL index are such pairs."""
        rows = stored.entries(ordinal, key.unpartitioned)
        own = self._entries.get((rows, key.index_id))
        handle = own[value] if own is not None and value in own else rows.handle_of(key.index_id, value, ts)
        return handle if handle is None or key.unpartitioned else (ordinal, handle)

    def scan(
        self, stored: StoredTable, ordinals: Sequence[int], ts: int = NEWEST, keys: KeyRange = ALL_KEYS
    ) -> Iterator[tuple[int, Handle, Cells]]:
        """Yield the rows of partitions with their handles, in the order of keys."""
        read, (low, high, descending) = self._reader(stored).cells, keys
        for ordinal in reversed(ordinals) if descending else ordinals:
            rows = stored.partitions[ordinal]
            committed = rows.scan(ts, keys)
            own = self._rows.get(rows)
            if not own:
                for handle, version in committed:
                    yield ordinal, handle, read(version)
                continue
            mine = sorted(
                (handle for handle in own if (low is None or handle >= low) and (high is None or handle <= high)),
                reverse=descending,
            )
            yield from ((ordinal, handle, cells) for handle, cells in _merged(own, mine, committed, read, descending))

    def _reader(self, stored: StoredTable) -> RowReader:
        reader = self._readers.get(stored)
        if reader is None:
            self._check_use(stored)
            reader = self._readers[stored] = RowReader(stored.table)
        return reader

    # -- tables --------------------------------------------------------------------------------------------------------

    @property
    def used(self) -> set[Key]:
        """The tables that it has read or written."""
        return {
            object_key(stored.table.schema, stored.table.name)
            for stored in self._readers
            if stored.table.temporary != "local"
        }

    def _check_use(self, stored: StoredTable) -> None:
        """Raises LockWait of a DDL statement that waits to change a table, if the transaction has used none yet: others may
        wait for one that has; SqlError 8028 if a column has another type since it began (tidb pkg/sessiontxn; docs:
        metadata lock)."""
        key = object_key(stored.table.schema, stored.table.name)
        for waiter, keys in self._locks.waiters.items():
            if waiter is not self and key in keys and not self.used:
                raise LockWait(waiter)
        ts, column = stored.changed
        if self.start_ts < ts:
            raise sql_error_with_text(8028, f"public column {column} has changed")

    # -- writing -------------------------------------------------------------------------------------------------------

    def lock(self, key: Hashable, exists: bool = True) -> None:
        """Lock a key until the transaction ends; with READ COMMITTED a key that does not exist waits for its owner, and is
        not locked (tidb pkg/executor/point_get.go, lockKeyIfExists). Raises LockWait. An optimistic transaction locks
        nothing."""
        if self.pessimistic and key not in self._locked:
            self._locks.lock(key, self)
            if exists or not self.reads_committed:
                self._locked[key] = None
            else:
                self._locks.release(self, (key,))

    def lock_row(self, stored: StoredTable, ordinal: int, handle: Handle, exists: bool = True) -> None:
        """Lock the key of a row. Raises LockWait."""
        key = stored.partitions[ordinal], handle
        if key not in self._locked:
            self._reader(stored)
            self.lock(key, exists)

    def select_row(self, stored: StoredTable, ordinal: int, handle: Handle) -> None:
        """Lock a row for SELECT … FOR UPDATE; an optimistic transaction remembers it until its commit (tidb
        pkg/executor/select_lock.go; client-go, Op_Lock). Raises LockWait."""
        self.lock_row(stored, ordinal, handle)
        if not self.pessimistic:
            self._selected.append((stored.partitions[ordinal], handle))

    def lock_entry(self, stored: StoredTable, ordinal: int, key: RowKey, value: bytes, exists: bool = True) -> None:
        """Lock an entry of a unique index. Raises LockWait."""
        self._reader(stored)
        self.lock((stored.entries(ordinal, key.unpartitioned), key.index_id, value), exists)

    def presume(self, stored: StoredTable, ordinal: int, handle: Handle, error: SqlError) -> bool:
        """Return whether the transaction takes a key for free that a committed row has: an optimistic one does, and is
        refused at its commit (tidb pkg/kv, PresumeKeyNotExists)."""
        if self.pessimistic or handle in self._rows.get(stored.partitions[ordinal], ()):
            return False
        self._presumed.append((self.position + 1, error))
        return True

    def put(
        self,
        stored: StoredTable,
        ordinal: int,
        handle: Handle,
        cells: Cells | None,
        keys: Sequence[tuple[RowKey, bytes | None, bytes | None]] = (),
    ) -> None:
        """Write a row (None deletes it), and its entries: each key with its value before and after, None for none."""
        rows = stored.partitions[ordinal]
        if rows not in self._tables:
            self._reader(stored)
            self._tables[rows] = (stored, ordinal)
        self._set(self._rows.setdefault(rows, {}), handle, cells)
        for key, before, after in keys:
            where = stored.entries(ordinal, key.unpartitioned)
            entries = self._entries.setdefault((where, key.index_id), {})
            if before is not None and before != after:
                self._set(entries, before, None)
            if after is not None:
                self._set(entries, after, (ordinal, handle) if key.unpartitioned else handle)

    def _set(self, buffer: dict[Any, Any], key: Any, value: Any) -> None:
        self._undo.append((buffer, key, buffer.get(key, MISSING)))
        buffer[key] = value
        self._changes = None

    # -- savepoints ----------------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """The number of writes so far, to which `undo` returns."""
        return len(self._undo)

    def undo(self, position: int) -> None:
        """Take back the writes after a position. Locks stay (tidb: ROLLBACK TO SAVEPOINT keeps them)."""
        self._changes = None
        while self._presumed and self._presumed[-1][0] > position:
            self._presumed.pop()
        while len(self._undo) > position:
            buffer, key, before = self._undo.pop()
            if before is MISSING:
                del buffer[key]
            else:
                buffer[key] = before

    def savepoint(self, name: str) -> None:
        """Set a savepoint, which replaces one of the same name."""
        self._savepoints = [each for each in self._savepoints if each[0] != name.lower()]
        self._savepoints.append((name.lower(), self.position))

    def rollback_to(self, name: str) -> None:
        """Take back what was written after a savepoint, which stays. Raises SqlError 1305."""
        place = self._found(name)
        self.undo(self._savepoints[place][1])
        del self._savepoints[place + 1 :]

    def release_savepoint(self, name: str) -> None:
        """Forget a savepoint and those after it. Raises SqlError 1305."""
        del self._savepoints[self._found(name) :]

    def _found(self, name: str) -> int:
        names = [each[0] for each in self._savepoints]
        if name.lower() not in names:
            raise sql_error(1305, "SAVEPOINT", name)
        return names.index(name.lower())

    # -- the end -------------------------------------------------------------------------------------------------------

    @property
    def has_writes(self) -> bool:
        return any(self._rows.values())

    def changes(self) -> list[Change]:
        """Return the net change of each key that was written: tables by their first writes, then partitions and keys.

        A row that is inserted and deleted is among them, without images: TiKV has its deletion.
        """
        if self._changes is not None:
            return self._changes
        order: dict[StoredTable, list[tuple[int, TableRows]]] = {}
        for rows, (stored, ordinal) in self._tables.items():
            order.setdefault(stored, []).append((ordinal, rows))
        self._changes = found = []
        for stored, parts in order.items():
            for ordinal, rows in sorted(parts, key=lambda part: part[0]):
                own = self._rows[rows]
                for handle in sorted(own):
                    cells = own[handle]
                    before, after = rows.version(handle), None if cells is None else image_of(cells)
                    gone = self._last_image(own, handle) if before is None and after is None else None
                    found.append(Change(stored, ordinal, handle, before, after, gone))
        return found

    def _last_image(self, buffer: dict[Handle, Cells | None], handle: Handle) -> bytes | None:
        """Return the image that a deleted row of the buffer had last."""
        for other, key, cells in reversed(self._undo):
            if other is buffer and key == handle and cells is not MISSING and cells is not None:
                return image_of(cells)
        return None

    @property
    def lock_count(self) -> int:
        return len(self._locked)

    def release_locks(self, count: int) -> None:
        """Release the locks behind the first ones: those of a statement that is refused (tidb pkg/session,
        client-go LockKeys, asyncPessimisticRollback)."""
        keys = [*self._locked][count:]
        self._locks.release(self, keys)
        for key in keys:
            del self._locked[key]

    def check(self) -> None:
        """Raise SqlError 9007 if another transaction has written a key since an optimistic one began, or a younger one has
        locked it; 1062 if it has a key of another row. Raises LockWait for the lock of an older one."""
        if self.pessimistic:
            return
        for rows, own in self._rows.items():
            for handle in own:
                self._check_key((rows, handle), rows.committed(handle))
        for (rows, index), entries in self._entries.items():
            for value in entries:
                self._check_key((rows, index, value), rows.entry_committed(index, value))
        for rows, handle in self._selected:
            self._check_key((rows, handle), rows.committed(handle))
        for _, error in self._presumed:
            raise error

    def _check_key(self, key: Hashable, committed: int) -> None:
        if committed > self.start_ts:
            raise _conflict(self.start_ts, committed)
        owner = self._locks.owner(key, self)
        if owner is not None:
            if owner.start_ts > self.start_ts:
                raise _conflict(self.start_ts, owner.start_ts)
            raise LockWait(owner)

    def write(self, ts: int, safe_ts: int) -> None:
        """Write the buffer into the tables as a commit at `ts`. Nothing can be read or taken back after it."""
        changed = self.changes()
        self._rows, self._undo = {}, []
        for (stored, ordinal), changes in groupby(changed, lambda change: change[:2]):
            layout = layout_of(stored.table)
            versions = ((change.handle, Version(ts, change.after, layout)) for change in changes)
            stored.partitions[ordinal].write_all(versions, safe_ts)
        for (rows, index), entries in self._entries.items():
            for key, owner in entries.items():
                rows.write_entry(index, key, Entry(ts, owner), safe_ts)

    def copy(
        self,
        locks: Locks,
        position: int,
        rows_of: Mapping[TableRows, TableRows],
        stored_there: Callable[[Table], StoredTable],
    ) -> Transaction:
        """Return the transaction after `position` writes, on the copied rows of another database; `stored_there` returns a
        table as it is stored there."""
        other = Transaction(locks, self.start_ts, self.pessimistic, self.explicit)
        copies = {id(buffer): dict(buffer) for buffer in (*self._rows.values(), *self._entries.values())}
        other._rows = {rows_of[rows]: copies[id(buffer)] for rows, buffer in self._rows.items()}
        other._entries = {(rows_of[rows], index): copies[id(each)] for (rows, index), each in self._entries.items()}
        for rows, (of, at) in self._tables.items():
            other._tables[rows_of[rows]] = stored_there(of.table), at
        other._undo = [(copies[id(buffer)], key, value) for buffer, key, value in self._undo]
        other._savepoints = [each for each in self._savepoints if each[1] <= position]
        other.undo(position)
        return other

    def end(self) -> None:
        """Release the locks. What is in the buffer is forgotten."""
        self._locks.release(self, self._locked)
        self._locked = {}
        self._rows, self._entries, self._undo, self._presumed, self._changes = {}, {}, [], [], None


def _conflict(start_ts: int, committed: int) -> Exception:
    return sql_error_with_text(
        9007, f"Write conflict, txnStartTS={start_ts}, conflictStartTS={committed}, reason=Optimistic [try again later]"
    )


def _merged(
    own: dict[Handle, Cells | None],
    mine: list[Handle],
    committed: Iterator[tuple[Handle, Version]],
    read: Any,
    descending: bool,
) -> Iterator[tuple[Handle, Cells]]:
    """Yield committed rows and those of a transaction, which replace them, in the order of handles."""
    place = 0
    for handle, version in committed:
        while place < len(mine) and (mine[place] > handle if descending else mine[place] < handle):
            cells = own[mine[place]]
            if cells is not None:
                yield mine[place], cells
            place += 1
        if handle not in own:
            yield handle, read(version)
    for handle in mine[place:]:
        cells = own[handle]
        if cells is not None:
            yield handle, cells
