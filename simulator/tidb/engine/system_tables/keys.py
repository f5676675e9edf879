"""Indexes and constraints as information_schema and SHOW INDEX list them.

Source: tidb pkg/executor/infoschema_reader.go (setDataForStatisticsInTable, keyColumnUsageInTable,
setDataFromTableConstraints), pkg/executor/show.go (fetchShowIndex).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simulator.tidb.ddl.expressions.stored_text import stored_expression
from simulator.tidb.engine.system_tables.definitions import Row
from simulator.tidb.model.table import Index, IndexColumn, Table, has_common_handle, row_id_column

PRIMARY = "PRIMARY"


class IndexPart(NamedTuple):
    """A column of an index."""

    key: str
    unique: bool
    place: int
    """Counted from 1."""

    column: str
    """`NULL` for an expression."""

    length: int | None
    nullable: bool
    comment: str
    visible: bool
    expression: str | None
    clustered: bool
    unpartitioned: bool
    id: int


def index_parts(table: Table) -> Iterator[IndexPart]:
    """Yield the columns of all indexes, those of the primary key of row ids first."""
    row_id = row_id_column(table)
    if row_id is not None:
        yield IndexPart(PRIMARY, True, 1, row_id, None, False, "", True, None, True, False, 0)
    for index in table.indexes:
        for place, part in enumerate(index.columns, 1):
            yield _index_part(table, index, place, part)


def _index_part(table: Table, index: Index, place: int, part: IndexColumn) -> IndexPart:
    nullable = not any(column.name == part.name and column.not_null for column in table.columns)
    return IndexPart(
        PRIMARY if index.primary else index.name,
        index.unique or index.primary,
        place,
        "NULL" if part.expression else part.name,
        part.length if part.length >= 0 else None,
        nullable,
        index.comment,
        index.visible,
        stored_expression(part.expression) if part.expression else None,
        index.primary and has_common_handle(table),
        index.unpartitioned,
        index.id,
    )


def statistics_rows(table: Table, schema: str) -> Iterator[Row]:
    for part in index_parts(table):
        yield (
            *("def", schema, table.name, str(int(not part.unique)), schema, part.key, part.place, part.column),
            *("A", 0, part.length, None, "YES" if part.nullable else "", "BTREE", "", part.comment),
            *("YES" if part.visible else "NO", part.expression),
        )


def tidb_index_rows(table: Table, schema: str) -> Iterator[Row]:
    for part in index_parts(table):
        yield (
            *(schema, table.name, int(not part.unique), part.key, part.place, part.column, part.length),
            *(part.comment, part.expression, part.id, "YES" if part.visible else "NO"),
            *("YES" if part.clustered else "NO", int(part.unpartitioned)),
        )


def key_column_rows(table: Table, schema: str) -> Iterator[Row]:
    """Yield the rows of KEY_COLUMN_USAGE."""
    row_id = row_id_column(table)
    for part in index_parts(table):
        if part.unique and part.expression is None:
            known = 1 if part.column == row_id and part.key == PRIMARY else None
            yield ("def", schema, part.key, "def", schema, table.name, part.column, part.place, known, *[None] * 3)
    for key in table.foreign_keys:
        for place, (column, reference) in enumerate(zip(key.columns, key.references, strict=True), 1):
            yield (
                *("def", schema, key.name, "def", schema, table.name, column, place, 1),
                *(key.schema, key.table, reference),
            )


def constraint_rows(table: Table, schema: str) -> Iterator[Row]:
    """Yield the rows of TABLE_CONSTRAINTS."""
    if row_id_column(table) is not None:
        yield "def", schema, PRIMARY, schema, table.name, "PRIMARY KEY"
    for index in table.indexes:
        if index.primary:
            yield "def", schema, PRIMARY, schema, table.name, "PRIMARY KEY"
        elif index.unique:
            yield "def", schema, index.name, schema, table.name, "UNIQUE"
    for key in table.foreign_keys:
        yield "def", schema, key.name, schema, table.name, "FOREIGN KEY"


def reference_rows(table: Table, schema: str) -> Iterator[Row]:
    """Yield the rows of REFERENTIAL_CONSTRAINTS."""
    for key in table.foreign_keys:
        rules = key.on_update or "NO ACTION", key.on_delete or "NO ACTION"
        yield "def", schema, key.name, "def", schema, PRIMARY, "NONE", *rules, table.name, key.table


def check_rows(table: Table, schema: str) -> Iterator[Row]:
    for check in table.checks:
        yield "def", schema, check.name, f"({stored_expression(check.expression)})"
