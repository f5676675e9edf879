"""Go's regular expressions (RE2 syntax) rewritten for Python's `re`.

One law: the compiled pattern finds what Go's `regexp` would find, and what Go rejects is rejected in Go's words.
Source of the syntax: https://github.com/google/re2/wiki/Syntax; of the texts: Go 1.23 regexp/syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from simulator.ticdc.filters import go_classes
from simulator.ticdc.filters.go_classes import GoRegexpError

REPEAT = re.compile(r"[*+?]|\{(\d+)(,(\d*))?\}")
REPEAT_LIMIT = 1000
"""Largest count in `{n,m}` (Go: regexp/syntax/parse.go)."""


def compile(pattern: str) -> re.Pattern[str]:
    """The pattern for Python; raises GoRegexpError with Go's text (`error parsing regexp: …`)."""
    try:
        return re.compile(translate(pattern))
    except RecursionError:
        raise GoRegexpError("expression nests too deeply", pattern) from None


def translate(pattern: str) -> str:
    """Python's spelling of a Go pattern."""
    state = _State(pattern)
    while state.at < len(pattern):
        _step(state)
    if len(state.groups) > 1:
        raise GoRegexpError("missing closing )", pattern)
    return "".join(state.out) + ")" * state.groups[0].opened


@dataclass
class _Group:
    """Flags that hold inside one pair of parentheses."""

    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False
    ungreedy: bool = False
    opened: int = 0
    """Scoped flag groups that were opened for `(?i)` in the middle and are still to be closed."""


@dataclass
class _State:
    """How far the rewriting has come."""

    pattern: str
    at: int = 0
    out: list[str] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=lambda: [_Group()])
    repeatable: bool = False

    def emit(self, text: str, repeatable: bool, consumed: int) -> None:
        self.out.append(text)
        self.repeatable = repeatable
        self.at += consumed


def _step(state: _State) -> None:
    char, group = state.pattern[state.at], state.groups[-1]
    repeat = REPEAT.match(state.pattern, state.at)
    if repeat:
        _repeat(state, repeat)
    elif char in SIMPLE:
        SIMPLE[char](state, group)
    else:
        state.emit(re.escape(char), True, 1)


def _escape(state: _State, _: _Group) -> None:
    text, consumed = go_classes.escape(state.pattern, state.at)
    state.emit(text, True, consumed)


def _class(state: _State, _: _Group) -> None:
    text, consumed = go_classes.bracket(state.pattern, state.at)
    state.emit(text, True, consumed)


def _alternative(state: _State, group: _Group) -> None:
    flag = "(?i:" if group.ignore_case else "(?-i:"
    state.emit(")" * group.opened + "|" + (flag if group.opened else ""), False, 1)
    group.opened = min(group.opened, 1)


def _close(state: _State, group: _Group) -> None:
    if len(state.groups) == 1:
        raise GoRegexpError("unexpected )", state.pattern)
    state.groups.pop()
    state.emit(")" * (group.opened + 1), True, 1)


def _open(state: _State, group: _Group) -> None:
    rest = state.pattern[state.at :]
    named = re.match(r"\(\?P?<(\w+)>", rest, re.ASCII)
    flags = re.match(r"\(\?([imsU]*)(-[imsU]+)?([:)])", rest)
    if not rest.startswith("(?"):
        state.groups.append(_inner(group))
        state.emit("(", False, 1)
    elif named:
        state.groups.append(_inner(group))
        state.emit(f"(?P<{named[1]}>", False, named.end())
    elif flags and (flags[1] or flags[2] or flags[3] == ":"):
        _flags(state, group, flags)
    else:
        raise GoRegexpError("invalid or unsupported Perl syntax", rest[:3])


def _inner(group: _Group) -> _Group:
    return _Group(group.ignore_case, group.multi_line, group.dot_all, group.ungreedy)


def _flags(state: _State, group: _Group, found: re.Match[str]) -> None:
    changed = _inner(group)
    for letters, value in ((found[1], True), ((found[2] or "-")[1:], False)):
        for letter in letters:
            setattr(changed, FLAGS[letter], value)
    text = "(?i:" if changed.ignore_case else "(?-i:"
    if found[3] == ":":
        state.groups.append(changed)
    else:
        changed.opened = group.opened + 1
        state.groups[-1] = changed
    state.emit(text, False, found.end())


def _repeat(state: _State, found: re.Match[str]) -> None:
    if not state.repeatable:
        last = REPEAT.search(state.out[-1]) if state.out else None
        what = "invalid nested repetition operator" if last else "missing argument to repetition operator"
        raise GoRegexpError(what, (last[0] if last else "") + found[0])
    low, high = int(found[1] or 0), int(found[3] or 0)
    if max(low, high) > REPEAT_LIMIT or (found[3] and high < low):
        raise GoRegexpError("invalid repeat count", found[0])
    lazy = state.pattern.startswith("?", found.end())
    mark = "?" if lazy != state.groups[-1].ungreedy else ""
    state.emit(found[0] + mark, False, len(found[0]) + lazy)


SIMPLE: Mapping[str, Callable[[_State, _Group], None]] = {
    "\\": _escape,
    "[": _class,
    "(": _open,
    ")": _close,
    "|": _alternative,
    "^": lambda state, group: state.emit("(?m:^)" if group.multi_line else r"(?=\A)", True, 1),
    "$": lambda state, group: state.emit("(?m:$)" if group.multi_line else r"(?=\Z)", True, 1),
    ".": lambda state, group: state.emit("(?s:.)" if group.dot_all else r"[^\n]", True, 1),
}
FLAGS = {"i": "ignore_case", "m": "multi_line", "s": "dot_all", "U": "ungreedy"}
