"""The rows of tables as Arrow: of a data directory's snapshot, and of the changes in its log."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from simulator.tidb.engine.sessions.outcome import TableChanges
from simulator.tidb.storage.array_keys import entries_of
from simulator.tidb.storage.database import Database
from simulator.tidb.storage.row_keys import handle_bytes, handle_of_bytes
from simulator.tidb.storage.rows import Version
from simulator.tidb.storage.tables import RowReader, StoredTable, cells_of

ROWS = pa.schema(
    [("ordinal", pa.int32()), ("handle", pa.binary()), ("image", pa.binary()), ("layout", pa.list_(pa.int32()))]
)
"""Partition ordinal, handle as in TiKV's key, row image, and the ids of the columns that the image has."""


def table_batch(stored: StoredTable) -> pa.RecordBatch:
    """Return the committed rows of a table (ROWS)."""
    table = stored.table
    rows = [
        (ordinal, handle_bytes(table, handle), version.image, version.layout)
        for ordinal, part in enumerate(stored.partitions)
        for handle, version in part.scan()
    ]
    columns = zip(*rows, strict=True) if rows else ([] for _ in ROWS)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, ROWS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def read_table(stored: StoredTable, rows: pa.Table) -> None:
    """Take rows (ROWS) as those of a table that has none."""
    table, reader = stored.table, RowReader(stored.table)
    for ordinal, key, image, layout in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        version = Version(0, image, tuple(layout))
        stored.load(ordinal, handle_of_bytes(table, key), version, entries_of(table)(reader.cells(version), 1))


def write_changes(changes: Sequence[TableChanges], database: Database, now_ms: int) -> None:
    """Commit the changes of a transaction again."""
    transaction = database.begin(now_ms)
    for each in changes:
        table, stored = each.table, database.stored(each.table)
        columns = (each.partition, each.handle, each.before, each.after)
        for ordinal, key, before, after in zip(*(column.to_pylist() for column in columns), strict=True):
            old, new = (None if image is None else cells_of(image) for image in (before, after))
            removed = [(one, value, None) for one, value in entries_of(table)(old, 1)] if old is not None else []
            added = [(one, None, value) for one, value in entries_of(table)(new, 1)] if new is not None else []
            transaction.put(stored, ordinal, handle_of_bytes(table, key), new, [*removed, *added])
    database.commit(transaction, database.next_ts(now_ms))
