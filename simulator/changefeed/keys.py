"""Every key that a sink-uri and a changefeed.toml may have at v8.5, one row each.

One law: a key that is here without effect says why; a key that is not here is unknown.
Source: tiflow v8.5.3 pkg/config/*.go (toml tags), pkg/sink/kafka/options.go, pkg/sink/codec/common/config.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Value = bool | int | str | list[object] | dict[str, object] | None


@dataclass(frozen=True)
class Key:
    """What a key takes."""

    kind: str
    """bool, int, int16, int32, text, duration, texts, ints, or rows (an array of tables)."""

    default: Value = None
    """TiCDC's; None where it has none."""

    idle: str = ""
    """Why the key has no effect here; empty where it has one."""


DATABASE = "it concerns database sinks only"
STORAGE = "it concerns storage sinks only"
PULSAR = "it concerns Pulsar only"
AVRO = "it concerns the avro protocol only"
SIMPLE = "it concerns the simple protocol only"
DEBEZIUM = "it concerns the debezium protocol only"
CHECKSUM = "row checksums exist in the avro and simple protocols only"
INSIDE = "it changes how TiCDC works inside, not what it sends"
NOT_YET = "this simulator does not do it yet"
TO_6_2 = "TiCDC has it up to v6.2.0 only, and this simulator not at all"


def _rows(kind: str, names: str, idle: str = "", default: Value = None) -> dict[str, Key]:
    return {name: Key(kind, default, idle) for name in names.split()}


