"""The settings of a run, which are command line options and keys of scenario files, their parsers, and the lines of keys.

`--help` imports this module, so it imports only what is fast.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulator import tso
from simulator.errors import UserError, mask_secrets

DEFAULT_SINK_URI = "kafka://127.0.0.1:9092/ticdc?protocol=open-protocol"
"""The sink URI if the user gives none, of every command and of `TiCDC`."""

AUTO = "auto"
"""The default --master: in process where that is enough, else on Spark."""

IN_PROCESS = "none"
"""The --master without Spark."""

ON_SPARK = "local[*]"
"""The --master of `auto` with Spark."""

CHARSETS: Mapping[str, str] = {
    "utf8mb4": "utf-8",
    "latin1": "cp1252",
    "gbk": "gbk",
    "gb18030": "gb18030",
    "utf16": "utf-16",
}
"""The character sets that text files of a snapshot may have, as MySQL calls them, with Python's codecs."""

MACHINE_ZONES = ("", "system", "local")
"""The names, in any case, of the time zone of TiCDC's machines, which is UTC here (tiflow: pkg/util/tz.go)."""

DEFAULT_OVER_MS = 60_000
DEFAULT_RESOLVED_INTERVAL_MS = 1000

PLACES = ("start", "middle", "end")
"""The points of a step's time at which its schema change may run; `end` is before the last tenth."""


@dataclass(frozen=True)
class Settings:
    """The settings that command line and scenario files share; None is unset."""

    sink_uri: str | None = None
    config: Path | None = None
    tz: str | None = None
    release: str | None = None
    architecture: str | None = None
    start_ts: int | None = None
    over_ms: int | None = None
    resolved_interval_ms: int | None = None
    speed: float | None = None
    """Simulated seconds per real second; 0.0 for unlimited."""

    seed: int | None = None


def merged(options: Settings, file: Settings) -> Settings:
    """Merge settings; the options take precedence over the file."""
    pairs = {name: (getattr(options, name), getattr(file, name)) for name in Settings.__dataclass_fields__}
    return Settings(**{name: in_file if option is None else option for name, (option, in_file) in pairs.items()})


@dataclass(frozen=True)
class Key:
    """A key of a scenario file."""

    field: str
    """The name of its value in Python."""

    read: Callable[[Any], Any]
    """Converts the TOML value; raises UserError for an invalid one."""

    type: Mapping[str, Any] = dataclasses.field(default_factory=lambda: TEXT)
    """The JSON Schema of its values."""

    says: str = ""
    """Its description, a sentence that editors show."""


