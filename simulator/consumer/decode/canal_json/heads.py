"""Replaces the heads of Canal-JSON rows by short marks. A head is what comes before `old` or `data`, which is the same in
all rows of a table and an operation but for the numbers `es` and `ts`.

Most of the message of a narrow row is its head. The mark takes `es` with it, so that only texts with a commit-ts get
one. `restored` returns a text of which nothing but these two numbers may differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import Mask, Places, buffers
from simulator.consumer.decode.tokens import spans

MARK = 8
"""Bytes of a mark. No JSON begins with `#`, as they do."""

SIGNED = 80
"""Bytes by which heads are looked up; database, table and often the operation are among them."""

LEAST, TRIES, MOST = 64, 4, 1 << 12
"""Rows of a batch that are worth a head; heads with one beginning; heads in all."""

HEAD = re.compile(rb'(\{[^\\]*?"es":)([1-9][0-9]*)(,"ts":)([1-9][0-9]*)(,[^\\]*?)(?="(?:old|data)":\[\{)')
COMMIT_TS = b'"_tidb":{"commitTs":'
MIX = np.uint64(0x9E3779B97F4A7C15)

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Head:
    text: bytes
    numbers: tuple[tuple[int, int], ...]
    """Start and end of `es` and `ts`."""

    mark: bytes

    def begins(self, data: npt.NDArray[np.uint8], starts: Places, sizes: Places) -> Mask:
        """Return which texts begin with this head, whatever its numbers are."""
        masks, expected, digits = self._pattern
        begins: Mask = sizes >= masks.nbytes
        begun = spans(data, starts[begins], starts[begins] + masks.nbytes)
        heads = np.frombuffer(begun.buffers()[2], np.uint64, len(begun) * len(masks)).reshape(-1, len(masks))
        numbers = heads.view(np.uint8)[:, digits]
        first = [int(np.searchsorted(digits, start)) for start, _ in self.numbers]
        begins[begins] = (
            ((heads & masks) == expected).all(axis=1)
            & (numbers - np.uint8(ord("0")) <= 9).all(axis=1)
            & (numbers[:, first] != ord("0")).all(axis=1)
        )
        return begins

    @cached_property
    def _pattern(self) -> tuple[Words, Words, Places]:
        """Return the masks and the values of the head's words, and the places of digits."""
        mask = np.zeros(-(-len(self.text) // 8) * 8, np.uint8)
        mask[: len(self.text)] = 0xFF
        digits = np.concatenate([np.arange(start, end) for start, end in self.numbers])
        mask[digits] = 0
        text = np.frombuffer(self.text.ljust(len(mask), b"\0"), np.uint8)
        return mask.view(np.uint64), (text & mask).view(np.uint64), digits


class KnownHeads:
    """The heads that this process has met."""

    def __init__(self) -> None:
        self._by_beginning: dict[bytes, list[Head]] = {}
        self._by_mark: dict[bytes, Head] = {}

    def marked(self, texts: pa.Array) -> pa.Array:
        """Return texts (binary, no nulls), of which those with a known head have a mark in its place."""
        data, bounds = buffers(texts)
        starts, sizes = bounds[:-1], np.diff(bounds)
        cut, marks = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.uint64)
        for rows in _alike(data, starts, np.flatnonzero(sizes >= SIGNED)):
            first = int(starts[rows[0]])
            known = self._by_beginning.setdefault(data[first : first + SIGNED].tobytes(), [])
            for number in range(TRIES):
                if len(rows) < LEAST or number == len(known) and not self._learn(known, texts[int(rows[0])].as_py()):
                    break
                begins = known[number].begins(data, starts[rows], sizes[rows])
                cut[rows[begins]] = len(known[number].text) - MARK
                marks[rows[begins]] = np.frombuffer(known[number].mark, np.uint64)
                rows = rows[~begins]
        there = np.flatnonzero(cut)
        if not len(there):
            return texts
        shortened = spans(data, starts + cut, bounds[1:])
        _, offsets, held = shortened.buffers()
        words: Words = np.ndarray(len(held) - 7, np.uint64, held, strides=(1,))
        words[np.frombuffer(offsets, np.int32, len(texts))[there]] = marks[there]
        return shortened

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


def _alike(data: npt.NDArray[np.uint8], starts: Places, rows: Places) -> list[Places]:
    """Return those of these rows whose texts have equal beginnings, if there are enough."""
    if len(rows) < LEAST:
        return []
    words: Words = np.ndarray(len(data) - 7, np.uint64, data, strides=(1,))
    signed = np.zeros(len(rows), np.uint64)
    for at in range(0, SIGNED, 8):
        signed = (signed ^ words[starts[rows] + at]) * MIX
        signed ^= signed >> np.uint64(29)
    _, places, counts = np.unique(signed, return_inverse=True, return_counts=True)
    order, ends = rows[np.argsort(places, kind="stable")], np.cumsum(counts)
    return [order[end - count : end] for end, count in zip(ends.tolist(), counts.tolist()) if count >= LEAST]
