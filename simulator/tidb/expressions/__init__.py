"""MySQL expressions over rows: event filters, generated columns, partitions.

One law: an expression is translated once, from the statement's own tree, and evaluated by DuckDB on whole batches.
"""

from __future__ import annotations

from simulator.tidb.expressions.generated import generated

__all__ = ["generated"]
