"""The encoder's options, and the checks that TiCDC makes of them when the sink starts.

Order, codes and texts are those of pkg/sink/codec/common/config.go Apply and Validate (before 6.0, SetParams in
cdc/sink/codec), and for enable-old-value, an option up to 7.3, those of cdc/sink/mq.go, pkg/cmd/cli and
cdc/api/v2/api_helpers.go. An option that the release does not have has its default.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import ChangefeedError, did_you_mean
from simulator.releases import Release, option_names, releases_with
from simulator.ticdc.changefeed import kafka, protocols, storage
from simulator.ticdc.changefeed.kafka import Kafka
from simulator.ticdc.changefeed.keys import FORCE_REPLICATE, GLUE
from simulator.ticdc.changefeed.protocols import codec_config_error, protocol_or_none
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.codec import Protocol

BOOTSTRAPS = frozenset(
    {
        *("send-bootstrap-interval-in-sec", "send-bootstrap-in-msg-count"),
        *("send-bootstrap-to-all-partition", "send-all-bootstrap-at-start"),
    }
)
"""Settings of `[sink]` that concern BOOTSTRAP."""

REGISTRY_OPTIONS = (
    "schema-registry",
    "registry",
    "avro-decimal-handling-mode",
    "avro-bigint-unsigned-handling-mode",
    "avro-enable-watermark",
)

NO_LIMIT = (1 << 63) - 1
"""The size of a row in a storage (tiflow: cdc/sink/dmlsink/cloudstorage/cloud_storage_dml_sink.go)."""
COMPATIBLE, ROW_KEY, DEBEZIUM_SCHEMA = "?content-compatible", "?output-row-key", "?debezium-disable-schema"
DEBEZIUM_OLD = "sink.debezium"

NO_OLD_KEY = "an UPDATE of a key does not say the old key"


def encoder_options(settings: ChangefeedSettings, force_replicate: bool) -> CodecOptions:
    """Return the encoder's options; raise ChangefeedError if TiCDC rejects them."""
    protocol = protocols.protocol(settings)
    old_values = old_values_enabled(settings, protocol)
    if force_replicate:
        _check_force_replicate(settings, protocol)
    protocols.check_protocol_settings(settings, protocol)
    _check_extension(settings, protocol)
    options = _options(settings, protocol, old_values)
    check(options, settings.release)
    check_large_messages(settings, options.enable_tidb_extension)
    _check_sink(settings, protocol)
    _check_simulated(settings, protocol)
    return options


def _check_simulated(settings: ChangefeedSettings, protocol: Protocol) -> None:
    if protocol.name not in CODECS:
        accepted = ", ".join(protocols.accepted(settings))
        raise ChangefeedError(f"protocol {protocol.name} is not simulated yet; accepted: {accepted}")
    if missing := CODECS[protocol.name].not_simulated(settings.release):
        raise ChangefeedError(
            f"protocol {protocol.name} of TiCDC {settings.release.name} is not simulated yet: {missing}"
        )
    if CODECS[protocol.name].needs_registry and GLUE in settings.file.tables:
        raise ChangefeedError(f"[{GLUE}] is not simulated; accepted: schema-registry, the URL of a Confluent registry")


