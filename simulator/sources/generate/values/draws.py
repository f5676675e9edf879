"""Numbers of rows out of hashes of their keys: whole columns at a time, and each by itself.

One law: what a row is dealt depends on the seed, its key and how often it was touched, and on nothing that was asked
before.
"""

from __future__ import annotations

import zlib

import numpy as np

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.columns.hashing import Hashes

MASK = (1 << 64) - 1

PRIME = np.uint64(0xD6E8FEB86659FD93)
"""Of Pelle Evensen's and Degski's mixers of 64 bits."""

GOLDEN = 0x9E3779B97F4A7C15
HALF = np.uint64(32)
NARROW = 1 << 31
"""Sizes up to this one are dealt in turns; above it two draws are hardly ever alike."""


def seed_of(seed: int, *names: object) -> int:
    """A seed of its own for whatever is named, not below 0."""
    text = "\0".join(str(name).lower() for name in names).encode()
    found = (seed & MASK) ^ zlib.crc32(text) << 32 ^ zlib.crc32(text[::-1] + b"\1")
    return int(_mixed(np.array([found * GOLDEN & MASK], np.uint64))[0])


def hashed(seed: int, numbers: Ints) -> Hashes:
    """64 bits for each number."""
    return _mixed(numbers.view(np.uint64) * np.uint64(GOLDEN) + np.uint64(seed))


def _mixed(numbers: Hashes) -> Hashes:
    for _ in range(2):
        numbers = (numbers ^ numbers >> HALF) * PRIME
    return numbers ^ numbers >> HALF


def dealt(seed: int, keys: Ints, touches: Ints | None, size: int, least: int = 1) -> Ints:
    """A number below `size` for each row, all as likely as any; None for rows that are never touched.

    Each touch moves it on by a stride of the row's own, round and round: by `least` at least either way, as far as
    that can be, so that a row does not stay in a stretch of so many equal numbers.
    """
    hashes = hashed(seed, keys)
    if size > NARROW:
        mixed = hashes
        if touches is not None:
            mixed = hashed(seed + 1 & MASK, (hashes + touches.view(np.uint64)).view(np.int64))
        whole: Ints = mixed.view(np.int64) if size > MASK else (mixed % np.uint64(size)).view(np.int64)
        return whole
    found = (hashes >> HALF) * np.uint64(size) >> HALF
    if touches is not None and size > 1:
        least = min(least, size // 2)
        strides = np.uint64(least) + ((hashes & np.uint64(0xFFFFFFFF)) * np.uint64(size - 2 * least + 1) >> HALF)
        found = (found + touches.view(np.uint64) % np.uint64(size) * strides) % np.uint64(size)
    dealt: Ints = found.view(np.int64)
    return dealt


def chosen(seed: int, keys: Ints, touches: Ints | None, share: float) -> Mask:
    """Which rows are of a share of all; never one twice in succession while that is at most a half."""
    part = round(share * NARROW)
    found: Mask = dealt(seed, keys, touches, NARROW, part if part <= NARROW // 2 else NARROW // 2) < part
    return found
