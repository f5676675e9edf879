"""Rows with their keys, and the rows of a table in the order of TiKV, with an index for each unique key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.storage.sorted_blocks import SortedBlocks

LACKING = "\0lacking"
"""What `TableChanges.lacking` is of rows, beside their columns."""


@dataclass(frozen=True)
class KeyedRows:
    """Rows with their keys."""

    texts: Mapping[str, pa.Array]
    """TiDB text (binary) of each visible column, and LACKING of stored rows of which some are older than a column."""

    row_ids: pa.Array
    handles: pa.Array
    """binary: `row_keys.encode_handles`."""

    unique: Mapping[str, pa.Array]
    """The bytes of each other unique key by its name in lower case. A key is null if a column of it is NULL."""

    violated_checks: pa.Array | None = None
    """The name of the first CHECK that each row violates, null for none; None if no row violates one."""

    def __len__(self) -> int:
        return len(self.handles)

    def map(self, change: Callable[[pa.Array], pa.Array]) -> KeyedRows:
        """Return the rows with each array changed alike."""
        return KeyedRows(
            {name: change(cells) for name, cells in self.texts.items()},
            change(self.row_ids),
            change(self.handles),
            {name: change(keys) for name, keys in self.unique.items()},
            None if self.violated_checks is None else change(self.violated_checks),
        )


class RowKeys:
    """The rows of a table, sorted by handle."""

    def __init__(
        self, table: Table, names: tuple[tuple[str, ...], tuple[str, ...]], rows: SortedBlocks, indexes: Indexes
    ) -> None:
        self.table, self._names, self._rows, self._indexes = table, names, rows, indexes
        self._last: tuple[int, KeyedRows] | None = None
        """The row that was taken alone last, which a statement takes several times."""

    @classmethod
    def of(cls, table: Table, rows: KeyedRows) -> RowKeys:
        """Return rows that are sorted by handle; handles are unique."""
        indexes = {}
        for name, keys in rows.unique.items():
            index = _index_entries(keys, rows.handles)
            indexes[name] = SortedBlocks.of(index)
        names = tuple(rows.unique), tuple(rows.texts)
        return cls(table, names, SortedBlocks.of(_columns(rows, names)), indexes)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def handles(self) -> pa.Array:
        """The handles of all rows."""
        return self._rows.columns[0]

    @property
    def row_ids(self) -> pa.Array:
        """The row ids of all rows."""
        return self._rows.columns[1]

    @property
    def unique(self) -> Mapping[str, pa.Array]:
        """The unique keys of all rows, as those of `KeyedRows`."""
        return dict(zip(self._names[0], self._rows.columns[2:], strict=False))

    @cached_property
    def cells(self) -> pa.Table:
        """The cells of all rows."""
        first = 2 + len(self._names[0])
        return pa.table({name: self._rows.chunks(first + place) for place, name in enumerate(self._names[1])})

    def find_handles(self, handles: pa.Array) -> Places:
        """Return the position of each handle, or -1."""
        return self._rows.find(handles)

    def find_unique(self, name: str, keys: pa.Array) -> Places:
        """Return the position of the row with each unique key, or -1. A null is at no position."""
        index, positions = self._indexes[name], np.full(len(keys), -1, np.int64)
        entries = index.find(keys)
        known = np.flatnonzero(entries >= 0)
        if len(known):
            positions[known] = self._rows.find(index.take(entries[known])[1])
        return positions

    def take(self, places: Places) -> KeyedRows:
        """Return the rows at some positions."""
        if len(places) != 1:
            return self._taken(places)
        place = int(places[0])
        if self._last is None or self._last[0] != place:
            self._last = place, self._taken(places)
        return self._last[1]

    def _taken(self, places: Places) -> KeyedRows:
        handles, row_ids, *others = self._rows.take(places)
        unique, texts = self._names
        return KeyedRows(
            dict(zip(texts, others[len(unique) :], strict=True)), row_ids, handles, dict(zip(unique, others))
        )

    def edited(self, removed: Places, new_rows: KeyedRows) -> RowKeys:
        """Return the rows without those at positions `removed` (ascending), and with others, sorted by handle."""
        old = self.take(removed) if self._indexes else None
        indexes = {}
        for name, index in self._indexes.items():
            assert old is not None
            gone = index.find(old.unique[name])
            indexes[name] = index.edited(
                np.sort(gone[gone >= 0]), _index_entries(new_rows.unique[name], new_rows.handles)
            )
        return RowKeys(self.table, self._names, self._rows.edited(removed, _columns(new_rows, self._names)), indexes)


Indexes = Mapping[str, SortedBlocks]
"""The entries of each unique key that is not the handle, by its name in lower case: key and handle."""


def _columns(rows: KeyedRows, names: tuple[tuple[str, ...], tuple[str, ...]]) -> tuple[pa.Array, ...]:
    unique, texts = names
    cells = (rows.texts[name] if name in rows.texts else pa.nulls(len(rows), pa.binary()) for name in texts)
    return (rows.handles, rows.row_ids, *(rows.unique[name] for name in unique), *cells)


def _index_entries(keys: pa.Array, handles: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the entries of a unique index, without those of NULL, sorted by key."""
    if keys.null_count:
        known = keys.is_valid()
        keys, handles = keys.filter(known), handles.filter(known)
    if len(keys) < 2:
        return keys, handles
    order = pc.sort_indices(keys)
    return keys.take(order), handles.take(order)
