"""What is known of a changefeed before its release is: `simulator.releases.concern.Features`."""

from __future__ import annotations

from pathlib import Path

from simulator.errors import UserError, did_you_mean
from simulator.files import read_text
from simulator.releases import V8_5
from simulator.releases.concern import Features
from simulator.ticdc.changefeed.keys import STORAGE_SCHEMES, option
from simulator.ticdc.changefeed.protocols import SPELLINGS
from simulator.ticdc.changefeed.sink_uri import parse_uri
from simulator.ticdc.changefeed.toml_file import parse_file
from simulator.ticdc.codecs import CODECS


def changefeed_features(
    protocol: str | None, sink_uri: str | None, config: Path | None
) -> tuple[Features, tuple[str, ...]]:
    """Return what the name of a protocol, a sink-uri and a changefeed.toml say, and warnings about the file.

    Without a sink-uri the sink is Kafka, or a storage for a protocol that Kafka does not take. Raise UserError for what
    is invalid.
    """
    uri = parse_uri(sink_uri, V8_5) if sink_uri is not None else None
    file = parse_file(read_text(config), str(config), None) if config is not None else None
    in_uri = uri.texts if uri is not None else {}
    in_file = file.values.get(("sink", "protocol")) if file is not None else None
    name = str(protocol or in_uri.get("protocol") or in_file or "").lower()
    if name and (name not in SPELLINGS or SPELLINGS[name].name not in CODECS):
        raise UserError(f"unknown protocol {name!r}.{did_you_mean(name, CODECS)} Accepted: {', '.join(CODECS)}")
    chosen = SPELLINGS[name] if name else None
    settings = {option("sink-uri", key) for key in in_uri}
    if file is not None:
        settings |= {*file.tables, *(option(place, key) for place, key in file.values)}
    sink = ""
    if uri is not None:
        sink = "storage" if uri.scheme in STORAGE_SCHEMES else "kafka"
    elif chosen is not None:
        sink = "kafka" if "kafka" in chosen.sinks else "storage"
    features = Features(
        protocol=chosen.name if chosen else "",
        spellings=frozenset({chosen.name, *chosen.aliases}) if chosen else frozenset(),
        sink=sink,
        settings=frozenset(settings) if uri is not None or file is not None else None,
    )
    return features, file.warnings if file is not None else ()
