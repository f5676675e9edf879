"""Decodes a batch of event texts by columns, whatever tables they are of.

A text is read by columns if it differs from a text that `decode` read in the content of its tokens only (`tokens`,
`shapes`), and these are valid. All others are left to `row_wise`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns.cells import Mask, Places, buffers
from simulator.columns.row_image import NULL, SEPARATOR
from simulator.consumer.decode import convert_tokens as convert
from simulator.consumer.decode.decoder import ColumnarDecoder, Role
from simulator.consumer.decode.shapes import TextShape, TokenizedSample
from simulator.consumer.decode.tokens import TokenizedTexts, pieces_between, spans, tokenize
from simulator.consumer.frame import UNKNOWN_CELL

Learn = Callable[[bytes, TokenizedSample], "TextShape | None"]
"""Returns the shape of a skeleton, learned from one text with it."""

LAST = (1 << 63) - 1
DIGITS = 18
"""Any number with so many digits fits into 63 bits."""


@dataclass(frozen=True)
class ColumnarEvents:
    """The texts that were read, and the columns of EVENT_SCHEMA that depend on them."""

    places: Places
    columns: Mapping[str, pa.Array]


def read_columns(texts: pa.Array, protocol: ColumnarDecoder, learn: Learn) -> ColumnarEvents:
    """Read texts (binary, no nulls) by columns, as far as possible."""
    tokenized = tokenize(texts, protocol.tokens)
    shapes, of_row = _shapes(tokenized, texts, learn)
    is_known = np.array([shape is not None for shape in shapes], np.bool_)
    rows = np.flatnonzero(is_known[of_row] & _is_text(texts, protocol.breaks))
    if not len(rows):
        return ColumnarEvents(rows, {})
    known = [shape for shape in shapes if shape is not None]
    return _TextDecoder(tokenized, known, rows, (np.cumsum(is_known) - 1)[of_row[rows]]).read()


def _shapes(tokenized: TokenizedTexts, texts: pa.Array, learn: Learn) -> tuple[list[TextShape | None], Places]:
    """Return all shapes, and the index of each text's shape."""
    encoded = tokenized.skeletons.dictionary_encode()
    codes = np.asarray(encoded.indices, dtype=np.int64)
    _, samples = np.unique(codes, return_index=True)
    _, bounds = buffers(texts)
    shapes = []
    for row, skeleton in zip(samples.tolist(), encoded.dictionary.to_pylist(), strict=True):
        tokens, origin = slice(tokenized.first[row], tokenized.first[row + 1]), bounds[row]
        quotes = tokenized.quoted[tokens]
        spans = zip(
            (tokenized.starts[tokens] - quotes - origin).tolist(), (tokenized.ends[tokens] + quotes - origin).tolist()
        )
        lengths = tokenized.lengths[tokenized.first[row] + row : tokenized.first[row + 1] + row + 1]
        shapes.append(learn(skeleton, TokenizedSample(texts[row].as_py(), list(spans), lengths)))
    return shapes, codes


def _is_text(texts: pa.Array, breaks: int) -> Mask:
    """Return which texts are UTF-8 and have no control characters except where their parts are joined."""
    data, bounds = buffers(texts)
    controls = np.flatnonzero(data < 0x20)
    valid: Mask = np.diff(np.searchsorted(controls, bounds)) == breaks
    return valid & convert.are_utf8(texts)


def ragged_ranges(starts: Places, counts: Places) -> Places:
    """Return the concatenated ranges that begin at each start and have that many numbers."""
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(int(ends[-1]) if len(ends) else 0)


class _StackedArrays:
    def __init__(self, parts: Sequence[npt.NDArray[np.generic]]) -> None:
        self.counts = np.array([len(part) for part in parts], np.int64)
        self.starts = np.cumsum(self.counts) - self.counts
        self.values = np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def of(self, shape: Places) -> npt.NDArray[np.generic]:
        values: npt.NDArray[np.generic] = self.values[ragged_ranges(self.starts[shape], self.counts[shape])]
        return values


