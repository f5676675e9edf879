"""Hashes of whole columns: Spark's xxhash64, which chooses commit-ts and row ids, and CRC-32; sums of row changes.

Results equal those of Spark (expressions/XXH64.java) and zlib bit by bit.

Sums of row changes do not depend on their order, so that two streams are known to have the same ones without sorting. Each
row change adds a 64-bit hash of its commit-ts, one of its commit-ts and row image, and one of its row image. Two different
streams have equal sums once in 2^64.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import Mask, Places, buffers
from simulator.columns.change_frame import Ints

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Crcs = npt.NDArray[np.uint32]

SEED = 42
"""Initial value of Spark's chain of hashes."""

P1, P2, P3, P4, P5 = (
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
LANES = np.array([P1, P2, 0, 0], np.uint64) + np.array([P2, 0, 0, -int(P1) % 2**64], np.uint64)
"""Initial values of the four lanes, without the seed."""

FEW = 8
"""Number of cells up to which tables are slower."""

LONGEST = 1024
"""Number of bytes from which hashlib is faster for a cell."""

LONG = 64
"""Number of bytes from which zlib is faster for a cell than the tables."""


def xxhash64(*columns: int | Numbers | pa.Array) -> npt.NDArray[np.int64]:
    """Return Spark's `xxhash64` of columns: numbers of 32 or 64 bits, binary, and literals.

    Spark takes literals for 32 bits if they fit. A null leaves the hash unchanged.
    """
    hashes: Hashes = np.array([SEED], np.uint64)
    for column in columns:
        if isinstance(column, int):
            column = np.array([column], np.int32 if -(1 << 31) <= column < 1 << 31 else np.int64)
        if isinstance(column, np.ndarray):
            wide = column.itemsize == 8
            hashes = _long(column.view(np.uint64), hashes) if wide else _int(column.view(np.uint32), hashes)
        else:
            hashed = _bytes(column, hashes)
            hashes = np.where(column.is_valid().to_numpy(False), hashed, hashes) if column.null_count else hashed
    return hashes.view(np.int64)


def _int(numbers: npt.NDArray[np.uint32], seed: Hashes) -> Hashes:
    hashed = seed + P5 + np.uint64(4) ^ numbers.astype(np.uint64) * P1
    return _mixed(_rotated(hashed, 23) * P2 + P3)


def _long(numbers: Hashes, seed: Hashes) -> Hashes:
    return _mixed(_word(seed + P5 + np.uint64(8), numbers))


def _word(hashed: Hashes, words: Hashes) -> Hashes:
    return _rotated(hashed ^ _rotated(words * P2, 31) * P1, 27) * P1 + P4


def _rotated(numbers: Hashes, bits: int) -> Hashes:
    return numbers << np.uint64(bits) | numbers >> np.uint64(64 - bits)


def _mixed(hashed: Hashes) -> Hashes:
    hashed = (hashed ^ hashed >> np.uint64(33)) * P2
    hashed = (hashed ^ hashed >> np.uint64(29)) * P3
    return hashed ^ hashed >> np.uint64(32)


def _bytes(cells: pa.Array, seed: Hashes) -> Hashes:
    data, offsets = buffers(cells)
    starts, sizes = offsets[:-1], np.diff(offsets)
    if len(data) == 8 * len(sizes) and (sizes == 8).all():
        return _mixed(_word(seed + P5 + np.uint64(8), data.view(np.uint64)))
    words: Hashes = np.ndarray(len(data) + 1, np.uint64, np.concatenate((data, np.zeros(8, np.uint8))), strides=(1,))
    seed = np.broadcast_to(seed, sizes.shape)
    hashed, at = seed + P5, starts
    if sizes.max(initial=0) >= 32:
        hashed, at = _stripes(words, starts, sizes, seed, hashed)
    return _tail(words, at, starts + sizes, hashed + sizes.view(np.uint64))


def _stripes(words: Hashes, starts: Places, sizes: Places, seed: Hashes, hashed: Hashes) -> tuple[Hashes, Places]:
    """Return the hash of all whole 32-byte stripes of each cell that has any, and where they end."""
    rows = np.flatnonzero(sizes >= 32)
    rows = rows[np.argsort(-sizes[rows], kind="stable")]
    lanes = seed[rows, None] + LANES
    counts, steps = sizes[rows] // 32, np.arange(0, 32, 8)
    for stripe in range(int(counts[0])):
        left = int(np.searchsorted(-counts, -stripe))
        stripe_words = words[starts[rows[:left], None] + 32 * stripe + steps]
        lanes[:left] = _rotated(lanes[:left] + stripe_words * P2, 31) * P1
    first, second, third, fourth = lanes.T
    merged = _rotated(first, 1) + _rotated(second, 7) + _rotated(third, 12) + _rotated(fourth, 18)
    for lane in (first, second, third, fourth):
        merged = (merged ^ _rotated(lane * P2, 31) * P1) * P1 + P4
    hashed[rows] = merged
    return hashed, starts + sizes // 32 * 32


def _tail(words: Hashes, at: Places, ends: Places, hashed: Hashes) -> Hashes:
    """Return the hash including the last bytes of each cell, fewer than 32."""
    left = ends - at
    for step in range(int(left.max(initial=0)) // 8):
        rows = _where(left >= 8 * step + 8)
        hashed[rows] = _word(hashed[rows], words[at[rows] + 8 * step])
    rest, left = words[ends - (left & 7)], left & 7
    hashed = np.where(left >= 4, _rotated(hashed ^ (rest & np.uint64(0xFFFFFFFF)) * P1, 23) * P2 + P3, hashed)
    rest >>= (left & 4).view(np.uint64) << np.uint64(3)
    left &= 3
    for step in range(3):
        byte = rest >> np.uint64(8 * step) & np.uint64(0xFF)
        hashed = np.where(left > step, _rotated(hashed ^ byte * P5, 11) * P1, hashed)
    return _mixed(hashed)


def fingerprints(cells: pa.Array) -> Hashes:
    """Return a 64-bit hash of each cell, in a fifth of the time of xxhash64. A null has that of an empty cell."""
    data, offsets = buffers(cells)
    at, sizes = offsets[:-1].copy(), np.diff(offsets)
    words: Hashes = np.ndarray(len(data) + 1, np.uint64, np.concatenate((data, np.zeros(8, np.uint8))), strides=(1,))
    hashed, counts = sizes.view(np.uint64) * P1, np.where(sizes > LONGEST, 0, sizes >> 3)
    whole = int(counts.min()) if len(counts) else 0
    for _ in range(whole):
        hashed, at = _chained(hashed, words[at]), at + 8
    rows = np.flatnonzero(counts > whole)
    while len(rows):
        hashed[rows] = _chained(hashed[rows], words[at[rows]])
        at[rows] += 8
        whole += 1
        rows = rows[counts[rows] > whole]
    rest = words[at] & ((np.uint64(1) << ((sizes & 7).view(np.uint64) << np.uint64(3))) - np.uint64(1))
    hashed = _mixed(_chained(hashed, rest))
    for row in np.flatnonzero(sizes > LONGEST).tolist():
        digest = hashlib.blake2b(data[offsets[row] : offsets[row + 1]].data, digest_size=8).digest()
        hashed[row] = int.from_bytes(digest, "little")
    return hashed


def stable_order(hashes: Hashes) -> Places:
    """Return the ascending order of hashes, in which those that are equal stay in theirs.

    A hash is sorted with its place in its lowest bits, which takes a third of the time of a stable argsort or less.
    """
    places = np.uint64((1 << max(1, len(hashes) - 1).bit_length()) - 1)
    order: Places = (np.sort(hashes & ~places | np.arange(len(hashes), dtype=np.uint64)) & places).astype(np.int64)
    ordered = hashes[order]
    if (ordered[1:] < ordered[:-1]).any():  # different hashes with equal high bits
        order = np.argsort(hashes, kind="stable")
    return order


def _chained(hashed: Hashes, words: Hashes) -> Hashes:
    hashed = (hashed ^ words) * P1
    return hashed ^ hashed >> np.uint64(32)


def _where(mask: npt.NDArray[np.bool_]) -> Places | slice:
    """Return the cheapest index of these rows."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def crc32(cells: pa.Array, prefix: bytes = b"") -> Crcs:
    """Return zlib's CRC-32 of the prefix and each cell; for a null that of the prefix.

    A CRC is linear: the contribution of a byte depends only on its value and on the number of bytes after it.
    """
    data, offsets = buffers(cells)
    ends, sizes = offsets[1:], np.diff(offsets)
    short = (sizes <= LONG) & (len(sizes) > FEW)
    if short.all():
        return _by_tables(data, ends, sizes, prefix)
    crcs, begun = np.empty(len(sizes), np.uint32), zlib.crc32(prefix)
    if short.any():
        crcs[short] = _by_tables(data, ends[short], sizes[short], prefix)
    long = zip(offsets[:-1][~short], ends[~short], strict=True)
    crcs[~short] = [zlib.crc32(data[start:end].data, begun) for start, end in long]
    return crcs


def _by_tables(data: npt.NDArray[np.uint8], ends: Places, sizes: Places, prefix: bytes) -> Crcs:
    order = np.argsort(sizes.astype(np.uint8), kind="stable")
    ends, sizes = ends[order], sizes[order]
    registers: Crcs = _after_zeros(zlib.crc32(prefix) ^ 0xFFFFFFFF)[sizes]
    for after in range(int(sizes.max(initial=0))):
        first = int(np.searchsorted(sizes, after, "right"))
        registers[first:] ^= _added(after).take(data.take(ends[first:] - (after + 1)))
    crcs = np.empty_like(registers)
    crcs[order] = ~registers
    return crcs


def _shifted(registers: Crcs) -> Crcs:
    return _added(0).take(registers & np.uint32(0xFF)) ^ registers >> np.uint32(8)


@cache
def _added(after: int) -> Crcs:
    """Return the contribution of a byte of each value that is followed by `after` others."""
    if after:
        return _shifted(_added(after - 1))
    return np.array([zlib.crc32(bytes([byte])) ^ zlib.crc32(b"\0") for byte in range(256)], np.uint32)


@lru_cache(4096)
def _after_zeros(register: int) -> Crcs:
    """Return a register after 0, 1, … and LONG zero bytes."""
    registers = [np.array([register], np.uint32)]
    for _ in range(LONG):
        registers.append(_shifted(registers[-1]))
    return np.concatenate(registers)


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
