"""The rows of a table: deleting, inserting and replacing them.

Rows with keys are in the order of TiKV, and every operation keeps that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Places
from simulator.errors import SchemaError, SqlError
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.partitions import locate_partition
from simulator.tidb.sql_engine.errors import not_simulated, sql_error
from simulator.tidb.sql_engine.storage import row_keys
from simulator.tidb.sql_engine.storage.auto_ids import initial_counters, unused_counters
from simulator.tidb.sql_engine.storage.state import RowKeys, StoredRows, TableChanges, Upstream

FEW_EDITS = 64
"""Up to this number of changed rows, columns are sliced around them instead of being rebuilt."""

MAX_CHUNKS = 24
"""Columns with more chunks are combined."""


@dataclass(frozen=True)
class KeyedRows:
    """Rows with their keys."""

    texts: Mapping[str, pa.Array]
    """TiDB text (binary) of each visible column."""

    row_ids: pa.Array
    handles: pa.Array
    unique: Mapping[str, pa.Array]
    """The bytes of unique keys, as in RowKeys."""

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


def table_rows(upstream: Upstream, table: Table) -> StoredRows:
    """Return the rows of a table with their keys, in the order of TiKV."""
    stored = upstream.rows.get(object_key(table.schema, table.name))
    if stored is None:
        return ensure_keys(empty_rows(table))
    return ensure_keys(stored if stored.table is table else replace(stored, table=table))


def empty_rows(table: Table) -> StoredRows:
    """Return no rows, with counters as the table's options set them."""
    names = [column.name for column in visible_columns(table)]
    schema = pa.schema([(name, pa.binary()) for name in names])
    return StoredRows(table, schema.empty_table(), pa.array([], pa.int64()), initial_counters(table))


def empty_uncounted(table: Table) -> StoredRows:
    """Return no rows, with ids from 1 whatever the table's options say, as after TRUNCATE and LIKE."""
    return replace(empty_rows(table), counters=unused_counters(table))


def ensure_keys(stored: StoredRows) -> StoredRows:
    """Return the same rows with keys, in the order of TiKV."""
    table = stored.table
    keys = stored.keys
    if keys is not None and keys.cells is stored.cells and keys.table is table:
        return stored
    cells = stored.cells.combine_chunks()
    rows = key_rows(table, column_arrays(cells), stored.row_ids)
    above = pc.less(rows.handles.slice(1), rows.handles.slice(0, max(len(rows) - 1, 0)))
    if pc.any(above, min_count=0).as_py():
        order = pc.sort_indices(rows.handles)
        cells, rows = cells.take(order), take_rows(rows, order)
    new_keys = RowKeys(table, cells, rows.handles, rows.unique)
    return replace(stored, cells=cells, row_ids=rows.row_ids, keys=new_keys)


def column_arrays(cells: pa.Table) -> dict[str, pa.Array]:
    """Return the columns of a table as binary arrays by name."""
    return {name: _binary_array(cells.column(place)) for place, name in enumerate(cells.column_names)}


def _binary_array(column: pa.ChunkedArray) -> pa.Array:
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return array if pa.types.is_binary(array.type) else array.cast(pa.binary())


def key_rows(
    table: Table, texts: Mapping[str, pa.Array], row_ids: pa.Array | None, ordinals: pa.Array | None = None
) -> KeyedRows:
    """Return rows with their keys.

    `texts` has the visible columns, and may have virtual ones. `row_ids` are needed for a table without a clustered
    key. `ordinals` of partitions are computed unless given. Raises SqlError 1526 for a row that fits no partition.
    """
    if ordinals is None and table.partitioning is not None:
        ordinals = locate_partitions(table, texts)
    handles = row_keys.encode_handles(table, texts, row_ids, ordinals)
    if table.clustered:
        row_ids = row_keys.row_ids_from_handles(table, row_keys.strip_ordinals(table, handles))
    keys = {
        each.name.lower(): row_keys.encode_key(table, each, texts)
        for each in row_keys.unique_keys(table)
        if not each.clustered
    }
    visible = {column.name: texts[column.name] for column in visible_columns(table)}
    return KeyedRows(visible, row_ids, handles, keys)


