"""All keys of sink-uri and changefeed.toml in any release: what each takes, its default, why it may have no effect.

`Release.has` says which release has a key. Defaults here are v8.5's; `default` returns a release's. The keys of
`[sink.kafka-config]` have no default of their own, so that an unset one leaves the sink-uri's. Source: pkg/config/*.go
(toml tags) of all releases, pkg/sink/kafka/options.go, pkg/sink/codec/common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from simulator.releases import V8_5, Release

Value = bool | int | float | str | list[object] | dict[str, object] | None


@dataclass(frozen=True)
class ConfigKey:
    """A key's type, its default, and why it has no effect."""

    kind: str
    """bool, int, int16, int32, number, text, duration, texts, ints, or rows (an array of tables)."""

    default: Value = None
    """TiCDC's default; None if it has none."""

    no_effect: str = ""
    """Why the key has no effect in the simulator; empty if it has one."""


BITS = {"int": 64, "int16": 16, "int32": 32}
"""Width of the integer types."""

TAKES = {
    "bool": "true or false",
    **dict.fromkeys(BITS, "an integer"),
    "text": "a string",
    "duration": 'a duration such as "10m"',
    "number": "a number",
    "texts": "a list of strings",
    "ints": "a list of integers of 64 bits",
    "rows": "an array of tables",
}
"""What a key of each type accepts."""

DATABASE = "it concerns database sinks only"
STORAGE = "it concerns storage sinks only"
PULSAR = "it concerns Pulsar only"
INSIDE = "it changes how TiCDC works inside, not what it sends"
NOT_YET = "this simulator does not do it yet"
NOT_SIMULATED = "this simulator does not do it"
URI_ONLY = "TiCDC reads it in the sink-uri alone"
CYCLIC = "cyclic replication concerns database sinks only"


def keys_of(kind: str, names: str, no_effect: str = "", default: Value = None) -> dict[str, ConfigKey]:
    """Return the same ConfigKey for each of keys_of names."""
    return {name: ConfigKey(kind, default, no_effect) for name in names.split()}


SASL = {
    **keys_of("text", "sasl-user sasl-password sasl-mechanism sasl-gssapi-auth-type sasl-gssapi-keytab-path"),
    **keys_of("text", "sasl-gssapi-kerberos-config-path sasl-gssapi-service-name sasl-gssapi-user"),
    **keys_of("text", "sasl-gssapi-password sasl-gssapi-realm"),
    **keys_of("bool", "sasl-gssapi-disable-pafxfast"),
}
KAFKA = {
    "partition-num": ConfigKey("int32", 3),
    "replication-factor": ConfigKey("int16", 1),
    "kafka-version": ConfigKey("text", "2.4.0", "the client asks the broker itself"),
    "max-message-bytes": ConfigKey("int", 10485760),
    "compression": ConfigKey("text", "none"),
    "kafka-client-id": ConfigKey("text", "TiCDC_producer_<addr>_<namespace>_<changefeed>"),
    "auto-create-topic": ConfigKey("bool", True),
    **keys_of("text", "dial-timeout write-timeout read-timeout", default="10s"),
    "required-acks": ConfigKey("int", -1),
    **SASL,
    "enable-tls": ConfigKey("bool"),
    **keys_of("text", "ca cert key"),
    "insecure-skip-verify": ConfigKey("bool", False),
}
OAUTH = {
    **keys_of("text", "sasl-oauth-client-id sasl-oauth-client-secret sasl-oauth-token-url"),
    **keys_of("text", "sasl-oauth-grant-type sasl-oauth-audience"),
    "sasl-oauth-scopes": ConfigKey("texts"),
}


