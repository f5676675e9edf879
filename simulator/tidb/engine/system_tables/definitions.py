"""The columns of the tables of information_schema."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

from simulator.releases import Release
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType

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
    with resources.files(__package__).joinpath("columns.tsv").open(encoding="utf-8") as lines:
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
    return replace(table, columns=tuple(_searched(column) for column in table.columns))


def _searched(column: Column) -> Column:
    if not column.name.endswith(NAMES):
        return column
    return replace(column, type=replace(column.type, collation="utf8mb4_general_ci"))


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
    usual = {"bigint": 20, "int": 11}.get(kind, -1)
    return ColumnType(kind, length if length >= 0 else usual, -1, unsigned)
