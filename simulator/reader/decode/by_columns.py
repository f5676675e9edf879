"""Decodes a batch of event texts by columns, whatever tables they are of.

A text is read by columns if it differs from a text that `decode` read in the content of its tokens only (`tokens`,
`shapes`, `templates`), and these are valid. All others are left to `row_wise`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Mask, Places, pieces_between
from simulator.reader.decode.convert_tokens import are_utf8
from simulator.reader.decode.decoder import ColumnarDecoder
from simulator.reader.decode.shapes import ShapedTexts, TextShape, TokenizedSample
from simulator.reader.decode.templates import COMMON, Templates
from simulator.reader.decode.token_columns import ColumnarEvents, StackedArrays, event_columns, ragged_ranges
from simulator.reader.decode.tokens import PADDING, QuotedTexts, TokenizedTexts, quoted_texts, tokenize

Learn = Callable[[bytes, TokenizedSample], "TextShape | None"]
"""Returns the shape of a skeleton, learned from one text with it."""

FIRST_PRINTABLE = 0x20


def read_columns(texts: pa.Array, protocol: ColumnarDecoder, learn: Learn, templates: Templates) -> ColumnarEvents:
    """Read texts (binary, no nulls) by columns, as far as possible."""
    texts = protocol.shortened(texts)
    quoted = quoted_texts(texts)
    among = _are_texts(quoted, protocol.breaks)
    found = templates.find(quoted, among)
    if found is None:
        return _by_skeletons(texts, quoted, among, protocol, learn, templates)
    left = np.ones(len(texts), np.bool_)
    left[found.rows] = False
    others, read = np.flatnonzero(left), event_columns(found)
    if not len(others):
        return read
    rest = texts.take(pa.array(others))
    by_skeletons = _by_skeletons(rest, quoted_texts(rest), among[others], protocol, learn, templates)
    return _merged(read, ColumnarEvents(others[by_skeletons.places], by_skeletons.columns))


def _by_skeletons(
    texts: pa.Array, quoted: QuotedTexts, among: Mask, protocol: ColumnarDecoder, learn: Learn, templates: Templates
) -> ColumnarEvents:
    """Read those `among` texts that may have any skeletons, and make templates of the frequent ones."""
    tokenized = tokenize(quoted, protocol.tokens)
    encoded = tokenized.skeletons.dictionary_encode()
    of_row = np.asarray(encoded.indices, dtype=np.int64)
    _, samples, counts = np.unique(of_row, return_index=True, return_counts=True)
    shapes = []
    for row, skeleton, count in zip(samples.tolist(), encoded.dictionary.to_pylist(), counts.tolist(), strict=True):
        sample = _sample(tokenized, texts, quoted.bounds, row)
        shape = learn(skeleton, sample)
        if shape is not None and COMMON * count >= len(texts):
            templates.learn(sample, shape)
        shapes.append(shape)
    is_known = np.array([shape is not None for shape in shapes], np.bool_)
    rows = np.flatnonzero(is_known[of_row] & among)
    if not len(rows):
        return ColumnarEvents(rows, {})
    known = [shape for shape in shapes if shape is not None]
    return event_columns(_of_shapes(tokenized, known, rows, (np.cumsum(is_known) - 1)[of_row[rows]]))


def _sample(tokenized: TokenizedTexts, texts: pa.Array, bounds: Places, row: int) -> TokenizedSample:
    tokens = slice(tokenized.first[row], tokenized.first[row + 1])
    quotes, origin = tokenized.quoted[tokens], bounds[row]
    starts, ends = tokenized.starts[tokens] - quotes - origin, tokenized.ends[tokens] + quotes - origin
    lengths = tokenized.lengths[tokenized.first[row] + row : tokenized.first[row + 1] + row + 1]
    return TokenizedSample(texts[row].as_py(), list(zip(starts.tolist(), ends.tolist())), lengths)


def _merged(read: ColumnarEvents, rest: ColumnarEvents) -> ColumnarEvents:
    """Return the events of both, ordered by their texts."""
    if not len(rest.places):
        return read
    places = np.concatenate((read.places, rest.places))
    order = np.argsort(places, kind="stable")
    take = pa.array(order)
    columns = {name: pa.concat_arrays([column, rest.columns[name]]).take(take) for name, column in read.columns.items()}
    return ColumnarEvents(places[order], columns)


def _are_texts(texts: QuotedTexts, breaks: int) -> Mask:
    """Return which texts are UTF-8 and have no control characters except where their parts are joined."""
    data = texts.data[:-PADDING]
    controls = np.flatnonzero(data < FIRST_PRINTABLE) if breaks or data.min(initial=0xFF) < FIRST_PRINTABLE else ()
    valid: Mask = np.diff(np.searchsorted(controls, texts.bounds)) == breaks
    return valid & are_utf8(pieces_between(texts.bounds.astype(np.int32), data))


def _of_shapes(tokenized: TokenizedTexts, shapes: Sequence[TextShape], rows: Places, shape: Places) -> ShapedTexts:
    """Return those of the rows whose pieces are as long as those of their shapes."""
    lengths = StackedArrays([each.lengths for each in shapes])
    counts = np.diff(tokenized.first)[rows]
    fits = lengths.counts[shape] == counts + 1
    rows, shape, counts = rows[fits], shape[fits], counts[fits]
    actual = tokenized.lengths[ragged_ranges(tokenized.first[rows] + rows, counts + 1)]
    wrong = np.flatnonzero(actual != lengths.of(shape))
    if len(wrong):
        fits = np.ones(len(rows), np.bool_)
        fits[np.searchsorted(np.cumsum(counts + 1), wrong, side="right")] = False
        rows, shape, counts = rows[fits], shape[fits], counts[fits]
    tokens = ragged_ranges(tokenized.first[rows], counts)
    return ShapedTexts(
        tokenized.data,
        shapes,
        rows,
        shape,
        counts,
        tokenized.starts[tokens],
        tokenized.ends[tokens],
        tokenized.quoted[tokens],
        tokenized.escaped[tokens],
    )
