"""The types of TiDB's system variables, their accepted values, and their values on a new server.

Source: tidb v8.0 pkg/sessionctx/variable/sysvar.go, noop.go.
"""

from __future__ import annotations

from types import MappingProxyType

_ON = """
binlog_order_commits disconnect_on_expired_password explicit_defaults_for_timestamp innodb_adaptive_flushing
innodb_adaptive_hash_index innodb_checksums innodb_file_per_table innodb_ft_enable_stopword innodb_large_prefix
innodb_stats_persistent innodb_strict_mode innodb_table_locks last_sql_use_alloc local_infile relay_log_purge
rpl_semi_sync_master_wait_no_slave secure_auth slave_sql_verify_checksum sql_big_selects sql_log_bin
sql_quote_show_create sync_frm tidb_allow_mpp tidb_check_mb4_value_in_utf8 tidb_constraint_check_in_place_pessimistic
tidb_ddl_enable_fast_reorg tidb_disable_txn_auto_retry tidb_enable_auto_analyze tidb_enable_chunk_rpc
tidb_enable_collect_execution_info tidb_enable_ddl tidb_enable_exchange_partition tidb_enable_fast_table_check
tidb_enable_foreign_key tidb_enable_gogc_tuner tidb_enable_historical_stats tidb_enable_index_merge
tidb_enable_legacy_instance_scope tidb_enable_list_partition tidb_enable_metadata_lock tidb_enable_new_cost_interface
tidb_enable_null_aware_anti_join tidb_enable_outer_join_reorder tidb_enable_paging tidb_enable_parallel_hashagg_spill
tidb_enable_pipelined_window_function tidb_enable_plan_cache_for_param_limit tidb_enable_plan_cache_for_subquery
tidb_enable_plan_replayer_capture tidb_enable_prepared_plan_cache tidb_enable_prepared_plan_cache_memory_monitor
tidb_enable_resource_control tidb_enable_reuse_chunk tidb_enable_slow_log tidb_enable_stmt_summary
tidb_enable_strict_double_type_check tidb_enable_tiflash_pipeline_model tidb_enable_tiflash_read_for_write_stmt
tidb_enable_tmp_storage_on_oom tidb_enable_vectorized_expression tidb_enable_window_function tidb_gc_enable
tidb_generate_binary_plan tidb_guarantee_linearizability tidb_hash_exchange_with_new_collation
tidb_opt_advanced_join_hint tidb_opt_enable_correlation_adjustment tidb_opt_enable_hash_join
tidb_opt_enable_late_materialization tidb_opt_insubq_to_join_and_agg tidb_opt_prefix_index_single_scan
tidb_opt_three_stage_distinct_agg tidb_persist_analyze_options tidb_pessimistic_txn_fair_locking
tidb_plan_cache_invalidation_on_fresh_stats tidb_record_plan_in_slow_log tidb_regard_null_as_point
tidb_remove_orderby_in_subquery tidb_skip_missing_partition_stats tidb_stats_load_pseudo_timeout
tidb_track_aggregate_memory_usage tidb_ttl_job_enable tidb_use_plan_baselines tidb_wait_split_region_finish
unique_checks validate_password.check_user_name windowing_use_high_precision
"""
_OFF = """
allow_auto_random_explicit_insert authentication_ldap_sasl_tls authentication_ldap_simple_tls avoid_temporal_upgrade
big_tables binlog_direct_non_transactional_updates binlog_rows_query_log_events check_proxy_users core_file
enable_parallel_sort end_markers_in_json flush general_log gtid_mode have_openssl have_ssl innodb_buffer_pool_dump_now
innodb_buffer_pool_load_abort innodb_buffer_pool_load_now innodb_cmp_per_index_enabled innodb_ft_enable_diag_print
innodb_print_all_deadlocks innodb_random_read_ahead innodb_status_output innodb_status_output_locks
keep_files_on_create last_plan_from_binding last_plan_from_cache log_bin log_bin_trust_function_creators
log_queries_not_using_indexes log_slave_updates log_slow_admin_statements log_slow_slave_statements
low_priority_updates master_verify_checksum myisam_use_mmap offline_mode old_alter_table
pd_enable_follower_handle_region performance_schema profiling pseudo_slave_mode query_cache_wlock_invalidate read_only
require_secure_transport rpl_semi_sync_master_enabled rpl_semi_sync_slave_enabled show_old_temporals skip_name_resolve
slave_allow_batching slave_compressed_protocol slave_preserve_commit_order sql_auto_is_null sql_require_primary_key
sql_safe_updates sql_warnings super_read_only tidb_allow_remove_auto_inc tidb_allow_tiflash_cop tidb_batch_commit
tidb_batch_delete tidb_batch_insert tidb_capture_plan_baselines tidb_constraint_check_in_place tidb_enable_1pc
tidb_enable_analyze_snapshot tidb_enable_async_commit tidb_enable_auto_increment_in_generated tidb_enable_batch_dml
tidb_enable_cascades_planner tidb_enable_column_tracking tidb_enable_dist_task tidb_enable_enhanced_security
tidb_enable_extended_stats tidb_enable_external_ts_read tidb_enable_fast_analyze tidb_enable_fast_create_table
tidb_enable_gc_aware_memory_track tidb_enable_global_index tidb_enable_historical_stats_for_capture
tidb_enable_index_merge_join tidb_enable_inl_join_inner_multi_pattern tidb_enable_local_txn
tidb_enable_new_only_full_group_by_check tidb_enable_non_prepared_plan_cache
tidb_enable_non_prepared_plan_cache_for_dml tidb_enable_ordered_result_mode tidb_enable_parallel_apply
tidb_enable_plan_replayer_continuous_capture tidb_enable_pseudo_for_outdated_stats tidb_enable_rate_limit_action
tidb_enable_row_level_checksum tidb_enable_telemetry tidb_enable_top_sql tidb_enable_tso_follower_proxy
tidb_enable_unsafe_substitute tidb_enforce_mpp tidb_evolve_plan_baselines tidb_general_log
tidb_ignore_inlist_plan_digest tidb_ignore_prepared_cache_close_stmt tidb_low_resolution_tso
tidb_nontransactional_ignore_error tidb_opt_agg_push_down tidb_opt_derive_topn tidb_opt_distinct_agg_push_down
tidb_opt_enable_fuzzy_binding tidb_opt_enable_mpp_shared_cte_execution tidb_opt_enable_non_eval_scalar_subquery
tidb_opt_enable_three_stage_multi_distinct_agg tidb_opt_force_inline_cte tidb_opt_mpp_outer_join_fixed_build_side
tidb_opt_prefer_range_scan tidb_opt_projection_push_down tidb_opt_skew_distinct_agg tidb_opt_use_invisible_indexes
tidb_opt_write_row_id tidb_prefer_broadcast_join_by_exchange_data_size tidb_rc_read_check_ts tidb_rc_write_check_ts
tidb_redact_log tidb_restricted_read_only tidb_scatter_region tidb_simplified_metrics tidb_skip_ascii_check
tidb_skip_isolation_level_check tidb_skip_utf8_check tidb_stmt_summary_internal_query tidb_super_read_only
tidb_sysdate_is_now tiflash_fastscan transaction_read_only tx_read_only validate_password.enable
"""
BOOLEANS = MappingProxyType({**dict.fromkeys(_ON.split(), "ON"), **dict.fromkeys(_OFF.split(), "OFF")})
"""By name in lower case, the value of a new server."""

