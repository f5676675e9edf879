"""DELETE: the rows that a statement is about go, each once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Places
from simulator.tidb.sql_engine.changes.finish import finished
from simulator.tidb.sql_engine.changes.update import derived_tables, named_tables, named_target, places_in, with_rows
from simulator.tidb.sql_engine.errors import refused
from simulator.tidb.sql_engine.queries.expression_problems import Problems
from simulator.tidb.sql_engine.queries.queries import matching
from simulator.tidb.sql_engine.storage.names import partition_set, valid, where
from simulator.tidb.sql_engine.storage.outcome import Outcome
from simulator.tidb.sql_engine.storage.row_keys import ordinals_of
from simulator.tidb.sql_engine.storage.rows import rows_of, taken
from simulator.tidb.sql_engine.storage.state import StoredRows, Upstream
from simulator.tidb.sql_engine.storage.table_writes import NONE, nothing_written
from simulator.tidb.syntax.dml import Delete


def delete(statement: Delete, upstream: Upstream, now_ms: int) -> Outcome:
    """What DELETE comes to, in the open transaction or in a new one. Raises SqlError."""
    tables = list(named_tables(statement.source, upstream, "delete"))
    derived = dict(derived_tables(statement.source))
    for name in statement.targets:
        if not name.schema and name.name.lower() in derived:
            raise refused(1288, name.name, "DELETE")
    chosen = [named_target(name, tables) for name in statement.targets] or tables[:1]
    upstream = with_rows(upstream, tables)
    partitions = partition_set(chosen[0].table, statement.partitions) if statement.partitions else None
    if partitions is not None and statement.limit is not None:
        raise refused(1105, "DELETE FROM … PARTITION with LIMIT is not simulated; it is accepted without LIMIT")
    problems = Problems(upstream.session, writing=True, ignore=statement.ignore)
    found = matching(
        statement.source,
        statement.where,
        statement.order,
        statement.limit,
        upstream,
        now_ms,
        {},
        {},
        statement.common,
        problems,
    )
    written = []
    for table in dict.fromkeys(named.table for named in chosen):
        stored = rows_of(upstream, table)
        parts = [places_in(found, named) for named in chosen if named.table is table]
        places = np.unique(np.concatenate([np.asarray(part.take(where(valid(part))), np.int64) for part in parts]))
        if partitions is not None:
            places = _inside(stored, places, partitions)
        start = nothing_written(upstream, table, now_ms)
        written.append(start.with_change(places, taken(stored, NONE), 0, len(places)))
    return finished(upstream, written, now_ms, warnings=problems.warnings)


def _inside(stored: StoredRows, places: Places, partitions: list[int]) -> Places:
    """The places whose rows are in some partitions."""
    assert stored.keys is not None
    ordinals = ordinals_of(stored.table, stored.keys.handles.take(pa.array(places)))
    return places[np.isin(ordinals.to_numpy(), partitions)]
