"""Where an event goes: topic and partition, as TiCDC's dispatchers choose them.

One law: everything is decided per table on the driver (`route`); what is left per row is one hash, as Spark columns
(`hash_column`) and as plain functions (`hash_row`).
"""

from __future__ import annotations

from simulator.dispatch.columns import hash_column, partition_column, topic_column
from simulator.dispatch.dispatchers import DISPATCHERS, Dispatcher
from simulator.dispatch.hashing import inertia, value_string
from simulator.dispatch.routing import (
    Route,
    Router,
    active_topics,
    compile_rules,
    matching_rule,
    route,
    router,
    sent_table,
    topic_of,
    topic_of_ddl,
    verify_routes,
    verify_tables,
)
from simulator.dispatch.rows import hash_row, partition_key, partition_of
from simulator.dispatch.topics import is_static, substitute, validate

__all__ = [
    "DISPATCHERS", "Dispatcher", "Route", "Router", "active_topics", "compile_rules", "hash_column", "hash_row",
    "inertia", "is_static", "matching_rule", "partition_column", "partition_key", "partition_of", "route", "router",
    "sent_table", "substitute", "topic_column", "topic_of", "topic_of_ddl", "validate", "value_string", "verify_routes",
    "verify_tables",
]
