"""Row images: the TiDB text of each visible column, joined by the byte 0xFF, with 0xFE for NULL.

`pack`, `split`, `named`, `cell` and `LazyCells` convert a column of images from and to columns of texts; `joined` and
`cells_of` convert the image of one row. Neither byte occurs in UTF-8, so nothing is escaped. `split` finds where cells
are; columns are cut out when they are requested, and not at all if a message takes their cells as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import pieces_between, spans, stored_buffers
from simulator.errors import EncodeError

SEPARATOR = 0xFF
NULL = 0xFE
SEPARATOR_BYTES, NULL_BYTES = bytes([SEPARATOR]), bytes([NULL])


def pack(columns: Sequence[pa.Array]) -> pa.Array:
    """Return binary images of rows, given as the TiDB text of each visible column (string or binary, null for NULL)."""
    cells = (column if pa.types.is_binary(column.type) else column.cast(pa.binary()) for column in columns)
    return pc.binary_join_element_wise(
        *(pc.fill_null(column, bytes([NULL])) if column.null_count else column for column in cells), SEPARATOR_BYTES
    )


def restore_nulls(values: pa.Array, like: pa.Array) -> pa.Array:
    """Put values, one for each valid row of `like`, at the places of these rows; the others become null."""
    if not like.null_count:
        return values
    there = like.is_valid().to_numpy(zero_copy_only=False)
    return values.take(pa.array(np.cumsum(there) - 1, mask=~there))


def with_columns(images: pa.Array, columns: int, change: Callable[[list[pa.Array]], Sequence[pa.Array]]) -> pa.Array:
    """Return images (binary, null for no row) with other columns: those that a function makes of the `columns` that they
    have (binary, without the rows that are null)."""
    if images.null_count == len(images):
        return images
    image = split(images.drop_null(), columns)
    return restore_nulls(pack(change([image.cells(place) for place in range(columns)])), images)


FEW_ROWS = 64
"""In so few rows all columns are cut at once, whatever is asked for: a call costs more than the cells."""

FEW_COLUMNS = 4
"""All columns are cut at once, too, when one in so many has been."""

NEAR = 2
"""Columns of which the cells are found without those behind them."""


@dataclass(frozen=True)
class Image:
    """The cells of a column of images of one table, which are cut when they are requested."""

    pieces: pa.Array
    """binary, row by row: cell, separator, cell, separator, …, cell, nothing."""

    rows: int
    columns: int
    nulls: npt.NDArray[np.int64]
    """The cells that are NULL, numbered row by row, ascending."""

    _edges: npt.NDArray[np.int32] = field(repr=False)
    _cut: dict[int, pa.Array] = field(default_factory=dict, compare=False, repr=False)
    _laws: dict[Callable[[bytes], bool], bool] = field(default_factory=dict, compare=False, repr=False)

    def cells(self, column: int) -> pa.Array:
        """Return one column as binary TiDB text."""
        if column not in self._cut:
            if self.rows <= FEW_ROWS or FEW_COLUMNS * len(self._cut) >= self.columns:
                self._cut_all()
            else:
                rows, columns = np.divmod(self.nulls, self.columns)
                self._cut[column] = self._take(2 * column + self._starts_of_rows(), rows[columns == column])
        return self._cut[column]

    def uncut(self, column: int) -> UncutCells | None:
        """Return the cells of a column where they are, unless one of them is NULL or they are few."""
        if self.rows <= FEW_ROWS or column in self._columns_with_nulls:
            return None
        return UncutCells(self, column)

    def longest(self, column: int) -> int:
        """Return the bytes of the longest cell of a column, 0 without rows. NULL has one."""
        starts, ends = self._bounds[:, column, 0], self._bounds[:, column, 1]
        return int((ends - starts).max(initial=0))

    def satisfies(self, law: Callable[[bytes], bool]) -> bool:
        """Return whether a law holds for the images, one after another, with their separators."""
        if law not in self._laws:
            data, edges = self.pieces.buffers()[2], self._edges
            self._laws[law] = data is None or law(memoryview(data)[edges[0] : edges[-1]].tobytes())
        return self._laws[law]

    @property
    def step(self) -> int:
        """The number of pieces that a row has."""
        return 2 * self.columns

    @property
    def _bounds(self) -> npt.NDArray[np.int32]:
        return self._edges[:-1].reshape(self.rows, self.columns, 2)

    @cached_property
    def _columns_with_nulls(self) -> frozenset[int]:
        return frozenset(np.unique(self.nulls % self.columns).tolist())

    def _cut_all(self) -> None:
        places = np.add.outer(np.arange(0, self.step, 2, dtype=np.int32), self._starts_of_rows())
        rows, columns = np.divmod(self.nulls, self.columns)
        whole = self._take(places.ravel(), columns * self.rows + rows)
        self._cut.update({place: whole.slice(place * self.rows, self.rows) for place in range(self.columns)})

    def _starts_of_rows(self) -> npt.NDArray[np.int32]:
        return np.arange(0, self.rows * self.step, self.step, dtype=np.int32)

    def _take(self, places: npt.NDArray[np.int32], nulls: npt.NDArray[np.int64]) -> pa.Array:
        """Return the pieces at these places, but null at those of the places whose numbers are in `nulls`."""
        if not len(nulls):
            return self.pieces.take(pa.array(places))
        mask = np.zeros(len(places), np.bool_)
        mask[nulls] = True
        return self.pieces.take(pa.array(places, mask=mask))


@dataclass(frozen=True)
class UncutCells:
    """The cells of a column of an image, none of them NULL, where they are in the image."""

    image: Image
    column: int

    @property
    def where(self) -> tuple[pa.Array, int, int]:
        """The array that has them, the place of the first, and the distance between two."""
        return self.image.pieces, 2 * self.column, self.image.step


def split(images: pa.Array, columns: int) -> Image:
    """Split images (binary, no nulls) with that many columns; raise EncodeError for another number of cells."""
    edges, nulls = _edges(images, columns)
    data = images.buffers()[2] or pa.py_buffer(b"")
    return Image(pieces_between(edges, data), len(images), columns, nulls, edges)


def named(images: pa.Array, names: Sequence[str]) -> dict[str, pa.Array]:
    """Return the columns of images by name, as binary TiDB text."""
    image = split(images, len(names))
    return {name: image.cells(place) for place, name in enumerate(names)}


def cell(images: pa.Array, columns: int, place: int) -> pa.Array:
    """Return one column of images as binary TiDB text; raise EncodeError as `split` does."""
    return split(images, columns).cells(place)


class LazyCells(Mapping[str, pa.Array]):
    """The columns of images by name, as `named` returns them; a column is cut when it is requested.

    `known` has the texts of some columns already.
    """

    def __init__(
        self, images: pa.Array, names: Iterable[str], known: Mapping[str, pa.Array] = MappingProxyType({})
    ) -> None:
        self._images, self._known = images, dict(known)
        self._places = {name: place for place, name in enumerate(names)}

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._known:
            place = self._places[name]
            near = place < NEAR
            self._known[name] = _near(self._images, len(self), place) if near else self._image.cells(place)
        return self._known[name]

    @cached_property
    def _image(self) -> Image:
        return split(self._images, len(self._places))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _near(images: pa.Array, columns: int, place: int) -> pa.Array:
    """Return the cells of one column of images, for which only the separators up to there are looked for."""
    data, bounds = stored_buffers(images)
    ends = bounds[:-1] - 1
    for column in range(place + 1):
        starts = ends + 1
        if column == columns - 1:
            ends = bounds[1:]
        else:
            behind = pieces_between(np.append(starts, bounds[-1:]), data)
            ends = starts + np.asarray(pc.find_substring(behind, SEPARATOR_BYTES))
            if ((ends < starts) | (ends >= bounds[1:])).any():
                raise _ragged(images, columns)
    nulls = ends - starts == 1
    nulls[nulls] = data[starts[nulls]] == NULL
    cells = spans(data, starts, np.where(nulls, starts, ends))
    return pc.if_else(pa.array(nulls), pa.scalar(None, pa.binary()), cells) if nulls.any() else cells


def image_of(cells: Iterable[bytes | None]) -> bytes:
    """Return the image of one row, given as the TiDB text of each visible column, None for NULL."""
    return SEPARATOR_BYTES.join([NULL_BYTES if cell is None else cell for cell in cells])


def cells_of(image: bytes) -> list[bytes | None]:
    """Return the TiDB text of each visible column of one row, None for NULL."""
    return [None if cell == NULL_BYTES else cell for cell in image.split(SEPARATOR_BYTES)]


def same(old: pa.Array, new: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where the cells of two columns are equal; NULL equals NULL."""
    equal = pc.fill_null(pc.equal(old, new), False)
    is_same: npt.NDArray[np.bool_] = np.asarray(pc.or_(equal, pc.and_(pc.is_null(old), pc.is_null(new))))
    return is_same


