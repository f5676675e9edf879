"""Columns, indexes and constraints as information_schema and SHOW list them; the columns of the system tables.

Sources: tidb pkg/table/column.go (NewColDesc), pkg/executor/infoschema_reader.go (dataForColumnsInTable,
setDataForStatisticsInTable, keyColumnUsageInTable, setDataFromTableConstraints), pkg/executor/show.go
(fetchShowIndex).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import NamedTuple

from simulator.releases import Release
from simulator.tidb.ddl.create_table_text import current_time, has_charset
from simulator.tidb.ddl.defaults import row_default, stored_expression
from simulator.tidb.engine import PRIMARY, UNIQUE, key_flags
from simulator.tidb.engine.context import local_timestamp
from simulator.tidb.engine.settings import SqlSession
from simulator.tidb.model.table import (
    Column,
    Index,
    IndexColumn,
    Table,
    has_common_handle,
    row_id_column,
    shown_columns,
)
from simulator.tidb.model.types import (
    CHARSETS,
    DEFAULT_SIZES,
    TYPES,
    ColumnType,
    bare_name,
    family,
    is_text,
    mysql_type,
    type_arguments,
)

SCHEMA = "information_schema"
LISTED_FIRST = "INFORMATION_SCHEMA"
SYSTEM_DATABASES = (LISTED_FIRST, "METRICS_SCHEMA", "PERFORMANCE_SCHEMA", "mysql", "sys")
"""The databases of every TiDB, `sys` of later releases. Most have no tables here."""
Row = Sequence[str | int | None]

TABLES_OF_THE_CLUSTER = """
ANALYZE_STATUS ATTRIBUTES CLIENT_ERRORS_SUMMARY_BY_HOST CLIENT_ERRORS_SUMMARY_BY_USER CLIENT_ERRORS_SUMMARY_GLOBAL
CLUSTER_CONFIG CLUSTER_DEADLOCKS CLUSTER_HARDWARE CLUSTER_INFO CLUSTER_LOAD CLUSTER_LOG CLUSTER_MEMORY_USAGE
CLUSTER_MEMORY_USAGE_OPS_HISTORY CLUSTER_PROCESSLIST CLUSTER_SLOW_QUERY CLUSTER_STATEMENTS_SUMMARY
CLUSTER_STATEMENTS_SUMMARY_EVICTED CLUSTER_STATEMENTS_SUMMARY_HISTORY CLUSTER_SYSTEMINFO CLUSTER_TIDB_INDEX_USAGE
CLUSTER_TIDB_TRX CLUSTER_TRX_SUMMARY COLUMN_STATISTICS DATA_LOCK_WAITS DDL_JOBS DEADLOCKS FILES INSPECTION_RESULT
INSPECTION_RULES INSPECTION_SUMMARY MEMORY_USAGE MEMORY_USAGE_OPS_HISTORY METRICS_SUMMARY METRICS_SUMMARY_BY_LABEL
METRICS_TABLES OPTIMIZER_TRACE PLACEMENT_POLICIES PROFILING RESOURCE_GROUPS RUNAWAY_WATCHES SLOW_QUERY STATEMENTS_SUMMARY
STATEMENTS_SUMMARY_EVICTED STATEMENTS_SUMMARY_HISTORY TABLE_STORAGE_STATS TIDB_CHECK_CONSTRAINTS TIDB_HOT_REGIONS
TIDB_HOT_REGIONS_HISTORY TIDB_INDEX_USAGE TIDB_SERVERS_INFO TIDB_TRX TIFLASH_REPLICA TIFLASH_SEGMENTS TIFLASH_TABLES
TIKV_REGION_PEERS TIKV_REGION_STATUS TIKV_STORE_STATUS TRX_SUMMARY USER_ATTRIBUTES VARIABLES_INFO
""".split()
"""The tables of information_schema that are listed, but not simulated (tidb v8.0 pkg/infoschema/tables.go, cluster.go)."""

NAMES = ("_SCHEMA", "_NAME")
"""The ends of the names of columns that TiDB searches without regard to case."""

TYPE = re.compile(r"([a-z]+)(\d*)(u?)(!?)")
TYPE_NAMES = {"v": "varchar", "b": "bigint", "i": "int", "dt": "datetime"}


def system_databases(release: Release) -> Sequence[str]:
    """Return the databases that a TiDB has from the start."""
    return SYSTEM_DATABASES if release.sys_database else SYSTEM_DATABASES[:-1]


@cache
def server_tables() -> Sequence[Table]:
    """Return the tables of all databases of the server."""
    columns: dict[str, list[Column]] = {}
    with resources.files(__package__).joinpath("information_schema.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            columns.setdefault(row["table"], []).append(_column(row["column"], row["type"]))
    named = [(name.rpartition("."), tuple(each)) for name, each in columns.items()]
    return [Table(schema or SCHEMA, name, each) for (schema, _, name), each in named]


@cache
def system_definitions() -> Mapping[str, Table]:
    """Return the tables of information_schema by their names in lower case."""
    return {table.name.lower(): table for table in server_tables() if table.schema == SCHEMA}


def searched(table: Table) -> Table:
    """Return a table with the collation in which TiDB searches its names (tidb
    pkg/planner/core/memtable_infoschema_extractor.go)."""
    columns = (
        replace(column, type=replace(column.type, collation="utf8mb4_general_ci"))
        if column.name.endswith(NAMES)
        else column
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def _column(name: str, written: str) -> Column:
    """Return a column of a type such as `v64!`: VARCHAR(64) NOT NULL; `u` stands for UNSIGNED."""
    match = TYPE.fullmatch(written)
    assert match is not None, written
    word, size, unsigned, not_null = match.groups()
    if word.endswith("u"):
        word, unsigned = word[:-1], "u"
    return Column(name, column_type(TYPE_NAMES.get(word, word), int(size or -1), bool(unsigned)), bool(not_null))


def column_type(kind: str, length: int = -1, unsigned: bool = False) -> ColumnType:
    """Return the type of a column that the server makes."""
    if kind == "varchar" or kind.endswith("text"):
        return ColumnType(kind, length, charset="utf8mb4", collation="utf8mb4_bin")
    return ColumnType(kind, length if length >= 0 else TYPES[kind].length, -1, unsigned)


PRIVILEGES = "select,insert,update,references"


class DescribedColumn(NamedTuple):
    name: str
    type: str
    collation: str | None
    null: str
    key: str
    default: str | None
    extra: str
    comment: str


def describe_column(column: Column, table: Table, session: SqlSession, release: Release) -> DescribedColumn:
    flags = key_flags(column, table)
    key = "PRI" if flags & PRIMARY else "UNI" if flags & UNIQUE else "MUL" if flags else ""
    collation = column.type.collation if has_charset(column.type) else None
    null = "NO" if column.not_null else "YES"
    default = default_shown(column, session)
    type = mysql_type(column.type, full=True)
    return DescribedColumn(column.name, type, collation, null, key, default, _extra(column, release), column.comment)


def default_shown(column: Column, session: SqlSession) -> str | None:
    """Return the default of a column, in the session's time zone."""
    if column.default is None or column.default_dropped or column.generated:
        return None
    if column.default_expression:
        return current_time(column) or stored_expression(column.default)
    if column.type.name == "bit":
        return f"b'{int(row_default(column) or 0):b}'"
    return local_timestamp(column.default, session) if column.type.name == "timestamp" else column.default


