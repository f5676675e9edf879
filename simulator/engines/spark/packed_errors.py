"""Errors of ours as text that outlives Spark: out of a Python process on any machine, through Java, to the driver.

One law: any Python can import this, however old, and say why it cannot do more.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.errors import SimulatorError

_OPEN, _CLOSE = "simulator-error:<", ">"
_CARRIED = re.compile(_OPEN + r"(\w+) ([A-Za-z0-9+/=\s]*)" + _CLOSE)


def packed(kind: str, words: str) -> str:
    """An error of that class of `errors`, as a text that stays whole wherever Java quotes it."""
    text = base64.b64encode(words.encode("utf-8", "backslashreplace")).decode()
    return f"{_OPEN}{kind} {text}{_CLOSE}"


def unpacked(text: str) -> SimulatorError | None:
    """The first error that is packed in a text, or None."""
    from simulator import errors

    match = _CARRIED.search(text)
    if match is None:
        return None
    kind = getattr(errors, match[1])
    words = base64.b64decode(match[2]).decode("utf-8", "backslashreplace")
    error: SimulatorError = kind(errors.printable(words))
    return error
