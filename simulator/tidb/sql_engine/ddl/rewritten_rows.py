"""The row changes that a changefeed sees of MODIFY COLUMN.

TiDB writes each row again with a hidden column beside the old one, which TiCDC does not know before the job is done: to
it the row is as it was (tidb v6.5 pkg/ddl/column.go, updateColumnWorker; tiflow issues 2434 and 8686).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simulator.tidb.ddl.columns.type_changes import needs_reorganization
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.storage.rows import ensure_keys, row_writes, take_stored
from simulator.tidb.sql_engine.storage.state import CommittedTransaction, StoredRows

BATCH = 256
"""Rows of a transaction: tidb_ddl_reorg_batch_size."""


def rewriting_transactions(stored: StoredRows, after: Table) -> Iterator[CommittedTransaction]:
    """Yield the transactions that write the rows of a table again, once for each column of another type."""
    before = stored.table
    types = {column.id: column.type for column in before.columns}
    rewritten = sum(
        column.id in types and needs_reorganization(types[column.id], column.type) for column in after.columns
    )
    if not rewritten or not len(stored.row_ids):
        return
    keyed, size = ensure_keys(stored), len(stored.row_ids)
    for _ in range(rewritten):
        for start in range(0, size, BATCH):
            rows = take_stored(keyed, np.arange(start, min(start + BATCH, size)))
            yield CommittedTransaction((replace(row_writes(before, rows, rows), are_rewritten=True),))