def _edges(images: pa.Array, columns: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return the start of each cell and separator, row by row, then the last end; and the numbers of NULLs."""
    rows = len(images)
    _, offset_buffer, data_buffer = images.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, rows + 1, 4 * images.offset)
    data = np.frombuffer(data_buffer or b"", np.uint8)[: offsets[-1]]
    marks = np.flatnonzero(data[offsets[0] :] >= NULL)
    if offsets[0]:
        marks += offsets[0]
    separates = data[marks] == SEPARATOR
    separators = marks if separates.all() else marks[separates]
    if len(separators) != rows * (columns - 1):
        raise _ragged(images, columns)
    edges = np.empty(2 * rows * columns + 1, np.int32)
    edges[-1] = offsets[-1]
    bounds = edges[:-1].reshape(rows, columns, 2)
    starts, ends = bounds[:, :, 0], bounds[:, :, 1]
    starts[:, 0], ends[:, -1] = offsets[:-1], offsets[1:]
    ends[:, :-1] = separators.reshape(rows, columns - 1)
    np.add(ends[:, :-1], 1, out=starts[:, 1:])
    if columns > 1 and ((ends[:, 0] < starts[:, 0]) | (ends[:, -2] > ends[:, -1])).any():
        raise _ragged(images, columns)
    nulls = np.zeros(0, np.int64)
    if len(separators) < len(marks):
        nulls = _cells_at(marks[~separates], np.cumsum(separates)[~separates], offsets, columns)
        nulls = nulls[edges[2 * nulls + 1] - edges[2 * nulls] == 1]
    return edges, nulls


def _cells_at(
    places: npt.NDArray[np.int64], before: npt.NDArray[np.int64], offsets: npt.NDArray[np.int32], columns: int
) -> npt.NDArray[np.int64]:
    """Return the numbers of the cells that have the bytes at these places, behind so many separators each."""
    if columns == 1:
        return np.searchsorted(offsets, places, "right") - 1
    row, column = np.divmod(before, columns - 1)
    is_last = (column == 0) & (places < offsets[row])  # the last cell of the row before has as many before it
    cells: npt.NDArray[np.int64] = row * columns + column - is_last
    return cells


def _ragged(images: pa.Array, columns: int) -> EncodeError:
    counts = pc.add(pc.count_substring(images, SEPARATOR_BYTES), 1)
    odd = int(np.argmax(counts.to_numpy() != columns))
    return EncodeError(f"row image {odd} has {counts[odd]} cells: the table has {columns} visible columns")
