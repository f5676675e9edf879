"""Topic and partition of an event, as TiCDC's dispatchers choose them.

`route` decides once per table; only the hash of a row depends on its values, and is computed for whole columns.
"""

from __future__ import annotations

from simulator.ticdc.dispatch.dispatchers import DISPATCHERS, ROW_ID, SINGLE_COLUMN, TS, Dispatcher
from simulator.ticdc.dispatch.partitions import (
    Destinations,
    TopicGrowth,
    choose_partitions,
    dispatch_hashes,
    follows_from_handle,
    follows_from_time,
    table_hash,
)
from simulator.ticdc.dispatch.routing import (
    Route,
    Router,
    active_topics,
    compile_rules,
    is_static,
    matching_rule,
    route,
    router,
    sent_table,
    substitute,
    topic_of,
    topic_of_ddl,
    validate,
    verify_routes,
    verify_tables,
)
