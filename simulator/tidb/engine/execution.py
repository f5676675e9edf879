"""Executes the statements of a session, and of an upstream: a TiDB with one session as it was between two statements.

A DDL statement commits the open transaction first, even if the statement is refused. A refused statement leaves no
trace but the ids that it used up. SET_VAR and MAX_EXECUTION_TIME count in the first comment `/*+ … */` of a statement
(tidb pkg/util/hint/hint_processor.go).

Scripted SQL, truths and the API work with an upstream, which never changes: executing a statement gives another one.
Those of one history share their rows, whose versions stay readable. Executing on one that is not the last of its
history works on a copy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from simulator.columns import row_image
from simulator.columns.row_image import cells_of, image_of
from simulator.errors import DdlError, SqlError
from simulator.limits import TOO_DEEP
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo
from simulator.tidb.ddl.grammar import read_syntax
from simulator.tidb.engine import FailedStatement, StatementOutcome
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.ddl import ddl_session, execute_ddl, execute_on_local
from simulator.tidb.engine.names import past_of_session
from simulator.tidb.engine.queries import run_query
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.session_statements import STATEMENTS, resolve_execute, system_variable_set
from simulator.tidb.engine.settings import SqlSession
from simulator.tidb.engine.writes.insert import insert
from simulator.tidb.engine.writes.load_data import load_data
from simulator.tidb.engine.writes.update import delete, recover_values, update
from simulator.tidb.errors import not_simulated, sql_error_with_text
from simulator.tidb.model.table import Cells, Table, visible_columns
from simulator.tidb.storage import Database, new_database
from simulator.tidb.storage.ids import Counters
from simulator.tidb.storage.row_keys import entries_of, handle_bytes, handle_of, row_id
from simulator.tidb.storage.rows import NEWEST, Handle, LockWait, TooLong, Version
from simulator.tidb.storage.tables import StoredTable, layout_of, partition_of, sent_images
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.syntax.statements import LoadFile, Show

AnyStatement = syntax.SqlStatement | LoadFile
Outcome = StatementOutcome | FailedStatement

VARIABLE_FIELDS = (
    *("settings", "sql_mode", "time_zone", "timestamp"),
    *("foreign_key_checks", "check_constraints", "soft_deletes"),
)
"""The fields of SqlSession that system variables set."""

KEEP_WARNINGS = ("WARNINGS", "ERRORS")
"""What SHOW shows without replacing the warnings of the statement before it."""


def execute(session: Session, statement: AnyStatement, text: str, now_ms: int) -> Outcome:
    """Execute a statement at a millisecond of simulated time. `text` is the statement's own text.

    Raises LockWait if another transaction has a lock that it needs, and Pause; it is undone then and may be executed
    again. Raises what `Database.publish` raises; then it has no effect, and its transaction is as before.
    """
    session.step += 1
    try:
        session.text, session.now_ms = text, now_ms
        if isinstance(statement, syntax.Execute):
            statement, session.text = resolve_execute(statement, text, session.settings)
        run = _execute_with_hints if "/*+" in session.text else _execute
        outcome = run(session, statement)
    except (SqlError, DdlError) as error:
        outcome = FailedStatement(_of_prepared(error) if text is not session.text else error)
    except RecursionError:
        outcome = FailedStatement(not_simulated(TOO_DEEP))
    if not (isinstance(statement, Show) and statement.kind in KEEP_WARNINGS):
        session.remember(outcome)
    session.abandon()
    return outcome


def _execute_with_hints(session: Session, statement: AnyStatement) -> Outcome:
    """Execute a statement with the variables that its hints set. A hint that is refused is a warning."""
    before, warnings = session.settings, list[str]()
    for name, value in hinted_variables(session.text):
        try:
            session.settings = system_variable_set(session, name, "session", value, warnings)
        except SqlError as error:
            warnings.append(f"{error.number} {error.text}")
    changed = {name: getattr(before, name) for name in VARIABLE_FIELDS}
    try:
        outcome = _execute(session, statement)
    finally:
        session.settings = replace(session.settings, **changed)
    if warnings and isinstance(outcome, StatementOutcome):
        outcome = replace(outcome, warnings=(*warnings, *outcome.warnings))
    return outcome


def _execute(session: Session, statement: AnyStatement) -> Outcome:
    """Raises SqlError and DdlError."""
    if isinstance(statement, syntax.RowStatement | LoadFile):
        return _change_rows(session, statement)
    if isinstance(statement, syntax.SelectStatement):
        return _query(session, statement)
    if isinstance(statement, syntax.Statement):
        return _execute_ddl(session, statement)
    return STATEMENTS[type(statement)](statement, session)


def _change_rows(session: Session, statement: syntax.RowStatement | LoadFile) -> StatementOutcome:
    """Execute INSERT, UPDATE, DELETE or LOAD DATA."""
    session.check_writes()
    transaction = session.begin_statement()
    position = transaction.position
    context = StatementContext(session, transaction, transaction.current_ts, True, statement.ignore)
    session.earlier_ids, session.given_ids = session.given_ids, []
    try:
        outcome = ROW_STATEMENTS[type(statement)](statement, context)
        committed = session.end_statement(transaction)
    except BaseException as error:
        if not isinstance(error, LockWait | TooLong):
            session.given_ids = []
        transaction.undo(position)
        session.refuse_statement(transaction)
        raise
    _keep_given_id(context)
    if context.given_id is not None:
        outcome = replace(outcome, insert_id=context.given_id)
    return replace(outcome, events=committed)


ROW_STATEMENTS: Mapping[type, Callable[[Any, StatementContext], StatementOutcome]] = {
    syntax.Insert: insert,
    syntax.Update: update,
    syntax.Delete: delete,
    syntax.RecoverValues: recover_values,
    LoadFile: load_data,
}


def _keep_given_id(context: StatementContext) -> None:
    """Remember the argument of LAST_INSERT_ID."""
    session = context.session
    if context.given_id is not None:
        session.settings = replace(session.settings, last_insert_id=context.given_id)


def _query(session: Session, statement: syntax.SelectStatement) -> StatementOutcome:
    transaction = session.begin_statement()
    is_current = statement.locks_rows or transaction.reads_committed
    read_ts = transaction.current_ts if is_current else transaction.start_ts
    context = StatementContext(session, transaction, read_ts)
    limit_ms = int(session.settings.settings.get("max_execution_time", "0"))
    session.deadline = time.monotonic() + limit_ms / 1000 if limit_ms else None
    try:
        past = transaction.start_ts if transaction.stale else past_of_session(session)
        if past is not None:
            context.read_at(past)
        result = run_query(statement.query, context)
        session.end_statement(transaction)
    except BaseException:
        session.refuse_statement(transaction)
        raise
    finally:
        session.deadline = None
    _keep_given_id(context)
    return StatementOutcome(result=result, warnings=tuple(context.warnings))


def _execute_ddl(session: Session, statement: syntax.Statement) -> Outcome:
    """Commit the open transaction before looking at a statement that TiDB could parse (tidb pkg/executor/ddl.go,
    DDLExec.Next)."""
    text, database = session.text, session.database
    statement = read_syntax(statement, text, database.release)
    session.check_writes()
    remaining = execute_on_local(statement, text, session, ddl_session(session))
    if isinstance(remaining, StatementOutcome):
        return remaining
    before = (*session.committed_before, *session.commit())
    try:
        waiter = session.waiter or Transaction(database.locks, database.last_ts)
        try:
            outcome = execute_ddl(remaining, text, session, waiter)
        except LockWait:
            session.waiter, session.committed_before = waiter, before
            raise
    except (SqlError, DdlError) as error:
        return FailedStatement(error, before)
    except RecursionError:
        return FailedStatement(not_simulated(TOO_DEEP), before)
    return replace(outcome, events=(*before, *outcome.events))


def _of_prepared(error: SqlError | DdlError) -> SqlError | DdlError:
    """Return an error of EXECUTE: a table that is gone since PREPARE (tidb pkg/planner/core/plan_cache.go,
    planCachePreprocess)."""
    if not isinstance(error, SqlError) or error.number != 1146:
        return error
    return sql_error_with_text(8113, f"Schema change caused error: [schema:1146]{error.text}")


COMMENT = re.compile(r"/\*\+(.*?)\*/", re.DOTALL)
SET_VARIABLE = re.compile(r"\bSET_VAR\s*\(\s*`?(\w+)`?\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|([\w.+-]+))\s*\)", re.IGNORECASE)
TIME_LIMIT = re.compile(r"\bMAX_EXECUTION_TIME\s*\(\s*(?:@\w+\s+)?(\d+)\s*\)", re.IGNORECASE)


@lru_cache(256)
def hinted_variables(text: str) -> tuple[tuple[str, str], ...]:
    """Return the variables that hints set while the statement runs, with their values."""
    comment = COMMENT.search(text)
    if comment is None:
        return ()
    limits = [("max_execution_time", number) for number in TIME_LIMIT.findall(comment[1])]
    found = SET_VARIABLE.findall(comment[1])
    return (*((name.lower(), one or other or word) for name, one, other, word in found), *limits)


@dataclass(frozen=True)
class StoredRows:
    """The rows of a table in the order of TiKV. All arrays have equal length."""

    table: Table
    images: pa.Array
    """binary row images."""

    handles: pa.Array
    """binary: the handle in TiKV's key, without the partition."""

    ordinals: pa.Array
    """int32 partition ordinals."""

    row_ids: pa.Array
    """int64: `_tidb_rowid`, or the integer of a clustered key as signed bits; null for a common handle."""

    def __len__(self) -> int:
        return len(self.images)

    def texts(self) -> dict[str, pa.Array]:
        """Return the TiDB text (binary) of each visible column."""
        return row_image.named(self.images, [column.name for column in visible_columns(self.table)])


