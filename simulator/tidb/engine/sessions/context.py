"""One execution of a statement in a session: what it reads, when, and how much it may hold."""

from __future__ import annotations

import time
from datetime import datetime
from functools import lru_cache
from random import Random

from simulator.errors import SqlError
from simulator.tidb.datums.problems import Mode
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.engine.sessions import clock
from simulator.tidb.engine.sessions.session import Session
from simulator.tidb.engine.sessions.session_variables import variable_text
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.context import MAX_WARNINGS, Context
from simulator.tidb.model.table import SOFT_DELETE_TIME, Table
from simulator.tidb.storage.database import Schema, new_table, redefined
from simulator.tidb.storage.locks import TooLong
from simulator.tidb.storage.rows import NEWEST
from simulator.tidb.storage.tables import StoredTable
from simulator.tidb.storage.transactions import Transaction

MEMORY = 1 << 30
"""Bytes that a statement may hold: TiDB's default of tidb_mem_quota_query."""


@lru_cache(64)
def local_day(minute: int, zone: str) -> str:
    """Return the date of a minute since 1970 in a time zone."""
    return f"{datetime.fromtimestamp(minute * 60, clock.time_zone(zone)):%Y-%m-%d}"


class StatementContext(Context):
    """An execution of a statement."""

    def __init__(
        self,
        session: Session,
        transaction: Transaction,
        now_ms: int,
        read_ts: int = NEWEST,
        writing: bool = False,
        ignore: bool = False,
        inserting: bool = False,
    ) -> None:
        """`read_ts` is `transaction.current_ts` for a statement that writes or locks. `inserting` is true for INSERT and
        REPLACE."""
        settings = session.settings
        self.time: datetime = clock.statement_time(settings, now_ms)
        """The time of the statement in UTC."""
        today = local_day(int(self.time.timestamp()) // 60, settings.time_zone)
        super().__init__(settings.sql_mode, settings.time_zone, today, writing, ignore)
        self.session, self.transaction, self.database = session, transaction, session.database
        self.user = settings.user.partition("@")[0]
        self.now_ms, self.read_ts, self.ignore = now_ms, read_ts, ignore
        self._inserting = inserting
        self.held = 0
        """The bytes that the statement holds."""
        self.snapshot: int | None = None
        """The ts of the past that the statement reads: of AS OF TIMESTAMP or tidb_snapshot."""
        self.as_of: int | None = None
        """The ts of AS OF TIMESTAMP of the tables so far, 0 for none; None before the first table."""
        self.pauses = 0
        """How many calls so far were SLEEP or GET_LOCK."""
        self.sees_marked = not settings.soft_deletes
        """Whether the statement sees rows of tables with SOFTDELETE that are marked as deleted, and may name the mark."""
        self.given_id: int | None = None
        """The argument of LAST_INSERT_ID."""
        self.random: Random | None = None
        """The generator of RAND(), once it is called."""

    @property
    def schema(self) -> Schema:
        """The catalog and the tables that the statement reads."""
        return self.database.schema(NEWEST if self.snapshot is None else self.snapshot)

    @property
    def catalog(self) -> Catalog:
        """What the statement can name: the catalog that it reads, and the local temporary tables of the session."""
        return self.session.temporary.catalog(self.schema.catalog)

    def stored(self, table: Table) -> StoredTable:
        """Return a table of the catalog as it is stored."""
        if table.temporary:
            return self.session.temporary.stored(table)
        if self.snapshot is None:
            return self.database.stored(table)
        stored = self.schema.stored(table)
        return new_table(table) if stored is None else redefined(stored, table)

    def read_at(self, ts: int) -> None:
        """Read the state of the database at a ts of the past."""
        self.snapshot = self.read_ts = ts

    @property
    def mode(self) -> Mode:
        """How the statement casts values to columns."""
        return clock.session_mode(self.session.settings, self.now_ms, self.ignore, self._inserting)

    def check_named(self, *names: str) -> None:
        """Raise SqlError 1815 for the mark of deleted rows, which a session that sees none of them may not name (TiDB's
        branch feature/active-active, tests/integrationtest/r/softdelete/column_check.result)."""
        if self.session.settings.soft_deletes and any(name.lower() == SOFT_DELETE_TIME for name in names):
            raise sql_error_with_text(
                1815, f"column '{SOFT_DELETE_TIME}' cannot be referenced when tidb_translate_softdelete_sql is enabled"
            )

    def variable(self, name: str) -> str:
        return variable_text(self.session.settings, name)

    def warn(self, error: SqlError) -> None:
        """Note an error that the statement survives."""
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(f"{error.number} {error.text}")

    def hold(self, size: int) -> None:
        """Count bytes that the statement holds until its end. Raises SqlError 8175."""
        self.held += size
        if self.held > MEMORY:
            raise sql_error(8175, self.session.settings.connection_id)

    def check(self) -> None:
        """Raise SqlError 1317 if the statement was killed, 3024 if it takes longer than max_execution_time. Executors call
        it now and then. Raises TooLong unless SLEEP or GET_LOCK was called."""
        if self.session.killed:
            raise sql_error(1317)
        if self.session.patience is not None and not self.pauses and time.monotonic() > self.session.patience:
            raise TooLong
        if self.session.deadline is not None and time.monotonic() > self.session.deadline:
            raise SqlError(3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded")
