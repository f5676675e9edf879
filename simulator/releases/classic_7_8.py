"""Classic TiCDC 7.0 – 8.5, as deltas; 7.1, 7.5, 8.1 and 8.5 are lines with back-ports of their own.

Verified at every tag of tiflow: pkg/filter, cdc/puller/ddl_puller.go, cdc/owner, cdc/model, cdc/sink/dmlsink/mq,
pkg/sink/codec, go.mod.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.releases import event_names
from simulator.releases.classic_6 import V6_5_2, V6_6_0

V7_0_0 = replace(
    V6_6_0,
    name="v7.0.0",
    float_widened=False,
    allowed_ddl=V6_6_0.allowed_ddl | {64, 65, 67},
    ddl_text_ttl_off=True,
    single_table_ddl=V6_5_2.single_table_ddl,
    canal_alters=V6_6_0.canal_alters | {64},
)

V7_1_0 = replace(V7_0_0, name="v7.1.0", ddl_text_charset=True)

V7_1_1 = replace(V7_1_0, name="v7.1.1", rebuilds_exchange=True)

V7_1_2 = replace(
    V7_1_1,
    name="v7.1.2",
    rename_filter="old-name",
    rename_errors_wrapped=frozenset({"one", "several", "snapshot"}),
    start_ts_discards_ddl=True,
    event_filter_discards=True,
)

V7_1_4 = replace(
    V7_1_2,
    name="v7.1.4",
    default_dispatcher="table",
    topic_rules="any",
    start_ts_discards_ddl=False,
    event_filter_discards=False,
    cdc_schemas=frozenset({"tidb_cdc"}),
)

V7_1_6 = replace(V7_1_4, name="v7.1.6", eligibility="error", rename_errors_wrapped=frozenset({"snapshot"}))

V7_2_0 = replace(V7_1_1, name="v7.2.0")
V7_3_0 = replace(V7_2_0, name="v7.3.0")

V7_4_0 = replace(
    V7_3_0,
    name="v7.4.0",
    allowed_ddl=V7_3_0.allowed_ddl | {71, 72},
    default_dispatcher="table",
    topic_rules="any",
    group_by_partition_key=True,
    rename_filter="old-name",
    rename_errors_wrapped=frozenset({"one", "several", "snapshot"}),
    start_ts_discards_ddl=True,
    event_filter_discards=True,
    canal_alters=V7_3_0.canal_alters | {71, 72},
)

V7_5_0 = replace(
    V7_4_0,
    name="v7.5.0",
    dispatchers=V7_4_0.dispatchers | {"columns"},
    dispatch_by_index=True,
    dispatch_needs_index=True,
)

V7_5_1 = replace(
    V7_5_0,
    name="v7.5.1",
    start_ts_discards_ddl=False,
    event_filter_discards=False,
    cdc_schemas=frozenset({"tidb_cdc"}),
)

V7_5_2 = replace(
    V7_5_1,
    name="v7.5.2",
    dispatch_needs_index=False,
    primary_is_unique=False,
    eligibility="error",
    rename_errors_wrapped=frozenset(),
)

V7_5_7 = replace(
    V7_5_2,
    name="v7.5.7",
    dispatch_ignores_case=True,
    rename_errors_wrapped=frozenset({"several", "snapshot"}),
    start_ts_discards_ddl=True,
)

V7_6_0 = replace(V7_5_0, name="v7.6.0")

V8_0_0 = replace(
    V7_6_0,
    name="v8.0.0",
    dispatch_needs_index=False,
    primary_is_unique=False,
    start_ts_discards_ddl=False,
    cdc_schemas=frozenset({"tidb_cdc"}),
    event_filter_names=event_names.BY_ACTION,
    event_type_from_sql=False,
    event_filter_discards=False,
)

V8_1_0 = replace(
    V8_0_0, name="v8.1.0", eligibility="error", rename_errors_wrapped=frozenset({"several", "snapshot"})
)

V8_2_0 = replace(
    V8_1_0,
    name="v8.2.0",
    allowed_ddl=V8_1_0.allowed_ddl | {60},
    cdc_schemas=frozenset({"tidb_cdc", "lightning_task_info"}),
    create_tables_code=60,
)

V8_3_0 = replace(V8_2_0, name="v8.3.0")

V8_4_0 = replace(V8_3_0, name="v8.4.0", short_control_escapes=True)

V8_5_0 = replace(V8_4_0, name="v8.5.0", encodes_rows=True)

V8_5_3 = replace(V8_5_0, name="v8.5.3", dispatch_ignores_case=True)

V8_5_4 = replace(
    V8_5_3,
    name="v8.5.4",
    dispatch_refuses_virtual=True,
    allowed_ddl=V8_5_3.allowed_ddl | {9, 10},
    start_ts_discards_ddl=True,
    event_filter_names=V8_5_3.event_filter_names | event_names.FOREIGN_KEYS,
)

V8_5_5 = replace(V8_5_4, name="v8.5.5", encodes_rows=False)

LINES = {
    "v7.0": (0, (V7_0_0,)),
    "v7.1": (6, (V7_1_0, V7_1_1, V7_1_2, V7_1_4, V7_1_6)),
    "v7.2": (0, (V7_2_0,)),
    "v7.3": (0, (V7_3_0,)),
    "v7.4": (0, (V7_4_0,)),
    "v7.5": (7, (V7_5_0, V7_5_1, V7_5_2, V7_5_7)),
    "v7.6": (0, (V7_6_0,)),
    "v8.0": (0, (V8_0_0,)),
    "v8.1": (2, (V8_1_0,)),
    "v8.2": (0, (V8_2_0,)),
    "v8.3": (0, (V8_3_0,)),
    "v8.4": (0, (V8_4_0,)),
    "v8.5": (7, (V8_5_0, V8_5_3, V8_5_4, V8_5_5)),
}
"""Last patch of each line, and its releases that changed something."""
