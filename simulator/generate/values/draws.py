"""Random numbers of rows, from hashes of their keys, for whole columns.

A row's number depends only on the seed, its key and how often it was changed.
"""

from __future__ import annotations

import zlib

import numpy as np

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.columns.hashing import Hashes

MASK = (1 << 64) - 1

PRIME = np.uint64(0xD6E8FEB86659FD93)
"""Constant of Pelle Evensen's and Degski's 64-bit mixers."""

GOLDEN = 0x9E3779B97F4A7C15
HALF = np.uint64(32)
NARROW = 1 << 31
"""Sizes up to this one are drawn without immediate repetition; above it two draws hardly ever coincide."""


def seed_of(seed: int, *names: object) -> int:
    """Return a seed derived from these names, not below 0."""
    text = "\0".join(str(name).lower() for name in names).encode()
    mixed = (seed & MASK) ^ zlib.crc32(text) << 32 ^ zlib.crc32(text[::-1] + b"\1")
    return int(_mixed(np.array([mixed * GOLDEN & MASK], np.uint64))[0])


def hashed(seed: int, numbers: Ints) -> Hashes:
    """Return 64 bits for each number."""
    return _mixed(numbers.view(np.uint64) * np.uint64(GOLDEN) + np.uint64(seed))


def _mixed(numbers: Hashes) -> Hashes:
    for _ in range(2):
        numbers = (numbers ^ numbers >> HALF) * PRIME
    return numbers ^ numbers >> HALF


def random_below(seed: int, keys: Ints, touches: Ints | None, size: int, least: int = 1) -> Ints:
    """Return a uniform number below `size` for each row; `touches` is None for rows that never change.

    Each touch advances the number by the row's own stride, modulo `size`: by at least `least` in either direction, if
    possible, so that a row does not stay in an interval of equal values.
    """
    hashes = hashed(seed, keys)
    if size > NARROW:
        mixed = hashes
        if touches is not None:
            mixed = hashed(seed + 1 & MASK, (hashes + touches.view(np.uint64)).view(np.int64))
        whole: Ints = mixed.view(np.int64) if size > MASK else (mixed % np.uint64(size)).view(np.int64)
        return whole
    numbers = (hashes >> HALF) * np.uint64(size) >> HALF
    if touches is not None and size > 1:
        least = min(least, size // 2)
        strides = np.uint64(least) + ((hashes & np.uint64(0xFFFFFFFF)) * np.uint64(size - 2 * least + 1) >> HALF)
        numbers = (numbers + touches.view(np.uint64) % np.uint64(size) * strides) % np.uint64(size)
    dealt: Ints = numbers.view(np.int64)
    return dealt


def random_share(seed: int, keys: Ints, touches: Ints | None, share: float) -> Mask:
    """Return which rows belong to a share of all; none twice in succession if the share is at most a half."""
    part = round(share * NARROW)
    chosen: Mask = random_below(seed, keys, touches, NARROW, part if part <= NARROW // 2 else NARROW // 2) < part
    return chosen
