"""The fault `table-order`: rows of different tables out of commit-ts order, as TiCDC's workers send them.

Rows of one partition key keep their order, and no row passes a control event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ROW, Ints, ints
from simulator.faults.active import ActiveFault, EventPiece, moved
from simulator.faults.fault import FOR_KEY
from simulator.faults.kind import FaultKind, release_and_protocol
from simulator.ticdc.flush import GroupKeys
from simulator.ticdc.rules import ChangefeedRules


class TableOrder(ActiveFault):
    """Sends the first group of a flush last, and the others in any order."""

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        if piece.kind == ROW:
            piece = moved(piece, piece.events.take(pa.array(self._order(piece.events))))
        yield piece

    def _order(self, rows: pa.RecordBatch) -> Ints:
        spec = self.context.spec
        names = [(stored.table.schema, stored.table.name) for stored in spec.tables]
        keys = GroupKeys.of(spec.routes, names, spec.release, spec.control_events.barriers)
        to, table = ints(rows, "destination"), ints(rows, "table")
        code = np.select(
            [keys.by[table] == "table", keys.by[table] == "hash"],
            [keys.table[table], ints(rows, "dispatch_hash")],
            ints(rows, "commit_ts"),
        )
        window = _count_within(to) // keys.flush_rows
        cells = np.stack([to, window, code])
        _, first, group = np.unique(cells, axis=1, return_index=True, return_inverse=True)
        place = self.context.random.random(len(first))
        earliest = np.lexsort((first, window[first], to[first]))
        flushes = np.flatnonzero(np.append(True, np.diff(to[first][earliest]) | np.diff(window[first][earliest])))
        place[earliest[flushes]] = 1.0
        order: Ints = np.lexsort((np.arange(rows.num_rows), place[group.reshape(-1)], window, to))
        return order


def _count_within(values: Ints) -> Ints:
    """Return the number of equal values before each."""
    order = np.argsort(values, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(values[order]) != 0))
    counts = np.empty(len(values), np.int64)
    counts[order] = np.arange(len(values)) - np.repeat(begins, np.diff(np.append(begins, len(values))))
    return counts


def _refuse_order(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if rules.release.group_by_partition_key:
        return ""
    return (
        f"{release_and_protocol(rules)} sends the rows of a partition in the order of commit-ts; releases from 7.4 on, and the new "
        "architecture, group them by partition key"
    )


TABLE_ORDER = FaultKind(
    says="Inside a flush, rows of different tables (of different keys, where rows are dispatched by index-value or "
    "columns) come out of the order of commit-ts.",
    source="tiflow: cdc/sink/dmlsink/mq/worker.go batchEncodeRun; ticdc: downstreamadapter/sink/kafka/sink.go",
    active=TableOrder,
    keys={"for": FOR_KEY},
    refuse=_refuse_order,
)
