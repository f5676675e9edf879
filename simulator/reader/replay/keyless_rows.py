"""Checks of tables without a handle key, whose equal rows are counted instead of matched.

At the end a row must exist as often as expected. After a restart, a repeated change with a row id is the same change.
Without a row id it may be another change, and both counts are accepted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import Ints, ints
from simulator.reader.replay.findings import Findings
from simulator.reader.replay.frame import BEGIN, END, IMAGE_PAIR_SCHEMA
from simulator.reader.replay.normalize import as_mask


class KeylessRowChecks:
    """Checks image pairs in ORDER, batch by batch."""

    def __init__(
        self, known: npt.NDArray[np.bool_], ends: npt.NDArray[np.bool_], restarts: bool, findings: Findings
    ) -> None:
        self._known, self._ends, self._restarts, self._findings = known, ends, restarts, findings
        self._carried = pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)
        """The last image pair. `_sums` has the sums of its row so far."""

        self._sums = np.zeros((4, 1), np.int64)

    def take(self, batch: pa.RecordBatch) -> None:
        continues = bool(len(self._carried))
        rows = pa.concat_batches([self._carried, batch]) if continues else batch
        starts, sums = self._sum_rows(rows, 1 if continues else 0)
        if continues:
            sums[:, 0] += self._sums[:, 0]
        self._report(rows, starts[:-1], sums[:, :-1])
        self._carried, self._sums = rows.slice(len(rows) - 1), sums[:, -1:]

    def end(self) -> None:
        if len(self._carried):
            self._report(self._carried, np.zeros(1, np.int64), self._sums)

    def _sum_rows(self, rows: pa.RecordBatch, first: int) -> tuple[Ints, Ints]:
        """Return where each row's image pairs begin, and its minimum and maximum count after the changes, its expected
        count, and the number of its pairs."""
        ts, table, handle = ints(rows, "commit_ts"), ints(rows, "table"), rows.column("handle")
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = (table[1:] != table[:-1]) | ~as_mask(pc.equal(handle.slice(1), handle.slice(0, len(rows) - 1)))
        comes = as_mask(pc.is_valid(rows.column("new")))
        again = np.zeros(len(rows), np.bool_)
        names = ("commit_ts", "rank", "partition_index")
        equal = [np.diff(ints(rows, name)) == 0 for name in names]
        again[1:] = ~begins[1:] & np.logical_and.reduce(equal)
        sequence = ints(rows, "sequence")
        same = again & (sequence >= 0)
        same[1:] &= sequence[1:] == sequence[:-1]
        again &= (ts != BEGIN) & (ts != END)
        doubtful = again & (sequence < 0) & self._restarts
        change = (ts != END) & ~(same & again)
        sign = np.where(comes, 1, -1)
        sure = np.where(change & ~doubtful, sign, 0)
        least = sure + np.where(doubtful & ~comes, -1, 0)
        most = sure + np.where(doubtful & comes, 1, 0)
        expected_count = (ts == END).astype(np.int64)
        values = np.stack([least, most, expected_count, np.ones(len(rows), np.int64)])
        values[:, :first] = 0
        starts = np.flatnonzero(begins)
        return starts, np.add.reduceat(values, starts, axis=1)

    def _report(self, rows: pa.RecordBatch, starts: Ints, sums: Ints) -> None:
        if not len(starts):
            return
        groups = rows.take(pa.array(starts))
        table, (least, most, expected_count, _) = ints(groups, "table"), sums
        findings, certain = self._findings, self._known[table]
        ends = self._ends[table] & certain
        clipped = np.clip(expected_count, least, most)
        for number, count in (("expected", expected_count), ("found", np.where(ends, clipped, np.maximum(most, 0)))):
            totals = np.bincount(table, count, 0)
            for place in np.flatnonzero(totals).tolist():
                findings.counts[number, place] += int(totals[place])
        handle = groups.column("handle")
        is_missing, is_left = ends & (most < expected_count), ends & (least > expected_count)
        findings.add("row-missing", groups, is_missing, _digits(most), _digits(expected_count))
        findings.add("row-left", groups, is_left, _digits(least), _digits(expected_count))
        findings.add("row-not-there", groups, certain & ~ends & (most < 0), None, handle)


def _digits(counts: Ints) -> pa.Array:
    return pc.cast(pc.cast(pa.array(counts), pa.string()), pa.binary())
