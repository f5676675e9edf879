"""The protocol that a changefeed asks for, as the release reads it, and what TiCDC checks of those that are not made
here.

One law: what a release does not know is what TiCDC makes of it: an error from 5.4 on, before it Open Protocol and a
warning (pkg/config/sink_protocol.go, cdc/sink/codec/interface.go); a protocol of later releases is always an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulator.errors import ChangefeedError, did_you_mean
from simulator.releases import Release, availability, option_names
from simulator.ticdc.changefeed.keys import FORCE_REPLICATE, GLUE
from simulator.ticdc.changefeed.settings import Settings
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.codec import Protocol


def _forced(release: Release) -> str:
    return "forced"


def _since_6_0(release: Release) -> bool:
    return not release.kafka_refuses_tidb_extension


OTHERS = (
    Protocol(name="canal", old_values=_forced),
    Protocol(
        name="avro",
        aliases=frozenset({"flat-avro"}),
        refusals={FORCE_REPLICATE: "force-replicate must be disabled, when using avro protocol"},
        tidb_extension=_since_6_0,
        topics_name_tables=True,
    ),
    Protocol(name="maxwell", old_values=_forced),
    Protocol(name="craft"),
    Protocol(
        name="csv",
        refusals=dict.fromkeys(
            option_names.DELETE_ONLY,
            "CSV protocol always output all columns for the delete event, "
            "do not set `delete-only-output-handle-key-columns` to true",
        ),
    ),
    Protocol(name="debezium"),
    Protocol(name="debezium-avro"),
    Protocol(name="simple", settings=option_names.LARGE_MESSAGES | option_names.RAW_VALUE),
)
"""Those that this simulator does not make: it knows what TiCDC refuses before it makes anything."""

PROTOCOLS = {
    **{name: codec.protocol for name, codec in CODECS.items()},
    **{protocol.name: protocol for protocol in OTHERS},
}
SPELLINGS = {spelling: protocol for protocol in PROTOCOLS.values() for spelling in (protocol.name, *protocol.aliases)}
"""What some release takes, in any case; which, `Release.protocols` says."""

FALLBACK = next(protocol for protocol in PROTOCOLS.values() if protocol.is_fallback)


def protocol(settings: Settings) -> Protocol:
    """The protocol; raises ChangefeedError where it is missing, unknown or not there yet."""
    given, release = settings.text("protocol").lower(), settings.release
    if given in release.protocols:
        return SPELLINGS[given]
    if release.unknown_protocol:
        hint = did_you_mean(given, release.protocols) if given else ""
        accepted = " or ".join(f"protocol={name}" for name in CODECS)
        more = f"{hint}{_since(given, release)} Accepted: {accepted}"
        text = f"unknown '{settings.text('protocol')}' message protocol for sink.{more}"
        raise ChangefeedError(text, release.unknown_protocol)
    if given in SPELLINGS and SPELLINGS[given] is not FALLBACK:
        text = f"protocol {given} is unknown to TiCDC {release.name}, which would send {FALLBACK.title}."
        raise ChangefeedError(f"{text}{_since(given, release)}")
    return FALLBACK


def known(settings: Settings) -> Protocol | None:
    """As `protocol`, but None where that would be an error."""
    try:
        return protocol(settings)
    except ChangefeedError:
        return None


def check_own(settings: Settings, protocol: Protocol) -> None:
    """Raise ChangefeedError for settings of the protocol's own that TiCDC's encoder refuses."""
    if protocol.name in _OWN_CHECKS:
        _OWN_CHECKS[protocol.name](settings)


def replaced(settings: Settings) -> Iterator[str]:
    """A warning where TiCDC takes its fallback though nobody asked for it."""
    given, release = settings.text("protocol"), settings.release
    if not given and not release.unknown_protocol:
        yield f"protocol is not given: {FALLBACK.name} is used"
    elif given.lower() not in (*release.protocols, FALLBACK.name):
        yield f"protocol {given!r} is unknown to TiCDC {release.name}: {FALLBACK.name} is used"


def _since(name: str, release: Release) -> str:
    releases = availability.spans(release, lambda other: name in other.protocols)
    return f" TiCDC has it {releases}." if releases else ""


def _check_avro(settings: Settings) -> None:
    registries = '"schema-registry" or "glue-schema-registry"'
    registry, glue = settings.text("schema-registry"), GLUE in settings.file.tables
    if registry and glue:
        raise codec_invalid(f"Avro protocol requires only one of {registries} to specify the schema registry")
    if not registry and not glue:
        raise codec_invalid(f"Avro protocol requires parameter {registries} to specify the schema registry")
    if settings.text("avro-decimal-handling-mode", "precise") not in ("precise", "string"):
        raise codec_invalid('avro-decimal-handling-mode value could only be "string" or "precise"')
    if settings.text("avro-bigint-unsigned-handling-mode", "long") not in ("long", "string"):
        raise codec_invalid('avro-bigint-unsigned-handling-mode value could only be "long" or "string"')


def _check_simple(settings: Settings) -> None:
    encoding = settings.text("encoding-format", "json")
    if encoding not in ("json", "avro"):
        raise codec_invalid(f"unsupported encoding format type: {encoding} for the simple protocol")


_OWN_CHECKS: dict[str, Callable[[Settings], None]] = {"avro": _check_avro, "simple": _check_simple}


def codec_invalid(text: str) -> ChangefeedError:
    """As TiCDC's encoders refuse their options."""
    return ChangefeedError(text, "CDC:ErrCodecInvalidConfig")
