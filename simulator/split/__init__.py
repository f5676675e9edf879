"""Which UPDATEs TiCDC sends as DELETE and INSERT, and in which order the rows of a transaction go.

One law: what a release does is one `SplitRule`; the Spark columns of `rows.py` and the plain functions of
`transaction.py` both follow from it, and say the same.
"""

from __future__ import annotations

from simulator.split.rows import halves, ranked, unique_hash
from simulator.split.rule import SplitRule, changed, deciding, rank, split_rule, splits, stages
from simulator.split.transaction import RowEvent, net, sent

__all__ = [
    "RowEvent", "SplitRule", "changed", "deciding", "halves", "net", "rank", "ranked", "sent", "split_rule", "splits",
    "stages", "unique_hash",
]
