"""The row changes of a partition since the last watermark, to detect repeated changes and their order.

TiCDC resumes from a checkpoint that no watermark exceeds (tiflow v8.5 cdc/owner/changefeed.go). So changes covered by
a watermark are forgotten. Without watermarks the oldest changes above LIMIT are forgotten. A restart repeats
everything in between: no change may be missing, and the newest must come last before a watermark covers it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, fields, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.columns.hashing import stable_order

LIMIT = 1 << 21
"""Maximum number of remembered row changes."""

NEVER = np.int64(-1)
MIX, TURN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True)
class RowChangeArrays:
    """Row changes in order of arrival."""

    ts: Ints
    row: Ints
    """Hash of table and handle. Without a handle or an exact time it includes all values."""

    op: Ints
    key: Ints
    """Hash of the key by which TiCDC keeps the order; unused if that is the table."""

    offset: Ints
    table: Ints
    alone: Mask
    """Whether the hash identifies the row; False without a handle key."""

    def __len__(self) -> int:
        return len(self.ts)

    def at(self, places: Ints | Mask | slice) -> RowChangeArrays:
        return RowChangeArrays(*(getattr(self, field.name)[places] for field in fields(self)))

    @property
    def changes(self) -> npt.NDArray[np.uint64]:
        """Return a hash of each change."""
        hashes: npt.NDArray[np.uint64] = (
            self.row.view(np.uint64) ^ self.ts.view(np.uint64) * MIX ^ (self.op + 1).view(np.uint64) * TURN
        )
        return hashes


NOTHING: tuple[npt.NDArray[np.uint64], Mask] = np.zeros(0, np.uint64), np.zeros(0, np.bool_)


def concatenate(parts: list[RowChangeArrays]) -> RowChangeArrays:
    return RowChangeArrays(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(RowChangeArrays))
    )


class ChangeWindow:
    """The row changes since the last watermark."""

    def __init__(self) -> None:
        self._parts: list[RowChangeArrays] = []
        self._top = self._last = NEVER
        self._same_time = NOTHING
        """Changes without a handle key at the last commit-ts, and whether they are repeated."""

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def tops(self, ts: Ints) -> Ints:
        """Return the highest commit-ts before each row; a repeated change is not above it."""
        tops: Ints = np.maximum.accumulate(np.concatenate(([self._top], ts)))[:-1]
        return tops

    def again(self, sent: RowChangeArrays, behind: Ints) -> Mask:
        """Return which changes are repeated; without a row hash only those `behind` others can be."""
        repeated = np.zeros(len(sent), np.bool_)
        if not len(sent) or not len(behind) and sent.alone.all():
            return repeated
        changes = sent.changes
        for part in self._near(sent.ts[behind]) if len(behind) else ():
            repeated[behind] |= np.isin(changes[behind], part.changes)
        order = stable_order(changes)
        same = changes[order][1:] == changes[order][:-1]
        if not sent.alone.all():
            same = self._equal_rows(sent, order, same, repeated)
        repeated[order[1:][same]] = True
        return repeated

    def _equal_rows(self, sent: RowChangeArrays, order: Ints, same: Mask, repeated: Mask) -> Mask:
        """Rows of a transaction without a handle key may be equal. Such a row is repeated only if the row before it is,
        or if rows of another time lie between."""
        time_group = np.cumsum(np.concatenate(([self._last != sent.ts[0]], np.diff(sent.ts) != 0)))
        changes, begun = sent.changes, self._same_time
        goes_on = ~sent.alone & (time_group == 0) & np.isin(changes, begun[0])
        if goes_on.any():
            repeated[goes_on] = np.isin(changes[goes_on], begun[0][begun[1]])
        beside = same & ~sent.alone[order][1:] & (np.diff(time_group[order]) == 0)
        leads = np.maximum.accumulate(np.where(np.concatenate(([True], ~beside)), np.arange(len(order)), 0))
        here = np.concatenate(([False], same & ~beside)) | repeated[order]
        repeated[order] = here[leads]
        last = ~sent.alone & (time_group == time_group[-1])
        known = begun if time_group[-1] == 0 else NOTHING
        self._same_time = (np.concatenate((known[0], changes[last])), np.concatenate((known[1], repeated[last])))
        return same & sent.alone[order][1:]

    def highest(self, sent: RowChangeArrays, behind: Ints) -> Ints:
        """Return the highest commit-ts with the same key before each of the rows `behind`; -1 if there is none, or it
        is not above all."""
        highest_ts = np.full(len(sent), NEVER)
        if not len(behind):
            return highest_ts
        highest_ts = highest_before(sent.key, sent.ts)
        keys, places = np.unique(sent.key[behind], return_inverse=True)
        tops = np.full(len(keys), NEVER)
        for part in self._near(sent.ts[behind]):
            at = np.minimum(np.searchsorted(keys, part.key), len(keys) - 1)
            same = keys[at] == part.key
            np.maximum.at(tops, at[same], part.ts[same])
        highest_ts[behind] = np.maximum(highest_ts[behind], tops[places])
        return highest_ts

    def of(self, rows: Ints) -> RowChangeArrays | None:
        """Return all remembered changes of these rows."""
        parts = [part.at(np.isin(part.row, rows)) for part in self._parts]
        return concatenate(parts) if parts else None

    def keep(self, sent: RowChangeArrays, low: int) -> None:
        """Remember these changes, and forget those that the watermark `low` covers."""
        if len(sent):
            self._parts.append(sent)
            self._top, self._last = max(self._top, sent.ts.max()), sent.ts[-1]
        self._parts = [part.at(part.ts > low) if part.ts.min() <= low else part for part in self._parts]
        self._parts = [part for part in self._parts if len(part)]
        while self._parts and len(self) - len(self._parts[0]) > LIMIT:
            del self._parts[0]

    def state(self, low: int, names: Ints) -> list[bytes]:
        """Return that by which later changes above the watermark `low` are checked; `names` stand for the numbers of
        tables."""
        parts = [part.at(part.ts > low) for part in self._parts]
        known = replace(every := concatenate(parts), table=names[every.table]) if parts else None
        arrays = [] if known is None else [getattr(known, field.name) for field in fields(known)]
        top, last = (max(ts, np.int64(low)) for ts in (self._top, self._last))
        same_time = self._same_time if last > low else NOTHING
        return [array.tobytes() for array in (*arrays, top, last, *same_time)]

    def _near(self, ts: Ints) -> list[RowChangeArrays]:
        """Return the parts that overlap these times."""
        first = ts.min()
        return [part for part in self._parts if part.ts.max() >= first]


def highest_before(groups: Ints, ts: Ints) -> Ints:
    """Return for each row the highest commit-ts among the earlier rows of its group; -1 for the first."""
    highest_ts = np.full(len(ts), NEVER)
    if len(ts) < 2:
        return highest_ts
    order = np.argsort(groups, kind="stable")
    values, ranks = np.unique(ts[order], return_inverse=True)
    first = np.concatenate(([True], np.diff(groups[order]) != 0))
    begin = (np.cumsum(first) - 1) * len(values)
    tops = values[np.maximum.accumulate(begin + ranks) - begin]
    highest_ts[order[1:]] = np.where(first[1:], NEVER, tops[:-1])
    return highest_ts


@dataclass(frozen=True)
class SentChange:
    """A row change, by its place in the stream."""

    table: int
    ts: int
    offset: int


@dataclass(frozen=True)
class WatermarksBetween:
    """The watermarks between row changes."""

    low: Ints
    """The highest watermark before each change."""

    before: Ints
    """The number of changes before each watermark."""

    ts: Ints


class RewoundRows:
    """The rows that were rewound to an older change, each with its last one. What is found does not depend on batches."""

    def __init__(self) -> None:
        self._last: dict[int, SentChange] = {}
        self._known: dict[int, list[int]] = {}
        """The commit-ts of all changes of these rows above the last watermark, ascending."""

    @property
    def waits(self) -> bool:
        """Return whether there are any."""
        return bool(self._last)

    def take(
        self, sent: RowChangeArrays, repeated: Mask, marks: WatermarksBetween, window: ChangeWindow
    ) -> list[SentChange]:
        """Return the older changes that were not followed by those to repeat. Call this before the window keeps the batch."""
        if not self._last and not repeated.any():
            return []
        self._remember(np.unique(sent.row[repeated]), window)
        wrong: list[SentChange] = []
        here = np.flatnonzero(np.isin(sent.row, np.fromiter(self._known, np.int64)) & (sent.ts > marks.low))
        changes = zip(*(column[here].tolist() for column in (sent.row, sent.table, sent.ts, sent.offset, repeated)))
        watermarks = zip(np.searchsorted(here, marks.before).tolist(), marks.ts.tolist())
        place, low_ts = next(watermarks, (len(here), 0))
        for number, change in enumerate(chain(changes, [None])):
            while place <= number and low_ts:
                wrong += self._covered(low_ts)
                place, low_ts = next(watermarks, (len(here), 0))
            if change is not None:
                row, table, ts, offset, again = change
                wrong += self._follow(row, SentChange(table, ts, offset), again)
        self._known = {row: self._known[row] for row in self._last}
        return wrong

    def end(self) -> list[SentChange]:
        """Return the last changes of the remaining rows."""
        return [*self._last.values()]

    def _remember(self, rows: Ints, window: ChangeWindow) -> None:
        """Add rows with their earlier changes."""
        new = [row for row in rows.tolist() if row not in self._known]
        self._known |= {row: [] for row in new}
        before = window.of(np.array(new, np.int64))
        if before is not None:
            order = np.lexsort((before.ts, before.row))
            for row, ts in zip(before.row[order].tolist(), before.ts[order].tolist()):
                if ts not in self._known[row][-1:]:
                    self._known[row].append(ts)

    def _follow(self, row: int, change: SentChange, again: bool) -> list[SentChange]:
        """Note the next change of a row; return the one before it if it skips others."""
        known, last, wrong = self._known[row], self._last.pop(row, None), list[SentChange]()
        if last is not None and change.ts > self._next(row, last):
            wrong.append(last)
            last = None
        if not known or known[-1] < change.ts:
            known.append(change.ts)
        elif last is not None or again:
            self._last[row] = change
        if change.ts not in known[bisect_right(known, change.ts) - 1 :][:1]:
            insort(known, change.ts)
        if self._next(row, change) == change.ts:
            self._last.pop(row, None)
        return wrong

    def _covered(self, low: int) -> list[SentChange]:
        """Return the last changes of rows of which a watermark covers the next one, too, which has not come again."""
        rows = [row for row, last in self._last.items() if last.ts < self._next(row, last) <= low]
        return [self._last.pop(row) for row in rows]

    def _next(self, row: int, change: SentChange) -> int:
        """Return the commit-ts of the next known change of a row; that of this one if it is the newest."""
        known = self._known[row]
        at = bisect_right(known, change.ts)
        return known[at] if at < len(known) else change.ts
