"""The rule of a table, and its route: topic, dispatcher, hashed columns.

The first matching rule decides; after the last one comes `*.*` with the default dispatcher. Source: tiflow v8.5.3
cdc/sink/dmlsink/mq/dispatcher/event_router.go, partition/*.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from simulator.errors import ChangefeedError
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed.model import Changefeed, DispatchRule
from simulator.ticdc.changefeed.protocols import FALLBACK
from simulator.ticdc.dispatch import topics
from simulator.ticdc.dispatch.dispatchers import (
    COLUMNS,
    DISPATCHERS,
    INDEX_VALUE,
    KEY,
    TABLE,
    HashedColumns,
    dispatcher_error,
    dispatcher_of,
    index_of,
    knows_index,
    offsets_of,
)
from simulator.ticdc.dispatch.hashing import Hashing
from simulator.ticdc.dispatch.selectors import Selector, compile_selectors, selected_columns, verify_selectors
from simulator.ticdc.filters.filter_rules import TableFilter, table_filter
from simulator.ticdc.filters.table_routes import TableRoutes, find_conflict, table_routes
from simulator.ticdc.time_zone import zone_of_rows
from simulator.tidb.model.table import Table


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
        topics.validate(rule.topic, protocol, scheme, release)
    effective = (replace(rule, topic=topics.effective_expression(rule.topic, release)) for rule in rules)
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
    return topics.substitute(rule.topic, schema, table) if rule.topic else router.default_topic


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
    topic = topics.substitute(rule.topic, table.schema, table.name) if rule.topic else router.default_topic
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
