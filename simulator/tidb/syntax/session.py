"""The statements about the session and its transaction, SHOW, LOAD DATA, and the statements of a script (tidb
pkg/parser/ast/misc.go, dml.go)."""

from __future__ import annotations

from msgspec import Struct

from simulator.tidb.syntax.definitions import Statement
from simulator.tidb.syntax.expressions import Node, TableName
from simulator.tidb.syntax.queries import Assignment, QueryTree, RowStatement, SelectTree


class SessionStatement(Struct, frozen=True):
    """A statement about the session or its transaction, or a query."""


class Use(SessionStatement, frozen=True):
    database: str


class Begin(SessionStatement, frozen=True):
    """BEGIN or START TRANSACTION."""

    mode: str = ""
    """`PESSIMISTIC`, `OPTIMISTIC`, or empty for that of the session."""

    read_only: bool = False
    as_of: Node | None = None
    """The moment of READ ONLY AS OF TIMESTAMP."""


class Commit(SessionStatement, frozen=True):
    chain: bool = False


class Rollback(SessionStatement, frozen=True):
    savepoint: str = ""
    """The savepoint of ROLLBACK TO. Empty for the whole transaction."""

    chain: bool = False


class Savepoint(SessionStatement, frozen=True):
    name: str


class ReleaseSavepoint(SessionStatement, frozen=True):
    name: str


class VariableAssignment(Struct, frozen=True):
    """One variable of SET. SET NAMES sets `names` to the character set."""

    name: str
    """In lower case, without @ or @@."""

    value: Node | None
    """None for DEFAULT. A bare word (ON, STRICT_ALL_TABLES) is a string."""

    scope: str = ""
    """`user`, `session`, `global` or empty."""


class SetVariables(SessionStatement, frozen=True):
    settings: tuple[VariableAssignment, ...]


class SelectStatement(SessionStatement, frozen=True):
    """A query as a statement."""

    query: QueryTree

    @property
    def locks_rows(self) -> bool:
        """Whether it locks the rows that it reads, so that it reads the newest ones."""
        lock = self.query.lock if isinstance(self.query, SelectTree) else ""
        return lock.startswith("FOR UPDATE") and not lock.endswith("SKIP LOCKED")


class Do(SessionStatement, frozen=True):
    expressions: tuple[Node, ...]


class Prepare(SessionStatement, frozen=True):
    name: str
    text: str
    """The text of the statement or, if `is_variable`, the user variable with the text, in lower case."""

    is_variable: bool = False


class Execute(SessionStatement, frozen=True):
    name: str
    variables: tuple[str, ...] = ()
    """The variables of USING, in lower case without @."""


class Deallocate(SessionStatement, frozen=True):
    """DEALLOCATE PREPARE or DROP PREPARE."""

    name: str


class IgnoredStatement(SessionStatement, frozen=True):
    """A statement that affects neither rows nor the changefeed: ANALYZE, FLUSH, SPLIT TABLE, SHOW, EXPLAIN, …"""

    what: str


SqlStatement = Statement | RowStatement | SessionStatement


class ScriptStatement(Struct, frozen=True):
    """A statement of a script."""

    text: str
    """Without the semicolon."""

    line: int
    """Counted from 1."""

    fails: int | None = None
    """The error number of a `-- fails 1062` before the statement."""


class Show(SessionStatement, frozen=True):
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


class DelimitedText(Struct, frozen=True):
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


class LoadData(SessionStatement, frozen=True):
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


class LoadFile(Struct, frozen=True):
    """LOAD DATA with the bytes of its file."""

    statement: LoadData
    data: bytes

    @property
    def ignore(self) -> bool:
        return not self.statement.replace