def _options(settings: ChangefeedSettings, protocol: Protocol, old_values: bool) -> CodecOptions:
    compatible = COMPATIBLE in protocol.settings and settings.boolean("content-compatible")
    delete_only_handle_key = bool(settings.file_value("sink", "delete-only-output-handle-key-columns"))
    batch_size, message_bytes = _limits(settings)
    return CodecOptions(
        protocol=protocol.name,
        enable_tidb_extension=settings.boolean("enable-tidb-extension"),
        max_batch_size=batch_size,
        max_message_bytes=message_bytes,
        only_output_updated_columns=compatible or _only_updated(settings),
        delete_only_output_handle_key_columns=delete_only_handle_key,
        large_message_handle_option=handle_option(settings, protocol),
        large_message_handle_compression=large_message_setting(settings, "large-message-handle-compression") or "none",
        claim_check_storage_uri=large_message_setting(settings, "claim-check-storage-uri"),
        claim_check_raw_value=bool(settings.file_value(TABLE, "claim-check-raw-value")),
        claim_check_compression=large_message_setting(settings, "claim-check-compression") or "none",
        content_compatible=compatible,
        output_old_value=bool(settings.file_value("sink.open", "output-old-value")),
        debezium_disable_schema=settings.boolean("debezium-disable-schema"),
        debezium_output_old_value=bool(settings.file_value("sink.debezium", "output-old-value")),
        avro_decimal_handling_mode=settings.text("avro-decimal-handling-mode", "precise"),
        avro_bigint_unsigned_handling_mode=settings.text("avro-bigint-unsigned-handling-mode", "long"),
        avro_enable_watermark=settings.boolean("avro-enable-watermark"),
        schema_registry=settings.text("schema-registry") or settings.text("registry"),
        schema_registry_tls=bool(settings.text("registry")) and settings.release.avro_registry_tls,
        enable_old_value=old_values,
        output_row_key=settings.boolean("output-row-key"),
        terminator=_terminator(settings, protocol),
        encoding_format=settings.text("encoding-format", "json"),
        send_bootstrap_interval_in_sec=_sink_number(settings, "send-bootstrap-interval-in-sec"),
        send_bootstrap_in_msg_count=_sink_number(settings, "send-bootstrap-in-msg-count"),
        send_bootstrap_to_all_partition=bool(settings.file_value("sink", "send-bootstrap-to-all-partition")),
        send_all_bootstrap_at_start=bool(settings.file_value("sink", "send-all-bootstrap-at-start")),
        row_checksums=settings.file_value("integrity", "integrity-check-level") == "correctness",
        stores_rows=storage.is_storage(settings),
        csv=storage.csv_options(settings),
    )


def _sink_number(settings: ChangefeedSettings, name: str) -> int:
    value = settings.file_value("sink", name)
    return value if isinstance(value, int) else 0


def _check_sink(settings: ChangefeedSettings, protocol: Protocol) -> None:
    """Raise ChangefeedError if no encoder of the protocol is for the sink (pkg/sink/codec/builder)."""
    accepted = ", ".join(protocols.accepted(settings))
    text = f"unknown '{protocol.name}' message protocol for sink; accepted: {accepted}"
    if storage.is_storage(settings) and "storage" not in protocol.sinks:
        raise storage.invalid(text, settings)
    if not storage.is_storage(settings) and "kafka" not in protocol.sinks:
        raise ChangefeedError(f"{text} ({protocol.name} is for storage sinks)", "CDC:ErrSinkUnknownProtocol")


def _terminator(settings: ChangefeedSettings, protocol: Protocol) -> str:
    if storage.is_storage(settings):
        return storage.terminator(settings)
    terminator = settings.file.values.get(("sink", "terminator")) or "\r\n"
    return str(terminator) if settings.release.canal_ends_rows and "sink.terminator" in protocol.settings else ""


def _limits(settings: ChangefeedSettings) -> tuple[int, int]:
    batch_size = settings.number("max-batch-size", settings.default("max-batch-size"))
    message_bytes = settings.number("max-message-bytes", settings.default("max-message-bytes"))
    if storage.is_storage(settings):
        return batch_size, NO_LIMIT
    if settings.release.batch_size_sets_bytes and settings.get("max-batch-size") is not None:
        return settings.default("max-batch-size"), batch_size
    return batch_size, message_bytes


def _check_force_replicate(settings: ChangefeedSettings, protocol: Protocol) -> None:
    if refusal := protocol.refusals.get(FORCE_REPLICATE):
        raise protocols.codec_config_error(refusal)
    check_force_replicate(settings)
    if settings.file_value("sink", "delete-only-output-handle-key-columns"):
        what = '"delete-only-output-handle-key-columns" is true.'
        raise protocols.codec_config_error(f"force-replicate must be disabled when configuration {what}")


def _check_extension(settings: ChangefeedSettings, protocol: Protocol) -> None:
    parameter, release = settings.parameters.get("enable-tidb-extension"), settings.release
    if release.kafka_refuses_tidb_extension and parameter is not None and not protocol.tidb_extension(release):
        text = f"enable-tidb-extension only support {_extension_protocols(release)} protocol"
        raise ChangefeedError(text, "CDC:ErrKafkaInvalidConfig")


def _extension_protocols(release: Release) -> str:
    return " and ".join(name for name, protocol in protocols.PROTOCOLS.items() if protocol.tidb_extension(release))


def _only_updated(settings: ChangefeedSettings) -> bool:
    # [sink] content-compatible brings it for every protocol, the sink-uri's for canal-json alone (mergeConfig, Apply)
    is_known = option_names.UPDATED_COLUMNS <= settings.release.options
    in_file = is_known and settings.file_value("sink", "content-compatible")
    return settings.boolean("only-output-updated-columns") or bool(in_file)


