"""The net changes of a transaction, as a changefeed sees them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa

from simulator.releases import Release
from simulator.tidb.engine.sessions.outcome import CommittedTransaction, TableChanges
from simulator.tidb.model.table import Table
from simulator.tidb.storage.row_keys import handle_writer, row_id
from simulator.tidb.storage.tables import RowReader, StoredTable, image_of, layout_of, sent_images
from simulator.tidb.storage.transactions import Change, Transaction

BINARY, INT32, INT64 = pa.binary(), pa.int32(), pa.int64()


def committed_transaction(transaction: Transaction, release: Release) -> CommittedTransaction | None:
    """Return a transaction as its commit shows it; None without changes.

    A row that was inserted and deleted has no change, or in releases with empty changes one without images, if the
    transaction is pessimistic (tidb v5.1 store/tikv/2pc.go initKeysAndMutations). A row that was written without a change
    has equal images, because its key is in the transaction's buffer and TiKV writes it. Rows of temporary tables never
    reach TiKV.
    """
    if not transaction.has_writes:
        return None
    keeps_empty = bool(release.empty_changes or release.empty_deletes != "none") and transaction.explicit
    changes = [
        change
        for change in transaction.changes()
        if not change.stored.table.temporary and (keeps_empty or change.before is not None or change.after is not None)
    ]
    if not changes:
        return None
    tables = groupby(changes, lambda change: change.stored)
    return CommittedTransaction(tuple(table_changes(stored, [*each], release) for stored, each in tables))


def table_changes(stored: StoredTable, changes: Sequence[Change], release: Release) -> TableChanges:
    """Return changes of a table as a changefeed sees them."""
    table = stored.table
    layout, reader, write = layout_of(table), RowReader(table), handle_writer(table)
    before = [
        None if row is None else row.image if row.layout == layout else image_of(reader.cells(row))
        for row in (change.before for change in changes)
    ]
    after, gone = [change.after for change in changes], [change.gone for change in changes]
    if (sent := sent_images(table)) is not None:
        before, after, gone = ([*map(sent, images)] for images in (before, after, gone))
    lacking = [_lacking(table, change) for change in changes] if release.older_rows_differ else []
    return TableChanges(
        table,
        _numbers([change.ordinal for change in changes], INT32),
        _cells([write(change.handle) for change in changes]),
        _numbers([row_id(change.handle) for change in changes], INT64),
        _cells(before),
        _cells(after),
        _cells(lacking) if any(lacking) else None,
        _cells(gone) if any(gone) else None,
    )


def _cells(cells: Sequence[bytes | None]) -> pa.Array:
    """Return an array of bytes. That of one row, which most transactions have, is made without a search for its type."""
    if len(cells) != 1:
        return pa.array(cells, BINARY)
    (cell,) = cells
    if cell is None:
        return pa.nulls(1, BINARY)
    ends = pa.py_buffer(b"\0\0\0\0" + len(cell).to_bytes(4, "little"))
    return pa.Array.from_buffers(BINARY, 1, [None, ends, pa.py_buffer(cell)])


def _numbers(numbers: Sequence[int | None], type: pa.DataType) -> pa.Array:
    """Return an array of integers."""
    if len(numbers) != 1 or numbers[0] is None:
        return pa.array(numbers, type)
    content = numbers[0].to_bytes(type.bit_width // 8, "little", signed=True)
    return pa.Array.from_buffers(type, 1, [None, pa.py_buffer(content)])


def _lacking(table: Table, change: Change) -> bytes | None:
    """Return the ids of the columns that were added after the row before was written."""
    if change.before is None:
        return None
    ids = sorted(set(layout_of(table)).difference(change.before.layout))
    return ",".join(map(str, ids)).encode() or None