def locate_partitions(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return int32 partition ordinals. Raises SqlError 1526 for the first row that fits no partition."""
    ordinals = try_locate_partitions(table, texts)
    if ordinals.null_count:
        raise no_partition_error(table, texts, int(np.argmax(ordinals.is_null())))
    return ordinals


def try_locate_partitions(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return int32 partition ordinals, null for a row that fits no partition. Raises SqlError if they are not computed."""
    try:
        return locate_partition(table, texts)
    except SchemaError as error:
        raise not_simulated(str(error)) from None


def no_partition_error(table: Table, texts: Mapping[str, pa.Array], row: int) -> SqlError:
    """Return error 1526 (tidb pkg/table/tables/partition.go: the value of the expression, or `from column_list`)."""
    rule = table.partitioning
    assert rule is not None
    value = "from column_list"
    if not rule.columns and rule.expression.strip("`").lower() in row_keys.columns_by_name(table):
        cell = texts[row_keys.columns_by_name(table)[rule.expression.strip("`").lower()].name][row].as_py()
        value = "NULL" if cell is None else cell.decode("utf-8", "replace")
    return sql_error(1526, value)


def take_stored(stored: StoredRows, places: Places) -> KeyedRows:
    """Return the rows at some positions of stored rows that have keys."""
    assert stored.keys is not None
    indices = pa.array(places)
    if len(places) == 1:
        place = int(places[0])
        texts = column_arrays(stored.cells.slice(place, 1))
        unique = {name: keys.slice(place, 1) for name, keys in stored.keys.unique.items()}
        return KeyedRows(texts, stored.row_ids.slice(place, 1), stored.keys.handles.slice(place, 1), unique)
    unique = {name: keys.take(indices) for name, keys in stored.keys.unique.items()}
    texts = column_arrays(stored.cells.take(indices))
    return KeyedRows(texts, stored.row_ids.take(indices), stored.keys.handles.take(indices), unique)


def column_at(stored: StoredRows, name: str, places: pa.Array) -> pa.Array:
    """Return the cells (binary) of a column at some positions."""
    cells = stored.cells.column(name).take(places)
    return _binary_array(cells)


def take_rows(rows: KeyedRows, places: pa.Array) -> KeyedRows:
    return rows.map(lambda array: array.take(places))


def replace_rows(stored: StoredRows, removed: Places, new_rows: KeyedRows) -> StoredRows:
    """Return the rows without those at positions `removed` (each once, in any order) and with `new_rows`.

    The handles of `new_rows` must not occur among the remaining rows.
    """
    keys = stored.keys
    assert keys is not None
    if not len(removed) and not len(new_rows):
        return stored
    if (
        len(new_rows) > 1
        and pc.any(pc.less(new_rows.handles.slice(1), new_rows.handles.slice(0, len(new_rows) - 1))).as_py()
    ):
        new_rows = take_rows(new_rows, pc.sort_indices(new_rows.handles))
    removed = np.sort(removed)
    places: Places = np.asarray(pc.search_sorted(keys.handles, new_rows.handles), np.int64)
    put = pa.table({name: new_rows.texts[name] for name in stored.cells.column_names})
    edit = _RowEdit(len(keys.handles), removed, places)
    cells = edit.table(stored.cells, put)
    new_keys = RowKeys(
        stored.table,
        cells,
        edit.array(keys.handles, new_rows.handles),
        {name: edit.array(existing, new_rows.unique[name]) for name, existing in keys.unique.items()},
    )
    return replace(stored, cells=cells, row_ids=edit.array(stored.row_ids, new_rows.row_ids), keys=new_keys)


@dataclass(frozen=True)
class _RowEdit:
    """An edit that is applied to every column."""

    rows: int
    removed: Places
    places: Places
    """The position before which each new row is inserted."""

    def pieces(self) -> Iterator[tuple[bool, int, int]]:
        """Yield runs of new rows (True) and of old rows (False), each with its start and length."""
        at = put = 0
        stops = sorted({*self.removed.tolist(), *self.places.tolist(), self.rows})
        dropped = set(self.removed.tolist())
        for stop in stops:
            if stop > at:
                yield False, at, stop - at
            at = stop
            least = put
            while put < len(self.places) and self.places[put] == stop:
                put += 1
            if put > least:
                yield True, least, put - least
            if stop in dropped:
                at = stop + 1

    def few(self) -> bool:
        return (
            len(self.removed) + len(self.places) <= FEW_EDITS
            or not len(self.removed)
            and (not len(self.places) or self.places[0] == self.rows)
        )

    def order(self) -> pa.Array:
        """Return the positions of the resulting rows in the old rows followed by the new ones."""
        stays = np.ones(self.rows, np.bool_)
        stays[self.removed] = False
        numbers = np.insert(np.arange(self.rows), self.places, self.rows + np.arange(len(self.places)))
        remains = np.insert(stays, self.places, True)
        return pa.array(numbers[remains])

    def array(self, old: pa.Array, new: pa.Array) -> pa.Array:
        if not self.few():
            return pa.concat_arrays([old, new]).take(self.order())
        parts = [(new if new_rows else old).slice(start, size) for new_rows, start, size in self.pieces()]
        return pa.concat_arrays(parts) if parts else old.slice(0, 0)

    def table(self, old: pa.Table, new: pa.Table) -> pa.Table:
        if not self.few():
            return pa.concat_tables([old, new]).take(self.order()).combine_chunks()
        parts = [(new if new_rows else old).slice(start, size) for new_rows, start, size in self.pieces()]
        result = pa.concat_tables(parts) if parts else old.slice(0, 0)
        return result.combine_chunks() if result.num_columns and result.column(0).num_chunks > MAX_CHUNKS else result


def row_images(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return row images of rows by the texts of their visible columns."""
    return row_image.pack([texts[column.name] for column in visible_columns(table)])


def put_rows(upstream: Upstream, *stored: StoredRows) -> Upstream:
    """Return the upstream with these rows in place of their tables' rows."""
    by_table: dict[Key, StoredRows] = {object_key(each.table.schema, each.table.name): each for each in stored}
    return replace(upstream, rows={**upstream.rows, **by_table})


def row_writes(table: Table, removed: KeyedRows, new_rows: KeyedRows) -> TableChanges:
    """Return deleted and inserted rows as writes to TiKV. A key that is deleted and inserted has both images."""
    old, new = row_images(table, removed.texts), row_images(table, new_rows.texts)
    if len(removed) and len(new_rows) and not removed.handles.equals(new_rows.handles):
        positions = row_keys.find_keys(removed.handles, new_rows.handles)
        before = old.take(pa.array(positions, mask=positions < 0))
        only_removed = np.setdiff1d(np.arange(len(removed)), positions, assume_unique=False)
        handles = pa.concat_arrays([removed.handles.take(pa.array(only_removed)), new_rows.handles])
        row_ids = pa.concat_arrays([removed.row_ids.take(pa.array(only_removed)), new_rows.row_ids])
        before = pa.concat_arrays([old.take(pa.array(only_removed)), before])
        after = pa.concat_arrays([pa.nulls(len(only_removed), pa.binary()), new])
    elif len(new_rows):
        handles, row_ids, after = new_rows.handles, new_rows.row_ids, new
        before = old if len(removed) else pa.nulls(len(new_rows), pa.binary())
    else:
        handles, row_ids, before = removed.handles, removed.row_ids, old
        after = pa.nulls(len(removed), pa.binary())
    return TableChanges(
        table,
        row_keys.partition_ordinals(table, handles),
        row_keys.strip_ordinals(table, handles),
        row_ids,
        before,
        after,
    )
