"""Behaviours of what can be asked for: TiDB's SQL, and settings, their defaults and TiCDC's errors."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases import option_names
from simulator.releases.behaviour import section

SQL = section("what can be asked for", "SQL")
SETTING = section("what can be asked for", "settings")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SettingBehaviours:
    """Which SQL TiDB accepts, and the settings of a changefeed."""

    default_functions: frozenset[str] = SQL(
        "Functions that may be a column's default beside those of TiDB 8.0",
        "tidb ddl/add_column.go getFuncCallDefaultValue",
        elements={"8.1+; new": {"JSON_ARRAY", "JSON_OBJECT", "JSON_QUOTE", "VEC_FROM_TEXT"}},
    )
    added_default_functions: bool = SQL(
        "Whether ADD COLUMN takes DATE_FORMAT and STR_TO_DATE as a default",
        "tidb ddl/column.go generateOriginDefaultValue",
        "tidb#52676",
        when="8.1+; new",
    )
    bounds_are_tuples: bool = SQL(
        "Whether the bounds of RANGE COLUMNS increase as tuples; elsewhere the first greater column decides, even if "
        "columns before it are less",
        "tidb ddl/partition.go checkTwoRangeColumns",
        "tidb#54829",
        when="6.5.11–6.5, 7.1.6–7.1, 7.5.3–7.5, 8.1.1–8.1, 8.3+; new",
    )
    parent_databases: bool = SQL(
        "Whether SHOW CREATE TABLE names the database of a parent in the table's own",
        "tidb executor/show.go constructResultOfShowCreateTable",
        "tidb#38119",
        "tidb#51837",
        when="6.4–8.0",
    )
    ttl_job_interval: str = SQL(
        "The TTL_JOB_INTERVAL of a table that does not set it",
        "tidb pkg/ddl/ttl.go DefaultTTLJobInterval",
        "tidb#57758",
        values={"1h": "classic; new 8.5", "24h": "new 9.0.0-beta.1, 9.0.0-beta.2.pre, 26.3+"},
    )
    ignores_foreign_keys: bool = SQL(
        "Whether UPDATE, DELETE and ON DUPLICATE KEY UPDATE with IGNORE leave out rows that break a foreign key, "
        "with a warning; elsewhere they fail",
        "tidb executor/write.go updateRecord",
        "tidb#56682",
        when="8.5+; new",
    )
    global_indexes: bool = SQL(
        "Whether a unique key that lacks a column of the partitioning may be GLOBAL, and one that is not is "
        "refused by 8264, not 1503",
        "tidb ddl/partition.go checkPartitioningKeysConstraints",
        when="8.4+; new",
    )
    default_parentheses: bool = SQL(
        "Whether DEFAULT takes a literal or a column in parentheses, of which TiDB then refuses the column",
        "tidb parser/parser.y DefaultValueExpr",
        when="8.1+; new",
    )
    mysql_version: str = SQL(
        "The version of MySQL that VERSION() begins with",
        "tidb parser/mysql/const.go ServerVersion",
        values={"5.7.25": "4.0–7.3", "8.0.11": "7.4+; new"},
    )
    gb18030: bool = SQL(
        "Whether the character set gb18030 is known", "tidb parser/charset/charset.go", when="8.1+; new"
    )
    sys_database: bool = SQL("Whether there is the database sys", "tidb session/bootstrap.go", when="8.0+; new")
    pad_attributes: bool = SQL(
        "Whether SHOW COLLATION tells Pad_attribute, with other Sortlens", "tidb executor/show.go", when="8.3+; new"
    )
    vectors: bool = SQL(
        "Whether there are columns of type VECTOR and indexes on them", "tidb parser/parser.y", when="8.4+; new"
    )
    index_splits: bool = SQL(
        "Whether an index has PRE_SPLIT_REGIONS", "tidb parser/parser.y IndexOption", when="8.5+; new"
    )
    soft_deletes: bool = SQL(
        "Whether tables have SOFTDELETE and ACTIVE_ACTIVE, on TiDB's branch feature/active-active: their DELETEs only mark "
        "rows, which TiCDC sends as DELETE, and it drops what removes rows",
        "tidb pkg/ddl/soft_delete.go",
        "pkg/common/event/active_active.go FilterDMLEvent",
        when="new 26.3+",
    )
    lone_null_refused: bool = SQL(
        "Whether a NULL for a NOT NULL column is an error in an INSERT of one row without strict mode, too; "
        "elsewhere it becomes the zero of its type, as in an INSERT of several rows",
        "executor/select.go ResetContextOfStmt",
        "TiDB 7.5.7, as measured",
        when="7.5.7–7.5, 8.4+; new",
    )
    options: frozenset[str] = SETTING(
        "Which of the settings that not every release has it knows",
        "pkg/config/*.go",
        "pkg/cmd/util StrictDecodeFile",
        then=": `?name` is a parameter of the sink-uri, which is ignored elsewhere, the others are keys and tables of "
        "changefeed.toml, which is refused elsewhere.",
        members="settings",
        elements={
            "4.0–7.3": {"enable-old-value"},
            "4.0–6.2": {"filter.ddl-allow-list"},
            "4.0–6.1": {"cyclic-replication"},
            "4.0.2–6.0, 6.6+; new": {"scheduler"},
            "4.0.2–6.0": {"scheduler.polling-time", "scheduler.type"},
            "4.0.3+; new": {"?kafka-client-id"},
            "4.0.3–6.0": {"?registry"},
            "4.0.8+; new": {"force-replicate"},
            "4.0.9+; new": {"?max-batch-size", "check-gc-safe-point"},
            "4.0.10+; new": {"?auto-create-topic"},
            "4.0.14–4.0, 5.0.3+; new": {"?sasl-mechanism", "?sasl-user", "?sasl-password"},
            "5.2.4–5.2, 5.3.1–5.3, 5.4.1+; new": {"?dial-timeout", "?read-timeout", "?write-timeout"},
            "5.3+; new": {"consistent"},
            "5.4+; new": {"?enable-tidb-extension", "sink.column-selectors"},
            "6.0+; new": {"sink.dispatchers.topic"},
            "6.1+; new": option_names.KERBEROS
            | option_names.AVRO_MODES
            | {"sink.dispatchers.partition", "sink.schema-registry"},
            "6.1.1+; new": {"?transaction-atomicity", "sink.transaction-atomicity"},
            "6.1.3–6.1, 6.5+; new": {"sink.encoder-concurrency"},
            "6.1.7–6.1, 6.5.3–6.5, 7.1+; new": {"sink.kafka-config"},
            "6.1.7–6.1, 6.5.3–6.5, 7.1.1+; new": option_names.OAUTH,
            "6.2+; new": {"filter.event-filters"},
            "6.3+; new": {"enable-sync-point", "sync-point-interval", "sync-point-retention"},
            "6.4+; new": {"sink.csv"},
            "6.5+; new": option_names.STORAGE,
            "6.5.3–6.5, 7.1+; new": {"?insecure-skip-verify", "sink.file-index-digit"},
            "6.5.4–6.5, 7.1.1–7.1, 7.3+; new": {"sink.csv.binary-encoding-method"},
            "6.5.4–6.5, 7.1.2–7.1, 7.3+; new": option_names.LARGE_MESSAGES,
            "6.5.4–6.5, 7.1.2–7.1, 7.4+; new": {"sink.advance-timeout-in-sec"},
            "6.5.6–6.5, 7.1+; new": {"sink.cloud-storage-config"},
            "6.5.6–6.5, 7.1.3–7.1, 7.3+; new": {"sink.cloud-storage-config.output-column-id"},
            "6.5.6–6.5, 7.1.2–7.1, 7.5+; new": {"changefeed-error-stuck-duration"},
            "6.5.6–6.5, 7.1.3–7.1, 7.5+; new": {"sql-mode"},
            "6.5.6–6.5, 7.1.3–7.1, 7.5.1+; new": option_names.CLEANUP,
            "6.5.6–6.5, 7.1.3–7.1, 7.5.3+; new": option_names.COMPATIBLE,
            "6.5.7–6.5, 7.1.3–7.1, 7.5.1+; new": {"consistent.memory-usage"},
            "6.5.8–6.5, 7.1.4–7.1, 7.5.1+; new": {"synced-status"},
            "6.5.8–6.5, 7.6+; new": {"enable-table-monitor"},
            "6.5.10–6.5, 7.1.6–7.1, 7.5.3–7.5, 8.1.1+; new": {
                "sink.cloud-storage-config.output-raw-change-event",
                "sink.kafka-config.output-raw-change-event",
            },
            "6.6+; new": {"?required-acks", "sink.enable-kafka-sink-v2"},
            "6.6+": {"scheduler.region-per-span"},
            "7.0+; new": option_names.SPANS,
            "7.1+; new": option_names.KAFKA_KEYS
            | option_names.UPDATED_COLUMNS
            | {"?schema-registry", "integrity", "sink.mysql-config", "sink.safe-mode"},
            "7.1.3–7.1, 7.5.3+; new": {"sink.content-compatible"},
            "7.1.4+; new": option_names.AVRO_WATERMARK,
            "7.2+; new": option_names.DELETE_ONLY,
            "7.2": option_names.LARGE_MESSAGES_7_2,
            "7.3+; new": option_names.CLAIM_CHECK,
            "7.3": option_names.CLAIM_CHECK_7_3,
            "7.4+; new": option_names.COMPRESSION
            | {"sink.kafka-config.glue-schema-registry-config", "sink.pulsar-config"},
            "7.5+; new": option_names.INDEX_RULES,
            "7.5.2+; new": {
                "?encoding-format",
                "sink.kafka-config.codec-config.encoding-format",
                "sink.send-bootstrap-in-msg-count",
                "sink.send-bootstrap-interval-in-sec",
            },
            "7.5.2–7.5, 8.0+; new": {"sink.send-bootstrap-to-all-partition"},
            "7.5.2–7.5, 8.1+; new": option_names.OPEN,
            "7.5.3–7.5, 8.1.1+; new": {"sink.send-all-bootstrap-at-start"},
            "7.6+; new": option_names.DEBEZIUM_SCHEMA | {"sink.csv.output-old-value"},
            "8.0+; new": {"sink.csv.output-handle-key"},
            "8.1+; new": option_names.DEBEZIUM_OLD,
            "8.4+; new": option_names.RAW_VALUE,
            "8.5.7+; new 8.5.7–8.5": {"?max-retry"},
            "new 8.5+, 9.0.0-beta.2.pre": {
                "scheduler.region-count-per-span",
                "scheduler.scheduling-task-count-per-node",
                "sink.csv.output-field-header",
            },
            "new 8.5+": option_names.BALANCE | option_names.ROW_KEY,
            "new 8.5.5+": {"scheduler.force-split", "scheduler.region-count-refresh-interval"},
            "new 8.5.6+": {"?use-table-id-as-path", "sink.cloud-storage-config.use-table-id-as-path"},
            "new 8.5.7–8.5, 26.3.3+": option_names.SPOOL,
            "new 8.5.7–8.5": option_names.TABLE_ROUTES,
            "new 8.5.8–8.5": option_names.EVENT_COLLECTOR,
            "new 26.3+": option_names.ACTIVE_ACTIVE,
            "new 9.0.0-beta.1, 9.0.0-beta.2.pre": {"scheduler.split-number-per-node"},
        },
    )
    protocols: frozenset[str] = SETTING(
        "Names that `protocol` takes, in any case",
        "cdc/sink/codec/interface.go",
        "pkg/config/sink_protocol.go",
        members="protocol",
        # The new architecture's parser knows maxwell, canal and craft, and no encoder is for them (pkg/sink/codec/builder.go);
        # those of avro, debezium and simple do not build in 9.0.0-beta.1 (pkg/sink/codec/encoder_builder.go).
        elements={
            "4.0.2+; new": {"default"},
            "4.0.2+": {"canal"},
            "4.0.3+; new 8.5+, 9.0.0-beta.2.pre": {"avro"},
            "4.0.6+": {"maxwell"},
            "4.0.9+; new": {"canal-json"},
            "5.2+": {"craft"},
            "5.4+; new": {"open-protocol"},
            "6.1+; new 8.5+, 9.0.0-beta.2.pre": {"flat-avro"},
            "6.4+; new": {"csv"},
            "7.5.2+; new 8.5+, 9.0.0-beta.2.pre": {"simple"},
            "7.6+; new 8.5+, 9.0.0-beta.2.pre": {"debezium"},
            "new 26.3.3+": {"debezium-avro"},
        },
    )
    unknown_protocol: str = SETTING(
        "TiCDC's code for a protocol that is missing or unknown",
        "cdc/sink/codec/interface.go",
        "pkg/config/sink_protocol.go",
        then="; empty: a warning, and Open Protocol is taken.",
        default_of="protocol",
        values={"": "4.0–5.3", "CDC:ErrMQSinkUnknownProtocol": "5.4–6.2", "CDC:ErrSinkUnknownProtocol": "6.3+; new"},
    )
    uri_bound_by_gin: bool = SETTING(
        "Whether the sink-uri's parameters are read by gin",
        "pkg/sink/kafka/options.go",
        then=": an empty one is a zero, and what does not parse is CDC:ErrMySQLInvalidConfig, or as `one_kafka_code` says. "
        "Elsewhere an empty one is as none, and what does not parse is CDC:ErrKafkaInvalidConfig.",
        sink="kafka",
        when="7.1+; new",
    )
    client_error: str = SETTING(
        "TiCDC's code for settings that its client of Kafka refuses",
        "cdc/sink/**/mq",
        "cdc/sinkv2",
        sink="kafka",
        values={
            "CDC:ErrKafkaNewSaramaProducer": "4.0–6.5",
            "CDC:ErrKafkaNewProducer": "6.6+; new 8.5–8.5.7, 26.3+, 9.0.0-beta.1, 9.0.0-beta.2.pre",
            "CDC:ErrNewKafkaSink": "new 8.5.8–8.5",
        },
    )
    one_kafka_code: bool = SETTING(
        "Whether what the Kafka sink refuses of topic expressions, partition-num, required-acks, kafka-client-id "
        "and of what does not parse is CDC:ErrKafkaInvalidConfig",
        "pkg/sink/kafka/options.go",
        "downstreamadapter/sink/eventrouter/topic/expression.go",
        then=". Elsewhere each has a code of its own.",
        sink="kafka",
        when="new 8.5.8–8.5",
    )
    codec_error: str = SETTING(
        "TiCDC's code for an encoder's option that is out of range",
        "cdc/sink/codec",
        "pkg/sink/codec",
        values={
            "CDC:ErrKafkaInvalidConfig": "4.0–5.4",
            "CDC:ErrMQCodecInvalidConfig": "6.0–6.2",
            "CDC:ErrCodecInvalidConfig": "6.3+; new",
        },
    )
    max_batch_size: int = SETTING(
        "Default of `max-batch-size`",
        "cdc/sink/codec/json.go",
        "pkg/sink/codec/common/config.go",
        then="; 0: no limit.",
        protocols=("open-protocol",),
        default_of="max-batch-size",
        values={0: "4.0–4.0.8", 4096: "4.0.9–4.0.12, 5.0.0", 16: "4.0.13–4.0, 5.0.1+; new"},
    )
    max_message_bytes: int = SETTING(
        "Default of `max-message-bytes`",
        "cdc/sink/codec/json.go",
        "pkg/config/sink.go",
        sink="kafka",
        default_of="max-message-bytes",
        values={
            536870912: "4.0–4.0.8",
            67108864: "4.0.9–4.0.15, 5.0–5.0.5, 5.1–5.1.3, 5.2–5.2.1",
            1048576: "4.0.16–4.0, 5.2.2–5.2.3, 5.3.0",
            10485760: "5.0.6–5.0, 5.1.4–5.1, 5.2.4–5.2, 5.3.1+; new",
        },
    )
    batch_size_sets_bytes: bool = SETTING(
        "Whether `max-batch-size` of the sink-uri sets max-message-bytes in its stead",
        "cdc/sink/mq.go",
        sink="kafka",
        settings=("max-batch-size",),
        when="4.0.9",
    )
    new_topic_partitions: int = SETTING(
        "Partitions of a topic that TiCDC creates without `partition-num`",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go",
        sink="kafka",
        default_of="partition-num",
        values={
            4: "4.0–4.0.15, 5.0–5.0.5, 5.1–5.1.3, 5.2–5.2.3, 5.3.0",
            3: "4.0.16–4.0, 5.0.6–5.0, 5.1.4–5.1, 5.2.4–5.2, 5.3.1+; new",
        },
    )
    partition_num_limits: bool = SETTING(
        "Whether TiCDC uses only the first `partition-num` partitions of a default topic that has more; "
        "elsewhere all of them",
        "cdc/sink/mq/manager/kafka_manager.go",
        "tiflow issue 9952",
        sink="kafka",
        settings=("partition-num",),
        when="4.0–5.4, 6.5.6–6.5, 7.1.3–7.1, 7.5+; new",
    )
    refuses_zero_partitions: bool = SETTING(
        "Whether `partition-num=0` is an error, not as if it were not given",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go",
        sink="kafka",
        settings=("partition-num",),
        when="4.0.5, 4.0.16–4.0, 5.2.4–5.2, 5.3.1+; new",
    )
    case_sensitive: bool = SETTING(
        "Default of `case-sensitive`",
        "pkg/config/replica_config.go",
        default_of="case-sensitive",
        when="4.0–6.5.5, 6.6–7.1.2, 7.2–7.4",
    )
    old_value: bool = SETTING(
        "Default of `enable-old-value`, which cannot be chosen from 7.4 on",
        "pkg/config/config.go",
        default_of="enable-old-value",
        when="5.0+; new",
    )
    canal_forces_old_value: bool = SETTING(
        "Whether Canal-JSON turns enable-old-value on; elsewhere it is refused without",
        "pkg/cmd/cli",
        "pkg/config/sink.go",
        "cdc/sink/mq.go",
        protocols=("canal-json",),
        settings=("enable-old-value",),
        when="5.1.4–5.1, 5.2.4–5.2, 5.3.1+; new",
    )
    force_replicate_needs_old_value: bool = SETTING(
        "Whether force-replicate without enable-old-value is refused",
        "pkg/cmd/cli",
        "cdc/api/v2/api_helpers.go",
        settings=("force-replicate",),
        when="4.0.8–6.5.2, 6.6–7.1.0",
    )
    topic_limit: str = SETTING(
        "What becomes of a max-message-bytes above what topic or broker take",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go",
        sink="kafka",
        values={
            "ignored": ("4.0–4.0.15, 5.0–5.0.5, 5.1–5.1.3, 5.2–5.2.3, 5.3.0", "nothing, Kafka refuses the message"),
            "refuses": ("4.0.16–4.0", "an error for Open Protocol"),
            "lowers": ("5.0.6–5.0, 5.1.4–5.1, 5.2.4–5.2, 5.3.1+; new", "their limit counts"),
        },
    )
    topic_limit_margin: int = SETTING(
        "How many bytes below that limit max-message-bytes is kept",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go maxMessageBytesOverhead",
        sink="kafka",
        values={0: "4.0–7.3", 128: "7.4+; new"},
    )
    checks_insync_replicas: str = SETTING(
        "For which topics a replication-factor below `min.insync.replicas` is an error",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go validateMinInsyncReplicas, ValidateReplicationFactor",
        then="; `created` are those that TiCDC creates.",
        sink="kafka",
        values={
            "none": "4.0–5.3",
            "all": "5.4+; new 8.5–8.5.7, 26.3+, 9.0.0-beta.1, 9.0.0-beta.2.pre",
            "created": "new 8.5.8–8.5",
        },
    )
    refuses_zero_timeouts: bool = SETTING(
        "Whether a replication-factor, dial-, write- or read-timeout of zero or less is refused as it is read",
        "pkg/sink/kafka/options.go Apply",
        then=". Elsewhere the client of Kafka refuses such a timeout.",
        sink="kafka",
        settings=("replication-factor", "dial-timeout", "write-timeout", "read-timeout"),
        when="new 8.5.8–8.5",
    )
    refuses_unknown_handling: bool = SETTING(
        "Whether an unknown `large-message-handle-option` is an error; elsewhere it is none",
        "pkg/config/large_message.go AdjustAndValidate",
        sink="kafka",
        settings=("large-message-handle-option",),
        when="new 8.5.8–8.5",
    )
    sync_point_refusal: str = SETTING(
        "How enable-sync-point of a sink that is no database ends",
        "cdc/sink/mysql/syncpoint_store.go NewSyncPointStore",
        "cdc/sink/validator/validator.go checkSyncPointSchemeCompatibility",
        "pkg/config/replica_config.go ValidateAndAdjust",
        "downstreamadapter/sink/kafka_sink.go WriteBlockEvent",
        settings=("enable-sync-point",),
        values={
            "stops": ("4.0–6.6", "the owner finds no store of sync points, and the changefeed fails"),
            "refused": ("7.0+", "it is not created"),
            "invalid": ("new 8.5+", "its configuration is invalid"),
            "hangs": ("new 9.0.0-beta.1, 9.0.0-beta.2.pre", "it waits for its first sync point, which no sink writes"),
        },
    )
    refuses_bdr_mode: bool = SETTING(
        "Whether bdr-mode of a sink that is no database is refused; new forgets it",
        "cdc/sink/**/validator.go checkBDRMode",
        "pkg/config/changefeed.go rmDBOnlyFields",
        settings=("bdr-mode",),
        when="classic",
    )
    tidb_extension_refusal: str = SETTING(
        "What the encoder of Open Protocol says to enable-tidb-extension=true",
        "cdc/sink/codec/common/config.go Validate",
        then="; empty: nothing, it has no effect.",
        protocols=("open-protocol",),
        settings=("enable-tidb-extension",),
        values={
            "": "4.0–5.4, 6.5.2–6.5, 7.1+; new",
            "enable-tidb-extension only support canal-json protocol": "6.0",
            "enable-tidb-extension only supports canal-json/avro protocol": "6.1–6.5.1, 6.6–7.0",
        },
    )
    kafka_refuses_tidb_extension: bool = SETTING(
        "Whether the Kafka sink refuses enable-tidb-extension, even as false, for other protocols than Canal-JSON",
        "cdc/sink/producer/kafka/config.go",
        sink="kafka",
        protocols=("open-protocol", "avro"),
        settings=("enable-tidb-extension",),
        when="5.4",
    )
