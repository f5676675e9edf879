"""Rows of a run that are older than a column, where a diff changes them: what TiCDC has of them as old values.

A row lacks a column if its last change precedes the statement that added the column. Scripted SQL knows that of its own
rows (`ticdc.older_rows`), but for columns that were added before it read them from a snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import Ints, by_table, ints, picked, picked_values, with_column
from simulator.releases import Release
from simulator.sources.schema_change.row_changes import ChangePeriod
from simulator.sources.snapshots import PhysicalTable
from simulator.ticdc.older_rows import filled_images
from simulator.tso import compose

AddedColumns = Mapping[int, tuple[tuple[int, int], ...]]
"""By the number of a physical table the ids of the columns that rows may lack, each with the commit-ts of the statement
that added it."""


@dataclass(frozen=True)
class OlderRows:
    """Fills the old values of older rows."""

    tables: tuple[PhysicalTable, ...]
    added: AddedColumns
    spans: tuple[ChangePeriod, ...]
    """The periods in which diffs change rows."""

    release: Release
    zone: str
    """Of TIMESTAMPs in rows, which images have in UTC."""

    asks_for_earlier_changes: bool
    """Whether a row may have been written between a column that it would lack and a change. In one diff rows change once."""

    since: int = 0
    """The commit-ts from which on changes are sent; those before are known for their times."""

    @property
    def identities(self) -> Ints:
        """The id of the table of each physical table. With it a handle stands for a row across statements, but for those that
        give it another one: behind them rows are as old as they can be."""
        return np.array([physical.table_id for physical in self.tables], np.int64)

    def filled(self, changes: pa.RecordBatch, written: Ints) -> pa.RecordBatch:
        """Return those of the row changes (ROW_CHANGES) that are sent, with the old images that TiCDC has. `written` has the
        commit-ts of the change of each row before, 0 for none."""
        sent = np.flatnonzero(ints(changes, "commit_ts") >= self.since)
        changes, written = picked(changes, sent), written[sent]
        before, order, parts = changes.column("before"), [], []
        commit_ts = ints(changes, "commit_ts")
        for table, at in by_table(ints(changes, "table")):
            images = picked_values(before, at)
            lacking = self._lacking(table, commit_ts[at], written[at], np.asarray(images.is_valid()))
            parts.append(filled_images(images, lacking, self.tables[table].table, self.release, self.zone))
            order.append(at)
        if not parts:
            return changes
        back = np.argsort(np.concatenate(order))
        return with_column(changes, "before", picked_values(pa.concat_arrays(parts), back))

    def _lacking(self, table: int, commit_ts: Ints, written: Ints, there: npt.NDArray[np.bool_]) -> pa.Array | None:
        """Return what rows with an old image lack, as `filled_images` takes it; None for nothing."""
        columns = sorted(self.added.get(table, ()), key=itemgetter(1))
        added = np.array([commit_ts for _, commit_ts in columns], np.int64)
        first = np.searchsorted(added, written, "right")
        end = np.searchsorted(added, self._known_since(commit_ts), "left")
        if not (there & (first < end)).any():
            return None
        sets, places = np.unique(first * (len(columns) + 1) + end, return_inverse=True)
        bounds = (divmod(each, len(columns) + 1) for each in sets.tolist())
        texts = [",".join(str(id) for id, _ in columns[first:end]).encode() or None for first, end in bounds]
        return pa.array(texts, pa.binary()).take(pa.array(places))

    def _known_since(self, commit_ts: Ints) -> Ints:
        """Return the time from which on scripted SQL knows what the rows lack that it changes: that of a diff before it.
        Diffs know it never."""
        starts, ends = (
            compose(np.array([getattr(span, name) for span in self.spans], np.int64))
            for name in ("start_ms", "next_ms")
        )
        moves = np.searchsorted(starts, commit_ts, "right") - 1
        behind = np.where(moves < 0, 0, ends[moves])
        return np.where((moves >= 0) & (commit_ts < behind), commit_ts, behind)


def earlier_changes(changes: pa.RecordBatch, identities: Ints) -> Ints:
    """Return the commit-ts of the last change of each row before its change; 0 for none. Changes that leave a row as it
    is do not count: MODIFY COLUMN rewrites rows with what they have."""
    rows = changes.select(["handle", "commit_ts"]).append_column(
        "identity", pa.array(identities[ints(changes, "table")])
    )
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in ("identity", "handle", "commit_ts")])
    rows, order = rows.take(order), np.asarray(order).astype(np.int64)
    commit_ts = ints(rows, "commit_ts")
    begins = _begins(rows, "identity") | _begins(rows, "handle")
    same_time = ~(begins | _begins(rows, "commit_ts"))
    places = np.arange(len(order))
    firsts = np.maximum.accumulate(np.where(begins, places, 0))
    writes = ~np.asarray(pc.fill_null(pc.equal(changes["before"], changes["after"]), False))[order]
    last = np.maximum.accumulate(np.where(writes, places, -1))
    before = np.append(-1, last)[np.maximum.accumulate(np.where(same_time, 0, places))]
    written = np.zeros(len(order), np.int64)
    written[order] = np.where(before >= firsts, commit_ts[before], 0)
    return written


def _begins(rows: pa.RecordBatch, name: str) -> npt.NDArray[np.bool_]:
    """Return which rows differ in a column from the one before; the first one does."""
    column = rows.column(name)
    if not len(column):
        return np.zeros(0, np.bool_)
    return np.append(True, np.asarray(pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))))
