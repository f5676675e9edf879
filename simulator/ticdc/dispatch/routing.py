"""Which rule a table falls under, and what of its rows decides the partition.

One law: the first rule that matches decides; `*.*` with the default dispatcher stands behind the last one.
Source: tiflow v8.5.3 cdc/sink/dmlsink/mq/dispatcher/event_router.go, partition/*.go.
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
    Hashed,
    dispatcher_of,
    failed,
    index_of,
    knows_index,
    offsets_of,
)
from simulator.ticdc.dispatch.hashing import Hashing
from simulator.ticdc.dispatch.selectors import Selector, compile_selectors, selected, verify_selectors
from simulator.ticdc.filters.rules import TableFilter, table_filter
from simulator.ticdc.filters.table_routes import TableRoutes, conflict, table_routes
from simulator.tidb.model.table import Table


@dataclass(frozen=True)
class Route:
    """Where the rows of one table go; made once per table, on the driver."""

    dispatcher: str
    """What is really used, for `default`, `rowid` and unknown rules too: TABLE, INDEX_VALUE, COLUMNS or TS; in
    4.0.0 – 4.0.4 SINGLE_COLUMN or ROW_ID."""

    topic: str
    hashed: Hashed = ()
    groups_by: str = TABLE
    """As `Dispatcher.groups_by`."""

    rule: int | None = None
    """Index of the rule in `[sink] dispatchers`; None for the implicit last one."""

    key: str = ""
    """Pulsar's `key` dispatcher only: the key."""

    hashing: Hashing = Hashing()
    selected: frozenset[str] | None = None
    """The columns that column selectors leave in messages; None: all of them."""

    sent_as: tuple[str, str] | None = None
    """Schema and table in messages, where table routing gives other names."""


@dataclass(frozen=True)
class Router:
    """The dispatch rules of a changefeed, ready to match."""

    rules: tuple[tuple[TableFilter, DispatchRule], ...]
    default_topic: str
    scheme: str = "kafka"
    release: Release = V8_5
    enable_old_value: bool = True
    selectors: tuple[Selector, ...] = ()
    routes: TableRoutes = TableRoutes()


def router(changefeed: Changefeed, release: Release = V8_5) -> Router:
    """The rules of a changefeed; raises ChangefeedError for a matcher, topic or column that TiCDC rejects."""
    codec, sensitive = changefeed.codec, changefeed.case_sensitive
    compiled = compile_rules(
        changefeed.dispatchers,
        changefeed.topic,
        codec.protocol,
        sensitive,
        changefeed.scheme,
        release,
        codec.enable_old_value,
    )
    return replace(
        compiled,
        selectors=compile_selectors(changefeed.column_selectors, sensitive),
        routes=table_routes(changefeed.dispatchers, sensitive),
    )


def compile_rules(
    rules: Sequence[DispatchRule],
    default_topic: str,
    protocol: str = FALLBACK.name,
    case_sensitive: bool = False,
    scheme: str = "kafka",
    release: Release = V8_5,
    enable_old_value: bool = True,
) -> Router:
    """As `router`, from the values it needs."""
    compiled = tuple((table_filter(rule.matcher, case_sensitive), rule) for rule in rules)
    for rule in rules:
        topics.validate(rule.topic, protocol, scheme, release)
    used = tuple((matcher, replace(rule, topic=topics.used(rule.topic, release))) for matcher, rule in compiled)
    return Router(used, default_topic, scheme, release, enable_old_value)


def matching_rule(router: Router, schema: str, table: str) -> tuple[int | None, DispatchRule]:
    """Index and rule that a table falls under; None and the implicit rule where none matches."""
    for index, (matcher, rule) in enumerate(router.rules):
        if matcher.match(schema, table):
            return index, rule
    return None, IMPLICIT


def topic_of(router: Router, schema: str, table: str) -> str:
    """The topic of a table's rows."""
    rule = matching_rule(router, schema, table)[1]
    return topics.substitute(rule.topic, schema, table) if rule.topic else router.default_topic


def topic_of_ddl(router: Router, schema: str, table: str, old: tuple[str, str] | None = None) -> str:
    """The topic of a DDL event: by the table's old name (schema, table) if it has one; a database's to the default."""
    schema, table = old or (schema, table)
    return topic_of(router, schema, table) if table else router.default_topic


def active_topics(router: Router, tables: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Topics of (schema, table) in the order first met, and the default topic: watermarks go to all of them."""
    return tuple(dict.fromkeys([*(topic_of(router, *table) for table in tables), router.default_topic]))


def route(router: Router, table: Table) -> Route:
    """Where a table's rows go; raises ChangefeedError (CDC:ErrDispatcherFailed, CDC:ErrColumnSelectorFailed) without
    its index or columns."""
    index, rule = matching_rule(router, table.schema, table.name)
    release, name = router.release, rule.partition.lower()
    topic = topics.substitute(rule.topic, table.schema, table.name) if rule.topic else router.default_topic
    if name and name not in DISPATCHERS and router.scheme.startswith("pulsar"):
        return Route(KEY, topic, rule=index, key=rule.partition)
    found = dispatcher_of(name, table, release, router.enable_old_value)
    named = found.name == COLUMNS or knows_index(rule, release)
    hashing = Hashing.of(release, "names" if named else "handle")
    left = selected(router.selectors, table, release)
    hashed = _seen(found.hashed(table, rule, release), left, release)
    target = router.routes.target(table.schema, table.name)
    return Route(
        found.name,
        topic,
        hashed,
        found.groups_by,
        index,
        hashing=hashing,
        selected=left,
        sent_as=None if target == (table.schema, table.name) else target,
    )


def sent_table(to: Route, table: Table) -> Table:
    """The table as messages call it."""
    return replace(table, schema=to.sent_as[0], name=to.sent_as[1]) if to.sent_as else table


def _seen(hashed: Hashed, left: frozenset[str] | None, release: Release) -> Hashed:
    """What of it the dispatcher sees: classic TiCDC takes columns out of rows before it asks the dispatcher."""
    if left is None or release.column_selectors != "rows":
        return hashed
    return tuple((name, source) for name, source in hashed if source in left)


def verify_tables(router: Router, tables: Iterable[Table]) -> None:
    """TiCDC's check of all tables when a changefeed starts; raises ChangefeedError (CDC:ErrDispatcherFailed,
    CDC:ErrColumnSelectorFailed)."""
    tables = list(tables)
    for table in tables:
        _verify_dispatcher(router, table)
    for table in tables if router.release.selectors_checked else ():
        rule = matching_rule(router, table.schema, table.name)[1]
        by_columns = dispatcher_of(rule.partition, table, router.release, router.enable_old_value).name == COLUMNS
        verify_selectors(router.selectors, table, rule.columns if by_columns else (), router.release)


def verify_routes(router: Router, tables: Iterable[tuple[str, str]]) -> None:
    """TiCDC's check of the names (schema, table) of the tables that there are when a changefeed starts; raises
    ChangefeedError (CDC:ErrTableRouteConflict)."""
    text = conflict(router.routes, tables if router.routes.rules else ())
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
            raise failed(f"index not found {named}, index: {rule.index}")
        if not (index.unique or index.primary):
            raise failed(f"index is not unique {named}, index: {rule.index}")
    if dispatcher == COLUMNS:
        offsets_of(table, rule.columns, release, named)


IMPLICIT = DispatchRule(("*.*",), "default")
