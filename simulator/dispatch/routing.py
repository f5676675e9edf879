"""Which rule a table falls under, and what of its rows decides the partition.

One law: the first rule that matches decides; `*.*` with the default dispatcher stands behind the last one.
Source: tiflow v8.5.3 cdc/sink/dmlsink/mq/dispatcher/event_router.go, partition/*.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from simulator.changefeed.model import Changefeed, DispatchRule
from simulator.dispatch import topics
from simulator.dispatch.lookup import failed, index_of, offsets_of
from simulator.filters.table import TableFilter, table_filter
from simulator.releases import V8_5, Release
from simulator.schema import keys
from simulator.schema.table import Table

Hashed = tuple[tuple[str, str], ...]
"""What is hashed after the table's name: (name that is hashed, column whose value is)."""


@dataclass(frozen=True)
class Dispatcher:
    """How rows of a table are spread over partitions."""

    name: str
    hashed: Callable[[Table, DispatchRule, Release], Hashed]
    groups_by: str
    """What rows of one message share besides topic and partition: `table`, `hash` or `commit_ts`."""


@dataclass(frozen=True)
class Route:
    """Where the rows of one table go; made once per table, on the driver."""

    dispatcher: str
    """`table`, `index-value`, `columns` or `ts`: what is really used, for `default`, `rowid` and unknown rules too."""

    topic: str
    hashed: Hashed = ()
    groups_by: str = "table"
    rule: int | None = None
    """Index of the rule in `[sink] dispatchers`; None for the implicit last one."""

    key: str = ""
    """Pulsar's `key` dispatcher only: the key."""


@dataclass(frozen=True)
class Router:
    """The dispatch rules of a changefeed, ready to match."""

    rules: tuple[tuple[TableFilter, DispatchRule], ...]
    default_topic: str
    scheme: str = "kafka"


def router(changefeed: Changefeed) -> Router:
    """The rules of a changefeed; raises ChangefeedError for a matcher or topic expression TiCDC rejects."""
    protocol = changefeed.codec.protocol
    return compile_rules(
        changefeed.dispatchers, changefeed.topic, protocol, changefeed.case_sensitive, changefeed.scheme
    )


def compile_rules(
    rules: Sequence[DispatchRule],
    default_topic: str,
    protocol: str = "open-protocol",
    case_sensitive: bool = False,
    scheme: str = "kafka",
) -> Router:
    """As `router`, from the values it needs."""
    compiled = tuple((table_filter(rule.matcher, case_sensitive), rule) for rule in rules)
    for rule in rules:
        topics.validate(rule.topic, protocol, scheme)
    return Router(compiled, default_topic, scheme)


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


def route(router: Router, table: Table, release: Release = V8_5) -> Route:
    """Where a table's rows go; raises ChangefeedError (CDC:ErrDispatcherFailed) without its index or columns."""
    index, rule = matching_rule(router, table.schema, table.name)
    name = rule.partition.lower()
    topic = topics.substitute(rule.topic, table.schema, table.name) if rule.topic else router.default_topic
    if name and name not in DISPATCHERS and router.scheme.startswith("pulsar"):
        return Route("key", topic, rule=index, key=rule.partition)
    dispatcher = DISPATCHERS.get(name, DISPATCHERS["default"])
    return Route(dispatcher.name, topic, dispatcher.hashed(table, rule, release), dispatcher.groups_by, index)


def verify_tables(router: Router, tables: Iterable[Table], release: Release = V8_5) -> None:
    """TiCDC's check of all tables when a changefeed starts; raises ChangefeedError (CDC:ErrDispatcherFailed)."""
    for table in tables:
        rule = matching_rule(router, table.schema, table.name)[1]
        dispatcher = DISPATCHERS.get(rule.partition.lower(), DISPATCHERS["default"]).name
        named = f"when verify the table, table: {table.schema}.{table.name}"
        if dispatcher == "index-value" and rule.index:
            index = index_of(table, rule.index, release)
            if index is None:
                raise failed(f"index not found {named}, index: {rule.index}")
            if not (index.unique or index.primary):
                raise failed(f"index is not unique {named}, index: {rule.index}")
        if dispatcher == "columns":
            offsets_of(table, rule.columns, release, named)


def _by_table(table: Table, rule: DispatchRule, release: Release) -> Hashed:
    return ()


def _by_index(table: Table, rule: DispatchRule, release: Release) -> Hashed:
    if not rule.index:
        return tuple((name, name) for name in keys.handle_key(table))
    index = index_of(table, rule.index, release)
    if index is None:
        raise failed(f"index not found when dispatch event, table: {table.name}, index: {rule.index}")
    at = {column.name.lower(): offset for offset, column in enumerate(table.columns)}
    offsets = tuple(at[column.name.lower()] for column in index.columns)
    names = (table.columns[offset].name for offset in offsets)
    return tuple(zip(names, _sources(table, offsets, release), strict=True))


def _by_columns(table: Table, rule: DispatchRule, release: Release) -> Hashed:
    offsets = offsets_of(table, rule.columns, release, f"when dispatch event, table: {table.name}")
    return tuple((source, source) for source in _sources(table, offsets, release))


def _sources(table: Table, offsets: Sequence[int], release: Release) -> tuple[str, ...]:
    """The columns whose values are really taken for columns at these offsets of the table."""
    if release.dispatch_skips_virtual:
        return tuple(table.columns[offset].name for offset in offsets)
    visible = keys.visible_columns(table)
    if any(offset >= len(visible) for offset in offsets):
        beyond = table.columns[next(offset for offset in offsets if offset >= len(visible))].name
        raise failed(
            f"TiCDC {release.name} panics (index out of range) on dispatching table {table.schema}.{table.name} by"
            f" column {beyond}: it counts virtual generated columns before it; use columns that stand before them"
        )
    return tuple(visible[offset].name for offset in offsets)


IMPLICIT = DispatchRule(("*.*",), "default")

DISPATCHERS: Mapping[str, Dispatcher] = {
    "default": Dispatcher("table", _by_table, "table"),
    "table": Dispatcher("table", _by_table, "table"),
    "index-value": Dispatcher("index-value", _by_index, "hash"),
    "rowid": Dispatcher("index-value", _by_index, "hash"),
    "columns": Dispatcher("columns", _by_columns, "hash"),
    "ts": Dispatcher("ts", _by_table, "commit_ts"),
}
