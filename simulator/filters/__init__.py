"""TiDB's table-filter language, and what a changefeed replicates."""
# from simulator.filters.table import TableFilter, table_filter
#   table_filter(rules: Sequence[str], case_sensitive: bool = True) -> TableFilter      raises ChangefeedError
#   TableFilter.match(schema, table) -> bool; .match_schema(schema) -> bool; .deciding_rule(schema, table) -> Rule | None
# from simulator.filters.replication import Replication, replication
#   replication(rules, case_sensitive=False, ignore_txn_start_ts=()) -> Replication  (level "ticdc" of the vectors)
#   Replication.table(schema, table, start_ts=0) -> bool; .schema(schema) -> bool
#   Replication.ddl(type_code, schema, table, release=V8_5) -> bool   (kind "ddl_discard": True = kept)