AVRO_MODES = {
    "avro-decimal-handling-mode": ConfigKey("text", "precise"),
    "avro-bigint-unsigned-handling-mode": ConfigKey("text", "long"),
}
SINK_URI = {
    "(host)": ConfigKey("text"),
    "(path)": ConfigKey("text"),
    "protocol": ConfigKey("text"),
    "transaction-atomicity": ConfigKey("text", "none"),
    **KAFKA,
    "enable-tidb-extension": ConfigKey("bool", False),
    "max-batch-size": ConfigKey("int", 16),
    **AVRO_MODES,
    "avro-enable-watermark": ConfigKey("bool", False),
    "schema-registry": ConfigKey("text"),
    "registry": ConfigKey("text"),
    "only-output-updated-columns": ConfigKey("bool", False),
    "content-compatible": ConfigKey("bool", False),
    "output-row-key": ConfigKey("bool", False),
    "debezium-disable-schema": ConfigKey("bool", False),
    "encoding-format": ConfigKey("text", "json"),
    "max-retry": ConfigKey("int", 5, "the client tries again by rules of its own"),
    "worker-count": ConfigKey("int", 16),
    "flush-interval": ConfigKey("text", "5s"),
    "file-size": ConfigKey("int", 67108864),
    "use-table-id-as-path": ConfigKey("bool", False),
    "spool-disk-quota": ConfigKey("int", 10 << 30, INSIDE),
    "spool-base-dir": ConfigKey("text", None, INSIDE),
}
STORAGE_SCHEMES = ("file", "s3", "gcs", "gs", "azblob", "azure", "noop")
STORAGE_PARAMETERS = frozenset(
    ("worker-count", "flush-interval", "file-size", "use-table-id-as-path", "spool-disk-quota", "spool-base-dir")
)
"""Parameters that storage sinks alone have, beside those of the storage itself."""

