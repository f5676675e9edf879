"""Event filters: DDL statements and kinds of row changes that are not sent although their table is replicated.

An event is ignored if any rule matches its table and names it; TiCDC's schema changes nevertheless. Names of event
types are those of TiCDC, in any letter case. Up to 7.6 a DDL has the type of its statement, which TiCDC parses from
the text, from 8.0 on that of its action.

Sources: tiflow v6.2.0, v7.5.7, v8.5.7 pkg/filter/sql_event_filter.go, utils.go, pkg/binlog-filter/{filter,util}.go;
ticdc v8.5.4, the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from simulator.errors import ChangefeedError, DdlError, did_you_mean
from simulator.releases import Release
from simulator.ticdc.changefeed import EventFilter
from simulator.ticdc.filters import GoRegexp, GoRegexpError, TableFilter, compile_regexp, table_filter
from simulator.tidb import syntax
from simulator.tidb.ddl import Action
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
    """The types in `ignore-event`, spelled as TiCDC spells them."""

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
    filters: EventFilters, name: tuple[str, str], query: str, type_code: int, old: tuple[str, str] | None = None
) -> EventRule | None:
    """Return the rule that ignores a DDL; None if it is sent. Some releases parse it even if there is no rule.

    `name` is schema and table, which is empty for a DDL on a database. A RENAME is matched by the `old` name, unless the release matches the new
    name only. Raise DdlError if TiCDC stops: CDC:ErrTableIneligible for a RENAME of a table that classic TiCDC does not
    know by its old name, CDC:ErrConvertDDLToEventTypeFailed, and `event type … not valid` without a code.
    """
    if not filters.rules and not filters.release.event_type_from_sql:
        return None
    type = ddl_event_type(type_code, query, filters.release, filters.sql_mode)
    if not filters.rules:
        return None
    if type == RENAME_TABLE and filters.release.event_filter_rename != "new-name":
        name = _old_name(filters.release, name, old)
    if not type:
        return None
    for rule in _matching(filters, *name):
        if _ignores(rule, type, query, filters.release):
            return rule
    return None


def rule_ignoring_row(filters: EventFilters, schema: str, table: str, kind: str) -> EventRule | None:
    """Return the rule whose `ignore-event` ignores a row change of that kind (insert, update, delete), or None."""
    named = {kind, ALL_DML}
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
    types = frozenset(normalize_name(name, release) for name in setting.ignore_event)
    return EventRule(number, setting, matcher, row_matcher, types, sql)


def _matchers(setting: EventFilter, release: Release, case_sensitive: bool) -> tuple[TableFilter, TableFilter]:
    exact = table_filter(setting.matcher)
    folds = release.event_matcher_folds_case and not case_sensitive
    return table_filter(setting.matcher, False) if folds else exact, exact


def _sql(patterns: Sequence[str]) -> GoRegexp:
    try:
        return compile_regexp("(?i)" + "|".join(patterns))
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
        event_class(type, release)
    except ValueError as error:
        raise DdlError(str(error)) from error
    named = {type, ALL_DDL}
    if not release.event_type_from_sql and type not in NOT_ALTERING:
        named.add(ALTER_TABLE)
    return bool(named & rule.types) or bool(query and rule.sql and rule.sql.matches(query))


ALL_DML, ALL_DDL, ALTER_TABLE, RENAME_TABLE = "all dml", "all ddl", "alter table", "rename table"
ROW_KINDS = ("delete", "update", "insert")
"""In the order of `op` in an event."""

ALIASES = {"create schema": "create database", "drop schema": "drop database", "alter schema": "alter database"}

OF_ACTIONS: Mapping[int, str] = {
    Action.CREATE_SCHEMA: "create database",
    Action.DROP_SCHEMA: "drop database",
    Action.MODIFY_SCHEMA_CHARSET_AND_COLLATE: "modify schema charset and collate",
    Action.CREATE_TABLE: "create table",
    Action.CREATE_TABLES: "create table",
    Action.DROP_TABLE: "drop table",
    Action.TRUNCATE_TABLE: "truncate table",
    Action.RENAME_TABLE: RENAME_TABLE,
    Action.RENAME_TABLES: RENAME_TABLE,
    Action.RECOVER_TABLE: "recover table",
    Action.MODIFY_TABLE_COMMENT: "modify table comment",
    Action.MODIFY_TABLE_CHARSET_AND_COLLATE: "modify table charset and collate",
    Action.CREATE_VIEW: "create view",
    Action.DROP_VIEW: "drop view",
    Action.ADD_TABLE_PARTITION: "add table partition",
    Action.DROP_TABLE_PARTITION: "drop table partition",
    Action.TRUNCATE_TABLE_PARTITION: "truncate table partition",
    Action.EXCHANGE_TABLE_PARTITION: "exchange table partition",
    Action.REORGANIZE_PARTITION: "reorganize table partition",
    Action.ALTER_TABLE_PARTITIONING: "alter table partitioning",
    Action.REMOVE_PARTITIONING: "remove table partitioning",
    Action.ADD_COLUMN: "add column",
    Action.ADD_COLUMNS: "add column",
    Action.DROP_COLUMN: "drop column",
    Action.DROP_COLUMNS: "drop column",
    Action.MODIFY_COLUMN: "modify column",
    Action.SET_DEFAULT_VALUE: "set default value",
    Action.REBASE_AUTO_ID: "rebase auto id",
    Action.ADD_PRIMARY_KEY: "add primary key",
    Action.DROP_PRIMARY_KEY: "drop primary key",
    Action.ADD_INDEX: "create index",
    Action.DROP_INDEX: "drop index",
    Action.RENAME_INDEX: "rename index",
    Action.ALTER_INDEX_VISIBILITY: "alter index visibility",
    Action.ALTER_TTL_INFO: "alter ttl info",
    Action.ALTER_TTL_REMOVE: "alter ttl remove",
    Action.MULTI_SCHEMA_CHANGE: "multi schema change",
    Action.ADD_FOREIGN_KEY: "add foreign key",
    Action.DROP_FOREIGN_KEY: "drop foreign key",
    Action.ADD_FULLTEXT_INDEX: "add fulltext index",
    Action.CREATE_HYBRID_INDEX: "create hybrid index",
}

OF_PARTITIONS = (Action.ADD_TABLE_PARTITION, Action.DROP_TABLE_PARTITION, Action.TRUNCATE_TABLE_PARTITION)
"""Actions with their own type in releases that use the statement's type."""