TEXT: Mapping[str, Any] = {"type": "string"}
TEXTS: Mapping[str, Any] = {"type": "array", "items": TEXT}
DURATION: Mapping[str, Any] = {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$"}
"""A duration as `tso.duration_ms` parses it."""


def table_schema(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """Return the JSON Schema of a table with no other keys."""
    needs = {"required": [*required]} if required else {}
    return {"type": "object", "properties": properties, **needs, "additionalProperties": False}


def to_text(value: object) -> str:
    """Return a text; raises UserError."""
    if not isinstance(value, str):
        raise UserError(f"expected text, got {mask_secrets(repr(value))}")
    return value


def to_path(value: object) -> str:
    """Return the text of a path; raises UserError for an empty one."""
    text = to_text(value)
    if not text.strip():
        raise UserError("expected a path, got an empty text")
    return text


def to_texts(value: object) -> tuple[str, ...]:
    """Return a list of texts; raises UserError."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise UserError(f"expected a list of texts such as ['name=full_name'], got {value!r}")
    return tuple(value)


def to_bool(value: object) -> bool:
    """Return true or false; raises UserError."""
    if not isinstance(value, bool):
        raise UserError(f"expected true or false, got {mask_secrets(repr(value))}")
    return value


def to_count(least: int, most: int) -> Callable[[object], int]:
    """Return a parser of whole numbers in that range, which raises UserError."""

    def parse(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise UserError(f"expected a whole number from {least:,} to {most:,}, got {value!r}")
        return value

    return parse


def to_duration_ms(value: object) -> int:
    """Return a duration such as `1m30s` in milliseconds; raises UserError."""
    return tso.duration_ms(to_text(value))


def to_time_zone(value: object) -> str:
    """Return the name of a time zone, empty for that of the machine; raises UserError for what TiCDC does not load."""
    from zoneinfo import ZoneInfo

    name = to_text(value)
    if name.lower() in MACHINE_ZONES:
        return ""
    try:
        return str(ZoneInfo(name))
    except (OSError, ValueError, KeyError):
        pass
    raise UserError(
        f"[CDC:ErrLoadTimezone]load timezone: unknown time zone {name}; accepted: the name of a time zone such as "
        "Asia/Shanghai, UTC, or System"
    )


def to_place(value: object) -> str:
    """Return one of PLACES; raises UserError."""
    if value not in PLACES:
        raise UserError(f"expected one of {', '.join(PLACES)}, got {value!r}")
    return str(value)


def to_speed(value: object) -> float:
    """Return simulated seconds per real second, 0.0 for `max`; raises UserError."""
    text = str(value)
    if text == "max":
        return 0.0
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0.0 < speed < float("inf"):
        raise UserError(f"bad speed {text!r}: expected max, or a number above 0 such as 1 (real time) or 10")
    return speed


def to_seed(value: object) -> int:
    """Return an integer of 64 bits; raises UserError."""
    if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
        raise UserError(f"bad seed {value!r}: expected a whole number of 64 bits")
    return value


SETTINGS: Mapping[str, Key] = {
    "sink-uri": Key("sink_uri", to_text, TEXT, "TiCDC's sink URI."),
    "config": Key("config", to_path, TEXT, "TiCDC's changefeed.toml, relative to this file."),
    "tz": Key("tz", to_time_zone, TEXT, "The time zone of TiCDC's servers, such as Asia/Shanghai."),
    "release": Key("release", to_text, TEXT, "TiCDC release to simulate, such as v8.5.3."),
    "architecture": Key("architecture", to_text, TEXT, "TiCDC's architecture: classic or new."),
    "start-ts": Key(
        "start_ts",
        lambda value: tso.start_ts(str(value)),
        {"type": ["string", "integer"]},
        "Where simulated time starts: a TSO, or a time.",
    ),
    "over": Key(
        "over_ms", to_duration_ms, DURATION, "Simulated time that the changes of a step are spread over, as 1m30s."
    ),
    "resolved-interval": Key(
        "resolved_interval_ms", to_duration_ms, DURATION, "Simulated time between two watermarks."
    ),
    "speed": Key(
        "speed",
        to_speed,
        {"anyOf": [{"const": "max"}, {"type": ["number", "string"]}]},
        "How many simulated seconds pass in a real one, or max.",
    ),
    "seed": Key("seed", to_seed, {"type": "integer"}, "Chooses what is random."),
}
"""The settings by key in a scenario file, which is also the option's name."""


TOKEN = re.compile(
    r"""
    (?P<passed> \#[^\n]* | \"{3}(?:\\.|[^\\])*?\"{3,5} | '{3}.*?'{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*' )
  | (?P<open> [\[{] ) | (?P<close> [\]}] ) | (?P<end> \n )
""",
    re.VERBOSE | re.DOTALL,
)

HEADER = re.compile(
    r"""[ \t]*\[{1,2}[ \t]*["']?([^\]\s."']+)["']?[ \t]*(?:\.[ \t]*["']?([^\]\s."']+)["']?[ \t]*)?"""
    r"""(?:\.[ \t]*["']?([^\]\s."']+))?"""
)
KEY = re.compile(r"""[ \t]*["']?([^\s.="'\[\]#]+)["']?[ \t]*[.=][ \t]*((?:\"{3}|'{3})\r?\n)?""")


@dataclass(frozen=True)
class KeyLine:
    line: int
    """The line of the key, from 1."""

    text: int
    """The line on which the value begins: for a multi-line text the line after the key."""


@dataclass
class TableLines:
    """The lines of a table's keys."""

    line: int = 1
    """The line of its header."""

    keys: dict[str, KeyLine] = field(default_factory=dict)
    inside: dict[str, TableLines] = field(default_factory=dict)
    """The inner tables that have a header."""


def key_lines(text: str, array: str) -> tuple[TableLines, list[TableLines]]:
    """Return the lines of the top-level keys, and of the keys of each table of `[[array]]`, inner tables included."""
    top, tables = TableLines(), list[TableLines]()
    now, here, line = top, 0, 1
    while here < len(text):
        if header := HEADER.match(text, here):
            now = _table(header, array, line, tables)
        elif key := KEY.match(text, here):
            now.keys.setdefault(key[1], KeyLine(line, line + bool(key[2])))
        end = _end(text, here)
        line += text.count("\n", here, end)
        here = end
    return top, tables


def _table(header: re.Match[str], array: str, line: int, tables: list[TableLines]) -> TableLines:
    """Return the table to which the keys after a header belong."""
    if header[1] != array:
        return TableLines(line)
    if header[2] is not None and tables:
        tables[-1].keys.setdefault(header[2], KeyLine(line, line))
        inside = tables[-1].inside.setdefault(header[2], TableLines(line))
        if header[3] is None:
            return inside
        inside.keys.setdefault(header[3], KeyLine(line, line))
        return TableLines(line)
    tables.append(TableLines(line))
    return tables[-1]


def _end(text: str, start: int) -> int:
    """Return the end of the value or header that begins at `start`, including its last line break."""
    depth = 0
    for token in TOKEN.finditer(text, start):
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if token.lastgroup == "end" and depth <= 0:
            return token.end()
    return len(text)
