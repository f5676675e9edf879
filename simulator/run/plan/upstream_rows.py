"""Converts between snapshots and the upstream of scripted SQL.

Of a snapshot's tables only those are read into the upstream that a statement names, and those related to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import SNAPSHOT_ROWS
from simulator.engines.work import duplicate_key_error
from simulator.errors import UserError
from simulator.run.plan.step import RunPosition
from simulator.sources import snapshots
from simulator.sources.snapshots import PhysicalTable, PlacedTable, Snapshot, SnapshotTable, TableScan
from simulator.ticdc import table_info
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.catalog import Catalog, Key, object_key
from simulator.tidb.engine.execution import StoredRows, Upstream
from simulator.tidb.model.table import ROW_ID, Table, visible_columns
from simulator.tidb.model.types import family
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.storage.ids import counters_after
from simulator.tidb.syntax.expressions import TableName, parts_of
from simulator.tidb.syntax.statements import DropTable

MOST_BYTES = 256 << 20
"""The limit for the files of a table that is read into memory."""


def as_snapshot(upstream: Upstream, unread: Snapshot | None) -> Snapshot:
    """Return all tables of the upstream as a snapshot; unread tables stay in their files."""
    files = {object_key(entry.table.schema, entry.table.name): entry for entry in unread.tables} if unread else {}
    tables = (
        files[name] if name in files else SnapshotTable(table, {}, _cells(upstream.rows(table)))
        for name, table in upstream.catalog.tables.items()
    )
    ordered = sorted(tables, key=lambda entry: (entry.table.schema, entry.table.name))
    names = frozenset(database.name for database in upstream.catalog.databases.values())
    path = "the rows of scripted SQL"
    return (
        replace(unread, path=path, tables=tuple(ordered), databases=names)
        if unread
        else Snapshot(path, tuple(ordered), names, None)
    )


def _cells(rows: StoredRows) -> pa.Table | None:
    if not len(rows):
        return None
    cells = pa.table(rows.texts())
    if rows.table.clustered:
        return cells
    return cells.append_column(ROW_ID, pc.cast(rows.row_ids, pa.string()).view(pa.binary()))


def read_rows(position: RunPosition, upstream: Upstream, statement: object) -> Snapshot | None:
    """Read the rows that a statement may need into the upstream, and return the tables that are still unread.

    Raises SnapshotError for unreadable files, and UserError for a table that is too large.
    """
    if position.unread is None or isinstance(statement, DropTable):
        return position.unread
    unread = {object_key(entry.table.schema, entry.table.name): entry for entry in position.unread.tables}
    wanted = _related_tables(table_names(statement, upstream.settings.database), upstream.catalog)
    entries = {name: unread.pop(name) for name in wanted if name in unread}
    if not entries:
        return position.unread
    for name, entry in entries.items():
        _read(entry, upstream.catalog.tables[name], position.unread, upstream)
    return replace(position.unread, tables=tuple(unread.values()))


def still_unread(unread: Snapshot | None, catalog: Catalog) -> Snapshot | None:
    """Return the unread tables without those that statements dropped."""
    if unread is None:
        return None
    left = tuple(entry for entry in unread.tables if object_key(entry.table.schema, entry.table.name) in catalog.tables)
    return replace(unread, tables=left) if len(left) < len(unread.tables) else unread


def table_names(tree: object, database: str) -> Iterator[Key]:
    """Yield all tables that a statement's tree names."""
    for part in parts_of(tree):
        if isinstance(part, TableName):
            yield object_key(part.schema or database, part.name)


def _related_tables(names: Iterable[Key], catalog: Catalog) -> Collection[Key]:
    """Return the tables with those under views and at either end of foreign keys.

    An unqualified name in a view is in the view's database.
    """
    related: set[Key] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in related:
            continue
        related.add(name)
        if name in catalog.tables:
            waiting += (object_key(foreign.schema, foreign.table) for foreign in catalog.tables[name].foreign_keys)
            waiting += _children(name, catalog.tables)
        if name in catalog.views:
            waiting += table_names(parse_sql(catalog.views[name].query), name[0])
    return related


def _children(parent: Key, tables: Mapping[Key, Table]) -> Iterator[Key]:
    return (
        child
        for child, table in tables.items()
        if any(object_key(foreign.schema, foreign.table) == parent for foreign in table.foreign_keys)
    )


def _read(entry: SnapshotTable, table: Table, of: Snapshot, upstream: Upstream) -> None:
    """Read the rows of a table, in the order of their files. The upstream has had them from the start."""
    scan = TableScan(entry, PlacedTable(table, _ordinals(table), bool(entry.row_ids)))
    if (size := replace(of, tables=(entry,)).size) > MOST_BYTES:
        raise UserError(
            f"table {table.schema}.{table.name} of {of.path} has {size / 1e6:,.0f} MB, and SQL holds the tables that "
            f"it names in memory: at most {MOST_BYTES / 1e6:,.0f} MB of one are accepted"
        )
    batches = [batch for pieces in snapshots.divide_into_tasks([scan]) for batch in snapshots.state_batches(pieces)]
    rows = pa.Table.from_batches(batches, SNAPSHOT_ROWS)
    image, handle = (rows[name].combine_chunks() for name in ("image", "handle"))
    if entry.row_ids or handle_key(table):
        _refuse_duplicates(rows, PhysicalTable(table, row_ids=bool(entry.row_ids)))
    if entry.row_ids:
        row_ids = table_info.row_ids_of_handles(handle)
    elif handle_key(table):
        row_ids = table_info.row_ids(table, handle, 0)
    else:
        row_ids = pa.array(np.arange(1, len(image) + 1))
    upstream.load(table, image, row_ids, counters_after(table, _last(row_ids), _last_auto(table, image)))


def _refuse_duplicates(rows: pa.Table, physical: PhysicalTable) -> None:
    """Raise SnapshotError for several rows with one handle."""
    keys = rows.group_by(["table", "handle"]).aggregate([("image", "count"), ("image", "min")])
    for row in keys.filter(pc.field("image_count") > 1).slice(0, 1).to_pylist():
        raise duplicate_key_error(physical, row["handle"], row["image_min"])


def _ordinals(table: Table) -> tuple[int, ...]:
    return tuple(range(len(table.partitioning.partitions) if table.partitioning else 1))


def _last(row_ids: pa.Array) -> int:
    return pc.max(row_ids).as_py() or 0


def _last_auto(table: Table, image: pa.Array) -> int:
    """Return the highest AUTO_INCREMENT value, as after an import into TiDB."""
    columns = visible_columns(table)
    for place, column in enumerate(columns):
        if column.auto_increment and len(image):
            exact = family(column.type) == "integer"
            texts = row_image.cell(image, len(columns), place).cast(pa.string())
            return max(0, int(pc.max(texts.cast(pa.decimal128(38) if exact else pa.float64())).as_py()))
    return 0
