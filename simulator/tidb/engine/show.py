"""Executes SHOW, DESCRIBE and ADMIN SHOW DDL JOBS.

What is shown of the catalog is in `show_catalog`; here is what is shown of the server and the session: variables,
warnings, processes, collations, DDL jobs (tidb pkg/executor/show.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from simulator import tso
from simulator.errors import SqlError
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.session import FinishedJob, Job
from simulator.tidb.engine import system_tables
from simulator.tidb.engine.context import EPOCH, StatementContext, current_ts, moment_text, shown_variable, time_zone
from simulator.tidb.engine.outcome import ResultColumn, ResultSet, type_flags
from simulator.tidb.engine.queries.filters import compile_condition
from simulator.tidb.engine.queries.plans import evaluate_subqueries, new_compilation
from simulator.tidb.engine.queries.relation import table_fields
from simulator.tidb.engine.scope import QueryScope
from simulator.tidb.engine.show_catalog import CATALOG_KINDS, ShowKind, Shown, shown
from simulator.tidb.engine.system_columns import Row
from simulator.tidb.engine.system_tables import cells_of_row
from simulator.tidb.errors import error_number
from simulator.tidb.model.table import Cells
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.session import Show
from simulator.tidb.system_variables import VARIABLES

NUMBERED = re.compile(r"(\d{3,5}) (.*)", re.DOTALL)
NO_JOB = ": no job"

NOTES = {
    1007: "Can't create database",
    1008: "Can't drop database",
    1050: "already exists",
    1051: "Unknown table",
    1060: "Duplicate column name",
    1061: "Duplicate key name",
    1091: "Can't DROP",
    4139: "Unknown SEQUENCE",
}
"""Texts in notes of DDL, by the number of the error that they would be without IF EXISTS or IF NOT EXISTS."""

SHORT_INFO = 100
"""Characters of a statement in SHOW PROCESSLIST."""

DEFAULT_JOBS = 10
"""Jobs that ADMIN SHOW DDL JOBS shows without a number."""


def _variables(show: Show, context: StatementContext) -> Shown:
    names = (name for name in sorted(VARIABLES) if not show.is_global or VARIABLES[name].scope != "session")
    values = ((name, shown_variable(name, show.is_global, context)) for name in names)
    return shown(("Variable_name", "Value"), (row for row in values if row[1] is not None))


def _status(show: Show, context: StatementContext) -> Shown:
    values = {"Ssl_cipher": "", "Ssl_cipher_list": "", "Ssl_verify_mode": "0", "Ssl_version": ""}
    database = context.database
    values["Uptime"] = str((context.now_ms - (database.started_ms or context.now_ms)) // 1000)
    values["ddl_schema_version"] = str(database.present.job_count)
    return shown(("Variable_name", "Value"), values.items())


def _warnings(show: Show, context: StatementContext) -> Shown:
    """Return level, number and text of each warning of the last statement, and of its error."""
    rows = [row for row in warning_rows(context) if show.kind == "WARNINGS" or row[0] == "Error"]
    if show.counts:
        return shown(("Count",), [(len(rows),)], {"Count": "int"})
    return shown(("Level", "Code", "Message"), rows, {"Code": "int"})


def warning_rows(context: StatementContext) -> Iterator[tuple[str, int, str]]:
    last = context.session.settings.last
    for warning in last.warnings:
        match = NUMBERED.fullmatch(warning)
        if match is not None:
            yield "Warning", int(match[1]), match[2]
            continue
        number = next((number for number, words in NOTES.items() if words in warning), 1105)
        yield "Note", number, warning.removesuffix(NO_JOB)
    if last.error is not None:
        yield "Error", error_number(last.error), last.error.text


def _processes(show: Show, context: StatementContext) -> Shown:
    own = context.session.settings.connection_id
    rows = []
    for process in system_tables.processes(context):
        info = context.session.text if process[0] == own else process[7]
        rows.append((*process[:7], info if show.full or info is None else str(info)[:SHORT_INFO]))
    names = ("Id", "User", "Host", "db", "Command", "Time", "State", "Info")
    return shown(names, rows, {"Id": "bigint", "Time": "int"})


def _engines(show: Show, context: StatementContext) -> Shown:
    names = ("Engine", "Support", "Comment", "Transactions", "XA", "Savepoints")
    return shown(names, system_tables.engines(context))


def _charsets(show: Show, context: StatementContext) -> Shown:
    rows = ((name, text, collation, size) for name, collation, text, size in system_tables.character_sets(context))
    return shown(("Charset", "Description", "Default collation", "Maxlen"), rows, {"Maxlen": "bigint"})


def _collations(show: Show, context: StatementContext) -> Shown:
    names = ("Collation", "Charset", "Id", "Default", "Compiled", "Sortlen", "Pad_attribute")
    width = len(names) if context.database.release.pad_attributes else len(names) - 1
    rows = (row[:width] for row in system_tables.collations(context))
    return shown(names[:width], rows, {"Id": "bigint", "Sortlen": "bigint"})


def _asked_user(show: Show) -> tuple[str, str]:
    """Return the name and the host that a statement names; empty ones for the session's own user."""
    name, _, host = show.user.replace("'", "").replace("`", "").replace('"', "").partition("@")
    return name, host or "%"


def _create_user(show: Show, context: StatementContext) -> Shown:
    user, _, host = context.session.settings.account.partition("@")
    name, place = _asked_user(show)
    if name not in ("", user):
        raise SqlError(1396, "HY000", f"Operation SHOW CREATE USER failed for '{name}'@'{place}'")
    created = (
        f"CREATE USER '{user}'@'{host}' IDENTIFIED WITH 'mysql_native_password' AS '' REQUIRE NONE PASSWORD EXPIRE DEFAULT"
        " ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT"
    )
    return shown((f"CREATE USER for {user}@{host}",), [(created,)])


