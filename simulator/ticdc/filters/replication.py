"""The table filter of a changefeed, with system schemas and ignored transactions.

A table is replicated if its last matching rule is positive and its schema is no system schema. Source: tiflow v8.5.3
pkg/filter/filter.go, utils.go.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from simulator.releases import V8_5, Release
from simulator.ticdc.filters.filter_rules import TableFilter, table_filter
from simulator.tidb.ddl.actions import SCHEMA_ACTIONS


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

    def ddl(self, type_code: int, schema: str, table: str, release: Release | None = None, start_ts: int = 0) -> bool:
        """Return whether a DDL of that type is kept, not discarded (`ShouldDiscardDDL`).

        An ignored start-ts discards it in some releases only (Release.start_ts_discards_ddl).
        """
        release = release or self.release
        if type_code not in release.allowed_ddl:
            return False
        if release.start_ts_discards_ddl and start_ts in self.ignored_start_ts:
            return False
        return self.schema(schema) if type_code in SCHEMA_ACTIONS else self.table(schema, table)


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