class _TextDecoder:
    def __init__(self, tokenized: TokenizedTexts, shapes: Sequence[TextShape], rows: Places, shape: Places) -> None:
        self.cut, self.shapes = tokenized, shapes
        lengths = _StackedArrays([each.lengths for each in shapes])
        counts = np.diff(tokenized.first)[rows]
        fits = lengths.counts[shape] == counts + 1
        rows, shape, counts = rows[fits], shape[fits], counts[fits]
        actual = tokenized.lengths[ragged_ranges(tokenized.first[rows] + rows, counts + 1)]
        wrong = np.flatnonzero(actual != lengths.of(shape))
        if len(wrong):
            fits = np.ones(len(rows), np.bool_)
            fits[np.searchsorted(np.cumsum(counts + 1), wrong, side="right")] = False
            rows, shape, counts = rows[fits], shape[fits], counts[fits]
        self.rows, self.shape, self.counts = rows, shape, counts
        self.tokens = ragged_ranges(tokenized.first[rows], counts)
        self.first = np.cumsum(counts) - counts
        self.starts, self.ends = tokenized.starts[self.tokens], tokenized.ends[self.tokens]
        self.quoted, self.escaped = tokenized.quoted[self.tokens], tokenized.escaped[self.tokens]
        self.roles = _StackedArrays([each.roles for each in shapes]).of(shape)
        self.valid = np.ones(len(self.tokens), np.bool_)
        self.cells = 3 * np.arange(len(self.tokens)) + 1
        """Index of each token's cell in the pool."""

        self.extra: list[pa.Array] = []

    def read(self) -> ColumnarEvents:
        self._check_tokens()
        self._convert()
        valid = np.ones(len(self.rows), np.bool_)
        valid[np.searchsorted(np.cumsum(self.counts), np.flatnonzero(~self.valid), side="right")] = False
        kept = np.flatnonzero(valid)
        exact = np.array([each.exact for each in self.shapes])
        moment = self._numbers("commit_ts", self.shape[kept], self.first[kept])
        far = ~exact[self.shape[kept]] & (np.abs(moment) > tso.physical(LAST))
        kept, moment = kept[~far], moment[~far]
        shape, first = self.shape[kept], self.first[kept]
        columns = {name: self._constant(name, shape, kind) for name, kind in CONSTANTS.items()}
        columns["commit_ts"] = pa.array(np.where(exact[shape], moment, moment << tso.LOGICAL_BITS))
        for name in ("rid", "ptn"):
            there = np.array([getattr(each, name) for each in self.shapes])[shape] >= 0
            columns[name] = pa.array(self._numbers(name, shape, first), mask=~there)
        pool = self._pool()
        for name in ("before", "after"):
            columns[name] = self._images(pool, [getattr(each, name) for each in self.shapes], shape, first)
        return ColumnarEvents(self.rows[kept], columns)

    def _constant(self, name: str, shape: Places, kind: pa.DataType) -> pa.Array:
        values = [
            None if name in OF_ROWS and each.before is None and each.after is None else getattr(each, name)
            for each in self.shapes
        ]
        return pa.array(values, kind).take(pa.array(shape))

    def _token_texts(self, tokens: Places, quotes: bool = False) -> pa.Array:
        """Return the text of tokens, by their ascending index in this batch."""
        around = self.quoted[tokens] if quotes else np.zeros(len(tokens), np.bool_)
        return spans(self.cut.data, self.starts[tokens] - around, self.ends[tokens] + around)

    def _check_tokens(self) -> None:
        """Exclude tokens that do not fit their role."""
        loose = np.flatnonzero(~self.quoted)
        role = self.roles
        nulls = loose[self.ends[loose] - self.starts[loose] == 4]
        word = self.cut.data[np.add.outer(self.starts[nulls], np.arange(4))]
        self.nulls = nulls[(word == np.frombuffer(b"null", np.uint8)).all(axis=1)]
        is_null = np.zeros(len(role), np.bool_)
        is_null[self.nulls] = True
        self.is_null = is_null
        numbers = ~self.quoted & ~is_null
        integer = role == Role.NUMBER
        self.valid &= np.where(integer, numbers & (self.ends - self.starts <= DIGITS), True)
        self.valid &= ~numbers | integer | (role == Role.ANY) | (role == Role.FIXED)
        looked = np.flatnonzero(numbers & (integer | (role == Role.ANY)) & self.valid)
        self.valid[looked] = _are_numbers(self._token_texts(looked), integer[looked])
        same = np.flatnonzero(role == Role.FIXED)
        if len(same):
            fixed = [
                np.array([each.fixed.get(token, b"") for token in range(len(each.roles))], object)
                for each in self.shapes
            ]
            expected = pa.array(_StackedArrays(fixed).of(self.shape)[same].tolist(), pa.binary())
            self.valid[same] = np.asarray(pc.equal(self._token_texts(same, quotes=True), expected))

    def _convert(self) -> None:
        """Convert cells whose text in JSON differs from the value, and add them to the pool."""
        role, strings = self.roles, self.quoted & self.valid & (self.roles != Role.FIXED)
        high = np.isin(role, (Role.LATIN, Role.ASCII, Role.QUOTED)) & strings
        if high.any():
            limits = np.where(role == Role.LATIN, 0xC4, 0x80)
            above = np.zeros(len(role), np.bool_)
            bytes_above = np.flatnonzero(self.cut.data >= 0x80)
            if len(bytes_above) and len(self.starts):
                token = np.maximum(np.searchsorted(self.starts, bytes_above, side="right") - 1, 0)
                inside = (bytes_above < self.ends[token]) & (self.cut.data[bytes_above] >= limits[token])
                above[token[inside]] = True
            self.valid &= ~(above & np.isin(role, (Role.LATIN, Role.ASCII)) & strings)
        else:
            above = high
        base64 = np.isin(role, (Role.BASE64_BYTES, Role.BASE64_TEXT)) & strings
        self.valid &= ~(self.escaped & (base64 | (role == Role.ASCII) & strings))
        for kind, converter in (
            (Role.BASE64_BYTES, convert.bytes_from_base64),
            (Role.BASE64_TEXT, convert.text_from_base64),
        ):
            self._put(np.flatnonzero((role == kind) & strings & self.valid), converter)
        self._put(
            np.flatnonzero(self.escaped & strings & self.valid & (role != Role.QUOTED) & (role != Role.LATIN)),
            convert.unescape,
        )
        self._put(np.flatnonzero(self.escaped & strings & self.valid & (role == Role.LATIN)), _latin)
        self._put(np.flatnonzero((self.escaped | above) & strings & self.valid & (role == Role.QUOTED)), _quoted)

    def _put(self, tokens: Places, converter: Callable[[pa.Array], convert.ConvertedTokens]) -> None:
        if len(tokens):
            cells, valid = converter(self._token_texts(tokens))
            behind = 3 * len(self.tokens) + POOLED + sum(map(len, self.extra))
            self.cells[tokens] = behind + np.arange(len(tokens))
            self.valid[tokens] = valid
            self.extra.append(cells)

    def _numbers(self, name: str, shape: Places, first: Places) -> Places:
        """Return the integers of a field; 0 if a text has none."""
        field = np.array([getattr(each, name) for each in self.shapes])[shape]
        there = np.flatnonzero(field >= 0)
        numbers = np.zeros(len(shape), np.int64)
        texts = self._token_texts(first[there] + field[there])
        numbers[there] = np.asarray(pc.cast(pc.cast(texts, pa.string()), pa.int64()))
        return numbers

    def _pool(self) -> pa.Array:
        """Return the pieces that images consist of: a separator and a cell for each token, then a separator, an unknown
        cell, and an empty piece.

        The buffer of the texts is reused, since they are not read any more.
        """
        data, end = self.cut.data, len(self.cut.data)
        data[self.starts - 1] = SEPARATOR
        data[self.starts[self.nulls]] = NULL
        ends = np.where(self.is_null, self.starts + 1, self.ends)
        data[end - 2], data[end - 1] = SEPARATOR, UNKNOWN_CELL[0]
        edges = np.empty(3 * len(self.tokens) + POOLED + 1, np.int32)
        edges[0:-4:3], edges[1:-4:3], edges[2:-4:3] = self.starts - 1, self.starts, ends
        edges[-4:] = end - 2, end - 1, end, end
        pool = pieces_between(edges, data)
        return pa.concat_arrays([pool, *self.extra]) if self.extra else pool

    def _images(
        self, pool: pa.Array, cells: Sequence[npt.NDArray[np.int32] | None], shape: Places, first: Places
    ) -> pa.Array:
        """Return the joined cells of each row; null if there is no row."""
        there = np.array([each is not None for each in cells])[shape]
        stacked = _StackedArrays([np.zeros(0, np.int32) if each is None else each for each in cells])
        counts = stacked.counts[shape]
        ordinals = np.asarray(stacked.of(shape), np.int64)
        bounds = np.concatenate(([0], np.cumsum(counts)))
        tokens = np.repeat(first, counts) + ordinals
        pieces = np.empty(2 * len(tokens), np.int64)
        behind = 3 * len(self.tokens)
        is_known = ordinals >= 0
        if is_known.all():
            pieces[::2], pieces[1::2] = 3 * tokens, self.cells[tokens]
        else:
            tokens = np.where(is_known, tokens, 0)
            pieces[::2] = np.where(is_known, 3 * tokens, behind)
            pieces[1::2] = np.where(is_known, self.cells[tokens], behind + 1) if len(self.cells) else behind + 1
        pieces[2 * bounds[:-1][counts > 0]] = behind + 2
        joined = pool.take(pa.array(pieces))
        offsets = np.frombuffer(joined.buffers()[1], np.int32, len(joined) + 1)[2 * bounds]
        valid = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        data = joined.buffers()[2] or pa.py_buffer(b"")
        return pa.Array.from_buffers(pa.binary(), len(shape), [valid, pa.py_buffer(offsets), data])


