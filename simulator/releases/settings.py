"""Behaviours of what can be asked for: TiDB's SQL, and settings, their defaults and TiCDC's errors."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import section

SQL = section("what can be asked for", "SQL")
SETTING = section("what can be asked for", "settings")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SettingBehaviours:
    """Which SQL TiDB accepts, and the settings of a changefeed."""

    default_functions: frozenset[str] = SQL(
        "Functions that may be a column's default beside those of TiDB 8.0 ((later: tidb %s))",
        "ddl/add_column.go getFuncCallDefaultValue",
        first=frozenset(),
    )
    global_indexes: bool = SQL(
        "Whether a unique key that lacks a column of the partitioning may be GLOBAL, and one that is not is refused "
        "by 8264, not 1503 ((8.4+: tidb %s))",
        "ddl/partition.go checkPartitioningKeysConstraints",
    )
    default_parentheses: bool = SQL(
        "Whether DEFAULT takes a literal or a column in parentheses, of which TiDB then refuses the column ((8.1+: "
        "tidb %s))",
        "parser/parser.y DefaultValueExpr",
    )
    mysql_version: str = SQL(
        "The version of MySQL that VERSION() begins with ((8.0.11 in 7.4+: tidb %s))",
        "parser/mysql/const.go ServerVersion",
        first="5.7.25",
    )
    gb18030: bool = SQL(
        "Whether the character set gb18030 is known ((not up to 8.0: tidb %s))", "parser/charset/charset.go"
    )
    sys_database: bool = SQL("Whether there is the database sys ((8.0+: tidb %s))", "session/bootstrap.go")
    pad_attributes: bool = SQL(
        "Whether SHOW COLLATION tells Pad_attribute, with other Sortlens ((8.3+: tidb %s))", "executor/show.go"
    )
    vectors: bool = SQL(
        "Whether there are columns of type VECTOR and indexes on them ((8.4+: tidb %s))", "parser/parser.y"
    )
    index_splits: bool = SQL("Whether an index has PRE_SPLIT_REGIONS ((8.5+: tidb %s))", "parser/parser.y IndexOption")
    soft_deletes: bool = SQL(
        "Whether tables and databases have SOFTDELETE and ACTIVE_ACTIVE, which are not simulated ((26.3+: tidb %s))",
        "parser/parser.y TableOption",
    )
    lone_null_refused: bool = SQL(
        "Whether a NULL for a NOT NULL column is an error in an INSERT of one row without strict mode, too ((TiDB "
        "7.5.7, as measured, and 8.4+: %s)); elsewhere it becomes the zero of its type, as in an INSERT of several rows",
        "executor/select.go ResetContextOfStmt",
    )
    options: frozenset[str] = SETTING(
        "Which of the settings that not every release has it knows",
        "pkg/config/*.go",
        "pkg/cmd/util StrictDecodeFile",
        then=(
            ": `?name` is a parameter of the sink-uri, which is ignored elsewhere, the others are keys and tables of "
            "changefeed.toml, which is refused elsewhere (%s, %s)."
        ),
        # TiCDC has the second from 4.0.5 and the third from 4.0.3 (ddl-white-list before); we accept them from 4.0.0.
        first=frozenset({"cyclic-replication", "enable-old-value", "filter.ddl-allow-list"}),
        members="settings",
    )
    protocols: frozenset[str] = SETTING(
        "Names that `protocol` takes, in any case ((canal-json from 4.0.9, open-protocol by that name from 5.4: %s, "
        "%s))",
        "cdc/sink/codec/interface.go",
        "pkg/config/sink_protocol.go",
        first=frozenset(),
        members="protocol",
    )
    unknown_protocol: str = SETTING(
        "TiCDC's code for a protocol that is missing or unknown ((5.4+: there))",
        "cdc/sink/codec/interface.go",
        "pkg/config/sink_protocol.go",
        then="; empty: a warning, and Open Protocol is taken (up to 5.3).",
        first="",
        default_of="protocol",
    )
    uri_bound_by_gin: bool = SETTING(
        "Whether the sink-uri's parameters are read by gin ((7.1+: %s))",
        "pkg/sink/kafka/options.go",
        then=(
            ": an empty one is a zero, and what does not parse is CDC:ErrMySQLInvalidConfig (new from 8.5.8 another "
            "code). Before, an empty one is as none, and CDC:ErrKafkaInvalidConfig."
        ),
        sink="kafka",
    )
    client_error: str = SETTING(
        "TiCDC's code for settings that its client of Kafka refuses ((%s, from 6.6 %s))",
        "cdc/sink/**/mq",
        "cdc/sinkv2",
        first="CDC:ErrKafkaNewSaramaProducer",
        sink="kafka",
    )
    one_kafka_code: bool = SETTING(
        "Whether what the Kafka sink refuses of topic expressions, partition-num, required-acks, kafka-client-id and "
        "of what does not parse is CDC:ErrKafkaInvalidConfig ((new from 8.5.8: %s, %s))",
        "pkg/sink/kafka/options.go",
        "downstreamadapter/sink/eventrouter/topic/expression.go",
        then=". Elsewhere each has a code of its own.",
        sink="kafka",
    )
    codec_error: str = SETTING(
        "TiCDC's code for an encoder's option that is out of range ((%s, from 7.0 %s))",
        "cdc/sink/codec",
        "pkg/sink/codec",
        first="CDC:ErrKafkaInvalidConfig",
    )
    max_batch_size: int = SETTING(
        "Default of `max-batch-size`",
        "cdc/sink/codec/json.go",
        "pkg/sink/codec/common/config.go",
        then=": 4096 in 4.0.9–4.0.12 and 5.0.0, then 16; 0: no limit (up to 4.0.8). From %s, %s.",
        first=0,
        protocols=("open-protocol",),
        default_of="max-batch-size",
    )
    max_message_bytes: int = SETTING(
        "Default of `max-message-bytes`",
        "cdc/sink/codec/json.go",
        "pkg/config/sink.go",
        then=(
            ": 512 MiB up to 4.0.8, 64 MiB up to 4.0.15, 5.0.5, 5.1.3 and 5.2.1, 1 MiB in 4.0.16, 5.2.2, 5.2.3 and "
            "5.3.0, then 10 MiB (%s; %s)."
        ),
        first=512 << 20,
        sink="kafka",
        default_of="max-message-bytes",
    )
    batch_size_sets_bytes: bool = SETTING(
        "Whether `max-batch-size` of the sink-uri sets max-message-bytes in its stead ((4.0.9: %s))",
        "cdc/sink/mq.go",
        sink="kafka",
        settings=("max-batch-size",),
    )
    new_topic_partitions: int = SETTING(
        "Partitions of a topic that TiCDC creates without `partition-num`",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go",
        then=": 4, or 3 (4.0.16, 5.0.6, 5.1.4+, 5.2.4, 5.3.1+: %s, %s).",
        first=4,
        sink="kafka",
        default_of="partition-num",
    )
    partition_num_limits: bool = SETTING(
        "Whether TiCDC uses only the first `partition-num` partitions of a default topic that has more ((not in 6.0 to "
        "6.5.5, 6.6 to 7.1.2, 7.2 to 7.4: %s; tiflow issue 9952)); elsewhere all of them",
        "cdc/sink/mq/manager/kafka_manager.go",
        first=True,
        sink="kafka",
        settings=("partition-num",),
    )
    refuses_zero_partitions: bool = SETTING(
        "Whether `partition-num=0` is an error ((4.0.5, 4.0.16, 5.2.4, 5.3.1+: there)), not as if it were not given",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go",
        sink="kafka",
        settings=("partition-num",),
    )
    case_sensitive: bool = SETTING(
        "Default of `case-sensitive`",
        "pkg/config/replica_config.go",
        then=": false from 6.5.6, 7.1.3, 7.5 (%s).",
        first=True,
        default_of="case-sensitive",
    )
    old_value: bool = SETTING(
        "Default of `enable-old-value` ((true from 5.0: %s)), which cannot be chosen from 7.4 on",
        "pkg/config/config.go",
        default_of="enable-old-value",
    )
    canal_forces_old_value: bool = SETTING(
        "Whether Canal-JSON turns enable-old-value on ((5.1.4+, 5.2.4, 5.3.1+: %s, %s)); elsewhere it is refused "
        "without ((%s))",
        "pkg/cmd/cli",
        "pkg/config/sink.go",
        "cdc/sink/mq.go",
        protocols=("canal-json",),
        settings=("enable-old-value",),
    )
    force_replicate_needs_old_value: bool = SETTING(
        "Whether force-replicate without enable-old-value is refused ((4.0.8–6.5.2, 6.6, 7.0, 7.1.0: %s, %s))",
        "pkg/cmd/cli",
        "cdc/api/v2/api_helpers.go",
        settings=("force-replicate",),
    )
    topic_limit: str = SETTING(
        "What becomes of a max-message-bytes above what topic or broker take",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go",
        values={
            "ignored": "nothing, Kafka refuses the message ((up to 4.0.15, 5.0.5, 5.1.3, 5.2.3 and in 5.3.0))",
            "refuses": "an error for Open Protocol ((4.0.16))",
            "lowers": "their limit counts ((5.0.6, 5.1.4+, 5.2.4, 5.3.1+: %s, %s))",
        },
        first="ignored",
        sink="kafka",
    )
    topic_limit_margin: int = SETTING(
        "How many bytes below that limit max-message-bytes is kept ((128 from 7.4: there, maxMessageBytesOverhead))",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go",
        first=0,
        sink="kafka",
    )
    checks_insync_replicas: str = SETTING(
        "For which topics a replication-factor below `min.insync.replicas` is an error",
        "cdc/sink/producer/kafka",
        "pkg/sink/kafka/options.go",
        then=(
            ": `none`, up to 5.3; `all` (5.4+: there, validateMinInsyncReplicas); `created`, those that TiCDC "
            "creates (new from 8.5.8: there, ValidateReplicationFactor)."
        ),
        first="none",
        sink="kafka",
    )
    refuses_zero_timeouts: bool = SETTING(
        "Whether a replication-factor, dial-, write- or read-timeout of zero or less is refused as it is read ((new "
        "from 8.5.8: there, Apply))",
        "pkg/sink/kafka/options.go",
        then=". Elsewhere the client of Kafka refuses such a timeout.",
        sink="kafka",
        settings=("replication-factor", "dial-timeout", "write-timeout", "read-timeout"),
    )
    refuses_unknown_handling: bool = SETTING(
        "Whether an unknown `large-message-handle-option` is an error ((new from 8.5.8: %s)); elsewhere it is none",
        "pkg/config/large_message.go AdjustAndValidate",
        sink="kafka",
        settings=("large-message-handle-option",),
    )
    sync_point_refusal: str = SETTING(
        "How enable-sync-point of a sink that is no database ends",
        "cdc/sink/mysql/syncpoint_store.go NewSyncPointStore",
        "cdc/sink/validator/validator.go checkSyncPointSchemeCompatibility",
        "pkg/config/replica_config.go ValidateAndAdjust",
        "downstreamadapter/sink/kafka_sink.go WriteBlockEvent",
        values={
            "stops": "the owner finds no store of sync points, and the changefeed fails ((6.3–6.6: %s))",
            "refused": "it is not created ((7.0+: %s))",
            "invalid": "its configuration is invalid ((new: %s))",
            "hangs": "it waits for its first sync point, which no sink writes ((new, 9.0.0-beta.1 and -beta.2.pre: %s))",
        },
        first="stops",
        settings=("enable-sync-point",),
    )
    refuses_bdr_mode: bool = SETTING(
        "Whether bdr-mode of a sink that is no database is refused ((classic: %s)); new forgets it ((%s))",
        "cdc/sink/**/validator.go checkBDRMode",
        "pkg/config/changefeed.go rmDBOnlyFields",
        first=True,
        settings=("bdr-mode",),
    )
    tidb_extension_refusal: str = SETTING(
        "What the encoder of Open Protocol says to enable-tidb-extension=true ((an error in 6.0–6.5.1, 6.6, 7.0: %s))",
        "cdc/sink/codec/common/config.go Validate",
        then="; empty: nothing, it has no effect.",
        first="",
        protocols=("open-protocol",),
        settings=("enable-tidb-extension",),
    )
    kafka_refuses_tidb_extension: bool = SETTING(
        "Whether the Kafka sink refuses enable-tidb-extension, even as false, for other protocols than Canal-JSON "
        "((5.4: %s))",
        "cdc/sink/producer/kafka/config.go",
        sink="kafka",
        protocols=("open-protocol", "avro"),
        settings=("enable-tidb-extension",),
    )
