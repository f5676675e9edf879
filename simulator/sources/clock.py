"""When each row that differs between two snapshots changes.

One law: a commit-ts is a function of (seed, table, handle) alone; a millisecond of the span is a transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.change_frame import Ints
from simulator.columns.hashing import xxhash64
from simulator.tso import Span, compose


@dataclass(frozen=True)
class Clock:
    """When rows change."""

    seed: int
    salts: npt.NDArray[np.int32]
    """A number of each physical table's own, so that its rows' commit-ts do not depend on which others there are."""

    spans: tuple[Span, ...]
    """Of each move from one snapshot to the next."""

    def row_hashes(self, table: Ints, handle: pa.Array) -> Ints:
        """A hash of each row, which decides when it changes; equal rows of both snapshots have the same."""
        return xxhash64(self.seed, self.salts[table], handle)

    def slots(self, row_hashes: Ints, move: Ints | int) -> Ints:
        """In which millisecond of its move's span each row changes."""
        found: Ints = row_hashes % self._over[move]
        return found

    def commit_ts(self, slots: Ints, move: Ints | int) -> Ints:
        """The TSO of each change."""
        return commit_ts(self._start[move], slots)

    @cached_property
    def passed(self) -> Ints:
        """Milliseconds of all spans before each one, and of all."""
        return np.append(0, np.cumsum(self._over))

    @cached_property
    def _over(self) -> Ints:
        return np.array([span.over_ms for span in self.spans], np.int64)

    @cached_property
    def _start(self) -> Ints:
        return np.array([span.start_ms for span in self.spans], np.int64)


def commit_ts(start_ms: Ints | int, slots: Ints) -> Ints:
    """The TSO of changes in these milliseconds of a span; its logical part is 1, as a watermark's is 0."""
    return compose(start_ms + 1 + slots, 1)
