"""Classic TiCDC 5: each release that changed something, as the one above it and its changes.

Verified at every tag of tiflow: pkg/filter/filter.go, cdc/changefeed.go, cdc/owner/changefeed.go, cdc/model/sink.go,
cdc/sink/codec/canal*.go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator.releases import option_names
from simulator.releases.classic_4 import SIZE_CHECK, V4_0_9

TOPIC_LIMIT: dict[str, Any] = dict(max_message_bytes=10 << 20, new_topic_partitions=3, topic_limit="lowers")
"""What 5.0.6, 5.1.4, 5.2.4 and 5.3.1 have of topics' limits."""

RESTORED_TEXT: dict[str, Any] = dict(
    **TOPIC_LIMIT,
    avro_json_crashes=False,
    ddl_text="restored",
    older_rows="text",
    refuses_zero_partitions=True,
    canal_forces_old_value=True,
)
"""What 5.2.4 and 5.3.1 have in common."""

V5_0_0 = replace(
    V4_0_9,
    name="v5.0.0",
    maxwell_lengths=False,
    options=V4_0_9.options | {"?auto-create-topic"},
    batch_size_sets_bytes=False,
    old_value=True,
    avro_refuses_floats=False,
    literal_defaults=V4_0_9.literal_defaults - {"enum"},
)

V5_0_1 = replace(V5_0_0, name="v5.0.1", max_batch_size=16)

V5_0_2 = replace(V5_0_1, name="v5.0.2", avro_zero_dates=True, avro_instants=True)

V5_0_3 = replace(V5_0_2, name="v5.0.3", options=V5_0_2.options | option_names.SASL)

V5_0_4 = replace(
    V5_0_3,
    name="v5.0.4",
    empty_deletes="clustered",
    handle_split="in place",
    avro_unsigned_crashes=False,
    empty_changes=V5_0_3.empty_changes - {"open-protocol"},
)

V5_0_6 = replace(
    V5_0_4,
    name="v5.0.6",
    partition_ddl_loses_rows=False,
    **SIZE_CHECK,
    **TOPIC_LIMIT,
    avro_json_crashes=False,
    empty_changes=frozenset(),
)
V5_1_0 = replace(
    V5_0_0,
    name="v5.1.0",
    sends_rewritten_rows=True,
    quoted_unicode=13,
    avro_zero_dates=True,
    avro_instants=True,
    options=V5_0_0.options | option_names.SASL,
    max_batch_size=16,
)

V5_1_1 = replace(V5_1_0, name="v5.1.1", handle_split="in place", empty_deletes="clustered")

V5_1_2 = replace(
    V5_1_1, name="v5.1.2", avro_unsigned_crashes=False, empty_changes=V5_1_1.empty_changes - {"open-protocol"}
)

V5_1_4 = replace(
    V5_1_2,
    name="v5.1.4",
    older_rows="text",
    empty_changes=frozenset(),
    partition_ddl_loses_rows=False,
    **SIZE_CHECK,
    **TOPIC_LIMIT,
    canal_forces_old_value=True,
    avro_json_crashes=False,
)

V5_1_5 = replace(V5_1_4, name="v5.1.5", eligibility="after")

V5_2_0 = replace(V5_1_1, name="v5.2.0", protocols=V5_1_0.protocols | {"craft"}, empty_changes=V5_1_2.empty_changes)

V5_2_2 = replace(
    V5_2_0,
    name="v5.2.2",
    partition_ddl_loses_rows=False,
    **SIZE_CHECK,
    max_message_bytes=1 << 20,
    avro_unsigned_crashes=False,
)

V5_2_4 = replace(
    V5_2_2, name="v5.2.4", **RESTORED_TEXT, options=V5_2_2.options | option_names.TIMEOUTS, empty_changes=frozenset()
)

V5_3_0 = replace(
    V5_2_0,
    name="v5.3.0",
    empty_changes=frozenset(),
    partition_ddl_loses_rows=False,
    **SIZE_CHECK,
    avro_unsigned_crashes=False,
    options=V5_2_0.options | {"consistent"},
    max_message_bytes=1 << 20,
)

V5_3_1 = replace(V5_3_0, name="v5.3.1", **RESTORED_TEXT, options=V5_3_0.options | option_names.TIMEOUTS)

V5_4_0 = replace(
    V5_3_1,
    name="v5.4.0",
    storage_sink="none",
    allowed_ddl=V5_3_1.allowed_ddl | {47},
    canal_ddl_in_partition_0=True,
    tidb_extension=True,
    canal_build_time=True,
    canal_renames=frozenset({14, 47}),
    canal_old_everywhere=False,
    canal_wide_sql_types=False,
    canal_unsigned_types=True,
    canal_latin1_strings=True,
    canal_fails_on_unsigned_null=True,
    options=(V5_3_1.options - option_names.TIMEOUTS | {"?enable-tidb-extension", "sink.column-selectors"}),
    protocols=V5_3_1.protocols | {"open-protocol"},
    unknown_protocol="CDC:ErrMQSinkUnknownProtocol",
    checks_insync_replicas="all",
    kafka_refuses_tidb_extension=True,
)

V5_4_1 = replace(
    V5_4_0, name="v5.4.1", canal_fails_on_unsigned_null=False, options=V5_4_0.options | option_names.TIMEOUTS
)

LINES = {
    "v5.0": (6, (V5_0_0, V5_0_1, V5_0_2, V5_0_3, V5_0_4, V5_0_6)),
    "v5.1": (5, (V5_1_0, V5_1_1, V5_1_2, V5_1_4, V5_1_5)),
    "v5.2": (4, (V5_2_0, V5_2_2, V5_2_4)),
    "v5.3": (4, (V5_3_0, V5_3_1)),
    "v5.4": (3, (V5_4_0, V5_4_1)),
}
"""Last patch of each line, and its releases that changed something."""
