"""Classic TiCDC 6.0 – 6.6, as deltas; 6.5 is a line of its own with back-ports that 6.6 does not have.

Verified at every tag of tiflow: pkg/filter, cdc/puller/ddl_puller.go, cdc/owner, cdc/model/sink.go, canal_entry.go.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.releases import event_names
from simulator.releases.classic_4_5 import V5_4_0

V6_0_0 = replace(V5_4_0, name="v6.0.0", topic_rules="idle", flush_rows=2048, ddl_text_placement=False)

V6_1_0 = replace(
    V6_0_0,
    name="v6.1.0",
    topic_rules="schema",
    eligibility="after",
    rebuilds_drop=True,
    splits_renames=True,
    watermark_after_ddl=True,
)

V6_1_6 = replace(V6_1_0, name="v6.1.6", float_widened=False)

V6_2_0 = replace(
    V6_1_0,
    name="v6.2.0",
    allowed_ddl=V6_1_0.allowed_ddl | {13, 41, 61},
    event_filter_names=event_names.BY_SQL,
    event_type_from_sql=True,
    multi_schema_change=True,
    canal_alters=V6_1_0.canal_alters | {41, 61},
)

V6_3_0 = replace(V6_2_0, name="v6.3.0", allowed_ddl=V6_2_0.allowed_ddl | {42}, rename_filter="new-schema")
V6_4_0 = replace(V6_3_0, name="v6.4.0")
V6_5_0 = replace(V6_4_0, name="v6.5.0")

V6_5_2 = replace(
    V6_5_0,
    name="v6.5.2",
    float_widened=False,
    ddl_text_charset=True,
    single_table_ddl=frozenset(
        {*range(4, 9), 11, 12, 13, 15, *range(17, 26), 32, 33, 41, 61, 64, 65, 67, 71, 72}
    ),
)

V6_5_4 = replace(
    V6_5_2,
    name="v6.5.4",
    rename_filter="old-name",
    rename_errors_wrapped=frozenset({"one", "several", "snapshot"}),
    start_ts_discards_ddl=True,
    event_filter_discards=True,
    rebuilds_exchange=True,
)

V6_5_7 = replace(V6_5_4, name="v6.5.7", topic_rules="any")

V6_5_8 = replace(V6_5_7, name="v6.5.8", start_ts_discards_ddl=False, event_filter_discards=False)

V6_5_9 = replace(V6_5_8, name="v6.5.9", cdc_schemas=frozenset({"tidb_cdc"}))

V6_5_10 = replace(
    V6_5_9, name="v6.5.10", eligibility="error", rename_errors_wrapped=frozenset({"several", "snapshot"})
)

V6_6_0 = replace(V6_5_0, name="v6.6.0")

LINES = {
    "v6.0": (0, (V6_0_0,)),
    "v6.1": (7, (V6_1_0, V6_1_6)),
    "v6.2": (0, (V6_2_0,)),
    "v6.3": (0, (V6_3_0,)),
    "v6.4": (0, (V6_4_0,)),
    "v6.5": (12, (V6_5_0, V6_5_2, V6_5_4, V6_5_7, V6_5_8, V6_5_9, V6_5_10)),
    "v6.6": (0, (V6_6_0,)),
}
"""Last patch of each line, and its releases that changed something."""
