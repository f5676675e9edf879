"""The rows of a table, and what statements do to them: rows go, and rows come.

One law: once they have keys, rows lie in the order of TiKV, and every operation keeps that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Places
from simulator.errors import SchemaError, SqlError
from simulator.tidb.ddl.catalog import Key, key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.partitions import locate_partition
from simulator.tidb.sql_engine.errors import not_simulated
from simulator.tidb.sql_engine.storage import row_keys
from simulator.tidb.sql_engine.storage.auto_ids import initial_counters, unused_counters
from simulator.tidb.sql_engine.storage.state import RowKeys, RowWrites, StoredRows, Upstream

FEW_EDITS = 64
"""Rows up to which a table is cut around each, instead of being put together anew."""

MAX_CHUNKS = 24
"""More than those are put together."""


@dataclass(frozen=True)
class KeyedRows:
    """Some rows with their keys."""

    texts: Mapping[str, pa.Array]
    """TiDB text (binary) of each visible column."""

    row_ids: pa.Array
    handles: pa.Array
    unique: Mapping[str, pa.Array]
    """As in RowKeys."""

    broken: pa.Array | None = None
    """The name of the first CHECK that each row breaks, null for none; None where no row breaks one."""

    def __len__(self) -> int:
        return len(self.handles)


def table_rows(upstream: Upstream, table: Table) -> StoredRows:
    """The rows of a table with their keys, in the order of TiKV."""
    stored = upstream.rows.get(key(table.schema, table.name))
    if stored is None:
        return ensure_keys(empty_rows(table))
    return ensure_keys(stored if stored.table is table else replace(stored, table=table))


def empty_rows(table: Table) -> StoredRows:
    """No rows; the counters as the table's options say."""
    names = [column.name for column in visible_columns(table)]
    schema = pa.schema([(name, pa.binary()) for name in names])
    return StoredRows(table, schema.empty_table(), pa.array([], pa.int64()), initial_counters(table))


def empty_uncounted(table: Table) -> StoredRows:
    """No rows, and ids from 1 on, whatever the table's options say: of TRUNCATE and LIKE."""
    return replace(empty_rows(table), counters=unused_counters(table))


def ensure_keys(stored: StoredRows) -> StoredRows:
    """The same rows with keys, in the order of TiKV."""
    table = stored.table
    known = stored.keys
    if known is not None and known.cells is stored.cells and known.table is table:
        return stored
    cells = stored.cells.combine_chunks()
    rows = key_rows(table, column_arrays(cells), stored.row_ids)
    above = pc.less(rows.handles.slice(1), rows.handles.slice(0, max(len(rows) - 1, 0)))
    if pc.any(above, min_count=0).as_py():
        order = pc.sort_indices(rows.handles)
        cells, rows = cells.take(order), take_rows(rows, order)
    made = RowKeys(table, cells, rows.handles, rows.unique)
    return replace(stored, cells=cells, row_ids=rows.row_ids, keys=made)


def column_arrays(cells: pa.Table) -> dict[str, pa.Array]:
    """Columns of a table as arrays by their names, as binary."""
    return {name: _binary_array(cells.column(place)) for place, name in enumerate(cells.column_names)}


def _binary_array(column: pa.ChunkedArray) -> pa.Array:
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return array if pa.types.is_binary(array.type) else array.cast(pa.binary())


