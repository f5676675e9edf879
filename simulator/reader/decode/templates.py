"""Finds the tokens of texts that have a known skeleton by the quotes around them, without splitting the texts.

Most texts of a stream have one of a few skeletons: those of the operations of its largest tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from simulator.columns.cells import Mask, Places, have_at
from simulator.reader.decode.shapes import ShapedTexts, TextShape, TokenizedSample
from simulator.reader.decode.tokens import QuotedTexts, holding

COMMON = 16
"""A skeleton gets a template if one in so many texts of a batch have it."""

MOST = 64
"""Maximum number of templates."""


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
    def quoted(self) -> list[bool]:
        """Return which tokens are in quotes."""
        return [piece.endswith(b'"') for piece in self.pieces[:-1]]

    @cached_property
    def _ends(self) -> list[tuple[int, int, bytes]]:
        """Return how each token's end is found: by the first quote of the text behind it, the number of bytes from the
        token to there, and the piece between. The last piece may have no quote."""
        before = accumulate(piece.count(b'"') for piece in self.pieces)
        return [(quote, piece.find(b'"'), piece) for quote, piece in zip(before, self.pieces[1:])]

    def match(self, texts: QuotedTexts, first: Places, rows: Places) -> Matches:
        """Return those of the rows that the template fits. The rows have as many quotes; `first` is the index of each
        text's first quote."""
        rows = rows[have_at(texts.data, texts.bounds[rows], self.pieces[0])]
        quotes, last = first[rows], texts.bounds[rows + 1]
        starts, ends = (np.empty((len(self._ends), len(rows)), np.int64) for _ in range(2))
        fit, at = np.ones(len(rows), np.bool_), texts.bounds[rows] + len(self.pieces[0])
        for start, end, (quote, distance, piece) in zip(starts, ends, self._ends, strict=True):
            behind = last - len(piece) if distance < 0 else texts.quotes[quotes + quote] - distance
            start[:], end[:] = at, np.maximum(at, behind)
            fit &= (behind >= at) & have_at(texts.data, end, piece)
            at = end + len(piece)
        fit &= at == last
        if not fit.all():
            rows, starts, ends = rows[fit], starts[:, fit], ends[:, fit]
        return Matches(self, rows, starts, ends)


@dataclass(frozen=True)
class Matches:
    """The texts that a template fits, and where their tokens are: an array for each token."""

    template: Template
    rows: Places
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


class Templates:
    """The templates of the most frequent texts so far; those of the last batch are the first."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...], Template] = {}

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
    there = np.zeros(len(texts.counts), np.bool_)
    for each in found:
        there[each.rows] = True
    rank, rows = np.cumsum(there) - 1, np.flatnonzero(there)
    template = np.empty(len(rows), np.int64)
    for number, each in enumerate(found):
        template[rank[each.rows]] = number
    counts = np.array([len(each.starts) for each in found])[template]
    first = np.cumsum(counts) - counts
    starts, ends = (np.empty(int(counts.sum()), np.int64) for _ in range(2))
    quoted = np.empty(len(starts), np.bool_)
    for each in found:
        tokens = first[rank[each.rows]]
        for start, end, is_quoted in zip(each.starts, each.ends, each.template.quoted, strict=True):
            starts[tokens], ends[tokens], quoted[tokens] = start, end, is_quoted
            tokens += 1
    return ShapedTexts(
        texts.data,
        [each.template.shape for each in found],
        rows,
        template,
        counts,
        starts,
        ends,
        quoted,
        holding(starts, ends, texts.escapes),
    )
