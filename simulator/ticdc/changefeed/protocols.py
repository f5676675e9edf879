"""The protocol of a changefeed, as the release reads it, and TiCDC's checks of protocols that are not simulated.

A release before 5.4 uses Open Protocol for an unknown protocol and logs a warning; later ones refuse it
(pkg/config/sink_protocol.go, cdc/sink/codec/interface.go). A protocol of later releases is always an error here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulator.errors import ChangefeedError, did_you_mean
from simulator.releases import Release, availability
from simulator.ticdc.changefeed.keys import GLUE, STORAGE_SCHEMES, option
from simulator.ticdc.changefeed.settings import ChangefeedSettings
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.codec import Protocol

OTHERS = (Protocol(name="canal", old_values=lambda release: "forced"), Protocol(name="craft"))
"""Protocols that the simulator does not encode. Their settings are checked as TiCDC checks them."""

PROTOCOLS = {
    **{name: codec.protocol for name, codec in CODECS.items()},
    **{protocol.name: protocol for protocol in OTHERS},
}
SPELLINGS = {spelling: protocol for protocol in PROTOCOLS.values() for spelling in (protocol.name, *protocol.aliases)}
"""Names that some release accepts, in any letter case; `Release.protocols` has those of each release."""

FALLBACK = next(protocol for protocol in PROTOCOLS.values() if protocol.is_fallback)


def protocol(settings: ChangefeedSettings) -> Protocol:
    """Return the protocol; raise ChangefeedError if it is missing, unknown or of a later release."""
    name, release = settings.text("protocol").lower(), settings.release
    if name in release.protocols:
        return SPELLINGS[name]
    if release.unknown_protocol:
        names = accepted(settings)
        hint = did_you_mean(name, names) if name else ""
        listed = " Accepted: " * bool(names) + " or ".join(f"protocol={name}" for name in names)
        more = f"{hint}{_since(name, release)}{listed}"
        text = f"unknown '{settings.text('protocol')}' message protocol for sink.{more}"
        raise ChangefeedError(text, release.unknown_protocol)
    if name in SPELLINGS and SPELLINGS[name] is not FALLBACK:
        text = f"protocol {name} is unknown to TiCDC {release.name}, which would send {FALLBACK.title}."
        raise ChangefeedError(f"{text}{_since(name, release)}")
    return FALLBACK


def accepted(settings: ChangefeedSettings) -> tuple[str, ...]:
    """Return the simulated protocols that the release has for the sink."""
    sink = "storage" if settings.uri.scheme in STORAGE_SCHEMES else "kafka"
    if sink == "storage" and settings.release.storage_sink != "files":
        return ()
    having = {name: codec for name, codec in CODECS.items() if codec.protocol.exists(settings.release)}
    return tuple(
        name
        for name, codec in having.items()
        if sink in codec.protocol.sinks and not codec.not_simulated(settings.release)
    )


def protocol_or_none(settings: ChangefeedSettings) -> Protocol | None:
    """Return the protocol, or None if `protocol` would raise."""
    try:
        return protocol(settings)
    except ChangefeedError:
        return None


def check_protocol_settings(settings: ChangefeedSettings, protocol: Protocol) -> None:
    """Raise ChangefeedError for settings of the protocol that TiCDC's encoder rejects."""
    if protocol.name in _PROTOCOL_CHECKS:
        _PROTOCOL_CHECKS[protocol.name](settings)


def fallback_warnings(settings: ChangefeedSettings) -> Iterator[str]:
    """Yield a warning if TiCDC falls back to another protocol than the configured one."""
    name, release = settings.text("protocol"), settings.release
    if not name and not release.unknown_protocol:
        yield f"protocol is not given: {FALLBACK.name} is used"
    elif name.lower() not in (*release.protocols, FALLBACK.name):
        yield f"protocol {name!r} is unknown to TiCDC {release.name}: {FALLBACK.name} is used"


def _since(name: str, release: Release) -> str:
    releases = availability.describe_releases(release, lambda other: name in other.protocols)
    return f" TiCDC has it {releases}." if releases else ""


EARLY_REGISTRY = "?registry"
"""The URL of the registry before 6.1."""


def _check_avro(settings: ChangefeedSettings) -> None:
    if EARLY_REGISTRY in settings.release.options:
        if not settings.text("registry"):
            is_oldest = settings.release.avro_records == "unions"
            code = "CDC:ErrPrepareAvroFailed" if is_oldest else settings.release.codec_error
            where = "; accepted: registry=http://host:port in the sink-uri"
            raise ChangefeedError(f'Avro protocol requires parameter "registry"{where}', code)
        return
    _check_registry(settings, "Avro")
    modes = (settings.text(f"avro-{name}-handling-mode") for name in ("decimal", "bigint-unsigned"))
    checked = settings.file_value("integrity", "integrity-check-level") == "correctness"
    if checked and not (settings.boolean("enable-tidb-extension") and all(mode == "string" for mode in modes)):
        raise codec_config_error(
            "Avro protocol with row level checksum, should set "
            '"enable-tidb-extension" to "true", and set "avro-decimal-handling-mode" to "string" and '
            '"avro-bigint-unsigned-handling-mode" to "string"'
        )


def _check_registry(settings: ChangefeedSettings, title: str) -> None:
    registries = '"schema-registry" or "glue-schema-registry"'
    registry, glue = settings.text("schema-registry"), GLUE in settings.file.tables
    if registry and glue:
        raise codec_config_error(f"{title} protocol requires only one of {registries} to specify the schema registry")
    if not registry and not glue:
        name = "schema-registry"
        in_uri = " or the sink-uri" * availability.has(settings.release, option("sink-uri", name))
        raise codec_config_error(
            f"{title} protocol requires parameter {registries} to specify the schema registry; accepted: {name} = "
            f'"http://host:port" in [sink] of changefeed.toml{in_uri}'
        )
    if settings.text("avro-decimal-handling-mode", "precise") not in ("precise", "string"):
        raise codec_config_error('avro-decimal-handling-mode value could only be "string" or "precise"')
    if settings.text("avro-bigint-unsigned-handling-mode", "long") not in ("long", "string"):
        raise codec_config_error('avro-bigint-unsigned-handling-mode value could only be "long" or "string"')


def _check_debezium(settings: ChangefeedSettings) -> None:
    has_registry = settings.text("schema-registry") or GLUE in settings.file.tables
    if has_registry and "debezium-avro" in settings.release.protocols:
        raise codec_config_error('Debezium protocol does not support schema registry; use protocol "debezium-avro"')


def _check_simple(settings: ChangefeedSettings) -> None:
    encoding = settings.text("encoding-format", "json")
    if encoding not in ("json", "avro"):
        raise codec_config_error(f"unsupported encoding format type: {encoding} for the simple protocol")


_PROTOCOL_CHECKS: dict[str, Callable[[ChangefeedSettings], None]] = {
    "avro": _check_avro,
    "debezium": _check_debezium,
    "debezium-avro": lambda settings: _check_registry(settings, "Debezium Avro"),
    "simple": _check_simple,
}


def codec_config_error(text: str) -> ChangefeedError:
    """Return TiCDC's error for invalid options of an encoder."""
    return ChangefeedError(text, "CDC:ErrCodecInvalidConfig")
