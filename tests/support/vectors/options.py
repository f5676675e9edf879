"""Options of a vector as a user sets them: a sink-uri and a changefeed.toml, taken in by `changefeed.load`.

An option stands in the sink-uri if the release knows it there, else where its changefeed.toml has it; one that
the release does not have stands in the sink-uri, where TiCDC ignores it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import quote

from simulator.releases import Release
from simulator.ticdc import changefeed
from simulator.ticdc.changefeed import Changefeed, keys
from simulator.ticdc.codecs import CodecOptions
from simulator.ticdc.dispatch import route, router
from simulator.tidb.model.table import Table

Json = Mapping[str, Any]
PLACES = (
    "(top level)",
    "sink",
    "sink.open",
    "sink.kafka-config",
    "sink.kafka-config.codec-config",
    "sink.kafka-config.large-message-handle",
)
"""Tables of a changefeed.toml, the first that has a key has it here."""


def loaded(data: Json, release: Release) -> Changefeed:
    """The changefeed that a vector's `protocol` and `options` make; raises ChangefeedError.

    Vectors are what encoders say: an option that the release's Kafka sink refuses, and its encoder takes, is left out.
    """
    given = {**old_values(release), **data.get("options", {})}
    if data["protocol"] == "open-protocol" and release.kafka_refuses_tidb_extension:
        given.pop("enable-tidb-extension", None)
    return _load(*settings(data["protocol"], given, release), release)


_load = cache(changefeed.load)


def old_values(release: Release) -> dict[str, str]:
    """Old value is on in every vector that does not say otherwise, also where it was off by default."""
    return {"enable-old-value": "true"} if keys.key("(top level)", "enable-old-value", release) else {}


def settings(protocol: str, options: Json, release: Release) -> tuple[str, str]:
    """sink-uri and changefeed.toml."""
    uri, places = f"kafka://127.0.0.1:9092/topic?protocol={protocol}", dict[str, list[str]]()
    for name, value in options.items():
        place = place_of(name, release)
        if place == "sink-uri":
            uri += f"&{name}={quote(str(value), safe='')}"
        else:
            places.setdefault(place, []).append(f"{name} = {literal(value, place, name)}")
    top = places.pop("(top level)", [])
    return uri, "\n".join([*top, *(line for place, lines in places.items() for line in (f"[{place}]", *lines))])


def place_of(name: str, release: Release) -> str:
    """Where the release takes an option."""
    return next((place for place in ("sink-uri", *PLACES) if keys.key(place, name, release)), "sink-uri")


def literal(value: object, place: str, name: str) -> str:
    """A value as TOML: vectors write numbers and booleans as text, too."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {literal(item, place, name)}' for key, item in value.items())}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(literal(item, place, name) for item in value)}]"
    bare = isinstance(value, str) and keys.KEYS[place][name].kind in ("bool", "int", "int16", "int32", "duration")
    return str(value) if bare else json.dumps(value)


def codec_options(data: Json, release: Release) -> CodecOptions:
    """The encoder's options; `ts` of Canal-JSON, a clock, is 0 in vectors.

    Vectors were made by encoders alone: what a release's Kafka sink gives its encoder otherwise than asked is not in
    them (the end of a row, Release.canal_ends_rows; a batch size that sets another option, batch_size_sets_bytes).
    """
    codec = replace(loaded(data, release).codec, build_ts=data.get("build_time", 0), terminator="")
    if release.batch_size_sets_bytes:
        given = data.get("options", {})
        codec = replace(
            codec,
            max_batch_size=int(given.get("max-batch-size", release.max_batch_size)),
            max_message_bytes=int(given.get("max-message-bytes", release.max_message_bytes)),
        )
    return codec


def selected(data: Json, table: Table, release: Release) -> frozenset[str] | None:
    """The columns that the vector's column selectors leave, None for all."""
    return route(router(loaded(data, release), release), table).selected
