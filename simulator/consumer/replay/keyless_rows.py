"""Rows of tables without a handle key: equal ones are told apart by nothing, and counted.

One law: in the end a row is there as often as it should be. A change that comes again after a restart is the same one
where it has a row id; where it has none it may be another one, and either count will do.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import Ints, ints
from simulator.consumer.replay.findings import Findings
from simulator.consumer.replay.frame import BEGIN, END, IMAGE_PAIR_SCHEMA
from simulator.consumer.replay.normalize import as_mask


class KeylessRowChecks:
    """Their halves, a batch after another, in ORDER."""

    def __init__(
        self, known: npt.NDArray[np.bool_], ends: npt.NDArray[np.bool_], restarts: bool, findings: Findings
    ) -> None:
        self._known, self._ends, self._restarts, self._findings = known, ends, restarts, findings
        self._carried = pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)
        """The last half, and in `_sums` what all of its row so far come to."""

        self._sums = np.zeros((4, 1), np.int64)

    def take(self, batch: pa.RecordBatch) -> None:
        went_on = bool(len(self._carried))
        rows = pa.concat_batches([self._carried, batch]) if went_on else batch
        starts, sums = self._summed(rows, 1 if went_on else 0)
        if went_on:
            sums[:, 0] += self._sums[:, 0]
        self._say(rows, starts[:-1], sums[:, :-1])
        self._carried, self._sums = rows.slice(len(rows) - 1), sums[:, -1:]

    def end(self) -> None:
        if len(self._carried):
            self._say(self._carried, np.zeros(1, np.int64), self._sums)

    def _summed(self, rows: pa.RecordBatch, first: int) -> tuple[Ints, Ints]:
        """Where each row's halves begin; and how often it was there at least and at most by the changes, was expected,
        and begins."""
        ts, table, handle = ints(rows, "commit_ts"), ints(rows, "table"), rows.column("handle")
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = (table[1:] != table[:-1]) | ~as_mask(pc.equal(handle.slice(1), handle.slice(0, len(rows) - 1)))
        comes = as_mask(pc.is_valid(rows.column("new")))
        again = np.zeros(len(rows), np.bool_)
        names = ("commit_ts", "rank", "place")
        equal = [np.diff(ints(rows, name)) == 0 for name in names]
        again[1:] = ~begins[1:] & np.logical_and.reduce(equal)
        turn = ints(rows, "turn")
        same = again & (turn >= 0)
        same[1:] &= turn[1:] == turn[:-1]
        again &= (ts != BEGIN) & (ts != END)
        doubtful = again & (turn < 0) & self._restarts
        change = (ts != END) & ~(same & again)
        sign = np.where(comes, 1, -1)
        sure = np.where(change & ~doubtful, sign, 0)
        least = sure + np.where(doubtful & ~comes, -1, 0)
        most = sure + np.where(doubtful & comes, 1, 0)
        wanted = (ts == END).astype(np.int64)
        values = np.stack([least, most, wanted, np.ones(len(rows), np.int64)])
        values[:, :first] = 0
        starts = np.flatnonzero(begins)
        return starts, np.add.reduceat(values, starts, axis=1)

    def _say(self, rows: pa.RecordBatch, starts: Ints, sums: Ints) -> None:
        if not len(starts):
            return
        groups = rows.take(pa.array(starts))
        table, (least, most, wanted, _) = ints(groups, "table"), sums
        findings, certain = self._findings, self._known[table]
        ends = self._ends[table] & certain
        found = np.clip(wanted, least, most)
        for number, count in (("expected", wanted), ("found", np.where(ends, found, np.maximum(most, 0)))):
            totals = np.bincount(table, count, 0)
            for place in np.flatnonzero(totals).tolist():
                findings.counts[number, place] += int(totals[place])
        handle = groups.column("handle")
        too_few, too_many = ends & (most < wanted), ends & (least > wanted)
        findings.add("row-missing", groups, too_few, _said(most), _said(wanted))
        findings.add("row-left", groups, too_many, _said(least), _said(wanted))
        findings.add("row-not-there", groups, certain & ~ends & (most < 0), None, handle)


def _said(counts: Ints) -> pa.Array:
    """How often, as digits."""
    return pc.cast(pc.cast(pa.array(counts), pa.string()), pa.binary())
