"""The tables, columns and partitions that a statement on rows names, which are resolved before it looks at any row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.settings import SqlSession
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.model.table import ROW_ID, Column, Table, row_id_column
from simulator.tidb.model.table_keys import columns_by_name
from simulator.tidb.syntax.definitions import TableName


def resolve_table(context: StatementContext, named: TableName, verb: str) -> Table:
    """Return the table that a statement writes to; `verb` is TiDB's word in the error for a view: `insert into`.

    Raises SqlError 1046, 1142, 1146, and 1105 for a view or a sequence (tidb pkg/planner/core/planbuilder.go, buildInsert).
    """
    catalog, schema = context.catalog, named.schema or context.session.settings.database
    if not schema:
        raise sql_error(1046)
    place = object_key(schema, named.name)
    table = catalog.tables.get(place)
    if table is not None:
        return table
    check_denied(verb.split()[0].upper(), named, context.session.settings)
    for kind, objects in (("view", catalog.views), ("sequence", catalog.sequences)):
        if place in objects:
            if verb == "UPDATE":
                raise sql_error(1288, named.name, verb)
            raise sql_error(1105, f"{verb} {kind} {named.name} is not supported now")
    raise sql_error(1146, schema, named.name)


DENIED = ("information_schema", "metrics_schema", "performance_schema")
"""Databases that nobody may change."""


def check_denied(verb: str, named: TableName, settings: SqlSession) -> None:
    """Raise SqlError 1142 for a table of theirs (tidb pkg/privilege/privileges.go, RequestVerification)."""
    if (named.schema or settings.database).lower() in DENIED:
        user, _, host = settings.account.partition("@")
        denied = f"{verb} command denied to user '{user}'@'{host}' for table '{named.name.lower()}'"
        raise sql_error_with_text(1142, denied)


def resolve_columns(table: Table, names: Sequence[str]) -> list[Column]:
    """Return the columns of INSERT's list. Raises SqlError 1054, 1110, and 1105 for `_tidb_rowid`."""
    columns, resolved = columns_by_name(table), list[Column]()
    seen = set()
    column_names = [name for name in names if not is_row_id(name, table)]
    for name in column_names:
        column = columns.get(name.lower())
        if column is None:
            raise sql_error(1054, name, "field list")
        if column.name in seen:
            raise sql_error(1110, column.name)
        seen.add(column.name)
        resolved.append(column)
    if len(column_names) < len(names):
        raise row_id_write_error()
    return resolved


def is_row_id(name: str, table: Table) -> bool:
    """Return whether an assigned column is `_tidb_rowid` (tidb pkg/table/column.go, FindCols)."""
    return name.lower() == ROW_ID and row_id_column(table) is None


def row_id_write_error() -> SqlError:
    return sql_error(1105, f"insert, update and replace statements for {ROW_ID} are not supported")


def resolve_partitions(table: Table, names: Sequence[str]) -> list[int]:
    """Return the ordinals of the partitions in PARTITION (…). Raises SqlError 1735 and 1747."""
    rule = table.partitioning
    if rule is None:
        raise SqlError(1747, "HY000", "PARTITION () clause on non partitioned table")
    ordinals = {partition.name.lower(): place for place, partition in enumerate(rule.partitions)}
    for name in names:
        if name.lower() not in ordinals:
            raise sql_error(1735, name, table.name)
    return [ordinals[name.lower()] for name in names]


SourcePart: TypeAlias = syntax.TableSource | syntax.DerivedTable


def source_parts(source: syntax.Source) -> list[SourcePart]:
    """Return the tables and queries that a source joins."""
    return [*source_parts(source.left), *source_parts(source.right)] if isinstance(source, syntax.Join) else [source]


def part_name(context: StatementContext, part: SourcePart) -> tuple[str, str]:
    """Return the schema (empty for an alias) and the name that mean a part of a source, in lower case."""
    if isinstance(part, syntax.DerivedTable) or part.alias:
        return "", part.alias.lower()
    return (part.name.schema or context.session.settings.database).lower(), part.name.name.lower()
