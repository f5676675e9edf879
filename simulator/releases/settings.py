"""Behaviours of settings: those that exist, their defaults, and TiCDC's errors."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.releases.behaviour import section

SETTING = section("what can be asked for", "settings")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SettingBehaviours:
    """The settings of a changefeed."""

    options: frozenset[str] = field(
        metadata=SETTING(
            "Which of the settings that not every release has it knows: `?name` is a parameter of the sink-uri, which "
            "is ignored elsewhere, the others are keys and tables of changefeed.toml, which is refused elsewhere (%s, "
            "%s).",
            "pkg/config/*.go",
            "pkg/cmd/util StrictDecodeFile",
        )
    )

    protocols: frozenset[str] = field(
        metadata=SETTING(
            "Names that `protocol` takes, in any case (canal-json from 4.0.9, open-protocol by that name from 5.4: "
            "%s, %s).",
            "cdc/sink/codec/interface.go",
            "pkg/config/sink_protocol.go",
        )
    )

    unknown_protocol: str = field(
        metadata=SETTING(
            "TiCDC's code for a protocol that is missing or unknown (5.4+: there); empty: a warning, and Open "
            "Protocol is taken (up to 5.3).",
            "cdc/sink/codec/interface.go",
            "pkg/config/sink_protocol.go",
        )
    )

    uri_bound_by_gin: bool = field(
        metadata=SETTING(
            "Whether the sink-uri's parameters are read by gin (7.1+: %s): an empty one is a zero, and what does not "
            "parse is CDC:ErrMySQLInvalidConfig (new from 8.5.8 another code). Before, an empty one is as none, and "
            "CDC:ErrKafkaInvalidConfig.",
            "pkg/sink/kafka/options.go",
        )
    )

    client_error: str = field(
        metadata=SETTING(
            "TiCDC's code for settings that its client of Kafka refuses (%s, from 6.6 %s).",
            "cdc/sink/**/mq",
            "cdc/sinkv2",
        )
    )

    one_kafka_code: bool = field(
        metadata=SETTING(
            "Whether what the Kafka sink refuses of topic expressions, partition-num, required-acks, kafka-client-id "
            "and of what does not parse is CDC:ErrKafkaInvalidConfig (new from 8.5.8: %s, %s). Elsewhere each has a "
            "code of its own.",
            "pkg/sink/kafka/options.go",
            "downstreamadapter/sink/eventrouter/topic/expression.go",
        )
    )

    codec_error: str = field(
        metadata=SETTING(
            "TiCDC's code for an encoder's option that is out of range (%s, from 7.0 %s).",
            "cdc/sink/codec",
            "pkg/sink/codec",
        )
    )

    max_batch_size: int = field(
        metadata=SETTING(
            "Default of `max-batch-size`: 4096 in 4.0.9–4.0.12 and 5.0.0, then 16; 0: no limit (up to 4.0.8). From "
            "%s, %s.",
            "cdc/sink/codec/json.go",
            "pkg/sink/codec/common/config.go",
        )
    )

    max_message_bytes: int = field(
        metadata=SETTING(
            "Default of `max-message-bytes`: 512 MiB up to 4.0.8, 64 MiB up to 4.0.15, 5.0.5, 5.1.3 and 5.2.1, 1 MiB "
            "in 4.0.16, 5.2.2, 5.2.3 and 5.3.0, then 10 MiB (%s; %s).",
            "cdc/sink/codec/json.go",
            "pkg/config/sink.go",
        )
    )

    batch_size_sets_bytes: bool = field(
        metadata=SETTING(
            "Whether `max-batch-size` of the sink-uri sets max-message-bytes in its stead (4.0.9: %s).",
            "cdc/sink/mq.go",
        )
    )

    new_topic_partitions: int = field(
        metadata=SETTING(
            "Partitions of a topic that TiCDC creates without `partition-num`: 4, or 3 (4.0.16, 5.0.6, 5.1.4+, 5.2.4, "
            "5.3.1+: %s, %s).",
            "cdc/sink/producer/kafka",
            "pkg/sink/kafka/options.go",
        )
    )

    refuses_zero_partitions: bool = field(
        metadata=SETTING(
            """Whether `partition-num=0` is an error (4.0.5, 4.0.16, 5.2.4, 5.3.1+: there), not as if it were not given.""",
            "cdc/sink/producer/kafka",
            "pkg/sink/kafka/options.go",
        )
    )

    case_sensitive: bool = field(
        metadata=SETTING(
            "Default of `case-sensitive`: false from 6.5.6, 7.1.3, 7.5 (%s).", "pkg/config/replica_config.go"
        )
    )

    old_value: bool = field(
        metadata=SETTING(
            "Default of `enable-old-value` (true from 5.0: %s), which cannot be chosen from 7.4 on.",
            "pkg/config/config.go",
        )
    )

    canal_forces_old_value: bool = field(
        metadata=SETTING(
            "Whether Canal-JSON turns enable-old-value on (5.1.4+, 5.2.4, 5.3.1+: %s, %s); elsewhere it is refused "
            "without (%s).",
            "pkg/cmd/cli",
            "pkg/config/sink.go",
            "cdc/sink/mq.go",
        )
    )

    force_replicate_needs_old_value: bool = field(
        metadata=SETTING(
            "Whether force-replicate without enable-old-value is refused (4.0.8–6.5.2, 6.6, 7.0, 7.1.0: %s, %s).",
            "pkg/cmd/cli",
            "cdc/api/v2/api_helpers.go",
        )
    )

    topic_limit: str = field(
        metadata=SETTING(
            "What becomes of a max-message-bytes above what topic or broker take. `ignored`: nothing, Kafka refuses "
            "the message (up to 4.0.15, 5.0.5, 5.1.3, 5.2.3 and in 5.3.0). `refuses`: an error for Open Protocol "
            "(4.0.16). `lowers`: their limit counts (5.0.6, 5.1.4+, 5.2.4, 5.3.1+: %s, %s).",
            "cdc/sink/producer/kafka",
            "pkg/sink/kafka/options.go",
        )
    )

    topic_limit_margin: int = field(
        metadata=SETTING(
            """How many bytes below that limit max-message-bytes is kept (128 from 7.4: there, maxMessageBytesOverhead).""",
            "cdc/sink/producer/kafka",
            "pkg/sink/kafka/options.go",
        )
    )

    checks_insync_replicas: str = field(
        metadata=SETTING(
            "For which topics a replication-factor below `min.insync.replicas` is an error: `none`, up to 5.3; `all` "
            "(5.4+: there, validateMinInsyncReplicas); `created`, those that TiCDC creates (new from 8.5.8: there, "
            "ValidateReplicationFactor).",
            "cdc/sink/producer/kafka",
            "pkg/sink/kafka/options.go",
        )
    )

    refuses_zero_timeouts: bool = field(
        metadata=SETTING(
            "Whether a replication-factor, dial-, write- or read-timeout of zero or less is refused as it is read "
            "(new from 8.5.8: there, Apply). Elsewhere the client of Kafka refuses such a timeout.",
            "pkg/sink/kafka/options.go",
        )
    )

    refuses_unknown_handling: bool = field(
        metadata=SETTING(
            "Whether an unknown `large-message-handle-option` is an error (new from 8.5.8: %s); elsewhere it is none.",
            "pkg/config/large_message.go AdjustAndValidate",
        )
    )

    tidb_extension_refusal: str = field(
        metadata=SETTING(
            "What the encoder of Open Protocol says to enable-tidb-extension=true (an error in 6.0–6.5.1, 6.6, 7.0: "
            "%s); empty: nothing, it has no effect.",
            "cdc/sink/codec/common/config.go Validate",
        )
    )

    kafka_refuses_tidb_extension: bool = field(
        metadata=SETTING(
            "Whether the Kafka sink refuses enable-tidb-extension, even as false, for other protocols than Canal-JSON "
            "(5.4: %s).",
            "cdc/sink/producer/kafka/config.go",
        )
    )
