"""Earlier states of the database, for reads at `tidb_snapshot`."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import datetime

from simulator import tso
from simulator.errors import SqlError
from simulator.tidb.sql_engine.errors import sql_error_with_text
from simulator.tidb.sql_engine.sessions.clock import time_zone
from simulator.tidb.sql_engine.storage.state import SqlSession, Upstream

KEPT_MS = 10 * 60 * 1000
"""tidb_gc_life_time."""

KEPT_STATES = 1_000

SNAPSHOT = "tidb_snapshot"


class History:
    """The states before the last commits."""

    def __init__(self) -> None:
        self._states: deque[tuple[int, Upstream]] = deque(maxlen=KEPT_STATES)
        """The commit-ts of a commit, and the state before it; in order."""

        self._safe_point = 0
        """Nothing before this TSO can be read."""

    def add(self, commit_ts: int, before: Upstream) -> None:
        if len(self._states) == KEPT_STATES:
            self._safe_point = self._states[0][0]
        self._states.append((commit_ts, before))
        oldest = tso.compose(max(0, tso.physical(commit_ts) - KEPT_MS))
        while self._states[0][0] < oldest:
            self._safe_point = self._states.popleft()[0]

    def upstream_at(self, session: SqlSession, now: Upstream, now_ms: int) -> Upstream:
        """Return the state at the session's tidb_snapshot. Raises SqlError 8055 before the oldest state that is kept,
        1105 for a time that has not come."""
        at = int(session.settings[SNAPSHOT])
        if at < self._safe_point:
            safe_point = tso.describe(self._safe_point)
            raise SqlError(8055, "HY000", f"snapshot is older than GC safe point {safe_point}")
        if tso.physical(at) > now_ms:
            raise sql_error_with_text(1105, "cannot set read timestamp to a future time")
        state = next((before for commit_ts, before in self._states if commit_ts > at), now)
        return replace(state, session=session, transaction=None)


def snapshot_ts(text: str, session: SqlSession) -> int:
    """Return the TSO that a value of tidb_snapshot means: a TSO, or a time in the session's zone. Raises SqlError."""
    if text.isdigit():
        return int(text)
    try:
        when = datetime.fromisoformat(text).replace(tzinfo=time_zone(session.time_zone))
    except ValueError:
        raise SqlError(1292, "22007", f"Incorrect datetime value: '{text}'") from None
    return tso.compose(int(when.timestamp() * 1000))
