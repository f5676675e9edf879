"""Cycles: a pattern of kinds that repeats forever.

Each question is answered by a division and a look-up in tables of the pattern's length, at any position, and the
answers are inverse to each other:

at(position)             kind, and how many of the kind precede
    before(kind, position)   how many of the kind precede a position
    position(kind, ordinal)  the position of the kind's occurrence with that number, from 0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.columns.hashing import xxhash64


@dataclass(frozen=True, eq=False)
class Cycle:
    kinds: Ints
    """The kind at each position of the pattern."""

    ranks: Ints
    """How many of its kind precede each position."""

    counts: Ints
    """How many of each kind the pattern has."""

    starts: Ints
    """How many positions have lower kinds."""

    places: Ints
    """kind × length + position, in order."""

    @property
    def length(self) -> int:
        return len(self.kinds)

    def at(self, positions: Ints) -> tuple[Ints, Ints]:
        """Return kinds, and how many of the same kind precede."""
        rounds = positions // self.length
        places = positions - rounds * self.length
        kinds = self.kinds[places]
        return kinds, rounds * self.counts[kinds] + self.ranks[places]

    def before(self, kind: int | Ints, positions: Ints) -> Ints:
        rounds = positions // self.length
        places = positions - rounds * self.length
        in_pattern = np.searchsorted(self.places, kind * self.length + places) - self.starts[kind]
        return rounds * self.counts[kind] + in_pattern

    def position(self, kind: int | Ints, ordinals: Ints) -> Ints:
        """Return the positions of occurrences of kinds that the pattern has."""
        rounds = ordinals // self.counts[kind]
        ranks = ordinals - rounds * self.counts[kind]
        return (rounds - kind) * self.length + self.places[self.starts[kind] + ranks]


def cycle(kinds: Ints, count: int) -> Cycle:
    """Return the cycle of a pattern in which kinds are numbers below `count`."""
    order = np.argsort(kinds, kind="stable")
    counts = np.bincount(kinds, minlength=count)
    starts = np.cumsum(counts) - counts
    ranks = np.empty(len(kinds), np.int64)
    ranks[order] = np.arange(len(kinds)) - starts[kinds[order]]
    return Cycle(kinds, ranks, counts, starts, kinds[order] * len(kinds) + order)


def spread(counts: Sequence[int], seed: int | None = None) -> Ints:
    """Return a pattern with `counts` of each kind at about equal distances; with a seed each is somewhere in its
    interval."""
    kinds = np.repeat(np.arange(len(counts)), counts)
    each = np.asarray(counts)[kinds]
    ranks = np.arange(len(kinds)) - np.repeat(np.cumsum(counts) - counts, counts)
    within = kinds * GOLDEN % 1 if seed is None else fractions(len(kinds), seed)
    return kinds[np.argsort((ranks + within) / each, kind="stable")]


def fractions(count: int, seed: int) -> np.typing.NDArray[np.float64]:
    """Return that many numbers from 0 to 1."""
    return (xxhash64(seed, np.arange(count)).view(np.uint64) >> np.uint64(11)) / 2.0**53


def shuffled(count: int, seed: int) -> Ints:
    """Return the numbers below `count`, shuffled."""
    return np.argsort(xxhash64(seed, np.arange(count)), kind="stable")


def seed_of(*numbers: int) -> int:
    """Return a seed derived from these numbers."""
    return int(xxhash64(*((number + HIGHEST) % (2 * HIGHEST) - HIGHEST for number in numbers))[0])


GOLDEN = 0.6180339887498949
HIGHEST = 1 << 63
