"""Commands of the simulator inside SQL: `CALL ticdc.fault('restart')`, or a comment `/* ticdc: fault restart */`.

`CALL ticdc.wait('10s')` lets simulated time pass, `CALL ticdc.watermark()` sends a watermark.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from simulator.errors import SqlError

CALL = re.compile(r"\s*CALL\s+`?ticdc`?\s*\.\s*`?(\w+)`?\s*(?:\((.*)\))?\s*", re.IGNORECASE | re.DOTALL)
COMMENT = re.compile(r"\s*/\*\s*ticdc\s*:\s*(\w+)(.*?)\*/", re.IGNORECASE | re.DOTALL)
ARGUMENT = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([\w.]+))\s*(?:,|$)""")


class SimulatorCall(NamedTuple):
    name: str
    arguments: tuple[str, ...]


def split_call(text: str) -> tuple[SimulatorCall | None, str]:
    """Return the command that a statement begins with, and the rest of the statement. Raises SqlError 1064."""
    match = CALL.fullmatch(text)
    if match:
        return SimulatorCall(match[1].lower(), _arguments(match[2] or "")), ""
    match = COMMENT.match(text)
    if match is None:
        return None, text
    try:
        words = tuple(shlex.split(match[2]))
    except ValueError as error:
        raise _wrong(match[0], str(error)) from None
    return SimulatorCall(match[1].lower(), words), text[match.end() :]


def key_values(words: tuple[str, ...]) -> dict[str, str]:
    """Return `key=value` arguments. Raises SqlError 1064."""
    pairs = [word.partition("=") for word in words]
    wrong = next((word for word, (_, equals, _) in zip(words, pairs, strict=True) if not equals), None)
    if wrong is not None:
        raise _wrong(wrong, "key=value is expected, such as 'partition=0'")
    return {key: value for key, _, value in pairs}


def _arguments(text: str) -> tuple[str, ...]:
    found, place = [], 0
    while text[place:].strip():
        match = ARGUMENT.match(text, place)
        if match is None:
            raise _wrong(text[place:], "texts in quotes are expected, with commas between")
        found.append(next(group for group in match.groups() if group is not None))
        place = match.end()
    return tuple(found)


def _wrong(text: str, why: str) -> SqlError:
    return SqlError(1064, "42000", f"You have an error in your SQL syntax: {text.strip()!r}: {why}")
