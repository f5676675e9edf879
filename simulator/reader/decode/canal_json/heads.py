"""Replaces the heads of Canal-JSON rows by short marks. A head is what comes before `old` or `data`, which is the same in
all rows of a table and an operation but for the numbers `es` and `ts`.

Most of the message of a narrow row is its head. The mark takes `es` with it, so that only texts with a commit-ts get
one. `restored` returns a text of which nothing but these two numbers may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import Bytes, Mask, Places, buffers, have_at, spans

MARK = 8
"""Bytes of a mark. No JSON begins with `#`, as they do."""

SIGNED = 80
"""Bytes by which heads are looked up; database, table and often the operation are among them."""

LEAST, TRIES, MOST = 64, 4, 1 << 12
"""Rows of a batch that are worth a head; heads with one beginning; heads in all."""

COMMON = 16
"""A head that one in so many rows of a batch has is looked for in all rows of the next."""

HEAD = re.compile(rb'(\{[^\\]*?"es":)([1-9][0-9]{7,})(,"ts":)([1-9][0-9]{7,})(,[^\\]*?)(?="(?:old|data)":\[\{)')
COMMIT_TS = b'"_tidb":{"commitTs":'
MIX = np.uint64(0x9E3779B97F4A7C15)

Words = npt.NDArray[np.uint64]
HIGH, ZEROS, SIXES = (np.uint64(0x0101010101010101 * byte) for byte in (0xF0, ord("0"), 6))


@dataclass(frozen=True)
class Head:
    text: bytes
    numbers: tuple[tuple[int, int], ...]
    """Start and end of `es` and `ts`, which have eight digits or more."""

    mark: bytes

    def begins(self, data: Bytes, starts: Places, sizes: Places) -> Mask:
        """Return which texts begin with this head, whatever its numbers are. `starts` ascend."""
        begins: Mask = sizes >= len(self.text)
        edges = (0, *chain.from_iterable(self.numbers), len(self.text))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            begins &= have_at(data, starts + start, self.text[start:end])
        for start, end in self.numbers:
            begins[begins] = _are_digits(data, starts[begins] + start, end - start)
        return begins


class KnownHeads:
    """The heads that this process has met."""

    def __init__(self) -> None:
        self._by_beginning: dict[bytes, list[Head]] = {}
        self._by_mark: dict[bytes, Head] = {}
        self._common: list[Head] = []
        """Those of the last batch, the most frequent one first."""

    def marked(self, texts: pa.Array) -> pa.Array:
        """Return texts (binary, no nulls), of which those with a known head have a mark in its place."""
        data, bounds = buffers(texts)
        found = sorted(self._found(texts, data, bounds), key=lambda each: -len(each[1]))
        self._common = [head for head, rows in found if COMMON * len(rows) >= len(texts)]
        cut, marks = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.uint64)
        for head, rows in found:
            cut[rows], marks[rows] = len(head.text) - MARK, np.frombuffer(head.mark, np.uint64)
        there = np.flatnonzero(cut)
        if not len(there):
            return texts
        shortened = spans(data, bounds[:-1] + cut, bounds[1:])
        _, offsets, held = shortened.buffers()
        _words(held)[np.frombuffer(offsets, np.int32, len(texts))[there]] = marks[there]
        return shortened

    def _found(self, texts: pa.Array, data: Bytes, bounds: Places) -> Iterator[tuple[Head, Places]]:
        """Yield heads, and the rows that begin with each."""
        starts, sizes = bounds[:-1], np.diff(bounds)
        left = sizes >= SIGNED
        for head in self._common:
            rows = np.flatnonzero(left)
            rows = rows[head.begins(data, starts[rows], sizes[rows])]
            left[rows] = False
            yield head, rows
        for rows in _alike(data, starts, np.flatnonzero(left)):
            first = int(starts[rows[0]])
            known = self._by_beginning.setdefault(data[first : first + SIGNED].tobytes(), [])
            for number in range(TRIES):
                if len(rows) < LEAST or number == len(known) and not self._learn(known, texts[int(rows[0])].as_py()):
                    break
                begins = known[number].begins(data, starts[rows], sizes[rows])
                yield known[number], rows[begins]
                rows = rows[~begins]

    def restored(self, text: bytes) -> bytes:
        """Return a text with its head; the numbers are those of the row from which the head is known."""
        head = self._by_mark.get(text[:MARK])
        return text if head is None else head.text + text[MARK:]

    def _learn(self, known: list[Head], text: bytes) -> bool:
        """Add the head of a text to those with its beginning; return whether it has one."""
        found = HEAD.match(text)
        if found is None or COMMIT_TS not in text or len(self._by_mark) == MOST or found[0].count(b'"') % 2:
            return False
        head = Head(found[0], (found.span(2), found.span(4)), b"#%07d" % len(self._by_mark))
        self._by_mark[head.mark] = head
        known.append(head)
        return True


def _words(data: Bytes | pa.Buffer) -> Words:
    """Return the eight bytes at each place."""
    return np.ndarray(max(0, len(data) - 7), np.uint64, data, strides=(1,))


def _are_digits(data: Bytes, places: Places, size: int) -> Mask:
    """Return at which places so many bytes, eight or more, are digits and the first of them is not 0."""
    words = _words(data)
    are: Mask = data[places] != ord("0")
    for at in (*range(0, size - 8, 8), size - 8):
        word = words[places + at]
        are &= (word & HIGH == ZEROS) & (word + SIXES & HIGH == ZEROS)
    return are


def _alike(data: Bytes, starts: Places, rows: Places) -> list[Places]:
    """Return those of these rows whose texts have equal beginnings, if there are enough."""
    if len(rows) < LEAST:
        return []
    words, signed = _words(data), np.zeros(len(rows), np.uint64)
    for at in range(0, SIGNED, 8):
        signed = (signed ^ words[starts[rows] + at]) * MIX
        signed ^= signed >> np.uint64(29)
    _, places, counts = np.unique(signed, return_inverse=True, return_counts=True)
    order, ends = rows[np.argsort(places, kind="stable")], np.cumsum(counts)
    return [order[end - count : end] for end, count in zip(ends.tolist(), counts.tolist()) if count >= LEAST]
