"""Inserts, updates and deletes rows without the text of a statement.

All constraints of TiDB are checked. A row that TiDB refuses raises its SqlError.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Places
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.changes.assign import ColumnInput, assign_values
from simulator.tidb.sql_engine.changes.constraints import check_rows, finish_statement
from simulator.tidb.sql_engine.changes.duplicates import insert_or_fail, update_stored_rows
from simulator.tidb.sql_engine.changes.insert import rekey_rows
from simulator.tidb.sql_engine.storage.rows import key_rows, table_rows, take_stored
from simulator.tidb.sql_engine.storage.state import StatementOutcome, Upstream
from simulator.tidb.sql_engine.storage.table_writes import NO_PLACES, PartialWriteError, start_writes


def insert_rows(
    table: Table, inputs: Mapping[str, ColumnInput], rows: int, upstream: Upstream, now_ms: int
) -> StatementOutcome:
    """Insert new rows in their order. Raises SqlError."""
    texts, effects = assign_values(table, inputs, rows, upstream, now_ms)
    if effects.error is not None:
        raise effects.error
    new_rows = key_rows(table, texts, None if table.clustered else pa.array(np.zeros(rows, np.int64)))
    new_rows = check_rows(new_rows, table, upstream, now_ms)
    try:
        written = insert_or_fail(start_writes(upstream, table, now_ms, effects.counters), new_rows)
    except PartialWriteError as failure:
        raise failure.error from None
    return finish_statement(upstream, (written,), now_ms, effects.last_insert_id)


def update_rows(
    table: Table, places: Places, inputs: Mapping[str, ColumnInput], upstream: Upstream, now_ms: int
) -> StatementOutcome:
    """Update the rows at some positions, each once. Unchanged rows are not written. Raises SqlError."""
    stored = table_rows(upstream, table)
    old = take_stored(stored, places)
    texts, effects = assign_values(table, inputs, len(places), upstream, now_ms, existing=old.texts)
    new = check_rows(rekey_rows(table, old, texts), table, upstream, now_ms)
    try:
        written = update_stored_rows(start_writes(upstream, table, now_ms, effects.counters), places, new, False)
    except PartialWriteError as failure:
        raise failure.error from None
    return finish_statement(upstream, (written,), now_ms)


def delete_rows(table: Table, places: Places, upstream: Upstream, now_ms: int) -> StatementOutcome:
    """Delete the rows at some positions. Raises SqlError."""
    stored = table_rows(upstream, table)
    start = start_writes(upstream, table, now_ms)
    return finish_statement(
        upstream, (start.with_change(places, take_stored(stored, NO_PLACES), 0, len(places)),), now_ms
    )
