"""Rows in Spark's order as rows in TiCDC's: some wait until others have changed, and an UPDATE may become two rows."""

from __future__ import annotations

import pyarrow as pa

from simulator.columns.change_frame import ROW_CHANGES
from simulator.engines import stages
from simulator.engines.spark.frames import Batches
from simulator.engines.spark.key_order import RowOrder, times_of
from simulator.engines.tasks import later
from simulator.engines.work import Work
from simulator.sources import diff


class OrderedRows:
    """What tasks make of the rows (ROW_CHANGES with op and rank) that Spark has ordered."""

    def __init__(self, work: Work, order: RowOrder | None) -> None:
        self.rules = work.rules
        self._clock, self._order = work.comparison.clock, order and order.driver
        self._filtered, self._waits = work.shuffles == 2, work.waits

    def changes(self, batches: Batches) -> Batches:
        """Yield the changes that are sent, those of one batch in any order."""
        yield from (self._changes(batch) for batch in batches if batch.num_rows)

    def in_order(self, batches: Batches) -> Batches:
        """Return the changes in the order in which they are sent."""
        if self._filtered or not self._waits:
            return self.changes(batches)
        if self._order is not None:
            times_of(self._order)  # It may refuse them, before anything is sent.
        rows = (batch for batch in batches if batch.num_rows)
        return later.in_order((later.key_of(batch, -1), self._changes(batch)) for batch in rows)

    def _changes(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._filtered:
            return batch
        if not self._waits:
            return stages.filter_rows(batch, self.rules)
        if self._order is not None:
            batch = diff.at_fixed_times(batch, self._clock, times_of(self._order))
        return stages.filter_and_split(batch.select(ROW_CHANGES.names), self.rules)
