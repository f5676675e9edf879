"""Classic TiCDC 4.0: each release that changed something, as the one above it and its changes.

Verified at every tag of tiflow: pkg/filter/filter.go, cdc/changefeed.go, cdc/owner/changefeed.go, cdc/model/sink.go,
cdc/sink/codec/canal*.go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator.releases import option_names
from simulator.releases.release import Release

V4_0_0 = Release(name="v4.0.0", architecture="classic")
"""It has the first value of each behaviour."""

SIZE_CHECK: dict[str, Any] = dict(record_overhead_counted=True, size_error="CDC:ErrJSONCodecRowTooLarge")
"""The check of a row's size, which each line of 4 and 5 got in a patch."""

V4_0_2 = replace(
    V4_0_0,
    name="v4.0.2",
    open_partition_ids=True,
    ddl_text="marked",
    ddl_mark="/*!90000 ",
    options=V4_0_0.options | option_names.SCHEDULER,
    protocols=V4_0_0.protocols | {"canal", "default"},
)

V4_0_3 = replace(
    V4_0_2,
    name="v4.0.3",
    options=V4_0_2.options | {"?kafka-client-id", "?registry"},
    protocols=V4_0_2.protocols | {"avro"},
)

V4_0_5 = replace(
    V4_0_3,
    name="v4.0.5",
    update_without_old_value=True,
    delete_without_old_value=True,
    open_flags=True,
    open_row_ids=True,
    open_old_values=True,
    open_generated=True,
    open_marks_unique=False,
    open_strings_base64=False,
    dispatchers=V4_0_3.dispatchers | {"index-value"},
    default_dispatcher="old-value",
    rowid_is_row_id=False,
    ddl_mark="/*T! ",
    allowed_ddl=V4_0_3.allowed_ddl | {37, 38},
    system_schemas=frozenset(
        {
            *("DM_HEARTBEAT", "INFORMATION_SCHEMA", "INSPECTION_SCHEMA", "METRICS_SCHEMA", "MYSQL"),
            *("PERFORMANCE_SCHEMA", "SYS"),
        }
    ),
    refuses_zero_partitions=True,
)

V4_0_6 = replace(
    V4_0_5,
    name="v4.0.6",
    float_widened=True,
    avro_records="unions",
    protocols=V4_0_5.protocols | {"maxwell"},
    refuses_zero_partitions=False,
)

V4_0_7 = replace(V4_0_6, name="v4.0.7", avro_delete="key")

V4_0_8 = replace(
    V4_0_7, name="v4.0.8", options=V4_0_7.options | {"force-replicate"}, force_replicate_needs_old_value=True
)

V4_0_9 = replace(
    V4_0_8,
    name="v4.0.9",
    open_batch_size=True,
    options=V4_0_8.options | {"?max-batch-size", "check-gc-safe-point"},
    protocols=V4_0_8.protocols | {"canal-json"},
    max_batch_size=4096,
    max_message_bytes=64 << 20,
    batch_size_sets_bytes=True,
)

V4_0_10 = replace(
    V4_0_9,
    name="v4.0.10",
    maxwell_lengths=False,
    options=V4_0_9.options | {"?auto-create-topic"},
    batch_size_sets_bytes=False,
)

V4_0_11 = replace(V4_0_10, name="v4.0.11", avro_refuses_floats=False)

V4_0_13 = replace(V4_0_11, name="v4.0.13", max_batch_size=16, avro_zero_dates=True, avro_instants=True)

V4_0_14 = replace(V4_0_13, name="v4.0.14", options=V4_0_13.options | option_names.SASL)

V4_0_15 = replace(
    V4_0_14,
    name="v4.0.15",
    empty_deletes="clustered",
    handle_split="in place",
    avro_unsigned_crashes=False,
    empty_changes=V4_0_14.empty_changes - {"open-protocol"},
)

V4_0_16 = replace(
    V4_0_15,
    name="v4.0.16",
    empty_changes=frozenset(),
    partition_ddl_loses_rows=False,
    avro_json_crashes=False,
    **SIZE_CHECK,
    max_message_bytes=1 << 20,
    new_topic_partitions=3,
    refuses_zero_partitions=True,
    topic_limit="refuses",
)

LINES = {
    "v4.0": (
        16,
        (
            V4_0_0,
            V4_0_2,
            V4_0_3,
            V4_0_5,
            V4_0_6,
            V4_0_7,
            V4_0_8,
            V4_0_9,
            V4_0_10,
            V4_0_11,
            V4_0_13,
            V4_0_14,
            V4_0_15,
            V4_0_16,
        ),
    )
}
"""Last patch of each line, and its releases that changed something."""
