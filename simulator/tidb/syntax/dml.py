"""The statements that change rows: INSERT, REPLACE, UPDATE, DELETE (tidb pkg/parser/ast/dml.go)."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.expressions import ColumnName, Node
from simulator.tidb.syntax.queries import Limit, OrderItem, QueryTree, Source, TableSource, WithTree


@dataclass(frozen=True)
class DefaultValue(Node):
    """DEFAULT as a value, or DEFAULT(column)."""

    column: ColumnName | None = None


@dataclass(frozen=True)
class InsertedValue(Node):
    """VALUES(column) of ON DUPLICATE KEY UPDATE."""

    column: ColumnName


@dataclass(frozen=True)
class Assignment:
    column: ColumnName
    value: Node


@dataclass(frozen=True)
class Insert:
    """INSERT or REPLACE. SET a = 1, b = 2 becomes columns and one row."""

    table: TableName
    columns: tuple[str, ...] | None
    """None for all columns of the table."""

    rows: tuple[tuple[Node, ...], ...] | None
    """None if a query provides the rows. An empty row means defaults for all columns."""

    query: QueryTree | None = None
    on_duplicate: tuple[Assignment, ...] = ()
    ignore: bool = False
    replace: bool = False
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Update:
    source: Source
    """A TableSource if the UPDATE has one table, else a Join."""

    assignments: tuple[Assignment, ...]
    where: Node | None = None
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    ignore: bool = False
    common: WithTree | None = None


@dataclass(frozen=True)
class Delete:
    source: Source
    targets: tuple[TableName, ...] = ()
    """The tables (or aliases) whose rows a multi-table DELETE deletes. Empty for a single table."""

    where: Node | None = None
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    ignore: bool = False
    partitions: tuple[str, ...] = ()
    common: WithTree | None = None


@dataclass(frozen=True)
class RecoverValues:
    """RECOVER VALUES, which takes back soft deletes."""

    source: TableSource
    where: Node | None = None
    ignore: bool = False


RowStatement = Insert | Update | Delete | RecoverValues
