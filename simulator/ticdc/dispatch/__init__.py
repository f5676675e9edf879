"""Topic and partition of an event, as TiCDC's dispatchers choose them: the rule of a table in `[sink] dispatchers`, its route.

A route has topic, dispatcher, hashed columns, selected columns and the names in messages. All of it is decided once per
table, on the driver; only the hash of a row depends on its values (`destinations`).

The first matching rule decides; after the last one comes `*.*` with the default dispatcher. Of `[sink] column-selectors` the first one whose
matcher fits the table decides which columns its messages have. The first matching rule with `target-schema` or
`target-table` decides about the names in messages, and no two tables may get the same name; topics, partitions and filters
use the names in TiDB.

Sources: tiflow v8.5.3 cdc/sink/dmlsink/mq/dispatcher/event_router.go, partition/*.go, topic/expression.go,
cdc/sink/dmlsink/mq/transformer/columnselector; ticdc downstreamadapter/sink/columnselector; ticdc v8.5.7
pkg/routing/{router,registry}.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from simulator.errors import ChangefeedError, DdlError
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed import Changefeed, ColumnSelector, DispatchRule
from simulator.ticdc.dispatch.destinations import topic_name, validate_expression
from simulator.ticdc.dispatch.dispatchers import (
    COLUMNS,
    DISPATCHERS,
    INDEX_VALUE,
    KEY,
    HashedColumns,
    Hashing,
    Route,
    dispatcher_error,
    dispatcher_of,
    index_of,
    knows_index,
    offsets_of,
)
from simulator.ticdc.filters import ColumnFilter, TableFilter, column_filter, table_filter
from simulator.ticdc.mounter import zone_of_rows
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.syntax.expressions import TableName


@dataclass(frozen=True)
class TableRoute:
    """A dispatch rule with a target."""

    matcher: TableFilter
    schema: str
    """Literal text, `{schema}` and `{table}`; empty keeps the name. The same holds for `table`."""

    table: str


@dataclass(frozen=True)
class TableRoutes:
    """The rules with a target, in order."""

    rules: tuple[TableRoute, ...] = ()

    def target(self, schema: str, table: str) -> TableName:
        """Return the names in messages; `table` is empty for a database.

        Raise DdlError if rules give a database several names.
        """
        rule = self._rule_of_schema(schema) if not table else self._rule_of_table(schema, table)
        if rule is None or not schema:
            return TableName(schema, table)
        target_schema = _target(rule.schema, schema, table, schema)
        return TableName(target_schema, _target(rule.table, schema, table, table) if table else "")

    def _rule_of_table(self, schema: str, table: str) -> TableRoute | None:
        return next((rule for rule in self.rules if rule.matcher.match(schema, table)), None)

    def _rule_of_schema(self, schema: str) -> TableRoute | None:
        rules = [rule for rule in self.rules if rule.matcher.match_schema(schema)]
        names = list(dict.fromkeys(_target(rule.schema, schema, "", schema) for rule in rules))
        if len(names) > 1:
            problem = f"target schema {names[1]} conflicts with {names[0]}"
            raise DdlError(f"ambiguous schema routing for schema {schema}: {problem}", "CDC:ErrTableRoutingFailed")
        return rules[0] if rules else None


def table_routes(rules: Sequence[DispatchRule], case_sensitive: bool) -> TableRoutes:
    """Return the rules with a target; raise ChangefeedError (CDC:ErrFilterRuleInvalid) for a matcher."""
    return TableRoutes(
        tuple(
            TableRoute(table_filter(rule.matcher, case_sensitive), rule.target_schema, rule.target_table)
            for rule in rules
            if rule.target_schema or rule.target_table
        )
    )


def find_conflict(routes: TableRoutes, names: Iterable[tuple[str, str]]) -> str:
    """Return TiCDC's text for the first two tables with one name (CDC:ErrTableRouteConflict); empty without any."""
    owners: dict[TableName, tuple[str, str]] = {}
    for name in names:
        target = routes.target(*name)
        owner = owners.setdefault(target, name)
        if owner != name:
            mapped, first, second = (f"`{schema}`.`{table}`" for schema, table in (target, owner, name))
            return f"table route conflict: target {mapped} is mapped by both source {first} and source {second}"
    return ""


def _target(expression: str, schema: str, table: str, kept: str) -> str:
    return expression.replace("{schema}", schema).replace("{table}", table) if expression else kept


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
        return Router((), changefeed.topic, changefeed.scheme, release, codec.enable_old_value, left, by_table=True)
    selectors = compile_selectors(changefeed.column_selectors, sensitive)
    matchers = [table_filter(rule.matcher, sensitive) for rule in rules]
    for rule in rules:
        validate_expression(rule.topic, codec.protocol, changefeed.scheme, release)
    default = release.topic_rules in ("none", "idle")  # everything is sent to the default topic
    used = (replace(rule, topic="") if default else rule for rule in rules)
    return Router(
        tuple(zip(matchers, used, strict=True)),
        changefeed.topic,
        changefeed.scheme,
        release,
        codec.enable_old_value,
        selectors,
        table_routes(rules, sensitive),
        time_zone=zone_of_rows(codec.time_zone, release),
    )


def matching_rule(router: Router, schema: str, table: str) -> tuple[int | None, DispatchRule]:
    """Return index and rule of a table; None and the implicit rule if none matches."""
    for index, (matcher, rule) in enumerate(router.rules):
        if matcher.match(schema, table):
            return index, rule
    return None, BY_TABLE if router.by_table else IMPLICIT


def topic_of(router: Router, schema: str, table: str) -> str:
    """Return the topic of a table's rows."""
    rule = matching_rule(router, schema, table)[1]
    return topic_name(rule.topic, schema, table) if rule.topic else router.default_topic


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
    topic = topic_name(rule.topic, table.schema, table.name) if rule.topic else router.default_topic
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
