"""Pools of values: few enough to be made once, so that rows choose among them, by random numbers.

All values are TiDB text of the column; a pool with a value that the column does not accept is refused. A pool is equal
in every process and is never sent. A row's random number depends only on the seed, its key and how often it was changed.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist
from typing import Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, raw
from simulator.columns.change_frame import Ints
from simulator.columns.hashing import Hashes
from simulator.errors import UserError
from simulator.generate.values.generators import Distribution, FakerProvider, Range, Text, ValueChoice, provided_values
from simulator.limits import counted
from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.values.conversion import accepted_values

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


SLOTS = 1 << 16
"""Number of slots that weights are divided into."""

QUANTILES = 1 << 14
"""Number of values of a distribution."""

TEXTS, TEXT_BYTES = 1000, 1 << 23
"""Number of texts of a length, and their maximum bytes in all."""

SHOWN = 60
"""Maximum characters of a value in an error."""


@dataclass(frozen=True)
class Words:
    """One word each, cut to the column's length."""


@dataclass(frozen=True)
class Documents:
    """JSON of about that many bytes; bytes, vectors and sets for columns of these types."""

    size: int = 0


PooledValues: TypeAlias = Union[FakerProvider, ValueChoice, Range, Distribution, Text, Words, Documents]


@dataclass(frozen=True)
class Pool:
    texts: pa.Array
    """binary TiDB text, each value once."""

    slots: Ints | None
    """The value of each slot; None if slot and value have the same number."""

    widest: int
    """Number of slots of the most frequent value; they are contiguous."""

    @property
    def size(self) -> int:
        return len(self.texts) if self.slots is None else len(self.slots)


@lru_cache(1024)
def pool(values: PooledValues, type: ColumnType, seed: int) -> Pool:
    """Return the pool; raise UserError for a value that the column does not accept."""
    given, weights = _given(values, type, seed)
    texts = tidb_text(type, given)
    wrong = np.flatnonzero(np.asarray(texts.is_null()))
    if len(wrong):
        raise misfit(type, given[int(wrong[0])].as_py())
    distinct = raw(texts).dictionary_encode()
    numbers = np.asarray(distinct.indices).astype(np.int64)
    counts = np.bincount(numbers, weights).astype(np.int64)
    if counts.max() == 1:
        return Pool(distinct.dictionary, None, 1)
    return Pool(distinct.dictionary, np.repeat(np.arange(len(counts)), counts), int(counts.max()))


def misfit(type: ColumnType, value: object) -> UserError:
    """Return the error for a value that a column does not accept."""
    shown = (
        str(value) if len(str(value)) <= SHOWN else f"{str(value)[:SHOWN]}… ({counted(len(str(value)), 'character')})"
    )
    return UserError(f"{type.name} does not take {shown!r}; accepted: {accepted_values(type)}")


Given: TypeAlias = tuple[pa.Array, npt.NDArray[np.int64] | None]
"""Values as in a file, and the number of slots of each."""


def _given(values: PooledValues, type: ColumnType, seed: int) -> Given:
    match values:
        case FakerProvider(name):
            return pa.array(provided_values(name, seed), pa.string()), None
        case ValueChoice(choices, weights):
            return _choices(choices), _slots(weights) if weights else None
        case Range(least, greatest):
            return every(least, greatest, type), None
        case Distribution():
            return _distributed(values, type), None
        case Text(least, greatest):
            return pa.array(_texts(least, greatest, seed), pa.string()), None
        case Words():
            return _cut(_words(seed), type), None
        case Documents(size):
            return _documents(type, size, seed), None


def _choices(values: Sequence[Any]) -> pa.Array:
    if all(isinstance(each, int) for each in values) and max(map(abs, values)) < 1 << 63:
        return pa.array(values, pa.int64())
    return pa.array(
        [each.replace(tzinfo=None).isoformat(" ") if isinstance(each, datetime) else str(each) for each in values],
        pa.string(),
    )


