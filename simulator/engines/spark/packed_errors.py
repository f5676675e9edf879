"""Encode SimulatorErrors as text that survives the way from a Python worker through Java to the driver.

Imports nothing that an old Python lacks, so that any worker can report why it cannot run the tasks.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.errors import SimulatorError

_OPEN, _CLOSE = "simulator-error:<", ">"
_PACKED = re.compile(_OPEN + r"(\w+) ([A-Za-z0-9+/=\s]*)" + _CLOSE)


def pack_error(kind: str, message: str) -> str:
    """Encode an error of a class of `simulator.errors`; Java may quote the text anywhere."""
    text = base64.b64encode(message.encode("utf-8", "backslashreplace")).decode()
    return f"{_OPEN}{kind} {text}{_CLOSE}"


def unpack_error(text: str) -> SimulatorError | None:
    """Decode the first error in a text; None if there is none."""
    from simulator import errors

    match = _PACKED.search(text)
    if match is None:
        return None
    kind = getattr(errors, match[1])
    message = base64.b64decode(match[2]).decode("utf-8", "backslashreplace")
    error: SimulatorError = kind(errors.printable(message))
    return error
