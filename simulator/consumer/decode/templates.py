"""Finds the tokens of texts that have a known skeleton by the quotes around them, without splitting the texts.

Most texts of a stream have one of a few skeletons: those of the operations of its largest tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, Places
from simulator.consumer.decode.shapes import ShapedTexts, TextShape, TokenizedSample
from simulator.consumer.decode.tokens import QuotedTexts, holding, pieces_between

COMMON = 16
"""A skeleton gets a template if one in so many texts of a batch have it."""

MOST = 64
"""Maximum number of templates."""

TOLD_APART = 2
"""Number of pieces by which most texts are told apart: table and operation are before the second token."""


@dataclass(frozen=True)
class Template:
    """The texts with one skeleton and the same tokens in quotes.

    A text is cut at the edges of its tokens: a piece, a token, a piece, …, a piece, and nothing before the next text.
    """

    shape: TextShape
    pieces: tuple[bytes, ...]
    """What is around the tokens, quotes included; all but the first and the last have a quote."""

    @cached_property
    def quotes(self) -> int:
        """Return the number of quotes of a text, without escaped ones."""
        return sum(piece.count(b'"') for piece in self.pieces)

    @cached_property
    def quoted(self) -> Mask:
        """Return which tokens are in quotes."""
        return np.array([piece.endswith(b'"') for piece in self.pieces[:-1]], np.bool_)

    @cached_property
    def _lengths(self) -> Places:
        return np.array([len(piece) for piece in self.pieces], np.int64)

    @cached_property
    def _behind(self) -> tuple[Places, Places]:
        """Return which quote of the text is the first one after each token, and how far it is from there."""
        before = np.cumsum([piece.count(b'"') for piece in self.pieces[:-1]])
        return np.minimum(before, self.quotes - 1), np.array([piece.find(b'"') for piece in self.pieces[1:]], np.int64)

    def match(self, texts: QuotedTexts, first: Places, rows: Places) -> Matches:
        """Return those of the rows that the template fits. The rows have as many quotes; `first` is the index of each
        text's first quote."""
        quote, distance = self._behind
        edges = np.empty((len(rows), 2 * len(self.pieces)), np.int32)
        edges[:, 0], edges[:, -1] = texts.bounds[rows], texts.bounds[rows + 1]
        edges[:, 2::2] = texts.quotes[first[rows][:, None] + quote] - distance
        if b'"' not in self.pieces[-1]:
            edges[:, -2] = edges[:, -1] - self._lengths[-1]
        edges[:, 1:-1:2] = edges[:, :-2:2] + self._lengths[:-1]
        fit = (edges[:, -2] + self._lengths[-1] == edges[:, -1]) & (edges[:, 1:-1:2] <= edges[:, 2::2]).all(axis=1)
        if not fit.all():
            rows, edges = rows[fit], edges[fit]
        cut = pieces_between(np.append(edges, np.int32(len(texts.data))), texts.data)
        left = np.arange(len(rows))
        for some in (range(TOLD_APART), range(TOLD_APART, len(self.pieces))):
            left = left[self._are_there(cut, left, np.array(some, np.int64))]
        if len(left) < len(rows):
            rows, edges = rows[left], edges[left]
        return Matches(self, rows, edges[:, 1:-1:2], edges[:, 2::2])

    def _are_there(self, cut: pa.Array, rows: Places, some: Places) -> Mask:
        """Return which rows have some of the pieces, of texts that are cut at all tokens."""
        if not len(some):
            return np.ones(len(rows), np.bool_)
        expected = b"".join(self.pieces[piece] for piece in some.tolist())
        places = 2 * np.add.outer(len(self.pieces) * rows, some)
        found = cut.take(pa.array(places.ravel()))
        offsets = np.frombuffer(found.buffers()[1], np.int32, len(found) + 1)[:: len(some)]
        joined = [None, pa.py_buffer(np.ascontiguousarray(offsets)), found.buffers()[2] or pa.py_buffer(b"")]
        return np.asarray(pc.equal(pa.Array.from_buffers(pa.binary(), len(rows), joined), pa.scalar(expected)))


@dataclass(frozen=True)
class Matches:
    """The texts that a template fits, and starts and ends of their tokens, a row each."""

    template: Template
    rows: Places
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]


class Templates:
    """The templates of the most frequent texts so far; those of the last batch are the first."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...], Template] = {}

    def __bool__(self) -> bool:
        return bool(self._known)

    def learn(self, sample: TokenizedSample, shape: TextShape) -> None:
        """Add the template of a text, if its tokens can be found by its quotes."""
        pieces = _pieces(sample)
        if pieces is not None:
            while len(self._known) >= MOST:
                self._known.popitem()
            self._known[pieces] = Template(shape, pieces)

    def find(self, texts: QuotedTexts, among: Mask) -> ShapedTexts | None:
        """Return those of the texts that have a template; None if there are none."""
        left, first = among.copy(), np.cumsum(texts.counts) - texts.counts
        found: list[Matches] = []
        for template in self._known.values():
            rows = np.flatnonzero(left & (texts.counts == template.quotes))
            if len(rows):
                matches = template.match(texts, first, rows)
                left[matches.rows] = False
                found.append(matches)
        found = sorted((each for each in found if len(each.rows)), key=lambda each: -len(each.rows))
        self._known = {each.template.pieces: each.template for each in found} | self._known
        return _joined(texts, found) if found else None


def _pieces(sample: TokenizedSample) -> tuple[bytes, ...] | None:
    """Return what is around the tokens; None if a token does not end at a quote."""
    pieces, at = [], 0
    for start, end in sample.tokens:
        quotes = sample.text.startswith(b'"', start)
        pieces.append(sample.text[at : start + quotes])
        at = end - quotes
    pieces.append(sample.text[at:])
    found = all(b'"' in piece for piece in pieces[1:-1]) and not any(b"\\" in piece for piece in pieces)
    return tuple(pieces) if found and len(pieces) > 1 else None


def _joined(texts: QuotedTexts, found: Sequence[Matches]) -> ShapedTexts:
    """Return the texts of all templates in their order."""
    rows = np.concatenate([each.rows for each in found])
    template = np.repeat(np.arange(len(found)), [len(each.rows) for each in found])
    order = np.argsort(rows, kind="stable")
    counts = np.array([len(each.template.quoted) for each in found])[template[order]]
    first = np.empty(len(rows), np.int64)
    first[order] = np.cumsum(counts) - counts
    starts, ends = (np.empty(int(counts.sum()), np.int64) for _ in range(2))
    quoted = np.empty(len(starts), np.bool_)
    for number, each in enumerate(found):
        tokens = first[template == number][:, None] + np.arange(each.starts.shape[1])
        starts[tokens], ends[tokens], quoted[tokens] = each.starts, each.ends, each.template.quoted
    return ShapedTexts(
        texts.data,
        [each.template.shape for each in found],
        rows[order],
        template[order],
        counts,
        starts,
        ends,
        quoted,
        holding(starts, ends, texts.escapes),
    )
