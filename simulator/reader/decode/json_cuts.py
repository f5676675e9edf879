"""Cuts messages of rows in JSON: into the constant that equal rows share, numbers, and an object of what differs.

All of it is done on whole buffers. What a constant means is learned elsewhere (`decoder`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib.stride_tricks import sliding_window_view

from simulator.columns.cells import Bytes, Mask, Places, buffers, have_at, pieces_between, spans, stored_buffers

BACKSLASH = ord("\\")
LAST = (1 << 63) - 1
MOST_DIGITS = 19
TRIES = 4
BLOCK = 1 << 20
"""Bytes that a processor's cache holds."""


@dataclass(frozen=True)
class FramedEvents:
    """The events of those records that are framed correctly."""

    record: Places
    """Index of each event's record."""

    number: Places
    """Index of each event in its record."""

    keys: pa.Array
    """Binary, empty for none."""

    values: pa.Array
    """Binary, decompressed."""

    @classmethod
    def alone(cls, keys: pa.Array, values: pa.Array, fine: Mask) -> FramedEvents:
        """Return the events of records with one each, as far as they are fine."""
        places, kept = np.flatnonzero(fine), pa.array(fine)
        sides = (side.fill_null(b"") if side.null_count else side for side in (keys, values))
        return cls(
            places, np.zeros(len(places), np.int64), *(each if fine.all() else each.filter(kept) for each in sides)
        )


@dataclass(frozen=True)
class Shared:
    """Texts of which few are different."""

    texts: Sequence[bytes]
    codes: Places
    """Index of each event's text."""

    @classmethod
    def between(cls, data: Bytes, starts: Places, ends: Places) -> Shared:
        """Return the texts between places, which must ascend. Those that are equal to one of the first are not copied."""
        texts: list[bytes] = []
        codes, left = np.zeros(len(starts), np.int64), np.arange(len(starts))
        while len(left) and len(texts) < TRIES:
            start, end = starts[left[0]], ends[left[0]]
            text = data[start:end].tobytes()
            same = (ends[left] - starts[left] == end - start) & have_at(data, starts[left], text)
            codes[left[same]] = len(texts)
            texts.append(text)
            left = left[~same]
        if len(left):
            others = spans(data, starts[left], ends[left]).dictionary_encode()
            codes[left] = len(texts) + np.asarray(others.indices)
            texts += others.dictionary.to_pylist()
        return cls(texts, codes)


@dataclass(frozen=True)
class CutEvents:
    constants: Sequence[Shared]
    """What is together an event's constant."""

    objects: pa.Array
    """Texts of JSON (binary) that begin with a brace and a quote."""

    numbers: Mapping[str, pa.Array]
    """Integers that differ from row to row by name, null where one lacks."""

    fine: Mask
    """Which events could be cut."""


@dataclass(frozen=True)
class Number:
    """A number that differs from row to row."""

    mark: bytes
    """What is before it, and nowhere earlier in a message."""

    name: str | None = None
    """None if it is only checked."""

    may_lack: bool = False


def cut(texts: pa.Array, numbers: Sequence[Number], opening: bytes, names: Sequence[str]) -> CutEvents:
    """Cut texts (binary, no nulls) behind the marks of `numbers` in turn and before the member that the first opening is
    of, four bytes that begin with a quote and a colon. It has one of the names, and is not the first one of its text."""
    data, bounds = buffers(texts)
    ends = bounds[1:]
    cut = cut_numbers(data, bounds[:-1], ends, numbers)
    quote = _behind(data, cut.ends, ends, opening) - len(opening)
    start, fine = ends.copy(), cut.fine & (quote > cut.ends)
    for name in names:
        mark = f',"{name}'.encode()
        there = have_at(data, np.maximum(quote - len(mark), 0), mark)
        start[there] = quote[there] - len(mark)
    fine &= (start < ends) & (start >= cut.ends)
    start = np.where(fine, start, ends)
    constants = (*cut.constants, Shared.between(data, cut.ends, np.where(fine, quote, ends)))
    return CutEvents(constants, _braced(spans(data, start, ends)), cut.numbers, fine)


def _braced(texts: pa.Array) -> pa.Array:
    """Return texts with a brace in place of their first byte."""
    data, offsets = stored_buffers(texts)
    put = data if data.flags.writeable else data.copy()
    put[offsets[:-1][np.diff(offsets) > 0]] = ord("{")
    return pieces_between(offsets, put)


@dataclass(frozen=True)
class CutNumbers:
    constants: Sequence[Shared]
    """What is before each number."""

    numbers: Mapping[str, pa.Array]
    """As in CutEvents."""

    ends: Places
    """Where the last number of each text ends."""

    fine: Mask