def warnings(settings: ChangefeedSettings, options: CodecOptions, kafka_settings: Kafka) -> Iterator[str]:
    """Yield a warning for each option without effect under the protocol or the other options."""
    protocol, release = CODECS[options.protocol].protocol, settings.release
    sets_batch_size = settings.get("max-batch-size") is not None
    may_drop_old = "sink.open" in protocol.settings
    has_schema, may_drop_before = DEBEZIUM_SCHEMA in protocol.settings, DEBEZIUM_OLD in protocol.settings
    compression = settings.text("compression", "none")
    if compression.strip().lower() not in kafka.COMPRESSIONS:
        yield f"compression {compression!r} is unknown, none is used; accepted: {', '.join(kafka.COMPRESSIONS)}"
    if options.enable_tidb_extension and not protocol.tidb_extension(release):
        concerned = _extension_protocols(release)
        yield f"enable-tidb-extension has no effect with {protocol.name}: it concerns {concerned} only"
    if sets_batch_size and not CODECS[options.protocol].batches:
        yield f"max-batch-size has no effect with {protocol.name}: its messages hold one row"
    yield from _registry_warnings(settings, CODECS[options.protocol].needs_registry, options)
    if settings.parameters.get("content-compatible") and COMPATIBLE not in protocol.settings:
        yield f"content-compatible has no effect with {protocol.name} in the sink-uri"
    if settings.file.values.get(("sink.open", "output-old-value")) is not None and not may_drop_old:
        yield f"sink.open.output-old-value has no effect with {protocol.name}"
    elif not options.output_old_value and not release.open_old_optional:
        yield f"sink.open.output-old-value has no effect: TiCDC {release.name} reads it and does not mind it"
    bootstraps = CODECS[options.protocol].bootstrap is not None
    yield from _bootstrap_warnings(settings, options)
    if options.row_checksums and not protocol.row_checksums:
        yield f"integrity-check-level = correctness has no effect with {protocol.name}: its messages have no checksums"
    if settings.get("encoding-format") is not None and not bootstraps:
        yield f"encoding-format has no effect with {protocol.name}"
    if settings.file.values.get(("sink.debezium", "output-old-value")) is not None and not may_drop_before:
        yield f"sink.debezium.output-old-value has no effect with {protocol.name}"
    if settings.get("debezium-disable-schema") is not None and not has_schema:
        yield f"debezium-disable-schema has no effect with {protocol.name}"
    raw = settings.file_value("sink.kafka-config", "output-raw-change-event")
    if raw and may_drop_old and not options.output_old_value:
        yield f"output-raw-change-event without sink.open.output-old-value: {NO_OLD_KEY}"
    if raw and may_drop_before and not options.debezium_output_old_value:
        yield f"output-raw-change-event without sink.debezium.output-old-value: {NO_OLD_KEY}"
    if sets_batch_size and release.batch_size_sets_bytes:
        yield f"max-batch-size sets max-message-bytes: a mistake of TiCDC {release.name}"
    if options.output_row_key and not (ROW_KEY in protocol.settings and options.enable_tidb_extension):
        having = " or ".join(name for name, codec in CODECS.items() if ROW_KEY in codec.protocol.settings)
        yield f"output-row-key has no effect without {having} and enable-tidb-extension"
    if settings.file.values.get(("sink", "terminator")) is not None and not options.terminator:
        yield "sink.terminator has no effect: it concerns storage sinks only"
    yield from kafka.warnings(kafka_settings)
    yield from protocols.fallback_warnings(settings)
    old_values, written = old_values_enabled(settings, protocol), ("(top level)", "enable-old-value")
    if not _old_values_chosen(settings) and old_values:
        yield f"enable-old-value = false has no effect: {protocol.name} turns it on"
    if settings.file.values.get(written) and not old_values:
        yield f"enable-old-value = true has no effect: {protocol.name} turns it off"
    yield from large_message_warnings(settings, protocol)
    yield from kafka.security_warnings(settings, kafka_settings.sasl, kafka_settings.tls)


