r"""TiDB's filter language, for tables and columns, and Go's regular expressions, which it contains.

Table rules are such as `db*.*`, `!test.t1`, `/^foo/.bar` and `@file`, column rules such as `!c*`. The last matching
rule decides; without one nothing matches. Meaning and errors of patterns are TiDB's (tidb v8.5 pkg/util/table-filter,
parser.go).

Regular expressions are RE2's: the same syntax, in linear time. Matches and errors are Go's. The module corrects RE2 where
it differs: `\C`, group names beyond ASCII, `(?<=`, counts, groups nested a thousand deep, `\B` inside a character.
Source: regexp/syntax/parse.go of Go 1.23, with which v8.5.3 is built. Go before 1.22 does not have `(?<name>…)`, Go from
1.25 on has `\p{Letter}`. RE2's classes are those of Unicode 15.1, Go's those of 15.0.

`event_filters` are of DDL statements and row changes. Only `row_expressions` evaluates values.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from simulator.errors import ChangefeedError, UserError
from simulator.files import read_bytes

Rule = TypeVar("Rule")


@dataclass(frozen=True)
class TableRule:
    """A table rule with its text and origin."""

    text: str
    origin: str
    """`<cmdline>:1`, or the imported file and line."""

    positive: bool
    schema: Pattern
    table: Pattern


@dataclass(frozen=True)
class TableFilter:
    """Rules in order. `exact` has the rules without patterns, so that thousands of them cost one look-up."""

    rules: tuple[TableRule, ...]
    case_sensitive: bool
    exact: Mapping[tuple[str, str], int]
    others: tuple[int, ...]
    """Indexes of the other rules, last first."""

    def deciding_rule(self, schema: str, table: str) -> TableRule | None:
        """Return the rule that decides about a table, or None if none matches."""
        schema, table = self._folded(schema), self._folded(table)
        best = self.exact.get((schema, table), -1)
        for index in self.others:
            if index < best:
                break
            rule = self.rules[index]
            if rule.schema.matches(schema) and rule.table.matches(table):
                return rule
        return self.rules[best] if best >= 0 else None

    def match(self, schema: str, table: str) -> bool:
        """Return whether the filter passes the table."""
        rule = self.deciding_rule(schema, table)
        return rule is not None and rule.positive

    def match_schema(self, schema: str) -> bool:
        """Return whether the last rule for the schema is positive; negative ones count if they exclude all tables."""
        name = self._folded(schema)
        for rule in reversed(self.rules):
            if rule.schema.matches(name) and (rule.positive or rule.table == Pattern()):
                return rule.positive
        return False

    def _folded(self, name: str) -> str:
        return name if self.case_sensitive else to_lower(name)


def table_filter(rules: Sequence[str], case_sensitive: bool = True) -> TableFilter:
    """Return the filter of these rules; raise ChangefeedError (CDC:ErrFilterRuleInvalid) with the rule at fault."""
    parsed = _parsed(rules, functools.partial(_table_rule, case_sensitive=case_sensitive))
    exact = {
        (rule.schema.literal, rule.table.literal): index
        for index, rule in enumerate(parsed)
        if rule.schema.literal is not None and rule.table.literal is not None
    }
    literal = {index for index, rule in enumerate(parsed) if None not in (rule.schema.literal, rule.table.literal)}
    others = tuple(index for index in reversed(range(len(parsed))) if index not in literal)
    return TableFilter(parsed, case_sensitive, exact, others)


def _table_rule(line: str, origin: str, *, case_sensitive: bool) -> TableRule:
    positive = line[0] != "!"
    schema, rest = parse_pattern(line if positive else line[1:], case_sensitive)
    if not rest:
        raise ValueError("wrong table pattern")
    if rest[0] != ".":
        raise ValueError("syntax error: missing '.' between schema and table patterns")
    table, rest = parse_pattern(rest[1:], case_sensitive)
    if rest:
        raise ValueError("syntax error: stray characters after table pattern")
    return TableRule(line, origin, positive, schema, table)


@dataclass(frozen=True)
class ColumnRule:
    """A column rule."""

    positive: bool
    column: Pattern


@dataclass(frozen=True)
class ColumnFilter:
    """Column rules in order; names match in any letter case (column_filter.go)."""

    rules: tuple[ColumnRule, ...]

    def match(self, column: str) -> bool:
        """Return whether the filter passes the column."""
        name = to_lower(column)
        return next((rule.positive for rule in reversed(self.rules) if rule.column.matches(name)), False)


def column_filter(rules: Sequence[str]) -> ColumnFilter:
    """Return the filter of these rules; raise ChangefeedError (CDC:ErrFilterRuleInvalid)."""
    return ColumnFilter(_parsed(rules, _column_rule))


def _column_rule(line: str, origin: str) -> ColumnRule:
    positive = line[0] != "!"
    column, rest = parse_pattern(line if positive else line[1:], case_sensitive=False)
    if rest:
        raise ValueError("syntax error: stray characters after column pattern")
    return ColumnRule(positive, column)


def _parsed(texts: Sequence[str], parse: Callable[[str, str], Rule]) -> tuple[Rule, ...]:
    """Return the rules that `parse` makes of lines and their origins; raise ChangefeedError."""
    try:
        return tuple(rule for text in texts for rule in _rules(text, "<cmdline>:1", parse, True))
    except ValueError as error:
        raise ChangefeedError(f"filter rule is invalid {list(texts)}: {error}", "CDC:ErrFilterRuleInvalid") from error


def _rules(text: str, origin: str, parse: Callable[[str, str], Rule], may_import: bool) -> Iterator[Rule]:
    line = text.strip(" \t")
    if not line or line[0] == "#":
        return
    if line[0] == "@":
        for place, inner in _read_rule_file(line[1:], origin, may_import):
            yield from _rules(inner, place, parse, False)
        return
    try:
        yield parse(line, origin)
    except ValueError as error:
        raise ValueError(f"at {origin}: {error}") from error


def _read_rule_file(name: str, origin: str, may_import: bool) -> Iterator[tuple[str, str]]:
    """Yield `file:number` and text of each line of a file of rules; raise ValueError with TiDB's text (parser.go)."""
    if not may_import:
        raise ValueError(f"at {origin}: importing filter files recursively is not allowed")
    try:
        lines = read_bytes(Path(name)).decode().split("\n")
    except UserError as error:
        raise ValueError(f"at {origin}: cannot read filter file: {error}") from error
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ValueError(f"at {origin}: cannot open filter file: open {name}: {why}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"at {origin}: cannot read filter file: {name} is not UTF-8") from error
    except ValueError as error:
        raise ValueError(f"at {origin}: cannot open filter file: open {name}: invalid argument") from error
    for number, line in enumerate(lines, 1):
        yield f"{name}:{number}", line.removesuffix("\r")


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
        return Pattern(regexp=compile_regexp(text if case_sensitive else "(?i)" + text))
    except GoRegexpError as error:
        raise ValueError(f"invalid pattern: {error}") from error


MEMORY = 1 << 28
"""RE2's memory limit in bytes, large enough for all expressions that Go accepts (3.3 million instructions)."""

CONTINUATION = frozenset(bytes([byte]) for byte in range(0x80, 0xC0))
"""Bytes of UTF-8 that do not begin a character."""

LARGEST_COUNT = 1000
"""The limit of counts in `{n,m}`."""

LARGEST_HEIGHT = 1000
"""The limit of the height of Go's syntax tree."""

UNCLOSED = "missing closing )"
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


def compile_regexp(pattern: str) -> GoRegexp:
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

    from simulator.tidb.functions.texts import GO_ERRORS

    try:
        _compiled(pattern)
    except re2.error as error:
        what, _, where = error.args[0].decode().partition(": ")
        if what == "pattern too large - compile failed":
            return "expression too large", pattern
        if where in (r"\p", r"\P") and pattern.endswith(where):
            what = "invalid character class range"
        return GO_ERRORS.get(what, what), where
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