def cut_numbers(data: Bytes, at: Places, ends: Places, numbers: Sequence[Number]) -> CutNumbers:
    """Cut texts, from each place to its end, behind the marks of `numbers` in turn."""
    fine, constants, found = np.ones(len(at), np.bool_), [], {}
    for number in numbers:
        start = _behind(data, at, ends, number.mark)
        lacks = number.may_lack & (start == ends)
        start = np.where(lacks, at, start)
        values, end = numbers_at(data, start)
        end = np.where(lacks, at, end)
        zero = (bytes_at(data, start, 1)[:, 0] == ord("0")) & (end > start + 1)
        fine &= (end > start) & (end <= ends) & ~zero & (values <= LAST) | lacks
        constants.append(Shared.between(data, at, start))
        if number.name is not None:
            found[number.name] = pa.array(values.astype(np.int64), mask=lacks if lacks.any() else None)
        at = np.minimum(end, ends)  # a text without the mark may have one behind it that begins with digits
    return CutNumbers(constants, found, at, fine)


def _behind(data: Bytes, at: Places, ends: Places, mark: bytes) -> Places:
    """Return the places behind the first mark of each text, its end if there is none. Most have it where one of the first
    texts has it, unless it is a part of a string."""
    places, left = ends.copy(), np.arange(len(at))
    for _ in range(TRIES):
        if not len(left):
            break
        first = data[at[left[0]] : ends[left[0]]].tobytes().find(mark)
        if first < 0:
            left = left[1:]
            continue
        guess = np.minimum(at[left] + first, ends[left])
        there = have_at(data, guess, mark)
        places[left[there]] = guess[there] + len(mark)
        left = left[~there]
    if len(left):
        found = pc.find_substring(spans(data, at[left], ends[left]), mark).to_numpy(zero_copy_only=False)
        places[left] = np.where(found < 0, ends[left], at[left] + found + len(mark))
    places = np.minimum(places, ends)
    escaped = bytes_at(data, np.maximum(places - len(mark) - 1, 0), 1)[:, 0] == BACKSLASH
    return np.where(escaped, ends, places)


def joined(parts: Sequence[pa.Array | str]) -> pa.Array:
    """Return the texts of arrays (binary) and constants one after another."""
    scalars = (pa.scalar(part.encode(), pa.binary()) if isinstance(part, str) else part for part in parts)
    return pc.binary_join_element_wise(*scalars, pa.scalar(b"", pa.binary()))


def numbers_at(data: Bytes, starts: Places) -> tuple[npt.NDArray[np.uint64], Places]:
    """Return the numbers of the digits that begin at each place, 19 of them at most, and their ends; the place itself
    if there are more."""
    numbers, ends = np.zeros(len(starts), np.uint64), starts.copy()
    left = np.arange(len(starts))
    for size in _likely_sizes(data, starts):
        digits = bytes_at(data, starts[left], size + 1) - np.uint8(ord("0"))
        same = (digits[:, :-1] < 10).all(axis=1) & (digits[:, -1] >= 10)
        found = np.zeros(len(left), np.uint64)
        for place in range(size):
            found = found * np.uint64(10) + digits[:, place]
        numbers[left[same]], ends[left[same]] = found[same], starts[left[same]] + size
        left = left[~same]
        if not len(left):
            break
    return numbers, ends


def _likely_sizes(data: Bytes, starts: Places) -> Sequence[int]:
    first = data[starts[0] : starts[0] + MOST_DIGITS].tobytes() if len(starts) else b""
    size = len(first) - len(first.lstrip(b"0123456789"))
    return (size, *(each for each in range(1, MOST_DIGITS + 1) if each != size))


def bytes_at(data: Bytes, places: Places, count: int) -> Bytes:
    """Return so many bytes from each place on; near the end of the data, the last ones."""
    if len(data) < count:
        return np.zeros((len(places), count), np.uint8)
    found: Bytes = sliding_window_view(data, count)[np.clip(places, 0, len(data) - count)]
    return found


def words(data: Bytes, word: bytes) -> Places:
    """Return where four bytes, the first of them a quote, are with no backslash before them."""
    quote, second, third, fourth = word
    parts = [np.zeros(0, np.int64)]
    for start in range(0, len(data), BLOCK):
        block = data[start : start + BLOCK + 3]
        parts.append(start + np.flatnonzero((block[1:-2] == second) & (block[2:-1] == third)))
    found: Places = np.concatenate(parts)
    there = (data[found] == quote) & (data[found + 3] == fourth) & (data[np.maximum(found - 1, 0)] != BACKSLASH)
    places: Places = found[there]
    return places
