"""Columns that are sorted by the first one, in blocks: an edit of a few rows copies only their blocks.

They are immutable: an edit returns other blocks and shares those without a changed row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places

BLOCK_ROWS = 512
"""The size of a new block. A block of twice as many rows is cut."""

FEW = 64
"""Up to this number of rows, each is looked up and edited in its own block."""

Row = tuple[pa.Array, ...]
"""Some rows: an array for each column."""


class SortedBlocks:
    """Columns of equal length; the first one (binary, without nulls) ascends."""

    def __init__(self, blocks: list[Row], firsts: list[bytes], sizes: Places, empty: Row) -> None:
        """`firsts` are the first keys of the blocks."""
        self._blocks, self._firsts, self._sizes, self._empty = blocks, firsts, sizes, empty
        self._starts: Places = np.concatenate(([0], np.cumsum(sizes)))

    @classmethod
    def of(cls, columns: Sequence[pa.Array]) -> SortedBlocks:
        """Return these columns in blocks."""
        blocks = [*_cut(tuple(columns))]
        return cls(blocks, _first_keys(blocks), _block_sizes(blocks), tuple(column.slice(0, 0) for column in columns))

    def _with_blocks(self, place: int, end: int, blocks: list[Row]) -> SortedBlocks:
        """Return the rows with other blocks in place of some."""
        return SortedBlocks(
            [*self._blocks[:place], *blocks, *self._blocks[end:]],
            [*self._firsts[:place], *_first_keys(blocks), *self._firsts[end:]],
            np.concatenate((self._sizes[:place], _block_sizes(blocks), self._sizes[end:])),
            self._empty,
        )

    def __len__(self) -> int:
        return int(self._starts[-1])

    @cached_property
    def columns(self) -> Row:
        """The whole columns."""
        return _joined(self._blocks) if self._blocks else self._empty

    def chunks(self, column: int) -> pa.ChunkedArray:
        """Return a column in its blocks, without copying them."""
        return pa.chunked_array([block[column] for block in self._blocks], self._empty[column].type)

    def find(self, keys: pa.Array) -> Places:
        """Return the position of each key, or -1. A null is at no position."""
        if len(keys) > FEW:
            return _found(self.columns[0], keys)
        positions = np.full(len(keys), -1, np.int64)
        for number, key in enumerate(keys.to_pylist()):
            if key is not None:
                block, place = self._place_of(key)
                if block >= 0 and place < len(self._blocks[block][0]) and self._blocks[block][0][place].as_py() == key:
                    positions[number] = self._starts[block] + place
        return positions

    def _place_of(self, key: bytes) -> tuple[int, int]:
        """Return the block in which a key belongs, -1 for none, and the first position in it that is not below."""
        block = bisect_right(self._firsts, key) - 1
        return block, 0 if block < 0 else pc.search_sorted(self._blocks[block][0], pa.scalar(key)).as_py()

    def insertion_places(self, keys: pa.Array) -> Places:
        """Return for each key the position of the first row that is not below it."""
        if len(keys) > FEW:
            return np.asarray(pc.search_sorted(self.columns[0], keys), np.int64)
        found = map(self._place_of, keys.to_pylist())
        return np.array([0 if block < 0 else self._starts[block] + place for block, place in found], np.int64)

    def take(self, places: Places) -> Row:
        """Return the rows at some positions."""
        if len(places) > FEW:
            indices = pa.array(places)
            return tuple(column.take(indices) for column in self.columns)
        if not len(places):
            return self._empty
        blocks = np.searchsorted(self._starts, places, "right") - 1
        rows = [
            tuple(column.slice(at, 1) for column in self._blocks[block])
            for block, at in zip(blocks.tolist(), (places - self._starts[blocks]).tolist(), strict=True)
        ]
        return _joined(rows)

    def edited(self, removed: Places, added: Row) -> SortedBlocks:
        """Return the rows without those at positions `removed` (ascending), and with others, which ascend too."""
        places = self.insertion_places(added[0])
        if len(removed) + len(places) <= FEW:
            return self._edited_by_block(removed, added, places)
        if not len(removed) and (not len(places) or places[0] == len(self)):
            return self._with_blocks(len(self._blocks), len(self._blocks), [*_cut(added)])
        stays = np.ones(len(self), np.bool_)
        stays[removed] = False
        numbers = np.insert(np.arange(len(self)), places, len(self) + np.arange(len(places)))
        order = pa.array(numbers[np.insert(stays, places, True)])
        return SortedBlocks.of(
            [pa.concat_arrays([old, new]).take(order) for old, new in zip(self.columns, added, strict=True)]
        )

    def _edited_by_block(self, removed: Places, added: Row, places: Places) -> SortedBlocks:
        """Return the rows after an edit of a few."""
        if not self._blocks:
            return self._with_blocks(0, 0, [*_cut(added)])
        removed_blocks = np.searchsorted(self._starts, removed, "right") - 1
        added_blocks = np.minimum(np.searchsorted(self._starts, places, "right") - 1, len(self._blocks) - 1)
        edited = self
        for block in sorted({*removed_blocks.tolist(), *added_blocks.tolist()}, reverse=True):
            start = int(self._starts[block])
            gone = (removed[removed_blocks == block] - start).tolist()
            new = np.flatnonzero(added_blocks == block).tolist()
            pieces = [*_pieces(self._blocks[block], gone, added, new, (places - start).tolist())]
            edited = edited._with_blocks(block, block + 1, [*_cut(_joined(pieces))] if pieces else [])
        return edited


def _first_keys(blocks: Sequence[Row]) -> list[bytes]:
    return [block[0][0].as_py() for block in blocks]


def _block_sizes(blocks: Sequence[Row]) -> Places:
    return np.array([len(block[0]) for block in blocks], np.int64)


def _pieces(block: Row, gone: Sequence[int], added: Row, new: Sequence[int], places: Sequence[int]) -> Iterator[Row]:
    """Yield the rows of a block without some, and with added ones before their places."""
    at = 0
    edits = sorted([*((places[number], 0, number) for number in new), *((place, 1, 0) for place in gone)])
    for place, is_removed, number in edits:
        if place > at:
            yield tuple(column.slice(at, place - at) for column in block)
        if not is_removed:
            yield tuple(column.slice(number, 1) for column in added)
        at = place + is_removed
    if at < len(block[0]):
        yield tuple(column.slice(at) for column in block)


def _joined(rows: Sequence[Row]) -> Row:
    return rows[0] if len(rows) == 1 else tuple(map(pa.concat_arrays, zip(*rows, strict=True)))


def _cut(rows: Row) -> Iterator[Row]:
    """Yield the rows in blocks."""
    size = len(rows[0])
    if 0 < size < 2 * BLOCK_ROWS:
        yield rows
        return
    for start in range(0, size, BLOCK_ROWS):
        yield tuple(column.slice(start, BLOCK_ROWS) for column in rows)


def _found(existing: pa.Array, keys: pa.Array) -> Places:
    """Return the position in ascending keys of each key, or -1. A null is at no position."""
    positions = np.full(len(keys), -1, np.int64)
    candidates: Places = np.asarray(pc.search_sorted(existing, keys.fill_null(b"")), np.int64)
    inside = np.flatnonzero(candidates < len(existing))
    same = pc.equal(existing.take(pa.array(candidates[inside])), keys.take(pa.array(inside)))
    hits = inside[np.asarray(pc.fill_null(same, False), bool)]
    positions[hits] = candidates[hits]
    return positions
