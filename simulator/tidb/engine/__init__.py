"""Executes SQL on the database. Here is what a statement does: its result, and the events that a changefeed sees of it, in
the order of their commits.

The columns of a result have the types, lengths and flags that MySQL's protocol tells a client (tidb
pkg/server/internal/column/convert.go ConvertColumnInfo, column.go Info.Dump, dumpType, dumpFlag).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union

import pyarrow as pa

from simulator.errors import DdlError, SqlError
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Job
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import CHARSETS, ColumnType, family, is_binary, is_unsigned, type_code
from simulator.tidb.syntax.definitions import Statement


@dataclass(frozen=True)
class TableChanges:
    """The net changes of a transaction in one table, one for each key of TiKV. All arrays have equal length."""

    table: Table
    """Its definition at the commit."""

    partition: pa.Array
    """int32 ordinal; 0 for a table without partitions. A row that changes its partition is deleted from one and
    inserted into the other."""

    handle: pa.Array
    """binary: the clustered key, else `_tidb_rowid`, in the sort order of TiKV's keys within a table."""

    row_id: pa.Array
    """int64: `_tidb_rowid`, or the integer of a clustered key as signed bits; null for a common handle."""

    before: pa.Array
    """binary row images; null for an INSERT. Equal to `after` for a row that was written without a change."""

    after: pa.Array
    """null for a DELETE."""

    lacking: pa.Array | None = None
    """binary: the ids of the columns that the bytes of the row before do not have, because it was last written before they
    were added, with commas between them; null for none. None if no row lacks a column."""

    gone: pa.Array | None = None
    """binary: the last image of rows that a transaction inserts and deletes, null for others. None if there are none."""

    are_rewritten: bool = False
    """Whether MODIFY COLUMN writes the rows as they are, so that they lack the same columns after it."""


@dataclass(frozen=True)
class CommittedTransaction:
    """A transaction with changes."""

    changes: tuple[TableChanges, ...]


@dataclass(frozen=True)
class CompletedDdl:
    """A DDL statement that ran jobs."""

    statement: Statement
    text: str
    database: str
    """The current database."""

    jobs: tuple[Job, ...]
    before: Catalog
    after: Catalog


Event: TypeAlias = Union[CommittedTransaction, CompletedDdl]


@dataclass(frozen=True)
class ResultSet:
    columns: tuple[ResultColumn, ...]
    rows: list[tuple[bytes | None, ...]]
    """What a client is sent of each value: its text, or the bytes of a binary string; None for NULL."""


@dataclass(frozen=True)
class StatementOutcome:
    """The outcome of a statement that TiDB executes."""

    events: tuple[Event, ...] = ()
    result: ResultSet | None = None
    affected: int = 0
    insert_id: int = 0
    """The first id that the statement generated, or else the last one that it inserted into an AUTO_INCREMENT column."""

    warnings: tuple[str, ...] = ()
    """As SHOW WARNINGS prints them: `1292 Incorrect datetime value: …`."""

    message: str = ""
    """What a client is told beside the counts: `Records: 2  Duplicates: 0  Warnings: 0`."""


@dataclass(frozen=True)
class FailedStatement:
    """A statement that TiDB refuses."""

    error: SqlError | DdlError
    """In TiDB's words."""

    events: tuple[Event, ...] = ()
    """The transaction that DDL commits first, and the jobs before the failed one."""


NOT_NULL, PRIMARY, UNIQUE, MULTIPLE, BLOB, UNSIGNED, ZEROFILL, BINARY, ENUM, AUTO_INCREMENT, TIMESTAMP, SET = (
    1 << bit for bit in range(12)
)
NO_DEFAULT, ON_UPDATE_NOW, NUMBER = 1 << 12, 1 << 13, 1 << 15
"""Flags of a column (tidb pkg/parser/mysql/type.go)."""

VAR_STRING, STRING, NULL = 253, 254, 6
"""Type codes that no column of a table has, or not under this name."""

ANY_DECIMALS = 31
"""The digits behind the point of a type that has no fixed number of them (mysql.NotFixedDec)."""

