"""Transactions: BEGIN, COMMIT, ROLLBACK, savepoints, and the net changes of a transaction.

A transaction has one change for each key of TiKV that it wrote: from the value before the transaction to the value
after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import fixed
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.storage.state import (
    CommittedTransaction,
    OpenTransaction,
    StatementOutcome,
    StoredRows,
    TableChanges,
    Upstream,
)


def open_transaction(upstream: Upstream, explicit: bool = False) -> Upstream:
    """Return the upstream with an open transaction; a new one unless one is open."""
    if upstream.transaction is not None:
        return upstream
    return replace(upstream, transaction=OpenTransaction(upstream.rows, explicit=explicit))


def begin(upstream: Upstream) -> tuple[Upstream, CommittedTransaction | None]:
    """Return the upstream in a new transaction, and the changes of the open one, which BEGIN commits."""
    upstream, committed = commit(upstream)
    return open_transaction(upstream, explicit=True), committed


def add_writes(upstream: Upstream, writes: Sequence[TableChanges]) -> Upstream:
    """Return the upstream with a statement's writes in its open transaction."""
    transaction = upstream.transaction
    assert transaction is not None, "a statement opens one"
    written = tuple(each for each in writes if len(each.handle))
    return replace(upstream, transaction=replace(transaction, writes=(*transaction.writes, *written)))


def commit(upstream: Upstream) -> tuple[Upstream, CommittedTransaction | None]:
    """Return the upstream without an open transaction, and the transaction if it has changes.

    The rows and ids of global temporary tables live in the session's memory until then, and TiKV never has them (tidb
    v8.5 pkg/session/session.go, doCommit; pkg/sessionctx/variable/session.go, TxnCtx.TemporaryTables).
    """
    if upstream.transaction is None:
        return upstream, None
    writes = [each for each in upstream.transaction.writes if not each.table.temporary]
    release = upstream.release
    deletes = bool(release.empty_changes or release.empty_deletes != "none") and _is_pessimistic(upstream)
    changes, rows = net_changes(writes, deletes), upstream.rows
    if len(writes) < len(upstream.transaction.writes):
        rows = {place: stored for place, stored in rows.items() if not stored.table.temporary}
    return replace(upstream, rows=rows, transaction=None), CommittedTransaction(changes) if changes else None


def autocommit(outcome: StatementOutcome) -> StatementOutcome:
    """Commit the transaction of a statement outside of BEGIN, if autocommit is on."""
    transaction = outcome.upstream.transaction
    if transaction is None or transaction.explicit or not outcome.upstream.session.autocommit:
        return outcome
    upstream, committed = commit(outcome.upstream)
    return replace(outcome, upstream=upstream, events=(*outcome.events, *([committed] if committed else [])))


def rollback(upstream: Upstream) -> Upstream:
    """Return the upstream as before the transaction. Ids that were assigned stay used."""
    transaction = upstream.transaction
    if transaction is None:
        return upstream
    return replace(upstream, rows=_with_current_counters(transaction.rows, upstream.rows), transaction=None)


def savepoint(upstream: Upstream, name: str) -> Upstream:
    """Return the upstream with a savepoint, which replaces one of the same name.

    There are no savepoints outside of a transaction (tidb pkg/executor/simple.go, executeSavepoint).
    """
    if upstream.transaction is None and upstream.session.autocommit:
        return upstream
    upstream = open_transaction(upstream)
    transaction = upstream.transaction
    assert transaction is not None
    others = tuple(point for point in transaction.savepoints if point[0] != name.lower())
    point = (name.lower(), upstream.rows, len(transaction.writes))
    return replace(upstream, transaction=replace(transaction, savepoints=(*others, point)))


def rollback_to(upstream: Upstream, name: str) -> Upstream:
    """Return the upstream as at a savepoint, which stays; later ones are released. Raises SqlError 1305."""
    transaction, place = _find_savepoint(upstream, name)
    _, rows, writes = transaction.savepoints[place]
    remaining = replace(transaction, writes=transaction.writes[:writes], savepoints=transaction.savepoints[: place + 1])
    return replace(upstream, rows=_with_current_counters(rows, upstream.rows), transaction=remaining)


def release_savepoint(upstream: Upstream, name: str) -> Upstream:
    """Return the upstream without a savepoint and those after it. Raises SqlError 1305."""
    transaction, place = _find_savepoint(upstream, name)
    return replace(upstream, transaction=replace(transaction, savepoints=transaction.savepoints[:place]))


