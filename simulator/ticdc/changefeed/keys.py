"""Every key that a sink-uri and a changefeed.toml may have in some release, one row each.

One law: a key that is here without effect says why; a key that is not here is unknown; which release has it, and its
default there, the release says. Source: pkg/config/*.go (toml tags), pkg/sink/kafka/options.go, pkg/sink/codec/common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simulator.releases import Release, V8_5, availability
from simulator.ticdc.changefeed import idle_keys
from simulator.ticdc.changefeed.kafka_keys import KAFKA, KAFKA_FILE
from simulator.ticdc.changefeed.key import (
    AVRO,
    DATABASE,
    DEBEZIUM,
    INSIDE,
    Key,
    NOT_YET,
    SIMPLE,
    STORAGE,
    UNSEEN,
    URI_ALONE,
    Value,
    rows,
)

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
    **rows("duration", "sync-point-interval sync-point-retention", DATABASE),
    "changefeed-error-stuck-duration": Key("duration", "30m", INSIDE),
    "sql-mode": Key("text", None, INSIDE),
}
FILTER = {
    "rules": Key("texts", ["*.*"]),
    "ignore-txn-start-ts": Key("ints", []),
    "event-filters": Key("rows", []),
    "ddl-allow-list": Key("ints", None, UNSEEN),
}
EVENT_FILTERS = {
    **rows("texts", "matcher ignore-event ignore-sql", default=[]),
    **rows("text", "ignore-insert-value-expr ignore-update-new-value-expr", default=""),
    **rows("text", "ignore-update-old-value-expr ignore-delete-value-expr", default=""),
}
CODEC = {
    "enable-tidb-extension": Key("bool"),
    "max-batch-size": Key("int"),
    "avro-enable-watermark": Key("bool", None, AVRO),
    **rows("text", "avro-decimal-handling-mode avro-bigint-unsigned-handling-mode", AVRO),
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
        **rows("texts", "matcher columns"),
        **rows("text", "dispatcher partition index topic target-schema target-table"),
    },
    "sink.column-selectors": rows("texts", "matcher columns"),
    "sink.csv": idle_keys.CSV,
    "sink.open": {"output-old-value": Key("bool", True)},
    "sink.debezium": {"output-old-value": Key("bool", True, DEBEZIUM)},
    "sink.kafka-config": KAFKA_FILE,
    "sink.kafka-config.codec-config": CODEC,
    "sink.kafka-config.large-message-handle": LARGE_MESSAGE,
    "sink.kafka-config.glue-schema-registry-config": idle_keys.GLUE,
    "sink.pulsar-config": idle_keys.PULSAR_FILE,
    "sink.pulsar-config.oauth2": idle_keys.PULSAR_OAUTH,
    "sink.mysql-config": idle_keys.MYSQL_FILE,
    "sink.cloud-storage-config": idle_keys.STORAGE_FILE,
    "consistent": idle_keys.CONSISTENT,
    "consistent.memory-usage": {"memory-quota-percentage": Key("int", 50, DATABASE)},
    "scheduler": idle_keys.SCHEDULER,
    "cyclic-replication": idle_keys.CYCLIC_REPLICATION,
    "integrity": idle_keys.INTEGRITY,
    "synced-status": rows("int", "synced-check-interval checkpoint-interval", INSIDE),
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
