"""A changefeed.toml, parsed and type-checked against the table of keys.

An unknown key gives a warning with its full name. A key that the release does not have is refused, as TiCDC's command
line does (pkg/cmd/util/helper.go StrictDecodeFile). Booleans, integers and durations are parsed as Go's standard
library does it; text that Go rejects raises ValueError with Go's message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simulator import files
from simulator.errors import HIDDEN, ChangefeedError, did_you_mean, is_secret, mask_secrets
from simulator.releases import Release, releases_with
from simulator.releases.option_names import UNRELEASED
from simulator.ticdc.changefeed.keys import BITS, FILE_PLACE, KEYS, NOT_RELEASED, TAKES, Value, option

TABLES = KEYS.keys() - {"sink-uri", "(top level)"}
"""Names of the file's tables; the other places of KEYS are not in the file."""


@dataclass(frozen=True)
class ConfigFile:
    """A changefeed.toml."""

    values: Mapping[tuple[str, str], Value] = field(repr=False)
    """Values by place and name, as KEYS spells them; arrays of tables are lists of dicts."""

    tables: frozenset[str]
    """The tables that the file contains, including empty ones."""

    warnings: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    """The warnings of keys that TiCDC does not have."""

    @property
    def parameters(self) -> frozenset[str]:
        """The parameters of a sink-uri that the file has, too."""
        return frozenset(name for place, name in self.values if FILE_PLACE.get(name) == place)


def parse_file(text: str, name: str, release: Release | None) -> ConfigFile:
    """Return the file's content; raise ChangefeedError with the position or the keys at fault.

    Without a release the keys of all releases are accepted.
    """
    try:
        content = files.parse_toml(text)
    except ValueError as error:
        raise ChangefeedError(f"{name} is not TOML: {error}") from error
    entries = list(_walk(content, "(top level)", name))
    if release is not None:
        _reject_unavailable(entries, name, release)
    values = {(place, key): value for place, key, value, _ in entries if key}
    tables = frozenset(place for place, key, _, _ in entries if not key)
    ignored = tuple(remark for _, key, _, remark in entries if remark and not key)
    return ConfigFile(values, tables, tuple(remark for *_, remark in entries if remark), ignored)


def _reject_unavailable(entries: list[tuple[str, str, Value, str]], name: str, release: Release) -> None:
    """Raise ChangefeedError for keys and tables that only other releases have."""
    names = [option(place, key) if key else place for place, key, _, _ in entries if place != "(top level)" or key]
    absent = [option for option in dict.fromkeys(names) if not release.has(option)]
    missing = [option for option in absent if option.rpartition(".")[0] not in absent]
    if missing:
        releases = [releases_with(option) for option in missing]
        each = ", ".join(f"{option} {releases}" for option, releases in zip(missing, releases, strict=True))
        since = f"it: {releases[0]}" if len(missing) == 1 else f"them: {each}"
        raise ChangefeedError(
            f"component TiCDC changefeed's config file {name} contained unknown configuration options: "
            f"{', '.join(missing)}; TiCDC {release.name} does not have {since}"
        )


def _walk(content: Mapping[str, object], place: str, name: str) -> Iterator[tuple[str, str, Value, str]]:
    """Yield place, key, value and warning of everything in a table; an empty key stands for the table itself."""
    yield place, "", None, ""
    for spelled, value in content.items():
        key = spelled if spelled in KEYS[place] else spelled.lower()
        inner = key if place == "(top level)" else f"{place}.{key}"
        if key in KEYS[place]:
            yield from _known(place, key, value, name)
        elif "." not in key and inner in TABLES and isinstance(value, dict):
            yield from _walk(value, inner, name)
        elif "." not in key and inner in TABLES:
            raise ChangefeedError(f"{name}: [{inner}] must be a table, got {mask_secrets(repr(value))}")
        elif option(place, key) in UNRELEASED:
            raise _unreleased(option(place, key), name)
        else:
            yield place, "", None, _unknown(place, spelled, name)


def _known(place: str, key: str, value: object, name: str) -> Iterator[tuple[str, str, Value, str]]:
    expected, where = KEYS[place][key], _dotted(place, key)
    checked = check(expected.kind, value, f"{name}: {where}")
    yield place, key, checked, f"{name}: {where} has no effect: {expected.no_effect}" if expected.no_effect else ""
    if isinstance(checked, list) and expected.kind == "rows":
        inner = _dotted(place, key)
        for number, row in enumerate(checked, 1):
            assert isinstance(row, dict)
            yield from ((inner, column, None, "") for column in row if column in KEYS[inner])
            yield from ((place, "", None, remark) for remark in _row_remarks(inner, number, row, name))


