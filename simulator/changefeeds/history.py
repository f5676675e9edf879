"""The commits of a served TiDB, kept once for all its changefeeds.

A commit has a number for ever. The oldest commits are dropped as TiDB's garbage collection drops versions of rows; DDL
statements stay, so that a changefeed that begins later knows the tables.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from simulator import tso
from simulator.tidb.engine import CommittedTransaction, CompletedDdl, Event, TableChanges

HISTORY_MS = 10 * 60 * 1000
"""How long commits are kept, as versions of rows are: the default of tidb_gc_life_time."""

MOST_BYTES = 256 << 20
"""The bytes of row changes that are kept at most, however new they are."""

LOOSE, PACKED = 4096, 256
"""The bytes that the changes of a table take in memory besides their values, as measured: as they come, and packed."""

PACKED_TOGETHER = 256
"""Commits whose arrays are joined. As many newer ones stay as they are: most changefeeds have still to read them."""


class Commit(NamedTuple):
    """What one statement has committed."""

    events: tuple[Event, ...]
    now_ms: int
    """The millisecond of the first event."""

    end_ms: int
    """The first millisecond behind all events."""

    changes: int
    """In how many tables transactions have changed rows, each transaction counted for itself."""

    size: int
    """The bytes that these changes take in memory."""

    has_statements: bool
    """Whether some of it is DDL."""

    @property
    def last_ts(self) -> int:
        """The commit-ts of the last event."""
        return tso.compose(self.end_ms - 1, tso.ROW_LOGICAL + self.has_statements)

    @property
    def statements(self) -> Commit:
        """Its DDL alone."""
        return self._replace(events=tuple(each for each in self.events if isinstance(each, CompletedDdl)), size=0)


def commit_of(events: Sequence[Event], now_ms: int) -> Commit:
    """Return the commit of events of which the first happens at `now_ms`: each later transaction takes a millisecond."""
    end_ms, changes, size, has_statements = now_ms + 1, 0, 0, False
    for place, event in enumerate(events):
        if isinstance(event, CompletedDdl):
            has_statements = True
            continue
        end_ms += place > 0
        changes += len(event.changes)
        size += sum(map(_bytes, event.changes))
    return Commit(tuple(events), now_ms, end_ms, changes, size + changes * LOOSE, has_statements)


def _bytes(changes: TableChanges) -> int:
    return int(changes.before.get_total_buffer_size() + changes.after.get_total_buffer_size())


class _Joined:
    """The changes of many transactions in one table, with their arrays joined."""

    def __init__(self) -> None:
        self.parts: list[TableChanges] = []
        self.rows = 0
        self.changes: TableChanges | None = None

    def join(self) -> None:
        first = self.parts[0]
        joined = {name: pa.concat_arrays([getattr(each, name) for each in self.parts]) for name in _arrays(first)}
        self.changes, self.parts = replace(first, **joined), []


class _PackedChanges(NamedTuple):
    """The changes of a transaction in a table, among those of others."""

    joined: _Joined
    start: int
    rows: int

    def unpacked(self) -> TableChanges:
        every = self.joined.changes
        assert every is not None
        return replace(every, **{name: each.slice(self.start, self.rows) for name, each in _arrays(every).items()})


ARRAYS = ("partition", "handle", "row_id", "before", "after", "lacking", "gone")


def _arrays(changes: TableChanges) -> dict[str, pa.Array]:
    """Return the arrays that there are, by the names of their fields."""
    arrays = {name: getattr(changes, name) for name in ARRAYS}
    return {name: array for name, array in arrays.items() if array is not None}


def _pack(commits: Sequence[Commit]) -> list[Commit]:
    """Return commits with the arrays of all changes of a table joined, which take a tenth of the memory."""
    groups: dict[tuple[object, ...], _Joined] = {}

    def packed(event: Event) -> Any:
        if isinstance(event, CompletedDdl):
            return event
        places = []
        for changes in event.changes:
            form = id(changes.table), changes.are_rewritten, changes.lacking is None, changes.gone is None
            joined = groups.get(form)
            if joined is None:
                joined = groups[form] = _Joined()
            rows = len(changes.handle)
            places.append(_PackedChanges(joined, joined.rows, rows))
            joined.parts.append(changes)
            joined.rows += rows
        return tuple(places)

    after = [
        commit._replace(events=tuple(map(packed, commit.events)), size=commit.size - commit.changes * (LOOSE - PACKED))
        for commit in commits
    ]
    for joined in groups.values():
        joined.join()
    return after


def _unpack(commit: Commit) -> Commit:
    events = (
        CommittedTransaction(tuple(each.unpacked() for each in event)) if isinstance(event, tuple) else event
        for event in commit.events
    )
    return commit._replace(events=tuple(events))


class History:
    """The commits so far. Any thread may read it, while one adds to it."""

    def __init__(self) -> None:
        self.keeps = True
        """Whether commits are kept; if not, they are gone with the next one."""

        self.first = 0
        """The number of the oldest commit that is kept."""

        self.now_ms = 0
        """The first millisecond behind all commits."""

        self.safe_ts = 0
        """A changefeed must begin above this TSO: what is older is gone."""

        self.statements: list[Commit] = []
        """The commits with DDL, from the beginning, without their rows."""

        self._commits: list[Commit] = []
        self._packed = 0
        """How many of them are packed."""

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
            if not self.keeps:
                self.first, self._commits, self._packed, self._bytes = self.end, [], 0, 0
                self.safe_ts = tso.compose(commit.now_ms) - 1
            self._commits.append(commit)
            self._bytes += commit.size
            self.now_ms = commit.end_ms
            if commit.has_statements:
                self.statements.append(commit.statements)
            if len(self._commits) - self._packed >= 2 * PACKED_TOGETHER:
                self._pack_some()

    def _pack_some(self) -> None:
        some = slice(self._packed, self._packed + PACKED_TOGETHER)
        before = self._commits[some]
        self._commits[some] = _pack(before)
        self._bytes -= sum(commit.changes for commit in before) * (LOOSE - PACKED)
        self._packed = some.stop

    def remember(self, statements: Commit) -> None:
        """Add statements that were executed before all commits."""
        self.statements.append(statements)
        self.now_ms = max(self.now_ms, statements.end_ms)

    def since(self, number: int, most: int) -> Sequence[Commit] | None:
        """Return at most so many commits from that number on; None if some of them are gone."""
        with self._lock:
            place = number - self.first
            commits = self._commits[place : place + most] if place >= 0 else None
        return None if commits is None else [*map(_unpack, commits)]

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
            self._packed = max(0, self._packed - count)
            self.first += count
