"""Text files that a user names, and the documents in them.

One law: what cannot be read is said with the file and the reason.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from simulator.errors import UserError

T = TypeVar("T")

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
        return _checked(tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(reason(error)) from None


def json_document(text: str) -> Any:
    """A JSON document; raises ValueError with the reason."""
    try:
        return _checked(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(reason(error)) from None


def reason(error: Exception) -> str:
    """Why Python could not read a text, for those who wrote it."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    # Python refuses longer integers (sys.get_int_max_str_digits), and says how a programmer changes that.
    return "a number has more than 4300 digits" if str(error).startswith("Exceeds the limit") else str(error)


def _checked(document: T) -> T:
    """The document; raises what `reason` knows where it is too deep, or has a number that cannot be shown."""
    level: list[object] = [document]
    for _ in range(DEPTH):
        for value in level:
            if isinstance(value, int):
                str(value)
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [member for members in inner for member in members]
    if level:
        raise RecursionError
    return document
