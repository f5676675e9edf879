"""Names that `ignore-event` of event filters accepts, by the releases that brought them.

Source: tiflow pkg/filter/sql_event_filter.go and pkg/filter/utils.go SupportedEventTypes, pkg/binlog-filter/filter.go.
"""

from __future__ import annotations

BY_SQL = frozenset(
    {
        *("all dml", "all ddl", "insert", "update", "delete"),
        *("create schema", "create database", "drop schema", "drop database"),
        *("create table", "drop table", "rename table", "truncate table", "alter table"),
        *("create view", "drop view"),
        *("add table partition", "drop table partition", "truncate table partition"),
    }
)
"""6.2 – 7.6: what a parser can tell from the SQL text."""

BY_ACTION = BY_SQL | {
    *("modify schema charset and collate", "recover table"),
    *("modify table comment", "modify table charset and collate"),
    *("exchange table partition", "reorganize table partition"),
    *("alter table partitioning", "remove table partitioning"),
    *("add column", "drop column", "modify column", "set default value", "rebase auto id"),
    *("add primary key", "drop primary key", "create index", "drop index", "rename index", "alter index visibility"),
    *("alter ttl info", "alter ttl remove", "multi schema change"),
}
"""8.0+: one name for each entry of the allow-list."""

FOREIGN_KEYS = frozenset({"add foreign key", "drop foreign key"})
"""8.5.4+."""

SEARCH_INDEXES = frozenset({"add fulltext index", "create hybrid index"})
"""The new architecture, from 8.5.4."""
