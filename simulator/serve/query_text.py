"""The text of a query that a client sends, whose quoted texts may hold bytes that are no UTF-8."""

from __future__ import annotations

import re

QUOTED = re.compile(
    r"""(?:_binary\s*)?('(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+")|/\*.*?\*/|--\s[^\n]*|`[^`]*`""",
    re.DOTALL | re.IGNORECASE,
)
ESCAPE = re.compile(r"\\(.)|''|\"\"", re.DOTALL)
ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def query_text(data: bytes) -> str:
    """Return the text of a query. A quoted text that is no UTF-8 becomes a hexadecimal literal of its bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return QUOTED.sub(_as_hexadecimal, data.decode("utf-8", "surrogateescape"))


def _as_hexadecimal(match: re.Match[str]) -> str:
    quoted = match[1]
    if quoted is None:
        return match[0]
    try:
        quoted.encode()
        return match[0]
    except UnicodeEncodeError:
        value = ESCAPE.sub(lambda each: ESCAPED.get(each[1], each[1]) if each[1] else each[0][0], quoted[1:-1])
        return f"X'{value.encode('utf-8', 'surrogateescape').hex()}'"
