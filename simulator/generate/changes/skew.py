"""The distribution of updates over rows: even, or skewed.

`hits` returns how many of the first n updates a slot got, and `update` the next one; they are consistent.

Slots are divided into classes, each of which is hit evenly: all slots (uniform), hot and other slots (hot set), or the
first ranks one by one and then growing ranges of ranks (Zipf). A cycle distributes the updates over the classes. The
updates of a class are passes, each of which hits every one of its n slots once: the m-th hits, in pass m div n, the
slot to which that pass's permutation maps m mod n. So a slot has been hit div times, and once more if the permutation
maps it from below mod.

Ranks are spread over the slots in steps of about the golden section, which reach every slot once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.columns.hashing import xxhash64
from simulator.generate.changes.cycle import GOLDEN, Cycle, cycle, permuted, restored, seed_of, spread
from simulator.generate.model import HotSet, Skew, Uniform, Zipf

SINGLE = 32
"""Number of ranks of Zipf with a class of their own."""

GROWTH = 1.25
"""Growth of the size of the following classes."""

DEALT = 1 << 14
"""Number of updates in which the classes have their exact shares."""


@dataclass(frozen=True, eq=False)
class Classes:
    sizes: Ints
    """Number of slots of each class."""

    bounds: Ints
    """The first rank of each class."""

    dealt: Cycle

    step: int
    """Distance from a rank's slot to the next one's."""

    back: int
    """Distance from a slot's rank to the next one's."""


@dataclass(frozen=True)
class SlotUpdates:
    """The updates of slots, numbered from 0."""

    slots: int
    skew: Skew
    seed: int

    def update(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return the slot that each update hits, and how often it was hit before."""
        if self._even:
            passes = numbers // self.slots
            return permuted(numbers - passes * self.slots, self.slots, self._keys(passes)), passes
        classes = self._classes
        kinds, ordinals = classes.dealt.at(numbers)
        sizes = classes.sizes[kinds]
        passes = ordinals // sizes
        within = permuted(ordinals - passes * sizes, sizes, self._keys(passes, kinds))
        return ((classes.bounds[kinds] + within) * classes.step + self._first) % self.slots, passes

    def hits(self, slots: Ints, numbers: Ints) -> Ints:
        """Return how often each slot is hit by that many first updates."""
        if self._even:
            passes = numbers // self.slots
            return passes + (restored(slots, self.slots, self._keys(passes)) < numbers - passes * self.slots)
        kinds, sizes, within = self._placed(slots)
        updates = self._classes.dealt.before(kinds, numbers)
        passes = updates // sizes
        return passes + (restored(within, sizes, self._keys(passes, kinds)) < updates - passes * sizes)

    def number(self, slots: Ints, hits: Ints) -> Ints:
        """Return the update that hits a slot after that many hits."""
        if self._even:
            return hits * self.slots + restored(slots, self.slots, self._keys(hits))
        kinds, sizes, within = self._placed(slots)
        ordinals = hits * sizes + restored(within, sizes, self._keys(hits, kinds))
        return self._classes.dealt.position(kinds, ordinals)

    def _placed(self, slots: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the class of each slot, its size, and the position in it."""
        classes = self._classes
        ranks = (slots - self._first) % self.slots * classes.back % self.slots
        kinds = np.searchsorted(classes.bounds, ranks, side="right") - 1
        return kinds, classes.sizes[kinds], ranks - classes.bounds[kinds]

    @property
    def _classes(self) -> Classes:
        return _classes(self.slots, self.skew)

    @property
    def _even(self) -> bool:
        """Whether there is only one class."""
        return len(self._classes.sizes) == 1

    @property
    def _first(self) -> int:
        """The slot of the first rank."""
        return seed_of(self.seed, -1) % self.slots

    def _keys(self, passes: Ints, kinds: Ints | None = None) -> Ints:
        """Return a key for each pass; one key if all are of one class and pass."""
        if kinds is None and len(passes) and passes[0] == passes[-1] and (passes == passes[0]).all():
            passes = passes[:1]
        return xxhash64(self.seed, passes) if kinds is None else xxhash64(self.seed, passes << 8 | kinds)


@lru_cache(maxsize=256)
def _classes(slots: int, skew: Skew) -> Classes:
    bounds, shares = _shares(slots, skew)
    sizes = np.diff(bounds, append=slots)
    step = max(1, round(slots * GOLDEN))
    while math.gcd(step, slots) > 1:
        step += 1
    dealt = cycle(spread(_counted(shares)), len(shares))
    return Classes(sizes, np.array(bounds), dealt, step, pow(step, -1, slots))


def _shares(slots: int, skew: Skew) -> tuple[list[int], list[float]]:
    """Return the start of each class, and its share of the updates."""
    match skew:
        case HotSet(rows, updates):
            hot = max(1, round(slots * rows))
            return ([0, hot], [updates, 1 - updates]) if hot < slots else ([0], [1.0])
        case Zipf(exponent):
            bounds, following = [0], 1
            while following < slots:
                bounds.append(following)
                following = following + 1 if following < SINGLE else int(following * GROWTH)
            return bounds, [_zipf(exponent, first, end) for first, end in itertools.pairwise((*bounds, slots))]
        case Uniform():
            return [0], [1.0]


def _zipf(exponent: float, first: int, end: int) -> float:
    """Return approximately the sum of 1 / rank ** exponent for the ranks first + 1 … end, as an integral from half a
    rank before to half a rank after."""
    if end - first == 1:
        return math.pow(end, -exponent)
    if exponent == 1:
        return math.log((end + 0.5) / (first + 0.5))
    return (math.pow(first + 0.5, 1 - exponent) - math.pow(end + 0.5, 1 - exponent)) / (exponent - 1)


def _counted(shares: Sequence[float]) -> list[int]:
    """Return how many of `DEALT` updates each class gets; the rest goes to those that are rounded down most."""
    if len(shares) == 1:
        return [1]
    exact = [share / math.fsum(shares) * DEALT for share in shares]
    counts = [int(each) for each in exact]
    furthest = sorted(range(len(shares)), key=lambda place: counts[place] - exact[place])
    for place in furthest[: DEALT - sum(counts)]:
        counts[place] += 1
    return counts
