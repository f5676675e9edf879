"""Sink-uri and file as one set of settings.

One law: the URI wins, except that a zero (`false`, `0`, empty) in it does not undo what the file says: TiCDC merges
with mergo.WithOverride, which takes a zero for unset (tiflow v8.5.3 pkg/sink/kafka/options.go, mergo v0.3.16 merge.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simulator.errors import is_secret
from simulator.releases import Release
from simulator.ticdc.changefeed.keys import FILE_PLACE, KEYS, Value, default
from simulator.ticdc.changefeed.sink_uri import SinkUri
from simulator.ticdc.changefeed.toml_file import File


@dataclass(frozen=True)
class Settings:
    """Everything that sink-uri and file say; what neither says is None or its default."""

    uri: SinkUri
    parameters: Mapping[str, Value] = field(repr=False)
    """The URI's, typed."""

    file: File
    release: Release

    def get(self, name: str) -> Value:
        """A setting that both may have, under its name in the URI; None where neither has it."""
        uri, file = self.parameters.get(name), self.file.values.get((FILE_PLACE.get(name, ""), name))
        return uri if file is None or uri else file

    def truth(self, name: str, default: bool = False) -> bool:
        """As `get`, for a bool."""
        value = self.get(name)
        return default if value is None else bool(value)

    def number(self, name: str, default: int) -> int:
        """As `get`, for an integer."""
        value = self.get(name)
        return value if isinstance(value, int) else default

    def text(self, name: str, default: str = "") -> str:
        """As `get`, for a string; an empty one means the default."""
        return str(self.get(name) or default)

    def of_file(self, place: str, name: str) -> Value:
        """A setting that only the file has, or the release's default."""
        value = self.file.values.get((place, name))
        return default(place, name, self.release) if value is None else value

    def default(self, name: str) -> int:
        """The release's default of a number that the URI may have."""
        return int(str(default("sink-uri", name, self.release)))


def conflicts(settings: Settings) -> Iterator[str]:
    """A warning for each key where URI and file differ, saying which one counts."""
    for name, uri in settings.parameters.items():
        place = FILE_PLACE.get(name, "")
        file = settings.file.values.get((place, name))
        if file is None or uri == file:
            continue
        values = "" if is_secret(name) else f" ({_shown(uri)} and {_shown(file)})"
        if uri:
            yield f"{name} differs in sink-uri and [{place}]{values}: the sink-uri counts"
        else:
            why = "TiCDC takes a zero in the sink-uri for unset, the file counts"
            yield f"{name} differs in sink-uri and [{place}]{values}: {why}"


def idle_parameters(settings: Settings) -> Iterator[str]:
    """A warning for each known parameter of the URI that has no effect."""
    for name in settings.parameters:
        if KEYS["sink-uri"][name].idle:
            yield f"sink-uri: {name} has no effect: {KEYS['sink-uri'][name].idle}"


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
