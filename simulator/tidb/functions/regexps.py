"""REGEXP functions (TiDB: pkg/expression/builtin_regexp.go), computed by RE2, whose syntax Go shares, and LIKE."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from typing import Any

import re2

from simulator.tidb.functions.problems import regexp_error

WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""Go's texts for RE2's errors (RE2: re2/regexp.cc)."""

BINARY_COLLATION = "Not support binary collation so far"


@functools.lru_cache(256)
def _compiled(pattern: str, flags: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(f"(?{flags}){pattern}" if flags else pattern, options)
    except re2.error as error:
        message = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error.args[0])
        what, _, where = message.partition(": ")
        raise regexp_error(f"error parsing regexp: {WORDS.get(what, what)}: `{where}`") from None


def _pattern(pattern: str, match_type: str, ignore_case: bool) -> Any:
    """Compile a pattern with match_type. Raises FunctionProblem 1139."""
    if not pattern:
        raise regexp_error("Empty pattern is invalid")
    flags = {"i"} if ignore_case else set()
    for letter in match_type:
        if letter not in "icms":
            raise regexp_error("Invalid match type")
        flags = flags - {"i"} if letter == "c" else flags | {letter}
    return _compiled(pattern, "".join(sorted(flags)))


def _from_position(text: str, place: int) -> str:
    """Return the text from a position, counted from 1. Raises FunctionProblem 1139."""
    if not 1 <= place <= len(text) and (text or place != 1):
        raise regexp_error("Index out of bounds in regular expression search")
    return text[place - 1 :]


def regexp_like(ignore_case: bool, text: str, pattern: str, match_type: str) -> bool:
    return _pattern(pattern, match_type, ignore_case).search(text) is not None


def regexp_substr(
    ignore_case: bool, text: str, pattern: str, place: int, occurrence: int, match_type: str
) -> str | None:
    if not pattern:
        raise regexp_error("Empty pattern is invalid")
    rest = _from_position(text, place)
    result = _nth_match(_pattern(pattern, match_type, ignore_case), rest, occurrence)
    return None if result is None else str(result.group(0))


def _nth_match(pattern: Any, text: str, occurrence: int) -> Any:
    return next(itertools.islice(pattern.finditer(text), max(occurrence - 1, 0), None), None)


def regexp_instr(
    ignore_case: bool, text: str, pattern: str, place: int, occurrence: int, end: int, match_type: str
) -> int:
    if not pattern:
        raise regexp_error("Empty pattern is invalid")
    rest = _from_position(text, place) if text or place < 1 else ""
    if end not in (0, 1):
        raise regexp_error("Incorrect arguments to regexp_instr: return_option must be 1 or 0")
    result = _nth_match(_pattern(pattern, match_type, ignore_case), rest, occurrence)
    return 0 if result is None else int(result.end() if end else result.start()) + place


def regexp_replace(
    ignore_case: bool, text: str, pattern: str, new: str, place: int, occurrence: int, match_type: str
) -> str:
    if not pattern:
        raise regexp_error("Empty pattern is invalid")
    rest = _from_position(text, place)
    number_wanted, pieces, last = max(occurrence, 0), [text[: place - 1]], 0
    for number, result in enumerate(_pattern(pattern, match_type, ignore_case).finditer(rest), 1):
        if not number_wanted or number == number_wanted:
            pieces += [rest[last : result.start()], _expand(new, result)]
            last = result.end()
    return "".join([*pieces, rest[last:]])


def _expand(new: str, match: Any) -> str:
    """Expand a replacement: `\\1` is a group; any other character behind a backslash stands for itself."""

    def piece(escape: re.Match[str]) -> str:
        if not escape[1]:
            return ""
        if not escape[1].isdigit():
            return escape[1]
        if int(escape[1]) > len(match.groups()):
            raise regexp_error("[expression:1139]Got error 'Substitution number is out of range' from regexp")
        return match.group(int(escape[1])) or ""

    return re.sub(r"(?s)\\(.?)", piece, new)


@functools.lru_cache(256)
def compile_like(pattern: str, escape: str) -> Callable[[str], bool]:
    """Return a function that matches a text against a LIKE pattern."""
    pieces, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            pieces.append(re.escape(next(characters, escape)))
        else:
            pieces.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    regexp = re.compile("".join(pieces), re.DOTALL)
    return lambda text: regexp.fullmatch(text) is not None
