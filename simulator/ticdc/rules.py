"""The compiled rules of a changefeed: which tables, DDL statements and rows are sent, and where.

A table is replicated if its last matching rule is positive and its schema is no system schema (tiflow v8.5.3
pkg/filter/filter.go, utils.go).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from simulator.errors import ChangefeedError, UserError
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.dispatch import Router, router
from simulator.ticdc.filters import TableFilter, table_filter
from simulator.ticdc.filters.event_filters import EventFilters, event_filters
from simulator.ticdc.mounter import zone_of_rows
from simulator.tidb.ddl.table_options import written_settings
from simulator.tidb.model.table import Name, SoftDelete, Table


@dataclass(frozen=True)
class Replication:
    """The filter of a changefeed."""

    tables: TableFilter
    ignored_start_ts: frozenset[int] = frozenset()
    release: Release = V8_5

    def table(self, schema: str, table: str, start_ts: int = 0) -> bool:
        """Return whether row changes of the table, in a transaction with that start-ts, are sent."""
        ignored = start_ts in self.ignored_start_ts or is_system(schema, self.release)
        return not ignored and self.tables.match(schema, table)

    def schema(self, schema: str) -> bool:
        """Return whether DDL statements on the database itself are sent."""
        return not is_system(schema, self.release) and self.tables.match_schema(schema)


def replication(
    rules: Sequence[str],
    case_sensitive: bool = False,
    ignore_txn_start_ts: Collection[int] = (),
    release: Release = V8_5,
) -> Replication:
    """Return the filter of a changefeed; no rules mean `*.*`. Raise ChangefeedError (CDC:ErrFilterRuleInvalid)."""
    return Replication(table_filter(rules or ("*.*",), case_sensitive), frozenset(ignore_txn_start_ts), release)


def is_system(schema: str, release: Release = V8_5) -> bool:
    """Return whether the release never replicates the schema."""
    own = schema.lower() if release.cdc_schemas_in_any_case else schema
    return own in release.cdc_schemas or schema.upper() in release.system_schemas


def filter_rule(replication: Replication, schema: str, table: str) -> str:
    """Return the rule of the table filter that decides about a table, in words."""
    if is_system(schema, replication.release):
        return f"{schema} is a system schema, which TiCDC never replicates"
    rule = replication.tables.deciding_rule(schema, table)
    if rule is None:
        return "no rule matches"
    where = "filter.rules" if rule.origin.startswith("<cmdline>") else rule.origin
    return f"rule {rule.text} of {where}"


@dataclass(frozen=True)
class ChangefeedRules:
    """The filters and the router of a changefeed."""

    replication: Replication
    event_filters: EventFilters
    router: Router
    changefeed: Changefeed
    release: Release

    def replicates(self, table: Table) -> bool:
        """Return whether the changefeed's filter passes the table's rows."""
        return self.replication.table(table.schema, table.name)


def changefeed_rules(changefeed: Changefeed, release: Release) -> ChangefeedRules:
    """Return the rules of a changefeed; raise ChangefeedError for a rule that TiCDC rejects."""
    sensitive = changefeed.case_sensitive
    return ChangefeedRules(
        replication(changefeed.rules, sensitive, changefeed.ignore_txn_start_ts, release),
        event_filters(
            changefeed.event_filters,
            release,
            sensitive,
            changefeed.sql_mode,
            zone_of_rows(changefeed.codec.time_zone, release),
        ),
        router(changefeed, release),
        changefeed,
        release,
    )


def mode_problem(rules: ChangefeedRules, name: Name, setting: SoftDelete | None) -> str:
    """Return why TiCDC stops at the first event of a table or a view: it has no ACTIVE_ACTIVE under
    `enable-active-active`; else an empty text (ticdc v26.3.1 downstreamadapter/dispatcher/basic_dispatcher.go
    ensureActiveActiveTableInfo)."""
    if not rules.changefeed.active_active or setting and setting.active_active:
        return ""
    return f"invalid replica config, table {'.'.join(name)} is not active-active but enable-active-active is true"


def check_tables(rules: ChangefeedRules, tables: Iterable[Table]) -> None:
    """Raise ChangefeedError for tables of a changefeed that TiCDC refuses, and for expressions of event filters that it
    refuses for them; UserError for tables of files that are not simulated."""
    replicated = [table for table in tables if rules.replicates(table)]
    for table in replicated:
        if written_settings(table, rules.release):
            raise UserError(
                f"{table.schema}.{table.name}: rows of a table with SOFTDELETE from files are not simulated; accepted: "
                "SQL that creates and fills it"
            )
        if problem := mode_problem(rules, (table.schema, table.name), table.soft_delete):
            raise ChangefeedError(problem, "CDC:ErrInvalidReplicaConfig")
    if any(rule.setting.expressions for rule in rules.event_filters.rules):
        from simulator.ticdc.filters import row_expressions  # MySQL's functions take long to import

        row_expressions.check_expressions(rules.event_filters, replicated)
