"""Faults: what goes wrong between TiCDC and a consumer, on purpose; each legal one is what TiCDC itself does.

A new one is a class derived from `Acting`, and a line here.
"""

from __future__ import annotations

from simulator.run.faults import broadcast, illegal_messages, illegal_rows, late, messages, order, planned, restart
from simulator.run.faults.kind import FaultKind

FAULTS: dict[str, FaultKind] = {
    "restart": restart.RESTART,
    "partial-broadcast": broadcast.PARTIAL_BROADCAST,
    "repeat-watermark": broadcast.REPEAT_WATERMARK,
    "checkpoint-lag": broadcast.CHECKPOINT_LAG,
    "late-partition": late.LATE_PARTITION,
    "table-order": order.TABLE_ORDER,
    "move-table": order.MOVE_TABLE,
    "batch": messages.BATCH,
    "message-size": planned.MESSAGE_SIZE,
    "large-message": messages.LARGE_MESSAGE,
    "add-partitions": planned.ADD_PARTITIONS,
    "lose-row": illegal_rows.LOSE_ROW,
    "row-below-watermark": illegal_rows.ROW_BELOW_WATERMARK,
    "watermark-falls": illegal_rows.WATERMARK_FALLS,
    "wrong-partition": illegal_rows.WRONG_PARTITION,
    "old-row-after-new": illegal_rows.OLD_ROW_AFTER_NEW,
    "corrupt-json": illegal_messages.CORRUPT_JSON,
    "truncated-batch": illegal_messages.TRUNCATED_BATCH,
    "unknown-type": illegal_messages.UNKNOWN_TYPE,
}
"""By the name that a step of a scenario, `TiCDC.fault` and the shell have for it."""
