"""One side of a comparison: rows of snapshots, each with what the engines join and place it by.

One law: a row is known by its place and handle, and found in time by its hash, whatever its image says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import Ints, SIDE, by_table, ints
from simulator.run.stages import Rules, destinations
from simulator.sources.diff import Comparison
from simulator.sources.snapshots import Piece, state_batches


@dataclass(frozen=True)
class Placing:
    """Where the rows of a comparison go."""

    comparison: Comparison
    rules: Rules
    groups: int = 1
    """Tasks that send; each owns every so-manieth destination."""

    slices: int = 0
    """In how many slices of time the rows of each group are compared; 0 where their destination is not known yet."""

    def sides(self, pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
        """The rows (SIDE) of pieces of snapshots."""
        return map(self._placed, state_batches(pieces))

    def keys(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """What `snapshots.KeyRanges` notes of rows (SIDE)."""
        move, table = np.divmod(ints(rows, "place"), len(self.comparison.tables))
        return pa.record_batch({"move": move, "table": table, "handle": rows["handle"], "row_hash": rows["row_hash"]})

    def _placed(self, state: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch (STATE)."""
        move, table, handle = ints(state, "move"), ints(state, "table"), state.column("handle")
        row_hash = self.comparison.clock.row_hashes(table, handle)
        place = move * len(self.comparison.tables) + table
        slices = self._slices(state, move, table, row_hash) if self.slices else np.zeros(len(row_hash), np.int64)
        return pa.RecordBatch.from_arrays([
            pa.array(row_hash), pa.array(place.astype(np.int32)), handle, state.column("image"),
            state.column("unaltered"), pa.array(slices.astype(np.int32)),
        ], schema=SIDE)

    def _slices(self, state: pa.RecordBatch, move: Ints, table: Ints, row_hash: Ints) -> Ints:
        """Rows of one group lie in slices of rising time."""
        clock = self.comparison.clock
        slots, destination = clock.slots(row_hash, move), np.empty(len(row_hash), np.int64)
        commit_ts = clock.commit_ts(slots, move)
        for number, at in by_table(table):
            rows = state if len(at) == len(table) else state.take(pa.array(at))
            images, handles = rows.column("image"), rows.column("handle")
            destination[at] = destinations(images, handles, number, commit_ts[at], self.rules)
        time = (clock.passed[move] + slots) * self.slices // clock.passed[-1]
        found: Ints = destination % self.groups * self.slices + time
        return found
