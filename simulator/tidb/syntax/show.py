"""SHOW, DESCRIBE and ADMIN SHOW (tidb pkg/parser/ast/dml.go, ShowStmt)."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.session import SessionStatement


@dataclass(frozen=True)
class Show(SessionStatement):
    """A statement that shows something about the server or its catalog."""

    kind: str
    """What it shows, in the words of the statement: `TABLES`, `CREATE TABLE`, `WARNINGS`, `DDL JOBS`, …"""

    full: bool = False
    is_global: bool = False
    database: str = ""
    """The database after FROM, or of CREATE DATABASE. Empty for the current one."""

    table: TableName | None = None
    like: str | None = None
    """The pattern of LIKE."""

    where: Node | None = None
    counts: bool = False
    """SHOW COUNT(*) WARNINGS."""

    if_not_exists: bool = False
    user: str = ""
    """SHOW GRANTS FOR: `'root'@'%'`. Empty for the current user."""

    limit: int | None = None
    """ADMIN SHOW DDL JOBS n."""
