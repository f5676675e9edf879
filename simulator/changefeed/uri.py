"""A sink-uri taken apart: scheme, brokers, topic and typed parameters.

One law: a parameter is read as Go's gin binds it (first of several, empty is zero), or refused in Go's words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from simulator.changefeed import go
from simulator.changefeed.keys import KEYS, Value
from simulator.errors import ChangefeedError, did_you_mean

ACCEPTED = "kafka://host:port[,host:port]/topic?protocol=open-protocol"
EMPTY = {"bool": "false", "int": "0", "int16": "0", "int32": "0"}
"""What gin reads in `key=` (github.com/gin-gonic/gin binding/form_mapping.go)."""

TAKES = {"bool": "true or false", "int": "an integer", "int16": "an integer", "int32": "an integer"}
BIND = "CDC:ErrMySQLInvalidConfig"
"""TiCDC binds the parameters of every sink under this code (tiflow v8.5.3: pkg/sink/kafka/options.go, Apply)."""

BITS = {"int": 64, "int16": 16, "int32": 32}


@dataclass(frozen=True)
class SinkUri:
    """A sink-uri whose parameters have not been judged yet."""

    scheme: str
    brokers: tuple[str, ...]
    topic: str
    texts: Mapping[str, str]
    """All parameters as written, decoded."""

    warnings: tuple[str, ...] = ()


def parse(text: str) -> SinkUri:
    """The parts of a sink-uri; raises ChangefeedError (CDC:ErrSinkURIInvalid) where it is no URI at all."""
    try:
        parts = urlsplit(text.strip())
    except ValueError as error:
        raise _invalid(text, str(error)) from error
    if not parts.scheme or not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text.strip()):
        raise _invalid(text, f"{ACCEPTED} is expected")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    texts = dict(reversed(pairs))
    brokers = tuple(host for host in parts.netloc.rpartition("@")[2].split(",") if host)
    return SinkUri(parts.scheme.lower(), brokers, unquote(parts.path).strip("/"), texts, tuple(_remarks(pairs)))


def typed(uri: SinkUri) -> dict[str, Value]:
    """The known parameters with their values; raises ChangefeedError naming the first that does not parse."""
    known = KEYS["sink-uri"]
    return {name: _value(name, known[name].kind, uri.texts[name]) for name in known if name in uri.texts}


def _value(name: str, kind: str, text: str) -> Value:
    try:
        text = text or EMPTY.get(kind, "")
        if kind == "bool":
            return go.parse_bool(text)
        return go.parse_int(text, BITS[kind]) if kind in BITS else text
    except ValueError as error:
        raise ChangefeedError(f"sink-uri {name}: {error}; {TAKES[kind]} is accepted", BIND) from error


def _remarks(pairs: list[tuple[str, str]]) -> list[str]:
    known = [name for name in KEYS["sink-uri"] if not name.startswith("(")]
    names = [name for name, _ in pairs]
    unknown = [
        f"sink-uri: unknown key {name!r} is ignored.{did_you_mean(name, known)}"
        for name in dict.fromkeys(names)
        if name not in known
    ]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    return unknown + [f"sink-uri: {name} is given {names.count(name)} times; the first counts" for name in repeated]


def _invalid(text: str, why: str) -> ChangefeedError:
    return ChangefeedError(f"sink uri invalid '{text.partition('?')[0]}': {why}", "CDC:ErrSinkURIInvalid")
