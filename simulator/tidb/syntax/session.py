"""The statements about the session and its transaction, and the statements of a script (tidb pkg/parser/ast/misc.go)."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.definitions import Statement
from simulator.tidb.syntax.dml import RowStatement
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import QueryTree, SelectTree


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
