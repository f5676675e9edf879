"""The rule of a table in `[sink] dispatchers`, and its route: topic, dispatcher, hashed columns, selected columns.

The first matching rule decides; after the last one comes `*.*` with the default dispatcher. A topic expression such
as `prefix_{schema}_{table}` gives a valid name of a Kafka topic. Of `[sink] column-selectors` the first one whose
matcher fits the table decides which columns its messages have. All of it is decided once per table, on the driver.

Sources: tiflow v8.5.3 cdc/sink/dmlsink/mq/dispatcher/event_router.go, partition/*.go, topic/expression.go,
cdc/sink/dmlsink/mq/transformer/columnselector; ticdc downstreamadapter/sink/columnselector.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from simulator.errors import ChangefeedError
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed.kafka import require_topic
from simulator.ticdc.changefeed.model import Changefeed, ColumnSelector, DispatchRule
from simulator.ticdc.changefeed.protocols import FALLBACK, PROTOCOLS
from simulator.ticdc.dispatch.dispatchers import (
    COLUMNS,
    DISPATCHERS,
    INDEX_VALUE,
    KEY,
    TABLE,
    HashedColumns,
    Hashing,
    dispatcher_error,
    dispatcher_of,
    index_of,
    knows_index,
    offsets_of,
)
from simulator.ticdc.filters.filter_rules import ColumnFilter, TableFilter, column_filter, table_filter
from simulator.ticdc.filters.table_routes import TableRoutes, find_conflict, table_routes
from simulator.ticdc.time_zone import zone_of_rows
from simulator.tidb.model.table import Table, visible_columns


@dataclass(frozen=True)
class Route:
    """The destination of a table's rows, determined once per table on the driver."""

    dispatcher: str
    """The dispatcher in effect, also for `default`, `rowid` and unknown names: TABLE, INDEX_VALUE, COLUMNS or TS; in
    4.0.0 – 4.0.4 SINGLE_COLUMN or ROW_ID."""

    topic: str
    hashed: HashedColumns = ()
    groups_by: str = TABLE
    """As `Dispatcher.groups_by`."""

    rule: int | None = None
    """Index of the rule in `[sink] dispatchers`; None for the implicit last one."""

    key: str = ""
    """The key of Pulsar's `key` dispatcher."""

    hashing: Hashing = Hashing()
    selected: frozenset[str] | None = None
    """The columns that column selectors leave in messages; None means all."""

    sent_as: tuple[str, str] | None = None
    """Schema and table in messages, if table routing changes them."""

    time_zone: str = ""
    """The zone in which TIMESTAMPs are hashed; empty for UTC."""


@dataclass(frozen=True)
class Router:
    """The compiled dispatch rules of a changefeed."""

    rules: tuple[tuple[TableFilter, DispatchRule], ...]
    default_topic: str
    scheme: str = "kafka"
    release: Release = V8_5
    enable_old_value: bool = True
    selectors: tuple[Selector, ...] = ()
    routes: TableRoutes = TableRoutes()
    by_table: bool = False
    """Whether the rows of a table go to one partition, as in a storage sink."""

    time_zone: str = ""
    """As in Route."""


def router(changefeed: Changefeed, release: Release = V8_5) -> Router:
    """Return a changefeed's compiled rules; raise ChangefeedError for a matcher, topic or column that TiCDC rejects."""
    codec, rules, sensitive = changefeed.codec, changefeed.dispatchers, changefeed.case_sensitive
    if changefeed.storage is not None:
        # the rows of a table go to one worker; rules do nothing (tiflow v8.0.0:
        # cdc/sink/dmlsink/cloudstorage/defragmenter.go)
        left = compile_selectors(changefeed.column_selectors if release.storage_selectors else (), sensitive)
        worker = Router((), changefeed.topic, changefeed.scheme, release, codec.enable_old_value, left)
        return replace(worker, by_table=True)
    options = (codec.protocol, sensitive, changefeed.scheme, release, codec.enable_old_value)
    selectors = compile_selectors(changefeed.column_selectors, sensitive)
    compiled = compile_rules(rules, changefeed.topic, *options)
    zone = zone_of_rows(codec.time_zone, release)
    return replace(compiled, selectors=selectors, routes=table_routes(rules, sensitive), time_zone=zone)


def compile_rules(
    rules: Sequence[DispatchRule],
    default_topic: str,
    protocol: str = FALLBACK.name,
    case_sensitive: bool = False,
    scheme: str = "kafka",
    release: Release = V8_5,
    enable_old_value: bool = True,
) -> Router:
    """Return a router of these rules, without column selectors and table routes."""
    matchers = [table_filter(rule.matcher, case_sensitive) for rule in rules]
    for rule in rules:
        validate(rule.topic, protocol, scheme, release)
    effective = (replace(rule, topic=effective_expression(rule.topic, release)) for rule in rules)
    return Router(tuple(zip(matchers, effective)), default_topic, scheme, release, enable_old_value)


