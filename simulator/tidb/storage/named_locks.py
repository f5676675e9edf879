"""The locks of GET_LOCK, each held by one session several times (tidb pkg/expression/builtin_miscellaneous.go)."""

from __future__ import annotations

from typing import Any


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
