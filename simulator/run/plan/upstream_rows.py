"""Between snapshots and scripted SQL: a snapshot's rows as the upstream holds them, and the upstream's as a snapshot.

One law: rows are read of no table but those that a statement names, and of those that these refer to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.errors import UserError
from simulator.run.plan.step import RunPosition
from simulator.sources import snapshots
from simulator.sources.snapshots import PlacedTable, Snapshot, SnapshotTable, TableScan
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.catalog import Catalog, Key, object_key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import family
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.sql_engine.storage.auto_ids import counters_after
from simulator.tidb.sql_engine.storage.state import StoredRows, Upstream
from simulator.tidb.syntax.ddl import DropTable
from simulator.tidb.syntax.definitions import TableName

MOST_BYTES = 256 << 20
"""Of the files of a table that is read into memory."""


def as_snapshot(upstream: Upstream, unread: Snapshot | None) -> Snapshot:
    """All tables of the upstream; those that it has not read stay where they lie."""
    left = {object_key(entry.table.schema, entry.table.name): entry for entry in unread.tables} if unread else {}
    tables = (
        left[place] if place in left else SnapshotTable(table, {}, _cells(upstream.rows.get(place)))
        for place, table in upstream.catalog.tables.items()
    )
    ordered = sorted(tables, key=lambda entry: (entry.table.schema, entry.table.name))
    names = frozenset(database.name for database in upstream.catalog.databases.values())
    path = "the rows of scripted SQL"
    return (
        replace(unread, path=path, tables=tuple(ordered), databases=names)
        if unread
        else Snapshot(path, tuple(ordered), names, None)
    )


def _cells(rows: StoredRows | None) -> pa.Table | None:
    return rows.cells if rows is not None and rows.cells.num_rows else None


def with_rows(position: RunPosition, upstream: Upstream, statement: object) -> tuple[Upstream, Snapshot | None]:
    """The upstream with the rows that a statement may need, and the tables that are still unread; raises SnapshotError
    for files that cannot be read, UserError for more than fits into memory."""
    if position.unread is None or isinstance(statement, DropTable):
        return upstream, position.unread
    unread = {object_key(entry.table.schema, entry.table.name): entry for entry in position.unread.tables}
    wanted = _related(_named(statement, upstream.session.database), upstream.catalog)
    found = {place: unread.pop(place) for place in wanted if place in unread}
    if not found:
        return upstream, position.unread
    tables = upstream.catalog.tables
    read = {place: _read(entry, tables[place], position.unread) for place, entry in found.items()}
    return replace(upstream, rows={**upstream.rows, **read}), replace(position.unread, tables=tuple(unread.values()))


def still_unread(unread: Snapshot | None, catalog: Catalog) -> Snapshot | None:
    """Without the tables that statements dropped."""
    if unread is None:
        return None
    left = tuple(entry for entry in unread.tables if object_key(entry.table.schema, entry.table.name) in catalog.tables)
    return replace(unread, tables=left) if len(left) < len(unread.tables) else unread


def _named(tree: object, database: str) -> Iterator[Key]:
    """The tables that a statement's tree names, whatever it does with them."""
    if isinstance(tree, TableName):
        yield object_key(tree.schema or database, tree.name)
    elif is_dataclass(tree):
        for field in fields(tree):
            yield from _named(getattr(tree, field.name), database)
    elif isinstance(tree, tuple):
        for part in tree:
            yield from _named(part, database)


def _related(places: Iterable[Key], catalog: Catalog) -> Collection[Key]:
    """With the tables under views, and those at either end of foreign keys. A view's names are in its own database
    where they say none."""
    found: set[Key] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place in found:
            continue
        found.add(place)
        if place in catalog.tables:
            waiting += (object_key(foreign.schema, foreign.table) for foreign in catalog.tables[place].foreign_keys)
            waiting += _children(place, catalog.tables)
        if place in catalog.views:
            waiting += _named(parse_sql(catalog.views[place].query), place[0])
    return found


def _children(place: Key, tables: Mapping[Key, Table]) -> Iterator[Key]:
    return (
        child
        for child, table in tables.items()
        if any(object_key(foreign.schema, foreign.table) == place for foreign in table.foreign_keys)
    )


def _read(entry: SnapshotTable, table: Table, of: Snapshot) -> StoredRows:
    """The rows of a table, in the order of their files."""
    scan = TableScan(entry, PlacedTable(table, _ordinals(table)), of.csv)
    if (size := replace(of, tables=(entry,)).size) > MOST_BYTES:
        raise UserError(
            f"table {table.schema}.{table.name} of {of.path} has {size / 1e6:,.0f} MB, and SQL holds the tables that "
            f"it names in memory: at most {MOST_BYTES / 1e6:,.0f} MB of one are accepted"
        )
    batches = [batch for pieces in snapshots.tasks([scan]) for batch in snapshots.state_batches(pieces)]
    names = [column.name for column in visible_columns(table)]
    image = pa.chunked_array([batch["image"] for batch in batches], pa.binary()).combine_chunks()
    handle = pa.chunked_array([batch["handle"] for batch in batches], pa.binary()).combine_chunks()
    if handle_key(table):
        row_ids = key_bytes.row_ids(table, handle, 0)
    else:
        row_ids = pa.array(np.arange(1, len(image) + 1))
    cells = pa.table(row_image.named(image, names))
    return StoredRows(table, cells, row_ids, counters_after(table, _last(row_ids), _last_auto(table, image)))


def _ordinals(table: Table) -> tuple[int, ...]:
    return tuple(range(len(table.partitioning.partitions) if table.partitioning else 1))


def _last(row_ids: pa.Array) -> int:
    return pc.max(row_ids).as_py() or 0


def _last_auto(table: Table, image: pa.Array) -> int:
    """The highest value that is there, as where an export is loaded into TiDB."""
    columns = visible_columns(table)
    for place, column in enumerate(columns):
        if column.auto_increment and len(image):
            exact = family(column.type) == "integer"
            texts = row_image.cell(image, len(columns), place).cast(pa.string())
            return max(0, int(pc.max(texts.cast(pa.decimal128(38) if exact else pa.float64())).as_py()))
    return 0
