"""What a statement on rows leaves behind: the rows of its tables, what foreign keys make of them, its writes.

One law: a statement that fails has done nothing, and the transaction around it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.tidb.sql_engine.changes.foreign_keys import enforced
from simulator.tidb.sql_engine.sessions.transactions import opened, written
from simulator.tidb.sql_engine.storage.names import MOST_WARNINGS
from simulator.tidb.sql_engine.storage.outcome import Outcome
from simulator.tidb.sql_engine.storage.rows import put, writes_of
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.sql_engine.storage.table_writes import Written


def finished(
    upstream: Upstream,
    tables: Sequence[Written],
    now_ms: int,
    last_insert_id: int | None = None,
    warnings: Sequence[str] = (),
) -> Outcome:
    """The outcome of a statement that wrote to these tables, in its transaction; `warnings`: those of its expressions.

    Raises SqlError 1451 and 1452.
    """
    upstream = opened(upstream)
    for each in tables:
        upstream = put(upstream, replace(each.stored, counters=each.counters))
    changes = [change for each in tables for change in each.changes]
    upstream, changes = enforced(upstream, changes, now_ms)
    writes = [writes_of(change.table, change.gone, change.fresh) for change in changes]
    upstream = written(upstream, writes)
    if last_insert_id is not None and any(each.added for each in tables):
        upstream = replace(upstream, session=replace(upstream.session, last_insert_id=last_insert_id))
    affected = sum(each.affected for each in tables)
    told = [*warnings, *(text for each in tables for text in each.warned.texts)]
    return Outcome(upstream, affected=affected, warnings=tuple(told[:MOST_WARNINGS]))