def matching_rule(router: Router, schema: str, table: str) -> tuple[int | None, DispatchRule]:
    """Return index and rule of a table; None and the implicit rule if none matches."""
    for index, (matcher, rule) in enumerate(router.rules):
        if matcher.match(schema, table):
            return index, rule
    return None, BY_TABLE if router.by_table else IMPLICIT


def topic_of(router: Router, schema: str, table: str) -> str:
    """Return the topic of a table's rows."""
    rule = matching_rule(router, schema, table)[1]
    return substitute(rule.topic, schema, table) if rule.topic else router.default_topic


def topic_of_ddl(router: Router, schema: str, table: str, old: tuple[str, str] | None = None) -> str:
    """Return the topic of a DDL event: that of the `old` (schema, table) if it has one; a database's is the default."""
    schema, table = old or (schema, table)
    return topic_of(router, schema, table) if table else router.default_topic


def active_topics(router: Router, tables: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the topics of (schema, table) in order, then the default topic; watermarks go to all of them."""
    return tuple(dict.fromkeys([*(topic_of(router, *table) for table in tables), router.default_topic]))


def route(router: Router, table: Table) -> Route:
    """Return the route of a table; raise ChangefeedError (CDC:ErrDispatcherFailed, CDC:ErrColumnSelectorFailed) if
    index or columns of its rule are missing."""
    index, rule = matching_rule(router, table.schema, table.name)
    release, name = router.release, rule.partition.lower()
    topic = substitute(rule.topic, table.schema, table.name) if rule.topic else router.default_topic
    if name and name not in DISPATCHERS and router.scheme.startswith("pulsar"):
        return Route(KEY, topic, rule=index, key=rule.partition)
    dispatcher = dispatcher_of(name, table, release, router.enable_old_value)
    uses_names = dispatcher.name == COLUMNS or knows_index(rule, release)
    hashing = Hashing.of(release, "names" if uses_names else "handle")
    selected_names = selected_columns(router.selectors, table, release)
    hashed = _visible_to_dispatcher(dispatcher.hashed(table, rule, release), selected_names, release)
    target = router.routes.target(table.schema, table.name)
    return Route(
        dispatcher.name,
        topic,
        hashed,
        dispatcher.groups_by,
        index,
        hashing=hashing,
        selected=selected_names,
        sent_as=None if target == (table.schema, table.name) else target,
        time_zone=router.time_zone,
    )


def sent_table(to: Route, table: Table) -> Table:
    """Return the table with its names in messages."""
    return replace(table, schema=to.sent_as[0], name=to.sent_as[1]) if to.sent_as else table


def _visible_to_dispatcher(hashed: HashedColumns, left: frozenset[str] | None, release: Release) -> HashedColumns:
    """Return the hashed columns that the dispatcher sees; classic TiCDC applies column selectors before it."""
    if left is None or release.column_selectors != "rows":
        return hashed
    return tuple((name, source) for name, source in hashed if source in left)


def verify_tables(router: Router, tables: Iterable[Table]) -> None:
    """Check all tables, as TiCDC does when a changefeed starts.

    Raise ChangefeedError (CDC:ErrDispatcherFailed, CDC:ErrColumnSelectorFailed).
    """
    tables = list(tables)
    for table in tables:
        _verify_dispatcher(router, table)
    for table in tables if router.release.selectors_checked else ():
        rule = matching_rule(router, table.schema, table.name)[1]
        by_columns = dispatcher_of(rule.partition, table, router.release, router.enable_old_value).name == COLUMNS
        verify_selectors(router.selectors, table, rule.columns if by_columns else (), router.release)


def verify_routes(router: Router, tables: Iterable[tuple[str, str]]) -> None:
    """Check the names (schema, table) of existing tables, as TiCDC does when a changefeed starts.

    Raise ChangefeedError (CDC:ErrTableRouteConflict).
    """
    text = find_conflict(router.routes, tables if router.routes.rules else ())
    if text:
        raise ChangefeedError(text, "CDC:ErrTableRouteConflict")


def _verify_dispatcher(router: Router, table: Table) -> None:
    release = router.release
    rule = matching_rule(router, table.schema, table.name)[1]
    dispatcher = dispatcher_of(rule.partition, table, release, router.enable_old_value).name
    named = f"when verify the table, table: {table.schema}.{table.name}"
    if dispatcher == INDEX_VALUE and knows_index(rule, release):
        index = index_of(table, rule.index, release)
        if index is None:
            raise dispatcher_error(f"index not found {named}, index: {rule.index}")
        if not (index.unique or index.primary):
            raise dispatcher_error(f"index is not unique {named}, index: {rule.index}")
    if dispatcher == COLUMNS:
        offsets_of(table, rule.columns, release, named)


IMPLICIT = DispatchRule(("*.*",), "default")
BY_TABLE = DispatchRule(("*.*",), "table")


MAX_LENGTH = 249
"""Kafka's limit for a topic name."""

NAME = re.compile(r"[A-Za-z0-9._-]+")
EXPRESSIONS = {
    "idle": (
        re.compile(r"[A-Za-z0-9._-]*\{schema\}[A-Za-z0-9._-]*|\{schema\}_\{table\}"),
        "one {schema} among letters, digits, '.', '_', '-', or {schema}_{table}",
    ),
    "schema": (
        re.compile(r"[A-Za-z0-9._-]*\{schema\}([A-Za-z0-9._-]*\{table\})?[A-Za-z0-9._-]*"),
        "one {schema} and then at most one {table} among letters, digits, '.', '_', '-'",
    ),
    "any": (
        re.compile(r"[A-Za-z0-9._-]*(\{schema\})?([A-Za-z0-9._-]*\{table\})?[A-Za-z0-9._-]*"),
        "letters, digits, '.', '_', '-', one {schema} and then one {table}",
    ),
}
"""The accepted expressions and their description, by `release.topic_rules`."""

AVRO = re.compile(r"[A-Za-z0-9._-]*\{schema\}[A-Za-z0-9._-]*\{table\}[A-Za-z0-9._-]*")
FORBIDDEN = re.compile(r"[^A-Za-z0-9._-]")
RESERVED = {".": "_", "..": "__"}
PULSAR = re.compile(
    r"(persistent|non-persistent)://[A-Za-z0-9{}._-]*/[A-Za-z0-9{}._-]*/[A-Za-z0-9{}._-]*"
    r"|[A-Za-z0-9._-]*\{schema}[A-Za-z0-9._-]*\{table}[A-Za-z0-9._-]*"
)
PULSAR_FULL = re.compile(r"(persistent|non-persistent)://")


def is_static(expression: str) -> bool:
    """Return whether the expression has no placeholders (an empty one is the default topic)."""
    return not expression or NAME.fullmatch(expression) is not None


def effective_expression(expression: str, release: Release) -> str:
    """Return the expression, or an empty one if the release sends everything to the default topic."""
    return "" if release.topic_rules in ("none", "idle") else expression


def validate(expression: str, protocol: str = FALLBACK.name, scheme: str = "kafka", release: Release = V8_5) -> None:
    """Raise ChangefeedError for an expression that TiCDC rejects; an empty one is the default topic."""
    if not expression or release.topic_rules == "none":
        return
    if is_static(expression) and release.topic_rules == "any":
        if not scheme.startswith("pulsar"):
            # sent as it is written, and not substituted (dispatcher/event_router.go, getTopicDispatcher)
            require_topic(expression)
        return
    if scheme.startswith("pulsar"):
        _validate_pulsar(expression)
    elif PROTOCOLS[protocol].topics_name_tables and not AVRO.fullmatch(expression):
        raise _invalid(expression, "topic rule for Avro must contain {schema} and {table}", release)
    elif not EXPRESSIONS[release.topic_rules][0].fullmatch(expression):
        raise _invalid(expression, f"TiCDC {release.name} accepts {EXPRESSIONS[release.topic_rules][1]}", release)


def substitute(expression: str, schema: str, table: str) -> str:
    """Return the topic of a table: characters that Kafka refuses become `_`; case is kept; at most 249 characters."""
    name = expression.replace("{schema}", FORBIDDEN.sub("_", schema)).replace("{table}", FORBIDDEN.sub("_", table))
    return RESERVED.get(name, name[:MAX_LENGTH])


def _invalid(expression: str, why: str, release: Release) -> ChangefeedError:
    code = "CDC:ErrKafkaInvalidConfig" if release.one_kafka_code else "CDC:ErrKafkaTopicExprInvalid"
    return ChangefeedError(f"invalid topic expression: {expression} : {why}", code)


def _validate_pulsar(expression: str) -> None:
    full = PULSAR_FULL.search(expression)
    if (full and not PULSAR.fullmatch(expression)) or (not full and "/" in expression):
        raise ChangefeedError(f"invalid topic expression: {expression}", "CDC:ErrPulsarTopicExprInvalid")


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
