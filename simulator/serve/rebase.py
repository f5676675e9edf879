"""Puts a transaction's own writes on newer committed rows.

The keys of its writes are locked, so that no other transaction has changed them since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from simulator.serve.lock_keys import full_handles, table_of, written_rows
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.sql_engine.sessions.transactions import net_changes
from simulator.tidb.sql_engine.storage.rows import empty_rows, ensure_keys, replace_rows
from simulator.tidb.sql_engine.storage.state import StoredRows, TableChanges, Upstream

RowsByTable = Mapping[Key, StoredRows]


def rebase(upstream: Upstream, old: RowsByTable, new: RowsByTable) -> Upstream:
    """Return the upstream of an open transaction, based on `old`, with its rows and savepoints based on `new`."""
    transaction = upstream.transaction
    if old is new or transaction is None:
        return upstream if old is new else replace(upstream, rows=new)
    savepoints = tuple(
        (name, rebased_rows(rows, transaction.writes[:writes], old, new), writes)
        for name, rows, writes in transaction.savepoints
    )
    rows = rebased_rows(upstream.rows, transaction.writes, old, new)
    return replace(upstream, rows=rows, transaction=replace(transaction, rows=new, savepoints=savepoints))


def rebased_rows(rows: RowsByTable, writes: Sequence[TableChanges], old: RowsByTable, new: RowsByTable) -> RowsByTable:
    """Return `new` with the writes that `rows` has on top of `old`."""
    if not writes:
        return new
    result = dict(new)
    for table in {table_of(changes) for changes in writes}:
        before, after = old.get(table), new.get(table)
        if before is after or before is not None and before.has_rows_of(after):
            result[table] = rows[table]
        else:
            result[table] = with_writes(after, [changes for changes in writes if table_of(changes) == table])
    return result


def with_writes(stored: StoredRows | None, writes: Iterable[TableChanges]) -> StoredRows:
    """Return the rows of one table after some writes, of which there is at least one."""
    changes_of_table = list(writes)
    if stored is None:
        stored = empty_rows(changes_of_table[-1].table)
    for changes in net_changes(changes_of_table):
        stored = ensure_keys(stored)
        assert stored.keys is not None
        existing = stored.keys.find_handles(full_handles(changes))
        stored = replace_rows(stored, existing[existing >= 0], written_rows(changes, changes.after))
    return stored
