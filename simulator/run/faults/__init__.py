"""Faults: what goes wrong between TiCDC and a consumer, on purpose; each legal one is what TiCDC itself does.

A new one is a class derived from `Acting`, and a line here.
"""

from __future__ import annotations

from simulator.run.faults import broadcast, late, order, restart
from simulator.run.faults.kind import FaultKind

FAULTS: dict[str, FaultKind] = {
    "restart": restart.RESTART,
    "partial-broadcast": broadcast.PARTIAL_BROADCAST,
    "repeat-watermark": broadcast.REPEAT_WATERMARK,
    "checkpoint-lag": broadcast.CHECKPOINT_LAG,
    "late-partition": late.LATE_PARTITION,
    "table-order": order.TABLE_ORDER,
    "move-table": order.MOVE_TABLE,
}
"""By the name that a step of a scenario, `TiCDC.fault` and the shell have for it."""
