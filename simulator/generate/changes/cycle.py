"""Patterns of kinds that repeat forever, permutations without tables, and the net changes of a transaction.

Of a cycle each question is answered by a division and a look-up in tables of the pattern's length, at any position,
and the answers are inverse to each other:

    at(position)             kind, and how many of the kind precede
    before(kind, position)   how many of the kind precede a position
    position(kind, ordinal)  the position of the kind's occurrence with that number, from 0

A permutation of the numbers below n, one for each key, has `restored` as the inverse of `permuted`. A number of b
bits is added to, multiplied by an odd number and shifted into itself by at least b / 2 bits, three times, each of
which is invertible; n is at most 2 ** b. A result of n or above goes through it again until it is below n ("cycle
walking").

Several changes of one row in one transaction become the change that a database writes at commit: from the version
before the first to the version after the last. A row that is inserted and deleted in one transaction does not appear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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


def net_changes(transactions: Ints, keys: Ints, before: Ints, after: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the net changes of one table, given in the order in which they happen, each with its transaction."""
    order = _by_key(keys)
    sorted_keys, numbers = keys[order], transactions[order]
    again = np.flatnonzero((sorted_keys[1:] == sorted_keys[:-1]) & (numbers[1:] == numbers[:-1])) + 1
    if not len(again):
        return transactions, keys, before, after
    begins = np.ones(len(order), bool)
    begins[again] = False
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(order)) - 1
    after = after.copy()
    after[order[firsts]] = after[order[lasts]]
    stays = np.zeros(len(order), bool)
    stays[order[firsts]] = True
    stays &= (before >= 0) | (after >= 0)
    return transactions[stays], keys[stays], before[stays], after[stays]


def _by_key(keys: Ints) -> Ints:
    """Return the positions of changes by key, those of one key in their order."""
    bits = max(1, len(keys) - 1).bit_length()
    least = int(keys.min()) if len(keys) else 0
    if len(keys) and (int(keys.max()) - least) >> (63 - bits):
        return np.argsort(keys, kind="stable")
    return np.sort((keys - least) << bits | np.arange(len(keys))) & ((1 << bits) - 1)
