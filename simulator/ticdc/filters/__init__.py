"""What a changefeed leaves out: tables (`rules`, `replication`), statements and row changes (`event_filters`).

One law: tables are asked for by name, once each; only `row_expressions` knows of values.
"""

from __future__ import annotations

from simulator.ticdc.filters.replication import Replication, is_system, replication
from simulator.ticdc.filters.rules import Rule, TableFilter, table_filter

__all__ = ["Replication", "Rule", "TableFilter", "is_system", "replication", "table_filter"]
