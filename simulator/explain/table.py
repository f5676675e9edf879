"""A table under a changefeed: whether it is replicated and why, which key identifies its rows, and where they go.

One law: it asks the modules that the pipeline asks, and works nothing out itself.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from simulator.explain.schema_differences import TableShown, shown
from simulator.releases import Release
from simulator.ticdc.changefeed.model import Changefeed, DispatchRule
from simulator.ticdc.ddl.allow import eligible
from simulator.ticdc.dispatch.routing import matching_rule, route, router
from simulator.ticdc.filters.replication import filter_rule, replication
from simulator.ticdc.table_info import handle_index, handle_key
from simulator.tidb.model.table import Table


@dataclass(frozen=True)
class TableExplained:
    table: TableShown
    release: str
    architecture: str
    replicated: bool
    filter_rule: str
    """The rule of the table filter that decides."""

    eligible: bool
    """Whether it has a valid index, or force-replicate is on."""

    force_replicate: bool
    handle: str
    """Which key identifies a row: `primary key`, `clustered primary key`, `unique key x`, or nothing."""

    dispatcher_rule: str
    """The matcher of the dispatch rule, `*.*` of TiCDC's own where none matches."""

    dispatcher: str
    hashed: tuple[str, ...]
    """Columns whose values the dispatcher hashes, beside the names of schema and table."""

    topic: str
    topic_rule: str
    """Its expression; empty for the default topic."""

    sent_as: str
    """Full name in messages, where table routing gives another one."""


def explain_table(table: Table, changefeed: Changefeed, release: Release) -> TableExplained:
    """Raises ChangefeedError for a rule that TiCDC rejects, or that the table does not fit."""
    rules = replication(changefeed.rules, changefeed.case_sensitive, changefeed.ignore_txn_start_ts, release)
    routes, name = router(changefeed, release), (table.schema, table.name)
    to, (number, rule) = route(routes, table), matching_rule(routes, *name)
    return TableExplained(
        shown(table, release), release.name, release.architecture, rules.table(*name),
        filter_rule(rules, *name), eligible(table, changefeed.force_replicate), changefeed.force_replicate,
        _handle(table), _rule(number, rule), to.dispatcher, tuple(column for column, _ in to.hashed), to.topic,
        rule.topic, ".".join(to.sent_as or ()),
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


def table_as_dict(found: TableExplained) -> dict[str, object]:
    """For programs."""
    return asdict(found)
