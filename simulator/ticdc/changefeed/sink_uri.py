"""A sink-uri split into scheme, brokers, topic and typed parameters, and its settings beside those of changefeed.toml.

Parameters are read as Go's gin binds them (the first of several counts, empty is zero), before 7.1 as Go's net/url
and strconv read them (empty is unset). A parameter that the release does not have gives a warning.

The URI takes precedence, but a zero value in it (`false`, `0`, empty) does not override the file: TiCDC merges with
mergo.WithOverride, which treats a zero as unset (tiflow v8.5.3 pkg/sink/kafka/options.go, mergo v0.3.16 merge.go).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from simulator.errors import ChangefeedError, did_you_mean, is_secret, uri_without_secrets
from simulator.limits import counted
from simulator.releases import Release, releases_with
from simulator.releases.option_names import UNRELEASED
from simulator.ticdc.changefeed import toml_file
from simulator.ticdc.changefeed.keys import (
    BITS,
    FILE_PLACE,
    KAFKA,
    KEYS,
    NOT_RELEASED,
    STORAGE_PARAMETERS,
    STORAGE_SCHEMES,
    TAKES,
    Value,
    default,
    option,
)
from simulator.ticdc.changefeed.toml_file import ConfigFile

ACCEPTED = "kafka://host:port[,host:port]/topic?protocol=open-protocol"
EMPTY = {"bool": "false", **dict.fromkeys(BITS, "0")}
"""The value that gin reads in `key=` (github.com/gin-gonic/gin binding/form_mapping.go)."""

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NO_PORT = re.compile(r":[^:\]]*[^\d:\]][^:\]]*$")
"""The end of a host that is no port: half of a password that contains / or ?."""


@dataclass(frozen=True)
class SinkUri:
    """A sink-uri whose parameters are not checked yet."""

    scheme: str
    brokers: tuple[str, ...]
    topic: str
    texts: Mapping[str, str] = field(repr=False)
    """All parameters as written, decoded."""

    warnings: tuple[str, ...] = ()
    text: str = field(default="", repr=False)
    """The URI as written."""


def parse_uri(text: str, release: Release) -> SinkUri:
    """Return the parts of a sink-uri; raise ChangefeedError (CDC:ErrSinkURIInvalid) if it is no URI."""
    if CONTROL.search(text):  # urlsplit drops some, Go's net/url refuses all
        raise _invalid(text, "net/url: invalid control character in URL")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise _invalid(text, str(error)) from error
    if not parts.scheme or not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text):
        raise _invalid(text, f"{ACCEPTED} is expected")
    if "@" in parts.path or NO_PORT.search(parts.netloc) and "@" in parts.query + parts.fragment:
        raise _invalid(text, f"a user or password before @ holds / or ?, which are %2F and %3F there; {ACCEPTED}")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    texts = dict(reversed(pairs))
    try:
        addresses = brokers(parts.netloc)
    except ValueError as error:
        raise _invalid(text, str(error)) from error
    scheme = parts.scheme.lower()
    remarks = (*_unread(parts), *_remarks(pairs, scheme, release))
    return SinkUri(scheme, addresses, unquote(parts.path).strip("/"), texts, remarks, text)


def without_parameters(uri: str, names: Collection[str]) -> str:
    """Return a URI without some of its parameters."""
    head, _, query = uri.partition("?")
    kept = urlencode([(name, value) for name, value in parse_qsl(query) if name not in names])
    return f"{head}?{kept}" if kept else head


def brokers(netloc: str) -> tuple[str, ...]:
    """Return `host:port` of each broker; raise ValueError for an invalid port."""
    addresses = tuple(host for host in netloc.rpartition("@")[2].split(",") if host)
    for broker in addresses:
        port = re.search(r":([^:\]]+)$", broker)
        if port and not (re.fullmatch("[0-9]{1,5}", port[1]) and 0 < int(port[1]) < 65536):
            raise ValueError(f"port {port[1]!r} of {broker!r} is none: 1 to 65535 are")
    return addresses


def typed_parameters(uri: SinkUri, release: Release) -> dict[str, Value]:
    """Return the parameters that the release has; raise ChangefeedError for the first that does not parse."""
    kinds = {name: key.kind for name, key in KEYS["sink-uri"].items() if name in uri.texts and _has(release, name)}
    used = {name: kind for name, kind in kinds.items() if uri.texts[name] or release.uri_bound_by_gin}
    return {name: _value(name, kind, uri.texts[name], release) for name, kind in used.items()}


def _has(release: Release, name: str) -> bool:
    return release.has(option("sink-uri", name))


def _value(name: str, kind: str, text: str, release: Release) -> Value:
    gin = release.uri_bound_by_gin
    try:
        text = text or EMPTY.get(kind, "")
        if kind == "bool":
            return toml_file.parse_bool(text)
        return toml_file.parse_int(text, BITS[kind], "ParseInt" if gin else "Atoi") if kind in BITS else text
    except ValueError as error:
        code = _unparsed_code(name, release)
        raise ChangefeedError(f"sink-uri {name}: {error}; {TAKES[kind]} is accepted", code) from error


def _unparsed_code(name: str, release: Release) -> str:
    """Return TiCDC's code for a parameter that does not parse.

    Sources: pkg/sink/kafka/options.go, pkg/sink/codec/common/config.go.
    """
    if release.one_kafka_code and name not in (*KAFKA, "max-retry"):
        return "CDC:ErrSinkInvalidConfig"
    gin = release.uri_bound_by_gin and not release.one_kafka_code
    return "CDC:ErrMySQLInvalidConfig" if gin else "CDC:ErrKafkaInvalidConfig"


def _unread(parts: SplitResult) -> Iterator[str]:
    if "@" in parts.netloc:
        yield "sink-uri: user and password before @ are ignored: sasl-user and sasl-password are read"
    if parts.fragment:
        yield "sink-uri: what follows # is ignored; in a value # is written as %23"


def _remarks(pairs: list[tuple[str, str]], scheme: str, release: Release) -> list[str]:
    is_storage = scheme in STORAGE_SCHEMES
    keys = [
        name for name in KEYS["sink-uri"] if not name.startswith("(") and (is_storage or name not in STORAGE_PARAMETERS)
    ]
    # a storage has parameters of its own, such as access-key
    names = [name for name, _ in pairs if not is_storage or name in keys]
    unknown = [
        f"sink-uri: {name} is ignored: {NOT_RELEASED}"
        if option("sink-uri", name) in UNRELEASED
        else f"sink-uri: unknown key {name!r} is ignored.{did_you_mean(name, keys)}"
        for name in dict.fromkeys(names)
        if name not in keys
    ] + [
        f"sink-uri: {name} is ignored: TiCDC {release.name} does not have it ({releases_with(f'?{name}')})"
        for name in dict.fromkeys(names)
        if name in keys and not _has(release, name)
    ]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    return unknown + [
        f"sink-uri: {name} is given {counted(names.count(name), 'time')}; the first counts" for name in repeated
    ]


def _invalid(text: str, why: str) -> ChangefeedError:
    return ChangefeedError(f"sink uri invalid '{uri_without_secrets(text)}': {why}", "CDC:ErrSinkURIInvalid")


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
