"""Event filters: DDL statements and kinds of row changes that are not sent although their table is replicated.

An event is ignored if any rule matches its table and names it; TiCDC's schema changes nevertheless. Sources: tiflow
v6.2.0, v7.5.7, v8.5.7 pkg/filter/sql_event_filter.go; ticdc v8.5.4, the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulator.errors import ChangefeedError, DdlError, did_you_mean
from simulator.releases import Release
from simulator.ticdc.changefeed.model import EventFilter
from simulator.ticdc.filters import event_types, go_regexp
from simulator.ticdc.filters.filter_rules import TableFilter, table_filter
from simulator.ticdc.filters.go_regexp import GoRegexp, GoRegexpError
from simulator.tidb.model.table import Table


@dataclass(frozen=True)
class EventRule:
    """One entry of `[[filter.event-filters]]`."""

    number: int
    """Position in the file, from 1."""

    setting: EventFilter
    matcher: TableFilter
    """Matches events; follows `case-sensitive` in the new architecture only."""

    row_matcher: TableFilter
    """Matches tables for row expressions; always case-sensitive."""

    types: frozenset[str]
    """The types in `ignore-event`, spelled as in `event_types`."""

    sql: GoRegexp | None = None
    """`ignore-sql` as one pattern."""

    @property
    def where(self) -> str:
        """The rule's position and matcher, for users."""
        return f"filter.event-filters[{self.number}] with matcher {', '.join(self.setting.matcher)}"


@dataclass(frozen=True)
class EventFilters:
    """The event filters of a changefeed."""

    rules: tuple[EventRule, ...]
    release: Release
    case_sensitive: bool = False
    time_zone: str = ""
    """The zone in which expressions see TIMESTAMPs and times; empty for UTC."""

    warnings: tuple[str, ...] = ()
    """One line for each rule that TiCDC accepts and cannot use."""

    sql_mode: frozenset[str] = frozenset()
    """The changefeed's, in releases that read DDL by it."""


def event_filters(
    settings: Sequence[EventFilter],
    release: Release,
    case_sensitive: bool = False,
    sql_mode: frozenset[str] = frozenset(),
    time_zone: str = "",
) -> EventFilters:
    """Return the filters of these settings.

    Raise ChangefeedError: CDC:ErrInvalidIgnoreEventType for a name in `ignore-event` that the release does not have,
    CDC:ErrFilterRuleInvalid for a matcher and, in the new architecture, for an invalid `ignore-sql` or `ignore-event`.
    Classic TiCDC logs the latter and continues without the rule's `ignore-event` and `ignore-sql`. Up to 6.1 TiCDC has
    no event filters and skips them.
    """
    if not release.event_filter_names:
        return EventFilters((), release, case_sensitive)
    rules, warnings = [], []
    for number, setting in enumerate(settings, 1):
        try:
            rules.append(_rule(number, setting, release, case_sensitive))
        except ValueError as error:
            if release.bad_event_filter_stops:
                text = f"filter rule is invalid failed to create binlog event filter: {error}"
                raise ChangefeedError(text, "CDC:ErrFilterRuleInvalid") from error
            where = f"filter.event-filters[{number}]"
            warnings.append(f"{where}: ignore-event and ignore-sql have no effect, TiCDC only logs: {error}")
            rules.append(EventRule(number, setting, *_matchers(setting, release, case_sensitive), frozenset()))
    return EventFilters(tuple(rules), release, case_sensitive, time_zone, tuple(warnings), sql_mode)


def rule_ignoring_ddl(
    filters: EventFilters, schema: str, table: str, query: str, type_code: int, old: tuple[str, str] | None = None
) -> EventRule | None:
    """Return the rule that ignores a DDL; None if it is sent. Some releases parse it even if there is no rule.

    `table` is empty for a DDL on a database. A RENAME is matched by the `old` name, unless the release matches the new
    name only. Raise DdlError if TiCDC stops: CDC:ErrTableIneligible for a RENAME of a table that classic TiCDC does not
    know by its old name, CDC:ErrConvertDDLToEventTypeFailed, and `event type … not valid` without a code.
    """
    if not filters.rules and not filters.release.event_type_from_sql:
        return None
    type = event_types.ddl_event_type(type_code, query, filters.release, filters.sql_mode)
    if not filters.rules:
        return None
    if type == event_types.RENAME_TABLE and filters.release.event_filter_rename != "new-name":
        schema, table = _old_name(filters.release, (schema, table), old)
    if not type:
        return None
    for rule in _matching(filters, schema, table):
        if _ignores(rule, type, query, filters.release):
            return rule
    return None


def rule_ignoring_row(filters: EventFilters, schema: str, table: str, kind: str) -> EventRule | None:
    """Return the rule whose `ignore-event` ignores a row change of that kind (insert, update, delete), or None."""
    named = {kind, event_types.ALL_DML}
    return next((rule for rule in _matching(filters, schema, table) if named & rule.types), None)


def reads_values(rule: EventRule, table: Table) -> bool:
    """Return whether a rule evaluates values of a table's rows."""
    return bool(rule.setting.expressions) and rule.row_matcher.match(table.schema, table.name)


def _rule(number: int, setting: EventFilter, release: Release, case_sensitive: bool) -> EventRule:
    matcher, row_matcher = _matchers(setting, release, case_sensitive)
    for name in setting.ignore_event:
        if name not in release.event_filter_names:
            hint = did_you_mean(name, release.event_filter_names)
            raise ChangefeedError(f"invalid ignore event type: '{name}'{hint}", "CDC:ErrInvalidIgnoreEventType")
    sql = _sql(setting.ignore_sql) if setting.ignore_sql else None
    types = frozenset(event_types.normalize_name(name, release) for name in setting.ignore_event)
    return EventRule(number, setting, matcher, row_matcher, types, sql)


def _matchers(setting: EventFilter, release: Release, case_sensitive: bool) -> tuple[TableFilter, TableFilter]:
    exact = table_filter(setting.matcher)
    folds = release.event_matcher_folds_case and not case_sensitive
    return table_filter(setting.matcher, False) if folds else exact, exact


def _sql(patterns: Sequence[str]) -> GoRegexp:
    try:
        return go_regexp.compile("(?i)" + "|".join(patterns))
    except GoRegexpError as error:
        raise ValueError(f"compile regular expression [{' '.join(patterns)}]: {error}") from error


def _old_name(release: Release, new: tuple[str, str], old: tuple[str, str] | None) -> tuple[str, str]:
    if old is None and release.event_filter_needs_old_name:
        text = f"some tables are not eligible to replicate({'.'.join(new)}), if you want to ignore these tables, "
        raise DdlError(f"{text}please set ignore_ineligible_table to true", "CDC:ErrTableIneligible")
    return old or new


def _matching(filters: EventFilters, schema: str, table: str) -> Iterator[EventRule]:
    for rule in filters.rules:
        if rule.matcher.match(schema, table) if table else rule.matcher.match_schema(schema):
            yield rule


def _ignores(rule: EventRule, type: str, query: str, release: Release) -> bool:
    try:
        event_types.event_class(type, release)
    except ValueError as error:
        raise DdlError(str(error)) from error
    named = {type, event_types.ALL_DDL}
    if not release.event_type_from_sql and event_types.alters_table(type):
        named.add(event_types.ALTER_TABLE)
    return bool(named & rule.types) or bool(query and rule.sql and rule.sql.matches(query))
