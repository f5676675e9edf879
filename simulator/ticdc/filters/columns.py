"""TiDB's column-filter language: patterns of column names such as `*`, `!secret`, `/^c/`, `@file`.

One law: the last pattern that matches decides, in any letter case; no pattern, no match. Source: tidb v8.5
pkg/util/table-filter/column_filter.go, parser.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulator.errors import ChangefeedError
from simulator.ticdc.filters import patterns
from simulator.ticdc.filters.rule_files import imported


@dataclass(frozen=True)
class ColumnRule:
    positive: bool
    column: patterns.Pattern


@dataclass(frozen=True)
class ColumnFilter:
    """Rules in order."""

    rules: tuple[ColumnRule, ...]

    def match(self, column: str) -> bool:
        """Whether the column is meant."""
        name = patterns.lowered(column)
        return next((rule.positive for rule in reversed(self.rules) if rule.column.matches(name)), False)


def column_filter(rules: Sequence[str]) -> ColumnFilter:
    """The filter of these rules; raises ChangefeedError (CDC:ErrFilterRuleInvalid)."""
    try:
        return ColumnFilter(tuple(rule for text in rules for rule in _parse(text, "<cmdline>:1", True)))
    except ValueError as error:
        raise ChangefeedError(f"filter rule is invalid {list(rules)}: {error}", "CDC:ErrFilterRuleInvalid") from error


def _parse(text: str, origin: str, may_import: bool) -> Iterator[ColumnRule]:
    line = text.strip(" \t")
    if not line or line[0] == "#":
        return
    if line[0] == "@":
        for place, inner in imported(line[1:], origin, may_import):
            yield from _parse(inner, place, False)
        return
    try:
        positive = line[0] != "!"
        column, rest = patterns.parse(line if positive else line[1:], case_sensitive=False)
    except ValueError as error:
        raise ValueError(f"at {origin}: {error}") from error
    if rest:
        raise ValueError(f"at {origin}: syntax error: stray characters after column pattern")
    yield ColumnRule(positive, column)
