"""Locks on keys, and who waits for whom.

A pessimistic transaction locks each key that its statements touch until it ends (tidb pkg/store: PessimisticLock). A
statement that meets another transaction's lock raises LockWait; its caller undoes the statement, waits for the owner to
end, and runs it again. A circle of waiting transactions is a deadlock, and the one that closes it is refused (tikv
deadlock detector).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from simulator.tidb.errors import sql_error_with_text

if TYPE_CHECKING:
    from simulator.tidb.storage.transactions import Transaction

DEADLOCK = "Deadlock found when trying to get lock; try restarting transaction"


class LockWait(Exception):
    """A key is locked by another transaction."""

    def __init__(self, owner: Transaction, seconds: float | None = None) -> None:
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


class Locks:
    """The locked keys with their owners."""

    def __init__(self) -> None:
        self._owners: dict[Hashable, Transaction] = {}
        self._waiting: dict[Transaction, Transaction] = {}

    def owner(self, key: Hashable, but: Transaction) -> Transaction | None:
        """Return the other transaction that has locked a key; None for none."""
        owner = self._owners.get(key)
        return None if owner is but else owner

    def lock(self, key: Hashable, transaction: Transaction) -> bool:
        """Lock a key, and return whether it was free. Raises LockWait."""
        owner = self._owners.setdefault(key, transaction)
        if owner is not transaction:
            raise LockWait(owner)
        return True

    def wait(self, transaction: Transaction, owner: Transaction) -> None:
        """Note that a transaction waits for another one. Raises SqlError 1213 if that closes a circle."""
        following: Transaction | None = owner
        while following is not None:
            if following is transaction:
                raise sql_error_with_text(1213, DEADLOCK)
            following = self._waiting.get(following)
        self._waiting[transaction] = owner

    def stop_waiting(self, transaction: Transaction) -> None:
        self._waiting.pop(transaction, None)

    def release(self, transaction: Transaction, keys: Iterable[Hashable]) -> None:
        """Release keys of a transaction."""
        for key in keys:
            if self._owners.get(key) is transaction:
                del self._owners[key]
        self.stop_waiting(transaction)