def _row_remarks(place: str, number: int, row: dict[str, object], name: str) -> Iterator[str]:
    keys = KEYS[place]
    for key, value in row.items():
        if key in keys:
            check(keys[key].kind, value, f"{name}: {place}[{number}].{key}")
            if keys[key].no_effect:
                yield f"{name}: {place}[{number}].{key} has no effect: {keys[key].no_effect}"
        elif option(place, key) in UNRELEASED:
            raise _unreleased(option(place, key), name)
        else:
            yield f"{name}: unknown key {key!r} in {place}[{number}] is ignored.{did_you_mean(key, keys)}"


def check(kind: str, value: object, where: str) -> Value:
    """Return the value if it has the type; raise ChangefeedError otherwise."""
    if not _fits(kind, value):
        value_text = HIDDEN if is_secret(where.rpartition(".")[2]) else mask_secrets(repr(value))
        raise ChangefeedError(f"{where} = {value_text}: {TAKES[kind]} is expected")
    if kind == "duration" and isinstance(value, str):
        try:
            parse_duration(value)
        except ValueError as error:
            raise ChangefeedError(f"{where}: {error}") from error
    assert value is None or isinstance(value, bool | int | float | str | list | dict)
    return value


def _fits(kind: str, value: object) -> bool:
    if kind == "ints":
        return isinstance(value, list) and all(_fits("int", number) for number in value)
    if kind in ("texts", "rows"):
        return isinstance(value, list) and all(isinstance(entry, str if kind == "texts" else dict) for entry in value)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind in BITS or kind == "duration" and not isinstance(value, str):
        limit = 1 << BITS.get(kind, 64) - 1
        return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
    return isinstance(value, str)


def _unreleased(setting: str, name: str) -> ChangefeedError:
    return ChangefeedError(
        f"component TiCDC changefeed's config file {name} contained unknown configuration options: {setting}; "
        f"{NOT_RELEASED}"
    )


def _unknown(place: str, key: str, name: str) -> str:
    top = place == "(top level)"
    if top and key.lower() == "sink-uri":
        return f"{name}: unknown key {key!r} is ignored: TiCDC takes the sink-uri beside the file, as --sink-uri"
    inner = sorted(TABLES) if top else [other for other in sorted(TABLES) if other.startswith(f"{place}.")]
    tables = [other.removeprefix(f"{place}.") for other in inner]
    where = "" if top else f" in [{place}]"
    return f"{name}: unknown key {key!r}{where} is ignored.{did_you_mean(key, [*KEYS[place], *tables])}"


def _dotted(place: str, key: str) -> str:
    return key if place == "(top level)" else f"{place}.{key}"


BOOLS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
PART = re.compile(r"(\d*\.?\d*)([^\d.]*)")


def parse_bool(text: str) -> bool:
    """Parse as strconv.ParseBool."""
    if text not in BOOLS:
        raise ValueError(f"strconv.ParseBool: parsing {quote(text)}: invalid syntax")
    return BOOLS[text]


def parse_int(text: str, bits: int = 64, function: str = "ParseInt") -> int:
    """Parse as strconv.ParseInt in base 10, or as strconv.Atoi."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
    number = int(text) if len(text.lstrip("+-0")) < 20 else 1 << 64
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: value out of range")
    return number


def parse_duration(text: str) -> float:
    """Parse as time.ParseDuration; return seconds."""
    sign = -1.0 if text.startswith("-") else 1.0
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0.0
    if not rest:
        raise ValueError(f"time: invalid duration {quote(text)}")
    seconds = sum(_part(part, text) for part in PART.finditer(rest) if part[0])
    if seconds * 1e9 >= 1 << 63:
        raise ValueError(f"time: invalid duration {quote(text)}")
    return sign * seconds


def show_duration(seconds: float) -> str:
    """Write as time.Duration.String, to the microsecond."""
    sign, rest = "-" * (seconds < 0), abs(seconds)
    if 0 < rest < 1:
        return f"{sign}{rest * 1e3:.6g}ms" if rest >= 1e-3 else f"{sign}{rest * 1e6:.6g}µs"
    minutes, rest = divmod(rest, 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h"] * bool(hours) + [f"{minutes}m"] * bool(hours or minutes) + [f"{rest:.9g}s"]
    return sign + "".join(parts)


def _part(match: re.Match[str], text: str) -> float:
    number, unit = match[1], match[2]
    if not re.search(r"\d", number):
        raise ValueError(f"time: invalid duration {quote(text)}")
    if not unit:
        raise ValueError(f"time: missing unit in duration {quote(text)}")
    if unit not in UNITS:
        raise ValueError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
    return float(number) * UNITS[unit]


def quote(text: str) -> str:
    """Quote as strconv.Quote, close enough for a message."""
    return json.dumps(text, ensure_ascii=False)
