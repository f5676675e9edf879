"""Statements about the session and its transaction, as trees; and what a script of statements is.

One law: a tree knows its text's words alone. Source: tidb pkg/parser/ast/misc.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.ddl import Statement
from simulator.tidb.syntax.dml import RowStatement
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import QueryTree


@dataclass(frozen=True)
class Use:
    database: str


@dataclass(frozen=True)
class Begin:
    """BEGIN, START TRANSACTION; whether optimistic or pessimistic is the same to a changefeed."""


@dataclass(frozen=True)
class Commit:
    chain: bool = False


@dataclass(frozen=True)
class Rollback:
    savepoint: str = ""
    """ROLLBACK TO; empty for the whole transaction."""

    chain: bool = False


@dataclass(frozen=True)
class Savepoint:
    name: str


@dataclass(frozen=True)
class ReleaseSavepoint:
    name: str


@dataclass(frozen=True)
class VariableAssignment:
    """One variable of SET; SET NAMES is `names` with the charset."""

    name: str
    """In lower case, without @ or @@."""

    value: Node | None
    """None for DEFAULT; a bare word (ON, STRICT_ALL_TABLES) is a string."""

    scope: str = ""
    """`user`, `session`, `global` or nothing."""


@dataclass(frozen=True)
class SetVariables:
    settings: tuple[VariableAssignment, ...]


@dataclass(frozen=True)
class SelectStatement:
    """A query as a statement of its own; SHOW and EXPLAIN are Unsupported."""

    query: QueryTree


@dataclass(frozen=True)
class Prepare:
    name: str
    text: str
    """What is prepared; where `is_variable` the user variable that has it, in lower case."""

    is_variable: bool = False


@dataclass(frozen=True)
class Execute:
    name: str
    variables: tuple[str, ...] = ()
    """Of USING, in lower case without @."""


@dataclass(frozen=True)
class Deallocate:
    """DEALLOCATE PREPARE, DROP PREPARE."""

    name: str


@dataclass(frozen=True)
class IgnoredStatement:
    """A statement that a changefeed cannot see and no row feels: ANALYZE, FLUSH, SPLIT TABLE, SELECT SLEEP, SHOW, …"""

    what: str


SessionStatement = (
    Use
    | Begin
    | Commit
    | Rollback
    | Savepoint
    | ReleaseSavepoint
    | SetVariables
    | SelectStatement
    | Prepare
    | Execute
    | Deallocate
    | IgnoredStatement
)

SqlStatement = Statement | RowStatement | SessionStatement


@dataclass(frozen=True)
class ScriptStatement:
    """A statement of a script."""

    text: str
    """Without what ends it."""

    line: int
    """From 1."""

    fails: int | None = None
    """The error number that `-- fails 1062` before it expects."""
