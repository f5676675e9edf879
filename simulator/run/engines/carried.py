"""Errors of ours as text that outlives Spark: out of a Python process on any machine, through Java, to the driver."""

from __future__ import annotations

import base64
import re

from simulator import errors

_OPEN, _CLOSE = "simulator-error:<", ">"
_CARRIED = re.compile(rf"{_OPEN}(\w+) ([A-Za-z0-9+/=\s]*){_CLOSE}")


def packed(error: errors.SimulatorError) -> str:
    """The error as a text that stays whole wherever Java quotes it."""
    text = base64.b64encode(str(error).encode("utf-8", "backslashreplace")).decode()
    return f"{_OPEN}{type(error).__name__} {text}{_CLOSE}"


def unpacked(text: str) -> errors.SimulatorError | None:
    """The first error that is packed in a text, or None."""
    match = _CARRIED.search(text)
    if match is None:
        return None
    kind = getattr(errors, match[1])
    words = base64.b64decode(match[2]).decode("utf-8", "backslashreplace")
    error: errors.SimulatorError = kind(errors.printable(words))
    return error