COLLATION_IDS = {
    "gbk_chinese_ci": 28,
    "utf8_general_ci": 33,
    "utf8mb4_general_ci": 45,
    "utf8mb4_bin": 46,
    "latin1_bin": 47,
    "binary": 63,
    "ascii_bin": 65,
    "utf8_bin": 83,
    "gbk_bin": 87,
    "utf8_unicode_ci": 192,
    "utf8mb4_unicode_ci": 224,
    "gb18030_chinese_ci": 248,
    "gb18030_bin": 249,
    "utf8mb4_0900_ai_ci": 255,
    "utf8mb4_0900_bin": 309,
}
"""The numbers of TiDB's collations (tidb pkg/parser/charset/charset.go), in their order."""


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result."""

    name: str
    type: ColumnType
    """The name `null` is the type of NULL."""

    flags: int = 0
    """MySQL's flags of a column. They are 0 for most expressions."""

    origin: tuple[str, str, str, str] = ("", "", "", "")
    """Schema, table as the query calls it, table and column, if the column shows one of a table unchanged."""

    @property
    def binary(self) -> bool:
        """Whether the values are binary strings."""
        return self.type.name != "null" and is_binary(self.type)

    @property
    def code(self) -> int:
        """The type's number in MySQL's protocol: VAR_STRING for VARCHAR, STRING for ENUM and SET."""
        if self.type.name == "null":
            return NULL
        if self.type.name in ("enum", "set"):
            return STRING
        return VAR_STRING if self.type.name == "varchar" else type_code(self.type)

    @property
    def charset_id(self) -> int:
        """The number of the character set's default collation; 63 for everything that is no text."""
        return COLLATION_IDS[CHARSETS[self.type.charset][0]]

    @property
    def length(self) -> int:
        """The largest width of a value, in bytes for texts; 0 if it is not known."""
        type, size = self.type, max(self.type.length, 0)
        if type.name == "null":
            return 0
        if type.name == "decimal":
            return size + 1 + (type.decimal > 0)
        if family(type) in ("date", "time", "datetime"):
            digits = type.decimal + 1 if type.decimal > 0 else 0
            return {"date": 10, "time": 10}.get(type.name, 19) + digits
        if family(type) in ("enum", "set"):
            size = max(map(len, type.elements), default=0) if type.name == "enum" else len(",".join(type.elements))
        texts = family(type) in ("string", "enum", "set")
        return size * (CHARSETS[type.charset][1] if texts else 1)

    @property
    def decimals(self) -> int:
        """The digits behind the point; 31 for a type without a fixed number of them."""
        type = self.type
        if type.name == "null" or family(type) in ("integer", "bit", "year", "date", "time", "datetime"):
            return max(type.decimal, 0)
        return type.decimal if type.decimal >= 0 else ANY_DECIMALS


def type_flags(type: ColumnType) -> int:
    """Return the flags that follow from a type. Numbers and times have no BINARY (tidb pkg/ddl/add_column.go,
    processColumnFlags)."""
    if type.name == "null":
        return BINARY
    kind = family(type)
    flags = UNSIGNED * is_unsigned(type) | ZEROFILL * (type.zerofill or type.name == "year")
    flags |= BINARY * is_binary(type) | BLOB * (kind == "text")
    return flags | ENUM * (kind == "enum") | SET * (kind == "set") | TIMESTAMP * (type.name == "timestamp")


def table_column(name: str, column: Column, table: Table, schema: str, alias: str) -> ResultColumn:
    """Return the column of a result that shows a column of a table, which the query calls `alias`."""
    flags = type_flags(column.type) | key_flags(column, table)
    flags |= NOT_NULL * column.not_null | AUTO_INCREMENT * column.auto_increment
    flags |= NO_DEFAULT * (column.not_null and column.default is None) | ON_UPDATE_NOW * bool(column.on_update)
    return ResultColumn(name, column.type, flags, (schema, alias, table.name, column.name))


def key_flags(column: Column, table: Table) -> int:
    """Return the flags of a column's keys: those of SHOW COLUMNS (tidb pkg/ddl/index.go, AddIndexColumnFlag)."""
    flags = PRIMARY * (column.name in table.primary_key)
    for index in table.indexes:
        if not index.primary and not index.unmarked and index.columns[0].name == column.name:
            flags |= UNIQUE if index.unique and len(index.columns) == 1 else MULTIPLE
    return flags
