"""VITESS_HASH, which Python's library lacks."""

from __future__ import annotations

from collections.abc import Sequence

_START = [first - 8 * place for first in (58, 60, 62, 64, 57, 59, 61, 63) for place in range(8)]
"""DES's initial permutation: the bit of the number, counted from 1, that each bit of the result is."""

_END = [_START.index(place) + 1 for place in range(1, 65)]
_MIXED = (
    *(16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10),
    *(2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25),
)
_BOXES = (
    "e4d12fb83a6c59070f74e2d1a6cb953841e8d62bfc973a50fc8249175b3ea06d",
    "f18e6b34972dc05a3d47f28ec01a69b50e7ba4d158c6932fd8a13f42b67c05e9",
    "a09e63f51dc7b428d709346a285ecbf1d6498f30b12c5ae71ad069874fe3b52c",
    "7de3069a1285bc4fd8b56f03472c1ae9a690cb7df13e52843f06a1d8945bc72e",
    "2c417ab6853fd0e9eb2c47d150fa3986421bad78f9c5630eb8c71e2d6f09a453",
    "c1af92680d34e75baf427c9561de0b389ef528c3704a1db6432c95fabe17608d",
    "4b2ef08d3c975a61d0b7491ae35c2f8614bdc37eaf6805926bd814a7950fe23c",
    "d2846fb1a93e50c71fd8a374c56b0e927b419ce206adf35821e74a8dfc90356b",
)
"""For each six bits of a half, by row (the outer bits) and column (the inner bits), the four bits that replace them."""


def vitess_hash(number: int) -> int:
    """Return VITESS_HASH: DES of 64 bits with a key of zeros (TiDB: pkg/util/vitess/vitess_hash.go)."""
    both = _permuted(number, 64, _START)
    left, right = both >> 32, both & 2**32 - 1
    for _ in range(16):
        ring = (right & 1) << 33 | right << 1 | right >> 31
        replaced = 0
        for place, box in enumerate(_BOXES):
            six = ring >> 28 - 4 * place & 63
            replaced = replaced << 4 | int(box[(six >> 4 & 2 | six & 1) << 4 | six >> 1 & 15], 16)
        left, right = right, left ^ _permuted(replaced, 32, _MIXED)
    return _permuted(right << 32 | left, 64, _END)


def _permuted(number: int, size: int, places: Sequence[int]) -> int:
    result = 0
    for place in places:
        result = result << 1 | number >> size - place & 1
    return result