SASL = {
    **_rows("text", "sasl-user sasl-password sasl-mechanism sasl-gssapi-auth-type sasl-gssapi-keytab-path"),
    **_rows("text", "sasl-gssapi-kerberos-config-path sasl-gssapi-service-name sasl-gssapi-user"),
    **_rows("text", "sasl-gssapi-password sasl-gssapi-realm"),
    **_rows("bool", "sasl-gssapi-disable-pafxfast"),
}
AVRO_MODES = {
    "avro-decimal-handling-mode": Key("text", "precise", AVRO),
    "avro-bigint-unsigned-handling-mode": Key("text", "long", AVRO),
}
KAFKA = {
    "partition-num": Key("int32", 3),
    "replication-factor": Key("int16", 1),
    "kafka-version": Key("text", "2.4.0", "the client asks the broker itself"),
    "max-message-bytes": Key("int", 10485760),
    "compression": Key("text", "none"),
    "kafka-client-id": Key("text", "TiCDC_producer_<addr>_<namespace>_<changefeed>"),
    "auto-create-topic": Key("bool", True),
    **_rows("text", "dial-timeout write-timeout read-timeout", default="10s"),
    "required-acks": Key("int", -1),
    **SASL,
    "enable-tls": Key("bool"),
    **_rows("text", "ca cert key"),
    "insecure-skip-verify": Key("bool", False),
}
SINK_URI = {
    "(host)": Key("text"),
    "(path)": Key("text"),
    "protocol": Key("text"),
    "transaction-atomicity": Key("text", "none"),
    **KAFKA,
    "enable-tidb-extension": Key("bool", False),
    "max-batch-size": Key("int", 16),
    **AVRO_MODES,
    "avro-enable-watermark": Key("bool", False, AVRO),
    "schema-registry": Key("text", None, AVRO),
    "only-output-updated-columns": Key("bool", False),
    "content-compatible": Key("bool", False),
    "debezium-disable-schema": Key("bool", False, DEBEZIUM),
    "encoding-format": Key("text", "json", SIMPLE),
}
KAFKA_FILE = {
    **{name: Key(key.kind, None, key.idle) for name, key in KAFKA.items()},
    **_rows("text", "sasl-oauth-client-id sasl-oauth-client-secret sasl-oauth-token-url"),
    **_rows("text", "sasl-oauth-grant-type sasl-oauth-audience"),
    "sasl-oauth-scopes": Key("texts"),
    "output-raw-change-event": Key("bool", False),
}
SINK = {
    "transaction-atomicity": Key("text"),
    "protocol": Key("text"),
    "dispatchers": Key("rows", []),
    "column-selectors": Key("rows", []),
    "schema-registry": Key("text", None, AVRO),
    "encoder-concurrency": Key("int", 32, INSIDE),
    "terminator": Key("text", "\\r\\n", STORAGE),
    "date-separator": Key("text", "day", STORAGE),
    "enable-partition-separator": Key("bool", True, STORAGE),
    "file-index-digit": Key("int", 20, STORAGE),
    "enable-kafka-sink-v2": Key("bool", False, INSIDE),
    "only-output-updated-columns": Key("bool", False),
    "delete-only-output-handle-key-columns": Key("bool", False),
    "content-compatible": Key("bool", False),
    "safe-mode": Key("bool", None, DATABASE),
    "advance-timeout-in-sec": Key("int", 150, INSIDE),
    "send-bootstrap-interval-in-sec": Key("int", 120, SIMPLE),
    "send-bootstrap-in-msg-count": Key("int", 10000, SIMPLE),
    "send-bootstrap-to-all-partition": Key("bool", True, SIMPLE),
    "send-all-bootstrap-at-start": Key("bool", False, SIMPLE),
    "debezium-disable-schema": Key("bool", False, DEBEZIUM),
}
TOP = {
    "memory-quota": Key("int", None, INSIDE),
    "case-sensitive": Key("bool", False),
    "force-replicate": Key("bool", False),
    "check-gc-safe-point": Key("bool", True, INSIDE),
    "enable-sync-point": Key("bool", False, DATABASE),
    "enable-table-monitor": Key("bool", False, INSIDE),
    "ignore-ineligible-table": Key("bool", False, NOT_YET),
    "bdr-mode": Key("bool", False, DATABASE),
    **_rows("duration", "sync-point-interval sync-point-retention", DATABASE),
    "changefeed-error-stuck-duration": Key("duration", "30m", INSIDE),
    "sql-mode": Key("text", None, INSIDE),
}
FILTER = {
    "rules": Key("texts", ["*.*"]),
    "ignore-txn-start-ts": Key("ints", []),
    "event-filters": Key("rows", []),
    "ddl-allow-list": Key("ints", None, TO_6_2),
}
EVENT_FILTERS = {
    **_rows("texts", "matcher ignore-event ignore-sql", default=[]),
    **_rows("text", "ignore-insert-value-expr ignore-update-new-value-expr", default=""),
    **_rows("text", "ignore-update-old-value-expr ignore-delete-value-expr", default=""),
    "ignore-update-only-columns": Key("texts", []),
}
CODEC = {
    "enable-tidb-extension": Key("bool"),
    "max-batch-size": Key("int"),
    "avro-enable-watermark": Key("bool", None, AVRO),
    **_rows("text", "avro-decimal-handling-mode avro-bigint-unsigned-handling-mode", AVRO),
    "encoding-format": Key("text", None, SIMPLE),
}
LARGE_MESSAGE = {
    "large-message-handle-option": Key("text", "none"),
    "large-message-handle-compression": Key("text", "none"),
    "claim-check-storage-uri": Key("text", ""),
    "claim-check-raw-value": Key("bool", False),
}
PULSAR_FILE = {
    **_rows("text", "tls-key-file-path tls-certificate-file tls-trust-certs-file-path pulsar-version", PULSAR),
    **_rows("text", "compression-type authentication-token token-from-file basic-user-name basic-password", PULSAR),
    **_rows("text", "auth-tls-certificate-path auth-tls-private-key-path", PULSAR),
    **_rows("int", "pulsar-producer-cache-size connection-timeout operation-timeout batching-max-messages", PULSAR),
    **_rows("int", "batching-max-publish-delay send-timeout", PULSAR),
    "output-raw-change-event": Key("bool", None, PULSAR),
}
MYSQL_FILE = {
    **_rows("int", "worker-count max-txn-row max-multi-update-row-size max-multi-update-row", DATABASE),
    **_rows("text", "tidb-txn-mode ssl-ca ssl-cert ssl-key time-zone write-timeout read-timeout timeout", DATABASE),
    **_rows("bool", "enable-batch-dml enable-multi-statement enable-cache-prepared-statement", DATABASE),
}
STORAGE_FILE = {
    **_rows("int", "worker-count file-size file-expiration-days flush-concurrency", STORAGE),
    **_rows("text", "flush-interval file-cleanup-cron-spec", STORAGE),
    **_rows("bool", "output-column-id output-raw-change-event", STORAGE),
}
CONSISTENT = {
    **_rows("text", "level storage compression", DATABASE),
    **_rows("int", "max-log-size flush-interval meta-flush-interval encoding-worker-num", DATABASE),
    **_rows("int", "flush-worker-num flush-concurrency", DATABASE),
    "use-file-backend": Key("bool", False, DATABASE),
}

