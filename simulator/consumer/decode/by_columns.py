"""Decodes a batch of event texts by columns, whatever tables they are of.

A text is read by columns if it differs from a text that `decode` read in the content of its tokens only (`tokens`,
`shapes`, `templates`), and these are valid. All others are left to `row_wise`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Bytes, Mask, Places, buffers
from simulator.consumer.decode.convert_tokens import are_utf8
from simulator.consumer.decode.decoder import ColumnarDecoder
from simulator.consumer.decode.shapes import ShapedTexts, TextShape, TokenizedSample
from simulator.consumer.decode.templates import COMMON, Templates
from simulator.consumer.decode.token_columns import ColumnarEvents, StackedArrays, event_columns, ragged_ranges
from simulator.consumer.decode.tokens import PADDING, QuotedTexts, TokenizedTexts, quoted_texts, tokenize

Learn = Callable[[bytes, TokenizedSample], "TextShape | None"]
"""Returns the shape of a skeleton, learned from one text with it."""

FIRST_PRINTABLE = 0x20


def read_columns(texts: pa.Array, protocol: ColumnarDecoder, learn: Learn, templates: Templates) -> ColumnarEvents:
    """Read texts (binary, no nulls) by columns, as far as possible."""
    quoted = quoted_texts(texts)
    are_texts = _are_texts(quoted.data[:-PADDING], quoted.bounds, texts, protocol.breaks)
    found = templates.find(quoted, are_texts)
    are_texts[found.rows] = False
    left = np.flatnonzero(are_texts)
    if not len(found.rows):
        return _by_skeletons(texts, quoted, protocol, learn, templates, left)
    read = event_columns(found)
    if not len(left):
        return read
    others = texts.take(pa.array(left))
    rest = _by_skeletons(others, quoted_texts(others), protocol, learn, templates, np.arange(len(left)))
    return _merged(read, ColumnarEvents(left[rest.places], rest.columns))


def _by_skeletons(
    texts: pa.Array, quoted: QuotedTexts, protocol: ColumnarDecoder, learn: Learn, templates: Templates, rows: Places
) -> ColumnarEvents:
    """Read some rows of texts that may have any skeletons."""
    tokenized = tokenize(quoted, protocol.tokens)
    shapes, of_row = _shapes(tokenized, texts, learn, templates)
    is_known = np.array([shape is not None for shape in shapes], np.bool_)
    rows = rows[is_known[of_row[rows]]]
    if not len(rows):
        return ColumnarEvents(rows, {})
    known = [shape for shape in shapes if shape is not None]
    return event_columns(_of_shapes(tokenized, known, rows, (np.cumsum(is_known) - 1)[of_row[rows]]))


def _merged(read: ColumnarEvents, rest: ColumnarEvents) -> ColumnarEvents:
    """Return the events of both, ordered by their texts."""
    if not len(rest.places):
        return read
    places = np.concatenate((read.places, rest.places))
    order = np.argsort(places, kind="stable")
    take = pa.array(order)
    columns = {
        name: pa.concat_arrays([column, rest.columns[name]]).take(take) for name, column in read.columns.items()
    }
    return ColumnarEvents(places[order], columns)


def _shapes(
    tokenized: TokenizedTexts, texts: pa.Array, learn: Learn, templates: Templates
) -> tuple[list[TextShape | None], Places]:
    """Return all shapes, and the index of each text's shape; frequent ones get a template."""
    encoded = tokenized.skeletons.dictionary_encode()
    codes = np.asarray(encoded.indices, dtype=np.int64)
    _, samples, counts = np.unique(codes, return_index=True, return_counts=True)
    _, bounds = buffers(texts)
    shapes = []
    for row, skeleton, count in zip(samples.tolist(), encoded.dictionary.to_pylist(), counts.tolist(), strict=True):
        tokens, origin = slice(tokenized.first[row], tokenized.first[row + 1]), bounds[row]
        quotes = tokenized.quoted[tokens]
        spans = zip(
            (tokenized.starts[tokens] - quotes - origin).tolist(), (tokenized.ends[tokens] + quotes - origin).tolist()
        )
        lengths = tokenized.lengths[tokenized.first[row] + row : tokenized.first[row + 1] + row + 1]
        sample = TokenizedSample(texts[row].as_py(), list(spans), lengths)
        shape = learn(skeleton, sample)
        if shape is not None and COMMON * count >= len(texts):
            templates.learn(sample, shape)
        shapes.append(shape)
    return shapes, codes


def _are_texts(data: Bytes, bounds: Places, texts: pa.Array, breaks: int) -> Mask:
    """Return which texts are UTF-8 and have no control characters except where their parts are joined."""
    controls = np.flatnonzero(data < FIRST_PRINTABLE) if breaks or data.min(initial=0xFF) < FIRST_PRINTABLE else []
    valid: Mask = np.diff(np.searchsorted(controls, bounds)) == breaks
    return valid & are_utf8(texts)


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
    of_tokens = (tokenized.starts, tokenized.ends, tokenized.quoted, tokenized.escaped)
    return ShapedTexts(tokenized.data, shapes, rows, shape, counts, *(each[tokens] for each in of_tokens))