def _find_savepoint(upstream: Upstream, name: str) -> tuple[OpenTransaction, int]:
    transaction = upstream.transaction
    names = [point[0] for point in transaction.savepoints] if transaction else []
    if transaction is None or name.lower() not in names:
        raise sql_error(1305, "SAVEPOINT", name)
    return transaction, names.index(name.lower())


def _with_current_counters(then: Mapping[Key, StoredRows], now: Mapping[Key, StoredRows]) -> dict[Key, StoredRows]:
    """Return earlier rows with the current id counters."""
    rows = dict(then)
    for place, stored in now.items():
        old = then.get(place)
        if old is stored:
            continue
        if old is None:
            old = StoredRows(stored.table, stored.cells.slice(0, 0), stored.row_ids.slice(0, 0), stored.counters)
        rows[place] = old if old.counters == stored.counters else old.with_counters(stored.counters)
    return rows


# -- what a changefeed sees --------------------------------------------------------------------------------------------


def _is_pessimistic(upstream: Upstream) -> bool:
    """Return whether a transaction deletes keys that it has inserted (tidb v5.1 store/tikv/2pc.go initKeysAndMutations);
    that of a single statement is optimistic."""
    assert upstream.transaction is not None
    return upstream.transaction.explicit or not upstream.session.autocommit


def net_changes(writes: Sequence[TableChanges], deletes: bool = False) -> tuple[TableChanges, ...]:
    """Return the net change of each key, by tables in the order of their first writes, then by partition and key.

    A row that was inserted and deleted has no change, or with `deletes` one without images. A row that was written
    without a change has equal images, because its key is in the transaction's buffer and TiKV writes it.
    """
    tables: dict[Key, list[TableChanges]] = {}
    for each in writes:
        tables.setdefault(object_key(each.table.schema, each.table.name), []).append(each)
    return tuple(changes for parts in tables.values() for changes in _net_table_changes(parts, deletes))


def _net_table_changes(parts: Sequence[TableChanges], deletes: bool) -> Iterator[TableChanges]:
    partition, handle, row_id, before, after = (
        pa.concat_arrays([getattr(part, name) for part in parts]) if len(parts) > 1 else getattr(parts[0], name)
        for name in ("partition", "handle", "row_id", "before", "after")
    )
    table, lacking = parts[-1].table, _lacking_of(parts)
    if len(handle) == 1:
        if deletes or not before.null_count or not after.null_count:
            yield TableChanges(table, partition, handle, row_id, before, after, lacking)
        return
    keys = handle
    if table.partitioning is not None:
        keys = pc.binary_join_element_wise(fixed(partition.to_numpy().astype(">u4"), partition), handle, b"")
    encoded = pc.dictionary_encode(keys)
    codes, rows = encoded.indices.to_numpy(), len(keys)
    firsts, lasts = (np.empty(len(encoded.dictionary), np.int64) for _ in range(2))
    lasts[codes] = np.arange(rows)
    firsts[codes[::-1]] = np.arange(rows)[::-1]
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    first, last = pa.array(firsts[order]), pa.array(lasts[order])
    first_images, last_images = before.take(first), after.take(last)
    exists = pc.or_(deletes, pc.invert(pc.and_(first_images.is_null(), last_images.is_null())))
    if pc.any(exists, min_count=0).as_py():
        columns = (partition.take(last), handle.take(last), row_id.take(last), first_images, last_images)
        changes = TableChanges(table, *(array.filter(exists) for array in columns))
        if lacking is not None:
            changes = replace(changes, lacking=lacking.take(first).filter(exists))
        is_gone = pc.and_(changes.before.is_null(), changes.after.is_null())
        last_before = before.take(last).filter(exists)
        gone = pc.if_else(is_gone, last_before, pa.scalar(None, pa.binary())) if deletes else None
        yield replace(changes, gone=gone)


def _lacking_of(parts: Sequence[TableChanges]) -> pa.Array | None:
    if all(part.lacking is None for part in parts):
        return None
    nulls = (pa.nulls(len(part.handle), pa.binary()) for part in parts)
    return pa.concat_arrays(
        [none if part.lacking is None else part.lacking for part, none in zip(parts, nulls, strict=True)]
    )
