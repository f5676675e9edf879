"""`replica_config` of TiCDC's API, and the changefeed.toml that says the same.

A document holds every field of Go's structs by its JSON name, with None for nil. Source: tiflow v8.5.3 and ticdc v8.5.7
api/v2/model.go, pkg/config/replica_config.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

from simulator.errors import is_secret
from simulator.openapi.go_json import NANOSECONDS, Place, matched, mismatch, read_value, zero
from simulator.releases import Release
from simulator.ticdc.changefeed import keys
from simulator.ticdc.changefeed.toml_file import parse_duration, show_duration

TOP = "(top level)"
Document = dict[str, Any]

FIELDS: Mapping[str, str] = {
    TOP: "memory_quota case_sensitive enable_old_value force_replicate ignore_ineligible_table check_gc_safe_point"
    " enable_sync_point? enable_table_monitor? bdr_mode? enable_active_active? active_active_progress_interval?"
    " active_active_sync_stats_interval? sync_point_interval? sync_point_retention? filter mounter sink"
    " consistent? scheduler integrity changefeed_error_stuck_duration? synced_status? sql_mode-",
    "filter": "rules- ignore_txn_start_ts- event_filters-",
    "filter.event-filters": "matcher ignore_event ignore_sql ignore_insert_value_expr ignore_update_new_value_expr"
    " ignore_update_old_value_expr ignore_delete_value_expr",
    "mounter": "worker_num",
    "sink": "protocol? schema_registry? csv? dispatchers- column_selectors- transaction_atomicity? encoder_concurrency?"
    " terminator? date_separator? enable_partition_separator? file_index_width? enable_kafka_sink_v2?"
    " only_output_updated_columns? delete_only_output_handle_key_columns* large_message_only_handle_key_columns* content_compatible* safe_mode? kafka_config?"
    " pulsar_config? mysql_config? cloud_storage_config? advance_timeout? send_bootstrap_interval_in_sec?"
    " send_bootstrap_in_msg_count? send_bootstrap_to_all_partition? send-all-bootstrap-at-start?"
    " debezium_disable_schema? debezium? open?",
    "sink.csv": "delimiter quote null include_commit_ts binary_encoding_method output_old_value output_handle_key"
    " output_field_header",
    "sink.dispatchers": "matcher- partition- index- columns- topic- target-schema- target-table-",
    "sink.column-selectors": "matcher- columns-",
    "sink.open": "output_old_value",
    "sink.debezium": "output_old_value",
    "sink.kafka-config": "partition_num? replication_factor? kafka_version? max_message_bytes? compression?"
    " kafka_client_id? auto_create_topic? dial_timeout? write_timeout? read_timeout? required_acks? sasl_user?"
    " sasl_password? sasl_mechanism? sasl_gssapi_auth_type? sasl_gssapi_keytab_path? sasl_gssapi_kerberos_config_path?"
    " sasl_gssapi_service_name? sasl_gssapi_user? sasl_gssapi_password? sasl_gssapi_realm? sasl_gssapi_disable_pafxfast?"
    " sasl_oauth_client_id? sasl_oauth_client_secret? sasl_oauth_token_url? sasl_oauth_scopes- sasl_oauth_grant_type?"
    " sasl_oauth_audience? enable_tls? ca? cert? key? insecure_skip_verify? codec_config? large_message_handle?"
    " glue_schema_registry_config? output_raw_change_event?",
    "sink.kafka-config.codec-config": "enable_tidb_extension? max_batch_size? avro_enable_watermark?"
    " avro_decimal_handling_mode? avro_bigint_unsigned_handling_mode? encoding_format?",
    "sink.kafka-config.large-message-handle": "large_message_handle_option large_message_handle_compression"
    " claim_check_storage_uri claim_check_raw_value claim_check_compression",
    "sink.kafka-config.glue-schema-registry-config": "registry_name region access_key- secret_access_key- token-",
    "sink.pulsar-config": "tls-certificate-path? tls-private-key-path? tls-trust-certs-file-path?"
    " pulsar-producer-cache-size? pulsar-version? compression-type? authentication-token? connection-timeout?"
    " operation-timeout? batching-max-messages? batching-max-publish-delay? send-timeout? token-from-file?"
    " basic-user-name? basic-password? auth-tls-certificate-path? auth-tls-private-key-path? oauth2?"
    " output-raw-change-event?",
    "sink.pulsar-config.oauth2": "oauth2-issuer-url- oauth2-audience- oauth2-private-key- oauth2-client-id- oauth2-scope-",
    "sink.mysql-config": "worker_count? max_txn_row? max_multi_update_row_size? max_multi_update_row_count?"
    " tidb_txn_mode? ssl_ca? ssl_cert? ssl_key? time_zone? write_timeout? read_timeout? timeout? enable_batch_dml?"
    " enable_multi_statement? enable_cache_prepared_statement?",
    "sink.cloud-storage-config": "worker_count? flush_interval? file_size? spool_disk_quota? spool_base_dir?"
    " output_column_id? file_expiration_days? file_cleanup_cron_spec? flush_concurrency? output_raw_change_event?"
    " use_table_id_as_path?",
    "consistent": "level- max_log_size flush_interval meta_flush_interval encoding_worker_num flush_worker_num storage-"
    " use_file_backend compression- flush_concurrency- memory_usage*",
    "consistent.memory-usage": "memory_quota_percentage",
    "scheduler": "enable_table_across_nodes region_threshold region_count_per_span? region_count_refresh_interval?"
    " write_key_threshold scheduling_task_count_per_node? enable_splittable_check? force_split? balance_score_threshold?"
    " min_traffic_percentage? max_traffic_percentage?",
    "integrity": "integrity_check_level corruption_handle_level",
    "synced-status": "synced_check_interval checkpoint_interval",
}
"""The fields of each table of the file, in the order of Go's struct. Behind a name: `?` is left out if it is nil, `*` is
null then, `-` is left out if it is empty."""

STRUCTS = {
    TOP: "ReplicaConfig",
    "filter": "FilterConfig",
    "filter.event-filters": "EventFilterRule",
    "mounter": "MounterConfig",
    "sink": "SinkConfig",
    "sink.csv": "CSVConfig",
    "sink.dispatchers": "DispatchRule",
    "sink.column-selectors": "ColumnSelector",
    "sink.open": "OpenProtocolConfig",
    "sink.debezium": "DebeziumConfig",
    "sink.kafka-config": "KafkaConfig",
    "sink.kafka-config.codec-config": "CodecConfig",
    "sink.kafka-config.large-message-handle": "LargeMessageHandleConfig",
    "sink.kafka-config.glue-schema-registry-config": "GlueSchemaRegistryConfig",
    "sink.pulsar-config": "PulsarConfig",
    "sink.pulsar-config.oauth2": "PulsarOAuth2",
    "sink.mysql-config": "MySQLConfig",
    "sink.cloud-storage-config": "CloudStorageConfig",
    "consistent": "ConsistentConfig",
    "consistent.memory-usage": "ConsistentMemoryUsage",
    "scheduler": "ChangefeedSchedulerConfig",
    "integrity": "IntegrityConfig",
    "synced-status": "SyncedStatusConfig",
}
"""What Go calls them."""

KEY_NAMES = {
    ("sink", "file_index_width"): "file-index-digit",
    ("sink", "advance_timeout"): "advance-timeout-in-sec",
    ("sink.pulsar-config", "tls-certificate-path"): "tls-key-file-path",
    ("sink.pulsar-config", "tls-private-key-path"): "tls-certificate-file",
    ("sink.mysql-config", "max_multi_update_row_count"): "max-multi-update-row",
}
"""Keys of the file whose fields have another name; those of the two Pulsar files are exchanged in TiCDC, too."""

UNSIGNED = frozenset(("memory_quota", "advance_timeout", "batching-max-messages", "memory_quota_percentage"))
UNSET = {
    (TOP, "sql_mode"),
    *(("sink", name) for name in "protocol schema_registry transaction_atomicity safe_mode file_index_width".split()),
}
"""Fields that are nil by default."""

ALWAYS = frozenset(((TOP, "ignore_ineligible_table"),))
"""Fields of every release, which a changefeed has beside its file: some releases refuse them there."""

OPTIONAL_IN_NEW = frozenset(((TOP, "force_replicate"), (TOP, "ignore_ineligible_table")))
"""Of the new architecture: fields without a default, which are left out."""

EMPTY_IN_NEW = frozenset((("consistent", "storage"), ("consistent", "compression")))
"""Of the new architecture: fields that are there although they are empty."""

NO_DEFAULT = frozenset(
    (
        "sink.kafka-config sink.kafka-config.codec-config sink.kafka-config.large-message-handle"
        " sink.kafka-config.glue-schema-registry-config sink.pulsar-config sink.pulsar-config.oauth2 sink.mysql-config"
        " sink.cloud-storage-config"
    ).split()
)
"""Tables that are nil by default."""


@dataclass(frozen=True)
class ConfigField:
    """A field of a struct."""

    name: str
    key: str
    """The key in the file."""

    unset: str
    """`?`, `*`, `-` or nothing, as in FIELDS."""

    kind: str
    """As in `keys.ConfigKey`, with `uint` for unsigned integers; empty for a table."""

    default: Any
    inner: str
    """The place of a table, or of each row; empty for other values."""

    @property
    def zero(self) -> Any:
        return None if self.unset in ("?", "*") else zero(self.kind)


@cache
def config_fields(place: str, release: Release) -> Mapping[str, ConfigField]:
    """Return the fields that a release has at a place, by name."""
    fields = (_field(place, text.rstrip("?*-"), text, release) for text in FIELDS[place].split())
    return {
        field.name: field
        for field in fields
        if (place, field.name) in ALWAYS or release.has(keys.option(place, field.key))
    }


def _field(place: str, name: str, text: str, release: Release) -> ConfigField:
    key = KEY_NAMES.get((place, name), name.replace("_", "-"))
    inner = key if place == TOP else f"{place}.{key}"
    unset = text.removeprefix(name)
    known = keys.KEYS[place].get(key)
    kind = "" if known is None else "uint" if name in UNSIGNED else known.kind
    unknown = known is None or place in NO_DEFAULT or (place, name) in UNSET
    default = None if unknown else keys.default(place, key, release) or zero(kind)
    if release.api_keyspaces:
        if (place, name) in OPTIONAL_IN_NEW:
            unset, default = "?", None
        elif (place, name) in EMPTY_IN_NEW:
            unset = ""
    if kind == "duration" and isinstance(default, str):
        default = _nanoseconds(default)
    if (place, name) == ("sink", "terminator"):  # TiCDC's list of keys has it as changefeed.toml writes it
        default = "\r\n"
    return ConfigField(name, key, unset, kind, default, inner if inner in FIELDS else "")


def default_document(release: Release, place: str = TOP) -> Document:
    """Return the defaults of a release (GetDefaultReplicaConfig)."""
    return {field.name: _default(field, release) for field in config_fields(place, release).values()}


def _default(field: ConfigField, release: Release) -> Any:
    if field.inner and not field.kind:
        return None if field.inner in NO_DEFAULT else default_document(release, field.inner)
    return field.zero if field.default is None else field.default


def zero_document(release: Release, place: str = TOP) -> Document:
    """Return the zeros of Go's struct."""
    return {field.name: field.zero for field in config_fields(place, release).values()}


