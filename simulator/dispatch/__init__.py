"""Where an event goes: topic and partition, as TiCDC's dispatchers choose them."""
# router(changefeed: Changefeed) -> Router                    compiles rules; raises ChangefeedError (matcher, topic)
# route(router, table: Table, release=V8_5) -> Route          once per table; raises ChangefeedError (index, columns)
# verify_tables(router, tables: Iterable[Table]) -> None      TiCDC's check at the start
# topic_of_ddl(router, schema, table, old: tuple[str, str] | None = None) -> str
# active_topics(router, tables: Iterable[tuple[str, str]]) -> tuple[str, ...]
# Route(dispatcher, topic, schema, table, hashed, groups_by)  groups_by: "table" | "hash" | "commit_ts"
# hash_column(route, table: Table, columns: Mapping[str, Column]) -> Column           Spark int (wraps)
# hash_row(route, table: Table, row: Mapping[str, str | bytes | None]) -> int          unsigned
# partition_of(route, hash: int, commit_ts: int, n: int) -> int
# partition_key(route, hash: int, commit_ts: int) -> str       TiCDC's grouping key
# partition_column(routes: Sequence[Route], counts: Mapping[str, int], table, hash_, commit_ts: Column) -> Column
# write(*parts: bytes) -> int ; inertia(writes) -> int          PositionInertia; value_text(value) ColumnValueString
# topics.substitute(expression, schema, table) -> str ; topics.validate(expression, protocol, scheme="kafka") -> None
# DISPATCHERS: dict[str, ...]
