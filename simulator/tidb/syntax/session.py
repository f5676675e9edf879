"""The statements about the session and its transaction, SHOW, LOAD DATA, and the statements of a script (tidb
pkg/parser/ast/misc.go, dml.go)."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.definitions import Statement, TableName
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import Assignment, QueryTree, RowStatement, SelectTree


class SessionStatement:
    """A statement about the session or its transaction, or a query."""


@dataclass(frozen=True)
class Use(SessionStatement):
    database: str


@dataclass(frozen=True)
class Begin(SessionStatement):
    """BEGIN or START TRANSACTION."""

    mode: str = ""
    """`PESSIMISTIC`, `OPTIMISTIC`, or empty for that of the session."""

    read_only: bool = False
    as_of: Node | None = None
    """The moment of READ ONLY AS OF TIMESTAMP."""


@dataclass(frozen=True)
class Commit(SessionStatement):
    chain: bool = False


@dataclass(frozen=True)
class Rollback(SessionStatement):
    savepoint: str = ""
    """The savepoint of ROLLBACK TO. Empty for the whole transaction."""

    chain: bool = False


@dataclass(frozen=True)
class Savepoint(SessionStatement):
    name: str


@dataclass(frozen=True)
class ReleaseSavepoint(SessionStatement):
    name: str


@dataclass(frozen=True)
class VariableAssignment:
    """One variable of SET. SET NAMES sets `names` to the character set."""

    name: str
    """In lower case, without @ or @@."""

    value: Node | None
    """None for DEFAULT. A bare word (ON, STRICT_ALL_TABLES) is a string."""

    scope: str = ""
    """`user`, `session`, `global` or empty."""


@dataclass(frozen=True)
class SetVariables(SessionStatement):
    settings: tuple[VariableAssignment, ...]


@dataclass(frozen=True)
class SelectStatement(SessionStatement):
    """A query as a statement."""

    query: QueryTree

    @property
    def locks_rows(self) -> bool:
        """Whether it locks the rows that it reads, so that it reads the newest ones."""
        lock = self.query.lock if isinstance(self.query, SelectTree) else ""
        return lock.startswith("FOR UPDATE") and not lock.endswith("SKIP LOCKED")


@dataclass(frozen=True)
class Do(SessionStatement):
    expressions: tuple[Node, ...]


@dataclass(frozen=True)
class Prepare(SessionStatement):
    name: str
    text: str
    """The text of the statement or, if `is_variable`, the user variable with the text, in lower case."""

    is_variable: bool = False


@dataclass(frozen=True)
class Execute(SessionStatement):
    name: str
    variables: tuple[str, ...] = ()
    """The variables of USING, in lower case without @."""


@dataclass(frozen=True)
class Deallocate(SessionStatement):
    """DEALLOCATE PREPARE or DROP PREPARE."""

    name: str


@dataclass(frozen=True)
class IgnoredStatement(SessionStatement):
    """A statement that affects neither rows nor the changefeed: ANALYZE, FLUSH, SPLIT TABLE, SHOW, EXPLAIN, …"""

    what: str


SqlStatement = Statement | RowStatement | SessionStatement


@dataclass(frozen=True)
class ScriptStatement:
    """A statement of a script."""

    text: str
    """Without the semicolon."""

    line: int
    """Counted from 1."""

    fails: int | None = None
    """The error number of a `-- fails 1062` before the statement."""


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


# -- LOAD DATA (tidb pkg/parser/ast/dml.go, LoadDataStmt) --------------------------------------------------------------


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
