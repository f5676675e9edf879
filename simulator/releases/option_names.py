"""Settings that only some releases have, and the names that `ignore-event` accepts, by the releases that introduced
them.

`?name` is a parameter of the sink-uri; the others are dotted keys or whole tables of changefeed.toml. Settings that are
not listed exist in every release. Checked at every tag: pkg/config/*.go (toml tags), cdc/sink/**, pkg/sink/**; for
`ignore-event` pkg/filter/sql_event_filter.go and utils.go SupportedEventTypes, pkg/binlog-filter/filter.go.
"""

from __future__ import annotations

LARGE = "sink.kafka-config.large-message-handle"

SASL = frozenset({"?sasl-mechanism", "?sasl-user", "?sasl-password"})
"""4.0.14+, 5.0.3+."""

TIMEOUTS = frozenset({"?dial-timeout", "?read-timeout", "?write-timeout"})
"""5.2.4, 5.3.1+, 5.4.1+."""

KERBEROS = frozenset(
    {
        "?enable-tls",
        *("?sasl-gssapi-auth-type", "?sasl-gssapi-user", "?sasl-gssapi-password", "?sasl-gssapi-keytab-path"),
        *("?sasl-gssapi-kerberos-config-path", "?sasl-gssapi-service-name", "?sasl-gssapi-realm"),
        "?sasl-gssapi-disable-pafxfast",
    }
)
"""6.1+."""

ATOMICITY = frozenset({"?transaction-atomicity", "sink.transaction-atomicity"})
"""6.1.1+."""

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
"""7.1+: keys that the sink-uri has, too."""

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
"""6.1.7, 6.5.3+, 7.1.1+."""

STORAGE = frozenset(
    {"bdr-mode", "memory-quota", "sink.date-separator", "sink.enable-partition-separator", "sink.terminator"}
)
"""6.5+."""

CSV_BINARY = frozenset({"sink.csv.binary-encoding-method"})
"""6.5.4+, 7.1.1+, 7.3+."""

CSV_OLD = frozenset({"sink.csv.output-old-value"})
"""7.6+."""

CSV_HANDLE = frozenset({"sink.csv.output-handle-key"})
"""8.0+."""

CSV_HEADER = frozenset({"sink.csv.output-field-header"})
"""The new architecture, from 8.5.4, and 9.0.0-beta.2.pre."""

CLOUD = "sink.cloud-storage-config"

COLUMN_ID = frozenset({f"{CLOUD}.output-column-id"})
"""6.5.6+, 7.1.3+, 7.3+."""

CLEANUP = frozenset(
    {f"{CLOUD}.{name}" for name in ("file-expiration-days", "file-cleanup-cron-spec", "flush-concurrency")}
)
"""6.5.6+, 7.1.3+, 7.5.1+, 7.6+."""

RAW_FILES = frozenset({f"{CLOUD}.output-raw-change-event"})
"""6.5.10+, 7.1.6+, 7.5.3+, 8.1.1+."""

TABLE_IDS = frozenset({"?use-table-id-as-path", f"{CLOUD}.use-table-id-as-path"})
"""The new architecture, 8.5.6+."""

SPOOL = frozenset({f"{mark}{name}" for mark in ("?", f"{CLOUD}.") for name in ("spool-disk-quota", "spool-base-dir")})
"""The new architecture, 8.5.7+ and 26.3.3+."""

SKIP_VERIFY = frozenset({"?insecure-skip-verify", "sink.file-index-digit"})
"""6.5.3+, 7.1+."""

LARGE_MESSAGES = frozenset({LARGE})
"""6.5.4+, 7.1.2+, 7.3+."""

COMPATIBLE = frozenset({"?content-compatible"})
"""6.5.6+, 7.1.3+, 7.5.3+, 7.6+."""

UPDATED_COLUMNS = frozenset({"?only-output-updated-columns", "sink.only-output-updated-columns"})
"""7.1+."""

DELETE_ONLY = frozenset({"ignore-ineligible-table", "sink.delete-only-output-handle-key-columns"})
"""7.2+."""

LARGE_MESSAGES_7_2 = frozenset({"sink.large-message-only-handle-key-columns"})
"""7.2.0 alone, which has no LARGE_MESSAGES."""

CLAIM_CHECK = frozenset({f"{LARGE}.claim-check-storage-uri"})
"""7.3+."""

