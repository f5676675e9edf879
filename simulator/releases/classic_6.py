"""Classic TiCDC 6.0 – 6.6, as deltas; 6.5 is a line of its own with back-ports that 6.6 does not have.

Verified at every tag of tiflow: pkg/filter, cdc/puller/ddl_puller.go, cdc/owner, cdc/model/sink.go, canal_entry.go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator.releases import option_names
from simulator.releases.classic_5 import V5_4_0, V5_4_1

RENAME_BY_OLD_NAME: dict[str, Any] = dict(
    rename_filter="old-name",
    rename_event_in_lower_case=True,
    rename_errors_wrapped=frozenset({"one", "several", "snapshot"}),
    rename_error_values="job",
    start_ts_discards_ddl=True,
    event_filter_discards=True,
    event_filter_rename="both-names",
)
"""The handling of RENAME and of ignored DDL from 6.5.4, 7.1.2 and 7.4.0."""

NO_DISCARDED_DDL: dict[str, Any] = dict(
    start_ts_discards_ddl=False, event_filter_discards=False, event_filter_rename="new-name"
)
"""The handling of ignored DDL from 6.5.8, 7.1.4, 7.5.1 and 8.0.0."""

SPLIT_OF_ALL_UPDATES: dict[str, Any] = dict(update_split="all", handle_split="as any", update_without_old_value=False)
"""The split of UPDATEs from 6.5.5, 7.1.2 and 7.4.0."""

FILES_IN_META: dict[str, Any] = dict(storage_defaults=("day", True), storage_schema_names=True, storage_index="first")
"""The layout of a storage from 6.5.3 and 7.1.0."""

V6_0_0 = replace(
    V5_4_1,
    name="v6.0.0",
    partition_num_limits=False,
    empty_deletes="none",
    avro_records="nullable",
    maxwell_batches=True,
    topic_rules="idle",
    flush_rows=2048,
    ddl_text_placement=False,
    options=V5_4_0.options | option_names.TIMEOUTS | {"sink.dispatchers.topic"},
    codec_error="CDC:ErrMQCodecInvalidConfig",
    tidb_extension_refusal="enable-tidb-extension only support canal-json protocol",
    kafka_refuses_tidb_extension=False,
)

V6_1_0 = replace(
    V6_0_0,
    name="v6.1.0",
    literal_defaults=V6_0_0.literal_defaults - {"date"},
    topic_rules="schema",
    eligibility="after",
    rebuilds_drop=True,
    splits_renames=True,
    renames_in_lower_case=True,
    watermark_after_ddl=True,
    options=(
        V6_0_0.options - option_names.SCHEDULER - {"?registry"}
        | option_names.KERBEROS
        | option_names.AVRO_MODES
        | {"sink.schema-registry", "sink.dispatchers.partition"}
    ),
    protocols=V6_0_0.protocols | {"flat-avro"},
    avro_records="columns",
    avro_zero_dates=False,
    avro_instants=False,
    avro_registry_tls=False,
    tidb_extension_refusal="enable-tidb-extension only supports canal-json/avro protocol",
)

V6_1_1 = replace(V6_1_0, name="v6.1.1", options=V6_1_0.options | option_names.ATOMICITY)

V6_1_3 = replace(
    V6_1_1,
    name="v6.1.3",
    canal_column_order="table",
    canal_old_first=True,
    options=V6_1_1.options | {"sink.encoder-concurrency"},
)

V6_1_4 = replace(V6_1_3, name="v6.1.4", literal_defaults=frozenset())

V6_1_6 = replace(V6_1_4, name="v6.1.6", updates_before_inserts=True, float_widened=False)

V6_1_7 = replace(V6_1_6, name="v6.1.7", options=V6_1_6.options | option_names.OAUTH | {"sink.kafka-config"})

V6_2_0 = replace(
    V6_1_0,
    name="v6.2.0",
    literal_defaults=frozenset(),
    size_error="CDC:ErrOpenProtocolCodecRowTooLarge",
    allowed_ddl=V6_1_0.allowed_ddl | {13, 41, 61},
    event_filter_names=option_names.EVENTS_BY_SQL,
    event_type_from_sql=True,
    multi_schema_change=True,
    canal_alters=V6_1_0.canal_alters | {41, 61},
    options=V6_1_0.options - {"cyclic-replication"} | option_names.ATOMICITY | {"filter.event-filters"},
)

V6_3_0 = replace(
    V6_2_0,
    name="v6.3.0",
    allowed_ddl=V6_2_0.allowed_ddl | {42},
    renames_in_lower_case=False,
    rename_filter="new-schema",
    options=V6_2_0.options - {"filter.ddl-allow-list"}
    | {"enable-sync-point", "sync-point-interval", "sync-point-retention"},
    unknown_protocol="CDC:ErrSinkUnknownProtocol",
    codec_error="CDC:ErrCodecInvalidConfig",
)
V6_4_0 = replace(
    V6_3_0,
    name="v6.4.0",
    canal_column_order="escaped-name",
    maxwell_crashes_on_databases=True,
    storage_sink="experiment",
    options=V6_3_0.options | {"sink.csv"},
    protocols=V6_3_0.protocols | {"csv"},
)
V6_5_0 = replace(
    V6_4_0,
    name="v6.5.0",
    canal_column_order="table",
    canal_old_first=True,
    canal_ends_rows=True,
    foreign_key_index=True,
    storage_sink="files",
    options=V6_4_0.options | option_names.STORAGE | {"sink.encoder-concurrency"},
)

V6_5_1 = replace(V6_5_0, name="v6.5.1", size_error="CDC:ErrMessageTooLarge", canal_size_limit=True)

V6_5_2 = replace(
    V6_5_1,
    name="v6.5.2",
    updates_before_inserts=True,
    float_widened=False,
    storage_defaults=("none", True),
    storage_old_errors=False,
    storage_index="beside",
    storage_one_partition=False,
    ddl_text_charset=True,
    single_table_ddl=frozenset({*range(4, 9), 11, 12, 13, 15, *range(17, 26), 32, 33, 41, 61, 64, 65, 67, 71, 72}),
    tidb_extension_refusal="",
)

V6_5_3 = replace(
    V6_5_2,
    name="v6.5.3",
    **FILES_IN_META,
    sends_rewritten_rows=False,
    storage_exceeds_size=False,
    storage_column_defaults=True,
    storage_origin_default=True,
    csv_disables_old_value=True,
    csv_delete_by_key=False,
    options=V6_5_2.options | option_names.OAUTH | option_names.SKIP_VERIFY | {"sink.kafka-config"},
    force_replicate_needs_old_value=False,
)

V6_5_4 = replace(
    V6_5_3,
    name="v6.5.4",
    update_split="several",
    **RENAME_BY_OLD_NAME,
    rebuilds_exchange=True,
    options=V6_5_3.options | option_names.CSV_BINARY | option_names.LARGE_MESSAGES | {"sink.advance-timeout-in-sec"},
)

V6_5_5 = replace(V6_5_4, name="v6.5.5", **SPLIT_OF_ALL_UPDATES)

V6_5_6 = replace(
    V6_5_5,
    name="v6.5.6",
    partition_num_limits=True,
    ddl_text_mode="changefeed",
    zerofill_bit=True,
    canal_zerofill_types=True,
    options=(
        V6_5_5.options
        | option_names.COMPATIBLE
        | option_names.COLUMN_ID
        | option_names.CLEANUP
        | {"changefeed-error-stuck-duration", "sql-mode", "sink.cloud-storage-config"}
    ),
    case_sensitive=False,
)

V6_5_7 = replace(V6_5_6, name="v6.5.7", topic_rules="any", options=V6_5_6.options | {"consistent.memory-usage"})

V6_5_8 = replace(
    V6_5_7, name="v6.5.8", **NO_DISCARDED_DDL, options=V6_5_7.options | {"synced-status", "enable-table-monitor"}
)

V6_5_9 = replace(
    V6_5_8, name="v6.5.9", older_rows="typed", cdc_schemas=frozenset({"tidb_cdc"}), exchange_keeps_validation=True
)

V6_5_10 = replace(
    V6_5_9,
    name="v6.5.10",
    older_timestamps_in_utc=False,
    raw_change_events=True,
    eligibility="error",
    rename_errors_wrapped=frozenset({"several", "snapshot"}),
    rename_error_values="shifted",
    options=V6_5_9.options | option_names.RAW_FILES | {"sink.kafka-config.output-raw-change-event"},
)

V6_5_12 = replace(
    V6_5_10, name="v6.5.12", canal_ends_rows=False, storage_origin_default=False, event_filter_rename="old-name"
)

V6_6_0 = replace(
    V6_5_0,
    name="v6.6.0",
    foreign_key_checks=True,
    options=V6_5_0.options | option_names.SPANS_6_6 | {"?required-acks", "sink.enable-kafka-sink-v2"},
    client_error="CDC:ErrKafkaNewProducer",
)

LINES = {
    "v6.0": (0, (V6_0_0,)),
    "v6.1": (7, (V6_1_0, V6_1_1, V6_1_3, V6_1_4, V6_1_6, V6_1_7)),
    "v6.2": (0, (V6_2_0,)),
    "v6.3": (0, (V6_3_0,)),
    "v6.4": (0, (V6_4_0,)),
    "v6.5": (12, (V6_5_0, V6_5_1, V6_5_2, V6_5_3, V6_5_4, V6_5_5, V6_5_6, V6_5_7, V6_5_8, V6_5_9, V6_5_10, V6_5_12)),
    "v6.6": (0, (V6_6_0,)),
}
"""Last patch of each line, and its releases that changed something."""
