"""What a user asks of a changefeed, and the changefeed that it comes to."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from simulator.changefeeds.sinks import BLACKHOLE, require_allowed
from simulator.errors import ChangefeedError
from simulator.files import parse_toml
from simulator.releases import Release
from simulator.settings import DEFAULT_SINK_URI
from simulator.ticdc.changefeed import Changefeed, load, load_file

Config = str | Path | Mapping[str, Any] | None
"""TiCDC's changefeed.toml: a path, its text (with a line break or `=` in it), or a mapping."""


@dataclass(frozen=True)
class ChangefeedSpec:
    """A changefeed as it was asked for."""

    name: str
    """Its id, which is unique in its namespace."""

    sink_uri: str = field(repr=False)
    """`kafka://…`, the URI of a storage, or `blackhole://`."""

    config: Config = None
    start_ts: int = 0
    """A TSO, above which commits are sent; 0 for now."""

    target_ts: int = 0
    """The last TSO of which anything is sent; 0 for none."""

    namespace: str = "default"
    ignores_ineligible_tables: bool = False
    """Whether it is created although tables that it would replicate have no valid index."""

    @property
    def id(self) -> str:
        """As TiCDC prints it."""
        return f"{self.namespace}/{self.name}"


def compiled(
    sink_uri: str | None, config: Config, release: Release, assumed: str = DEFAULT_SINK_URI, time_zone: str = ""
) -> Changefeed:
    """Return the changefeed of a sink-uri and a configuration, as `simulator.ticdc.changefeed.load`.

    One of `blackhole://` is encoded as one of Kafka, in Open Protocol if no protocol is asked for. Raises ChangefeedError
    if TiCDC rejects it.
    """
    if sink_uri is not None and sink_uri.lower().startswith(f"{BLACKHOLE}:"):
        query = sink_uri.partition("?")[2]
        kafka = f"kafka://127.0.0.1:9092/{BLACKHOLE}?{query}"
        asks = "protocol" in parse_qs(query)
        as_kafka = compiled(kafka if asks else None, config, release, f"{kafka}&protocol=open-protocol", time_zone)
        return replace(as_kafka, scheme=BLACKHOLE, sink_uri=sink_uri)
    if isinstance(config, Mapping):
        return load(sink_uri, config_text(config), release, assumed=assumed, time_zone=time_zone)
    if isinstance(config, str) and ("\n" in config or "=" in config):
        return load(sink_uri, config, release, assumed=assumed, time_zone=time_zone)
    return load_file(sink_uri, config, release, assumed, time_zone)


def compiled_if_allowed(
    storages: Collection[str],
    sink_uri: str | None,
    config: Config,
    release: Release,
    assumed: str = DEFAULT_SINK_URI,
    time_zone: str = "",
) -> Changefeed:
    """Return what `compiled` does. Raises ChangefeedError for a changefeed that writes files anywhere but in `storages`,
    or has rules in a file, of which errors would tell the content."""
    _require_no_rule_file(None if isinstance(config, Path) else config)
    changefeed = compiled(sink_uri, config, release, assumed, time_zone)
    require_allowed(changefeed, storages)
    return changefeed


def _require_no_rule_file(config: Mapping[str, Any] | str | None) -> None:
    """Raise ChangefeedError for a configuration, or its text, whose filter has rules in a file, as `@rules.txt`."""
    with suppress(ValueError):  # `compiled` says what is wrong
        config = parse_toml(config) if isinstance(config, str) else config
    table = config.get("filter") if isinstance(config, Mapping) else None
    rules = table.get("rules") if isinstance(table, Mapping) else None
    if isinstance(rules, list | tuple) and any(str(rule).strip().startswith("@") for rule in rules):
        raise ChangefeedError("filter rules in a file are not read by a server", "CDC:ErrFilterRuleInvalid")


def config_text(config: Mapping[str, Any]) -> str:
    """Return the text of a changefeed.toml."""
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in config.items())


def _toml(value: object) -> str:
    """Return a TOML value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
