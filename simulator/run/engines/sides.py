"""One side of a comparison: rows of snapshots, each with what the engines join and place it by.

One law: a row is known by its place and handle, and found in time by its key, whatever its image says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.run.events import Ints, ints
from simulator.run.stages import Comparison, Rules, by_table, destinations
from simulator.sources.snapshots import Piece, state_batches

SIDE = pa.schema([
    ("key", pa.int64()), ("place", pa.int32()), ("handle", pa.binary()), ("image", pa.binary()), ("was", pa.binary()),
    ("slice", pa.int32()),
])
"""`key` and `place` as in `stages.JOINED`; `slice` is the partition of the shuffle."""


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
        return pa.record_batch({"move": move, "table": table, "handle": rows["handle"], "key": rows["key"]})

    def _placed(self, state: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch (`snapshots.STATE`)."""
        move, table, handle = ints(state, "move"), ints(state, "table"), state.column("handle")
        key = self.comparison.clock.keys(table, handle)
        place = move * len(self.comparison.tables) + table
        slices = self._slices(state, move, table, key) if self.slices else np.zeros(len(key), np.int64)
        return pa.RecordBatch.from_arrays([
            pa.array(key), pa.array(place.astype(np.int32)), handle, state.column("image"), state.column("was"),
            pa.array(slices.astype(np.int32)),
        ], schema=SIDE)

    def _slices(self, state: pa.RecordBatch, move: Ints, table: Ints, key: Ints) -> Ints:
        """Rows of one group lie in slices of rising time."""
        clock = self.comparison.clock
        slots, destination = clock.slots(key, move), np.empty(len(key), np.int64)
        commit_ts = clock.commit_ts(slots, move)
        for number, at in by_table(table):
            rows = state if len(at) == len(table) else state.take(pa.array(at))
            images, handles = rows.column("image"), rows.column("handle")
            destination[at] = destinations(images, handles, number, commit_ts[at], self.rules)
        time = (clock.passed[move] + slots) * self.slices // clock.passed[-1]
        found: Ints = destination % self.groups * self.slices + time
        return found
