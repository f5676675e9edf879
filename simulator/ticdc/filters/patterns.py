"""Patterns of a table-filter rule: literals, quoted names, wildcards, character classes, regular expressions.

Meaning and errors are TiDB's. Source: tidb v8.5 pkg/util/table-filter/parser.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simulator.ticdc.filters import go_regexp
from simulator.ticdc.filters.go_regexp import GoRegexp, GoRegexpError

QUOTED = {'"': re.compile(r'"((?:""|[^"])+)"'), "`": re.compile(r"`((?:``|[^`])+)`")}
REGEXP = re.compile(r"/((?>(?:\\.|[^/])+)|[^/](?s:.*))/")
"""Up to the first slash without a backslash before it, else up to the last slash."""

CHARACTERS = re.compile(r"\[(!?)((?:\\[^0-9a-zA-Z]|[^\\\]])+)\]")


@dataclass(frozen=True)
class Pattern:
    """A pattern of a name: a literal, a regular expression, or everything if it has neither."""

    literal: str | None = None
    regexp: GoRegexp | None = None

    def matches(self, name: str) -> bool:
        """Return whether the name matches; the caller lowers it if case does not matter."""
        if self.literal is not None:
            return self.literal == name
        return self.regexp is None or self.regexp.matches(name)


def to_lower(name: str) -> str:
    """Return the lower case as Go's strings.ToLower: rune by rune, without context."""
    return name.lower() if name.isascii() else "".join(char.lower()[0] for char in name)


def parse_pattern(line: str, case_sensitive: bool) -> tuple[Pattern, str]:
    """Return the pattern at the start of a line, and the rest of the line; raise ValueError."""
    if not line:
        raise ValueError("syntax error: missing pattern")
    if line[0] == "/":
        match = REGEXP.match(line)
        if match is None:
            raise ValueError("syntax error: incomplete regexp")
        return _regexp(match[1], case_sensitive), line[match.end() :]
    if line[0] in QUOTED:
        match = QUOTED[line[0]].match(line)
        if match is None:
            raise ValueError("syntax error: incomplete quoted identifier")
        return _literal(match[1].replace(line[0] * 2, line[0]), case_sensitive), line[match.end() :]
    return _wildcard(line, case_sensitive)


def _wildcard(line: str, case_sensitive: bool) -> tuple[Pattern, str]:
    literal: list[str] = []
    pattern: list[str] = []
    wild, at = False, 0
    while at < len(line) and line[at] != ".":
        parse_element = SPECIAL.get(line[at], _plain)
        name, regexp, length = parse_element(line, at)
        wild = wild or name is None
        literal.append(name or "")
        pattern.append(regexp)
        at += length
    if not wild:
        return _literal("".join(literal), case_sensitive), line[at:]
    return _regexp("(?s)^" + "".join(pattern) + "$", case_sensitive), line[at:]


def _plain(line: str, at: int) -> tuple[str | None, str, int]:
    # beside a wildcard TiDB leaves `$` an anchor: `a$*.t` matches no schema (tidb: table-filter/parser.go)
    char = line[at]
    if char.isascii() and not (char.isalnum() or char in "$_"):
        raise ValueError(f"unexpected special character '{char}'")
    return char, char, 1


def _escaped(line: str, at: int) -> tuple[str | None, str, int]:
    if at == len(line) - 1:
        raise ValueError(r"syntax error: cannot place \ at end of line")
    char = line[at + 1]
    if char.isascii() and char.isalnum():
        raise ValueError(f"cannot escape a letter or number (\\{char}), it is reserved for future extension")
    return char, "\\" + char if char.isascii() else char, 2


def _characters(line: str, at: int) -> tuple[str | None, str, int]:
    match = CHARACTERS.match(line, at)
    if match is None:
        raise ValueError("syntax error: failed to parse character class")
    members = line[at + 1 : match.end()]
    start = {"!": "[^", "^": r"[\^"}.get(members[0])
    return None, start + members[1:] if start else "[" + members, match.end() - at


SPECIAL: Mapping[str, Callable[[str, int], tuple[str | None, str, int]]] = {
    "\\": _escaped,
    "*": lambda line, at: (None, ".*", 1),
    "?": lambda line, at: (None, ".", 1),
    "[": _characters,
}


def _literal(name: str, case_sensitive: bool) -> Pattern:
    return Pattern(literal=name if case_sensitive else to_lower(name))


def _regexp(text: str, case_sensitive: bool) -> Pattern:
    if text == "(?s)^.*$":
        return Pattern()
    try:
        return Pattern(regexp=go_regexp.compile(text if case_sensitive else "(?i)" + text))
    except GoRegexpError as error:
        raise ValueError(f"invalid pattern: {error}") from error
