"""DELETE."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Places
from simulator.tidb.sql_engine.changes.finish import finish_statement
from simulator.tidb.sql_engine.changes.update import (
    derived_columns,
    matched_places,
    resolve_target,
    source_tables,
    with_sorted_rows,
)
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.expression_problems import ExpressionProblems
from simulator.tidb.sql_engine.queries.match_rows import match_rows
from simulator.tidb.sql_engine.storage.names import mask_places, resolve_partitions, valid_mask
from simulator.tidb.sql_engine.storage.outcome import StatementOutcome
from simulator.tidb.sql_engine.storage.row_keys import partition_ordinals
from simulator.tidb.sql_engine.storage.rows import table_rows, take_stored
from simulator.tidb.sql_engine.storage.state import StoredRows, Upstream
from simulator.tidb.sql_engine.storage.table_writes import NO_PLACES, start_writes
from simulator.tidb.syntax.dml import Delete


def delete(statement: Delete, upstream: Upstream, now_ms: int) -> StatementOutcome:
    """Execute DELETE in the open transaction or in a new one. Each matched row is deleted once. Raises SqlError."""
    tables = list(source_tables(statement.source, upstream, "delete"))
    derived = dict(derived_columns(statement.source))
    for name in statement.targets:
        if not name.schema and name.name.lower() in derived:
            raise sql_error(1288, name.name, "DELETE")
    chosen = [resolve_target(name, tables) for name in statement.targets] or tables[:1]
    upstream = with_sorted_rows(upstream, tables)
    partitions = resolve_partitions(chosen[0].table, statement.partitions) if statement.partitions else None
    if partitions is not None and statement.limit is not None:
        raise sql_error(1105, "DELETE FROM … PARTITION with LIMIT is not simulated; it is accepted without LIMIT")
    problems = ExpressionProblems(upstream.session, writing=True, ignore=statement.ignore)
    matches = match_rows(
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
        stored = table_rows(upstream, table)
        parts = [matched_places(matches, named) for named in chosen if named.table is table]
        places = np.unique(
            np.concatenate([np.asarray(part.take(mask_places(valid_mask(part))), np.int64) for part in parts])
        )
        if partitions is not None:
            places = _in_partitions(stored, places, partitions)
        start = start_writes(upstream, table, now_ms)
        written.append(start.with_change(places, take_stored(stored, NO_PLACES), 0, len(places)))
    return finish_statement(upstream, written, now_ms, warnings=problems.warnings)


def _in_partitions(stored: StoredRows, places: Places, partitions: list[int]) -> Places:
    """Return the positions whose rows are in some partitions."""
    assert stored.keys is not None
    ordinals = partition_ordinals(stored.table, stored.keys.handles.take(pa.array(places)))
    return places[np.isin(ordinals.to_numpy(), partitions)]
