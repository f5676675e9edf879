"""A table under a changefeed: whether it is replicated and why, its handle key, the destination of its rows, and SHOW
CREATE TABLE."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from simulator.explain.schema_differences import TableView, describe, table_view
from simulator.releases import Release
from simulator.ticdc.changefeed.model import Changefeed, DispatchRule
from simulator.ticdc.ddl.classify import is_eligible
from simulator.ticdc.dispatch.dispatchers import TS
from simulator.ticdc.dispatch.routing import matching_rule, route, router
from simulator.ticdc.filters.filter_rules import filter_rule, replication
from simulator.ticdc.table_info import handle_index, handle_key
from simulator.tidb.ddl.create_table_text import TextStyle, create_table_text
from simulator.tidb.model.table import Table


@dataclass(frozen=True)
class TableExplained:
    table: TableView
    release: str
    architecture: str
    replicated: bool
    filter_rule: str
    """The rule of the table filter that decides."""

    eligible: bool
    """Whether it has a valid index, or force-replicate is on."""

    force_replicate: bool
    handle: str
    """The key that identifies a row: `primary key`, `clustered primary key`, `unique key x`, or empty."""

    dispatcher_rule: str
    """The matcher of the dispatch rule, or TiCDC's own `*.*`."""

    dispatcher: str
    hashed: tuple[str, ...]
    """Columns whose values the dispatcher hashes, besides the names of schema and table."""

    topic: str
    topic_rule: str
    """Its expression; empty for the default topic."""

    sent_as: str
    """Full name in messages, if table routing changes it."""

    created: str
    """What SHOW CREATE TABLE shows."""


def explain_table(table: Table, changefeed: Changefeed, release: Release) -> TableExplained:
    """Explain a table; raises ChangefeedError for a rule that TiCDC rejects, or that the table does not fit."""
    rules = replication(changefeed.rules, changefeed.case_sensitive, changefeed.ignore_txn_start_ts, release)
    routes, name = router(changefeed, release), (table.schema, table.name)
    to, (number, rule) = route(routes, table), matching_rule(routes, *name)
    return TableExplained(
        table_view(table, release),
        release.name,
        release.architecture,
        rules.table(*name),
        filter_rule(rules, *name),
        is_eligible(table, changefeed.force_replicate),
        changefeed.force_replicate,
        _handle(table),
        _rule(number, rule),
        to.dispatcher,
        tuple(column for column, _ in to.hashed),
        to.topic,
        rule.topic,
        ".".join(to.sent_as or ()),
        create_table_text(table, TextStyle(default_parentheses=release.default_parentheses)),
    )


def _handle(table: Table) -> str:
    index = handle_index(table)
    if not handle_key(table):
        return ""
    if index is None or index.primary:
        return "clustered primary key" if table.clustered else "primary key"
    return f"unique key {index.name}"


def _rule(number: int | None, rule: DispatchRule) -> str:
    matcher = ", ".join(rule.matcher)
    return f"{matcher} (TiCDC's own)" if number is None else f"{matcher} (sink.dispatchers[{number + 1}])"


def table_as_dict(explained: TableExplained) -> dict[str, object]:
    return asdict(explained)


def table_lines(explained: TableExplained) -> Iterator[str]:
    """Yield columns and keys, then what the changefeed does with the rows."""
    table = explained.table
    yield f"{table.schema}.{table.table} under TiCDC {explained.release} ({explained.architecture})"
    yield ""
    for column in table.columns:
        yield f"column       {column.name} {describe(column)}"
    for key in table.keys:
        yield f"key          {key.name} {describe(key)}"
    if table.partitions:
        yield f"partitions   {', '.join(table.partitions)}"
    yield ""
    yield f"filter       {'replicated' if explained.replicated else 'not replicated'}: {explained.filter_rule}"
    yield f"eligible     {_eligible_words(explained)}"
    handle = f"{', '.join(table.handle_key)}, of the {explained.handle}" if explained.handle else "none"
    yield f"handle key   {handle}"
    yield f"dispatcher   {explained.dispatcher}, by rule {explained.dispatcher_rule}{_hashed(explained)}"
    yield f"topic        {explained.topic}{f', of expression {explained.topic_rule}' if explained.topic_rule else ''}"
    if explained.sent_as:
        yield f"sent as      {explained.sent_as}"
    yield ""
    yield from explained.created.split("\n")


def _eligible_words(explained: TableExplained) -> str:
    if explained.handle:
        return "yes, it has a valid index"
    return (
        "yes, with force-replicate alone"
        if explained.eligible
        else "no, it has no valid index: a primary key, or a "
        "unique key whose columns are all NOT NULL and not virtual (force-replicate = true replicates it)"
    )


def _hashed(explained: TableExplained) -> str:
    if explained.dispatcher == TS:
        return ": the commit-ts"
    values = " and the values of " + ", ".join(explained.hashed) if explained.hashed else ""
    return f": schema, table{values}"
