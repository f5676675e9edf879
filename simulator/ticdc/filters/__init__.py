"""Filters of a changefeed: tables (`table_filter`, `replication`), DDL statements and row changes (`event_filters`).

Tables are matched by name, once each. Only `row_expressions` evaluates values.
"""

from __future__ import annotations

from simulator.ticdc.filters.filter_rules import TableFilter, TableRule, table_filter
from simulator.ticdc.filters.replication import Replication, is_system, replication
