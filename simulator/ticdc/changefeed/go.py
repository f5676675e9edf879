"""Parsing of booleans, integers and durations as Go's standard library does it.

Text that Go rejects raises ValueError with Go's message.
"""

from __future__ import annotations

import json
import re

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
