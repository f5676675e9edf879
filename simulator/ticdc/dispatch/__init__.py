"""Where an event goes: topic and partition, as TiCDC's dispatchers choose them.

One law: everything is decided per table on the driver (`route`); what is left per row is one hash, over whole columns.
"""

from __future__ import annotations

from simulator.ticdc.dispatch.dispatchers import DISPATCHERS, ROW_ID, SINGLE_COLUMN, TS, Dispatcher
from simulator.ticdc.dispatch.partitions import Destinations, Growth, hashes, known_when_read, partitions
from simulator.ticdc.dispatch.routing import (
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
from simulator.ticdc.dispatch.topics import is_static, substitute, validate

__all__ = [
    "DISPATCHERS",
    "Destinations",
    "Dispatcher",
    "Growth",
    "ROW_ID",
    "Route",
    "Router",
    "SINGLE_COLUMN",
    "TS",
    "active_topics",
    "compile_rules",
    "hashes",
    "is_static",
    "known_when_read",
    "matching_rule",
    "partitions",
    "route",
    "router",
    "sent_table",
    "substitute",
    "topic_of",
    "topic_of_ddl",
    "validate",
    "verify_routes",
    "verify_tables",
]
