"""TiCDC's dispatch hash as plain functions, for `explain` and as the reference for the Spark columns.

One law: a hash is the XOR of one CRC32 per write, whatever their order (tiflow v8.5.3 pkg/hash/position_inertia.go).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.releases import Release
from simulator.schema import types
from simulator.schema.table import Column

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


def value_bytes(column: Column, text: str | bytes | None, hashing: Hashing = Hashing()) -> bytes:
    """The bytes hashed for a TiDB text: members by number, floats without exponent, binary strings as they are."""
    if text is None:
        return NULL
    if isinstance(text, bytes):
        return text
    if column.type.name == "enum":
        return str(enum_index(column.type.elements, text)).encode()
    if column.type.name == "set":
        return str(set_bits(column.type.elements, text)).encode()
    if column.type.name in FLOATS:
        return value_string(_number(column.type.name == "float", text, hashing)).encode()
    if column.type.name == "time" and not hashing.time_fraction:
        text = text.partition(".")[0]
    return text.encode("latin-1") if types.is_binary(column.type) else text.encode("utf-8", "surrogateescape")


def _number(single: bool, text: str, hashing: Hashing) -> np.floating:
    if not single:
        return np.float64(text)
    return np.float64(np.float32(text)) if hashing.widens_float else np.float32(text)


def enum_index(elements: Sequence[str], text: str) -> int:
    """Position from 1 of a member, 0 for the empty error value."""
    return elements.index(text) + 1 if text in elements else 0


def set_bits(elements: Sequence[str], text: str) -> int:
    """The bitmap of the members that are joined by commas in the text."""
    return sum(1 << elements.index(name) for name in set(text.split(",")) if name and name in elements)