def _extra(column: Column, release: Release) -> str:
    if column.auto_increment:
        return "auto_increment"
    if column.on_update:
        digits = f"({column.type.decimal})" if column.type.decimal > 0 else ""
        return f"DEFAULT_GENERATED on update CURRENT_TIMESTAMP{digits}"
    if column.generated:
        return f"{column.generated.upper()} GENERATED"
    is_marked = column.default_expression and not current_time(column) and release.default_parentheses
    return "DEFAULT_GENERATED" if is_marked else ""


def column_rows(table: Table, schema: str, session: SqlSession, release: Release) -> Iterator[Row]:
    """Yield the rows of information_schema.COLUMNS."""
    for place, column in enumerate(shown_columns(table), 1):
        shown, type = describe_column(column, table, session, release), column.type
        characters, octets, precision, scale, moment = _sizes(column)
        unsigned = " unsigned" * (type.unsigned and type.name not in ("bit", "year"))
        yield (
            *("def", schema, table.name, column.name, place, shown.default, shown.null, bare_name(type)),
            *(characters, octets, precision, scale, moment),
            *(type.charset if has_charset(type) else None, shown.collation),
            *(bare_name(type) + type_arguments(type) + unsigned, shown.key, shown.extra, PRIVILEGES, column.comment),
            *(stored_expression(column.generated_expression) if column.generated else "", None),
        )


