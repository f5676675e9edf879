"""Rows that are written without the text of a statement: what INSERT, UPDATE and DELETE do behind their expressions.

One law: all that TiDB checks is checked; what a table refuses raises the same SqlError.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Places
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.changes.assign import Value, assigned
from simulator.tidb.sql_engine.changes.checks import checked
from simulator.tidb.sql_engine.changes.duplicates import inserted
from simulator.tidb.sql_engine.changes.finish import finished
from simulator.tidb.sql_engine.changes.insert import rekeyed
from simulator.tidb.sql_engine.changes.update_rows import updated
from simulator.tidb.sql_engine.storage.outcome import Outcome
from simulator.tidb.sql_engine.storage.rows import rows_of, taken, with_keys
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.sql_engine.storage.table_writes import NONE, Failed, nothing_written


def insert_rows(table: Table, given: Mapping[str, Value], rows: int, upstream: Upstream, now_ms: int) -> Outcome:
    """New rows, in their order. Raises SqlError."""
    made = assigned(table, given, rows, upstream, now_ms)
    if made.error is not None:
        raise made.error
    fresh = with_keys(table, made.texts, None if table.clustered else pa.array(np.zeros(rows, np.int64)))
    fresh = checked(fresh, table, upstream, now_ms)
    try:
        written = inserted(nothing_written(upstream, table, now_ms, made.counters), fresh)
    except Failed as failure:
        raise failure.error from None
    return finished(upstream, (written,), now_ms, made.last_insert_id)


def update_rows(table: Table, places: Places, given: Mapping[str, Value], upstream: Upstream, now_ms: int) -> Outcome:
    """Other values in the rows at some places, each once; one that is as it was is not written. Raises SqlError."""
    stored = rows_of(upstream, table)
    old = taken(stored, places)
    made = assigned(table, given, len(places), upstream, now_ms, existing=old.texts)
    new = checked(rekeyed(table, old, made.texts), table, upstream, now_ms)
    try:
        written = updated(nothing_written(upstream, table, now_ms, made.counters), places, new, False)
    except Failed as failure:
        raise failure.error from None
    return finished(upstream, (written,), now_ms)


def delete_rows(table: Table, places: Places, upstream: Upstream, now_ms: int) -> Outcome:
    """The rows at some places go. Raises SqlError."""
    stored = rows_of(upstream, table)
    start = nothing_written(upstream, table, now_ms)
    return finished(upstream, (start.with_change(places, taken(stored, NONE), 0, len(places)),), now_ms)
