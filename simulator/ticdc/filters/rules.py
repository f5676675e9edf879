"""TiDB's filter languages: rules of tables such as `db*.*`, `!test.t1`, `/^foo/.bar`, `@file`, and of columns (`!c*`).

One law: the last rule that matches decides; no rule, no match. Source: tidb v8.5 pkg/util/table-filter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.errors import ChangefeedError
from simulator.ticdc.filters import patterns


@dataclass(frozen=True)
class Rule:
    """One rule, with its text and where it stands for `explain`."""

    text: str
    origin: str
    """`<cmdline>:1`, or the imported file and line."""

    positive: bool
    schema: patterns.Pattern
    table: patterns.Pattern


@dataclass(frozen=True)
class TableFilter:
    """Rules in order; `exact` finds rules without any pattern, so that thousands of them cost one look-up."""

    rules: tuple[Rule, ...]
    case_sensitive: bool
    exact: Mapping[tuple[str, str], int]
    others: tuple[int, ...]
    """Indexes of the other rules, last first."""

    def deciding_rule(self, schema: str, table: str) -> Rule | None:
        """The rule that decides about a table, or None where none matches."""
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
        """Whether the table is meant."""
        rule = self.deciding_rule(schema, table)
        return rule is not None and rule.positive

    def match_schema(self, schema: str) -> bool:
        """Whether the schema is meant: the last rule for it that is positive or excludes all of its tables."""
        name = self._folded(schema)
        for rule in reversed(self.rules):
            if rule.schema.matches(name) and (rule.positive or rule.table == patterns.Pattern()):
                return rule.positive
        return False

    def _folded(self, name: str) -> str:
        return name if self.case_sensitive else patterns.lowered(name)


def table_filter(rules: Sequence[str], case_sensitive: bool = True) -> TableFilter:
    """The filter of these rules; raises ChangefeedError (CDC:ErrFilterRuleInvalid) naming the rule at fault."""
    try:
        parsed = tuple(rule for text in rules for rule in _table_rules(text, "<cmdline>:1", case_sensitive, True))
    except ValueError as error:
        raise ChangefeedError(f"filter rule is invalid {list(rules)}: {error}", "CDC:ErrFilterRuleInvalid") from error
    exact = {
        (rule.schema.literal, rule.table.literal): index
        for index, rule in enumerate(parsed)
        if rule.schema.literal is not None and rule.table.literal is not None
    }
    literal = {index for index, rule in enumerate(parsed) if None not in (rule.schema.literal, rule.table.literal)}
    others = tuple(index for index in reversed(range(len(parsed))) if index not in literal)
    return TableFilter(parsed, case_sensitive, exact, others)


def _table_rules(text: str, origin: str, case_sensitive: bool, may_import: bool) -> Iterator[Rule]:
    line = text.strip(" \t")
    if not line or line[0] == "#":
        return
    if line[0] == "@":
        for place, inner in _imported(line[1:], origin, may_import):
            yield from _table_rules(inner, place, case_sensitive, False)
        return
    try:
        yield _table_rule(line, origin, case_sensitive)
    except ValueError as error:
        raise ValueError(f"at {origin}: {error}") from error


def _table_rule(line: str, origin: str, case_sensitive: bool) -> Rule:
    positive = line[0] != "!"
    schema, rest = patterns.parse(line if positive else line[1:], case_sensitive)
    if not rest:
        raise ValueError("wrong table pattern")
    if rest[0] != ".":
        raise ValueError("syntax error: missing '.' between schema and table patterns")
    table, rest = patterns.parse(rest[1:], case_sensitive)
    if rest:
        raise ValueError("syntax error: stray characters after table pattern")
    return Rule(line, origin, positive, schema, table)


@dataclass(frozen=True)
class ColumnRule:
    positive: bool
    column: patterns.Pattern


@dataclass(frozen=True)
class ColumnFilter:
    """Rules in order; names match in any letter case (column_filter.go)."""

    rules: tuple[ColumnRule, ...]

    def match(self, column: str) -> bool:
        """Whether the column is meant."""
        name = patterns.lowered(column)
        return next((rule.positive for rule in reversed(self.rules) if rule.column.matches(name)), False)


def column_filter(rules: Sequence[str]) -> ColumnFilter:
    """The filter of these rules; raises ChangefeedError (CDC:ErrFilterRuleInvalid)."""
    try:
        return ColumnFilter(tuple(rule for text in rules for rule in _column_rules(text, "<cmdline>:1", True)))
    except ValueError as error:
        raise ChangefeedError(f"filter rule is invalid {list(rules)}: {error}", "CDC:ErrFilterRuleInvalid") from error


def _column_rules(text: str, origin: str, may_import: bool) -> Iterator[ColumnRule]:
    line = text.strip(" \t")
    if not line or line[0] == "#":
        return
    if line[0] == "@":
        for place, inner in _imported(line[1:], origin, may_import):
            yield from _column_rules(inner, place, False)
        return
    try:
        positive = line[0] != "!"
        column, rest = patterns.parse(line if positive else line[1:], case_sensitive=False)
    except ValueError as error:
        raise ValueError(f"at {origin}: {error}") from error
    if rest:
        raise ValueError(f"at {origin}: syntax error: stray characters after column pattern")
    yield ColumnRule(positive, column)


def _imported(name: str, origin: str, may_import: bool) -> Iterator[tuple[str, str]]:
    """`file:number` and text of each line of a file of rules; raises ValueError, in TiDB's words (parser.go)."""
    if not may_import:
        raise ValueError(f"at {origin}: importing filter files recursively is not allowed")
    try:
        lines = Path(name).read_text("utf-8").split("\n")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ValueError(f"at {origin}: cannot open filter file: open {name}: {why}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"at {origin}: cannot read filter file: {name} is not UTF-8") from error
    except ValueError as error:
        raise ValueError(f"at {origin}: cannot open filter file: open {name}: invalid argument") from error
    for number, line in enumerate(lines, 1):
        yield f"{name}:{number}", line.removesuffix("\r")
