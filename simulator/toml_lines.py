"""Finds the line numbers of keys in a TOML file, which tomllib does not report. The text must be valid TOML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

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