CLAIM_CHECK_7_3 = frozenset({f"{LARGE}.claim-check-compression"})
"""7.3.0 alone."""

COMPRESSION = frozenset({f"{LARGE}.large-message-handle-compression"})
"""7.4+."""

INDEX_RULES = frozenset({"sink.dispatchers.columns", "sink.dispatchers.index"})
"""7.5+."""

SIMPLE = frozenset(
    {
        "?encoding-format",
        "sink.kafka-config.codec-config.encoding-format",
        "sink.send-bootstrap-in-msg-count",
        "sink.send-bootstrap-interval-in-sec",
        "sink.send-bootstrap-to-all-partition",
    }
)
"""7.5.2+."""

OPEN = frozenset({"sink.open"})
"""7.5.2+, 8.1+; neither 7.6 nor 8.0."""

DEBEZIUM_SCHEMA = frozenset({"?debezium-disable-schema", "sink.debezium-disable-schema"})
"""7.6+."""

DEBEZIUM_OLD = frozenset({"sink.debezium"})
"""8.1+."""

AVRO_MODES = frozenset({"?avro-decimal-handling-mode", "?avro-bigint-unsigned-handling-mode"})
"""6.1+."""

AVRO_WATERMARK = frozenset({"?avro-enable-watermark"})
"""7.1.4+, 7.2+."""

RAW_VALUE = frozenset({f"{LARGE}.claim-check-raw-value"})
"""8.4+."""

ROW_KEY = frozenset({"?output-row-key", "sink.kafka-config.codec-config.output-row-key"})
"""The new architecture from 8.5.4, not its betas."""

TABLE_ROUTES = frozenset({"sink.dispatchers.target-schema", "sink.dispatchers.target-table"})
"""The new architecture, 8.5.7+, not 26.3."""

SCHEDULER = frozenset({"scheduler", "scheduler.type", "scheduler.polling-time"})
"""4.0.2 – 6.0."""

SPANS_6_6 = frozenset({"scheduler", "scheduler.region-per-span"})
"""6.6+, classic."""

SPANS = frozenset(
    f"scheduler.{name}" for name in ("enable-table-across-nodes", "region-threshold", "write-key-threshold")
)
"""7.0+."""

SPANS_BY_COUNT = frozenset({"scheduler.region-count-per-span", "scheduler.scheduling-task-count-per-node"})
"""The new architecture, not 9.0.0-beta.1."""

SPANS_BY_NODE = frozenset({"scheduler.split-number-per-node"})
"""The betas of the new architecture."""

BALANCE = frozenset(
    f"scheduler.{name}"
    for name in (
        *("enable-splittable-check", "balance-score-threshold"),
        *("min-traffic-percentage", "max-traffic-percentage"),
    )
)
"""The new architecture from 8.5.4, not its betas."""

FORCE_SPLIT = frozenset({"scheduler.force-split", "scheduler.region-count-refresh-interval"})
"""The new architecture, 8.5.5+."""

ACTIVE_ACTIVE = frozenset(
    {"enable-active-active", "active-active-progress-interval", "active-active-sync-stats-interval"}
)
"""The new architecture, 26.3.1+."""

EVENT_COLLECTOR = frozenset(
    {*("event-collector-batch-count", "event-collector-batch-bytes"), "consistent.event-collector-batch-count"}
)
"""The new architecture, 8.5.8."""

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
"""`ignore-event` of event filters, 6.2 – 7.6: types that a parser derives from the SQL text."""

EVENTS_BY_ACTION = EVENTS_BY_SQL | {
    *("modify schema charset and collate", "recover table"),
    *("modify table comment", "modify table charset and collate"),
    *("exchange table partition", "reorganize table partition"),
    *("alter table partitioning", "remove table partitioning"),
    *("add column", "drop column", "modify column", "set default value", "rebase auto id"),
    *("add primary key", "drop primary key", "create index", "drop index", "rename index", "alter index visibility"),
    *("alter ttl info", "alter ttl remove", "multi schema change"),
}
"""8.0+: one name for each entry of the allow-list."""

FOREIGN_KEY_EVENTS = frozenset({"add foreign key", "drop foreign key"})
"""8.5.4+."""

SEARCH_INDEX_EVENTS = frozenset({"add fulltext index", "create hybrid index"})
"""The new architecture, from 8.5.4."""
