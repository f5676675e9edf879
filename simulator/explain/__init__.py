"""What the simulator makes of a row, and why: for people first."""

from __future__ import annotations

from simulator.explain.change import RowChange, read_row
from simulator.explain.render import as_dict, lines
from simulator.explain.row import ColumnExplained, RowExplained, explain_row

__all__ = [
    "ColumnExplained", "RowChange", "RowExplained", "as_dict", "explain_row", "lines", "read_row",
]
