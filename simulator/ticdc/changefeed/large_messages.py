"""What becomes of messages that are too large: `[sink.kafka-config.large-message-handle]`, by release.

One law: same codes, same texts as TiCDC (pkg/config/large_message.go AdjustAndValidate, pkg/sink/codec/common/config.go
Apply); an option that the release does not have is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import ChangefeedError, did_you_mean
from simulator.releases import availability, option_names
from simulator.ticdc.changefeed.protocols import codec_invalid, known
from simulator.ticdc.changefeed.settings import Settings
from simulator.ticdc.codecs.codec import Protocol

TABLE = option_names.LARGE
FORERUNNER = "large-message-only-handle-key-columns"
HANDLE_OPTIONS = ("none", "handle-key-only", "claim-check")


def handle_option(settings: Settings, protocol: Protocol) -> str:
    """none, handle-key-only or claim-check: the one that has an effect."""
    asked = _asked(settings)
    if settings.of_file("sink", FORERUNNER):
        # 7.2.0 cuts messages of Open Protocol alone (tiflow v7.2.0: pkg/sink/codec/open/open_protocol_encoder.go)
        return "handle-key-only" if f"sink.{FORERUNNER}" in protocol.settings else "none"
    if asked == "claim-check" and not _has_claim_check(settings):
        return "none"
    return asked if asked in HANDLE_OPTIONS else "none"


def text(settings: Settings, name: str) -> str:
    """A setting of the table, or empty."""
    return str(settings.of_file(TABLE, name) or "")


def check(settings: Settings, extension: bool) -> None:
    """Raise ChangefeedError for settings that do not suit the protocol."""
    if TABLE not in settings.file.tables:
        return
    option, protocol = _asked(settings), known(settings)
    compression = text(settings, "large-message-handle-compression") or "none"
    if compression not in ("none", "snappy", "lz4"):
        raise replica_invalid(f"large message handle compression is not supported, got {compression}")
    if option == "none":
        return
    if option not in HANDLE_OPTIONS and settings.release.refuses_unknown_handling:
        accepted = f"accepted: {', '.join(HANDLE_OPTIONS)}.{did_you_mean(option, HANDLE_OPTIONS)}"
        raise replica_invalid(f"unknown large-message-handle-option {option}; {accepted}")
    start = f"large message handle is set to {option},"
    if protocol is None or TABLE not in protocol.settings:
        raise replica_invalid(f"{start} protocol is {protocol.name if protocol else ''}, it's not supported")
    if protocol.large_messages_need_extension and not extension:
        raise replica_invalid(f"{start} protocol is {protocol.name}, but enable-tidb-extension is false")
    if option != "claim-check" or not _has_claim_check(settings):
        return
    if not text(settings, "claim-check-storage-uri"):
        raise replica_invalid(f"{start} but the claim-check-storage-uri is empty")
    stored = text(settings, "claim-check-compression")
    if stored and stored.lower() not in ("snappy", "lz4"):
        raise replica_invalid(f"claim-check compression support snappy, lz4, got {stored}")
    refusal = protocol.refusals.get(f"{TABLE}.claim-check-raw-value")
    if refusal and settings.of_file(TABLE, "claim-check-raw-value"):
        raise replica_invalid(f"{start} {refusal}")


def check_force_replicate(settings: Settings) -> None:
    """Raise ChangefeedError where large messages are handled though tables without a handle key are replicated."""
    option = _asked(settings)
    if _has_claim_check(settings) and option != "none":
        what = "when the large message handle is enabled, large message handle:"
        raise codec_invalid(f'force-replicate must be disabled, {what} "{option}"')
    if option == "handle-key-only":
        what = 'when the large message handle option is set to "handle-key-only"'
        raise codec_invalid(f"force-replicate must be disabled, {what}")


def idle(settings: Settings, protocol: Protocol) -> Iterator[str]:
    """A warning for what the release does not do, or nobody."""
    asked, release = _asked(settings), settings.release
    if asked == "claim-check" and not _has_claim_check(settings):
        since = availability.releases_with(f"{TABLE}.claim-check-storage-uri")
        yield f"large-message-handle-option claim-check has no effect in TiCDC {release.name} ({since})"
    stored = text(settings, "claim-check-compression")
    if stored and asked != "claim-check":
        yield f"claim-check-compression has no effect with large-message-handle-option {asked}"
    elif stored != stored.lower():
        # tiflow v7.3.0: pkg/config/sink.go lowers the word to check it, cdc/sink/dmlsink/mq/claim_check.go compares it
        yield f"claim-check-compression {stored!r} has no effect: TiCDC {release.name} wants it in lower case"
    if asked not in HANDLE_OPTIONS:
        hint = did_you_mean(asked, HANDLE_OPTIONS)
        accepted = ", ".join(HANDLE_OPTIONS)
        yield f"large-message-handle-option {asked!r} is unknown and has no effect; accepted: {accepted}.{hint}"
    if settings.of_file("sink", FORERUNNER) and f"sink.{FORERUNNER}" not in protocol.settings:
        yield f"sink.{FORERUNNER} has no effect with {protocol.name} in TiCDC {release.name}"


def _asked(settings: Settings) -> str:
    return text(settings, "large-message-handle-option") or "none"


def _has_claim_check(settings: Settings) -> bool:
    return option_names.CLAIM_CHECK <= settings.release.options


def replica_invalid(text: str) -> ChangefeedError:
    """As TiCDC refuses a changefeed's configuration."""
    return ChangefeedError(text, "CDC:ErrInvalidReplicaConfig")
