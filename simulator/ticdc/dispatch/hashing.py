"""TiCDC's dispatch hash by itself, and what of it releases do differently.

One law: a hash is the XOR of one CRC32 per write, whatever their order (tiflow v8.5.3 pkg/hash/position_inertia.go).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.releases import Release

FLOATS = ("float", "double")
NULL = b"null"


@dataclass(frozen=True)
class Hashing:
    """How the values of a table become the bytes that are hashed."""

    nulls: bool = True
    """Whether a NULL is hashed as `null`; otherwise its column is left out."""

    widens_float: bool = False
    """Whether a FLOAT has the digits that it has as a 64-bit number."""

    time_fraction: bool = True
    """Whether a TIME keeps its fraction of a second."""

    @staticmethod
    def of(release: Release, source: str) -> Hashing:
        """What the release does with columns that come from `source`, as `release.dispatch_nulls` has it."""
        return Hashing(source in release.dispatch_nulls, release.float_widened, release.dispatch_time_fraction)


def inertia(writes: Iterable[Sequence[bytes]]) -> int:
    """The hash (unsigned, 32 bits) of writes, each being byte strings that are hashed without separators."""
    state = 0
    for parts in writes:
        state ^= zlib.crc32(b"".join(parts))
    return state


def value_string(value: object) -> str:
    """A value as dispatchers hash it (`ColumnValueString`, tiflow v8.5.3 cdc/model/sink.go)."""
    if value is None:
        return "null"
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (float, np.floating)):
        return np.format_float_positional(value, unique=True, trim="-")
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
