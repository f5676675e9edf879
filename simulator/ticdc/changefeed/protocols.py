"""The protocol of a changefeed, as the release reads it, and TiCDC's checks of protocols that are not simulated.

A release before 5.4 uses Open Protocol for an unknown protocol and logs a warning; later ones refuse it
(pkg/config/sink_protocol.go, cdc/sink/codec/interface.go). A protocol of later releases is always an error here.

What is known of a changefeed before its release is: `simulator.releases.behaviour.Features`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from simulator.errors import ChangefeedError, UserError, did_you_mean
from simulator.files import read_text
from simulator.releases import V8_5, Release, describe_releases
from simulator.releases.behaviour import Features
from simulator.ticdc.changefeed.keys import GLUE, STORAGE_SCHEMES, option
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings, differs, parse_uri
from simulator.ticdc.changefeed.toml_file import parse_file
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
    releases = describe_releases(release, lambda other: name in other.protocols)
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
        in_uri = " or the sink-uri" * settings.release.has(option("sink-uri", name))
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


def changefeed_features(
    protocol: str | None, sink_uri: str | None, config: Path | None
) -> tuple[Features, tuple[str, ...]]:
    """Return what the name of a protocol, a sink-uri and a changefeed.toml say, and warnings about the file.

    Without a sink-uri the sink is Kafka, or a storage for a protocol that Kafka does not take. The protocol of a
    sink-uri has precedence over that of a file, as in TiCDC. Raise UserError for what is invalid.
    """
    uri = parse_uri(sink_uri, V8_5) if sink_uri is not None else None
    file = parse_file(read_text(config), str(config), None) if config is not None else None
    in_uri = uri.texts if uri is not None else {}
    in_file = file.values.get(("sink", "protocol")) if file is not None else None
    asked, of_uri, of_file = (_protocol(name) for name in (protocol, in_uri.get("protocol"), in_file))
    for other, place in ((of_uri, "--sink-uri"), (of_file, f"[sink] of --config {config}")):
        if asked and other and asked != other and (other is of_uri or of_uri is None):
            raise UserError(f"--protocol {asked.name} and protocol {other.name} of {place} differ: give one of them")
    chosen = asked or of_uri or of_file
    settings = {option("sink-uri", key) for key in in_uri}
    if file is not None:
        settings |= {*file.tables, *(option(place, key) for place, key in file.values)}
    sink = ""
    if uri is not None:
        sink = "storage" if uri.scheme in STORAGE_SCHEMES else "kafka"
        if chosen is not None and sink not in chosen.sinks:
            raise UserError(f"protocol {chosen.name} does not go to --sink-uri {uri.scheme}://…: give another one")
    elif chosen is not None:
        sink = "kafka" if "kafka" in chosen.sinks else "storage"
    features = Features(
        protocol=chosen.name if chosen else "",
        spellings=frozenset({chosen.name, *chosen.aliases}) if chosen else frozenset(),
        sink=sink,
        settings=frozenset(settings) if uri is not None or file is not None else None,
    )
    warnings = list(file.warnings) if file is not None else []
    if of_uri and of_file and of_uri != of_file:
        warnings.append(differs("protocol", "sink", f" ({of_uri.name} and {of_file.name})"))
    return features, tuple(warnings)


def _protocol(name: object) -> Protocol | None:
    """Return the protocol of that name; raise UserError for an unknown one."""
    text = str(name or "").lower()
    if text and (text not in SPELLINGS or SPELLINGS[text].name not in CODECS):
        raise UserError(f"unknown protocol {text!r}.{did_you_mean(text, CODECS)} Accepted: {', '.join(CODECS)}")
    return SPELLINGS[text] if text else None
