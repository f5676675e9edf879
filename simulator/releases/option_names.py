"""Settings that only some releases have, in groups that code asks for or that are long, and names that `ignore-event` accepts.

`?name` is a parameter of the sink-uri; the others are dotted keys or whole tables of changefeed.toml. Settings that are
not listed exist in every release. Checked at every tag: pkg/config/*.go (toml tags), cdc/sink/**, pkg/sink/**; for
`ignore-event` pkg/filter/sql_event_filter.go and utils.go SupportedEventTypes, pkg/binlog-filter/filter.go.
"""

from __future__ import annotations

LARGE = "sink.kafka-config.large-message-handle"

KERBEROS = frozenset(
    {
        "?enable-tls",
        *("?sasl-gssapi-auth-type", "?sasl-gssapi-user", "?sasl-gssapi-password", "?sasl-gssapi-keytab-path"),
        *("?sasl-gssapi-kerberos-config-path", "?sasl-gssapi-service-name", "?sasl-gssapi-realm"),
        "?sasl-gssapi-disable-pafxfast",
    }
)

KAFKA_KEYS = frozenset(
    f"sink.kafka-config.{name}"
    for name in (
        *("partition-num", "replication-factor", "kafka-version", "max-message-bytes", "compression"),
        *("kafka-client-id", "auto-create-topic", "dial-timeout", "write-timeout", "read-timeout", "required-acks"),
        *("sasl-user", "sasl-password", "sasl-gssapi-auth-type", "sasl-gssapi-keytab-path"),
        *("sasl-gssapi-kerberos-config-path", "sasl-gssapi-service-name", "sasl-gssapi-user"),
        *("sasl-gssapi-password", "sasl-gssapi-realm", "sasl-gssapi-disable-pafxfast"),
        *("enable-tls", "ca", "cert", "key", "insecure-skip-verify", "codec-config"),
    )
)
"""Keys that the sink-uri has, too."""

OAUTH = frozenset(
    {
        "sink.kafka-config.sasl-oauth-client-id",
        "sink.kafka-config.sasl-oauth-client-secret",
        "sink.kafka-config.sasl-oauth-token-url",
        "sink.kafka-config.sasl-oauth-scopes",
        "sink.kafka-config.sasl-oauth-grant-type",
        "sink.kafka-config.sasl-oauth-audience",
    }
)

STORAGE = frozenset(
    {"bdr-mode", "memory-quota", "sink.date-separator", "sink.enable-partition-separator", "sink.terminator"}
)

CLOUD = "sink.cloud-storage-config"

CLEANUP = frozenset(
    {f"{CLOUD}.{name}" for name in ("file-expiration-days", "file-cleanup-cron-spec", "flush-concurrency")}
)

SPOOL = frozenset({f"{mark}{name}" for mark in ("?", f"{CLOUD}.") for name in ("spool-disk-quota", "spool-base-dir")})

LARGE_MESSAGES = frozenset({LARGE})

COMPATIBLE = frozenset({"?content-compatible"})

UPDATED_COLUMNS = frozenset({"?only-output-updated-columns", "sink.only-output-updated-columns"})

DELETE_ONLY = frozenset({"ignore-ineligible-table", "sink.delete-only-output-handle-key-columns"})

LARGE_MESSAGES_7_2 = frozenset({"sink.large-message-only-handle-key-columns"})
"""Of the release that has no LARGE_MESSAGES."""

CLAIM_CHECK = frozenset({f"{LARGE}.claim-check-storage-uri"})

CLAIM_CHECK_7_3 = frozenset({f"{LARGE}.claim-check-compression"})

COMPRESSION = frozenset({f"{LARGE}.large-message-handle-compression"})

INDEX_RULES = frozenset({"sink.dispatchers.columns", "sink.dispatchers.index"})

OPEN = frozenset({"sink.open"})

DEBEZIUM_SCHEMA = frozenset({"?debezium-disable-schema", "sink.debezium-disable-schema"})

DEBEZIUM_OLD = frozenset({"sink.debezium"})

AVRO_MODES = frozenset({"?avro-decimal-handling-mode", "?avro-bigint-unsigned-handling-mode"})

AVRO_WATERMARK = frozenset({"?avro-enable-watermark"})

RAW_VALUE = frozenset({f"{LARGE}.claim-check-raw-value"})

ROW_KEY = frozenset({"?output-row-key", "sink.kafka-config.codec-config.output-row-key"})

TABLE_ROUTES = frozenset({"sink.dispatchers.target-schema", "sink.dispatchers.target-table"})

SPANS = frozenset(
    f"scheduler.{name}" for name in ("enable-table-across-nodes", "region-threshold", "write-key-threshold")
)

BALANCE = frozenset(
    f"scheduler.{name}"
    for name in (
        *("enable-splittable-check", "balance-score-threshold"),
        *("min-traffic-percentage", "max-traffic-percentage"),
    )
)

ACTIVE_ACTIVE = frozenset(
    {"enable-active-active", "active-active-progress-interval", "active-active-sync-stats-interval"}
)

EVENT_COLLECTOR = frozenset(
    {*("event-collector-batch-count", "event-collector-batch-bytes"), "consistent.event-collector-batch-count"}
)

UNRELEASED = frozenset(
    {
        *("?debezium-include-start-ts", "sink.debezium.include-start-ts"),
        *("?avro-include-before-value", "sink.kafka-config.codec-config.avro-include-before-value"),
        "filter.event-filters.ignore-update-only-columns",
        *("performance-mode", "only-output-pk-columns", "?only-output-pk-columns", "sink.only-output-pk-columns"),
    }
)
"""Settings of branches of ticdc from which no release has been made (master and release-8.5-20260213-v8.5.5, August
2026)."""

EVENTS_BY_SQL = frozenset(
    {
        *("all dml", "all ddl", "insert", "update", "delete"),
        *("create schema", "create database", "drop schema", "drop database"),
        *("create table", "drop table", "rename table", "truncate table", "alter table"),
        *("create view", "drop view"),
        *("add table partition", "drop table partition", "truncate table partition"),
    }
)
"""Types that a parser derives from the SQL text."""

EVENTS_BY_ACTION = frozenset(
    {
        *("modify schema charset and collate", "recover table"),
        *("modify table comment", "modify table charset and collate"),
        *("exchange table partition", "reorganize table partition"),
        *("alter table partitioning", "remove table partitioning"),
        *("add column", "drop column", "modify column", "set default value", "rebase auto id"),
        *(
            "add primary key",
            "drop primary key",
            "create index",
            "drop index",
            "rename index",
            "alter index visibility",
        ),
        *("alter ttl info", "alter ttl remove", "multi schema change"),
    }
)
"""With those that come from the SQL text, one name for each entry of the allow-list."""

FOREIGN_KEY_EVENTS = frozenset({"add foreign key", "drop foreign key"})
