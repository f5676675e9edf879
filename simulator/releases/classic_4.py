"""Classic TiCDC 4.0: each release that changed something, as the one above it and its changes.

Verified at every tag of tiflow: pkg/filter/filter.go, cdc/changefeed.go, cdc/owner/changefeed.go, cdc/model/sink.go,
cdc/sink/codec/canal*.go.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.releases import option_names
from simulator.releases.release import Release

V4_0_0 = Release(
    name="v4.0.0",
    architecture="classic",
    short_control_escapes=False,
    primary_is_unique=True,
    float_widened=False,
    zerofill_bit=False,
    generated_get_key_bits=True,
    handle_may_be_virtual=False,
    handle_joins_unique=False,
    quoted_unicode=12,
    update_without_old_value=False,
    delete_without_old_value=False,
    record_overhead_counted=False,
    size_error="",
    open_batch_size=False,
    open_flags=False,
    open_row_ids=False,
    open_partition_ids=False,
    open_partition_last=False,
    open_old_values=False,
    open_generated=False,
    open_virtual=False,
    open_marks_unique=True,
    open_sorts_columns=True,
    open_strings_base64=True,
    open_pads_exponents=False,
    open_time_fraction=True,
    open_zero_is_null=False,
    open_old_zero_is_null=False,
    open_old_flags_raw=False,
    open_old_bits=True,
    open_old_nameless=False,
    open_old_always=False,
    open_old_optional=True,
    open_needs_columns=False,
    open_names_operation=True,
    claim_check_by_row=False,
    open_location_repeats_ohk=False,
    canal_column_order="name",
    canal_old_first=False,
    canal_old_everywhere=True,
    canal_wide_sql_types=True,
    canal_unsigned_types=False,
    canal_zerofill_types=False,
    canal_latin1_strings=False,
    canal_fails_on_unsigned_null=False,
    canal_size_limit=False,
    canal_ends_rows=False,
    canal_text_null=False,
    canal_zero_null=False,
    canal_whole_seconds=False,
    canal_virtual_columns=False,
    canal_blank_old_values=False,
    canal_null_types=False,
    canal_compares_texts=False,
    dispatchers=frozenset({"default", "table", "ts", "rowid"}),
    default_dispatcher="single-column",
    rowid_is_row_id=True,
    dispatch_needs_index=False,
    dispatch_ignores_case=False,
    dispatch_lowers_names=False,
    dispatch_skips_virtual=False,
    dispatch_refuses_virtual=False,
    dispatch_nulls=frozenset({"handle", "names"}),
    dispatch_time_fraction=True,
    topic_rules="none",
    column_selectors="nothing",
    selectors_checked=False,
    selectors_want_key=False,
    group_by_partition_key=False,
    flush_rows=0,
    allowed_ddl=frozenset({*range(1, 9), 11, 12, 14, 15, *range(17, 27), 32, 33}),
    eligibility="stays",
    rename_filter="new-name",
    rename_errors_wrapped=frozenset(),
    rename_quotes_names=False,
    rename_keeps_schemas=False,
    rename_finds_old_schema=False,
    exchange_passes_by_either=False,
    start_ts_discards_ddl=False,
    system_schemas=frozenset({"INFORMATION_SCHEMA", "PERFORMANCE_SCHEMA", "MYSQL", "METRIC_SCHEMA"}),
    cdc_schemas=frozenset(),
    cdc_schemas_in_any_case=False,
    event_filter_names=frozenset(),
    event_type_from_sql=False,
    event_filter_discards=False,
    event_filter_rename="new-name",
    event_filter_ddl=True,
    unclassified_events=frozenset(),
    event_matcher_folds_case=False,
    event_filter_sees_sent_text=False,
    event_filter_needs_old_name=True,
    bad_event_filter_stops=False,
    checks_expressions_first=True,
    multi_schema_change=False,
    foreign_key_index=False,
    default_functions=frozenset(),
    global_indexes=False,
    default_parentheses=False,
    gb18030=False,
    vectors=False,
    foreign_key_checks=False,
    rename_renews_ids=True,
    lone_null_refused=False,
    codes_search_indexes=False,
    ddl_text="raw",
    ddl_mark="",
    ddl_text_placement=True,
    ddl_text_ttl_off=False,
    ddl_text_charset=False,
    ddl_text_joined=False,
    rebuilds_drop=False,
    splits_renames=False,
    renames_in_lower_case=False,
    rebuilds_exchange=False,
    create_tables_code=0,
    keeps_statement_end=False,
    escapes_rebuilt_names=False,
    restores_rebuilt=True,
    rebuilds_rename=False,
    rename_as_written=False,
    rename_event_in_lower_case=False,
    exchange_from_restored=False,
    exchange_keeps_quotes=False,
    create_like_finds_schema=False,
    view_finds_schemas=False,
    single_table_ddl=frozenset(),
    watermark_after_ddl=False,
    statement_again_at_checkpoint=True,
    exchange_event_of_plain=False,
    canal_ddl_in_partition_0=False,
    tidb_extension=False,
    canal_build_time=False,
    canal_renames=frozenset({14}),
    canal_alters=frozenset({5, 6, 12, 13, 15, 17, 18, 19, 20, 22, 23, 37, 38}),
    open_empty_names=False,
    open_escapes_html=True,
    options=option_names.FIRST,
    protocols=frozenset(),
    unknown_protocol="",
    uri_bound_by_gin=False,
    client_error="CDC:ErrKafkaNewSaramaProducer",
    one_kafka_code=False,
    codec_error="CDC:ErrKafkaInvalidConfig",
    max_batch_size=0,
    max_message_bytes=512 << 20,
    batch_size_sets_bytes=False,
    new_topic_partitions=4,
    refuses_zero_partitions=False,
    case_sensitive=True,
    old_value=False,
    canal_forces_old_value=False,
    force_replicate_needs_old_value=False,
    topic_limit="ignored",
    topic_limit_margin=0,
    checks_insync_replicas="none",
    refuses_zero_timeouts=False,
    refuses_unknown_handling=False,
    tidb_extension_refusal="",
    kafka_refuses_tidb_extension=False,
    update_split="never",
    split_by_text=True,
    split_interleaved=False,
    raw_change_events=False,
    filters_halves=False,
    handle_split="sorted",
    updates_before_inserts=False,
)

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
    V4_0_2, name="v4.0.3", options=V4_0_2.options | option_names.CLIENT_ID, protocols=V4_0_2.protocols | {"avro"}
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
    V4_0_5, name="v4.0.6", float_widened=True, protocols=V4_0_5.protocols | {"maxwell"}, refuses_zero_partitions=False
)

V4_0_8 = replace(
    V4_0_6, name="v4.0.8", options=V4_0_6.options | option_names.FORCE_REPLICATE, force_replicate_needs_old_value=True
)

V4_0_9 = replace(
    V4_0_8,
    name="v4.0.9",
    open_batch_size=True,
    options=V4_0_8.options | option_names.BATCH_SIZE,
    protocols=V4_0_8.protocols | {"canal-json"},
    max_batch_size=4096,
    max_message_bytes=64 << 20,
    batch_size_sets_bytes=True,
)

V4_0_10 = replace(
    V4_0_9, name="v4.0.10", options=V4_0_9.options | option_names.AUTO_CREATE, batch_size_sets_bytes=False
)

V4_0_13 = replace(V4_0_10, name="v4.0.13", max_batch_size=16)

V4_0_14 = replace(V4_0_13, name="v4.0.14", options=V4_0_13.options | option_names.SASL)

V4_0_15 = replace(V4_0_14, name="v4.0.15", handle_split="in place")

V4_0_16 = replace(
    V4_0_15,
    name="v4.0.16",
    record_overhead_counted=True,
    size_error="CDC:ErrJSONCodecRowTooLarge",
    max_message_bytes=1 << 20,
    new_topic_partitions=3,
    refuses_zero_partitions=True,
    topic_limit="refuses",
)

LINES = {
    "v4.0": (16, (V4_0_0, V4_0_2, V4_0_3, V4_0_5, V4_0_6, V4_0_8, V4_0_9, V4_0_10, V4_0_13, V4_0_14, V4_0_15, V4_0_16))
}
"""Last patch of each line, and its releases that changed something."""