def _slots(weights: Sequence[float]) -> npt.NDArray[np.int64]:
    """Return the number of slots for each value, at least one if it has a weight."""
    total = math.fsum(weights)
    if total <= SLOTS and all(weight == int(weight) for weight in weights):
        return np.array(weights).astype(np.int64) // math.gcd(*(int(weight) for weight in weights))
    shares = np.array(weights) / total * SLOTS
    return np.where(shares > 0, np.maximum(np.rint(shares), 1), 0).astype(np.int64)


def steps(least: object, greatest: object) -> tuple[int, int, int]:
    """Return a range as integers: the first, the count, and the number of digits after the point.

    Times count in seconds, dates in days.
    """
    match least, greatest:
        case (int(), int()):
            return least, greatest - least + 1, 0
        case (datetime(), datetime()):
            first, last = (
                int(np.datetime64(each.replace(tzinfo=None), "s").astype(np.int64)) for each in (least, greatest)
            )
            return first, last - first + 1, 0
        case (date(), date()):
            return least.toordinal() - date(1970, 1, 1).toordinal(), (greatest - least).days + 1, 0
        case (time(), time()):
            first, last = ((each.hour * 60 + each.minute) * 60 + each.second for each in (least, greatest))
            return first, last - first + 1, 0
    low, high = Decimal(str(least)), Decimal(str(greatest))
    digits = max(2, *(-int(each.as_tuple().exponent) for each in (low, high)))
    first, last = (int(each.scaleb(digits)) for each in (low, high))
    return first, last - first + 1, digits


def numbers(kind: type, whole: Ints, digits: int, of: ColumnType) -> pa.Array:
    """Return integers of `steps` as the values that they count, in the type that the column accepts best."""
    if issubclass(kind, datetime):
        return pa.array(whole).view(pa.timestamp("s"))
    if issubclass(kind, date):
        return pa.array(whole.astype(np.int32)).view(pa.date32())
    if issubclass(kind, time):
        return pa.array(whole.astype(np.int32)).view(pa.time32("s"))
    if not digits:
        return pa.array(whole)
    if family(of) == "float":
        return pa.array(whole / 10.0**digits)
    precision = min(of.length, 38) if family(of) == "decimal" and of.decimal == digits else 38
    halves = np.stack((whole, whole >> 63), axis=1)
    return pa.Array.from_buffers(pa.decimal128(precision, digits), len(whole), [None, pa.py_buffer(halves)])


def every(least: object, greatest: object, type: ColumnType) -> pa.Array:
    """Return all values of a range."""
    first, count, digits = steps(least, greatest)
    return numbers(least.__class__, np.arange(first, first + count), digits, type)


def _distributed(distribution: Distribution, type: ColumnType) -> pa.Array:
    """Return values that each represent an equal part of the distribution."""
    if distribution.name == "zipf":
        assert distribution.least is not None and distribution.greatest is not None
        shares = np.cumsum(np.arange(1, int(distribution.greatest - distribution.least) + 2) ** -distribution.exponent)
        return pa.array(int(distribution.least) + np.searchsorted(shares, _parts(0.0, 1.0) * shares[-1]))
    inside = _below(distribution, distribution.least, 0.0), _below(distribution, distribution.greatest, 1.0)
    if inside[1] - inside[0] < 1e-12:
        raise UserError(
            f"{distribution.name}: hardly any value lies between min, {distribution.least}, and max, {distribution.greatest}"
        )
    values = np.array([_quantile(distribution, part) for part in _parts(*inside).tolist()])
    values = values.clip(
        -math.inf if distribution.least is None else distribution.least,
        math.inf if distribution.greatest is None else distribution.greatest,
    )
    if family(type) in ("integer", "bit", "year"):
        return pa.array(np.rint(values).astype(np.int64))
    return pa.array(np.round(values, 4))


