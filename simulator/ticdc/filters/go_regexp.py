r"""Go's regular expressions, in which TiCDC's filters are written, by RE2: the same syntax, in linear time.

Matches and errors are Go's. The module corrects RE2 where it differs: `\C`, group names beyond ASCII, `(?<=`, counts,
groups nested a thousand deep, `\B` inside a character. Source: regexp/syntax/parse.go of Go 1.23, with which v8.5.3 is
built. Go before 1.22 does not have `(?<name>…)`, Go from 1.25 on has `\p{Letter}`. RE2's classes are those of Unicode
15.1, Go's those of 15.0.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

MEMORY = 1 << 28
"""RE2's memory limit in bytes, large enough for all expressions that Go accepts (3.3 million instructions)."""

CONTINUATION = frozenset(bytes([byte]) for byte in range(0x80, 0xC0))
"""Bytes of UTF-8 that do not begin a character."""

LARGEST_COUNT = 1000
"""The limit of counts in `{n,m}`."""

LARGEST_HEIGHT = 1000
"""The limit of the height of Go's syntax tree."""

UNCLOSED = "missing closing )"
WORDS = {
    "missing ]": "missing closing ]",
    "missing )": UNCLOSED,
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""Go's texts for RE2's errors (RE2: re2/regexp.cc)."""

TOKEN = re.compile(
    r"""(?xs)  # literals, classes and flags; what is refused or counted; all else
    \\Q.*?(?:\\E|\Z) | \[\^?\]?(?:\[:.*?:\]|\\.?|[^]\\])*+(?:\]|\Z) | \(\?[imsU-]*\)
    | (?P<escape>\\C)
    | (?P<name>\(\?P?<(?!\w+>)(?=.)[^>]*>?)
    | (?P<count>\{(?:0|[1-9][0-9]*)(?:,(?:0|[1-9][0-9]*)?)?\})
    | (?P<capture>\((?!\?)|\(\?P?<) | (?P<group>\() | (?P<closed>\)) | [^\\[({)]+ | \\?.""",
    re.ASCII,
)
REFUSED = {"escape": "invalid escape sequence", "name": "invalid named capture", "count": "invalid repeat count"}
"""Tokens that Go refuses and RE2 may accept or refuse with another error."""


class GoRegexpError(ValueError):
    """A pattern that Go does not compile, with Go's text."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


@dataclass(frozen=True)
class GoRegexp:
    """A pattern that Go compiles. It can be pickled."""

    pattern: str

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in the text."""
        data = text.encode()
        starts = (match.start() for match in _compiled(self.pattern).finditer(data))
        # RE2 finds `\B` between the bytes of a character, too
        return any(data[start : start + 1] not in CONTINUATION for start in starts)


def compile(pattern: str) -> GoRegexp:
    """Return the checked pattern; raise GoRegexpError with Go's text (`error parsing regexp: …`)."""
    refused = _refused(pattern)
    if refused:
        at, what, where = refused
        if _problem(pattern[:at]) in (None, (UNCLOSED, pattern[:at])):
            raise GoRegexpError(what, where)
    problem = _problem(pattern)
    if problem:
        raise GoRegexpError(*problem)
    return GoRegexp(pattern)


def _refused(pattern: str) -> tuple[int, str, str] | None:
    """Return the first token that Go refuses and RE2 may accept: position, Go's text, and the part that it names."""
    heights, captures = [1], list[bool]()
    for token in TOKEN.finditer(pattern):
        kind = token.lastgroup
        if kind in REFUSED and not (kind == "count" and _fits(token[0])):
            return token.start(), REFUSED[kind], token[0]
        if kind in ("capture", "group"):
            heights.append(1)
            captures.append(kind == "capture")
        elif kind == "closed" and captures:
            height = heights.pop() + captures.pop()
            if height > LARGEST_HEIGHT:
                return token.start(), "expression nests too deeply", pattern
            heights[-1] = max(heights[-1], height)
    return None


def _problem(pattern: str) -> tuple[str, str] | None:
    """Return Go's text and the part that it names if RE2 does not compile the pattern."""
    import re2

    try:
        _compiled(pattern)
    except re2.error as error:
        what, _, where = error.args[0].decode().partition(": ")
        if what == "pattern too large - compile failed":
            return "expression too large", pattern
        if where in (r"\p", r"\P") and pattern.endswith(where):
            what = "invalid character class range"
        return WORDS.get(what, what), where
    return None


def _fits(count: str) -> bool:
    """Return whether `{n}`, `{n,}` or `{n,m}` is within Go's limit."""
    low, _, high = count.strip("{}").partition(",")
    short = max(len(low), len(high)) <= len(str(LARGEST_COUNT))
    return short and int(low) <= int(high or low) <= LARGEST_COUNT


@functools.cache
def _compiled(pattern: str) -> Any:
    """Return RE2's pattern object. RE2 is imported when the first pattern is needed, and has no type hints."""
    import re2

    options = re2.Options()
    options.max_mem = MEMORY
    options.log_errors = False
    return re2.compile(pattern, options)
