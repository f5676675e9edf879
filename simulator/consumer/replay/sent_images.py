"""Sums of the row changes of a stream, to hold against those that were sent."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import DELETE, Ints, ints
from simulator.columns.change_sums import ChangeSums, sums_by_group
from simulator.columns.hashing import fingerprints
from simulator.consumer.frame import Layout
from simulator.consumer.replay.normalize import has_lost_bytes
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import family


def with_told_times(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows (EVENT_SCHEMA) with the commit-ts of their messages in further columns, before others take its
    place."""
    return rows.append_column("told_ts", rows.column("commit_ts")).append_column("timed", rows.column("exact"))


class SentImages:
    """Rows of one layout, of which the images become known little by little."""

    def __init__(self, rows: pa.RecordBatch, layout: Layout) -> None:
        self._rows, self._name = rows, f"{layout.schema}.{layout.table}"
        self._hashes, self._told = np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.bool_)

    def put(self, places: Ints, table: Table, touched: Ints, before: pa.Array, after: pa.Array) -> None:
        """Note the normalized images of rows at these places, whose table has that definition.

        They are not told where TiDB may have another spelling, or in a millisecond with a statement on the table.
        """
        if any(family(column.type) == "float" for column in table.columns):
            return
        images = pc.coalesce(after, before)
        ts, exact = ints(self._rows, "commit_ts")[places], np.asarray(self._rows.column("exact"))[places]
        doubtful = ~exact & np.isin(ts, touched)
        self._hashes[places], self._told[places] = fingerprints(images), ~(has_lost_bytes(images) | doubtful)

    def sums(self, milliseconds: bool) -> ChangeSums:
        """Return the sums of the rows; `milliseconds` is whether these are all that messages tell of commit-ts."""
        ts, exact = ("told_ts", "timed") if "timed" in self._rows.schema.names else ("commit_ts", "exact")
        deleted = (ints(self._rows, "op") == DELETE).astype(np.int64)
        timed = np.asarray(self._rows.column(exact)) | milliseconds
        sums = sums_by_group(deleted, ints(self._rows, ts), self._hashes, timed, self._told)
        return {(self._name, bool(group)): each for group, each in sums.items()}
