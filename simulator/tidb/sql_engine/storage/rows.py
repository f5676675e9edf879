"""The rows of a table: deleting, inserting and replacing them.

Rows with keys are in the order of TiKV, and every operation keeps that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from weakref import WeakKeyDictionary

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
from simulator.tidb.sql_engine.storage.keyed_rows import LACKING, KeyedRows, RowKeys
from simulator.tidb.sql_engine.storage.sorted_blocks import FEW
from simulator.tidb.sql_engine.storage.state import StoredRows, TableChanges, Upstream


def table_rows(upstream: Upstream, table: Table) -> StoredRows:
    """Return the rows of a table with their keys, in the order of TiKV."""
    stored = upstream.rows.get(object_key(table.schema, table.name))
    if stored is None:
        return ensure_keys(empty_rows(table))
    return ensure_keys(stored, table)


def empty_rows(table: Table) -> StoredRows:
    """Return no rows, with counters as the table's options set them."""
    names = [column.name for column in visible_columns(table)]
    schema = pa.schema([(name, pa.binary()) for name in names])
    return StoredRows(table, schema.empty_table(), pa.array([], pa.int64()), initial_counters(table))


def empty_uncounted(table: Table) -> StoredRows:
    """Return no rows, with ids from 1 whatever the table's options say, as after TRUNCATE and LIKE."""
    return empty_rows(table).with_counters(unused_counters(table))


def ensure_keys(stored: StoredRows, table: Table | None = None) -> StoredRows:
    """Return the same rows with the keys of their table, or of another definition, in the order of TiKV."""
    table = table or stored.table
    if stored.keys is not None and stored.keys.table is table:
        return stored
    known = _KEYED.get(stored)
    if known is None or known.table is not table:
        known = _KEYED[stored] = stored.with_keys(_row_keys(stored, table))
    return known


_KEYED: WeakKeyDictionary[StoredRows, StoredRows] = WeakKeyDictionary()
"""Rows with keys that queries have needed, by the rows without them."""


def _row_keys(stored: StoredRows, table: Table) -> RowKeys:
    cells = stored.cells.combine_chunks()
    texts = column_arrays(cells)
    rows = _with_keys(table, texts, stored.row_ids)
    if LACKING in texts:
        rows = replace(rows, texts={**rows.texts, LACKING: texts[LACKING]})
    above = pc.less(rows.handles.slice(1), rows.handles.slice(0, max(len(rows) - 1, 0)))
    if pc.any(above, min_count=0).as_py():
        rows = take_rows(rows, pc.sort_indices(rows.handles))
    return RowKeys.of(table, rows)


def column_arrays(cells: pa.Table) -> dict[str, pa.Array]:
    """Return the columns of a table as binary arrays by name."""
    return {name: _binary_array(cells.column(place)) for place, name in enumerate(cells.column_names)}


def _binary_array(column: pa.ChunkedArray) -> pa.Array:
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return array if pa.types.is_binary(array.type) else array.cast(pa.binary())


def key_rows(
    table: Table, texts: Mapping[str, pa.Array], row_ids: pa.Array | None, ordinals: pa.Array | None = None
) -> KeyedRows:
    """Return rows that a statement writes, with their keys.

    `texts` has the visible columns, and may have virtual ones. `row_ids` are needed for a table without a clustered
    key. `ordinals` of partitions are computed unless given. Raises SqlError 1526 for a row that fits no partition, 8025
    for one that is too large.
    """
    check_entries(table, texts)
    return _with_keys(table, texts, row_ids, ordinals)


def _with_keys(
    table: Table, texts: Mapping[str, pa.Array], row_ids: pa.Array | None, ordinals: pa.Array | None = None
) -> KeyedRows:
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


ENTRY_SIZE_LIMIT = 6 << 20
"""Bytes of a row in TiKV: TiDB's default of txn-entry-size-limit."""


def check_entries(table: Table, texts: Mapping[str, pa.Array]) -> None:
    """Raise SqlError 8025 for a row that TiKV does not take, as far as the texts of its values tell."""
    visible = [texts[column.name] for column in visible_columns(table)]
    if sum(cells.nbytes for cells in visible) <= ENTRY_SIZE_LIMIT:
        return
    sizes = reduce(pc.add, (pc.fill_null(pc.binary_length(cells), 0).cast(pa.int64()) for cells in visible))
    largest = pc.max(sizes).as_py() or 0
    if largest > ENTRY_SIZE_LIMIT:
        raise sql_error(8025, ENTRY_SIZE_LIMIT, largest)


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
    return stored.keys.take(places)


def texts_at(stored: StoredRows, places: Places) -> Mapping[str, pa.Array]:
    """Return the cells (binary) at some positions of stored rows that have keys, by column."""
    if len(places) <= FEW:
        return take_stored(stored, places).texts
    return column_arrays(stored.cells.take(pa.array(places)))


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
    return stored.with_keys(keys.edited(np.sort(removed), new_rows))


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
    lacking = removed.texts.get(LACKING)
    if len(removed) and len(new_rows) and not removed.handles.equals(new_rows.handles):
        positions = row_keys.find_keys(removed.handles, new_rows.handles)
        before = old.take(pa.array(positions, mask=positions < 0))
        only_removed = np.setdiff1d(np.arange(len(removed)), positions, assume_unique=False)
        handles = pa.concat_arrays([removed.handles.take(pa.array(only_removed)), new_rows.handles])
        row_ids = pa.concat_arrays([removed.row_ids.take(pa.array(only_removed)), new_rows.row_ids])
        before = pa.concat_arrays([old.take(pa.array(only_removed)), before])
        if lacking is not None:
            kept = lacking.take(pa.array(positions, mask=positions < 0))
            lacking = pa.concat_arrays([lacking.take(pa.array(only_removed)), kept])
        after = pa.concat_arrays([pa.nulls(len(only_removed), pa.binary()), new])
    elif len(new_rows):
        handles, row_ids, after = new_rows.handles, new_rows.row_ids, new
        before, lacking = (old, lacking) if len(removed) else (pa.nulls(len(new_rows), pa.binary()), None)
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
        lacking if lacking is not None and lacking.null_count < len(lacking) else None,
    )
