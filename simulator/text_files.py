"""Text files that a user names, and the documents in them.

One law: what cannot be read is said with the file and the reason.
"""

from __future__ import annotations

import json
import tomllib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simulator.errors import UserError

DEPTH = 100
"""Levels that a document may have: whoever reads one by functions that call themselves ends at some depth."""


def read_text(path: Path) -> str:
    """The whole file, as UTF-8; raises UserError."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    except ValueError:
        raise UserError(f"cannot read {path}: no file can have that name") from None


def toml(text: str) -> dict[str, Any]:
    """A TOML document; raises ValueError with the reason."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(reason(error)) from None
    for value in _values(document):
        if isinstance(value, int) and not -1 << 63 <= value < 1 << 63:
            raise ValueError(f"it has an integer of {value.bit_length()} bits, and TOML's have 64 with the sign")
    return document


def json_document(text: str) -> Any:
    """A JSON document; raises ValueError with the reason."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(reason(error)) from None
    deque(_values(document), maxlen=0)
    return document


def reason(error: Exception) -> str:
    """Why Python could not read a text, for those who wrote it."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    # Python reads no integer of more digits (sys.get_int_max_str_digits), and says how programmers change that.
    return "a number has more than 4300 digits" if str(error).startswith("Exceeds the limit") else str(error)


def _values(document: object) -> Iterator[object]:
    """Everything in a document, outermost first; raises ValueError for too many levels."""
    level = [document]
    for _ in range(DEPTH):
        yield from level
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [member for members in inner for member in members]
    if level:
        raise ValueError(f"it is nested more than {DEPTH} levels deep")
