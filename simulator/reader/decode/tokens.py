"""Splits JSON texts of events into tokens, the values that differ from row to row, and the skeleton around them.

Texts with the same skeleton differ in their tokens only. So what `decode` finds in one of them applies to all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import Bytes, Mask, Places, buffers, pieces_between

QUOTE, BACKSLASH, COLON = b'"\\:'
NULL, LIST, OBJECT = b"n[{"
PADDING = 16
"""Zero bytes after all texts, so that reading a little past the last one is safe."""


@dataclass(frozen=True)
class QuotedTexts:
    """Texts and where their strings are. A text with an odd number of quotes has no strings."""

    data: Bytes
    """All texts, followed by PADDING."""

    bounds: Places
    """The start of each text, then the end of the last."""

    quotes: Places
    """Positions of all quotes but those that a backslash escapes; opening and closing ones take turns."""

    counts: Places
    """Number of each text's quotes."""

    escapes: Places
    """Positions of all backslashes."""


@dataclass(frozen=True)
class JsonStrings:
    data: Bytes
    """All texts, followed by PADDING."""

    row: Places
    """Index of the text."""

    opens: Places
    """Position of the opening quote."""

    closes: Places
    is_key: Mask
    """Whether a colon follows."""

    behind: Bytes
    """The first byte after the colon; undefined for a string that is no key."""


@dataclass(frozen=True)
class TokenizedTexts:
    """Tokens and skeletons of texts. A token is a value without its quotes."""

    data: Bytes
    starts: Places
    ends: Places
    quoted: Mask
    escaped: Mask
    """Tokens with a backslash."""

    row: Places
    first: Places
    """Index of each text's first token, followed by the number of tokens."""

    skeletons: pa.Array
    lengths: npt.NDArray[np.int32]
    """Lengths of the skeleton's pieces; those of text r start at first[r] + r, and are one more than its tokens."""


TokenRule = Callable[[JsonStrings], tuple[Mask, Mask]]
"""A protocol's rule: which strings are tokens, and which keys have a token that is no string."""


def is_number(first: Bytes) -> Mask:
    """Return which of the bytes may begin a number."""
    mask: Mask = (first == ord("-")) | (first >= ord("0")) & (first <= ord("9"))
    return mask


def bytes_at(data: Bytes, places: Places, count: int) -> Bytes:
    return data[np.add.outer(places, np.arange(count))]


def quoted_texts(texts: pa.Array) -> QuotedTexts:
    """Find the strings of texts (binary, no nulls)."""
    stored, bounds = buffers(texts)
    data = np.concatenate((stored, np.zeros(PADDING, np.uint8)))
    quotes, escapes = np.flatnonzero(data == QUOTE), np.zeros(0, np.int64)
    escaping = data == BACKSLASH
    if escaping.any():
        escapes = np.flatnonzero(escaping)
        ends = np.flatnonzero(np.diff(escapes, append=escapes[-1] + 2) != 1)
        runs = np.diff(ends, prepend=-1)
        behind = escapes[ends[runs % 2 == 1]] + 1
        quotes = quotes[~np.isin(quotes, behind[data[behind] == QUOTE], assume_unique=True)]
    counts = np.diff(np.searchsorted(quotes, bounds))
    if (counts % 2).any():
        quotes = quotes[np.repeat(counts % 2 == 0, counts)]
        counts = np.where(counts % 2, 0, counts)
    return QuotedTexts(data, bounds, quotes, counts, escapes)


def tokenize(texts: QuotedTexts, values: TokenRule) -> TokenizedTexts:
    """Split texts into tokens. A text without strings has none."""
    data, bounds = texts.data, texts.bounds
    opens, closes = texts.quotes[::2], texts.quotes[1::2]
    row = np.repeat(np.arange(len(texts.counts)), texts.counts // 2)
    is_key = data[closes + 1] == COLON
    quoted, loose = values(JsonStrings(data, row, opens, closes, is_key, data[closes + 2]))
    places = np.flatnonzero(quoted | loose)
    quoted = quoted[places]
    starts = np.where(quoted, opens[places] + 1, closes[places] + 2)
    ends = np.where(quoted, closes[places], _ends(data, bounds, row, opens, places, quoted))
    row = row[places]
    first = np.searchsorted(row, np.arange(len(bounds)))
    escaped = holding(starts, ends, texts.escapes)
    skeletons, lengths = _skeletons(data, bounds, starts - quoted, ends + quoted, row, first)
    return TokenizedTexts(data, starts, ends, quoted, escaped, row, first, skeletons, lengths)


def holding(starts: Places, ends: Places, positions: Places) -> Mask:
    """Return which of the tokens, whose starts ascend, have one of these positions inside."""
    mask = np.zeros(len(starts), np.bool_)
    if len(positions) and len(starts):
        token = np.maximum(np.searchsorted(starts, positions, side="right") - 1, 0)
        mask[token[positions < ends[token]]] = True
    return mask


CLOSING = np.isin(np.arange(256), list(b",{}[]"))


def _ends(data: Bytes, bounds: Places, row: Places, opens: Places, places: Places, quoted: Mask) -> Places:
    """Return the ends of values that are no strings: before the brackets or comma that precede the next string or the
    end."""
    ends = np.zeros(len(places), np.int64)
    loose = np.flatnonzero(~quoted)
    at = places[loose]
    last = np.append(row[1:] != row[:-1], True)[at] if len(at) else np.zeros(0, np.bool_)
    end = np.where(last, bounds[row[at] + 1], np.append(opens, 0)[at + 1])
    active = np.flatnonzero(CLOSING[data[end - 1]])
    while len(active):
        end[active] -= 1
        active = active[CLOSING[data[end[active] - 1]]]
    ends[loose] = end
    return ends


def _skeletons(
    data: Bytes, bounds: Places, starts: Places, ends: Places, row: Places, first: Places
) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """Return the texts without their tokens, and the lengths of the remaining pieces."""
    rows = len(bounds) - 1
    edges = np.empty(2 * len(starts) + rows + 1, np.int32)
    opening = 2 * np.arange(len(starts)) + row + 1
    edges[2 * first + np.arange(rows + 1)] = bounds
    edges[opening], edges[opening + 1] = starts, ends
    kept = np.ones(len(edges) - 1, np.bool_)
    kept[opening] = False
    left = pieces_between(edges, data).filter(pa.array(kept))
    offsets = np.frombuffer(left.buffers()[1], np.int32, len(left) + 1)
    whole = np.ascontiguousarray(offsets[first + np.arange(rows + 1)])
    skeletons = pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(whole), left.buffers()[2]])
    return skeletons, np.diff(offsets)
