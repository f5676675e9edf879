"""Classic TiCDC 7.0 – 8.5, as deltas; 7.1, 7.5, 8.1 and 8.5 are lines with back-ports of their own.

Verified at every tag of tiflow: pkg/filter, cdc/puller/ddl_puller.go, cdc/owner, cdc/model, cdc/sink/dmlsink/mq,
pkg/sink/codec, go.mod.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.releases import option_names
from simulator.releases.classic_6 import (
    FILES_IN_META,
    NO_DISCARDED_DDL,
    RENAME_BY_OLD_NAME,
    SPLIT_OF_ALL_UPDATES,
    V6_5_2,
    V6_6_0,
)

V7_0_0 = replace(
    V6_6_0,
    name="v7.0.0",
    sync_point_refusal="refused",
    size_error="CDC:ErrMessageTooLarge",
    canal_size_limit=True,
    float_widened=False,
    storage_old_errors=False,
    storage_index="beside",
    storage_one_partition=False,
    allowed_ddl=V6_6_0.allowed_ddl | {64, 65, 67},
    ddl_text_ttl_off=True,
    single_table_ddl=V6_5_2.single_table_ddl,
    canal_alters=V6_6_0.canal_alters | {64},
    options=V6_6_0.options | option_names.SPANS,
)

V7_1_0 = replace(
    V7_0_0,
    name="v7.1.0",
    sends_rewritten_rows=False,
    updates_before_inserts=True,
    canal_ends_rows=False,
    **FILES_IN_META,
    ddl_text_charset=True,
    options=(
        V7_0_0.options
        | option_names.KAFKA_KEYS
        | option_names.SKIP_VERIFY
        | option_names.UPDATED_COLUMNS
        | {
            "sink.kafka-config",
            "sink.cloud-storage-config",
            "?schema-registry",
            "integrity",
            "sink.mysql-config",
            "sink.safe-mode",
        }
    ),
    uri_bound_by_gin=True,
    tidb_extension_refusal="",
)

V7_1_1 = replace(
    V7_1_0,
    name="v7.1.1",
    storage_exceeds_size=False,
    storage_column_defaults=True,
    csv_disables_old_value=True,
    csv_delete_by_key=False,
    storage_origin_default=True,
    rebuilds_exchange=True,
    options=V7_1_0.options | option_names.OAUTH | option_names.CSV_BINARY,
    force_replicate_needs_old_value=False,
)

V7_1_2 = replace(
    V7_1_1,
    name="v7.1.2",
    **SPLIT_OF_ALL_UPDATES,
    **RENAME_BY_OLD_NAME,
    options=V7_1_1.options
    | option_names.LARGE_MESSAGES
    | {"sink.advance-timeout-in-sec", "changefeed-error-stuck-duration"},
)

V7_1_3 = replace(
    V7_1_2,
    name="v7.1.3",
    partition_num_limits=True,
    ddl_text_mode="changefeed",
    canal_zerofill_types=True,
    options=(
        V7_1_2.options
        | option_names.COMPATIBLE
        | option_names.COLUMN_ID
        | option_names.CLEANUP
        | {"sink.content-compatible", "sql-mode", "consistent.memory-usage"}
    ),
    case_sensitive=False,
)

V7_1_4 = replace(
    V7_1_3,
    name="v7.1.4",
    default_dispatcher="table",
    topic_rules="any",
    **NO_DISCARDED_DDL,
    cdc_schemas=frozenset({"tidb_cdc"}),
    options=V7_1_3.options | option_names.AVRO_WATERMARK | {"synced-status"},
)

V7_1_5 = replace(V7_1_4, name="v7.1.5", older_rows="typed", exchange_keeps_validation=True)

V7_1_6 = replace(
    V7_1_5,
    name="v7.1.6",
    older_timestamps_in_utc=False,
    raw_change_events=True,
    eligibility="error",
    rename_errors_wrapped=frozenset({"snapshot"}),
    rename_error_values="shifted",
    options=V7_1_4.options | option_names.RAW_FILES | {"sink.kafka-config.output-raw-change-event"},
)

V7_2_0 = replace(
    V7_1_1,
    name="v7.2.0",
    storage_empty_terminator=True,
    delete_without_old_value=False,
    open_needs_columns=True,
    options=(
        V7_1_1.options - option_names.CSV_BINARY
        | option_names.DELETE_ONLY
        | option_names.LARGE_MESSAGES_7_2
        | option_names.AVRO_WATERMARK
    ),
)
V7_3_0 = replace(
    V7_2_0,
    name="v7.3.0",
    claim_check_by_row=True,
    options=(
        V7_2_0.options - option_names.LARGE_MESSAGES_7_2
        | option_names.LARGE_MESSAGES
        | option_names.CLAIM_CHECK
        | option_names.CLAIM_CHECK_7_3
        | option_names.CSV_BINARY
        | option_names.COLUMN_ID
    ),
)

V7_4_0 = replace(
    V7_3_0,
    name="v7.4.0",
    mysql_version="8.0.11",
    claim_check_by_row=False,
    quoted_unicode=15,
    csv_disables_old_value=False,
    csv_delimiter_bytes=1,
    **SPLIT_OF_ALL_UPDATES,
    allowed_ddl=V7_3_0.allowed_ddl | {71, 72},
    default_dispatcher="table",
    topic_rules="any",
    group_by_partition_key=True,
    **RENAME_BY_OLD_NAME,
    canal_alters=V7_3_0.canal_alters | {71, 72},
    options=(
        V7_3_0.options - option_names.CLAIM_CHECK_7_3 - {"enable-old-value"}
        | option_names.COMPRESSION
        | {"sink.advance-timeout-in-sec", "sink.kafka-config.glue-schema-registry-config", "sink.pulsar-config"}
    ),
    topic_limit_margin=128,
)

V7_5_0 = replace(
    V7_4_0,
    name="v7.5.0",
    partition_num_limits=True,
    ddl_text_mode="changefeed",
    dispatchers=V7_4_0.dispatchers | {"columns"},
    dispatch_needs_index=True,
    column_selectors="rows",
    selectors_checked=True,
    options=V7_4_0.options | option_names.INDEX_RULES | {"changefeed-error-stuck-duration", "sql-mode"},
    case_sensitive=False,
)

V7_5_1 = replace(
    V7_5_0,
    name="v7.5.1",
    **NO_DISCARDED_DDL,
    cdc_schemas=frozenset({"tidb_cdc"}),
    options=V7_5_0.options | option_names.CLEANUP | {"consistent.memory-usage", "synced-status"},
)

V7_5_2 = replace(
    V7_5_1,
    name="v7.5.2",
    older_rows="typed",
    older_timestamps_in_utc=False,
    ddl_text_default_parentheses=True,
    simple_sorted="types",
    exchange_keeps_validation=True,
    dispatch_needs_index=False,
    primary_is_unique=False,
    eligibility="error",
    rename_errors_wrapped=frozenset(),
    rename_error_values="query",
    simple_decimal_signs=True,
    options=V7_5_1.options | option_names.SIMPLE | option_names.OPEN,
    protocols=V7_5_1.protocols | {"simple"},
)

V7_5_3 = replace(
    V7_5_2,
    name="v7.5.3",
    zerofill_bit=True,
    raw_change_events=True,
    canal_zerofill_types=True,
    options=(
        V7_5_2.options
        | option_names.COMPATIBLE
        | option_names.RAW_FILES
        | {"sink.content-compatible", "sink.kafka-config.output-raw-change-event", "sink.send-all-bootstrap-at-start"}
    ),
)

V7_5_5 = replace(V7_5_3, name="v7.5.5", simple_partition_ids=True)

V7_5_6 = replace(
    V7_5_5,
    name="v7.5.6",
    event_filter_rename="old-name",
    simple_origin_defaults=False,
    storage_origin_default=False,
    avro_origin_defaults=False,
    avro_null_text="null",
)

V7_5_7 = replace(
    V7_5_6,
    name="v7.5.7",
    dispatch_ignores_case=True,
    rename_errors_wrapped=frozenset({"several", "snapshot"}),
    rename_error_values="shifted",
    start_ts_discards_ddl=True,
    lone_null_refused=True,
)

V7_6_0 = replace(
    V7_5_0,
    name="v7.6.0",
    rename_error_values="query",
    csv_delimiter_bytes=3,
    canal_zerofill_types=True,
    options=(
        V7_5_0.options
        | option_names.COMPATIBLE
        | option_names.SIMPLE - {"sink.send-bootstrap-to-all-partition"}
        | option_names.DEBEZIUM_SCHEMA
        | option_names.CLEANUP
        | option_names.CSV_OLD
        | {"sink.content-compatible", "consistent.memory-usage", "synced-status", "enable-table-monitor"}
    ),
    protocols=V7_5_0.protocols | {"debezium", "simple"},
    simple_bootstraps_partitions=True,
    simple_implicit_primary=False,
    simple_location="",
    simple_first_form=True,
    simple_first_partition=True,
    rename_renews_ids=False,
)

V8_0_0 = replace(
    V7_6_0,
    name="v8.0.0",
    sys_database=True,
    older_rows="typed",
    ddl_text_mode="job",
    simple_sorted="names",
    simple_location="Etc/UTC",
    simple_first_form=False,
    simple_first_partition=False,
    dispatch_needs_index=False,
    primary_is_unique=False,
    **NO_DISCARDED_DDL,
    cdc_schemas=frozenset({"tidb_cdc"}),
    event_filter_names=option_names.EVENTS_BY_ACTION,
    event_type_from_sql=False,
    options=V7_6_0.options | option_names.SIMPLE | option_names.CSV_HANDLE,
)

V8_1_0 = replace(
    V8_0_0,
    name="v8.1.0",
    older_timestamps_in_utc=False,
    exchange_keeps_validation=True,
    default_parentheses=True,
    gb18030=True,
    default_functions=frozenset({"JSON_ARRAY", "JSON_OBJECT", "JSON_QUOTE", "VEC_FROM_TEXT"}),
    eligibility="error",
    rename_errors_wrapped=frozenset({"several", "snapshot"}),
    options=V8_0_0.options | option_names.OPEN | option_names.DEBEZIUM_OLD,
)

V8_1_1 = replace(
    V8_1_0,
    name="v8.1.1",
    ddl_text_default_parentheses=True,
    raw_change_events=True,
    simple_decimal_signs=True,
    simple_implicit_primary=True,
    options=V8_1_0.options
    | option_names.RAW_FILES
    | {"sink.kafka-config.output-raw-change-event", "sink.send-all-bootstrap-at-start"},
)

V8_1_2 = replace(V8_1_1, name="v8.1.2", simple_partition_ids=True)

V8_2_0 = replace(
    V8_1_0,
    name="v8.2.0",
    ddl_text_default_parentheses=True,
    raw_change_events=True,
    simple_decimal_signs=True,
    simple_implicit_primary=True,
    allowed_ddl=V8_1_0.allowed_ddl | {60},
    cdc_schemas=frozenset({"tidb_cdc", "lightning_task_info"}),
    create_tables_code=60,
    options=V8_1_0.options
    | option_names.RAW_FILES
    | {"sink.kafka-config.output-raw-change-event", "sink.send-all-bootstrap-at-start"},
)

V8_3_0 = replace(V8_2_0, name="v8.3.0", checksum_version=1, pad_attributes=True)

V8_4_0 = replace(
    V8_3_0,
    name="v8.4.0",
    global_indexes=True,
    vectors=True,
    short_control_escapes=True,
    simple_short_escapes=True,
    avro_short_escapes=True,
    checksum_version=2,
    options=V8_3_0.options | option_names.RAW_VALUE,
    lone_null_refused=True,
)

V8_5_0 = replace(
    V8_4_0,
    name="v8.5.0",
    index_splits=True,
    debezium_keys=True,
    debezium_cleans_names=True,
    debezium_defaults="texts",
    simple_partition_ids=True,
)

V8_5_1 = replace(
    V8_5_0,
    name="v8.5.1",
    event_filter_rename="old-name",
    debezium_defaults="values",
    debezium_null_is_default=True,
    debezium_null_enum="stops",
    debezium_moves_years=True,
    debezium_stops_at_odd_dates=True,
    debezium_virtual_fields="last",
    debezium_scaled_float_is_double=True,
)

V8_5_2 = replace(
    V8_5_1,
    name="v8.5.2",
    simple_origin_defaults=False,
    storage_origin_default=False,
    avro_origin_defaults=False,
    avro_null_text="null",
)

V8_5_3 = replace(V8_5_2, name="v8.5.3", dispatch_ignores_case=True, debezium_selectors="selected")

V8_5_4 = replace(
    V8_5_3,
    name="v8.5.4",
    dispatch_refuses_virtual=True,
    allowed_ddl=V8_5_3.allowed_ddl | {9, 10},
    start_ts_discards_ddl=True,
    event_filter_names=V8_5_3.event_filter_names | option_names.FOREIGN_KEY_EVENTS,
)

V8_5_5 = replace(V8_5_4, name="v8.5.5", debezium_null_enum="default")

V8_5_6 = replace(V8_5_5, name="v8.5.6", parses_index_splits=True)

V8_5_7 = replace(V8_5_6, name="v8.5.7", options=V8_5_4.options | {"?max-retry"})

LINES = {
    "v7.0": (0, (V7_0_0,)),
    "v7.1": (6, (V7_1_0, V7_1_1, V7_1_2, V7_1_3, V7_1_4, V7_1_5, V7_1_6)),
    "v7.2": (0, (V7_2_0,)),
    "v7.3": (0, (V7_3_0,)),
    "v7.4": (0, (V7_4_0,)),
    "v7.5": (8, (V7_5_0, V7_5_1, V7_5_2, V7_5_3, V7_5_5, V7_5_6, V7_5_7)),
    "v7.6": (0, (V7_6_0,)),
    "v8.0": (0, (V8_0_0,)),
    "v8.1": (2, (V8_1_0, V8_1_1, V8_1_2)),
    "v8.2": (0, (V8_2_0,)),
    "v8.3": (0, (V8_3_0,)),
    "v8.4": (0, (V8_4_0,)),
    "v8.5": (8, (V8_5_0, V8_5_1, V8_5_2, V8_5_3, V8_5_4, V8_5_5, V8_5_6, V8_5_7)),
}
"""Last patch of each line, and its releases that changed something."""
