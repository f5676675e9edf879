"""Every key that a sink-uri and a changefeed.toml may have in some release, one row each: what it takes, its default,
why it may have no effect.

One law: a key that is here without effect says why; a key that is not here is unknown; which release has it, and its
default there, the release says (`default`; those here are v8.5's). Those of `[sink.kafka-config]` have no default of
their own, so that what nobody said is the sink-uri's. Source: pkg/config/*.go (toml tags) of all releases,
pkg/sink/kafka/options.go, pkg/sink/codec/common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from simulator.releases import V8_5, Release, availability

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


BITS = {"int": 64, "int16": 16, "int32": 32}
"""How wide the kinds of integers are."""

DATABASE = "it concerns database sinks only"
STORAGE = "it concerns storage sinks only"
PULSAR = "it concerns Pulsar only"
AVRO = "it concerns the avro protocol only"
SIMPLE = "it concerns the simple protocol only"
DEBEZIUM = "it concerns the debezium protocol only"
CHECKSUM = "row checksums exist in the avro and simple protocols only"
INSIDE = "it changes how TiCDC works inside, not what it sends"
NOT_YET = "this simulator does not do it yet"
UNSEEN = "this simulator does not do it"
URI_ALONE = "TiCDC reads it in the sink-uri alone"
CYCLIC = "cyclic replication concerns database sinks only"


def several(kind: str, names: str, idle: str = "", default: Value = None) -> dict[str, Key]:
    """The same for each of several names."""
    return {name: Key(kind, default, idle) for name in names.split()}


SASL = {
    **several("text", "sasl-user sasl-password sasl-mechanism sasl-gssapi-auth-type sasl-gssapi-keytab-path"),
    **several("text", "sasl-gssapi-kerberos-config-path sasl-gssapi-service-name sasl-gssapi-user"),
    **several("text", "sasl-gssapi-password sasl-gssapi-realm"),
    **several("bool", "sasl-gssapi-disable-pafxfast"),
}
KAFKA = {
    "partition-num": Key("int32", 3),
    "replication-factor": Key("int16", 1),
    "kafka-version": Key("text", "2.4.0", "the client asks the broker itself"),
    "max-message-bytes": Key("int", 10485760),
    "compression": Key("text", "none"),
    "kafka-client-id": Key("text", "TiCDC_producer_<addr>_<namespace>_<changefeed>"),
    "auto-create-topic": Key("bool", True),
    **several("text", "dial-timeout write-timeout read-timeout", default="10s"),
    "required-acks": Key("int", -1),
    **SASL,
    "enable-tls": Key("bool"),
    **several("text", "ca cert key"),
    "insecure-skip-verify": Key("bool", False),
}
OAUTH = {
    **several("text", "sasl-oauth-client-id sasl-oauth-client-secret sasl-oauth-token-url"),
    **several("text", "sasl-oauth-grant-type sasl-oauth-audience"),
    "sasl-oauth-scopes": Key("texts"),
}
KAFKA_FILE = {
    **{name: Key(key.kind, None, key.idle) for name, key in KAFKA.items()},
    **OAUTH,
    "output-raw-change-event": Key("bool", False),
}


PULSAR_FILE = {
    **several("text", "tls-key-file-path tls-certificate-file tls-trust-certs-file-path pulsar-version", PULSAR),
    **several("text", "compression-type authentication-token token-from-file basic-user-name basic-password", PULSAR),
    **several("text", "auth-tls-certificate-path auth-tls-private-key-path", PULSAR),
    **several("int", "pulsar-producer-cache-size connection-timeout operation-timeout batching-max-messages", PULSAR),
    **several("int", "batching-max-publish-delay send-timeout", PULSAR),
    "output-raw-change-event": Key("bool", None, PULSAR),
}
MYSQL_FILE = {
    **several("int", "worker-count max-txn-row max-multi-update-row-size max-multi-update-row", DATABASE),
    **several("text", "tidb-txn-mode ssl-ca ssl-cert ssl-key time-zone write-timeout read-timeout timeout", DATABASE),
    **several("bool", "enable-batch-dml enable-multi-statement enable-cache-prepared-statement", DATABASE),
}
STORAGE_FILE = {
    **several("int", "worker-count file-size file-expiration-days flush-concurrency", STORAGE),
    **several("text", "flush-interval file-cleanup-cron-spec", STORAGE),
    **several("bool", "output-column-id output-raw-change-event use-table-id-as-path", STORAGE),
}
CONSISTENT = {
    **several("text", "level storage compression", DATABASE),
    **several("int", "max-log-size flush-interval meta-flush-interval encoding-worker-num", DATABASE),
    **several("int", "flush-worker-num flush-concurrency", DATABASE),
    "use-file-backend": Key("bool", False, DATABASE),
    "event-collector-batch-count": Key("int", None, DATABASE),
}
SCHEDULER = {
    "enable-table-across-nodes": Key("bool", False, INSIDE),
    **several("int", "region-threshold write-key-threshold region-per-span region-count-per-span", INSIDE),
    **several("int", "scheduling-task-count-per-node polling-time", INSIDE),
    "type": Key("text", None, INSIDE),
}
CSV = {
    **several("text", "delimiter quote null binary-encoding-method", STORAGE),
    **several("bool", "include-commit-ts output-old-value output-handle-key output-field-header", STORAGE),
}
CYCLIC_REPLICATION = {
    **several("bool", "enable sync-ddl", CYCLIC),
    **several("int", "replica-id id-buckets", CYCLIC),
    "filter-replica-ids": Key("ints", None, CYCLIC),
}
GLUE_FILE = several("text", "registry-name region access-key secret-access-key token", AVRO)
PULSAR_OAUTH = several(
    "text", "oauth2-issuer-url oauth2-audience oauth2-private-key oauth2-client-id oauth2-scope", PULSAR
)
INTEGRITY = {
    "integrity-check-level": Key("text", "none", CHECKSUM),
    "corruption-handle-level": Key("text", "warn", CHECKSUM),
}


AVRO_MODES = {
    "avro-decimal-handling-mode": Key("text", "precise", AVRO),
    "avro-bigint-unsigned-handling-mode": Key("text", "long", AVRO),
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
    "output-row-key": Key("bool", False),
    "debezium-disable-schema": Key("bool", False, DEBEZIUM),
    "encoding-format": Key("text", "json", SIMPLE),
    "max-retry": Key("int", 5, "the client tries again by rules of its own"),
}
SINK = {
    "transaction-atomicity": Key("text"),
    "protocol": Key("text"),
    "dispatchers": Key("rows", []),
    "column-selectors": Key("rows", []),
    "schema-registry": Key("text", None, AVRO),
    "encoder-concurrency": Key("int", 32, INSIDE),
    "terminator": Key("text", "\\r\\n"),
    "date-separator": Key("text", "day", STORAGE),
    "enable-partition-separator": Key("bool", True, STORAGE),
    "file-index-digit": Key("int", 20, STORAGE),
    "enable-kafka-sink-v2": Key("bool", False, INSIDE),
    "only-output-updated-columns": Key("bool", False),
    "delete-only-output-handle-key-columns": Key("bool", False),
    "large-message-only-handle-key-columns": Key("bool", False),
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
    "enable-old-value": Key("bool", True),
    "force-replicate": Key("bool", False),
    "check-gc-safe-point": Key("bool", True, INSIDE),
    "enable-sync-point": Key("bool", False, DATABASE),
    "enable-table-monitor": Key("bool", False, INSIDE),
    "ignore-ineligible-table": Key("bool", False, NOT_YET),
    "bdr-mode": Key("bool", False, DATABASE),
    **several("duration", "sync-point-interval sync-point-retention", DATABASE),
    "changefeed-error-stuck-duration": Key("duration", "30m", INSIDE),
    "sql-mode": Key("text", None, INSIDE),
    **several("int", "event-collector-batch-count event-collector-batch-bytes", INSIDE),
}
FILTER = {
    "rules": Key("texts", ["*.*"]),
    "ignore-txn-start-ts": Key("ints", []),
    "event-filters": Key("rows", []),
    "ddl-allow-list": Key("ints", None, UNSEEN),
}
EVENT_FILTERS = {
    **several("texts", "matcher ignore-event ignore-sql", default=[]),
    **several("text", "ignore-insert-value-expr ignore-update-new-value-expr", default=""),
    **several("text", "ignore-update-old-value-expr ignore-delete-value-expr", default=""),
}
CODEC = {
    "enable-tidb-extension": Key("bool"),
    "max-batch-size": Key("int"),
    "avro-enable-watermark": Key("bool", None, AVRO),
    **several("text", "avro-decimal-handling-mode avro-bigint-unsigned-handling-mode", AVRO),
    "encoding-format": Key("text", None, SIMPLE),
    "output-row-key": Key("bool", None, URI_ALONE),
}
LARGE_MESSAGE = {
    "large-message-handle-option": Key("text", "none"),
    "large-message-handle-compression": Key("text", "none"),
    "claim-check-storage-uri": Key("text", ""),
    "claim-check-raw-value": Key("bool", False),
    "claim-check-compression": Key("text"),
}
KEYS: Mapping[str, Mapping[str, Key]] = {
    "sink-uri": SINK_URI,
    "(top level)": TOP,
    "filter": FILTER,
    "filter.event-filters": EVENT_FILTERS,
    "mounter": {"worker-num": Key("int", 16, INSIDE)},
    "sink": SINK,
    "sink.dispatchers": {
        **several("texts", "matcher columns"),
        **several("text", "dispatcher partition index topic target-schema target-table"),
    },
    "sink.column-selectors": several("texts", "matcher columns"),
    "sink.csv": CSV,
    "sink.open": {"output-old-value": Key("bool", True)},
    "sink.debezium": {"output-old-value": Key("bool", True, DEBEZIUM)},
    "sink.kafka-config": KAFKA_FILE,
    "sink.kafka-config.codec-config": CODEC,
    "sink.kafka-config.large-message-handle": LARGE_MESSAGE,
    "sink.kafka-config.glue-schema-registry-config": GLUE_FILE,
    "sink.pulsar-config": PULSAR_FILE,
    "sink.pulsar-config.oauth2": PULSAR_OAUTH,
    "sink.mysql-config": MYSQL_FILE,
    "sink.cloud-storage-config": STORAGE_FILE,
    "consistent": CONSISTENT,
    "consistent.memory-usage": {"memory-quota-percentage": Key("int", 50, DATABASE)},
    "scheduler": SCHEDULER,
    "cyclic-replication": CYCLIC_REPLICATION,
    "integrity": INTEGRITY,
    "synced-status": several("int", "synced-check-interval checkpoint-interval", INSIDE),
}
"""By place (`sink-uri`, or the table of the file), then by name."""

FILE_PLACE: Mapping[str, str] = {
    **dict.fromkeys(KAFKA, "sink.kafka-config"),
    **dict.fromkeys(CODEC, "sink.kafka-config.codec-config"),
    **dict.fromkeys(SINK_URI.keys() & SINK.keys(), "sink"),
}
"""Where the file has a key of the sink-uri."""

FORCE_REPLICATE = "force-replicate"
GLUE = "sink.kafka-config.glue-schema-registry-config"
DISPATCHERS = ("default", "table", "index-value", "columns", "ts", "rowid")
NO_LIMIT = 1 << 31
"""max-batch-size where a release has no limit."""


def key(place: str, name: str, release: Release = V8_5) -> Key | None:
    """The key at a place (`sink-uri`, `(top level)`, `sink.kafka-config`, …), with its default in the release.

    None where the release does not know it.
    """
    if name not in KEYS.get(place, {}) or not availability.has(release, option(place, name)):
        return None
    return replace(KEYS[place][name], default=default(place, name, release))


def default(place: str, name: str, release: Release) -> Value:
    """TiCDC's default of a key in a release."""
    of_release: dict[tuple[str, str], Value] = {
        ("sink-uri", "partition-num"): release.new_topic_partitions,
        ("sink-uri", "max-message-bytes"): release.max_message_bytes,
        ("sink-uri", "max-batch-size"): release.max_batch_size or NO_LIMIT,
        ("(top level)", "case-sensitive"): release.case_sensitive,
        ("(top level)", "enable-old-value"): release.old_value,
    }
    return of_release.get((place, name), KEYS[place][name].default)


def option(place: str, name: str) -> str:
    """How `Release.options` calls a key."""
    if place == "sink-uri":
        return f"?{name}"
    return name if place == "(top level)" else f"{place}.{name}"