def _parts(least: float, greatest: float) -> npt.NDArray[np.float64]:
    parts: npt.NDArray[np.float64] = least + (np.arange(QUANTILES) + 0.5) / QUANTILES * (greatest - least)
    return parts


def _lognormal(distribution: Distribution) -> NormalDist:
    """Return the distribution of the logarithms."""
    variance = math.log1p((distribution.deviation / distribution.mean) ** 2)
    return NormalDist(math.log(distribution.mean) - variance / 2, math.sqrt(variance))


def _below(distribution: Distribution, bound: float | None, otherwise: float) -> float:
    """Return the part of the distribution below a bound."""
    if bound is None:
        return otherwise
    if distribution.name == "normal":
        return NormalDist(distribution.mean, distribution.deviation).cdf(bound)
    if bound <= 0:
        return 0.0
    if distribution.name == "lognormal":
        return _lognormal(distribution).cdf(math.log(bound))
    return -math.expm1(-bound / distribution.mean)


def _quantile(distribution: Distribution, part: float) -> float:
    if distribution.name == "normal":
        return NormalDist(distribution.mean, distribution.deviation).inv_cdf(part)
    if distribution.name == "lognormal":
        return math.exp(_lognormal(distribution).inv_cdf(part))
    return -distribution.mean * math.log1p(-part)


def _words(seed: int) -> pa.Array:
    return pa.array(provided_values("word", seed), pa.string())


@lru_cache(8)
def _texts(least: int, greatest: int, seed: int) -> list[str]:
    chosen = np.random.default_rng(seed_of(seed, "texts", least, greatest))
    words = _words(seed).to_pylist()
    count = max(8, min(TEXTS, TEXT_BYTES // max(greatest, 1)))
    prose = " ".join(words[at] for at in chosen.integers(len(words), size=2 * max(greatest, TEXT_BYTES // 64) // 5))
    prose *= greatest // len(prose) + 2
    sizes = chosen.integers(least, greatest, count, endpoint=True)
    starts = chosen.integers(len(prose) - greatest, size=count)
    return [_ended(prose[start : start + size]) for start, size in zip(starts.tolist(), sizes.tolist())]


def _ended(text: str) -> str:
    """Return the text without a space at either end, which a CHAR would lose."""
    inside = text.strip()
    return text if len(inside) == len(text) else inside.ljust(len(text), "s")


def _documents(type: ColumnType, size: int, seed: int) -> pa.Array:
    chosen = np.random.default_rng(seed_of(seed, "documents", type.name, size))
    kind = family(type)
    if kind == "vector":
        values = np.round(chosen.normal(size=(TEXTS, type.length if type.length > 0 else 3)), 2)
        return pa.array([str(row) for row in values.tolist()])
    if kind == "set":
        return pa.array(sorted(set(chosen.integers(1 << min(len(type.elements), 62), size=TEXTS).tolist())))
    if kind == "json":
        return pa.array(_json(size, seed, chosen.integers(1_000_000, size=TEXTS).tolist()))
    sizes = chosen.integers(1, min(type.length if type.length > 0 else 16, 16), TEXTS, endpoint=True).tolist()
    return pa.array([chosen.bytes(each) for each in sizes], pa.binary())


def _json(size: int, seed: int, numbers: Sequence[int]) -> list[str]:
    words = _words(seed).to_pylist()
    pairs = list(pairwise((*words, words[0])))
    texts = _texts(max(1, size - 60), max(1, size - 60), seed) if size else [""]
    return [
        f'{{"name": "{pairs[place % len(pairs)][0]}", "number": {number}, "tags": '
        f'["{pairs[place % len(pairs)][1]}", {number % 10}]'
        + (f', "text": "{texts[place % len(texts)]}"}}' if size else "}")
        for place, number in enumerate(numbers[: max(len(texts), 1) if size else None])
    ]


def _cut(text: pa.Array, type: ColumnType) -> pa.Array:
    return pc.utf8_slice_codeunits(text, 0, type.length) if type.length >= 0 else text
