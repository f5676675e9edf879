"""Tables as they are stored: their definition, their partitions, their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.columns.row_image import NULL, SEPARATOR_BYTES
from simulator.tidb.ddl.defaults import stored_value
from simulator.tidb.functions.documents import MARK, text_of_stored
from simulator.tidb.model.table import Cells, Table, cached_by_table, visible_columns
from simulator.tidb.storage.ids import Counters
from simulator.tidb.storage.rows import Entry, Handle, Layout, TableRows, Version

if TYPE_CHECKING:
    from simulator.tidb.storage.row_keys import RowKey

NULL_BYTES = bytes([NULL])
MARK_BYTES = MARK.encode()


@dataclass
class Ids:
    """The ids that a table has given. They are shared by all definitions of the table, and outlive a rollback."""

    counters: Counters


@dataclass(frozen=True, eq=False)
class StoredTable:
    """A table in one definition. DDL makes another one, which shares rows and ids, or has new ones (TRUNCATE)."""

    table: Table
    partitions: tuple[TableRows, ...]
    """The rows of each partition, one of a table without partitions."""

    ids: Ids
    unpartitioned: TableRows = field(default_factory=TableRows)
    """The entries of GLOBAL indexes, whose handle is the pair of a partition's ordinal and a handle."""

    changed: tuple[int, str] = (0, "")
    """The ts from which its rows have a column of another type, and that column's name."""

    def load(self, ordinal: int, handle: Handle, version: Version, entries: Iterable[tuple[RowKey, bytes]]) -> None:
        """Take a row that is there, with its entries, as if no transaction had written it."""
        self.partitions[ordinal].write(handle, version, 0)
        for key, value in entries:
            owner = (ordinal, handle) if key.unpartitioned else handle
            self.entries(ordinal, key.unpartitioned).write_entry(key.index_id, value, Entry(version.ts, owner), 0)

    def entries(self, ordinal: int, unpartitioned: bool) -> TableRows:
        """Return what has the entries of an index for rows of a partition."""
        return self.unpartitioned if unpartitioned else self.partitions[ordinal]


@cached_by_table
def layout_of(table: Table) -> Layout:
    """Return the layout in which rows of a table are written."""
    return tuple(column.id for column in visible_columns(table))


class RowReader:
    """Cuts images into the cells of a table's visible columns, whatever layout they were written in."""

    def __init__(self, table: Table) -> None:
        self._layout = layout_of(table)
        self._columns = visible_columns(table)
        self._places: dict[Layout, list[tuple[int, bytes | None]]] = {}

    def cells(self, version: Version) -> Cells:
        """Return the cells of a row."""
        assert version.image is not None, "a deleted row has none"
        cells = cells_of(version.image)
        if version.layout is self._layout or version.layout == self._layout:
            return cells
        places = self._places.get(version.layout) or self._placed(version.layout)
        return [default if place < 0 else cells[place] for place, default in places]

    def _placed(self, layout: Layout) -> list[tuple[int, bytes | None]]:
        """Return the place of each column in a layout, -1 with its origin default for a column that it lacks."""
        by_id = {id: place for place, id in enumerate(layout)}
        found = []
        for column in self._columns:
            origin = stored_value(column.origin_default, column.type)
            found.append((by_id.get(column.id, -1), None if origin is None else origin.encode()))
        self._places[layout] = found
        return found


@cached_by_table
def sent_images(table: Table) -> Callable[[bytes | None], bytes | None] | None:
    """Return how an image becomes the one that TiCDC sees, in which JSON is as TiDB prints it; None if all are."""
    places = [place for place, column in enumerate(visible_columns(table)) if column.type.name == "json"]

    def sent(image: bytes | None) -> bytes | None:
        if image is None or MARK_BYTES not in image:
            return image
        cells = cells_of(image)
        for place in places:
            cell = cells[place]
            if cell is not None:
                cells[place] = text_of_stored(cell.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
        return image_of(cells)

    return sent if places else None


def image_of(cells: Cells) -> bytes:
    """Return the image of a row."""
    return SEPARATOR_BYTES.join([NULL_BYTES if cell is None else cell for cell in cells])


def cells_of(image: bytes) -> Cells:
    """Return the cells of a row."""
    return [None if cell == NULL_BYTES else cell for cell in image.split(SEPARATOR_BYTES)]
