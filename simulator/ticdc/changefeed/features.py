"""What is known of a changefeed before its release is: `simulator.releases.concern.Features`."""

from __future__ import annotations

from pathlib import Path

from simulator.errors import UserError, did_you_mean
from simulator.files import read_text
from simulator.releases import V8_5
from simulator.releases.concern import Features
from simulator.ticdc.changefeed.keys import STORAGE_SCHEMES, option
from simulator.ticdc.changefeed.protocols import SPELLINGS
from simulator.ticdc.changefeed.settings import differs
from simulator.ticdc.changefeed.sink_uri import parse_uri
from simulator.ticdc.changefeed.toml_file import parse_file
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.codec import Protocol


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
