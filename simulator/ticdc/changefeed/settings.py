"""Sink-uri and changefeed.toml as one set of settings.

The URI takes precedence, but a zero value in it (`false`, `0`, empty) does not override the file: TiCDC merges with
mergo.WithOverride, which treats a zero as unset (tiflow v8.5.3 pkg/sink/kafka/options.go, mergo v0.3.16 merge.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simulator.errors import is_secret
from simulator.releases import Release
from simulator.ticdc.changefeed.keys import FILE_PLACE, KEYS, Value, default
from simulator.ticdc.changefeed.sink_uri import SinkUri
from simulator.ticdc.changefeed.toml_file import ConfigFile


@dataclass(frozen=True)
class ChangefeedSettings:
    """The settings of sink-uri and file. A setting that is in neither is None or has its default."""

    uri: SinkUri
    parameters: Mapping[str, Value] = field(repr=False)
    """The URI's parameters, converted to their types."""

    file: ConfigFile
    release: Release

    def get(self, name: str) -> Value:
        """Return a setting that both can have, by its name in the URI; None if neither has it."""
        uri, file = self.parameters.get(name), self.file.values.get((FILE_PLACE.get(name, ""), name))
        return uri if file is None or uri else file

    def boolean(self, name: str, default: bool = False) -> bool:
        """Return a boolean setting, as `get`."""
        value = self.get(name)
        return default if value is None else bool(value)

    def number(self, name: str, default: int) -> int:
        """Return an integer setting, as `get`."""
        value = self.get(name)
        return value if isinstance(value, int) else default

    def text(self, name: str, default: str = "") -> str:
        """Return a string setting, as `get`; an empty string means the default."""
        return str(self.get(name) or default)

    def file_value(self, place: str, name: str) -> Value:
        """Return a setting that only the file can have, or the release's default."""
        value = self.file.values.get((place, name))
        return default(place, name, self.release) if value is None else value

    def default(self, name: str) -> int:
        """Return the release's default of an integer parameter of the URI."""
        return int(str(default("sink-uri", name, self.release)))

    def warnings(self) -> Iterator[str]:
        """Yield a warning for each parameter without effect and for each setting that differs between URI and file."""
        for name in self.parameters:
            if reason := KEYS["sink-uri"][name].no_effect:
                yield f"sink-uri: {name} has no effect: {reason}"
        for name, uri in self.parameters.items():
            place = FILE_PLACE.get(name, "")
            file = self.file.values.get((place, name))
            if file is None or uri == file:
                continue
            values = "" if is_secret(name) else f" ({_shown(uri)} and {_shown(file)})"
            yield differs(name, place, values, bool(uri))


def differs(name: str, place: str, values: str, uri_counts: bool = True) -> str:
    """Return the warning about a setting that a sink-uri and a file have with different values."""
    winner = "the sink-uri counts" if uri_counts else "TiCDC takes a zero in the sink-uri for unset, the file counts"
    return f"{name} differs in sink-uri and [{place}]{values}: {winner}"


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