def read_document(value: Any, base: Document, release: Release, where: Place, place: str = TOP) -> Document:
    """Return a document with what a JSON value changes in it; null changes nothing. Raises BodyError."""
    if value is None:
        return base
    if not isinstance(value, dict):
        raise mismatch(value, where, f"v2.{STRUCTS[place]}")
    fields, document = config_fields(place, release), dict(base)
    for name, each in matched(value, fields).items():
        document[name] = _read(fields[name], each, base[name], release, where.field(name, STRUCTS[place]))
    return document


def _read(field: ConfigField, value: Any, base: Any, release: Release, where: Place) -> Any:
    if not field.inner:
        return read_value(value, field.kind, field.zero if field.zero is None else base, where)
    if value is None:
        return None
    if not field.kind:
        inner = zero_document(release, field.inner) if base is None else base
        return read_document(value, inner, release, where, field.inner)
    if not isinstance(value, list):
        raise mismatch(value, where, f"[]v2.{STRUCTS[field.inner]}")
    return [read_document(row, zero_document(release, field.inner), release, where, field.inner) for row in value]


def shown_document(document: Document, release: Release, place: str = TOP) -> Document:
    """Return the document as it is answered: without fields that are left out, with secrets masked."""
    fields = config_fields(place, release)
    return {
        name: _shown(fields[name], value, release) for name, value in document.items() if _is_shown(fields[name], value)
    }