SINK = {
    "transaction-atomicity": ConfigKey("text"),
    "protocol": ConfigKey("text"),
    "dispatchers": ConfigKey("rows", []),
    "column-selectors": ConfigKey("rows", []),
    "schema-registry": ConfigKey("text"),
    "encoder-concurrency": ConfigKey("int", 32, INSIDE),
    "terminator": ConfigKey("text", "\\r\\n"),
    "date-separator": ConfigKey("text", "day", STORAGE),
    "enable-partition-separator": ConfigKey("bool", True, STORAGE),
    "file-index-digit": ConfigKey("int", 20, STORAGE),
    "enable-kafka-sink-v2": ConfigKey("bool", False, INSIDE),
    "only-output-updated-columns": ConfigKey("bool", False),
    "delete-only-output-handle-key-columns": ConfigKey("bool", False),
    "large-message-only-handle-key-columns": ConfigKey("bool", False),
    "content-compatible": ConfigKey("bool", False),
    "safe-mode": ConfigKey("bool", None, DATABASE),
    "advance-timeout-in-sec": ConfigKey("int", 150, INSIDE),
    "send-bootstrap-interval-in-sec": ConfigKey("int", 120),
    "send-bootstrap-in-msg-count": ConfigKey("int", 10000),
    "send-bootstrap-to-all-partition": ConfigKey("bool", True),
    "send-all-bootstrap-at-start": ConfigKey("bool", False),
    "debezium-disable-schema": ConfigKey("bool", False),
}
CODEC = {
    "enable-tidb-extension": ConfigKey("bool"),
    "max-batch-size": ConfigKey("int"),
    "avro-enable-watermark": ConfigKey("bool"),
    **keys_of("text", "avro-decimal-handling-mode avro-bigint-unsigned-handling-mode"),
    "encoding-format": ConfigKey("text"),
    "output-row-key": ConfigKey("bool", None, URI_ONLY),
}
KEYS: Mapping[str, Mapping[str, ConfigKey]] = {
    "sink-uri": SINK_URI,
    "(top level)": {
        "memory-quota": ConfigKey("int", 1 << 30, INSIDE),
        "case-sensitive": ConfigKey("bool", False),
        "enable-old-value": ConfigKey("bool", True),
        "force-replicate": ConfigKey("bool", False),
        "check-gc-safe-point": ConfigKey("bool", True, INSIDE),
        "enable-sync-point": ConfigKey("bool", False, DATABASE),
        "enable-table-monitor": ConfigKey("bool", False, INSIDE),
        "ignore-ineligible-table": ConfigKey("bool", False, NOT_YET),
        "bdr-mode": ConfigKey("bool", False, DATABASE),
        "enable-active-active": ConfigKey("bool", False),
        "active-active-progress-interval": ConfigKey("duration", "30m", DATABASE),
        "active-active-sync-stats-interval": ConfigKey("duration", "1m", DATABASE),
        "sync-point-interval": ConfigKey("duration", "10m", DATABASE),
        "sync-point-retention": ConfigKey("duration", "24h", DATABASE),
        "changefeed-error-stuck-duration": ConfigKey("duration", "30m", INSIDE),
        "sql-mode": ConfigKey("text"),
        **keys_of("int", "event-collector-batch-count event-collector-batch-bytes", INSIDE),
    },
    "filter": {
        "rules": ConfigKey("texts", ["*.*"]),
        "ignore-txn-start-ts": ConfigKey("ints", []),
        "event-filters": ConfigKey("rows", []),
        "ddl-allow-list": ConfigKey("ints", None, NOT_SIMULATED),
    },
    "filter.event-filters": {
        **keys_of("texts", "matcher ignore-event ignore-sql", default=[]),
        **keys_of("text", "ignore-insert-value-expr ignore-update-new-value-expr", default=""),
        **keys_of("text", "ignore-update-old-value-expr ignore-delete-value-expr", default=""),
    },
    "mounter": {"worker-num": ConfigKey("int", 16, INSIDE)},
    "sink": SINK,
    "sink.dispatchers": {
        **keys_of("texts", "matcher columns"),
        **keys_of("text", "dispatcher partition index topic target-schema target-table"),
    },
    "sink.column-selectors": keys_of("texts", "matcher columns"),
    "sink.csv": {
        "delimiter": ConfigKey("text", ",", STORAGE),
        "quote": ConfigKey("text", '"', STORAGE),
        "null": ConfigKey("text", "\\N", STORAGE),
        "binary-encoding-method": ConfigKey("text", "base64", STORAGE),
        **keys_of("bool", "include-commit-ts output-old-value output-handle-key output-field-header", STORAGE, False),
    },
    "sink.open": {"output-old-value": ConfigKey("bool", True)},
    "sink.debezium": {"output-old-value": ConfigKey("bool", True)},
    "sink.kafka-config": {
        **{name: ConfigKey(key.kind, None, key.no_effect) for name, key in KAFKA.items()},
        **OAUTH,
        "output-raw-change-event": ConfigKey("bool", False),
    },
    "sink.kafka-config.codec-config": CODEC,
    "sink.kafka-config.large-message-handle": {
        "large-message-handle-option": ConfigKey("text", "none"),
        "large-message-handle-compression": ConfigKey("text", "none"),
        "claim-check-storage-uri": ConfigKey("text", ""),
        "claim-check-raw-value": ConfigKey("bool", False),
        "claim-check-compression": ConfigKey("text"),
    },
    "sink.kafka-config.glue-schema-registry-config": keys_of(
        "text", "registry-name region access-key secret-access-key token", NOT_SIMULATED
    ),
    "sink.pulsar-config": {
        **keys_of("text", "tls-key-file-path tls-certificate-file tls-trust-certs-file-path pulsar-version", PULSAR),
        **keys_of(
            "text", "compression-type authentication-token token-from-file basic-user-name basic-password", PULSAR
        ),
        **keys_of("text", "auth-tls-certificate-path auth-tls-private-key-path", PULSAR),
        **keys_of(
            "int", "pulsar-producer-cache-size connection-timeout operation-timeout batching-max-messages", PULSAR
        ),
        **keys_of("int", "batching-max-publish-delay send-timeout", PULSAR),
        "output-raw-change-event": ConfigKey("bool", None, PULSAR),
    },
    "sink.pulsar-config.oauth2": keys_of(
        "text", "oauth2-issuer-url oauth2-audience oauth2-private-key oauth2-client-id oauth2-scope", PULSAR
    ),
    "sink.mysql-config": {
        **keys_of("int", "worker-count max-txn-row max-multi-update-row-size max-multi-update-row", DATABASE),
        **keys_of(
            "text", "tidb-txn-mode ssl-ca ssl-cert ssl-key time-zone write-timeout read-timeout timeout", DATABASE
        ),
        **keys_of("bool", "enable-batch-dml enable-multi-statement enable-cache-prepared-statement", DATABASE),
    },
    "sink.cloud-storage-config": {
        **keys_of("int", "worker-count file-size", STORAGE),
        "flush-interval": ConfigKey("text", None, STORAGE),
        "file-cleanup-cron-spec": ConfigKey("text", None, NOT_YET),
        "file-expiration-days": ConfigKey("int", None, NOT_YET),
        **keys_of("int", "flush-concurrency spool-disk-quota", INSIDE),
        "spool-base-dir": ConfigKey("text", None, INSIDE),
        **keys_of("bool", "output-column-id output-raw-change-event use-table-id-as-path", STORAGE),
    },
    "consistent": {
        "level": ConfigKey("text", "none", DATABASE),
        **keys_of("text", "storage compression", DATABASE, ""),
        "max-log-size": ConfigKey("int", 64, DATABASE),
        "flush-interval": ConfigKey("int", 2000, DATABASE),
        "meta-flush-interval": ConfigKey("int", 200, DATABASE),
        "encoding-worker-num": ConfigKey("int", 16, DATABASE),
        "flush-worker-num": ConfigKey("int", 8, DATABASE),
        "flush-concurrency": ConfigKey("int", None, DATABASE),
        "use-file-backend": ConfigKey("bool", False, DATABASE),
        "event-collector-batch-count": ConfigKey("int", None, DATABASE),
    },
    "consistent.memory-usage": {"memory-quota-percentage": ConfigKey("int", 50, DATABASE)},
    "scheduler": {
        "enable-table-across-nodes": ConfigKey("bool", False, INSIDE),
        "region-threshold": ConfigKey("int", 100_000, INSIDE),
        "write-key-threshold": ConfigKey("int", 0, INSIDE),
        "region-count-per-span": ConfigKey("int", 100, INSIDE),
        "scheduling-task-count-per-node": ConfigKey("int", 20, INSIDE),
        **keys_of("int", "region-per-span split-number-per-node polling-time", INSIDE),
        **keys_of("bool", "enable-splittable-check force-split", DATABASE, False),
        "balance-score-threshold": ConfigKey("int", 20, INSIDE),
        "min-traffic-percentage": ConfigKey("number", 0.8, INSIDE),
        "max-traffic-percentage": ConfigKey("number", 1.25, INSIDE),
        "region-count-refresh-interval": ConfigKey("duration", "5m", INSIDE),
        "type": ConfigKey("text", None, INSIDE),
    },
    "cyclic-replication": {
        **keys_of("bool", "enable sync-ddl", CYCLIC),
        **keys_of("int", "replica-id id-buckets", CYCLIC),
        "filter-replica-ids": ConfigKey("ints", None, CYCLIC),
    },
    "integrity": {
        "integrity-check-level": ConfigKey("text", "none"),
        "corruption-handle-level": ConfigKey("text", "warn", "nothing is corrupted here"),
    },
    "synced-status": {
        "synced-check-interval": ConfigKey("int", 300, INSIDE),
        "checkpoint-interval": ConfigKey("int", 15, INSIDE),
    },
}
"""Keys by place (`sink-uri`, or the table of the file), then by name."""

