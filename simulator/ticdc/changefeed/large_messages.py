"""`[sink.kafka-config.large-message-handle]`: what TiCDC does with messages above max-message-bytes, by release.

Codes and texts are TiCDC's (pkg/config/large_message.go AdjustAndValidate, pkg/sink/codec/common/config.go Apply). An
option that the release does not have is `none`.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import ChangefeedError, did_you_mean
from simulator.releases import availability, option_names
from simulator.ticdc.changefeed.protocols import codec_config_error, protocol_or_none
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings
from simulator.ticdc.codecs.codec import Protocol

TABLE = option_names.LARGE
ONLY_HANDLE_KEY_7_2 = "large-message-only-handle-key-columns"
HANDLE_OPTIONS = ("none", "handle-key-only", "claim-check")


def handle_option(settings: ChangefeedSettings, protocol: Protocol) -> str:
    """Return the option that takes effect: none, handle-key-only or claim-check."""
    option = _configured(settings)
    if settings.file_value("sink", ONLY_HANDLE_KEY_7_2):
        # 7.2.0 cuts messages of Open Protocol alone (tiflow v7.2.0: pkg/sink/codec/open/open_protocol_encoder.go)
        return "handle-key-only" if f"sink.{ONLY_HANDLE_KEY_7_2}" in protocol.settings else "none"
    if option == "claim-check" and not _has_claim_check(settings):
        return "none"
    return option if option in HANDLE_OPTIONS else "none"


def text(settings: ChangefeedSettings, name: str) -> str:
    """Return a setting of the table, or an empty string."""
    return str(settings.file_value(TABLE, name) or "")


def check(settings: ChangefeedSettings, extension: bool) -> None:
    """Raise ChangefeedError for settings that do not suit the protocol."""
    if TABLE not in settings.file.tables:
        return
    option, protocol = _configured(settings), protocol_or_none(settings)
    compression = text(settings, "large-message-handle-compression") or "none"
    if compression not in ("none", "snappy", "lz4"):
        raise replica_config_error(f"large message handle compression is not supported, got {compression}")
    if option == "none":
        return
    if option not in HANDLE_OPTIONS and settings.release.refuses_unknown_handling:
        raise replica_config_error(f"unknown large-message-handle-option {option}; {_accepted(settings)}")
    start = f"large message handle is set to {option},"
    if protocol is None or TABLE not in protocol.settings:
        raise replica_config_error(f"{start} protocol is {protocol.name if protocol else ''}, it's not supported")
    if protocol.large_messages_need_extension and not extension:
        raise replica_config_error(f"{start} protocol is {protocol.name}, but enable-tidb-extension is false")
    if option != "claim-check" or not _has_claim_check(settings):
        return
    if not text(settings, "claim-check-storage-uri"):
        raise replica_config_error(f"{start} but the claim-check-storage-uri is empty")
    file_compression = text(settings, "claim-check-compression")
    if file_compression and file_compression.lower() not in ("snappy", "lz4"):
        raise replica_config_error(f"claim-check compression support snappy, lz4, got {file_compression}")
    refusal = protocol.refusals.get(f"{TABLE}.claim-check-raw-value")
    if refusal and settings.file_value(TABLE, "claim-check-raw-value"):
        raise replica_config_error(f"{start} {refusal}")


def check_force_replicate(settings: ChangefeedSettings) -> None:
    """Raise ChangefeedError if large messages are handled and tables without a handle key are replicated."""
    option = _configured(settings)
    if _has_claim_check(settings) and option != "none":
        what = "when the large message handle is enabled, large message handle:"
        raise codec_config_error(f'force-replicate must be disabled, {what} "{option}"')
    if option == "handle-key-only":
        what = 'when the large message handle option is set to "handle-key-only"'
        raise codec_config_error(f"force-replicate must be disabled, {what}")


def warnings(settings: ChangefeedSettings, protocol: Protocol) -> Iterator[str]:
    """Yield a warning for each setting that the release ignores."""
    option, release = _configured(settings), settings.release
    if option == "claim-check" and not _has_claim_check(settings):
        since = availability.releases_with(f"{TABLE}.claim-check-storage-uri")
        yield f"large-message-handle-option claim-check has no effect in TiCDC {release.name} ({since})"
    compression = text(settings, "claim-check-compression")
    if compression and option != "claim-check":
        yield f"claim-check-compression has no effect with large-message-handle-option {option}"
    elif compression != compression.lower():
        # tiflow v7.3.0: pkg/config/sink.go lowers the word to check it, cdc/sink/dmlsink/mq/claim_check.go compares it
        yield f"claim-check-compression {compression!r} has no effect: TiCDC {release.name} wants it in lower case"
    if option not in HANDLE_OPTIONS:
        yield f"large-message-handle-option {option!r} is unknown and has no effect; {_accepted(settings)}"
    if settings.file_value("sink", ONLY_HANDLE_KEY_7_2) and f"sink.{ONLY_HANDLE_KEY_7_2}" not in protocol.settings:
        yield f"sink.{ONLY_HANDLE_KEY_7_2} has no effect with {protocol.name} in TiCDC {release.name}"


def _accepted(settings: ChangefeedSettings) -> str:
    names = [name for name in HANDLE_OPTIONS if name != "claim-check" or _has_claim_check(settings)]
    return f"accepted: {', '.join(names)}.{did_you_mean(_configured(settings), names)}"


def _configured(settings: ChangefeedSettings) -> str:
    return text(settings, "large-message-handle-option") or "none"


def _has_claim_check(settings: ChangefeedSettings) -> bool:
    return option_names.CLAIM_CHECK <= settings.release.options


def replica_config_error(text: str) -> ChangefeedError:
    """Return TiCDC's error for an invalid changefeed configuration."""
    return ChangefeedError(text, "CDC:ErrInvalidReplicaConfig")
