"""Filters of a changefeed: tables (`table_filter`, `replication`), DDL statements and row changes (`event_filters`).

Tables are matched by name, once each. Only `row_expressions` evaluates values.
"""

from __future__ import annotations

from simulator.ticdc.filters.filter_rules import (
    Replication,
    TableFilter,
    TableRule,
    is_system,
    replication,
    table_filter,
)
