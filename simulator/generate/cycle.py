"""Patterns of kinds that repeat forever, permutations without tables, and the distribution of updates over rows by them.

Of a cycle each question is answered by a division and a look-up in tables of the pattern's length, at any position,
and the answers are inverse to each other:

    at(position)             kind, and how many of the kind precede
    before(kind, position)   how many of the kind precede a position
    position(kind, ordinal)  the position of the kind's occurrence with that number, from 0

A permutation of the numbers below n, one for each key, has `restored` as the inverse of `permuted`. A number of b
bits is added to, multiplied by an odd number and shifted into itself by at least b / 2 bits, three times, each of
which is invertible; n is at most 2 ** b. A result of n or above goes through it again until it is below n ("cycle
walking").

Updates are even or skewed: `hits` returns how many of the first n updates a slot got, and `update` the next one; they are
consistent. Slots are divided into classes, each of which is hit evenly: all slots (uniform), hot and other slots (hot
set), or the first ranks one by one and then growing ranges of ranks (Zipf). A cycle distributes the updates over the
classes. The updates of a class are passes, each of which hits every one of its n slots once: the m-th hits, in pass m div
n, the slot to which that pass's permutation maps m mod n. So a slot has been hit div times, and once more if the
permutation maps it from below mod. Ranks are spread over the slots in steps of about the golden section, which reach every
slot once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from simulator.columns.change_frame import Ints
from simulator.columns.hashing import xxhash64
from simulator.generate.model import HotSet, Skew, Uniform, Zipf


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


Words = npt.NDArray[np.uint64]

ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
INVERSE = tuple(pow(odd, -1, 1 << 64) for odd in ODD)
HALF = np.uint64(32)


def permuted(numbers: Ints, sizes: int | Ints, keys: Ints) -> Ints:
    """Return the image of each number below its size. Sizes and keys are one for all, or one for each."""
    return _walked(_forth, numbers, sizes, keys)


def restored(numbers: Ints, sizes: int | Ints, keys: Ints) -> Ints:
    """Return the numbers that `permuted` maps to these."""
    return _walked(_back, numbers, sizes, keys)


def _walked(step: Callable[[Words, Words, Words, Words], Words], numbers: Ints, sizes: int | Ints, keys: Ints) -> Ints:
    if not len(numbers):
        return numbers
    size = np.atleast_1d(np.asarray(sizes, np.int64)).view(np.uint64)
    masks, shifts = _bits(size)
    key = keys.view(np.uint64)
    results = step(numbers.view(np.uint64), key, masks, shifts)
    open_ = np.flatnonzero(results >= size)
    while len(open_):
        again = step(results[open_], *(each if len(each) == 1 else each[open_] for each in (key, masks, shifts)))
        results[open_] = again
        open_ = open_[again >= (size if len(size) == 1 else size[open_])]
    return results.view(np.int64)


def _bits(sizes: Words) -> tuple[Words, Words]:
    """Return the mask of the bits of numbers below a size, and half of the number of bits."""
    bits = np.maximum(np.frexp((sizes - np.uint64(1)).astype(np.float64))[1], 1).astype(np.uint64)
    return (np.uint64(1) << bits) - np.uint64(1), (bits + np.uint64(1)) >> np.uint64(1)


def _forth(numbers: Words, keys: Words, masks: Words, shifts: Words) -> Words:
    first, second, third = map(np.uint64, ODD)
    results = ((numbers + keys) * first) & masks
    results ^= results >> shifts
    results = ((results + (keys >> HALF)) * second) & masks
    results ^= results >> shifts
    results = (results * third) & masks
    results ^= results >> shifts
    return results


def _back(numbers: Words, keys: Words, masks: Words, shifts: Words) -> Words:
    first, second, third = map(np.uint64, INVERSE)
    results = ((numbers ^ numbers >> shifts) * third) & masks
    results ^= results >> shifts
    results = (results * second - (keys >> HALF)) & masks
    results ^= results >> shifts
    return (results * first - keys) & masks


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
