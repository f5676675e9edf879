"""Sums of row changes, which do not depend on their order: that two streams have the same ones shows without sorting.

Each row change adds a 64-bit hash of its commit-ts, and one of its commit-ts and row image. Two different streams have
equal sums once in 2^64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.columns.hashing import Hashes, xxhash64

MODULUS = 1 << 64


@dataclass(frozen=True)
class ChangeSum:
    rows: int = 0
    times: int | None = 0
    """Of commit-ts; None if one of them is not known."""

    images: int | None = 0
    """Of commit-ts and row images; None if one of them is not known as TiDB has it."""

    def __add__(self, other: ChangeSum) -> ChangeSum:
        return ChangeSum(self.rows + other.rows, _sum(self.times, other.times), _sum(self.images, other.images))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else (one + other) % MODULUS


ChangeSums = Mapping[tuple[str, bool], ChangeSum]
"""By `db.table`, and whether they are DELETEs."""


def sums_by_group(group: Ints, ts: Ints, images: Hashes, timed: Mask, told: Mask) -> dict[int, ChangeSum]:
    """Return the sums of row changes by number of their group.

    `timed` is whether the commit-ts of a row change is known, and `told` whether its row image is.
    """
    if not len(group):
        return {}
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=group[order][0] - 1))
    counts = np.diff(starts, append=len(order)).tolist()
    times, rows = (
        np.add.reduceat(hashes.view(np.uint64)[order], starts).tolist()
        for hashes in (xxhash64(ts), xxhash64(ts, images.view(np.int64)))
    )
    every = (np.logical_and.reduceat(mask[order], starts).tolist() for mask in (timed, timed & told))
    return {
        number: ChangeSum(count, time if is_timed else None, row if is_told else None)
        for number, count, time, row, is_timed, is_told in zip(
            group[order][starts].tolist(), counts, times, rows, *every, strict=True
        )
    }


def merged_sums(parts: Iterable[ChangeSums]) -> ChangeSums:
    sums: dict[tuple[str, bool], ChangeSum] = {}
    for part in parts:
        for key, each in part.items():
            sums[key] = sums.get(key, ChangeSum()) + each
    return sums
