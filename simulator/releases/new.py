"""The new architecture of TiCDC, as deltas: it starts where the classic one was at 8.5.4.

Verified at every tag of ticdc: pkg/filter, pkg/binlog-filter, pkg/sink/codec, pkg/common/event, logservice/schemastore.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.releases import classic_7_8, option_names

V8_5_4 = replace(
    classic_7_8.V8_5_4,
    simple_sorted="",
    architecture="new",
    simple_sorts_columns=False,
    checksum_sorts_columns=False,
    simple_exchange_alters=True,
    simple_tells_before=False,
    simple_float_exponents=True,
    simple_bit_texts=True,
    simple_timestamp_scale=True,
    simple_bootstraps_partitions=False,
    simple_bootstrap_ids=True,
    simple_start_bootstraps="partitions",
    storage_minimums=(100, 1 << 10),
    storage_elements=True,
    csv_handle_key=False,
    short_control_escapes=False,
    generated_get_key_bits=False,
    handle_joins_unique=True,
    open_row_ids=False,
    open_partition_last=True,
    open_sorts_columns=False,
    open_pads_exponents=True,
    open_time_fraction=False,
    open_old_zero_is_null=True,
    open_old_flags_raw=True,
    open_old_bits=False,
    open_old_nameless=True,
    open_old_always=True,
    open_old_optional=False,
    open_names_operation=False,
    open_location_repeats_ohk=True,
    dispatch_skips_virtual=True,
    split_by_text=False,
    split_interleaved=True,
    filters_halves=True,
    dispatch_nulls=frozenset({"handle"}),
    dispatch_time_fraction=False,
    column_selectors="messages",
    allowed_ddl=classic_7_8.V8_5_4.allowed_ddl | {230, 231},
    eligibility="silent",
    rename_filter="names-alone",
    rename_event_in_lower_case=False,
    exchange_passes_by_either=True,
    rename_errors_wrapped=frozenset(),
    rename_error_values="query",
    start_ts_discards_ddl=False,
    statement_again_at_checkpoint=False,
    cdc_schemas=frozenset({"tidb_cdc", "lightning_task_info", "workload_schema"}),
    cdc_schemas_in_any_case=True,
    event_filter_names=classic_7_8.V8_5_4.event_filter_names | option_names.SEARCH_INDEX_EVENTS,
    unclassified_events=option_names.FOREIGN_KEY_EVENTS | option_names.SEARCH_INDEX_EVENTS,
    event_matcher_folds_case=True,
    event_filter_sees_sent_text=True,
    event_filter_needs_old_name=False,
    bad_event_filter_stops=True,
    checks_expressions_first=False,
    ddl_text_joined=True,
    create_tables_code=3,
    keeps_statement_end=True,
    codes_search_indexes=True,
    restores_rebuilt=False,
    rebuilds_rename=True,
    rename_as_written=True,
    exchange_from_restored=True,
    exchange_event_of_plain=True,
    single_table_ddl=frozenset({5, 6, 7, 8, 11, 12, 13, 14, 15, 17, 18, 21, 22, 24, 32, 33, 37, 38, 41, 61, 65, 67}),
    open_empty_names=True,
    open_escapes_html=False,
    canal_text_null=True,
    canal_blank_old_values=True,
    canal_compares_texts=True,
    debezium_null_by_type=True,
    debezium_null_enum="empty",
    debezium_stops_at_odd_dates=False,
    debezium_virtual_fields="twice",
    avro_key="primary",
    avro_delete="nothing",
    avro_virtual_columns=True,
    avro_whole_bits=True,
    avro_keeps_version=True,
    avro_null_text="text",
    avro_sorts_columns="mixed-up",
    debezium_statements=True,
    sync_point_refusal="invalid",
    refuses_bdr_mode=False,
    # which ParseSinkProtocolFromString knows and no encoder is for (pkg/sink/codec/builder.go)
    protocols=classic_7_8.V8_5_4.protocols - {"maxwell", "canal", "craft"},
    options=(
        classic_7_8.V8_5_4.options - {"scheduler.region-per-span"}
        | option_names.ROW_KEY
        | option_names.CSV_HEADER
        | option_names.SPANS_BY_COUNT
        | option_names.BALANCE
    ),
)

V8_5_5 = replace(
    V8_5_4,
    name="v8.5.5",
    create_like_waits=True,
    storage_index="last",
    storage_next_number="index",
    storage_dispatcher_names=True,
    handle_joins_unique=False,
    canal_text_null=False,
    canal_blank_old_values=False,
    debezium_null_enum="default",
    options=V8_5_4.options | option_names.FORCE_SPLIT,
)

V8_5_6 = replace(
    V8_5_5,
    name="v8.5.6",
    parses_index_splits=True,
    storage_next_number="hangs",
    simple_float_exponents=False,
    simple_bootstrap_ids=False,
    handle_may_be_virtual=True,
    open_time_fraction=True,
    open_old_zero_is_null=False,
    open_old_flags_raw=False,
    open_old_bits=True,
    open_old_optional=True,
    dispatch_nulls=frozenset(),
    dispatch_time_fraction=True,
    rename_quotes_names=True,
    rename_keeps_schemas=True,
    escapes_rebuilt_names=True,
    options=V8_5_5.options | option_names.TABLE_IDS,
)

V8_5_7 = replace(
    V8_5_6,
    name="v8.5.7",
    storage_next_number="free",
    rename_finds_old_schema=True,
    exchange_keeps_quotes=True,
    create_like_finds_schema=True,
    avro_delete="commit-ts",
    view_finds_schemas=True,
    canal_null_types=True,
    options=V8_5_6.options | option_names.TABLE_ROUTES | option_names.SPOOL | {"?max-retry"},
)

# As its branch stood ten days before the tag (ticdc release-8.5, 799216ba3 of 17 August 2026).
V8_5_8 = replace(
    V8_5_7,
    name="v8.5.8",
    create_like_waits=False,
    client_error="CDC:ErrNewKafkaSink",
    one_kafka_code=True,
    checks_insync_replicas="created",
    refuses_zero_timeouts=True,
    refuses_unknown_handling=True,
    options=V8_5_7.options | option_names.EVENT_COLLECTOR,
)

V26_3_1 = replace(
    V8_5_7,
    name="v26.3.1",
    soft_deletes=True,
    storage_next_number="hangs",
    handle_may_be_virtual=False,
    dispatch_nulls=frozenset({"handle"}),
    canal_null_types=False,
    avro_delete="nothing",
    options=(
        V8_5_7.options - {"?max-retry"} - option_names.TABLE_ROUTES - option_names.SPOOL | option_names.ACTIVE_ACTIVE
    ),
)

V26_3_3 = replace(
    V26_3_1,
    name="v26.3.3",
    storage_next_number="free",
    protocols=V26_3_1.protocols | {"debezium-avro"},
    debezium_source_extension=True,
    options=V26_3_1.options | option_names.SPOOL,
)

V26_3_4 = replace(
    V26_3_3,
    name="v26.3.4",
    selectors_want_key=True,
    avro_delete="record",
    storage_selectors=True,
    csv_header_lists_all=False,
)

V9_0_0_BETA_2 = replace(
    V8_5_4,
    name="v9.0.0-beta.2.pre",
    parses_index_splits=True,
    storage_minimums=(2000, 1 << 20),
    storage_elements=False,
    storage_exchange_of_plain=True,
    storage_version_is_update_ts=True,
    csv_virtual_columns=True,
    selectors_checked=False,
    raw_change_events=False,
    filters_halves=False,
    dispatch_refuses_virtual=False,
    dispatch_lowers_names=True,
    event_filter_ddl=False,
    allowed_ddl=V8_5_4.allowed_ddl - {9, 10, 231},
    event_filter_names=V8_5_4.event_filter_names - option_names.FOREIGN_KEY_EVENTS - {"create hybrid index"},
    unclassified_events=frozenset({"add fulltext index"}),
    cdc_schemas_in_any_case=False,
    canal_virtual_columns=True,
    simple_virtual_columns=True,
    simple_bootstrap_ids=False,
    avro_null_text="refused",
    avro_selectors=False,
    debezium_virtual_columns=True,
    debezium_selectors="ignored",
    sync_point_refusal="hangs",
    options=V8_5_4.options - option_names.ROW_KEY - option_names.BALANCE | option_names.SPANS_BY_NODE,
)

V9_0_0_BETA_1 = replace(
    V9_0_0_BETA_2,
    rows_in_server_zone=False,
    name="v9.0.0-beta.1",
    generated_get_key_bits=True,
    handle_joins_unique=False,
    open_partition_ids=False,
    open_virtual=True,
    open_zero_is_null=True,
    open_old_flags_raw=False,
    update_split="never",
    dispatch_ignores_case=False,
    dispatch_lowers_names=False,
    allowed_ddl=V9_0_0_BETA_2.allowed_ddl - {230},
    event_filter_names=V9_0_0_BETA_2.event_filter_names - {"add fulltext index"},
    unclassified_events=frozenset(),
    cdc_schemas=frozenset({"tidb_cdc", "lightning_task_info"}),
    canal_zero_null=True,
    canal_whole_seconds=True,
    storage_version_is_update_ts=False,
    options=V9_0_0_BETA_2.options - option_names.CSV_HEADER - option_names.SPANS_BY_COUNT,
    # their encoders do not build (pkg/sink/codec/encoder_builder.go)
    protocols=V9_0_0_BETA_2.protocols - {"debezium", "simple", "avro", "flat-avro"},
)

LINES = {"v8.5": (8, (V8_5_4, V8_5_5, V8_5_6, V8_5_7, V8_5_8)), "v26.3": (4, (V26_3_1, V26_3_3, V26_3_4))}
"""Last patch of each line, and its releases that changed something."""

BETAS = (V9_0_0_BETA_1, V9_0_0_BETA_2)
"""Before the first release: lines of their own."""
