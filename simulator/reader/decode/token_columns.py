"""Converts the tokens of texts with known shapes to columns of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns.cells import Mask, Places, buffers, pieces_between, spans
from simulator.columns.row_image import NULL, SEPARATOR
from simulator.reader.decode import convert_tokens as convert
from simulator.reader.decode.decoder import Role
from simulator.reader.decode.shapes import NO_TOKEN, ShapedTexts
from simulator.reader.decode.tokens import bytes_at
from simulator.reader.frame import UNKNOWN_CELL

NULL_TOKEN = np.frombuffer(b"null", np.uint8)

LAST = (1 << 63) - 1
DIGITS = 18
"""Any number with so many digits fits into 63 bits."""


@dataclass(frozen=True)
class ColumnarEvents:
    """The texts that were read, and the columns of EVENT_SCHEMA that depend on them."""

    places: Places
    columns: Mapping[str, pa.Array]


def ragged_ranges(starts: Places, counts: Places) -> Places:
    """Return the concatenated ranges that begin at each start and have that many numbers."""
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(int(ends[-1]) if len(ends) else 0)


class StackedArrays:
    """An array for each of several shapes."""

    def __init__(self, parts: Sequence[npt.NDArray[np.generic]]) -> None:
        self.counts = np.array([len(part) for part in parts], np.int64)
        self.starts = np.cumsum(self.counts) - self.counts
        self.values = np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def of(self, shape: Places) -> npt.NDArray[np.generic]:
        """Return the joined arrays of these shapes."""
        values: npt.NDArray[np.generic] = self.values[ragged_ranges(self.starts[shape], self.counts[shape])]
        return values


def event_columns(texts: ShapedTexts) -> ColumnarEvents:
    """Return the events of texts, except those with a token that does not fit its role."""
    return _TextDecoder(texts).read()


class _TextDecoder:
    def __init__(self, texts: ShapedTexts) -> None:
        self.data, self.shapes, self.rows, self.shape = texts.data, texts.shapes, texts.rows, texts.shape
        self.starts, self.ends, self.quoted, self.escaped = texts.starts, texts.ends, texts.quoted, texts.escaped
        self.behind = np.cumsum(texts.counts)
        """Index of the token after the last one of each text."""

        self.first = self.behind - texts.counts
        self.roles = StackedArrays([each.roles for each in self.shapes]).of(self.shape)
        self.used = frozenset(np.unique(np.concatenate([each.roles for each in self.shapes])).tolist())
        """All roles."""

        self.valid = np.ones(len(self.starts), np.bool_)
        self.is_last = self._last_cells()
        self.pieces = 2 * np.arange(len(self.starts))
        """Index of each token's cell in the pool."""

        self.converted: list[pa.Array] = []

    def read(self) -> ColumnarEvents:
        self._check_tokens()
        self._convert()
        valid = np.ones(len(self.rows), np.bool_)
        valid[np.searchsorted(self.behind, np.flatnonzero(~self.valid), side="right")] = False
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
            columns[name] = (
                pa.array(self._numbers(name, shape, first), mask=~there)
                if there.any()
                else pa.nulls(len(shape), pa.int64())
            )
        pool = self._pool()
        for name in ("before", "after"):
            columns[name] = self._images(pool, [getattr(each, name) for each in self.shapes], shape, first)
        return ColumnarEvents(self.rows[kept], columns)

    def _last_cells(self) -> Mask:
        """Return which tokens are the last cell of a row."""
        is_last = np.zeros(len(self.starts), np.bool_)
        for name in ("before", "after"):
            images = [getattr(each, name) for each in self.shapes]
            last = np.array([NO_TOKEN if image is None or not len(image) else image[-1] for image in images])[
                self.shape
            ]
            is_last[(self.first + last)[last != NO_TOKEN]] = True
        return is_last

    def _constant(self, name: str, shape: Places, kind: pa.DataType) -> pa.Array:
        values = [
            None if name in OF_ROWS and each.before is None and each.after is None else getattr(each, name)
            for each in self.shapes
        ]
        return pa.array(values, kind).take(pa.array(shape))

    def _token_texts(self, tokens: Places, quotes: bool = False) -> pa.Array:
        """Return the text of tokens, by their ascending index in this batch."""
        around = self.quoted[tokens] if quotes else np.zeros(len(tokens), np.bool_)
        return spans(self.data, self.starts[tokens] - around, self.ends[tokens] + around)

    def _check_tokens(self) -> None:
        """Exclude tokens that do not fit their role."""
        loose = np.flatnonzero(~self.quoted)
        role, starts, sizes = self.roles[loose], self.starts[loose], self.ends[loose] - self.starts[loose]
        is_null = sizes == len(NULL_TOKEN)
        is_null[is_null] = (bytes_at(self.data, starts[is_null], len(NULL_TOKEN)) == NULL_TOKEN).all(axis=1)
        self.nulls = loose[is_null]
        integer = role == Role.NUMBER
        self.valid[self.quoted & (self.roles == Role.NUMBER)] = False
        self.valid[loose] = np.where(
            integer, ~is_null & (sizes <= DIGITS), is_null | (role == Role.ANY) | (role == Role.FIXED)
        )
        looked = np.flatnonzero(self.valid[loose] & ~is_null & (role != Role.FIXED))
        texts, integer = self._token_texts(loose[looked]), integer[looked]
        self.valid[loose[looked]] = valid = _are_numbers(texts, integer)
        integer &= valid
        numbers = pc.cast(pc.cast(texts.filter(pa.array(integer)), pa.string()), pa.int64())
        self.integers = np.zeros(len(self.starts), np.int64)
        self.integers[loose[looked[integer]]] = np.asarray(numbers)
        if Role.FIXED in self.used:
            self._check_fixed(np.flatnonzero(self.roles == Role.FIXED))

    def _check_fixed(self, tokens: Places) -> None:
        every = pa.array(
            [each.fixed.get(token) for each in self.shapes for token in range(len(each.roles))], pa.binary()
        )
        first = np.cumsum([0, *(len(each.roles) for each in self.shapes)])
        row = np.searchsorted(self.behind, tokens, side="right")
        expected = every.take(pa.array(first[self.shape[row]] + tokens - self.first[row]))
        self.valid[tokens] = np.asarray(pc.equal(self._token_texts(tokens, quotes=True), expected))

    def _convert(self) -> None:
        """Convert cells whose text in JSON differs from the value."""
        if not self.used & CONVERTED and not self.escaped.any():
            return
        role, strings = self.roles, self.quoted & self.valid & (self.roles != Role.FIXED)
        above = self._above() if self.used & NARROW else np.zeros(len(role), np.bool_)
        self.valid &= ~(above & np.isin(role, (Role.LATIN, Role.ASCII)) & strings)
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

    def _above(self) -> Mask:
        """Return which tokens have a character that is not in Latin-1, or not in ASCII for other roles than LATIN."""
        above = np.zeros(len(self.roles), np.bool_)
        places = np.flatnonzero(self.data >= 0x80)
        if len(places) and len(self.starts):
            limits = np.where(self.roles == Role.LATIN, 0xC4, 0x80)
            token = np.maximum(np.searchsorted(self.starts, places, side="right") - 1, 0)
            inside = (places < self.ends[token]) & (self.data[places] >= limits[token])
            above[token[inside]] = True
        return above

    def _put(self, tokens: Places, converter: Callable[[pa.Array], convert.ConvertedTokens]) -> None:
        """Add converted tokens to the pool."""
        if len(tokens):
            cells, valid = converter(self._token_texts(tokens))
            self.pieces[tokens] = 2 * len(self.starts) + POOLED + sum(map(len, self.converted)) + np.arange(len(tokens))
            self.valid[tokens] = valid
            behind = pa.array([bytes([SEPARATOR]), b""]).take(pa.array(self.is_last[tokens].astype(np.int8)))
            self.converted.append(pc.binary_join_element_wise(cells, behind, b""))

    def _numbers(self, name: str, shape: Places, first: Places) -> Places:
        """Return the integers of a field; 0 if a text has none."""
        field = np.array([getattr(each, name) for each in self.shapes])[shape]
        numbers: Places = np.where(field >= 0, self.integers[first + np.maximum(field, 0)], 0)
        return numbers

    def _pool(self) -> pa.Array:
        """Return the pieces that images consist of. A cell that is not the last of its row has a separator behind it.

        The buffer of the texts is reused, since they are not read any more.
        """
        data, count, end = self.data, len(self.starts), len(self.data)
        ends = self.ends.astype(np.int32)
        ends[self.nulls] = self.starts[self.nulls] + 1
        data[self.starts[self.nulls]] = NULL
        data[ends] = SEPARATOR
        data[end - 3 :] = *UNKNOWN_CELL, SEPARATOR, *UNKNOWN_CELL
        edges = np.empty(2 * count + POOLED + 1, np.int32)
        edges[: 2 * count : 2], edges[1 : 2 * count : 2] = self.starts, ends + ~self.is_last
        edges[2 * count :] = end - 3, end - 1, end
        return pa.concat_arrays([pieces_between(edges, data), *self.converted])

    def _images(
        self, pool: pa.Array, cells: Sequence[npt.NDArray[np.int32] | None], shape: Places, first: Places
    ) -> pa.Array:
        """Return the joined cells of each row; null if there is no row."""
        there = np.array([each is not None for each in cells])[shape]
        stacked = StackedArrays([np.zeros(0, np.int32) if each is None else each for each in cells])
        counts = stacked.counts[shape]
        ordinals = np.asarray(stacked.of(shape), np.int64)
        bounds = np.concatenate(([0], np.cumsum(counts)))
        tokens = np.repeat(first, counts) + ordinals
        if (ordinals == NO_TOKEN).any():
            pieces = np.append(self.pieces, 2 * len(self.starts))[np.where(ordinals == NO_TOKEN, -1, tokens)]
            last = bounds[1:][counts > 0] - 1
            pieces[last] += ordinals[last] == NO_TOKEN
        else:
            pieces = self.pieces[tokens]
        joined = pool.take(pa.array(pieces))
        offsets = np.frombuffer(joined.buffers()[1], np.int32, len(joined) + 1)[bounds]
        valid = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        data = joined.buffers()[2] or pa.py_buffer(b"")
        return pa.Array.from_buffers(pa.binary(), len(shape), [valid, pa.py_buffer(offsets), data])


POOLED = 2
"""Number of pieces after those of the tokens: an unknown cell with a separator, and one without."""

NARROW = frozenset((Role.LATIN, Role.ASCII, Role.QUOTED))
"""Roles of cells that may not have all characters, or not as they are."""

CONVERTED = NARROW | {Role.BASE64_BYTES, Role.BASE64_TEXT}

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
