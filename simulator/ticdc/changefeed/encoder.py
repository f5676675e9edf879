"""The encoder's options from the settings, checked as TiCDC checks them when the sink starts, and what it refuses of
them, whatever they come from.

One law: same order, same codes, same texts as pkg/sink/codec/common/config.go Apply and Validate (before 6.0, SetParams
in cdc/sink/codec), and for enable-old-value, an option up to 7.3, as cdc/sink/mq.go, pkg/cmd/cli and
cdc/api/v2/api_helpers.go; an option that the release does not have has its default.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import ChangefeedError
from simulator.releases import Release, option_names
from simulator.ticdc.changefeed import kafka, large_messages, protocols, security
from simulator.ticdc.changefeed.keys import FORCE_REPLICATE
from simulator.ticdc.changefeed.model import Kafka
from simulator.ticdc.changefeed.settings import Settings
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.codec import Protocol

COMPATIBLE, ROW_KEY = "?content-compatible", "?output-row-key"


def encoder_options(settings: Settings, force_replicate: bool) -> CodecOptions:
    """The encoder's options; raises ChangefeedError."""
    protocol = protocols.protocol(settings)
    old_values = old_values_enabled(settings, protocol)
    if force_replicate:
        _check_force_replicate(settings, protocol)
    protocols.check_own(settings, protocol)
    _check_extension(settings, protocol)
    options = _options(settings, protocol, old_values)
    check(options, settings.release)
    large_messages.check(settings, options.enable_tidb_extension)
    if protocol.name not in CODECS:
        raise ChangefeedError(f"protocol {protocol.name} is not simulated yet; accepted: {', '.join(CODECS)}")
    return options