POOLED = 3
"""Number of pieces after those of the tokens: a separator, 0xFD, and an empty one."""

CONSTANTS = {"kind": pa.int8(), "op": pa.int8(), "layout": pa.int32(), "exact": pa.bool_(), "only_handle": pa.bool_()}
OF_ROWS = frozenset(("op", "layout", "only_handle"))


def _are_numbers(texts: pa.Array, integer: Mask) -> Mask:
    """Return which texts are JSON numbers, or integers where `integer` is set."""
    data, bounds = buffers(texts)
    odd = np.flatnonzero((data < ord("0")) | (data > ord("9")))
    valid = np.ones(len(texts), np.bool_)
    padded = np.append(data, 0)
    looked = (padded[bounds[:-1]] == ord("0")) & (np.diff(bounds) > 1) | (np.diff(bounds) == 0)
    looked[np.searchsorted(bounds, odd, side="right") - 1] = True
    places = np.flatnonzero(looked)
    if len(places):
        some = pc.cast(texts.take(pa.array(places)), pa.string())
        whole = np.asarray(pc.match_substring_regex(some, r"^-?(0|[1-9][0-9]*)$"))
        real = np.asarray(pc.match_substring_regex(some, r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"))
        valid[places] = np.where(integer[places], whole, real)
    return valid


def _latin(tokens: pa.Array) -> convert.ConvertedTokens:
    """Decode JSON strings that must be Latin-1."""
    cells, valid = convert.unescape(tokens)
    data, bounds = buffers(cells)
    valid = valid.copy()
    valid[np.searchsorted(bounds, np.flatnonzero(data >= 0xC4), side="right") - 1] = False
    return cells, valid


def _quoted(tokens: pa.Array) -> convert.ConvertedTokens:
    """Decode Go's quoted text in JSON strings."""
    texts, valid = convert.unescape(tokens)
    cells, are_quoted = convert.unquote_go(texts)
    return cells, valid & are_quoted
