"""The rows of a table or of one partition, and the entries of its unique indexes, with their versions and locks.

A version is the ts of a commit, the row image (None once deleted) and the ids of the columns that the image has. The
last one is the newest. A row keeps the layout it was written in: a reader fills columns that were added since with
their origin defaults, as TiDB does (tidb pkg/util/rowcodec, ChunkDecoder; pkg/table/tables, GetColOriginDefaultValue).

A pessimistic transaction locks each key that its statements touch until it ends (tidb pkg/store: PessimisticLock). A
statement that meets another transaction's lock raises LockWait; its caller undoes the statement, waits for the owner to
end, and runs it again. A circle of waiting transactions is a deadlock, and the one that closes it is refused (tikv
deadlock detector).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from sortedcontainers import SortedDict

from simulator.tidb.ddl.catalog import Key
from simulator.tidb.errors import sql_error_with_text

Handle: TypeAlias = Any
"""The integer of a clustered key, `_tidb_rowid`, or the ordered bytes of any other clustered key. Those of one table have
one type."""

Layout: TypeAlias = tuple[int, ...]
"""The ids of the columns of an image, in its order."""

NEWEST = 1 << 63
"""A ts above all commits."""


class Version(NamedTuple):
    """A row as a commit left it."""

    ts: int
    image: bytes | None
    """The TiDB text of each column of the layout, joined by 0xFF, with 0xFE for NULL; None once deleted."""

    layout: Layout


class Entry(NamedTuple):
    """An entry of a unique index as a commit left it."""

    ts: int
    handle: Handle | None


class KeyRange(NamedTuple):
    """Handles that are read: those between two, which are among them, None for no bound; and their order."""

    low: Handle | None = None
    high: Handle | None = None
    descending: bool = False


ALL_KEYS = KeyRange()

Versioned = TypeVar("Versioned", Version, Entry)


def visible(versions: list[Versioned] | None, ts: int) -> Versioned | None:
    """Return the version that a reader at `ts` sees; None for none."""
    if not versions:
        return None
    if versions[-1].ts <= ts:
        return versions[-1]
    place = bisect_right(versions, ts, key=lambda version: version.ts)
    return versions[place - 1] if place else None


def _append(versions: list[Versioned], version: Versioned, safe_ts: int) -> None:
    """Append a version, and forget those that no reader at `safe_ts` or later sees."""
    if versions and versions[0].ts <= safe_ts:
        place = bisect_right(versions, safe_ts, key=lambda each: each.ts)
        del versions[: place - 1]
    versions.append(version)


class TableRows:
    """The rows of a table or partition. Only a commit writes to them."""

    __slots__ = ("entries", "rows")

    def __init__(self) -> None:
        self.rows: SortedDict[Handle, list[Version]] = SortedDict()
        self.entries: dict[int, dict[bytes, list[Entry]]] = {}
        """The entries by the id of the index and the bytes of the key."""

    def version(self, handle: Handle, ts: int = NEWEST) -> Version | None:
        """Return the row that a reader at `ts` sees; None if there is none."""
        version = visible(self.rows.get(handle), ts)
        return None if version is None or version.image is None else version

    def committed(self, handle: Handle) -> int:
        """Return the ts of the last commit that wrote a row; 0 for none."""
        versions = self.rows.get(handle)
        return versions[-1].ts if versions else 0

    def entry_committed(self, index: int, key: bytes) -> int:
        """Return the ts of the last commit that wrote an entry of a unique index; 0 for none."""
        versions = self.entries.get(index, {}).get(key)
        return versions[-1].ts if versions else 0

    def handle_of(self, index: int, key: bytes, ts: int = NEWEST) -> Handle | None:
        """Return the handle of the row that has a key in a unique index; None for none."""
        entry = visible(self.entries.get(index, {}).get(key), ts)
        return None if entry is None else entry.handle

    def scan(self, ts: int = NEWEST, keys: KeyRange = ALL_KEYS) -> Iterator[tuple[Handle, Version]]:
        """Yield the rows that a reader at `ts` sees, by handle. No commit may write meanwhile."""
        if keys == ALL_KEYS:
            handles: Iterator[Handle] = iter(self.rows)
        else:
            handles = self.rows.irange(keys.low, keys.high, reverse=keys.descending)
        for handle in handles:
            version = visible(self.rows[handle], ts)
            if version is not None and version.image is not None:
                yield handle, version

    def write(self, handle: Handle, version: Version, safe_ts: int) -> None:
        """Write a row. Versions that no reader at `safe_ts` or later sees are forgotten."""
        versions = self.rows.get(handle)
        if versions is None:
            self.rows[handle] = [version]
        else:
            _append(versions, version, safe_ts)

    def write_all(self, changes: Iterable[tuple[Handle, Version]], safe_ts: int) -> None:
        """Write rows, each once."""
        added = {}
        for handle, version in changes:
            versions = self.rows.get(handle)
            if versions is None:
                added[handle] = [version]
            else:
                _append(versions, version, safe_ts)
        if added:
            self.rows.update(added)

    def write_entry(self, index: int, key: bytes, entry: Entry, safe_ts: int) -> None:
        """Write an entry of a unique index."""
        _append(self.entries.setdefault(index, {}).setdefault(key, []), entry, safe_ts)

    def forget(self, handle: Handle, safe_ts: int) -> None:
        """Forget a row that was deleted at `safe_ts` or before."""
        versions = self.rows.get(handle)
        if versions and versions[-1].image is None and versions[-1].ts <= safe_ts:
            del self.rows[handle]

    def copy(self, ts: int) -> TableRows:
        """Return what a reader at `ts` sees."""
        other = TableRows()
        other.rows.update((handle, [version]) for handle, version in self.scan(ts))
        for index, entries in self.entries.items():
            seen = ((key, visible(versions, ts)) for key, versions in entries.items())
            other.entries[index] = {
                key: [entry] for key, entry in seen if entry is not None and entry.handle is not None
            }
        return other


DEADLOCK = "Deadlock found when trying to get lock; try restarting transaction"


class Owner:
    """A transaction, as locks know it."""

    start_ts: int


class LockWait(Exception):
    """A key is locked by another transaction."""

    seconds: float | None = None
    """How long the statement waits; None for innodb_lock_wait_timeout."""

    def __init__(self, owner: Owner) -> None:
        super().__init__()
        self.owner = owner


class Pause(Exception):
    """A statement calls SLEEP, or GET_LOCK of a lock that another session holds. Its session undoes it. The caller waits
    some seconds, or until the lock is free, and executes it again, after it has appended what the call returns to
    `Session.resumed` unless the lock is free."""

    def __init__(self, seconds: float, lock: str = "") -> None:
        """`seconds` is negative for no end."""
        super().__init__()
        self.seconds, self.lock = seconds, lock


class TooLong(Exception):
    """A statement takes longer than `Session.patience`. Its session undoes it, and the caller executes it again without
    that limit."""


class Locks:
    """The locked keys with their owners."""

    def __init__(self) -> None:
        self._owners: dict[Hashable, Owner] = {}
        self._waiting: dict[Owner, Owner] = {}
        self.waiters: dict[Owner, frozenset[Key]] = {}
        """The DDL statements that wait, by a transaction that stands for each, with the tables that they change."""

    def owner(self, key: Hashable, but: Owner) -> Owner | None:
        """Return the other transaction that has locked a key; None for none."""
        owner = self._owners.get(key)
        return None if owner is but else owner

    def lock(self, key: Hashable, transaction: Owner) -> None:
        """Lock a key. Raises LockWait."""
        owner = self._owners.setdefault(key, transaction)
        if owner is not transaction:
            raise LockWait(owner)

    def wait(self, transaction: Owner, owner: Owner) -> None:
        """Note that a transaction waits for another one. Raises SqlError 1213 if that closes a circle."""
        following: Owner | None = owner
        while following is not None:
            if following is transaction:
                raise sql_error_with_text(1213, DEADLOCK)
            following = self._waiting.get(following)
        self._waiting[transaction] = owner

    def stop_waiting(self, transaction: Owner) -> None:
        self._waiting.pop(transaction, None)

    def release(self, transaction: Owner, keys: Iterable[Hashable]) -> None:
        """Release keys of a transaction."""
        for key in keys:
            if self._owners.get(key) is transaction:
                del self._owners[key]
        self.stop_waiting(transaction)


# -- GET_LOCK -------------------------------------------------------------------------------------------------------------


class NamedLocks:
    """Who holds which lock, and how often."""

    def __init__(self) -> None:
        self._holders: dict[str, tuple[Any, int]] = {}

    def holder(self, name: str) -> Any:
        """Return the session that holds a lock; None if it is free."""
        return self._holders.get(name, (None, 0))[0]

    def user(self, name: str) -> int | None:
        """Return the connection id of the session that holds a lock; None if it is free."""
        holder = self.holder(name)
        return None if holder is None else holder.settings.connection_id

    def get(self, name: str, session: Any) -> bool:
        """Lock a name once more, and return whether no other session holds it."""
        holder, times = self._holders.get(name, (session, 0))
        if holder is not session:
            return False
        self._holders[name] = (session, times + 1)
        return True

    def release(self, name: str, session: Any) -> int:
        """Return what RELEASE_LOCK does: 1, 0 for a lock that the session does not hold."""
        holder, times = self._holders.get(name, (None, 0))
        if holder is not session:
            return 0
        if times > 1:
            self._holders[name] = (session, times - 1)
        else:
            del self._holders[name]
        return 1

    def release_all(self, session: Any) -> int:
        """Release all locks of a session, and return how many times it held them."""
        held = {name: times for name, (holder, times) in self._holders.items() if holder is session}
        for name in held:
            del self._holders[name]
        return sum(held.values())
