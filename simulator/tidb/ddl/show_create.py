"""The CREATE TABLE of a table.

Parsing it gives the same table, except for ids, vector indexes, and whether it is cached or temporary.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import SchemaError
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.ddl.derive import column_text, foreign_key_text, index_text, partitioning_text, ttl_text
from simulator.tidb.model.table import Index, Table
from simulator.tidb.restore.names import quote_literal, quote_name


def show_create(table: Table) -> str:
    """Return the original statement if it still defines the table, else a new one."""
    try:
        if table.statement and create_table(table.statement, table.schema) == table:
            return table.statement
    except SchemaError:  # a text that leans on another table, as CREATE TABLE … LIKE does
        pass
    return create_statement(table)


def create_statement(table: Table) -> str:
    """Return a statement with columns, keys in the order of their creation, options and partitions."""
    parts = [column_text(column, table) for column in table.columns]
    parts += _keys(table)
    lines = ",\n".join(f"  {part}" for part in parts)
    rule = f"\nPARTITION BY {partitioning_text(table.partitioning)}" if table.partitioning else ""
    return f"CREATE TABLE {quote_name(table.name)} (\n{lines}\n) {' '.join(_options(table))}{rule}"


def _keys(table: Table) -> Iterator[str]:
    if table.primary_key and not any(index.primary for index in table.indexes):
        yield f"PRIMARY KEY ({', '.join(map(quote_name, table.primary_key))}) CLUSTERED"
    yield from (_key(index, table.clustered) for index in table.indexes)
    yield from map(foreign_key_text, table.foreign_keys)
    yield from (
        f"CONSTRAINT {quote_name(check.name)} CHECK ({check.expression}){'' if check.enforced else ' NOT ENFORCED'}"
        for check in table.checks
    )


def _key(index: Index, clustered: bool) -> str:
    text = index_text(index)
    return text.replace(" NONCLUSTERED", " CLUSTERED", 1) if index.primary and clustered else text


def _options(table: Table) -> Iterator[str]:
    yield f"DEFAULT CHARSET={table.charset} COLLATE={table.collation}"
    yield from (f"{name}={value}" for name, value in table.options)
    if table.comment:
        yield f"COMMENT={quote_literal(table.comment)}"
    if table.ttl:
        yield ttl_text(table.ttl)
