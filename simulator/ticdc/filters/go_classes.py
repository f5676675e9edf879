"""Escapes and character classes of Go's regular expressions, in Python's spelling.

One law: `\\d`, `\\w`, `\\s` and `\\b` are ASCII, as in Go; every literal is escaped, so Python reads no more into it.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Callable


class GoRegexpError(ValueError):
    """A pattern that Go does not compile, in Go's words."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


PERL = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
PERL_NEGATED = {
    "D": r"\x00-/:-\U0010ffff",
    "W": r"\x00-/:-@\[-\^`\{-\U0010ffff",
    "S": r"\x00-\x08\x0b\x0e-\x1f!-\U0010ffff",
}
POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`\{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
CATEGORIES = (
    *("C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No"),
    *("P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"),
)
ANCHORS = {"A": r"(?=\A)", "z": r"(?=\Z)", "b": r"(?a:\b)", "B": r"(?:(?a:\B)|\A\Z)"}
POSIX_NAME = re.compile(r"\[:(\^?)(\w+):\]", re.ASCII)
PROPERTY = re.compile(r"\\[pP](?:\{(\^?)(\w+)\}|(\w))", re.ASCII)
NUMBER = re.compile(r"\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|(0[0-7]{0,2}|[1-7][0-7]{1,2}))")


def escape(pattern: str, at: int) -> tuple[str, int]:
    """A backslash outside a class: Python's text and how many characters it took."""
    letter = pattern[at + 1 : at + 2]
    if letter in ANCHORS:
        return ANCHORS[letter], 2
    if letter == "Q":
        end = pattern.find(r"\E", at)
        end = len(pattern) if end < 0 else end
        return f"(?:{re.escape(pattern[at + 2 : end])})", end + 2 - at
    if letter == "C":
        return "(?s:.)", 2
    text, taken, code = _member(pattern, at)
    return (text if code >= 0 else f"[{text}]"), taken


def bracket(pattern: str, at: int) -> tuple[str, int]:
    """A class `[…]`: Python's text and how many characters it took."""
    start, out = at + 1, ["["]
    if pattern.startswith("^", start):
        out.append("^")
        start += 1
    here = start
    while here == start or not pattern.startswith("]", here):
        if here >= len(pattern):
            raise GoRegexpError("missing closing ]", pattern[at:])
        text, taken = _range(pattern, here)
        out.append(text)
        here += taken
    return "".join(out) + "]", here + 1 - at


def _range(pattern: str, at: int) -> tuple[str, int]:
    posix = POSIX_NAME.match(pattern, at)
    if posix:
        return _posix(posix), posix.end() - at
    low, taken, first = _member(pattern, at)
    rest = pattern[at + taken : at + taken + 2]
    if first < 0 or len(rest) < 2 or rest[0] != "-" or rest[1] == "]":
        return low, taken
    high, more, last = _member(pattern, at + taken + 1)
    if last < first:
        raise GoRegexpError("invalid character class range", pattern[at : at + taken + 1 + more])
    return f"{low}-{high}", taken + 1 + more


def _posix(found: re.Match[str]) -> str:
    if found[2] not in POSIX:
        raise GoRegexpError("invalid character class range", found[0])
    return _complement(POSIX[found[2]]) if found[1] else POSIX[found[2]]


def _member(pattern: str, at: int) -> tuple[str, int, int]:
    """One member of a class: its text, the characters it took, and its code point, -1 for a set."""
    if pattern[at] != "\\":
        return re.escape(pattern[at]), 1, ord(pattern[at])
    letter = pattern[at + 1 : at + 2]
    if not letter:
        raise GoRegexpError("trailing backslash at end of expression", "")
    if letter in PERL or letter in PERL_NEGATED:
        return PERL.get(letter) or PERL_NEGATED[letter], 2, -1
    if letter in "pP":
        return _property(pattern, at)
    if letter in CONTROLS:
        return "\\" + letter, 2, CONTROLS[letter]
    number = NUMBER.match(pattern, at)
    if number:
        return _number(number)
    if letter.isascii() and not letter.isalnum():
        return re.escape(letter), 2, ord(letter)
    raise GoRegexpError("invalid escape sequence", "\\" + letter)


def _number(found: re.Match[str]) -> tuple[str, int, int]:
    code = int(found[3], 8) if found[3] else int(found[1] or found[2], 16)
    if code > sys.maxunicode:
        raise GoRegexpError("invalid escape sequence", found[0])
    return f"\\U{code:08x}", len(found[0]), code


def _property(pattern: str, at: int) -> tuple[str, int, int]:
    found = PROPERTY.match(pattern, at)
    name = (found[2] or found[3]) if found else ""
    if found is None or name not in CATEGORIES:
        what = f"only general categories are known here ({', '.join(CATEGORIES)}), not the class"
        raise GoRegexpError(what, found[0] if found else pattern[at : at + 2])
    negated = (pattern[at + 1] == "P") != bool(found[1])
    return _category(name, negated), len(found[0]), -1


@functools.lru_cache(maxsize=16)
def _category(name: str, negated: bool) -> str:
    return _ranges(lambda char: unicodedata.category(char).startswith(name) != negated)


def _complement(members: str) -> str:
    inside = re.compile(f"[{members}]")
    return _ranges(lambda char: not inside.match(char))


def _ranges(belongs: Callable[[str], bool]) -> str:
    """All characters that belong, as ranges of a class."""
    out, start = [], -1
    for code in range(sys.maxunicode + 2):
        inside = code <= sys.maxunicode and belongs(chr(code))
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            out.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = -1
    return "".join(out)