def _bootstrap_warnings(settings: ChangefeedSettings, options: CodecOptions) -> Iterator[str]:
    """Yield a warning for each setting of BOOTSTRAP that has no effect."""
    has_any, release = CODECS[options.protocol].bootstrap is not None, settings.release
    names = [name for place, name in settings.file.values if place == "sink" and name in BOOTSTRAPS]
    at_start, always = options.send_all_bootstrap_at_start, release.simple_start_bootstraps == "partitions"
    if at_start and always and not has_any:
        yield (
            f"sink.send-all-bootstrap-at-start is not simulated with {options.protocol}: TiCDC {release.name} sends a "
            "statement without text for each table"
        )
        names.remove("send-all-bootstrap-at-start")
    for name in names if not has_any else ():
        yield f"sink.{name} has no effect with {options.protocol}: it sends no BOOTSTRAP"
    intervals = options.send_bootstrap_interval_in_sec, options.send_bootstrap_in_msg_count
    if at_start and has_any and not always and min(intervals) <= 0:
        yield "sink.send-all-bootstrap-at-start has no effect: both settings of repetition must be above 0"


def _registry_warnings(settings: ChangefeedSettings, has_registry: bool, options: CodecOptions) -> Iterator[str]:
    """Yield a warning for each option of protocols with a registry that has no effect."""
    for name in () if has_registry else REGISTRY_OPTIONS:
        if settings.get(name) is not None:
            yield f"{name} has no effect with {options.protocol}"
    if has_registry and options.avro_enable_watermark and not options.enable_tidb_extension:
        yield "avro-enable-watermark has no effect without enable-tidb-extension"


def check(options: CodecOptions, release: Release) -> None:
    """Raise ChangefeedError for options that the release's encoder rejects."""
    if options.only_output_updated_columns and not options.content_compatible and not options.enable_old_value:
        text = 'old value must be enabled when configuration "only-output-updated-columns" is true.'
        if option_names.UPDATED_COLUMNS <= release.options:
            raise ChangefeedError(text, release.codec_error)
    if options.enable_tidb_extension and not protocols.PROTOCOLS[options.protocol].tidb_extension(release):
        if release.tidb_extension_refusal:
            raise ChangefeedError(release.tidb_extension_refusal, release.codec_error)
    limits = {"max-message-bytes": options.max_message_bytes, "max-batch-size": options.max_batch_size}
    for name, value in limits.items():
        if value <= 0:
            raise ChangefeedError(f"invalid {name} {value}", release.codec_error)


REQUIRED = "enable-old-value = true in changefeed.toml is accepted"


def old_values_enabled(settings: ChangefeedSettings, protocol: Protocol) -> bool:
    """Return whether enable-old-value is on; raise ChangefeedError if the protocol or force-replicate needs it."""
    chosen, release = _old_values_chosen(settings), settings.release
    rule = protocol.old_values(release)
    if not chosen and settings.file_value("(top level)", "force-replicate") and release.force_replicate_needs_old_value:
        text = f"old value is not enabled: if use force replicate, old value feature must be enabled; {REQUIRED}"
        raise ChangefeedError(text, "CDC:ErrOldValueNotEnabled")
    if not chosen and rule == "required":
        raise ChangefeedError(f"Canal requires old value to be enabled; {REQUIRED}", "CDC:ErrKafkaInvalidConfig")
    return rule != "disabled" and (chosen or rule == "forced")


def _old_values_chosen(settings: ChangefeedSettings) -> bool:
    return bool(settings.file_value("(top level)", "enable-old-value"))


TABLE = option_names.LARGE
ONLY_HANDLE_KEY_7_2 = "large-message-only-handle-key-columns"
HANDLE_OPTIONS = ("none", "handle-key-only", "claim-check")


def handle_option(settings: ChangefeedSettings, protocol: Protocol) -> str:
    """Return the option that takes effect: none, handle-key-only or claim-check."""
    option = _large_message_option(settings)
    if settings.file_value("sink", ONLY_HANDLE_KEY_7_2):
        # 7.2.0 cuts messages of Open Protocol alone (tiflow v7.2.0: pkg/sink/codec/open/open_protocol_encoder.go)
        return "handle-key-only" if f"sink.{ONLY_HANDLE_KEY_7_2}" in protocol.settings else "none"
    if option == "claim-check" and not _has_claim_check(settings):
        return "none"
    return option if option in HANDLE_OPTIONS else "none"


def large_message_setting(settings: ChangefeedSettings, name: str) -> str:
    """Return a setting of the table, or an empty string."""
    return str(settings.file_value(TABLE, name) or "")


