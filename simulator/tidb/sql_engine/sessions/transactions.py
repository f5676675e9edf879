"""Transactions: BEGIN, COMMIT, ROLLBACK, savepoints, and what of a transaction a changefeed sees.

One law: a transaction has one change for each key of TiKV that it wrote: from what the key was before to what it is
after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import fixed
from simulator.errors import SqlError
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.sql_engine.storage.outcome import CommittedTransaction, StatementOutcome, TableChanges
from simulator.tidb.sql_engine.storage.state import OpenTransaction, RowWrites, StoredRows, Upstream


def open_transaction(upstream: Upstream, explicit: bool = False) -> Upstream:
    """In a transaction: the open one, else a new one."""
    if upstream.transaction is not None:
        return upstream
    return replace(upstream, transaction=OpenTransaction(upstream.rows, explicit=explicit))


def begin(upstream: Upstream) -> tuple[Upstream, CommittedTransaction | None]:
    """A new transaction, and what the open one, which BEGIN commits, came to."""
    upstream, committed = commit(upstream)
    return open_transaction(upstream, explicit=True), committed


def add_writes(upstream: Upstream, writes: Sequence[RowWrites]) -> Upstream:
    """With the writes of a statement in its transaction, which is open."""
    transaction = upstream.transaction
    assert transaction is not None, "a statement opens one"
    kept = tuple(each for each in writes if len(each.key))
    return replace(upstream, transaction=replace(transaction, writes=(*transaction.writes, *kept)))


def commit(upstream: Upstream) -> tuple[Upstream, CommittedTransaction | None]:
    """Without an open transaction, and its changes if it has any."""
    if upstream.transaction is None:
        return upstream, None
    changes = net_changes(upstream.transaction.writes)
    return replace(upstream, transaction=None), CommittedTransaction(changes) if changes else None


def autocommit(outcome: StatementOutcome) -> StatementOutcome:
    """What a statement on rows comes to behind autocommit: outside of BEGIN it is a transaction of its own."""
    transaction = outcome.upstream.transaction
    if transaction is None or transaction.explicit or not outcome.upstream.session.autocommit:
        return outcome
    upstream, committed = commit(outcome.upstream)
    return replace(outcome, upstream=upstream, events=(*outcome.events, *([committed] if committed else [])))


def rollback(upstream: Upstream) -> Upstream:
    """As it was when the transaction began, but ids that were given are never given again."""
    transaction = upstream.transaction
    if transaction is None:
        return upstream
    return replace(upstream, rows=_with_current_counters(transaction.rows, upstream.rows), transaction=None)


def savepoint(upstream: Upstream, name: str) -> Upstream:
    """With a savepoint, in place of one of the same name; nothing outside of a transaction (tidb pkg/executor/
    simple.go, executeSavepoint)."""
    if upstream.transaction is None and upstream.session.autocommit:
        return upstream
    upstream = open_transaction(upstream)
    transaction = upstream.transaction
    assert transaction is not None
    others = tuple(point for point in transaction.savepoints if point[0] != name.lower())
    point = (name.lower(), upstream.rows, len(transaction.writes))
    return replace(upstream, transaction=replace(transaction, savepoints=(*others, point)))


def rollback_to(upstream: Upstream, name: str) -> Upstream:
    """As it was at a savepoint, which stays, while later ones go. Raises SqlError 1305 for one that is not there."""
    transaction, place = _find_savepoint(upstream, name)
    _, rows, writes = transaction.savepoints[place]
    kept = replace(transaction, writes=transaction.writes[:writes], savepoints=transaction.savepoints[: place + 1])
    return replace(upstream, rows=_with_current_counters(rows, upstream.rows), transaction=kept)


def release_savepoint(upstream: Upstream, name: str) -> Upstream:
    """Without a savepoint and those after it. Raises SqlError 1305 for one that is not there."""
    transaction, place = _find_savepoint(upstream, name)
    return replace(upstream, transaction=replace(transaction, savepoints=transaction.savepoints[:place]))


def _find_savepoint(upstream: Upstream, name: str) -> tuple[OpenTransaction, int]:
    transaction = upstream.transaction
    names = [point[0] for point in transaction.savepoints] if transaction else []
    if transaction is None or name.lower() not in names:
        raise SqlError(1305, "42000", f"SAVEPOINT {name} does not exist")
    return transaction, names.index(name.lower())


def _with_current_counters(then: Mapping[Key, StoredRows], now: Mapping[Key, StoredRows]) -> dict[Key, StoredRows]:
    """The rows of then with the counters of now."""
    found = dict(then)
    for place, stored in now.items():
        old = then.get(place)
        if old is stored:
            continue
        if old is None:
            old = replace(stored, cells=stored.cells.slice(0, 0), row_ids=stored.row_ids.slice(0, 0), keys=None)
        found[place] = old if old.counters == stored.counters else replace(old, counters=stored.counters)
    return found


# -- what a changefeed sees --------------------------------------------------------------------------------------------


def net_changes(writes: Sequence[RowWrites]) -> tuple[TableChanges, ...]:
    """The change of each key, by tables in the order of their first writes, of each by partition and key.

    A row that came and went is none. One that was written and is as it was has equal images: its key is in the
    transaction's buffer, so TiKV has it (shared facts: dispatch_ddl 2.1, correction 17).
    """
    tables: dict[Key, list[RowWrites]] = {}
    for each in writes:
        tables.setdefault(each.place, []).append(each)
    return tuple(found for parts in tables.values() for found in _net_table_changes(parts))


def _net_table_changes(parts: Sequence[RowWrites]) -> Iterator[TableChanges]:
    partition, handle, row_id, before, after = (
        pa.concat_arrays([getattr(part, name) for part in parts]) if len(parts) > 1 else getattr(parts[0], name)
        for name in ("partition", "key", "row_id", "before", "after")
    )
    table = parts[-1].table
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
    was, stays = before.take(first), after.take(last)
    some = pc.invert(pc.and_(was.is_null(), stays.is_null()))
    if pc.any(some, min_count=0).as_py():
        yield TableChanges(
            table,
            *(array.filter(some) for array in (partition.take(last), handle.take(last), row_id.take(last), was, stays)),
        )