OF_STATEMENTS: Mapping[type[object], str] = {
    syntax.CreateDatabase: "create database",
    syntax.DropDatabase: "drop database",
    syntax.AlterDatabase: "alter database",
    syntax.CreateTable: "create table",
    syntax.DropTable: "drop table",
    syntax.TruncateTable: "truncate table",
    syntax.RenameTable: RENAME_TABLE,
    syntax.AlterTable: ALTER_TABLE,
    syntax.CreateIndex: ALTER_TABLE,
    syntax.DropIndex: ALTER_TABLE,
    syntax.CreateView: "create view",
    syntax.DropView: "drop view",
}

NOT_ALTERING = frozenset(
    {
        *("create database", "drop database", "modify schema charset and collate", "create table", "drop table"),
        *("truncate table", "recover table", "create view", "drop view", "add foreign key", "drop foreign key"),
        *("add fulltext index", "create hybrid index"),
    }
)
"""Types of actions that `alter table` does not cover (alterTableSubType has all others)."""

COMPATIBLE = frozenset(
    {
        *("create database", "alter database", "create table", "create index", "create view", "drop view"),
        *(ALTER_TABLE, "add table partition"),
    }
)
GROUPS = frozenset({"all", ALL_DDL, ALL_DML, "none", "none ddl", "none dml", "", "incompatible ddl changes"})
NEVER_SENT = frozenset(
    {
        *("value range decrease", "precision decrease", "rename column", "drop unique key", "modify default value"),
        *("modify constraint", "modify columns order", "modify charset", "modify collation", "remove auto increment"),
        *("modify storage engine", "rebuild table partition", "coalesce table partition", "split table partition"),
    }
)
"""Types in TiCDC's list that no statement has."""

TYPES = frozenset(OF_ACTIONS.values()) | COMPATIBLE | NEVER_SENT


def normalize_name(name: str, release: Release) -> str:
    """Return a name in lower case, with DATABASE for SCHEMA; raise ValueError for an unknown event type."""
    lower = name.lower()
    lower = ALIASES.get(lower, lower)
    if lower not in (TYPES | GROUPS | set(ROW_KINDS)) - release.unclassified_events:
        raise ValueError(f"event type {name} not valid")
    return lower


def event_class(type: str, release: Release) -> str:
    """Return `dml`, `ddl`, `incompatible DDL`, or '' for an empty type; raise ValueError for an unknown event type."""
    if type in ("", *ROW_KINDS):
        return type and "dml"
    if type not in (TYPES | set(ALIASES)) - release.unclassified_events:
        raise ValueError(f"event type {type} not valid")
    return "ddl" if type in COMPATIBLE or type in ("create schema", "alter schema") else "incompatible DDL"


def ddl_event_type(type_code: int, query: str, release: Release, sql_mode: frozenset[str] = frozenset()) -> str:
    """Return the event type of a DDL; empty if it has none. `sql_mode` is the one that its text is read by.

    Raise DdlError (CDC:ErrConvertDDLToEventTypeFailed) if the release cannot parse the text.
    """
    if not release.event_type_from_sql or type_code in OF_PARTITIONS:
        return OF_ACTIONS.get(type_code, "") if type_code in release.allowed_ddl else ""
    from simulator.tidb.parser.ddl import parse_ddl  # the grammar of DDL takes long to import

    try:
        statement = parse_ddl(query, sql_mode)
    except DdlError as error:
        text = f"failed to convert ddl '{query}' to filter event type: {error}"
        raise DdlError(text, "CDC:ErrConvertDDLToEventTypeFailed") from error
    return OF_STATEMENTS.get(type(statement), "")
