"""Executes DDL statements: their jobs, the catalog after them, and the stored rows after them.

A refused statement changes nothing. A statement that runs jobs is one event. Rows that it rewrites are not part of
the event: new partitions are filled before a changefeed sees them, and the rows that MODIFY COLUMN writes are
transactions before it, or hidden by TiKV (tidb v8.5 pkg/ddl/column.go, LossyDDLColumnReorgSource). DDL of local
temporary tables, which only their session knows, is no event (tidb pkg/executor/ddl.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, Key, changed_tables, object_key, with_table, with_tables, without_table
from simulator.tidb.ddl.execute import attempt
from simulator.tidb.ddl.session import FinishedJob, Job
from simulator.tidb.ddl.session import Session as DdlSession
from simulator.tidb.engine import CompletedDdl, Event, FailedStatement, StatementOutcome
from simulator.tidb.engine.context import StatementContext, moment_text, statement_time, time_zone
from simulator.tidb.engine.ddl_rows import Conversion
from simulator.tidb.engine.ddl_tables import tables_after, used_tables, with_change_ts
from simulator.tidb.engine.names import check_denied
from simulator.tidb.engine.queries import query_columns
from simulator.tidb.engine.session import Session, TemporaryTables
from simulator.tidb.engine.settings import SqlSession, variable_text
from simulator.tidb.engine.writes.foreign_keys import verify_added_keys
from simulator.tidb.engine.writes.rows import are_enforced, verify_added_checks, with_stored_checks
from simulator.tidb.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.model.table import Column, Table
from simulator.tidb.restore import quote_name
from simulator.tidb.storage import Database, Schema
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.values.moments import as_utc, parse_stored_moment

TABLE_LOCK_IS_OFF = (
    "1235 {} TABLES is not supported. To enable this experimental feature, set 'enable-table-lock' in the configuration"
    " file."
)

KEPT_JOBS = 100
"""Finished DDL jobs that are kept for ADMIN SHOW DDL JOBS."""


def execute_ddl(
    statement: syntax.Statement, text: str, session: Session, waiter: Transaction
) -> StatementOutcome | FailedStatement:
    """Execute a DDL statement outside of a transaction. Raises DdlError and SqlError, and LockWait if an open transaction
    has used a table that it changes; statements that use the table next then wait for `waiter`."""
    if isinstance(statement, syntax.LockTables | syntax.UnlockTables):
        verb = "UNLOCK" if isinstance(statement, syntax.UnlockTables) else "LOCK"
        return StatementOutcome(warnings=(TABLE_LOCK_IS_OFF.format(verb),))
    database, settings = session.database, session.settings
    _check_denied(statement, settings)
    before, names = database.catalog, ddl_session(session)
    if isinstance(statement, syntax.CreateView) and statement.query.tree is not None:
        query_columns(statement.query.tree, StatementContext(session, reading(database)))
    executed = attempt(statement, text, names)
    after = before if executed.catalog is None else executed.catalog
    if not executed.jobs:
        if executed.error is not None:
            raise executed.error
        return StatementOutcome(warnings=executed.notes)
    after = _with_stored_definitions(statement, before, after, names, settings)
    database.wait_for_tables(used_tables(statement, before, after, names), waiter)
    context = StatementContext(session, reading(database), writing=True)
    try:
        tables = tables_after(statement, executed.jobs, after, names, context)
        _verify(tables.conversions, before, context)
    except SchemaError as error:
        raise not_simulated(str(error)) from None
    event = CompletedDdl(statement, text, settings.database, executed.jobs, before, after)
    events: tuple[Event, ...] = (*tables.rewritten, event)
    database.publish(events, session, session.now_ms)
    ts = database.next_ts(session.now_ms)
    for apply in tables.apply:
        apply(ts)
    database.change_schema(
        Schema(
            ts,
            after,
            with_change_ts(tables.tables, before, ts),
            tables.dropped,
            *_finished_jobs(database.present, executed.jobs, session.now_ms),
        )
    )
    if not after.database(settings.database):
        session.settings = replace(settings, database="")
    if executed.error is not None:
        return FailedStatement(executed.error, events)
    return StatementOutcome(events, warnings=(*executed.notes, *tables.warnings))


def reading(database: Database) -> Transaction:
    """Return a transaction that only reads, and locks nothing."""
    return Transaction(database.locks, database.last_ts, pessimistic=False)


def _check_denied(statement: syntax.Statement, settings: SqlSession) -> None:
    """Raise SqlError 1142 for a table in a database that nobody may change."""
    match statement:
        case syntax.CreateTable():
            verb, named = "CREATE", [syntax.TableName(statement.schema, statement.name)]
        case syntax.DropTable(tables):
            verb, named = "DROP", [*tables]
        case syntax.TruncateTable(table):
            verb, named = "DROP", [table]
        case syntax.AlterTable(table):
            verb, named = "ALTER", [table]
        case syntax.CreateIndex() | syntax.DropIndex():
            verb, named = "INDEX", [statement.table]
        case _:
            return
    for table in named:
        check_denied(verb, table, settings)


def ddl_session(session: Session) -> DdlSession:
    """Return the session as the DDL executor wants it."""
    settings = session.settings
    zone = time_zone(settings.time_zone)
    return DdlSession(
        settings.database,
        session.database.catalog,
        session.database.release,
        moment_text(statement_time(settings, session.now_ms).astimezone(zone), 6),
        settings.sql_mode,
        variable_text(settings, "character_set_connection") or "",
        settings.foreign_key_checks,
        settings.check_constraints,
        variable_text(settings, "tidb_allow_remove_auto_inc") == "1",
        variable_text(settings, "tidb_enable_clustered_index") or "ON",
        zone,
    )


def _verify(conversions: Mapping[Key, Conversion], before: Catalog, context: StatementContext) -> None:
    """Raise SqlError if a row violates a constraint that the statement adds."""
    changed = [
        (before.tables[key], each.stored.table, each) for key, each in conversions.items() if key in before.tables
    ]
    for old, table, conversion in changed:
        if old.foreign_keys != table.foreign_keys and are_enforced(context):
            verify_added_keys(context, old, table, [row.cells for row in conversion.rows()])
    for old, table, conversion in changed:
        if old.checks != table.checks:
            verify_added_checks(context, old, table, [row.cells for row in conversion.rows()])


def _finished_jobs(present: Schema, jobs: Sequence[Job], now_ms: int) -> tuple[tuple[FinishedJob, ...], int]:
    finished = (*present.finished_jobs, *(FinishedJob(job, now_ms) for job in jobs))[-KEPT_JOBS:]
    return finished, present.job_count + len(jobs)


# -- definitions -------------------------------------------------------------------------------------------------------


def _with_stored_definitions(
    statement: syntax.Statement, before: Catalog, after: Catalog, names: DdlSession, settings: SqlSession
) -> Catalog:
    """Return the catalog with the CHECKs that TiDB stores, and with UTC values for older rows in new TIMESTAMP columns."""
    after = _with_origin_defaults_in_utc(statement, before, after, names, settings)
    changed = [after.tables[key] for key in changed_tables(before, after) if key in after.tables]
    stored = [
        _with_qualified_sequences(with_stored_checks(statement, table, settings.check_constraints), settings.database)
        for table in changed
    ]
    return with_tables(after, stored) if any(one is not other for one, other in zip(stored, changed)) else after


def _with_qualified_sequences(table: Table, database: str) -> Table:
    """Return a table whose defaults name the databases of sequences (tidb pkg/ddl/add_column.go, getDefaultValue)."""
    if not any(column.default_expression and BARE_SEQUENCE.match(column.default or "") for column in table.columns):
        return table
    columns = tuple(
        replace(column, default=BARE_SEQUENCE.sub(rf"\1{quote_name(database)}.\2", column.default or ""))
        if column.default_expression and column.default
        else column
        for column in table.columns
    )
    return replace(table, columns=columns)


BARE_SEQUENCE = re.compile(r"(\(?\s*NEXTVAL\()(`(?:[^`]|``)*`|\w+)(?=\s*\))", re.IGNORECASE)
"""The default NEXTVAL(s) of a sequence without its database."""


def _with_origin_defaults_in_utc(
    statement: syntax.Statement, before: Catalog, after: Catalog, names: DdlSession, settings: SqlSession
) -> Catalog:
    if settings.time_zone == "UTC" or not isinstance(statement, syntax.AlterTable):
        return after
    key = object_key(*names.existing_name(statement.table))
    old, table = before.tables.get(key), after.tables.get(key)
    if old is None or table is None or table is old:
        return after
    known = {column.id for column in old.columns}
    columns = tuple(column if column.id in known else _in_utc(column, settings) for column in table.columns)
    return with_table(after, replace(table, columns=columns))


def _in_utc(column: Column, settings: SqlSession) -> Column:
    if column.type.name != "timestamp" or column.origin_default is None:
        return column
    moved = as_utc(parse_stored_moment(column.origin_default), time_zone(settings.time_zone))
    return replace(column, origin_default=None if moved is None else moved.text())


Remaining = StatementOutcome | syntax.Statement
"""What a statement does to local tables, or what is left of it for other tables."""


def execute_on_local(statement: syntax.Statement, text: str, session: Session, names: DdlSession) -> Remaining:
    """Execute what a DDL statement does to local temporary tables, which commits no transaction. Raises SqlError, DdlError."""
    tables = session.temporary
    match statement:
        case syntax.CreateTable(temporary="local"):
            return _create(statement, text, tables, names)
        case syntax.CreateTable(like=syntax.TableName() as like) if _found(tables, [like], names):
            raise sql_error_with_text(8006, "`create table like` is unsupported on temporary tables.")
        case syntax.DropTable():
            return _drop(statement, tables, names)
        case syntax.TruncateTable(table) if keys := _found(tables, [table], names):
            events = session.commit()
            tables.put(tables.local[keys[0]].table)
            return StatementOutcome(events)
        case syntax.CreateView():
            parts = syntax.parts_of(statement.query.tree)
            if found := _found(tables, [part.name for part in parts if isinstance(part, syntax.TableSource)], names):
                raise sql_error_with_text(1352, f"View's SELECT refers to a temporary table '{found[0][1]}'")
        case syntax.AlterTable(_, specs):
            for spec in specs:
                if isinstance(spec, syntax.ExchangePartition) and _found(tables, [spec.table], names):
                    error = f"Table to exchange with partition is temporary: '{spec.table.name}'"
                    raise sql_error_with_text(1733, error)
    verb, named = _altered(statement)
    if _found(tables, named, names):
        raise sql_error_with_text(8200, f"TiDB doesn't support {verb} for local temporary table")
    return statement


def _altered(statement: syntax.Statement) -> tuple[str, Sequence[syntax.TableName]]:
    """Return the verb and the tables of a statement that local tables do not have."""
    match statement:
        case syntax.AlterTable(table):
            return "ALTER TABLE", [table]
        case syntax.CreateIndex():
            return "CREATE INDEX", [statement.table]
        case syntax.DropIndex():
            return "DROP INDEX", [statement.table]
        case syntax.RenameTable(pairs):
            return "RENAME TABLE", [old for old, _ in pairs]
    return "", []


def _found(tables: TemporaryTables, named: Sequence[syntax.TableName], names: DdlSession) -> list[Key]:
    """Return the keys of the tables that are local."""
    if not tables.local:
        return []
    keys = [object_key(name.schema or names.database, name.name) for name in named]
    return [key for key in keys if key in tables.local]


def _create(statement: syntax.CreateTable, text: str, tables: TemporaryTables, names: DdlSession) -> StatementOutcome:
    """Create a local table, whatever else has its name. It is checked as a table of its kind, and defined as any other."""
    key = object_key(statement.schema or names.database, statement.name)
    catalog = names.catalog
    assert catalog is not None, "an engine has one"
    if key in catalog.tables:
        catalog = without_table(catalog, catalog.tables[key])
    views = {place: view for place, view in catalog.views.items() if place != key}
    sequences = {place: sequence for place, sequence in catalog.sequences.items() if place != key}
    names = replace(names, catalog=replace(catalog, views=views, sequences=sequences))
    checked = attempt(statement, text, names)
    if key in tables.local:
        shown = ".".join(names.qualified_name(syntax.TableName(statement.schema, statement.name)))
        if statement.if_not_exists:
            return StatementOutcome(warnings=(f"Table '{shown}' already exists",))
        raise sql_error(1050, shown)
    defined = attempt(structs.replace(statement, temporary=""), text, names).catalog
    assert defined is not None, "the table was checked"
    table = with_stored_checks(statement, defined.tables[key], bool(names.check_constraints))
    tables.put(replace(table, temporary="local", foreign_keys=()))
    return StatementOutcome(warnings=tuple(note for note in checked.notes if "no job" not in note))


def _check_global(named: Iterable[syntax.TableName], local: Sequence[Key], names: DdlSession) -> None:
    """Raise SqlError for the name of anything but a global temporary table."""
    catalog = names.catalog
    assert catalog is not None, "an engine has one"
    for name in map(names.qualified_name, named):
        table = catalog.table(*name)
        is_global = table is not None and table.temporary == "global"
        if object_key(*name) in local or catalog.has(*name) and not is_global:
            raise sql_error_with_text(8007, "`drop global temporary table` can only drop global temporary table")


def _drop(statement: syntax.DropTable, tables: TemporaryTables, names: DdlSession) -> Remaining:
    """Drop local tables. DROP TEMPORARY TABLE knows no other ones, DROP GLOBAL TEMPORARY TABLE only global ones."""
    keys = _found(tables, statement.tables, names)
    if statement.temporary == "global":
        _check_global(statement.tables, keys, names)
    others = tuple(
        name for name in statement.tables if object_key(name.schema or names.database, name.name) not in keys
    )
    if statement.temporary == "local" and others:
        error = sql_error(1051, ",".join(".".join(names.qualified_name(name)) for name in others))
        if not statement.if_exists:
            raise error
        return StatementOutcome(warnings=(f"{error.text}: no job",))
    for key in keys:
        tables.drop(key)
    return structs.replace(statement, tables=others) if others else StatementOutcome()
