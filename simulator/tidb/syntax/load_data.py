"""LOAD DATA LOCAL (tidb pkg/parser/ast/dml.go, LoadDataStmt)."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.dml import Assignment
from simulator.tidb.syntax.session import SessionStatement


@dataclass(frozen=True)
class DelimitedText:
    """How a file has rows and fields."""

    separator: str = "\t"
    quote: str = ""
    escape: str = "\\"
    starting: str = ""
    """LINES STARTING BY: what is before it in a line does not count, nor does a line without it."""

    terminator: str = "\n"
    null: str | None = None
    """DEFINED NULL BY."""

    quoted_null: bool = False
    """Whether that text is NULL in quotes, too."""


@dataclass(frozen=True)
class LoadData(SessionStatement):
    """LOAD DATA LOCAL, whose client sends the file."""

    path: str
    table: TableName
    format: DelimitedText = DelimitedText()
    ignored_lines: int = 0
    replace: bool = False
    targets: tuple[str, ...] = ()
    """The column of each field, or a user variable with its @; empty for all columns of the table."""

    assignments: tuple[Assignment, ...] = ()
    """SET."""

    charset: str = ""
    """That of the file, if its bytes are not stored as they are."""


@dataclass(frozen=True)
class LoadFile:
    """LOAD DATA with the bytes of its file."""

    statement: LoadData
    data: bytes

    @property
    def ignore(self) -> bool:
        return not self.statement.replace
