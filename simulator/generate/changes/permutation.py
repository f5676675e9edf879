"""Permutations of the numbers below n, one for each key, without a table. `restored` is the inverse of `permuted`.

A number of b bits is added to, multiplied by an odd number and shifted into itself by at least b / 2 bits, three times,
each of which is invertible; n is at most 2 ** b. A result of n or above goes through it again until it is below n
("cycle walking").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from simulator.columns.change_frame import Ints

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
