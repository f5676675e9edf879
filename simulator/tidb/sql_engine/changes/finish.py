"""The end of a statement that changes rows: foreign keys, writes of the transaction, affected rows.

A statement that fails has no effect, and the transaction around it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.tidb.sql_engine.changes.foreign_keys import enforce_foreign_keys
from simulator.tidb.sql_engine.sessions.transactions import add_writes, open_transaction
from simulator.tidb.sql_engine.storage.names import MAX_WARNINGS
from simulator.tidb.sql_engine.storage.outcome import StatementOutcome
from simulator.tidb.sql_engine.storage.rows import put_rows, row_writes
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.sql_engine.storage.table_writes import TableWrites


def finish_statement(
    upstream: Upstream,
    tables: Sequence[TableWrites],
    now_ms: int,
    last_insert_id: int | None = None,
    warnings: Sequence[str] = (),
) -> StatementOutcome:
    """Return the outcome of a statement that wrote to these tables. `warnings` are those of its expressions.

    Raises SqlError 1451 and 1452.
    """
    upstream = open_transaction(upstream)
    for each in tables:
        upstream = put_rows(upstream, replace(each.stored, counters=each.counters))
    changes = [change for each in tables for change in each.changes]
    upstream, changes = enforce_foreign_keys(upstream, changes, now_ms)
    writes = [row_writes(change.table, change.removed, change.inserted) for change in changes]
    upstream = add_writes(upstream, writes)
    if last_insert_id is not None and any(each.added for each in tables):
        upstream = replace(upstream, session=replace(upstream.session, last_insert_id=last_insert_id))
    affected = sum(each.affected for each in tables)
    all_warnings = [*warnings, *(text for each in tables for text in each.warned.texts)]
    return StatementOutcome(upstream, affected=affected, warnings=tuple(all_warnings[:MAX_WARNINGS]))
