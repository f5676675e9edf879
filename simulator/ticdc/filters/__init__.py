"""TiDB's filter language, the table filter of a changefeed, and its column selectors.

Table rules are such as `db*.*`, `!test.t1`, `/^foo/.bar` and `@file`, column rules such as `!c*`. The last matching
rule decides; without one nothing matches. Meaning and errors of patterns are TiDB's (tidb v8.5 pkg/util/table-filter,
parser.go). A table is replicated if its last matching rule is positive and its schema is no system schema (tiflow
v8.5.3 pkg/filter/filter.go, utils.go).

`event_filters` are of DDL statements and row changes. Only `row_expressions` evaluates values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from simulator.errors import ChangefeedError, UserError
from simulator.files import read_bytes
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed.model import ColumnSelector
from simulator.ticdc.filters import go_regexp
from simulator.ticdc.filters.go_regexp import GoRegexp, GoRegexpError
from simulator.tidb.ddl.actions import SCHEMA_ACTIONS
from simulator.tidb.model.table import Table, visible_columns

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
    parsed = _parsed(rules, partial(_table_rule, case_sensitive=case_sensitive))
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
        return Pattern(regexp=go_regexp.compile(text if case_sensitive else "(?i)" + text))
    except GoRegexpError as error:
        raise ValueError(f"invalid pattern: {error}") from error


@dataclass(frozen=True)
class Replication:
    """The filter of a changefeed."""

    tables: TableFilter
    ignored_start_ts: frozenset[int] = frozenset()
    release: Release = V8_5

    def table(self, schema: str, table: str, start_ts: int = 0) -> bool:
        """Return whether row changes of the table, in a transaction with that start-ts, are sent."""
        ignored = start_ts in self.ignored_start_ts or is_system(schema, self.release)
        return not ignored and self.tables.match(schema, table)

    def schema(self, schema: str) -> bool:
        """Return whether DDL statements on the database itself are sent."""
        return not is_system(schema, self.release) and self.tables.match_schema(schema)

    def ddl(self, type_code: int, schema: str, table: str, release: Release | None = None, start_ts: int = 0) -> bool:
        """Return whether a DDL of that type is kept, not discarded (`ShouldDiscardDDL`).

        An ignored start-ts discards it in some releases only (Release.start_ts_discards_ddl).
        """
        release = release or self.release
        if type_code not in release.allowed_ddl:
            return False
        if release.start_ts_discards_ddl and start_ts in self.ignored_start_ts:
            return False
        return self.schema(schema) if type_code in SCHEMA_ACTIONS else self.table(schema, table)


def replication(
    rules: Sequence[str],
    case_sensitive: bool = False,
    ignore_txn_start_ts: Collection[int] = (),
    release: Release = V8_5,
) -> Replication:
    """Return the filter of a changefeed; no rules mean `*.*`. Raise ChangefeedError (CDC:ErrFilterRuleInvalid)."""
    return Replication(table_filter(rules or ("*.*",), case_sensitive), frozenset(ignore_txn_start_ts), release)


def is_system(schema: str, release: Release = V8_5) -> bool:
    """Return whether the release never replicates the schema."""
    own = schema.lower() if release.cdc_schemas_in_any_case else schema
    return own in release.cdc_schemas or schema.upper() in release.system_schemas


def filter_rule(replication: Replication, schema: str, table: str) -> str:
    """Return the rule of the table filter that decides about a table, in words."""
    if is_system(schema, replication.release):
        return f"{schema} is a system schema, which TiCDC never replicates"
    rule = replication.tables.deciding_rule(schema, table)
    if rule is None:
        return "no rule matches"
    where = "filter.rules" if rule.origin.startswith("<cmdline>") else rule.origin
    return f"rule {rule.text} of {where}"


@dataclass(frozen=True)
class Selector:
    """A compiled entry."""

    tables: TableFilter
    columns: ColumnFilter

    def matches(self, table: Table) -> bool:
        return self.tables.match(table.schema, table.name)


def compile_selectors(rules: Iterable[ColumnSelector], case_sensitive: bool) -> tuple[Selector, ...]:
    """Return the selectors; raise ChangefeedError (CDC:ErrFilterRuleInvalid). Column names match in any letter case."""
    return tuple(Selector(table_filter(rule.matcher, case_sensitive), column_filter(rule.columns)) for rule in rules)


def selected_columns(selectors: Sequence[Selector], table: Table, release: Release) -> frozenset[str] | None:
    """Return the visible columns that are left, or None if all are.

    Raise ChangefeedError (CDC:ErrColumnSelectorFailed) if the release would fail at the table's first row.
    """
    selector = next((selector for selector in selectors if selector.matches(table)), None)
    if selector is None:
        return None
    names = [column.name for column in visible_columns(table)]
    left = frozenset(name for name in names if selector.columns.match(name))
    if release.column_selectors == "rows":
        _require_key(table, left, release)
    return None if len(left) == len(names) else left


def verify_selectors(
    selectors: Sequence[Selector], table: Table, dispatched: Collection[str], release: Release
) -> None:
    """Check a table with every selector that matches it, as TiCDC does when a changefeed starts.

    `dispatched` are the columns of its rule if the dispatcher is `columns`. Raise ChangefeedError
    (CDC:ErrColumnSelectorFailed).
    """
    for selector in selectors:
        if selector.matches(table):
            names = [column.name for column in table.columns]
            left = {name for name in names if selector.columns.match(name)}
            lost = next((name for name in names if name not in left and name in dispatched), None)
            if lost is not None:
                where = f"table: {table.schema}.{table.name}, column: {lost}"
                raise _failed(f"the filtered out column is used in the column dispatcher, {where}")
            _require_key(table, left, release)


def _require_key(table: Table, left: Collection[str], release: Release) -> None:
    """Raise ChangefeedError unless the primary or a unique key is left whole; a table without primary key passes."""
    keys = [index.columns for index in table.indexes if index.unique or index.primary]
    whole = [all(column.name in left for column in columns) for columns in keys]
    primary = all(name in left for name in table.primary_key)
    if not any(whole) and not (primary and (table.primary_key or not release.selectors_want_key)):
        text = "no primary key columns or unique key columns obtained after filter out, table:"
        raise _failed(f"{text} {table.schema}.{table.name}")


def _failed(text: str) -> ChangefeedError:
    return ChangefeedError(text, "CDC:ErrColumnSelectorFailed")
