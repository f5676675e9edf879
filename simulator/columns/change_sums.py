"""Sums of row changes, which do not depend on their order: that two streams have the same ones shows without sorting.

Each row change adds a 64-bit hash of its commit-ts, one of its commit-ts and row image, and one of its row image. Two
different streams have equal sums once in 2^64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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

    values: int | None = 0
    """Of row images alone; None if one of them is not known as TiDB has it."""

    def __add__(self, other: ChangeSum) -> ChangeSum:
        sums = (_sum(getattr(self, name), getattr(other, name)) for name in ("times", "images", "values"))
        return ChangeSum(self.rows + other.rows, *sums)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else (one + other) % MODULUS


CHANGES, DELETES, BOOTSTRAPS = KINDS = "changes", "deletes", "bootstraps"
"""INSERTs and UPDATEs, which not all messages distinguish; DELETEs; and messages with a table's schema, of which versions
count as commit-ts, and ids as row images."""

ChangeSums = Mapping[tuple[str, str], ChangeSum]
"""By `db.table` and kind."""

SumsByKind = Mapping[str, Mapping[str, ChangeSum]]
"""By kind and `db.table`, as files have them."""


def sums_by_group(group: Ints, ts: Ints, images: Hashes, timed: Mask, told: Mask) -> dict[int, ChangeSum]:
    """Return the sums of row changes by number of their group.

    `timed` is whether the commit-ts of a row change is known, and `told` whether its row image is.
    """
    if not len(group):
        return {}
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=group[order][0] - 1))
    counts = np.diff(starts, append=len(order)).tolist()
    summed = (xxhash64(ts), timed), (xxhash64(ts, images.view(np.int64)), timed & told), (images, told)
    sums = (_sums(hashes.view(np.uint64)[order], known[order], starts) for hashes, known in summed)
    return {
        number: ChangeSum(*each) for number, *each in zip(group[order][starts].tolist(), counts, *sums, strict=True)
    }


def _sums(hashes: Hashes, known: Mask, starts: Ints) -> list[int | None]:
    """Return the sum of each group, which begin at `starts`; None where one of its hashes is not known."""
    every = np.logical_and.reduceat(known, starts).tolist()
    return [each if told else None for each, told in zip(np.add.reduceat(hashes, starts).tolist(), every, strict=True)]


def merged_sums(parts: Iterable[ChangeSums]) -> ChangeSums:
    sums: dict[tuple[str, str], ChangeSum] = {}
    for part in parts:
        add_sums(sums, part)
    return sums


def add_sums(total: dict[tuple[str, str], ChangeSum], part: ChangeSums) -> None:
    """Add sums to the total, which may have many more tables than they have."""
    for key, each in part.items():
        total[key] = total.get(key, ChangeSum()) + each


def sums_by_kind(sums: ChangeSums) -> SumsByKind:
    return {kind: {name: each for (name, of), each in sums.items() if of == kind} for kind in KINDS}


def read_sums(document: Mapping[str, Any]) -> SumsByKind:
    """Build sums from the JSON of their members; raises TypeError, KeyError or AttributeError for others."""
    return {kind: {name: ChangeSum(**each) for name, each in document[kind].items()} for kind in KINDS}


def sums_of_kinds(sums: SumsByKind) -> ChangeSums:
    return {(name, kind): each for kind, named in sums.items() for name, each in named.items()}
