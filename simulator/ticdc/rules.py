"""The compiled rules of a changefeed: which tables, DDL statements and rows are sent, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simulator.errors import ChangefeedError, UserError
from simulator.releases import Release
from simulator.ticdc.changefeed.model import Changefeed
from simulator.ticdc.dispatch import Router, router
from simulator.ticdc.filters import Replication, replication
from simulator.ticdc.filters.event_filters import EventFilters, event_filters
from simulator.ticdc.mounter import zone_of_rows
from simulator.tidb.ddl.table_options import written_settings
from simulator.tidb.model.table import Name, SoftDelete, Table


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
