"""What a changefeed leaves out: tables (`table_filter`, `replication`), statements and row changes (`events`, `rows`).

One law: tables are asked for by name, once each; only `rows` and its expressions know of values.
"""

from __future__ import annotations

from simulator.ticdc.filters.replication import Replication, is_system, replication
from simulator.ticdc.filters.table import Rule, TableFilter, table_filter

__all__ = [
    "Replication", "Rule", "TableFilter", "is_system", "replication", "table_filter",
]
