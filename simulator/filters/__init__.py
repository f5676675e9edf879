"""TiDB's table-filter language (`table_filter`), and what a changefeed replicates (`replication`).

One law: nothing here knows of rows; tables are asked for by name, once each.
"""

from __future__ import annotations

from simulator.filters.replication import Replication, is_system, replication
from simulator.filters.table import Rule, TableFilter, table_filter

__all__ = [
    "Replication", "Rule", "TableFilter", "is_system", "replication", "table_filter",
]
