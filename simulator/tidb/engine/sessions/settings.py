"""The settings of a session, and what it remembers. All of them are immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.errors import DdlError, SqlError

DEFAULT_SQL_MODE = (
    "ONLY_FULL_GROUP_BY",
    "STRICT_TRANS_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "NO_AUTO_CREATE_USER",
    "NO_ENGINE_SUBSTITUTION",
)
"""TiDB's default sql_mode (tidb pkg/parser/mysql/const.go, DefaultSQLMode)."""


@dataclass(frozen=True)
class PreparedStatement:
    text: str
    parameters: int
    """The number of `?` in the text."""

    sql_mode: frozenset[str]
    """The sql_mode in which PREPARE parsed the text."""


@dataclass(frozen=True)
class LastStatement:
    """What a session remembers of its last statement, for SHOW WARNINGS, ROW_COUNT() and FOUND_ROWS()."""

    warnings: tuple[str, ...] = ()
    """As `StatementOutcome.warnings`."""

    error: SqlError | DdlError | None = None
    affected: int = 0
    """-1 behind a query."""

    found: int = 0
    """The rows of the last query."""


@dataclass(frozen=True)
class SqlSession:
    """The variables of a session, and its current database."""

    database: str = ""
    sql_mode: frozenset[str] = frozenset(DEFAULT_SQL_MODE)
    time_zone: str = "UTC"
    """A name of Python's zoneinfo, or an offset such as `+08:00`. Stored TIMESTAMP cells are always UTC."""

    timestamp: float | None = None
    """SET TIMESTAMP: seconds since 1970; None for simulated time."""

    autocommit: bool = True
    foreign_key_checks: bool = True
    check_constraints: bool = False
    """tidb_enable_check_constraint, a global variable."""

    soft_deletes: bool = True
    """tidb_translate_softdelete_sql: whether DELETE only marks rows of tables with SOFTDELETE, and marked ones are
    hidden."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """System variables without an effect on rows, as set, by name in lower case."""

    global_settings: Mapping[str, str] = field(default_factory=dict)
    """System variables that SET GLOBAL has set, of all sessions, by name in lower case."""

    variables: Mapping[str, bytes | None] = field(default_factory=dict)
    """User variables (@a) by name in lower case, as TiDB text."""

    variable_kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of each user variable, named as the kinds of `Literal`."""

    prepared: Mapping[str, PreparedStatement] = field(default_factory=dict)
    """Prepared statements by name."""

    last_insert_id: int = 0
    last: LastStatement = field(default=LastStatement(), compare=False)
    connection_id: int = 1
    user: str = "root@%"
    """Name and host of the client, as USER() has them."""

    @property
    def account(self) -> str:
        """The account that the server took the client for, as CURRENT_USER() has it. It is of any host."""
        return f"{self.user.partition('@')[0]}@%"


class Process(NamedTuple):
    """A client, as SHOW PROCESSLIST shows it."""

    number: int
    user: str
    host: str
    database: str | None
    command: str
    seconds: int
    state: str
    statement: str | None
