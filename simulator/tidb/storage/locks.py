"""Locks on keys, and who waits for whom.

A pessimistic transaction locks each key that its statements touch until it ends (tidb pkg/store: PessimisticLock). A
statement that meets another transaction's lock raises LockWait; its caller undoes the statement, waits for the owner to
end, and runs it again. A circle of waiting transactions is a deadlock, and the one that closes it is refused (tikv
deadlock detector).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from simulator.tidb.ddl.catalog import Key
from simulator.tidb.errors import sql_error_with_text

DEADLOCK = "Deadlock found when trying to get lock; try restarting transaction"


class Owner:
    """A transaction, as locks know it."""

    start_ts: int


class LockWait(Exception):
    """A key is locked by another transaction."""

    def __init__(self, owner: Owner, seconds: float | None = None) -> None:
        """`seconds` is how long the statement waits; None for innodb_lock_wait_timeout."""
        super().__init__()
        self.owner, self.seconds = owner, seconds


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

    def lock(self, key: Hashable, transaction: Owner) -> bool:
        """Lock a key, and return whether it was free. Raises LockWait."""
        owner = self._owners.setdefault(key, transaction)
        if owner is not transaction:
            raise LockWait(owner)
        return True

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
