"""Row images: the TiDB text of each visible column, joined by the byte 0xFF, with 0xFE for NULL.

`pack`, `split`, `named`, `cell` and `LazyCells` convert a column of images from and to columns of texts; `joined` and
`cells_of` convert the image of one row. Neither byte occurs in UTF-8, so nothing is escaped. `split` cuts all columns
in one call; each is a slice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import EncodeError

SEPARATOR = 0xFF
NULL = 0xFE


def pack(columns: Sequence[pa.Array]) -> pa.Array:
    """Return binary images of rows, given as the TiDB text of each visible column (string or binary, null for NULL)."""
    cells = (column if pa.types.is_binary(column.type) else column.cast(pa.binary()) for column in columns)
    return pc.binary_join_element_wise(
        *(pc.fill_null(column, bytes([NULL])) if column.null_count else column for column in cells), bytes([SEPARATOR])
    )


def restore_nulls(values: pa.Array, like: pa.Array) -> pa.Array:
    """Put values, one for each valid row of `like`, at the places of these rows; the others become null."""
    if not like.null_count:
        return values
    there = like.is_valid().to_numpy(zero_copy_only=False)
    return values.take(pa.array(np.cumsum(there) - 1, mask=~there))


@dataclass(frozen=True)
class Image:
    """The cells of a column of images of one table."""

    cut: pa.Array
    """binary TiDB text: all rows of the first column, then all of the second, …"""

    rows: int

    def cells(self, column: int) -> pa.Array:
        """Return one column as binary TiDB text."""
        return self.cut.slice(column * self.rows, self.rows)


def split(images: pa.Array, columns: int) -> Image:
    """Split images (binary, no nulls) with that many columns; raise EncodeError for another number of cells."""
    rows, (edges, has_nulls) = len(images), _edges(images, columns)
    places = np.add.outer(
        np.arange(0, 2 * columns, 2, dtype=np.int32), np.arange(0, 2 * rows * columns, 2 * columns, dtype=np.int32)
    )
    return Image(_cut(images, edges, places.ravel(), has_nulls), rows)


def named(images: pa.Array, names: Sequence[str]) -> dict[str, pa.Array]:
    """Return the columns of images by name, as binary TiDB text."""
    image = split(images, len(names))
    return {name: image.cells(place) for place, name in enumerate(names)}


def cell(images: pa.Array, columns: int, place: int) -> pa.Array:
    """Return one column of images as binary TiDB text; raise EncodeError as `split` does."""
    edges, has_nulls = _edges(images, columns)
    return _cut(images, edges, np.arange(2 * place, len(edges) - 1, 2 * columns, dtype=np.int32), has_nulls)


class LazyCells(Mapping[str, pa.Array]):
    """The columns of images by name, as `named` returns them; a column is cut when it is requested.

    `known` has the texts of some columns already.
    """

    def __init__(
        self, images: pa.Array, names: Iterable[str], known: Mapping[str, pa.Array] = MappingProxyType({})
    ) -> None:
        self._images, self._known = images, known
        self._places = {name: place for place, name in enumerate(names)}

    def __getitem__(self, name: str) -> pa.Array:
        if name in self._known:
            return self._known[name]
        return cell(self._images, len(self._places), self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def joined(cells: Iterable[bytes | None]) -> bytes:
    """Return the image of one row, given as the TiDB text of each visible column, None for NULL."""
    return bytes([SEPARATOR]).join(bytes([NULL]) if cell is None else cell for cell in cells)


def cells_of(image: bytes) -> list[bytes | None]:
    """Return the TiDB text of each visible column of one row, None for NULL."""
    return [None if cell == bytes([NULL]) else cell for cell in image.split(bytes([SEPARATOR]))]


def same(old: pa.Array, new: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where the cells of two columns are equal; NULL equals NULL."""
    equal = pc.fill_null(pc.equal(old, new), False)
    is_same: npt.NDArray[np.bool_] = np.asarray(pc.or_(equal, pc.and_(pc.is_null(old), pc.is_null(new))))
    return is_same


def _edges(images: pa.Array, columns: int) -> tuple[npt.NDArray[np.int32], bool]:
    """Return the start of each cell and separator, row by row, then the last end; and whether a cell is NULL."""
    rows = len(images)
    _, offset_buffer, data_buffer = images.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, rows + 1, 4 * images.offset)
    data = np.frombuffer(data_buffer or b"", np.uint8)[: offsets[-1]]
    marks = np.flatnonzero(data[offsets[0] :] >= NULL)
    if offsets[0]:
        marks += offsets[0]
    separates = data[marks] == SEPARATOR
    has_nulls = not separates.all()
    separators = marks[separates] if has_nulls else marks
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
    return edges, has_nulls


def _cut(images: pa.Array, edges: npt.NDArray[np.int32], places: npt.NDArray[np.int32], has_nulls: bool) -> pa.Array:
    """Return the cells at these positions of the array that `edges` define: cell, separator, cell, separator, …"""
    data_buffer = images.buffers()[2] or pa.py_buffer(b"")
    pieces = pa.Array.from_buffers(pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges), data_buffer])
    if not has_nulls:
        return pieces.take(pa.array(places))
    data, starts = np.frombuffer(data_buffer, np.uint8), edges[places]
    nulls = (data[np.minimum(starts, len(data) - 1)] == NULL) & (edges[places + 1] - starts == 1)
    return pieces.take(pa.array(places, mask=nulls))


def _ragged(images: pa.Array, columns: int) -> EncodeError:
    counts = pc.add(pc.count_substring(images, bytes([SEPARATOR])), 1)
    odd = int(np.argmax(counts.to_numpy() != columns))
    return EncodeError(f"row image {odd} has {counts[odd]} cells: the table has {columns} visible columns")
