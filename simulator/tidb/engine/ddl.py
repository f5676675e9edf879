"""Executes DDL statements: their jobs, the catalog after them, and the stored rows after them.

A refused statement changes nothing. A statement that runs jobs is one event. Rows that it rewrites are not part of the
event: new partitions are filled before a changefeed sees them, and the rows that MODIFY COLUMN writes are transactions
before it, or hidden by TiKV (tidb v8.5 pkg/ddl/column.go, LossyDDLColumnReorgSource).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.tidb import syntax
from simulator.tidb.ddl.execute import attempt
from simulator.tidb.ddl.session import Session as DdlSession
from simulator.tidb.engine.outcome import CompletedDdl, Event, FailedStatement, StatementOutcome
from simulator.tidb.sql_engine.sessions import clock
from simulator.tidb.sql_engine.sessions.session_variables import variable_text

if TYPE_CHECKING:
    from simulator.tidb.engine.session import Session

TABLE_LOCK_IS_OFF = (
    "1235 {} TABLES is not supported. To enable this experimental feature, set 'enable-table-lock' in the configuration"
    " file."
)


def execute_ddl(
    statement: syntax.Statement, text: str, session: Session, now_ms: int
) -> StatementOutcome | FailedStatement:
    """Execute a DDL statement outside of a transaction. Raises DdlError and SqlError, and LockWait if an open transaction
    has used a table that it changes."""
    if isinstance(statement, syntax.LockTables | syntax.UnlockTables):
        verb = "UNLOCK" if isinstance(statement, syntax.UnlockTables) else "LOCK"
        return StatementOutcome(warnings=(TABLE_LOCK_IS_OFF.format(verb),))
    database, settings = session.database, session.settings
    before = database.catalog
    executed = attempt(statement, text, ddl_session(session, now_ms))
    after = before if executed.catalog is None else executed.catalog
    if not executed.jobs:
        if executed.error is not None:
            raise executed.error
        return StatementOutcome(warnings=executed.notes)
    tables = {key: stored for key, stored in database.tables.items() if key in after.tables}
    event = CompletedDdl(statement, text, settings.database, executed.jobs, before, after)
    events: tuple[Event, ...] = (event,)
    database.publish(events, session, now_ms)
    database.change_schema(after, tables, database.next_ts(now_ms))
    if not after.database(settings.database):
        session.settings = replace(settings, database="")
    if executed.error is not None:
        return FailedStatement(executed.error, events)
    return StatementOutcome(events, warnings=executed.notes)


def ddl_session(session: Session, now_ms: int) -> DdlSession:
    """Return the session as the DDL executor wants it."""
    settings = session.settings
    zone = clock.time_zone(settings.time_zone)
    return DdlSession(
        settings.database,
        session.database.catalog,
        session.database.release,
        clock.moment_text(clock.statement_time(settings, now_ms).astimezone(zone), 6),
        settings.sql_mode,
        settings.foreign_key_checks,
        settings.check_constraints,
        variable_text(settings, "tidb_allow_remove_auto_inc") == "1",
        variable_text(settings, "tidb_enable_clustered_index") or "ON",
        zone,
    )