@dataclass(frozen=True)
class Upstream:
    """A TiDB at a moment."""

    session: Session
    settings: SqlSession
    """Those of the session at this moment."""

    step: int
    """How many statements the session had executed."""

    ts: int
    """The last commit."""

    writes: int | None
    """The writes of the open transaction; None without one."""

    @property
    def database(self) -> Database:
        return self.session.database

    @property
    def release(self) -> Release:
        return self.database.release

    @property
    def catalog(self) -> Catalog:
        return self.database.schema(self.ts).catalog

    @property
    def transaction(self) -> Transaction | None:
        """The open transaction, which may have gone on since."""
        return self.session.transaction if self.writes is not None else None

    def with_settings(self, settings: SqlSession) -> Upstream:
        return replace(self, settings=settings)

    def execute(
        self, statement: syntax.SqlStatement, text: str, now_ms: int
    ) -> tuple[Upstream, StatementOutcome | FailedStatement]:
        """Execute a statement, and return the upstream after it."""
        session = self.latest().session
        outcome = execute(session, statement, text, now_ms)
        return upstream_of(session), outcome

    def refuse(self, error: SqlError | DdlError) -> Upstream:
        """Return the upstream after a text that is no statement."""
        session = self.latest().session
        session.refuse(error)
        return upstream_of(session)

    def rolled_back(self) -> Upstream:
        """Return the upstream without the writes of its open transaction."""
        return replace(self, writes=None)

    def at_start(self) -> Upstream:
        """Return the upstream at the start of its history."""
        return replace(self, step=-1, ts=0, writes=None)

    def live(self) -> Upstream:
        """Return the upstream that has all later commits, too."""
        return replace(self, step=-1, ts=NEWEST, writes=None)

    def latest(self) -> Upstream:
        """Return this upstream as the last one of a history."""
        if self.session.step != self.step or self.database.last_ts != self.ts:
            return self.copy()
        self.session.settings = self.settings
        if self.writes is None:
            self.session.roll_back()
        return self

    def copy(self) -> Upstream:
        """Return the same upstream with rows of its own."""
        database, rows_of = self.database.copy(self.ts)
        session = Session(database, self.settings)
        session.temporary, more = self.session.temporary.copy(self.ts)

        def stored(table: Table) -> StoredTable:
            return session.temporary.stored(table) if table.temporary else database.stored(table)

        if self.writes is not None:
            assert self.session.transaction is not None, "it has not ended since"
            session.transaction = self.session.transaction.copy(
                database.locks, self.writes, {**rows_of, **more}, stored
            )
        return upstream_of(session)

    def rows(self, table: Table) -> StoredRows:
        """Return the rows of a table of the catalog, with the writes of the open transaction."""
        stored = self.database.schema(self.ts).stored(table)
        reader = self.transaction or Transaction(self.database.locks, self.ts)
        found = list(reader.scan(stored, range(len(stored.partitions)), self.ts)) if stored is not None else []
        return stored_rows(table, found)

    def load(self, table: Table, images: pa.Array, row_ids: pa.Array, counters: Counters | None = None) -> None:
        """Take rows as those of a table from the start of the history, given their images, row ids (null for a common
        handle), and the ids that the table has given."""
        stored = self.database.emptied(table)
        layout, ordinal_of = layout_of(table), partition_of(table) if table.partitioning else None
        for image, number in zip(images.to_pylist(), row_ids.to_pylist(), strict=True):
            cells = cells_of(image)
            ordinal = 0 if ordinal_of is None else ordinal_of(cells) or 0
            handle = handle_of(table)(cells) if table.clustered else number
            stored.load(ordinal, handle, Version(0, image, layout), entries_of(table)(cells, 1))
        if counters is not None:
            stored.ids.counters = counters

    def create_database(self, info: DatabaseInfo) -> None:
        """Create a database as if it had been there from the start of the history."""
        self.database.add_database(info)


def stored_rows(table: Table, rows: list[tuple[int, Handle, Cells]]) -> StoredRows:
    """Return rows, given with ordinal and handle, as arrays."""
    images: list[bytes | None] = [image_of(cells) for _, _, cells in rows]
    if (sent := sent_images(table)) is not None:
        images = [*map(sent, images)]
    return StoredRows(
        table,
        pa.array(images, pa.binary()),
        pa.array([handle_bytes(table, handle) for _, handle, _ in rows], pa.binary()),
        pa.array([ordinal for ordinal, _, _ in rows], pa.int32()),
        pa.array([row_id(handle) for _, handle, _ in rows], pa.int64()),
    )


def upstream_of(session: Session) -> Upstream:
    """Return the present of a session."""
    transaction = session.transaction
    return Upstream(
        session,
        session.settings,
        session.step,
        session.database.last_ts,
        None if transaction is None else transaction.position,
    )


def new_upstream(release: Release, catalog: Catalog | None = None, seed: int = 0) -> Upstream:
    """Return a TiDB before its first statement, with the database `test` unless a catalog is given."""
    return upstream_of(Session(new_database(release, catalog, seed)))
