"""JSON of a request, read as Go's encoding/json reads it into a struct, with its errors.

Names that a struct does not have are skipped, letters of names match in either case, null leaves a value as it is.
A body is nested at most `files.DEPTH` levels deep, where Go takes 10,000.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.files import checked
from simulator.ticdc.changefeed.toml_file import parse_duration

TYPES = {
    "bool": "bool",
    "int": "int",
    "int16": "int16",
    "int32": "int32",
    "uint": "uint64",
    "number": "float64",
    "text": "string",
    "texts": "[]string",
    "ints": "[]uint64",
}
"""What Go calls the types of values."""

RANGES = {
    "int": (-(1 << 63), 1 << 63),
    "int16": (-(1 << 15), 1 << 15),
    "int32": (-(1 << 31), 1 << 31),
    "uint": (0, 1 << 64),
}
"""The least integer of a type, and the one above the greatest."""

NANOSECONDS = 10**9

MOST_DIGITS = 400
"""Of an integer; more fit into no type of Go."""


class BodyError(ValueError):
    """A body that Go refuses; the text is Go's."""


@dataclass(frozen=True)
class Place:
    """Where in a body a value is."""

    struct: str
    """The name of Go's struct that has the value."""

    path: tuple[str, ...] = ()
    """The names that lead to it."""

    def field(self, name: str, struct: str | None = None) -> Place:
        return Place(struct or self.struct, (*self.path, name))


def parse(body: bytes) -> Any:
    """Return the first JSON value of a body. Raises BodyError."""
    text = body.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not text:
        raise BodyError("EOF")
    try:
        value, _ = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer).raw_decode(text)
        checked(value)
        return _without_surrogates(value) if "\\ud" in text.lower() else value
    except json.JSONDecodeError as error:
        rest = text[error.pos :].lstrip(" \t\r\n")
        unfinished = not rest or error.msg.startswith("Unterminated")
        raise BodyError("unexpected EOF" if unfinished else _invalid(rest[0])) from None
    except RecursionError:
        raise BodyError("exceeded max depth") from None


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise BodyError(f"json: cannot unmarshal number {text[:20]}… of {len(text):,} digits into Go value")
    return int(text)


def _no_constant(name: str) -> Any:
    raise BodyError(_invalid(name[0]))


def _invalid(character: str) -> str:
    return f"invalid character {character!r} looking for beginning of value"


def _without_surrogates(value: Any) -> Any:
    """Return the value with U+FFFD for lone surrogates, as Go reads them."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(inner) for name, inner in value.items()}
    return [_without_surrogates(inner) for inner in value] if isinstance(value, list) else value


def read_struct(body: bytes, struct: str, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a struct by their names, with Go's zeros; `any` is for a value that is read later.

    Raises BodyError.
    """
    document = parse(body)
    values: dict[str, Any] = {name: zero(kind) for name, kind in kinds.items()}
    if document is None:
        return values
    if not isinstance(document, dict):
        raise BodyError(f"json: cannot unmarshal {shown(document)} into Go value of type v2.{struct}")
    for name, value in matched(document, kinds).items():
        kind = kinds[name]
        values[name] = value if kind == "any" else read_value(value, kind, values[name], Place(struct, (name,)))
    return values


def matched(document: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a JSON object whose names are known, by the known spelling."""
    folded = {name.lower(): name for name in names}
    spelled = {name: name if name in names else folded.get(name.lower()) for name in document}
    return {known: document[name] for name, known in spelled.items() if known is not None}


def read_value(value: Any, kind: str, base: Any, place: Place) -> Any:
    """Return a value of a kind; `base` for null. Raises BodyError for one of another type."""
    if kind in ("texts", "ints"):
        if value is None:
            return None
        if not isinstance(value, list):
            raise mismatch(value, place, TYPES[kind])
        inner = kind.removesuffix("s").replace("int", "uint")
        return [read_value(entry, inner, zero(inner), place) for entry in value]
    if value is None:
        return base
    if kind == "duration":
        return _nanoseconds(value)
    if not _fits(value, kind):
        raise mismatch(value, place, TYPES[kind], overflow=kind in RANGES)
    return value


def _fits(value: Any, kind: str) -> bool:
    if kind in RANGES:
        low, above = RANGES[kind]
        return type(value) is int and low <= value < above
    if kind == "number":
        return type(value) in (int, float)
    return type(value) is (bool if kind == "bool" else str)


def _nanoseconds(value: Any) -> int:
    """Read a JSONDuration: nanoseconds, or a text such as `10m` (tiflow v8.5.3: cdc/api/v2/model.go)."""
    if isinstance(value, str):
        try:
            return round(parse_duration(value) * NANOSECONDS)
        except ValueError as error:
            raise BodyError(str(error)) from None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= 1 << 63:
        raise BodyError("invalid duration")
    return int(value)


def zero(kind: str) -> Any:
    """Return Go's zero of a kind; None where that is nil."""
    zeros: dict[str, Any] = {"bool": False, "text": "", "number": 0, **dict.fromkeys(RANGES, 0)}
    return zeros.get(kind)


def mismatch(value: Any, place: Place, kind: str, overflow: bool = False) -> BodyError:
    """Return Go's error of a value that has another type than its field."""
    where = f"Go struct field {place.struct}.{'.'.join(place.path)} of type {kind}"
    return BodyError(f"json: cannot unmarshal {shown(value, overflow)} into {where}")


def shown(value: Any, overflow: bool = False) -> str:
    """Return what Go calls a JSON value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"number {value}" if overflow else "number"
    return {bool: "bool", str: "string", list: "array", dict: "object"}[type(value)]