def _sizes(column: Column) -> tuple[int | None, int | None, int | None, int | None, int | None]:
    """Return length in characters and bytes, precision and scale of a number, digits of a second."""
    type, kind = column.type, family(column.type)
    length, decimal = DEFAULT_SIZES.get(type.name, (-1, -1))
    length = type.length if type.length >= 0 else length
    decimal = type.decimal if type.decimal >= 0 else decimal
    if kind in ("enum", "set"):
        sizes = [len(member.encode()) for member in type.elements]
        length = max(sizes, default=0) if kind == "enum" else sum(sizes) + len(sizes) - 1
    if kind in ("enum", "set") or is_text(type):
        return length, length * CHARSETS[type.charset][1], None, None, None
    if kind in ("time", "datetime"):
        return None, None, None, None, decimal
    if kind in ("integer", "bit", "decimal", "float"):
        return None, None, length, decimal if decimal >= 0 else None, None
    return None, None, None, None, None


PRIMARY_KEY = "PRIMARY"


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
        yield IndexPart(PRIMARY_KEY, True, 1, row_id, None, False, "", True, None, True, False, 0)
    for index in table.indexes:
        for place, part in enumerate(index.columns, 1):
            yield _index_part(table, index, place, part)


def _index_part(table: Table, index: Index, place: int, part: IndexColumn) -> IndexPart:
    nullable = not any(column.name == part.name and column.not_null for column in table.columns)
    return IndexPart(
        PRIMARY_KEY if index.primary else index.name,
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
            known = 1 if part.column == row_id and part.key == PRIMARY_KEY else None
            yield ("def", schema, part.key, "def", schema, table.name, part.column, part.place, known, *[None] * 3)
    for key in table.foreign_keys:
        for place, (column, reference) in enumerate(zip(key.columns, key.references, strict=True), 1):
            yield (
                *("def", schema, key.name, "def", schema, table.name, column, place, 1),
                *(key.schema, key.table, reference),
            )


def constraint_rows(table: Table, schema: str) -> Iterator[Row]:
    """Yield the rows of TABLE_CONSTRAINTS."""
    for part in index_parts(table):
        if part.unique and part.place == 1:
            kind = "PRIMARY KEY" if part.key == PRIMARY_KEY else "UNIQUE"
            yield "def", schema, part.key, schema, table.name, kind
    for key in table.foreign_keys:
        yield "def", schema, key.name, schema, table.name, "FOREIGN KEY"


def reference_rows(table: Table, schema: str) -> Iterator[Row]:
    """Yield the rows of REFERENTIAL_CONSTRAINTS."""
    for key in table.foreign_keys:
        rules = key.on_update or "NO ACTION", key.on_delete or "NO ACTION"
        yield "def", schema, key.name, "def", schema, PRIMARY_KEY, "NONE", *rules, table.name, key.table


def check_rows(table: Table, schema: str) -> Iterator[Row]:
    for check in table.checks:
        yield "def", schema, check.name, f"({stored_expression(check.expression)})"
