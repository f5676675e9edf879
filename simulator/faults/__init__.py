"""Faults injected on purpose between TiCDC and a consumer. Legal ones are those that TiCDC itself causes.

A new fault is a subclass of `ActiveFault` and an entry in FAULTS.
"""

from __future__ import annotations

from simulator.faults import arrival_order, broken_delivery, control_events, damaged_messages, kind
from simulator.faults.kind import FaultKind

FAULTS: dict[str, FaultKind] = {
    "restart": control_events.RESTART,
    "partial-broadcast": control_events.PARTIAL_BROADCAST,
    "repeat-watermark": control_events.REPEAT_WATERMARK,
    "checkpoint-lag": control_events.CHECKPOINT_LAG,
    "late-partition": arrival_order.LATE_PARTITION,
    "table-order": arrival_order.TABLE_ORDER,
    "move-table": control_events.MOVE_TABLE,
    "batch": damaged_messages.BATCH,
    "message-size": kind.MESSAGE_SIZE,
    "large-message": damaged_messages.LARGE_MESSAGE,
    "add-partitions": kind.ADD_PARTITIONS,
    "lose-row": broken_delivery.LOSE_ROW,
    "lose-bootstrap": control_events.LOSE_BOOTSTRAP,
    "row-below-watermark": broken_delivery.ROW_BELOW_WATERMARK,
    "watermark-falls": broken_delivery.WATERMARK_FALLS,
    "wrong-partition": broken_delivery.WRONG_PARTITION,
    "old-row-after-new": broken_delivery.OLD_ROW_AFTER_NEW,
    "corrupt-json": damaged_messages.CORRUPT_JSON,
    "truncated-batch": damaged_messages.TRUNCATED_BATCH,
    "unknown-type": damaged_messages.UNKNOWN_TYPE,
    "unknown-schema": damaged_messages.UNKNOWN_SCHEMA,
    "index-before-data": damaged_messages.INDEX_BEFORE_DATA,
    "truncated-file": damaged_messages.TRUNCATED_FILE,
    "truncated-row": damaged_messages.TRUNCATED_ROW,
}
"""The kinds by the name that scenario steps, `TiCDC.fault` and the shell use."""