NOT_RELEASED = "it is of TiCDC's master or another branch, not released"

FILE_PLACE: Mapping[str, str] = {
    **dict.fromkeys(KAFKA, "sink.kafka-config"),
    **dict.fromkeys(CODEC, "sink.kafka-config.codec-config"),
    **dict.fromkeys(SINK_URI.keys() & SINK.keys(), "sink"),
    **dict.fromkeys(STORAGE_PARAMETERS, "sink.cloud-storage-config"),
}
"""The table of the file that can hold a key of the sink-uri."""

FORCE_REPLICATE = "force-replicate"
GLUE = "sink.kafka-config.glue-schema-registry-config"
DISPATCHERS = ("default", "table", "index-value", "columns", "ts", "rowid")
NO_LIMIT = 1 << 31
"""max-batch-size in releases without a limit."""


def key(place: str, name: str, release: Release = V8_5) -> ConfigKey | None:
    """Return the key at a place (`sink-uri`, `(top level)`, `sink.kafka-config`, …), with its default in the release.

    Return None if the release does not know it.
    """
    if name not in KEYS.get(place, {}) or not release.has(option(place, name)):
        return None
    return replace(KEYS[place][name], default=default(place, name, release))


def default(place: str, name: str, release: Release) -> Value:
    """Return TiCDC's default of a key in a release."""
    release_defaults: dict[tuple[str, str], Value] = {
        ("sink-uri", "partition-num"): release.new_topic_partitions,
        ("sink-uri", "max-message-bytes"): release.max_message_bytes,
        ("sink-uri", "max-batch-size"): release.max_batch_size or NO_LIMIT,
        ("(top level)", "case-sensitive"): release.case_sensitive,
        ("(top level)", "enable-old-value"): release.old_value,
        ("scheduler", "region-threshold"): 10_000 if release.api_keyspaces else 100_000,
        ("sink", "date-separator"): release.storage_defaults[0],
        ("sink", "enable-partition-separator"): release.storage_defaults[1],
    }
    return release_defaults.get((place, name), KEYS[place][name].default)


def option(place: str, name: str) -> str:
    """Return the name of a key in `Release.options`."""
    if place == "sink-uri":
        return f"?{name}"
    return name if place == "(top level)" else f"{place}.{name}"