def _is_shown(field: ConfigField, value: Any) -> bool:
    return value is not None if field.unset == "?" else bool(value) if field.unset == "-" else True


def _shown(field: ConfigField, value: Any, release: Release) -> Any:
    if field.inner and isinstance(value, list):
        return [shown_document(row, release, field.inner) for row in value]
    if field.inner and value is not None:
        return shown_document(value, release, field.inner)
    return masked(field.name, value)


def masked(name: str, value: Any) -> Any:
    """Return a value of a changefeed.toml, or of its document, by its name, with the secrets in it masked."""
    if isinstance(value, dict):
        return {name: masked(name, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [masked(name, inner) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    if is_secret(name):
        return MASK
    return masked_uri(value) if name.lower().replace("-", "_") in ADDRESSES else value


ADDRESSES = frozenset(("schema_registry", "claim_check_storage_uri", "sasl_oauth_token_url", "storage"))
"""Fields with a URI, which may hold a secret."""


def unmasked(new: Any, old: Any, shown: Any) -> Any:
    """Return a value in which what is as `shown` is the old one: who sends back an answer changes no secret."""
    if isinstance(new, dict) and isinstance(old, dict) and isinstance(shown, dict):
        return {name: unmasked(value, old.get(name), shown.get(name)) for name, value in new.items()}
    return old if isinstance(new, str) and new == shown else new


def config_of(document: Document, release: Release) -> dict[str, Any]:
    """Return the changefeed.toml, as a mapping, that says what a document has beside the defaults."""
    return _config(document, default_document(release), release, TOP)


def _config(document: Document, base: Document, release: Release, place: str) -> dict[str, Any]:
    return {
        field.key: value
        for field in config_fields(place, release).values()
        if (place, field.name) not in ALWAYS
        and (value := _config_value(field, document[field.name], base[field.name], release)) is not None
    }


def _config_value(field: ConfigField, value: Any, base: Any, release: Release) -> Any:
    """Return what the file says of a field; None if it is silent."""
    if value is None or value == base:
        return None
    if field.inner and field.kind:
        empty = zero_document(release, field.inner)
        return [_config(row, empty, release, field.inner) for row in value] or None
    if field.inner:
        return _config(value, zero_document(release, field.inner) if base is None else base, release, field.inner)
    return show_duration(value / NANOSECONDS) if field.kind == "duration" else value


def document_of(config: Mapping[str, Any], release: Release, sink_uri: str) -> Document:
    """Return the document of a changefeed.toml that was accepted with a sink-uri."""
    return _adjusted(_document(config, default_document(release), release, TOP), sink_uri, release)


def _document(config: Mapping[str, Any], base: Document, release: Release, place: str) -> Document:
    document = dict(base)
    for field in config_fields(place, release).values():
        value = next((config[key] for key in _spellings(config, field, place)), None)
        if value is None:
            continue
        if field.inner and field.kind:
            empty = zero_document(release, field.inner)
            document[field.name] = [_document(row, empty, release, field.inner) for row in value]
        elif field.inner:
            inner = zero_document(release, field.inner) if base[field.name] is None else base[field.name]
            document[field.name] = _document(value, inner, release, field.inner)
        else:
            document[field.name] = _nanoseconds(value) if field.kind == "duration" else value
    return document


def _spellings(config: Mapping[str, Any], field: ConfigField, place: str) -> Iterator[str]:
    """Yield the keys that say a field; `dispatcher` is the old spelling of `partition`."""
    known = {field.key, "dispatcher"} if (place, field.key) == ("sink.dispatchers", "partition") else {field.key}
    yield from (key for key in config if key.lower() in known and config[key] != "")


def _adjusted(document: Document, sink_uri: str, release: Release) -> Document:
    """Return what TiCDC makes of a document when it creates a changefeed (ReplicaConfig.ValidateAndAdjust)."""
    parsed = urlsplit(sink_uri)
    asked = {name: values[0] for name, values in parse_qs(parsed.query).items()}
    sink = dict(document["sink"])
    for parameter, name in (("protocol", "protocol"), ("transaction-atomicity", "transaction_atomicity")):
        if parameter in asked and name in sink:
            sink[name] = asked[parameter]
    if parsed.scheme in keys.STORAGE_SCHEMES and (sink.get("file_index_width") or 0) not in FILE_INDEX_WIDTHS:
        sink["file_index_width"] = FILE_INDEX_WIDTHS[-1]
    handle = (sink.get("kafka_config") or {}).get("large_message_handle")
    if handle is not None:
        filled = {name: handle[name] or "none" for name in handle if name.startswith("large_message_handle_")}
        sink["kafka_config"] = {**sink["kafka_config"], "large_message_handle": {**handle, **filled}}
    adjusted = {**document, "sink": sink}
    if adjusted.get("memory_quota") == 0:
        adjusted["memory_quota"] = default_document(release)["memory_quota"]
    if "kafka" not in parsed.scheme and "integrity" in adjusted:
        adjusted["integrity"] = {**adjusted["integrity"], "integrity_check_level": "none"}
    return adjusted


FILE_INDEX_WIDTHS = range(6, 21)


def _nanoseconds(value: Any) -> int:
    return round(parse_duration(value) * NANOSECONDS) if isinstance(value, str) else int(value)


MASK = "******"
"""A secret of a configuration, as TiCDC's log has it."""

MASKED = "xxxxx"
"""A secret of a URI. TiCDC masks the password before the host and `sasl-password`, and in its log more (tiflow v8.5.3:
pkg/util/uri.go MaskSinkURI, MaskSensitiveDataInURI); here every parameter with a secret's name is masked."""


def masked_uri(uri: str) -> str:
    """Return the URI with its secrets masked; the parameters are then sorted, as Go writes them.

    A text that is no URI is empty.
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    if colon:
        user = f"{name}:{MASKED}"
    query = parts.query
    pairs = sorted(parse_qsl(query, keep_blank_values=True), key=lambda pair: pair[0])
    if any(is_secret(name) for name, _ in pairs):
        query = urlencode([(name, MASKED if is_secret(name) else value) for name, value in pairs])
    return urlunsplit(parts._replace(netloc=f"{user}{at}{host}", query=query)) if colon or query != parts.query else uri