_NUMBERS = """
authentication_ldap_sasl_init_pool_size 1 32767 10, authentication_ldap_sasl_max_pool_size 1 32767 1000,
authentication_ldap_sasl_server_port 1 65535 389, authentication_ldap_simple_init_pool_size 1 32767 10,
authentication_ldap_simple_max_pool_size 1 32767 1000, authentication_ldap_simple_server_port 1 65535 389,
auto_increment_increment 1 65535 1, auto_increment_offset 1 65535 1, cte_max_recursion_depth 0 4294967295 1000,
ddl_slow_threshold 0 2147483647 300, default_password_lifetime 0 65535 0, default_week_format 0 7 0,
group_concat_max_len 4 18446744073709551615 1024, innodb_commit_concurrency 0 1000 0, innodb_fast_shutdown 0 2 1,
innodb_lock_wait_timeout 1 3600 50, max_allowed_packet 1024 1073741824 67108864,
max_connect_errors 1 18446744073709551615 100, max_connections 0 100000 0, max_execution_time 0 2147483647 0,
max_prepared_stmt_count -1 1048576 -1, max_sort_length 4 8388608 1024, max_sp_recursion_depth 0 255 0,
max_user_connections 0 4294967295 0, net_buffer_length 1024 1048576 16384, old_passwords 0 2 0,
password_history 0 4294967295 0, password_reuse_interval 0 4294967295 0, port 0 65535 14112, rand_seed1 0 2147483647 0,
rand_seed2 0 2147483647 0, rpl_semi_sync_master_timeout 0 9223372036854775807 10000,
rpl_semi_sync_master_wait_for_slave_count 1 65535 1, sql_select_limit 0 18446744073709551615 18446744073709551615,
sync_binlog 0 4294967295 0, table_definition_cache 400 524288 2000, thread_pool_size 1 64 16,
tidb_adaptive_closest_read_threshold 0 9223372036854775807 4096, tidb_allow_batch_cop 0 2 1,
tidb_analyze_distsql_scan_concurrency 1 2147483647 4, tidb_analyze_version 1 2 2,
tidb_auto_build_stats_concurrency 1 256 1, tidb_backoff_lock_fast 1 2147483647 10, tidb_backoff_weight 0 2147483647 2,
tidb_batch_pending_tiflash_count 0 4294967295 4000, tidb_broadcast_join_threshold_count 0 9223372036854775807 10240,
tidb_broadcast_join_threshold_size 0 9223372036854775807 104857600, tidb_build_sampling_stats_concurrency 1 256 2,
tidb_build_stats_concurrency 1 256 2, tidb_cdc_write_source 0 15 0, tidb_checksum_table_concurrency 1 256 4,
tidb_committer_concurrency 1 10000 128, tidb_cost_model_version 1 2 2, tidb_current_ts 0 9223372036854775807 0,
tidb_ddl_error_count_limit 0 9223372036854775807 512, tidb_ddl_flashback_concurrency 1 256 64,
tidb_ddl_reorg_batch_size 32 10240 256, tidb_ddl_reorg_worker_cnt 1 256 4, tidb_distsql_scan_concurrency 1 256 15,
tidb_dml_batch_size 0 2147483647 0, tidb_evolve_plan_task_max_time -1 9223372036854775807 600,
tidb_executor_concurrency 1 256 5, tidb_expensive_query_time_threshold 10 2147483647 60,
tidb_expensive_txn_time_threshold 60 2147483647 600, tidb_gc_concurrency -1 256 -1,
tidb_gc_max_wait_time 600 31536000 86400, tidb_hash_join_concurrency -1 256 -1,
tidb_hashagg_final_concurrency -1 256 -1, tidb_hashagg_partial_concurrency -1 256 -1,
tidb_index_join_batch_size 1 2147483647 25000, tidb_index_lookup_concurrency -1 256 -1,
tidb_index_lookup_join_concurrency -1 256 -1, tidb_index_lookup_size 1 2147483647 20000,
tidb_index_merge_intersection_concurrency -1 256 -1, tidb_index_serial_scan_concurrency 1 256 1,
tidb_init_chunk_size 1 32 32, tidb_log_file_max_days 0 2147483647 0, tidb_max_auto_analyze_time 0 2147483647 43200,
tidb_max_bytes_before_tiflash_external_group_by -1 9223372036854775807 -1,
tidb_max_bytes_before_tiflash_external_join -1 9223372036854775807 -1,
tidb_max_bytes_before_tiflash_external_sort -1 9223372036854775807 -1, tidb_max_chunk_size 32 2147483647 1024,
tidb_max_delta_schema_count 100 16384 1024, tidb_max_paging_size 1 9223372036854775807 50000,
tidb_max_tiflash_threads -1 256 -1, tidb_mem_quota_analyze -1 9223372036854775807 -1,
tidb_mem_quota_apply_cache 0 9223372036854775807 33554432, tidb_mem_quota_binding_cache 0 2147483647 67108864,
tidb_mem_quota_query -1 9223372036854775807 1073741824, tidb_memory_debug_mode_alarm_ratio 0 9223372036854775807 0,
tidb_memory_debug_mode_min_heap_inuse -9223372036854775808 9223372036854775807 0,
tidb_memory_usage_alarm_keep_record_num 1 10000 5, tidb_merge_join_concurrency -1 256 1,
tidb_metric_query_range_duration 10 216000 60, tidb_metric_query_step 10 216000 60,
tidb_min_paging_size 1 9223372036854775807 128, tidb_non_prepared_plan_cache_size 1 100000 100,
tidb_opt_broadcast_cartesian_join 0 2 1, tidb_opt_correlation_exp_factor 0 2147483647 1,
tidb_opt_join_reorder_threshold 0 63 0, tidb_opt_limit_push_down_threshold 0 2147483647 100,
tidb_opt_range_max_size 0 9223372036854775807 67108864, tidb_optimizer_selectivity_level 0 2147483647 0,
tidb_plan_cache_max_plan_size 0 18446744073709551615 2097152, tidb_pprof_sql_cpu 0 1 0,
tidb_prepared_plan_cache_size 1 100000 100, tidb_projection_concurrency -1 256 -1,
tidb_query_log_max_len 0 1073741824 4096, tidb_retry_limit -1 9223372036854775807 10, tidb_row_format_version 1 2 2,
tidb_session_plan_cache_size 1 100000 100, tidb_shard_allocate_step 1 9223372036854775807 9223372036854775807,
tidb_slow_log_threshold -1 9223372036854775807 300, tidb_source_id 1 15 1, tidb_stats_load_sync_wait 0 2147483647 100,
tidb_stmt_summary_max_sql_length 0 2147483647 4096, tidb_stmt_summary_max_stmt_count 1 32767 3000,
tidb_stmt_summary_refresh_interval 1 2147483647 1800, tidb_store_limit 0 9223372036854775807 0,
tidb_streamagg_concurrency -1 256 1, tidb_sysproc_scan_concurrency 1 2147483647 1, tidb_table_cache_lease 1 10 3,
tidb_tmp_table_max_size 1048576 137438953472 67108864, tidb_top_sql_max_meta_count 1 10000 5000,
tidb_top_sql_max_time_series_count 1 5000 100, tidb_ttl_delete_batch_size 1 10240 100,
tidb_ttl_delete_rate_limit 0 9223372036854775807 0, tidb_ttl_running_tasks -1 256 -1,
tidb_ttl_scan_batch_size 1 10240 500, tidb_txn_commit_batch_size 1 1073741824 16384,
tidb_wait_split_region_timeout 1 2147483647 300, tidb_window_concurrency -1 256 -1,
tiflash_fine_grained_shuffle_batch_size 1 18446744073709551615 8192,
tiflash_fine_grained_shuffle_stream_count -1 1024 0, tiflash_mem_quota_query_per_node -1 9223372036854775807 0,
tikv_client_read_timeout 0 2147483647 0, tmp_table_size 1024 18446744073709551615 16777216,
validate_password.length 0 2147483647 8, validate_password.mixed_case_count 0 2147483647 1,
validate_password.number_count 0 2147483647 1, validate_password.special_char_count 0 2147483647 1
"""
NUMBERS = MappingProxyType(
    {
        name: (int(least), int(most), value)
        for name, least, most, value in (line.split() for line in _NUMBERS.split(","))
    }
)
"""Whole numbers: the least, the greatest, and the value of a new server."""

