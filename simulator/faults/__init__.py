"""Faults injected on purpose between TiCDC and a consumer. Legal ones are those that TiCDC itself causes.

A new fault is a subclass of `ActiveFault` and an entry in FAULTS.
"""

from __future__ import annotations

from simulator.faults import (
    broadcast,
    broken_delivery,
    damaged_messages,
    late_partition,
    lost_bootstraps,
    message_shapes,
    planned,
    restarts,
    stored_files,
    table_order,
)
from simulator.faults.kind import FaultKind

FAULTS: dict[str, FaultKind] = {
    "restart": restarts.RESTART,
    "partial-broadcast": broadcast.PARTIAL_BROADCAST,
    "repeat-watermark": broadcast.REPEAT_WATERMARK,
    "checkpoint-lag": broadcast.CHECKPOINT_LAG,
    "late-partition": late_partition.LATE_PARTITION,
    "table-order": table_order.TABLE_ORDER,
    "move-table": restarts.MOVE_TABLE,
    "batch": message_shapes.BATCH,
    "message-size": planned.MESSAGE_SIZE,
    "large-message": message_shapes.LARGE_MESSAGE,
    "add-partitions": planned.ADD_PARTITIONS,
    "lose-row": broken_delivery.LOSE_ROW,
    "lose-bootstrap": lost_bootstraps.LOSE_BOOTSTRAP,
    "row-below-watermark": broken_delivery.ROW_BELOW_WATERMARK,
    "watermark-falls": broken_delivery.WATERMARK_FALLS,
    "wrong-partition": broken_delivery.WRONG_PARTITION,
    "old-row-after-new": broken_delivery.OLD_ROW_AFTER_NEW,
    "corrupt-json": damaged_messages.CORRUPT_JSON,
    "truncated-batch": damaged_messages.TRUNCATED_BATCH,
    "unknown-type": damaged_messages.UNKNOWN_TYPE,
    "unknown-schema": damaged_messages.UNKNOWN_SCHEMA,
    "index-before-data": stored_files.INDEX_BEFORE_DATA,
    "truncated-file": stored_files.TRUNCATED_FILE,
    "truncated-row": damaged_messages.TRUNCATED_ROW,
}
"""The kinds by the name that scenario steps, `TiCDC.fault` and the shell use."""
