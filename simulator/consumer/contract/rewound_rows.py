"""Rows with an older change repeated after a newer one.

A restart repeats everything in between, too: no change may be missing, and the newest must come last before a watermark
covers it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from itertools import chain

import numpy as np

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.consumer.contract.change_window import ChangeWindow, RowChangeArrays


@dataclass(frozen=True)
class SentChange:
    """A row change, by its place in the stream."""

    table: int
    ts: int
    offset: int


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
        self, sent: RowChangeArrays, low: Ints, repeated: Mask, window: ChangeWindow, marks: Ints, mark_ts: Ints
    ) -> list[SentChange]:
        """Return the older changes that were not followed by those to repeat. `low` has the highest watermark before each
        change, `marks` the number of changes before each watermark. Call this before the window keeps the batch."""
        if not self._last and not repeated.any():
            return []
        self._remember(np.unique(sent.row[repeated]), window)
        wrong: list[SentChange] = []
        here = np.flatnonzero(np.isin(sent.row, np.fromiter(self._known, np.int64)) & (sent.ts > low))
        changes = zip(*(column[here].tolist() for column in (sent.row, sent.table, sent.ts, sent.offset, repeated)))
        watermarks = zip(np.searchsorted(here, marks).tolist(), mark_ts.tolist())
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
