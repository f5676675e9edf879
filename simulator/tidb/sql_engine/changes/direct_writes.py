"""Rows that are written without the text of a statement: what INSERT, UPDATE and DELETE do behind their expressions.

One law: all that TiDB checks is checked; what a table refuses raises the same SqlError.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Places
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.changes.assign import ColumnInput, assign_values
from simulator.tidb.sql_engine.changes.checks import check_rows
from simulator.tidb.sql_engine.changes.duplicates import insert_or_fail
from simulator.tidb.sql_engine.changes.finish import finish_statement
from simulator.tidb.sql_engine.changes.insert import rekey_rows
from simulator.tidb.sql_engine.changes.update_rows import update_stored_rows
from simulator.tidb.sql_engine.storage.outcome import StatementOutcome
from simulator.tidb.sql_engine.storage.rows import key_rows, table_rows, take_stored
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.sql_engine.storage.table_writes import NO_PLACES, PartialWriteError, start_writes


def insert_rows(
    table: Table, given: Mapping[str, ColumnInput], rows: int, upstream: Upstream, now_ms: int
) -> StatementOutcome:
    """New rows, in their order. Raises SqlError."""
    made = assign_values(table, given, rows, upstream, now_ms)
    if made.error is not None:
        raise made.error
    new_rows = key_rows(table, made.texts, None if table.clustered else pa.array(np.zeros(rows, np.int64)))
    new_rows = check_rows(new_rows, table, upstream, now_ms)
    try:
        written = insert_or_fail(start_writes(upstream, table, now_ms, made.counters), new_rows)
    except PartialWriteError as failure:
        raise failure.error from None
    return finish_statement(upstream, (written,), now_ms, made.last_insert_id)


def update_rows(
    table: Table, places: Places, given: Mapping[str, ColumnInput], upstream: Upstream, now_ms: int
) -> StatementOutcome:
    """Other values in the rows at some places, each once; one that is as it was is not written. Raises SqlError."""
    stored = table_rows(upstream, table)
    old = take_stored(stored, places)
    made = assign_values(table, given, len(places), upstream, now_ms, existing=old.texts)
    new = check_rows(rekey_rows(table, old, made.texts), table, upstream, now_ms)
    try:
        written = update_stored_rows(start_writes(upstream, table, now_ms, made.counters), places, new, False)
    except PartialWriteError as failure:
        raise failure.error from None
    return finish_statement(upstream, (written,), now_ms)


def delete_rows(table: Table, places: Places, upstream: Upstream, now_ms: int) -> StatementOutcome:
    """The rows at some places go. Raises SqlError."""
    stored = table_rows(upstream, table)
    start = start_writes(upstream, table, now_ms)
    return finish_statement(
        upstream, (start.with_change(places, take_stored(stored, NO_PLACES), 0, len(places)),), now_ms
    )