def key_rows(
    table: Table,
    texts: Mapping[str, pa.Array],
    row_ids: pa.Array | None,
    ordinals: pa.Array | None = None,
    named: frozenset[str] = frozenset(),
) -> KeyedRows:
    """Rows with their keys. `texts`: of visible columns (virtual ones may be there and help); `row_ids` are needed
    for a table without a clustered key; `ordinals` of partitions are computed where they are not given.

    Raises SqlError 1526 for a row that no partition takes.
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
    """int32 ordinals; raises SqlError 1526 for the first row that no partition takes."""
    found = try_locate_partitions(table, texts)
    if found.null_count:
        raise no_partition_error(table, texts, int(np.argmax(found.is_null())))
    return found


def try_locate_partitions(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """The same, null for a row that no partition takes. Raises SqlError for what is not computed."""
    try:
        return locate_partition(table, texts)
    except SchemaError as error:
        raise not_simulated(str(error)) from None


def no_partition_error(table: Table, texts: Mapping[str, pa.Array], row: int) -> SqlError:
    """Error 1526 (tidb pkg/table/tables/partition.go: the value of the expression, or `from column_list`)."""
    rule = table.partitioning
    assert rule is not None
    shown = "from column_list"
    if not rule.columns and rule.expression.strip("`").lower() in row_keys.columns_by_name(table):
        cell = texts[row_keys.columns_by_name(table)[rule.expression.strip("`").lower()].name][row].as_py()
        shown = "NULL" if cell is None else cell.decode("utf-8", "replace")
    return SqlError(1526, "HY000", f"Table has no partition for value {shown}")


def take_stored(stored: StoredRows, places: Places) -> KeyedRows:
    """The rows at some places of rows that have keys."""
    assert stored.keys is not None
    chosen = pa.array(places)
    if len(places) == 1:
        place = int(places[0])
        texts = column_arrays(stored.cells.slice(place, 1))
        made = {name: keys.slice(place, 1) for name, keys in stored.keys.unique.items()}
        return KeyedRows(texts, stored.row_ids.slice(place, 1), stored.keys.handles.slice(place, 1), made)
    made = {name: keys.take(chosen) for name, keys in stored.keys.unique.items()}
    texts = column_arrays(stored.cells.take(chosen))
    return KeyedRows(texts, stored.row_ids.take(chosen), stored.keys.handles.take(chosen), made)


def take_rows(rows: KeyedRows, places: pa.Array) -> KeyedRows:
    return KeyedRows(
        {name: cells.take(places) for name, cells in rows.texts.items()},
        rows.row_ids.take(places),
        rows.handles.take(places),
        {name: keys.take(places) for name, keys in rows.unique.items()},
        None if rows.broken is None else rows.broken.take(places),
    )


def replace_rows(stored: StoredRows, gone: Places, fresh: KeyedRows) -> StoredRows:
    """The rows without those at the places `gone` (each once, in any order), with `fresh` ones, whose handles none of
    the others has."""
    keys = stored.keys
    assert keys is not None
    if not len(gone) and not len(fresh):
        return stored
    if len(fresh) > 1 and pc.any(pc.less(fresh.handles.slice(1), fresh.handles.slice(0, len(fresh) - 1))).as_py():
        fresh = take_rows(fresh, pc.sort_indices(fresh.handles))
    gone = np.sort(gone)
    places: Places = np.asarray(pc.search_sorted(keys.handles, fresh.handles), np.int64)
    put = pa.table({name: fresh.texts[name] for name in stored.cells.column_names})
    edit = _RowEdit(len(keys.handles), gone, places)
    cells = edit.table(stored.cells, put)
    made = RowKeys(
        stored.table,
        cells,
        edit.array(keys.handles, fresh.handles),
        {name: edit.array(there, fresh.unique[name]) for name, there in keys.unique.items()},
    )
    return replace(stored, cells=cells, row_ids=edit.array(stored.row_ids, fresh.row_ids), keys=made)


@dataclass(frozen=True)
class _RowEdit:
    """What becomes of every column alike."""

    rows: int
    gone: Places
    places: Places
    """Before which each of the new rows goes."""

    def pieces(self) -> Iterator[tuple[bool, int, int]]:
        """Stretches of the new rows (True) and of the old ones."""
        at = put = 0
        stops = sorted({*self.gone.tolist(), *self.places.tolist(), self.rows})
        dropped = set(self.gone.tolist())
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
            len(self.gone) + len(self.places) <= FEW_EDITS
            or not len(self.gone)
            and (not len(self.places) or self.places[0] == self.rows)
        )

    def order(self) -> pa.Array:
        """Places of the new column in the old rows followed by the new ones."""
        stays = np.ones(self.rows, np.bool_)
        stays[self.gone] = False
        numbers = np.insert(np.arange(self.rows), self.places, self.rows + np.arange(len(self.places)))
        kept = np.insert(stays, self.places, True)
        return pa.array(numbers[kept])

    def array(self, old: pa.Array, new: pa.Array) -> pa.Array:
        if not self.few():
            return pa.concat_arrays([old, new]).take(self.order())
        parts = [(new if fresh else old).slice(start, size) for fresh, start, size in self.pieces()]
        return pa.concat_arrays(parts) if parts else old.slice(0, 0)

    def table(self, old: pa.Table, new: pa.Table) -> pa.Table:
        if not self.few():
            return pa.concat_tables([old, new]).take(self.order()).combine_chunks()
        parts = [(new if fresh else old).slice(start, size) for fresh, start, size in self.pieces()]
        made = pa.concat_tables(parts) if parts else old.slice(0, 0)
        return made.combine_chunks() if made.num_columns and made.column(0).num_chunks > MAX_CHUNKS else made


def row_images(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Row images of rows by the texts of their visible columns."""
    return row_image.pack([texts[column.name] for column in visible_columns(table)])


def put_rows(upstream: Upstream, *stored: StoredRows) -> Upstream:
    """With these rows in place of those of their tables."""
    made: dict[Key, StoredRows] = {key(each.table.schema, each.table.name): each for each in stored}
    return replace(upstream, rows={**upstream.rows, **made})


def row_writes(table: Table, gone: KeyedRows, fresh: KeyedRows) -> RowWrites:
    """What it is to TiKV that rows go and others come: a key that goes and comes again has both images."""
    old, new = row_images(table, gone.texts), row_images(table, fresh.texts)
    if len(gone) and len(fresh) and not gone.handles.equals(fresh.handles):
        there = row_keys.find_keys(gone.handles, fresh.handles)
        before = old.take(pa.array(there, mask=there < 0))
        lonely = np.setdiff1d(np.arange(len(gone)), there, assume_unique=False)
        handles = pa.concat_arrays([gone.handles.take(pa.array(lonely)), fresh.handles])
        row_ids = pa.concat_arrays([gone.row_ids.take(pa.array(lonely)), fresh.row_ids])
        before = pa.concat_arrays([old.take(pa.array(lonely)), before])
        after = pa.concat_arrays([pa.nulls(len(lonely), pa.binary()), new])
    elif len(fresh):
        handles, row_ids, after = fresh.handles, fresh.row_ids, new
        before = old if len(gone) else pa.nulls(len(fresh), pa.binary())
    else:
        handles, row_ids, before = gone.handles, gone.row_ids, old
        after = pa.nulls(len(gone), pa.binary())
    place = key(table.schema, table.name)
    return RowWrites(
        place,
        table,
        row_keys.partition_ordinals(table, handles),
        row_keys.strip_ordinals(table, handles),
        row_ids,
        before,
        after,
    )
