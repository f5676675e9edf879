"""Rows that are older than some of their columns: the bytes that TiKV has of them lack these columns.

An INSERT or UPDATE writes all columns.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.ddl.column_sources import columns_lacked
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.storage.keyed_rows import LACKING
from simulator.tidb.sql_engine.storage.state import StoredRows


def lacking_columns(stored: StoredRows, after: Table) -> dict[str, pa.Array]:
    """Return what rows lack once their table has a later definition, as `StoredRows.cells` has it; empty for nothing."""
    kept, added = columns_lacked(stored.table, after)
    is_known = LACKING in stored.cells.column_names
    if not added and not is_known:
        return {}
    rows = len(stored.row_ids)
    before = stored.cells.column(LACKING).combine_chunks() if is_known else pa.nulls(rows, pa.binary())
    encoded = before.dictionary_encode()
    known = [_lacked(each, kept, added) for each in (*encoded.dictionary.to_pylist(), None)]
    lacking = pa.array(known, pa.binary()).take(pc.fill_null(encoded.indices, len(known) - 1))
    return {LACKING: lacking} if lacking.null_count < rows else {}


def _lacked(before: bytes | None, kept: frozenset[int], added: frozenset[int]) -> bytes | None:
    """Return the ids of the columns that a row lacks, given those that it lacked before."""
    ids = {int(each) for each in before.split(b",")} & kept if before else set()
    return ",".join(map(str, sorted(ids | added))).encode() or None
