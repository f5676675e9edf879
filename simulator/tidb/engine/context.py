"""One execution of a statement in a session: its time, what it reads, and how much it may hold.

The time is simulated time or SET TIMESTAMP. TIMESTAMP cells are stored and replicated as UTC; all other values are in
the session's time zone. The context knows the system variables that depend on the clock, the release or the last
statement, and shows all variables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from simulator.errors import SqlError
from simulator.releases import Release
from simulator.tidb.datums import Mode
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.settings import SqlSession, new_session, noop_warning, shown_text, variable_text
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.expression import MAX_WARNINGS, Context
from simulator.tidb.model.table import SOFT_DELETE_TIME, Column, Table
from simulator.tidb.storage import Schema, new_table, redefined
from simulator.tidb.storage.rows import NEWEST, TooLong
from simulator.tidb.storage.tables import StoredTable
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.syntax.definitions import NOW, TODAY
from simulator.tidb.values.moments import as_local, parse_stored_moment

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK = ("CURRENT_TIME", "CURTIME")


def statement_micros(session: SqlSession, now_ms: int) -> int:
    """Return the time of a statement as microseconds since 1970. Only SET TIMESTAMP has more than milliseconds."""
    return now_ms * 1000 if session.timestamp is None else round(session.timestamp * 1_000_000)


def statement_time(session: SqlSession, now_ms: int) -> datetime:
    """Return the time of a statement in UTC."""
    return EPOCH + timedelta(microseconds=statement_micros(session, now_ms))


@lru_cache(64)
def time_zone(name: str) -> tzinfo:
    """Return the time zone that SqlSession names."""
    if name[:1] in "+-":
        hours, minutes = name[1:].split(":")
        return timezone((1 if name[0] == "+" else -1) * timedelta(hours=int(hours), minutes=int(minutes)))
    return ZoneInfo(name)


def moment_text(moment: datetime, digits: int) -> str:
    """Return a moment with `digits` fractional digits. They are cut, not rounded (tidb pkg/expression/helper.go,
    getTimeCurrentTimeStamp)."""
    text = f"{moment:%Y-%m-%d %H:%M:%S.%f}"
    return text[: 20 + digits] if digits > 0 else text[:19]


def now_text(type_name: str, digits: int, session: SqlSession, now_ms: int) -> str:
    """Return CURRENT_TIMESTAMP as a TIMESTAMP, DATETIME, DATE or TIME column stores it."""
    moment = statement_time(session, now_ms)
    if type_name != "timestamp":
        moment = moment.astimezone(time_zone(session.time_zone))
    text = moment_text(moment, digits)
    return {"date": text[:10], "time": text[11:]}.get(type_name, text)


def local_timestamp(text: str, session: SqlSession) -> str:
    """Return the text of a TIMESTAMP in UTC in the session's time zone."""
    return as_local(parse_stored_moment(text), time_zone(session.time_zone)).text()


def default_time_text(column: Column, session: SqlSession, now_ms: int) -> str | None:
    """Return the TiDB text of a default such as CURRENT_TIMESTAMP(3); None for any other default."""
    call, _, rest = (column.default or "").strip().strip("()").upper().partition("(")
    kind, digits = column.type.name, rest.strip(") ")
    accepted_calls = {"date": (*NOW, *TODAY), "datetime": NOW, "timestamp": NOW, "time": CLOCK}
    if (
        not column.default_expression
        or call.strip() not in accepted_calls.get(kind, ())
        or digits
        and not digits.isdecimal()
    ):
        return None
    return now_text(kind, max(column.type.decimal, 0), session, now_ms)


MEMORY = 1 << 30
"""Bytes that a statement may hold: TiDB's default of tidb_mem_quota_query."""


@lru_cache(64)
def local_day(minute: int, zone: str) -> str:
    """Return the date of a minute since 1970 in a time zone."""
    return f"{datetime.fromtimestamp(minute * 60, time_zone(zone)):%Y-%m-%d}"


class StatementContext(Context):
    """An execution of a statement."""

    def __init__(
        self,
        session: Session,
        transaction: Transaction,
        read_ts: int = NEWEST,
        writing: bool = False,
        ignore: bool = False,
    ) -> None:
        """`read_ts` is `transaction.current_ts` for a statement that writes or locks."""
        settings = session.settings
        self.time: datetime = statement_time(settings, session.now_ms)
        """The time of the statement in UTC."""
        today = local_day(int(self.time.timestamp()) // 60, settings.time_zone)
        super().__init__(settings.sql_mode, settings.time_zone, today, writing, ignore)
        self.session, self.transaction, self.database = session, transaction, session.database
        self.user = settings.user.partition("@")[0]
        self.now_ms, self.read_ts, self.ignore = session.now_ms, read_ts, ignore
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
        """How the statement casts values to columns. A TIME cast to a moment takes the current day, even after SET
        TIMESTAMP (tidb pkg/types/time.go, ConvertToTime)."""
        settings, now = self.session.settings, EPOCH + timedelta(milliseconds=self.now_ms)
        return Mode(settings.sql_mode, time_zone(settings.time_zone), now, self.ignore, inserting=False)

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

    def use_noop(self, feature: str) -> None:
        """Warn of a feature that does nothing in TiDB. Raises SqlError 1235 unless it is allowed."""
        if error := noop_warning(self.session.settings, feature):
            self.warn(error)

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
            raise sql_error(3024)


def server_version(release: Release) -> str:
    """Return VERSION()."""
    return f"{release.mysql_version}-TiDB-{release.name}"


def version_comment(release: Release) -> str:
    compatible = release.mysql_version.rpartition(".")[0]
    return f"TiDB Server (Apache License 2.0) Community Edition, MySQL {compatible} compatible"


def tidb_version(release: Release) -> str:
    """Return TIDB_VERSION(), of a server whose build sets no more than the version (tidb pkg/util/printer/printer.go)."""
    return (
        f"Release Version: {release.name}\nEdition: Community\nGit Commit Hash: None\nGit Branch: None\n"
        "UTC Build Time: None\nGoVersion: None\nRace Enabled: false\nCheck Table Before Drop: false\nStore: tikv"
    )


def current_ts(session: Session) -> int:
    """Return @@tidb_current_ts: the TSO at which the open transaction began, 0 outside of one."""
    return 0 if session.transaction is None else session.transaction.start_ts


COMPUTED: Mapping[str, Callable[[Session, Any], str]] = {
    "timestamp": lambda session, context: f"{statement_micros(session.settings, context.now_ms) / 1_000_000:.6f}",
    "version": lambda session, context: server_version(session.database.release),
    "version_comment": lambda session, context: version_comment(session.database.release),
    "tidb_current_ts": lambda session, context: str(current_ts(session)),
    "warning_count": lambda session, context: str(len(session.settings.last.warnings)),
    "error_count": lambda session, context: str(int(session.settings.last.error is not None)),
}
"""System variables whose value depends on the clock, the release or the last statement."""


def shown_variable(name: str, is_global: bool, context: StatementContext) -> str | None:
    """Return a variable as SHOW VARIABLES shows it, or None if its value is not known. ON and OFF are words here."""
    if name in COMPUTED:
        return COMPUTED[name](context.session, context)
    return shown_text(settings_of(context.session.settings, is_global), name)


def settings_of(settings: SqlSession, is_global: bool) -> SqlSession:
    """Return the session's settings, or some that have the global variables."""
    return new_session(SqlSession(), settings.global_settings) if is_global else settings
