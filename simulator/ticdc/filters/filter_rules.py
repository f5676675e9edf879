"""TiDB's filter language: table rules such as `db*.*`, `!test.t1`, `/^foo/.bar`, `@file`, and column rules (`!c*`).

The last matching rule decides; without one nothing matches. Source: tidb v8.5 pkg/util/table-filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from simulator.errors import ChangefeedError, UserError
from simulator.files import read_bytes
from simulator.ticdc.filters import patterns

Rule = TypeVar("Rule")


@dataclass(frozen=True)
class TableRule:
    """A table rule with its text and origin."""

    text: str
    origin: str
    """`<cmdline>:1`, or the imported file and line."""

    positive: bool
    schema: patterns.Pattern
    table: patterns.Pattern


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
            if rule.schema.matches(name) and (rule.positive or rule.table == patterns.Pattern()):
                return rule.positive
        return False

    def _folded(self, name: str) -> str:
        return name if self.case_sensitive else patterns.to_lower(name)


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
    schema, rest = patterns.parse_pattern(line if positive else line[1:], case_sensitive)
    if not rest:
        raise ValueError("wrong table pattern")
    if rest[0] != ".":
        raise ValueError("syntax error: missing '.' between schema and table patterns")
    table, rest = patterns.parse_pattern(rest[1:], case_sensitive)
    if rest:
        raise ValueError("syntax error: stray characters after table pattern")
    return TableRule(line, origin, positive, schema, table)


@dataclass(frozen=True)
class ColumnRule:
    """A column rule."""

    positive: bool
    column: patterns.Pattern


@dataclass(frozen=True)
class ColumnFilter:
    """Column rules in order; names match in any letter case (column_filter.go)."""

    rules: tuple[ColumnRule, ...]

    def match(self, column: str) -> bool:
        """Return whether the filter passes the column."""
        name = patterns.to_lower(column)
        return next((rule.positive for rule in reversed(self.rules) if rule.column.matches(name)), False)


def column_filter(rules: Sequence[str]) -> ColumnFilter:
    """Return the filter of these rules; raise ChangefeedError (CDC:ErrFilterRuleInvalid)."""
    return ColumnFilter(_parsed(rules, _column_rule))


def _column_rule(line: str, origin: str) -> ColumnRule:
    positive = line[0] != "!"
    column, rest = patterns.parse_pattern(line if positive else line[1:], case_sensitive=False)
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
