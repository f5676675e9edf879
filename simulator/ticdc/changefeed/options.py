"""The encoder's options from the settings, checked as TiCDC checks them when the sink starts.

One law: same order, same codes, same texts as pkg/sink/codec/common/config.go; an option that the release does not have
has its default.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import ChangefeedError
from simulator.releases import option_names
from simulator.ticdc.changefeed import (
    encoder,
    kafka as reaching,
    large_messages,
    old_value,
    protocols,
    rejections,
    security,
)
from simulator.ticdc.changefeed.merged import Settings
from simulator.ticdc.changefeed.model import Kafka
from simulator.ticdc.codecs.options import CodecOptions


def codec(settings: Settings, force_replicate: bool) -> CodecOptions:
    """The encoder's options; raises ChangefeedError."""
    protocol = protocols.protocol(settings)
    old_values = old_value.enabled(settings, protocol)
    if force_replicate:
        _check_force_replicate(settings, protocol)
    encoding = settings.text("encoding-format", "json")
    if protocol == "simple" and encoding not in ("json", "avro"):
        raise _codec(f"unsupported encoding format type: {encoding} for the simple protocol")
    if protocol == "avro":
        _check_avro(settings)
    _check_extension(settings, protocol)
    options = _options(settings, protocol, old_values)
    encoder.check(options, settings.release)
    large_messages.check(settings, options.enable_tidb_extension)
    if protocol not in protocols.SIMULATED:
        raise ChangefeedError(f"protocol {protocol} is not simulated yet; accepted: {', '.join(protocols.SIMULATED)}")
    return options


def _options(settings: Settings, protocol: str, old_values: bool) -> CodecOptions:
    compatible = protocol == "canal-json" and settings.truth("content-compatible")
    handle_key = bool(settings.of_file("sink", "delete-only-output-handle-key-columns"))
    batch, size = _limits(settings)
    return CodecOptions(
        protocol=protocol,
        enable_tidb_extension=settings.truth("enable-tidb-extension"),
        max_batch_size=batch,
        max_message_bytes=size,
        only_output_updated_columns=compatible or _only_updated(settings),
        delete_only_output_handle_key_columns=handle_key,
        large_message_handle_option=large_messages.way(settings, protocol),
        large_message_handle_compression=large_messages.text(settings, "large-message-handle-compression") or "none",
        claim_check_storage_uri=large_messages.text(settings, "claim-check-storage-uri"),
        claim_check_raw_value=bool(settings.of_file(large_messages.TABLE, "claim-check-raw-value")),
        claim_check_compression=large_messages.text(settings, "claim-check-compression") or "none",
        content_compatible=compatible,
        output_old_value=bool(settings.of_file("sink.open", "output-old-value")),
        enable_old_value=old_values,
        output_row_key=settings.truth("output-row-key"),
        terminator=_terminator(settings, protocol),
    )


def _terminator(settings: Settings, protocol: str) -> str:
    given = settings.file.values.get(("sink", "terminator")) or "\r\n"
    return str(given) if settings.release.canal_ends_rows and protocol == "canal-json" else ""


def _limits(settings: Settings) -> tuple[int, int]:
    """max-batch-size and max-message-bytes."""
    batch = settings.number("max-batch-size", settings.default("max-batch-size"))
    size = settings.number("max-message-bytes", settings.default("max-message-bytes"))
    if settings.release.batch_size_sets_bytes and settings.get("max-batch-size") is not None:
        return settings.default("max-batch-size"), batch
    return batch, size


def _check_force_replicate(settings: Settings, protocol: str) -> None:
    if protocol == "avro":
        raise _codec("force-replicate must be disabled, when using avro protocol")
    large_messages.check_force_replicate(settings)
    if settings.of_file("sink", "delete-only-output-handle-key-columns"):
        what = '"delete-only-output-handle-key-columns" is true.'
        raise _codec(f"force-replicate must be disabled when configuration {what}")


def _check_extension(settings: Settings, protocol: str) -> None:
    given = settings.parameters.get("enable-tidb-extension")
    if settings.release.kafka_refuses_tidb_extension and given is not None and protocol != "canal-json":
        text = "enable-tidb-extension only support canal-json protocol"
        raise ChangefeedError(text, "CDC:ErrKafkaInvalidConfig")


def _only_updated(settings: Settings) -> bool:
    # [sink] content-compatible brings it for every protocol, the sink-uri's for canal-json alone (mergeConfig, Apply)
    known = option_names.UPDATED_COLUMNS <= settings.release.options
    by_file = known and settings.of_file("sink", "content-compatible")
    return settings.truth("only-output-updated-columns") or bool(by_file)


def _check_avro(settings: Settings) -> None:
    registries = '"schema-registry" or "glue-schema-registry"'
    registry, glue = settings.text("schema-registry"), rejections.GLUE in settings.file.tables
    if registry and glue:
        raise _codec(f"Avro protocol requires only one of {registries} to specify the schema registry")
    if not registry and not glue:
        raise _codec(f"Avro protocol requires parameter {registries} to specify the schema registry")
    if settings.text("avro-decimal-handling-mode", "precise") not in ("precise", "string"):
        raise _codec('avro-decimal-handling-mode value could only be "string" or "precise"')
    if settings.text("avro-bigint-unsigned-handling-mode", "long") not in ("long", "string"):
        raise _codec('avro-bigint-unsigned-handling-mode value could only be "long" or "string"')


def idle(settings: Settings, codec: CodecOptions, kafka: Kafka) -> Iterator[str]:
    """A warning for each option that the protocol or another option leaves without effect."""
    canal, given = codec.protocol == "canal-json", settings.get
    compression = settings.text("compression", "none")
    if compression.strip().lower() not in reaching.COMPRESSIONS:
        yield f"compression {compression!r} is unknown, none is used; accepted: {', '.join(reaching.COMPRESSIONS)}"
    if codec.enable_tidb_extension and not canal:
        yield "enable-tidb-extension has no effect with open-protocol: it concerns canal-json and avro only"
    if given("max-batch-size") is not None and canal:
        yield "max-batch-size has no effect with canal-json: its messages hold one row"
    if settings.parameters.get("content-compatible") and not canal:
        yield "content-compatible has no effect with open-protocol in the sink-uri"
    if settings.file.values.get(("sink.open", "output-old-value")) is not None and canal:
        yield "sink.open.output-old-value has no effect with canal-json"
    elif not codec.output_old_value and not settings.release.open_old_optional:
        yield f"sink.open.output-old-value has no effect: TiCDC {settings.release.name} reads it and does not mind it"
    if settings.of_file("sink.kafka-config", "output-raw-change-event") and not canal and not codec.output_old_value:
        yield "output-raw-change-event without sink.open.output-old-value: an UPDATE of a key does not say the old key"
    if given("max-batch-size") is not None and settings.release.batch_size_sets_bytes:
        yield f"max-batch-size sets max-message-bytes: a mistake of TiCDC {settings.release.name}"
    if codec.output_row_key and not (canal and codec.enable_tidb_extension):
        yield "output-row-key has no effect without canal-json and enable-tidb-extension"
    if settings.file.values.get(("sink", "terminator")) is not None and not codec.terminator:
        yield "sink.terminator has no effect: it concerns storage sinks only"
    yield from reaching.idle(kafka)
    yield from protocols.replaced(settings)
    yield from old_value.idle(settings, codec.protocol)
    yield from large_messages.idle(settings, codec.protocol)
    yield from security.idle(settings, kafka.sasl, kafka.tls)


def _codec(text: str) -> ChangefeedError:
    return ChangefeedError(text, "CDC:ErrCodecInvalidConfig")