def _options(settings: Settings, protocol: Protocol, old_values: bool) -> CodecOptions:
    compatible = COMPATIBLE in protocol.settings and settings.truth("content-compatible")
    handle_key = bool(settings.of_file("sink", "delete-only-output-handle-key-columns"))
    batch, size = _limits(settings)
    return CodecOptions(
        protocol=protocol.name,
        enable_tidb_extension=settings.truth("enable-tidb-extension"),
        max_batch_size=batch,
        max_message_bytes=size,
        only_output_updated_columns=compatible or _only_updated(settings),
        delete_only_output_handle_key_columns=handle_key,
        large_message_handle_option=large_messages.handle_option(settings, protocol),
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


def _terminator(settings: Settings, protocol: Protocol) -> str:
    given = settings.file.values.get(("sink", "terminator")) or "\r\n"
    return str(given) if settings.release.canal_ends_rows and "sink.terminator" in protocol.settings else ""


def _limits(settings: Settings) -> tuple[int, int]:
    """max-batch-size and max-message-bytes."""
    batch = settings.number("max-batch-size", settings.default("max-batch-size"))
    size = settings.number("max-message-bytes", settings.default("max-message-bytes"))
    if settings.release.batch_size_sets_bytes and settings.get("max-batch-size") is not None:
        return settings.default("max-batch-size"), batch
    return batch, size


def _check_force_replicate(settings: Settings, protocol: Protocol) -> None:
    if refusal := protocol.refusals.get(FORCE_REPLICATE):
        raise protocols.codec_invalid(refusal)
    large_messages.check_force_replicate(settings)
    if settings.of_file("sink", "delete-only-output-handle-key-columns"):
        what = '"delete-only-output-handle-key-columns" is true.'
        raise protocols.codec_invalid(f"force-replicate must be disabled when configuration {what}")


def _check_extension(settings: Settings, protocol: Protocol) -> None:
    given, release = settings.parameters.get("enable-tidb-extension"), settings.release
    if release.kafka_refuses_tidb_extension and given is not None and not protocol.tidb_extension(release):
        text = f"enable-tidb-extension only support {_extended(release)} protocol"
        raise ChangefeedError(text, "CDC:ErrKafkaInvalidConfig")


def _extended(release: Release) -> str:
    """The protocols that have enable-tidb-extension."""
    return " and ".join(name for name, protocol in protocols.PROTOCOLS.items() if protocol.tidb_extension(release))


def _only_updated(settings: Settings) -> bool:
    # [sink] content-compatible brings it for every protocol, the sink-uri's for canal-json alone (mergeConfig, Apply)
    known = option_names.UPDATED_COLUMNS <= settings.release.options
    by_file = known and settings.of_file("sink", "content-compatible")
    return settings.truth("only-output-updated-columns") or bool(by_file)


def idle(settings: Settings, options: CodecOptions, reached: Kafka) -> Iterator[str]:
    """A warning for each option that the protocol or another option leaves without effect."""
    protocol, given, release = CODECS[options.protocol].protocol, settings.get, settings.release
    may_drop_old = "sink.open" in protocol.settings
    compression = settings.text("compression", "none")
    if compression.strip().lower() not in kafka.COMPRESSIONS:
        yield f"compression {compression!r} is unknown, none is used; accepted: {', '.join(kafka.COMPRESSIONS)}"
    if options.enable_tidb_extension and not protocol.tidb_extension(release):
        yield f"enable-tidb-extension has no effect with {protocol.name}: it concerns {_extended(release)} only"
    if given("max-batch-size") is not None and not CODECS[options.protocol].batches:
        yield f"max-batch-size has no effect with {protocol.name}: its messages hold one row"
    if settings.parameters.get("content-compatible") and COMPATIBLE not in protocol.settings:
        yield f"content-compatible has no effect with {protocol.name} in the sink-uri"
    if settings.file.values.get(("sink.open", "output-old-value")) is not None and not may_drop_old:
        yield f"sink.open.output-old-value has no effect with {protocol.name}"
    elif not options.output_old_value and not release.open_old_optional:
        yield f"sink.open.output-old-value has no effect: TiCDC {release.name} reads it and does not mind it"
    raw = settings.of_file("sink.kafka-config", "output-raw-change-event")
    if raw and may_drop_old and not options.output_old_value:
        yield "output-raw-change-event without sink.open.output-old-value: an UPDATE of a key does not say the old key"
    if given("max-batch-size") is not None and release.batch_size_sets_bytes:
        yield f"max-batch-size sets max-message-bytes: a mistake of TiCDC {release.name}"
    if options.output_row_key and not (ROW_KEY in protocol.settings and options.enable_tidb_extension):
        having = " or ".join(name for name, codec in CODECS.items() if ROW_KEY in codec.protocol.settings)
        yield f"output-row-key has no effect without {having} and enable-tidb-extension"
    if settings.file.values.get(("sink", "terminator")) is not None and not options.terminator:
        yield "sink.terminator has no effect: it concerns storage sinks only"
    yield from kafka.idle(reached)
    yield from protocols.replaced(settings)
    yield from idle_old_values(settings, protocol)
    yield from large_messages.idle(settings, protocol)
    yield from security.idle(settings, reached.sasl, reached.tls)


def check(options: CodecOptions, release: Release) -> None:
    """Raise ChangefeedError for options that the release's encoder does not take."""
    if options.only_output_updated_columns and not options.content_compatible and not options.enable_old_value:
        text = 'old value must be enabled when configuration "only-output-updated-columns" is true.'
        if option_names.UPDATED_COLUMNS <= release.options:
            raise ChangefeedError(text, release.codec_error)
    if options.enable_tidb_extension and not protocols.PROTOCOLS[options.protocol].tidb_extension(release):
        if release.tidb_extension_refusal:
            raise ChangefeedError(release.tidb_extension_refusal, release.codec_error)
    for name, value in (("bytes", options.max_message_bytes), ("size", options.max_batch_size)):
        if value <= 0:
            what = "max-message-bytes" if name == "bytes" else "max-batch-size"
            raise ChangefeedError(f"invalid {what} {value}", release.codec_error)


REQUIRED = "enable-old-value = true in changefeed.toml is accepted"


def old_values_enabled(settings: Settings, protocol: Protocol) -> bool:
    """Whether it is on; raises ChangefeedError where the protocol or force-replicate needs it."""
    chosen, release = _old_values_chosen(settings), settings.release
    rule = protocol.old_values(release)
    if not chosen and settings.of_file("(top level)", "force-replicate") and release.force_replicate_needs_old_value:
        text = f"old value is not enabled: if use force replicate, old value feature must be enabled; {REQUIRED}"
        raise ChangefeedError(text, "CDC:ErrOldValueNotEnabled")
    if not chosen and rule == "required":
        raise ChangefeedError(f"Canal requires old value to be enabled; {REQUIRED}", "CDC:ErrKafkaInvalidConfig")
    return chosen or rule == "forced"


def idle_old_values(settings: Settings, protocol: Protocol) -> Iterator[str]:
    """A warning where the protocol turns it on."""
    if not _old_values_chosen(settings) and old_values_enabled(settings, protocol):
        yield f"enable-old-value = false has no effect: {protocol.name} turns it on"


def _old_values_chosen(settings: Settings) -> bool:
    return bool(settings.of_file("(top level)", "enable-old-value"))
