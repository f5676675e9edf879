"""The commits of a served TiDB, kept once for all its changefeeds.

A commit has a number for ever. The oldest commits are dropped as TiDB's garbage collection drops versions of rows; DDL
statements stay, so that a changefeed that begins later knows the tables.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from simulator import tso
from simulator.tidb.engine.outcome import CommittedTransaction, CompletedDdl, Event

HISTORY_MS = 10 * 60 * 1000
"""How long commits are kept, as versions of rows are: the default of tidb_gc_life_time."""

MOST_BYTES = 256 << 20
"""The bytes of row changes that are kept at most, however new they are."""

PER_TABLE = 2048
"""The bytes that the changes of a table take in memory besides their values, as measured."""


@dataclass(frozen=True)
class Commit:
    """What one statement has committed."""

    events: tuple[Event, ...]
    now_ms: int
    """The millisecond of the first event."""

    end_ms: int
    """The first millisecond behind all events."""

    @property
    def last_ts(self) -> int:
        """The commit-ts of the last event."""
        return tso.compose(self.end_ms - 1, tso.ROW_LOGICAL + bool(self.statements))

    @property
    def statements(self) -> tuple[Event, ...]:
        return tuple(event for event in self.events if isinstance(event, CompletedDdl))

    @property
    def size(self) -> int:
        """The bytes that its row changes take in memory."""
        changes = (each for event in self.events if isinstance(event, CommittedTransaction) for each in event.changes)
        return sum(
            PER_TABLE + each.handle.nbytes + each.before.nbytes + each.after.nbytes + each.row_id.nbytes
            for each in changes
        )


def commit_of(events: Sequence[Event], now_ms: int) -> Commit:
    """Return the commit of events of which the first happens at `now_ms`: each later transaction takes a millisecond."""
    later = sum(isinstance(event, CommittedTransaction) for event in events[1:])
    return Commit(tuple(events), now_ms, now_ms + later + 1)


class History:
    """The commits so far. Any thread may read it, while one adds to it."""

    def __init__(self) -> None:
        self.first = 0
        """The number of the oldest commit that is kept."""

        self.now_ms = 0
        """The first millisecond behind all commits."""

        self.safe_ts = 0
        """A changefeed must begin above this TSO: what is older is gone."""

        self.statements: list[Commit] = []
        """The commits with DDL, from the beginning, without their rows."""

        self._commits: list[Commit] = []
        self._bytes = 0
        self._lock = threading.Lock()

    def begin(self, now_ms: int) -> None:
        """Begin at a millisecond, with nothing before."""
        self.now_ms, self.safe_ts = now_ms, tso.compose(max(0, now_ms - HISTORY_MS))

    @property
    def first_ms(self) -> int:
        """The millisecond of the oldest commit that is kept, or of the next one."""
        return self._commits[0].now_ms if self._commits else self.now_ms

    @property
    def end(self) -> int:
        """The number of the next commit."""
        return self.first + len(self._commits)

    def append(self, commit: Commit) -> None:
        """Add the newest commit."""
        with self._lock:
            self._commits.append(commit)
            self._bytes += commit.size
            self.now_ms = commit.end_ms
            if commit.statements:
                self.statements.append(Commit(commit.statements, commit.now_ms, commit.end_ms))

    def remember(self, statements: Commit) -> None:
        """Add statements that were executed before all commits."""
        self.statements.append(statements)
        self.now_ms = max(self.now_ms, statements.end_ms)

    def since(self, number: int, most: int) -> Sequence[Commit] | None:
        """Return at most so many commits from that number on; None if some of them are gone."""
        with self._lock:
            place = number - self.first
            return self._commits[place : place + most] if place >= 0 else None

    def place(self, ts: int) -> tuple[int, int]:
        """Return the number of the first commit above a TSO, and the millisecond from which on everything is above it."""
        with self._lock:
            place = bisect_right(self._commits, ts, key=lambda commit: commit.last_ts)
            before = self._commits[place - 1].end_ms if place else 0
            return self.first + place, max(tso.physical(ts), before)

    def statements_until(self, ts: int) -> Sequence[Commit]:
        """Return the statements up to a TSO, from the beginning."""
        with self._lock:
            return self.statements[: bisect_right(self.statements, ts, key=lambda commit: commit.last_ts)]

    def collect(self, now_ms: int, needed_ts: int) -> None:
        """Drop commits that are older than HISTORY_MS and below `needed_ts`, and any that are too many bytes."""
        with self._lock:
            count = 0
            for commit in self._commits:
                old = commit.now_ms < now_ms - HISTORY_MS and commit.last_ts < needed_ts
                if not old and self._bytes <= MOST_BYTES:
                    break
                self._bytes -= commit.size
                self.safe_ts = commit.last_ts
                count += 1
            del self._commits[:count]
            self.first += count