KEYS: Mapping[str, Mapping[str, Key]] = {
    "sink-uri": SINK_URI,
    "(top level)": TOP,
    "filter": FILTER,
    "filter.event-filters": EVENT_FILTERS,
    "mounter": {"worker-num": Key("int", 16, INSIDE)},
    "sink": SINK,
    "sink.dispatchers": {
        **_rows("texts", "matcher columns"),
        **_rows("text", "dispatcher partition index topic"),
    },
    "sink.column-selectors": _rows("texts", "matcher columns"),
    "sink.csv": {
        **_rows("text", "delimiter quote null binary-encoding-method", STORAGE),
        **_rows("bool", "include-commit-ts output-old-value output-handle-key", STORAGE),
    },
    "sink.open": {"output-old-value": Key("bool", True)},
    "sink.debezium": {"output-old-value": Key("bool", True, DEBEZIUM)},
    "sink.kafka-config": KAFKA_FILE,
    "sink.kafka-config.codec-config": CODEC,
    "sink.kafka-config.large-message-handle": LARGE_MESSAGE,
    "sink.kafka-config.glue-schema-registry-config": _rows(
        "text", "registry-name region access-key secret-access-key token", AVRO
    ),
    "sink.pulsar-config": PULSAR_FILE,
    "sink.pulsar-config.oauth2": _rows(
        "text", "oauth2-issuer-url oauth2-audience oauth2-private-key oauth2-client-id oauth2-scope", PULSAR
    ),
    "sink.mysql-config": MYSQL_FILE,
    "sink.cloud-storage-config": STORAGE_FILE,
    "consistent": CONSISTENT,
    "consistent.memory-usage": {"memory-quota-percentage": Key("int", 50, DATABASE)},
    "scheduler": {
        "enable-table-across-nodes": Key("bool", False, INSIDE),
        **_rows("int", "region-threshold write-key-threshold region-per-span", INSIDE),
    },
    "integrity": {
        "integrity-check-level": Key("text", "none", CHECKSUM),
        "corruption-handle-level": Key("text", "warn", CHECKSUM),
    },
    "synced-status": _rows("int", "synced-check-interval checkpoint-interval", INSIDE),
}
"""By place (`sink-uri`, or the table of the file), then by name."""

FILE_PLACE: Mapping[str, str] = {
    **dict.fromkeys(KAFKA, "sink.kafka-config"),
    **dict.fromkeys(CODEC, "sink.kafka-config.codec-config"),
    **dict.fromkeys(SINK_URI.keys() & SINK.keys(), "sink"),
}
"""Where the file has a key of the sink-uri."""

DISPATCHERS = ("default", "table", "index-value", "columns", "ts", "rowid")
PROTOCOLS = {
    **{name: name for name in ("canal", "avro", "maxwell", "canal-json", "craft", "open-protocol", "csv")},
    **{name: name for name in ("debezium", "simple")},
    "default": "open-protocol",
    "flat-avro": "avro",
}
"""Spellings that TiCDC takes, in any case (tiflow v8.5.3 pkg/config/sink_protocol.go)."""

SIMULATED = ("open-protocol", "canal-json")


def key(place: str, name: str) -> Key | None:
    """The key at a place (`sink-uri`, `(top level)`, `sink.kafka-config`, …), or None where TiCDC does not know it."""
    return KEYS.get(place, {}).get(name)
