"""What a changefeed replicates: its table filter, without system schemas and ignored transactions.

One law: a table is replicated if its last matching rule is positive and its schema is no system schema.
Source: tiflow v8.5.3 pkg/filter/filter.go, utils.go.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from simulator.filters.table import Rule, TableFilter, table_filter
from simulator.releases import V8_5, Release

SYSTEM_SCHEMAS = frozenset(
    {
        *("DM_HEARTBEAT", "INFORMATION_SCHEMA", "INSPECTION_SCHEMA", "METRICS_SCHEMA", "MYSQL"),
        *("PERFORMANCE_SCHEMA", "SYS"),
    }
)
"""TiDB's, compared in upper case (tidb: pkg/util/filter/schema.go)."""

CDC_SCHEMAS = frozenset({"tidb_cdc", "lightning_task_info"})
"""Compared as they are written."""

SCHEMA_DDL = frozenset({1, 2, 26})
"""CREATE, DROP and ALTER DATABASE: only the schema is asked for (`IsSchemaDDL`)."""


@dataclass(frozen=True)
class Replication:
    """A changefeed's filter."""

    tables: TableFilter
    ignored_start_ts: frozenset[int] = frozenset()

    def table(self, schema: str, table: str, start_ts: int = 0) -> bool:
        """Whether row changes of the table, in a transaction of that start-ts, are sent."""
        return start_ts not in self.ignored_start_ts and not is_system(schema) and self.tables.match(schema, table)

    def schema(self, schema: str) -> bool:
        """Whether statements on the database itself are sent."""
        return not is_system(schema) and self.tables.match_schema(schema)

    def ddl(self, type_code: int, schema: str, table: str, release: Release = V8_5) -> bool:
        """Whether a DDL of that type is kept, not discarded (`ShouldDiscardDDL`)."""
        if type_code not in release.allowed_ddl:
            return False
        return self.schema(schema) if type_code in SCHEMA_DDL else self.table(schema, table)

    def why(self, schema: str, table: str) -> str:
        """One line for `explain`: the rule that decides about the table."""
        if is_system(schema):
            return f"{schema} is a system schema, which TiCDC never replicates"
        rule: Rule | None = self.tables.deciding_rule(schema, table)
        return f"rule {rule.text} ({rule.origin})" if rule else "no rule matches"


def replication(
    rules: Sequence[str], case_sensitive: bool = False, ignore_txn_start_ts: Collection[int] = ()
) -> Replication:
    """The filter of a changefeed; no rules mean `*.*`. Raises ChangefeedError (CDC:ErrFilterRuleInvalid)."""
    return Replication(table_filter(rules or ("*.*",), case_sensitive), frozenset(ignore_txn_start_ts))


def is_system(schema: str) -> bool:
    """Whether TiCDC ignores the schema whatever the rules say."""
    return schema in CDC_SCHEMAS or schema.upper() in SYSTEM_SCHEMAS
