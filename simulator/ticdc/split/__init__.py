"""Which UPDATEs TiCDC sends as DELETE and INSERT, and in which order the rows of a transaction go.

One law: what a release does is one `SplitRule`; batches of a diff and whole transactions follow it alike.
"""

from __future__ import annotations

from simulator.ticdc.split.halves import beside, halves, ranked
from simulator.ticdc.split.rule import SplitRule, changed, deciding, keys_changed, rank, split_rule, splits, stages
from simulator.ticdc.split.transaction import RowEvent, net, sent

__all__ = [
    "RowEvent", "SplitRule", "beside", "changed", "deciding", "halves", "keys_changed", "net", "rank", "ranked", "sent",
    "split_rule", "splits", "stages",
]