def _grants(show: Show, context: StatementContext) -> Shown:
    user, _, host = context.session.settings.account.partition("@")
    asked, place = _asked_user(show)
    if asked not in ("", user):
        raise SqlError(1141, "42000", f"There is no such grant defined for user '{asked}' on host '{place}'")
    grant = f"GRANT ALL PRIVILEGES ON *.* TO '{user}'@'{host}' WITH GRANT OPTION"
    return shown((f"Grants for {user}@{host}" if asked else "Grants for User",), [(grant,)])


def _master_status(show: Show, context: StatementContext) -> Shown:
    names = ("File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set")
    position = current_ts(context.session) or tso.compose(context.now_ms)
    return shown(names, [("tidb-binlog", position, "", "", "")], {"Position": "bigint"})


def _jobs(show: Show, context: StatementContext) -> Shown:
    """Return the newest DDL jobs first. Ids are counted from 1; those of databases and tables are 0."""
    names = (
        *("JOB_ID", "DB_NAME", "TABLE_NAME", "JOB_TYPE", "SCHEMA_STATE", "SCHEMA_ID", "TABLE_ID", "ROW_COUNT"),
        *("CREATE_TIME", "START_TIME", "END_TIME", "STATE"),
    )
    newest = list(enumerate(reversed(context.database.present.finished_jobs)))[
        : DEFAULT_JOBS if show.limit is None else show.limit
    ]
    rows = [_job_row(context.database.present.job_count - place, finished, context) for place, finished in newest]
    types = dict.fromkeys(("JOB_ID", "SCHEMA_ID", "TABLE_ID", "ROW_COUNT"), "bigint")
    return shown(names, rows, types | dict.fromkeys(("CREATE_TIME", "START_TIME", "END_TIME"), "datetime"))


def _job_row(number: int, finished: FinishedJob, context: StatementContext) -> Row:
    job: Job = finished.job
    zone = time_zone(context.session.settings.time_zone)
    time = moment_text((EPOCH + timedelta(milliseconds=finished.end_ms)).astimezone(zone), 0)
    kind = Action(job.code).text if job.code in Action.__members__.values() else "none"
    state = "none" if kind.startswith("drop") else "public"
    return number, job.schema, job.table, kind, state, 0, 0, 0, time, time, time, "synced"


def _empty(*names: str) -> ShowKind:
    return lambda show, context: shown(names, [])


ROUTINES = (
    *("Db", "Name", "Type", "Definer", "Modified", "Created", "Security_type", "Comment"),
    *("character_set_client", "collation_connection", "Database Collation"),
)

SERVER_KINDS: dict[str, ShowKind] = {
    "VARIABLES": _variables,
    "STATUS": _status,
    **dict.fromkeys(("WARNINGS", "ERRORS"), _warnings),
    "PROCESSLIST": _processes,
    "ENGINES": _engines,
    "CHARSET": _charsets,
    "COLLATION": _collations,
    "GRANTS": _grants,
    "CREATE USER": _create_user,
    "MASTER STATUS": _master_status,
    "DDL JOBS": _jobs,
    "PLUGINS": _empty("Name", "Status", "Type", "Library", "License", "Version"),
    "PROFILES": _empty("Query_ID", "Duration", "Query"),
    "OPEN TABLES": _empty("Database", "Table", "In_use", "Name_locked"),
    **dict.fromkeys(("FUNCTION STATUS", "PROCEDURE STATUS"), _empty(*ROUTINES)),
    "TRIGGERS": _empty(
        *("Trigger", "Event", "Table", "Statement", "Timing", "Created", "sql_mode", "Definer"), *ROUTINES[-3:]
    ),
    "EVENTS": _empty(
        *("Db", "Name", "Time zone", "Definer", "Type", "Execute At", "Interval Value", "Interval Field", "Starts"),
        *("Ends", "Status", "Originator", *ROUTINES[-3:]),
    ),
}


KINDS = {**CATALOG_KINDS, **SERVER_KINDS}
"""The functions that return what a kind of SHOW shows, before LIKE and WHERE."""


def run_show(show: Show, context: StatementContext) -> ResultSet:
    """Return the rows of SHOW. Raises SqlError."""
    shown = KINDS[show.kind](show, context)
    if show.like is not None:
        pattern = _like(show.like)
        shown = shown._replace(rows=[row for row in shown.rows if pattern.fullmatch(str(row[0]))])
    columns = tuple(ResultColumn(column.name, column.type, type_flags(column.type)) for column in shown.table.columns)
    rows = [cells_of_row(row) for row in shown.rows]
    if show.where is not None:
        rows = _filtered(shown, rows, show.where, context)
    return ResultSet(columns, [tuple(row) for row in rows])


def _like(pattern: str) -> re.Pattern[str]:
    """Return the pattern of LIKE, which ignores case here."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    known = {"%": ".*", "_": "."}
    text = "".join(known.get(part) or re.escape(part[-1]) for part in parts)
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def _filtered(shown: Shown, rows: list[Cells], where: Node, context: StatementContext) -> list[Cells]:
    """Return the rows for which a condition on the columns is true."""
    compilation = new_compilation(context)
    fields = table_fields(shown.table, shown.table.name, shown.table.schema)
    test = compile_condition(where, QueryScope(compilation, fields).within("where clause"))
    evaluate_subqueries(compilation)
    return [row for row in rows if test([*row, (0, 0)], context)]
