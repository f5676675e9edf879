"""Which other client a statement must wait for.

Two transactions conflict if they lock the same key, or if one removes a parent to which the other adds a child. A
statement whose outcome depends on keys that another transaction has written (`dependence`) waits for it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow.compute as pc

from simulator.serve.clients import Client, ClientTransaction
from simulator.serve.dependence import depends_on, looks_keys_up
from simulator.serve.lock_keys import LockKeys, add_row_keys, add_written_keys, share_a_key, table_of
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.sql_engine.changes.update import source_tables, with_sorted_rows
from simulator.tidb.sql_engine.queries.match_rows import match_rows
from simulator.tidb.sql_engine.storage.rows import table_rows, take_stored
from simulator.tidb.sql_engine.storage.state import (
    CommittedTransaction,
    CompletedDdl,
    FailedStatement,
    StatementOutcome,
    TableChanges,
    Upstream,
)


def locked_keys(transaction: ClientTransaction) -> Iterator[LockKeys]:
    """Yield the keys that a transaction locks."""
    opened = transaction.upstream.transaction
    writes = opened.writes if opened is not None else ()
    transaction.locked_writes = min(transaction.locked_writes, len(writes))
    add_written_keys(transaction.write_locks, writes[transaction.locked_writes :])
    transaction.locked_writes = len(writes)
    yield transaction.write_locks
    yield transaction.selected_for_update


def blocking_client(
    statement: syntax.RowStatement,
    named: set[Key],
    before: Upstream,
    outcome: StatementOutcome | FailedStatement,
    others: Sequence[Client],
    now_ms: int,
) -> Client | None:
    """Return a client whose open transaction a statement on rows of the `named` tables must wait for, or None."""
    writes = list(_new_writes(before, outcome))
    keys: LockKeys = {}
    add_written_keys(keys, writes)
    for other in others:
        if other.transaction is not None and any(share_a_key(keys, held) for held in locked_keys(other.transaction)):
            return other
    looks_up = looks_keys_up(statement, before, outcome)
    for other in others:
        other_writes = list(_open_writes(other))
        if any(_are_related(one, each) for one in writes for each in other_writes):
            return other
        if looks_up and other_writes and depends_on(other_writes, statement, named, before, outcome, now_ms):
            return other
    return None


def ddl_tables(events: Iterable[object]) -> set[Key]:
    """Return the tables that DDL jobs change, create or drop."""
    changed: set[Key] = set()
    for event in events:
        if isinstance(event, CompletedDdl):
            before, after = event.before.tables, event.after.tables
            changed |= {key for key in {*before, *after} if before.get(key) is not after.get(key)}
    return changed


def lock_selected_rows(
    transaction: ClientTransaction,
    statement: syntax.SelectStatement,
    upstream: Upstream,
    others: Sequence[Client],
    now_ms: int,
) -> Client | None:
    """Lock the rows of SELECT … FOR UPDATE, unless another client locks one of them; return that client then."""
    query = statement.query
    assert isinstance(query, syntax.SelectTree)
    if query.source is None:
        return None
    tables = list(source_tables(query.source, upstream, "SELECT"))
    upstream = with_sorted_rows(upstream, tables)
    order = query.order if query.limit is not None else ()
    matched = match_rows(query.source, query.where, order, query.limit, upstream, now_ms, {}, {})
    keys: LockKeys = {}
    for each in matched.tables:
        places = np.asarray(pc.drop_null(each.places), np.int64)
        add_row_keys(keys, each.key, take_stored(table_rows(upstream, each.table), np.unique(places)))
    for other in others:
        if other.transaction is not None and any(share_a_key(keys, held) for held in locked_keys(other.transaction)):
            return other
    for table, locked in keys.items():
        transaction.selected_for_update.setdefault(table, set()).update(locked)
    return None


def _new_writes(before: Upstream, outcome: StatementOutcome | FailedStatement) -> Iterator[TableChanges]:
    """Yield the writes of a statement."""
    for event in outcome.events:
        if isinstance(event, CommittedTransaction):
            yield from event.changes
    opened = outcome.upstream.transaction
    if opened is not None:
        earlier = before.transaction
        yield from opened.writes[len(earlier.writes) if earlier is not None else 0 :]


def _open_writes(client: Client) -> Iterator[TableChanges]:
    opened = client.transaction.upstream.transaction if client.transaction is not None else None
    yield from opened.writes if opened is not None else ()


def _removes(changes: TableChanges) -> bool:
    return bool(changes.before.null_count < len(changes.before))


def _adds(changes: TableChanges) -> bool:
    return bool(changes.after.null_count < len(changes.after))


def _are_related(one: TableChanges, other: TableChanges) -> bool:
    """Return whether one write may remove the parent of a row that the other one adds."""
    return any(
        _refers(child, parent) and _adds(child) and _removes(parent) for child, parent in ((one, other), (other, one))
    )


def _refers(child: TableChanges, parent: TableChanges) -> bool:
    return any(object_key(key.schema, key.table) == table_of(parent) for key in child.table.foreign_keys)
