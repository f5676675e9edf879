"""Where an event goes: topic and partition, as TiCDC's dispatchers choose them.

One law: everything is decided per table on the driver (`route`); what is left per row is one hash, over whole columns.
"""

from __future__ import annotations

from simulator.dispatch.dispatchers import DISPATCHERS, Dispatcher
from simulator.dispatch.hashing import inertia, value_string
from simulator.dispatch.partitions import Hashes, hashes, known_when_read, partition_key, partitions
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
from simulator.dispatch.topics import is_static, substitute, validate

__all__ = [
    "DISPATCHERS", "Dispatcher", "Hashes", "Route", "Router", "active_topics", "compile_rules", "hashes", "inertia",
    "is_static", "known_when_read", "matching_rule", "partition_key", "partitions", "route", "router", "sent_table",
    "substitute", "topic_of", "topic_of_ddl", "validate", "value_string", "verify_routes", "verify_tables",
]