_WORDS = """
delay_key_write ON OFF|ON|ALL
enforce_gtid_consistency OFF OFF|ON|WARN
innodb_default_row_format dynamic redundant|compact|dynamic
innodb_file_format Barracuda Antelope|Barracuda
query_cache_type OFF OFF|ON|DEMAND
rpl_semi_sync_master_wait_point AFTER_SYNC AFTER_SYNC|AFTER_COMMIT
session_track_gtids OFF OFF|OWN_GTID|ALL_GTIDS
tidb_ddl_reorg_priority PRIORITY_LOW PRIORITY_LOW|PRIORITY_NORMAL|PRIORITY_HIGH
tidb_enable_clustered_index ON OFF|ON|INT_ONLY
tidb_enable_noop_functions OFF OFF|ON|WARN
tidb_enable_noop_variables ON OFF|ON
tidb_enable_table_partition ON OFF|ON|AUTO
tidb_force_priority NO_PRIORITY NO_PRIORITY|LOW_PRIORITY|HIGH_PRIORITY|DELAYED
tidb_gc_scan_lock_mode LEGACY PHYSICAL|LEGACY
tidb_mem_oom_action CANCEL CANCEL|LOG
tidb_multi_statement_mode OFF OFF|ON|WARN
tidb_partition_prune_mode dynamic static|dynamic|static-only|dynamic-only
tidb_placement_mode STRICT STRICT|IGNORE
tidb_replica_read leader leader|prefer-leader|follower|leader-and-follower|closest-replicas|closest-adaptive|learner
tidb_txn_assertion_level FAST OFF|FAST|STRICT
tidb_txn_mode pessimistic pessimistic|optimistic|-
transaction_isolation REPEATABLE-READ READ-UNCOMMITTED|READ-COMMITTED|REPEATABLE-READ|SERIALIZABLE
tx_isolation REPEATABLE-READ READ-UNCOMMITTED|READ-COMMITTED|REPEATABLE-READ|SERIALIZABLE
validate_password.policy MEDIUM LOW|MEDIUM|STRONG
"""
WORDS = MappingProxyType(
    {
        name: (value.strip("-"), tuple(word.strip("-") for word in words.split("|")))
        for name, value, words in map(str.split, _WORDS.strip().splitlines())
    }
)
"""The value of a new server, and all that it may be; a number from 0 stands for one of them."""
