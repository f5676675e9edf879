"""The keys of one row: its handle and its entries in unique indexes.

`tidb.keys` encodes columns of rows by the same rules; a property test holds both to each other. A key with NULL has no
entry, and conflicts with none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import pyarrow as pa

from simulator.tidb.collations.compare import has_weights, pads_spaces
from simulator.tidb.keys import encode_index_column
from simulator.tidb.model.table import IndexColumn, Table, row_id_column, visible_columns
from simulator.tidb.model.types import ColumnType, family, is_text
from simulator.tidb.sql_engine.storage.row_keys import cached_by_table, columns_by_name, is_array
from simulator.tidb.storage.rows import Handle
from simulator.tidb.storage.tables import Cells

SIGN = 1 << 63
FULL = (1 << 64) - 1

Encode = Callable[[bytes], bytes]
"""Returns the part of a key that a cell is, so that equal values have equal bytes, and smaller ones smaller bytes."""

Evaluate = Callable[[Cells], "bytes | None"]
"""Returns the part of a key that a row has; None for NULL."""


class RowKey(NamedTuple):
    """A unique key of a table."""

    index_id: int
    """The id of the index; 0 for the handle."""

    name: str
    """The key's name in errors: `PRIMARY`, or the name of the index."""

    parts: tuple[Evaluate, ...]
    unpartitioned: bool = False
    """Whether its entries are those of a GLOBAL index, which is one over all partitions."""

    def of(self, cells: Cells) -> bytes | None:
        """Return the key of a row; None if it has NULL."""
        found = []
        for part in self.parts:
            encoded = part(cells)
            if encoded is None:
                return None
            found.append(encoded)
        return found[0] if len(found) == 1 else b"".join(found)


def _signed(cell: bytes) -> bytes:
    return (int(cell) + SIGN).to_bytes(8, "big")


def _unsigned(cell: bytes) -> bytes:
    return int(cell).to_bytes(8, "big")


def _ended(cell: bytes) -> bytes:
    return cell.replace(b"\0", b"\0\1") + b"\0\0"


def _padded(cell: bytes) -> bytes:
    return _ended(cell.rstrip(b" "))


@lru_cache(1 << 16)
def _by_columns(type: ColumnType, length: int, cell: bytes) -> bytes:
    """Encode a cell by the rules for columns of cells."""
    encoded: bytes = encode_index_column(type, length, pa.array([cell], pa.binary()))[0].as_py()
    return encoded


@lru_cache(4096)
def encoder(type: ColumnType, length: int = -1) -> Encode:
    """Return the encoder of a column's cells in an index, given the length of its prefix (-1 for none)."""
    if family(type) in ("integer", "year", "bit"):
        return _unsigned if type.unsigned or type.name == "bit" else _signed
    if family(type) in ("date", "datetime"):
        return bytes
    if is_text(type) and length < 0 and type.collation != "latin1_bin" and not has_weights(type.collation):
        return _padded if pads_spaces(type.collation) else _ended
    return partial(_by_columns, type, length)


def part_of(table: Table, part: IndexColumn) -> Evaluate:
    """Return how a row has a part of a key that is a column of the table."""
    column = columns_by_name(table)[part.name.lower()]
    place, encode = visible_columns(table).index(column), encoder(column.type, part.length)

    def evaluate(cells: Cells) -> bytes | None:
        cell = cells[place]
        return None if cell is None else encode(cell)

    return evaluate


@cached_by_table
def handle_of(table: Table) -> Callable[[Cells], Handle]:
    """Return how a row of a table with a clustered key has its handle."""
    name = row_id_column(table)
    if name is not None:
        place = [column.name for column in visible_columns(table)].index(name)

        def number(cells: Cells) -> Handle:
            return int(cells[place] or b"0")

        return number
    primary = next((index.columns for index in table.indexes if index.primary), None)
    parts = primary or tuple(IndexColumn(name) for name in table.primary_key)
    key = RowKey(0, "PRIMARY", tuple(part_of(table, part) for part in parts))

    def ordered(cells: Cells) -> Handle:
        handle = key.of(cells)
        assert handle is not None, "a primary key is never NULL"
        return handle

    return ordered


@cached_by_table
def entry_keys(table: Table) -> tuple[RowKey, ...]:
    """Return the unique keys that have entries, in the order of the table's indexes: all but the handle and those of
    arrays."""
    return tuple(
        RowKey(
            index.id,
            "PRIMARY" if index.primary else index.name,
            tuple(part_of(table, part) for part in index.columns),
            index.unpartitioned,
        )
        for index in table.indexes
        if index.unique and not (index.primary and table.clustered) and not any(map(is_array, index.columns))
    )


@cached_by_table
def is_unsigned_handle(table: Table) -> bool:
    """Return whether the handles are unsigned integers."""
    name = row_id_column(table)
    return name is not None and columns_by_name(table)[name.lower()].type.unsigned


def handle_bytes(table: Table, handle: Handle) -> bytes:
    """Return a handle as TiKV's key has it behind the table's prefix, in the order of handles."""
    if isinstance(handle, bytes):
        return handle
    assert isinstance(handle, int)
    return handle.to_bytes(8, "big") if is_unsigned_handle(table) else (handle + SIGN).to_bytes(8, "big")


def row_id(handle: Handle) -> int | None:
    """Return the integer of a handle as 64 signed bits; None for a handle of several columns."""
    if isinstance(handle, bytes):
        return None
    assert isinstance(handle, int)
    return handle - (1 << 64) if handle >= SIGN else handle