def check_large_messages(settings: ChangefeedSettings, extension: bool) -> None:
    """Raise ChangefeedError for settings that do not suit the protocol."""
    if TABLE not in settings.file.tables:
        return
    option, protocol = _large_message_option(settings), protocol_or_none(settings)
    compression = large_message_setting(settings, "large-message-handle-compression") or "none"
    if compression not in ("none", "snappy", "lz4"):
        raise replica_config_error(f"large message handle compression is not supported, got {compression}")
    if option == "none":
        return
    if option not in HANDLE_OPTIONS and settings.release.refuses_unknown_handling:
        raise replica_config_error(f"unknown large-message-handle-option {option}; {_accepted_options(settings)}")
    start = f"large message handle is set to {option},"
    if protocol is None or TABLE not in protocol.settings:
        raise replica_config_error(f"{start} protocol is {protocol.name if protocol else ''}, it's not supported")
    if protocol.large_messages_need_extension and not extension:
        raise replica_config_error(f"{start} protocol is {protocol.name}, but enable-tidb-extension is false")
    if option != "claim-check" or not _has_claim_check(settings):
        return
    if not large_message_setting(settings, "claim-check-storage-uri"):
        raise replica_config_error(f"{start} but the claim-check-storage-uri is empty")
    file_compression = large_message_setting(settings, "claim-check-compression")
    if file_compression and file_compression.lower() not in ("snappy", "lz4"):
        raise replica_config_error(f"claim-check compression support snappy, lz4, got {file_compression}")
    refusal = protocol.refusals.get(f"{TABLE}.claim-check-raw-value")
    if refusal and settings.file_value(TABLE, "claim-check-raw-value"):
        raise replica_config_error(f"{start} {refusal}")


def check_force_replicate(settings: ChangefeedSettings) -> None:
    """Raise ChangefeedError if large messages are handled and tables without a handle key are replicated."""
    option = _large_message_option(settings)
    if _has_claim_check(settings) and option != "none":
        what = "when the large message handle is enabled, large message handle:"
        raise codec_config_error(f'force-replicate must be disabled, {what} "{option}"')
    if option == "handle-key-only":
        what = 'when the large message handle option is set to "handle-key-only"'
        raise codec_config_error(f"force-replicate must be disabled, {what}")


def large_message_warnings(settings: ChangefeedSettings, protocol: Protocol) -> Iterator[str]:
    """Yield a warning for each setting that the release ignores."""
    option, release = _large_message_option(settings), settings.release
    if option == "claim-check" and not _has_claim_check(settings):
        since = releases_with(f"{TABLE}.claim-check-storage-uri")
        yield f"large-message-handle-option claim-check has no effect in TiCDC {release.name} ({since})"
    compression = large_message_setting(settings, "claim-check-compression")
    if compression and option != "claim-check":
        yield f"claim-check-compression has no effect with large-message-handle-option {option}"
    elif compression != compression.lower():
        # tiflow v7.3.0: pkg/config/sink.go lowers the word to check it, cdc/sink/dmlsink/mq/claim_check.go compares it
        yield f"claim-check-compression {compression!r} has no effect: TiCDC {release.name} wants it in lower case"
    if option not in HANDLE_OPTIONS:
        yield f"large-message-handle-option {option!r} is unknown and has no effect; {_accepted_options(settings)}"
    if settings.file_value("sink", ONLY_HANDLE_KEY_7_2) and f"sink.{ONLY_HANDLE_KEY_7_2}" not in protocol.settings:
        yield f"sink.{ONLY_HANDLE_KEY_7_2} has no effect with {protocol.name} in TiCDC {release.name}"


def _accepted_options(settings: ChangefeedSettings) -> str:
    names = [name for name in HANDLE_OPTIONS if name != "claim-check" or _has_claim_check(settings)]
    return f"accepted: {', '.join(names)}.{did_you_mean(_large_message_option(settings), names)}"


def _large_message_option(settings: ChangefeedSettings) -> str:
    return large_message_setting(settings, "large-message-handle-option") or "none"


def _has_claim_check(settings: ChangefeedSettings) -> bool:
    return option_names.CLAIM_CHECK <= settings.release.options


def replica_config_error(text: str) -> ChangefeedError:
    """Return TiCDC's error for an invalid changefeed configuration."""
    return ChangefeedError(text, "CDC:ErrInvalidReplicaConfig")
