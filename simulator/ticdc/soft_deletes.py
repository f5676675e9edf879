"""What TiCDC makes of changes of tables with SOFTDELETE, whose rows TiDB only marks as deleted.

A DELETE is none: it removes what was marked long ago. Unless the changefeed has `enable-active-active`, an UPDATE that
marks a row is sent as its DELETE; one that takes the mark away, and an INSERT over a marked row, stay UPDATEs of a row
that a consumer has deleted. Event filters and splits of UPDATEs come before (ticdc v26.3.1 to v26.3.4:
pkg/common/event/active_active.go FilterDMLEvent, downstreamadapter/dispatcher/basic_dispatcher.go AddDMLEventsToSink).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import DELETE, UPDATE, by_table, ints, picked_values
from simulator.tidb.model.table import Table, mark_place, visible_columns


def apply_soft_deletes(changes: pa.RecordBatch, tables: Sequence[Table], active_active: bool) -> pa.RecordBatch:
    """Return the row changes, with `op`, that are sent. `tables` are those that the column `table` counts.

    A row that becomes a DELETE keeps its rank in the transaction.
    """
    table, ops = ints(changes, "table"), ints(changes, "op").copy()
    sent, ended = np.ones(len(table), np.bool_), np.zeros(len(table), np.bool_)
    for number, at in by_table(table):
        place = mark_place(tables[number])
        if place is None:
            continue
        sent[at] = ops[at] != DELETE
        updates = at[ops[at] == UPDATE]
        if not active_active and len(updates):
            width = len(visible_columns(tables[number]))
            old, new = (
                row_image.cell(picked_values(changes.column(side), updates), width, place)
                for side in ("before", "after")
            )
            ended[updates] = np.asarray(pc.and_(pc.is_null(old), pc.is_valid(new)))
    if ended.any():
        ops[ended] = DELETE
        for name, column in (
            ("after", pc.if_else(pa.array(ended), pa.scalar(None, pa.binary()), changes.column("after"))),
            ("op", pa.array(ops, changes.schema.field("op").type)),
        ):
            changes = changes.set_column(changes.schema.get_field_index(name), changes.schema.field(name), column)
    return changes if sent.all() else changes.filter(pa.array(sent))
