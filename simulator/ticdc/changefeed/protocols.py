"""The protocol that a changefeed asks for, under its own name, as the release reads it.

One law: what a release does not know is what TiCDC makes of it: an error from 5.4 on, before it Open Protocol and a
warning (pkg/config/sink_protocol.go, cdc/sink/codec/interface.go); a protocol of later releases is always an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import ChangefeedError, did_you_mean
from simulator.releases import Release, availability
from simulator.ticdc.changefeed.merged import Settings

PROTOCOLS = {
    **{name: name for name in ("canal", "avro", "maxwell", "canal-json", "craft", "open-protocol", "csv")},
    **{name: name for name in ("debezium", "debezium-avro", "simple")},
    "default": "open-protocol",
    "flat-avro": "avro",
}
"""Spellings that some release takes, in any case; which, `Release.protocols` says."""

SIMULATED = ("open-protocol", "canal-json")


def protocol(settings: Settings) -> str:
    """The protocol by its own name; raises ChangefeedError where it is missing, unknown or not there yet."""
    given, release = settings.text("protocol").lower(), settings.release
    if given in release.protocols:
        return PROTOCOLS[given]
    if release.unknown_protocol:
        hint = did_you_mean(given, release.protocols) if given else ""
        more = f"{hint}{_since(given, release)} Accepted: protocol=open-protocol or protocol=canal-json"
        said = f"unknown '{settings.text('protocol')}' message protocol for sink.{more}"
        raise ChangefeedError(said, release.unknown_protocol)
    if given in PROTOCOLS and PROTOCOLS[given] != "open-protocol":
        said = f"protocol {given} is unknown to TiCDC {release.name}, which would send Open Protocol."
        raise ChangefeedError(f"{said}{_since(given, release)}")
    return "open-protocol"


def known(settings: Settings) -> str:
    """As `protocol`, but empty where that would be an error."""
    try:
        return protocol(settings)
    except ChangefeedError:
        return ""


def replaced(settings: Settings) -> Iterator[str]:
    """A warning where TiCDC takes Open Protocol though nobody asked for it."""
    given, release = settings.text("protocol"), settings.release
    if not given and not release.unknown_protocol:
        yield "protocol is not given: open-protocol is used"
    elif given.lower() not in (*release.protocols, "open-protocol"):
        yield f"protocol {given!r} is unknown to TiCDC {release.name}: open-protocol is used"


def _since(name: str, release: Release) -> str:
    said = availability.spans(release, lambda one: name in one.protocols)
    return f" TiCDC has it {said}." if said else ""
