"""Faults: what goes wrong between TiCDC and a consumer, on purpose; each legal one is what TiCDC itself does.

A new one is a class derived from `Acting`, and a line here.
"""

from __future__ import annotations

from simulator.run.faults import restart
from simulator.run.faults.kind import FaultKind

FAULTS: dict[str, FaultKind] = {
    "restart": restart.RESTART,
}
"""By the name that a step of a scenario, `TiCDC.fault` and the shell have for it."""
