"""Executes SHOW, DESCRIBE and ADMIN SHOW DDL JOBS (tidb pkg/executor/show.go)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import NamedTuple

from simulator import tso
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import SequenceInfo, ViewInfo, object_key
from simulator.tidb.ddl.create_table_text import (
    TextStyle,
    create_database_text,
    create_sequence_text,
    create_table_text,
    create_view_text,
    quote_ansi,
)
from simulator.tidb.ddl.session import FinishedJob, Job
from simulator.tidb.engine import ResultColumn, ResultSet, type_flags
from simulator.tidb.engine.context import EPOCH, StatementContext, current_ts, local_timestamp, moment_text, time_zone
from simulator.tidb.engine.queries import evaluate_subqueries, new_compilation
from simulator.tidb.engine.queries.filters import compile_condition
from simulator.tidb.engine.queries.relation import table_fields
from simulator.tidb.engine.queries.sources import view_table
from simulator.tidb.engine.scope import QueryScope
from simulator.tidb.engine.system_columns import (
    LISTED_FIRST,
    PRIVILEGES,
    SCHEMA,
    Row,
    column_type,
    describe_column,
    index_parts,
    system_definitions,
)
from simulator.tidb.engine.system_tables import (
    ROWS,
    all_databases,
    cells_of_row,
    character_sets,
    collations,
    engines,
    processes,
    variables,
)
from simulator.tidb.errors import error_number, not_simulated, sql_error
from simulator.tidb.functions.texts import like_matcher
from simulator.tidb.model.table import ROW_ID, Column, Table, row_id_column, shown_columns
from simulator.tidb.restore import quote_name
from simulator.tidb.storage.ids import auto_column, has_own_allocator, initial_counters, next_auto_id
from simulator.tidb.syntax.statements import Show


class Shown(NamedTuple):
    """Rows under columns."""

    table: Table
    rows: Sequence[Row]


ShowKind = Callable[[Show, StatementContext], Shown]
"""Returns what a statement shows. Raises SqlError."""


def shown(names: Iterable[str], rows: Iterable[Row], types: dict[str, str] | None = None) -> Shown:
    """Return rows under names; columns are VARCHAR unless `types` has another type."""
    columns = tuple(Column(name, column_type((types or {}).get(name, "varchar"))) for name in names)
    return Shown(Table("show", "rows", columns), list(rows))


STATUS_NAMES = {
    name: {"Name": "TABLE_NAME", "Rows": "TABLE_ROWS", "Collation": "TABLE_COLLATION", "Comment": "TABLE_COMMENT"}.get(
        name, name.upper()
    )
    for name in """
        Name Engine Version Row_format Rows Avg_row_length Data_length Max_data_length Index_length Data_free
        Auto_increment Create_time Update_time Check_time Collation Checksum Create_options Comment
    """.split()
}
"""The columns of SHOW TABLE STATUS, and those of information_schema.TABLES that they show."""

STATUS_TYPES = {
    **dict.fromkeys(("Create_time", "Update_time", "Check_time"), "datetime"),
    **dict.fromkeys(
        "Version Rows Avg_row_length Data_length Max_data_length Index_length Data_free Auto_increment".split(),
        "bigint",
    ),
}


def _databases(show: Show, context: StatementContext) -> Shown:
    names = sorted(database.name for database in all_databases(context))
    ordered = sorted(names, key=lambda name: name != LISTED_FIRST)
    return shown([_with_pattern("Database", show)], ((name,) for name in ordered))


def _with_pattern(name: str, show: Show) -> str:
    return f"{name} ({show.like})" if show.like else name


def _database(show: Show, context: StatementContext) -> str:
    """Return the name of the database that a statement is about. Raises SqlError 1046, 1049."""
    name = show.database or context.session.settings.database
    if not name:
        raise sql_error(1046)
    if name.lower() not in {database.name.lower() for database in all_databases(context)}:
        raise sql_error(1049, name)
    return name


def _listed(database: str, context: StatementContext) -> list[dict[str, str | int | None]]:
    """Return the rows of information_schema.TABLES about a database, by the names of their columns."""
    names = [column.name for column in system_definitions()["tables"].columns]
    rows = (dict(zip(names, row, strict=True)) for row in ROWS["TABLES"](context))
    return [row for row in rows if str(row["TABLE_SCHEMA"]).lower() == database.lower()]


def _tables(show: Show, context: StatementContext) -> Shown:
    database = _database(show, context)
    rows = sorted((str(row["TABLE_NAME"]), str(row["TABLE_TYPE"])) for row in _listed(database, context))
    names = [_with_pattern(f"Tables_in_{database}", show), "Table_type"]
    return shown(names, rows) if show.full else shown(names[:1], (row[:1] for row in rows))


def _table_status(show: Show, context: StatementContext) -> Shown:
    rows = sorted(_listed(_database(show, context), context), key=lambda row: str(row["TABLE_NAME"]))
    named = ([{**row, "CHECKSUM": ""}[name] for name in STATUS_NAMES.values()] for row in rows)
    return shown(STATUS_NAMES, named, STATUS_TYPES)


def _find(show: Show, context: StatementContext) -> Table | ViewInfo | SequenceInfo:
    """Return the object that a statement names. Raises SqlError 1046, 1146."""
    assert show.table is not None, "the parser requires it"
    name = show.table
    schema, catalog = name.schema or context.session.settings.database, context.catalog
    if not schema:
        raise sql_error(1046)
    place = object_key(schema, name.name)
    found = catalog.tables.get(place) or catalog.views.get(place) or catalog.sequences.get(place)
    if found is None and schema.lower() == SCHEMA:
        found = system_definitions().get(name.name.lower())
    if found is None:
        raise sql_error(1146, schema, name.name)
    return found


def _find_table(show: Show, context: StatementContext) -> Table:
    """Return the table of a statement; a sequence counts as one without columns. Raises SqlError."""
    found = _find(show, context)
    if isinstance(found, ViewInfo):
        return view_table(found, new_compilation(context))
    return found if isinstance(found, Table) else Table(found.schema, found.name, ())


def _columns(show: Show, context: StatementContext) -> Shown:
    table = _find_table(show, context)
    settings, release = context.session.settings, context.database.release
    described = (describe_column(column, table, settings, release) for column in shown_columns(table))
    if not show.full:
        names = ("Field", "Type", "Null", "Key", "Default", "Extra")
        return shown(names, ((each[0], each[1], *each[3:7]) for each in described))
    all_names = ("Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment")
    return shown(all_names, ((*each[:7], PRIVILEGES, each[7]) for each in described))


def _indexes(show: Show, context: StatementContext) -> Shown:
    table = _find_table(show, context)
    names = (
        *("Table", "Non_unique", "Key_name", "Seq_in_index", "Column_name", "Collation", "Cardinality", "Sub_part"),
        *("Packed", "Null", "Index_type", "Comment", "Index_comment", "Visible", "Expression", "Clustered", "Global"),
    )
    rows = (
        (
            *(table.name, int(not part.unique), part.key, part.place, part.column, "A", 0, part.length, None),
            *("YES" if part.nullable else "", "BTREE", "", part.comment, "YES" if part.visible else "NO"),
            *(part.expression, "YES" if part.clustered else "NO", "YES" if part.unpartitioned else "NO"),
        )
        for part in index_parts(table)
    )
    width = len(names) if context.database.release.global_indexes else len(names) - 1
    numbers = dict.fromkeys(("Non_unique", "Seq_in_index", "Cardinality", "Sub_part"), "bigint")
    return shown(names[:width], (row[:width] for row in rows), numbers)


def text_style(context: StatementContext) -> TextStyle:
    """Return how the session's SHOW CREATE TABLE is written."""
    session = context.session.settings
    quote = quote_ansi if "ANSI_QUOTES" in session.sql_mode else quote_name
    return TextStyle.of(context.database.release, quote, partial(local_timestamp, session=session))


def _create_table(show: Show, context: StatementContext) -> Shown:
    found, style = _find(show, context), text_style(context)
    wanted = show.kind.removeprefix("CREATE ")
    kind = "TABLE" if isinstance(found, Table) else "VIEW" if isinstance(found, ViewInfo) else "SEQUENCE"
    if wanted not in ("TABLE", kind):
        raise sql_error(1347, found.schema, found.name, wanted)
    if isinstance(found, ViewInfo):
        headings = ("View", "Create View", "character_set_client", "collation_connection")
        return shown(headings, [(found.name, create_view_text(found, style.quote), "utf8mb4", "utf8mb4_bin")])
    if isinstance(found, SequenceInfo):
        names = ("Sequence", "Create Sequence") if wanted == "SEQUENCE" else ("Table", "Create Table")
        return shown(names, [(found.name, create_sequence_text(found, style.quote))])
    stored = context.stored(found) if found.temporary else context.schema.stored(found)
    next_id = next_auto_id(found, initial_counters(found) if stored is None else stored.ids.counters)
    return shown(("Table", "Create Table"), [(found.name, create_table_text(found, style, next_id))])


def _next_row_ids(show: Show, context: StatementContext) -> Shown:
    """Return what each allocator of a table gives next (tidb pkg/executor/executor.go, ShowNextRowIDExec)."""
    table = _find(show, context)
    if not isinstance(table, Table):
        raise not_simulated("NEXT_ROW_ID of a view or a sequence is not computed; that of a table is")
    column, stored = auto_column(table), context.schema.stored(table)
    counters = initial_counters(table) if stored is None else stored.ids.counters
    name = ROW_ID if column is None or row_id_column(table) is None or not table.clustered else column.name
    rows: list[Row] = []
    if not table.clustered or column is not None and column.auto_increment:
        rows.append((name, counters.row_id.following, ROW_ID.upper()))
    if column is not None:
        kind = "AUTO_INCREMENT" if column.auto_increment else "AUTO_RANDOM"
        rows.append((name, counters.auto.following if has_own_allocator(table) else 1, kind))
    names = ("DB_NAME", "TABLE_NAME", "COLUMN_NAME", "NEXT_GLOBAL_ROW_ID", "ID_TYPE")
    return shown(names, ((table.schema, table.name, *row) for row in rows), {"NEXT_GLOBAL_ROW_ID": "bigint"})


def _create_database(show: Show, context: StatementContext) -> Shown:
    name = _database(show, context)
    database = next(each for each in all_databases(context) if each.name.lower() == name.lower())
    created = create_database_text(database, show.if_not_exists, text_style(context).quote)
    return shown(("Database", "Create Database"), [(database.name, created)])


# -- the server and the session ----------------------------------------------------------------------------------------


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


def _status(show: Show, context: StatementContext) -> Shown:
    values = {"Ssl_cipher": "", "Ssl_cipher_list": "", "Ssl_verify_mode": "0", "Ssl_version": ""}
    values["Uptime"] = str((context.now_ms - (context.database.started_ms or context.now_ms)) // 1000)
    values["ddl_schema_version"] = str(context.database.present.job_count)
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
    for process in processes(context):
        info = context.session.text if process[0] == own else process[7]
        rows.append((*process[:7], info if show.full or info is None else str(info)[:SHORT_INFO]))
    names = ("Id", "User", "Host", "db", "Command", "Time", "State", "Info")
    return shown(names, rows, {"Id": "bigint", "Time": "int"})


def _charsets(show: Show, context: StatementContext) -> Shown:
    rows = ((name, text, collation, size) for name, collation, text, size in character_sets(context))
    return shown(("Charset", "Description", "Default collation", "Maxlen"), rows, {"Maxlen": "bigint"})


def _collations(show: Show, context: StatementContext) -> Shown:
    names = ("Collation", "Charset", "Id", "Default", "Compiled", "Sortlen", "Pad_attribute")
    width = len(names) if context.database.release.pad_attributes else len(names) - 1
    rows = (row[:width] for row in collations(context))
    return shown(names[:width], rows, {"Id": "bigint", "Sortlen": "bigint"})


def _own_account(show: Show, context: StatementContext) -> tuple[str, str, bool]:
    """Return name and host of the session's account, and whether the statement names it. Raises SqlError 1141 and 1396
    for another one."""
    user, _, host = context.session.settings.account.partition("@")
    name, _, place = show.user.replace("'", "").replace("`", "").replace('"', "").partition("@")
    if name not in ("", user):
        if show.kind == "GRANTS":
            raise sql_error(1141, name, place or "%")
        raise sql_error(1396, "SHOW CREATE USER", f"'{name}'@'{place or '%'}'")
    return user, host, bool(name)


def _create_user(show: Show, context: StatementContext) -> Shown:
    user, host, _ = _own_account(show, context)
    created = (
        f"CREATE USER '{user}'@'{host}' IDENTIFIED WITH 'mysql_native_password' AS '' REQUIRE NONE PASSWORD EXPIRE DEFAULT"
        " ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT"
    )
    return shown((f"CREATE USER for {user}@{host}",), [(created,)])


def _grants(show: Show, context: StatementContext) -> Shown:
    user, host, named = _own_account(show, context)
    grant = f"GRANT ALL PRIVILEGES ON *.* TO '{user}'@'{host}' WITH GRANT OPTION"
    return shown((f"Grants for {user}@{host}" if named else "Grants for User",), [(grant,)])


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
    present, most = context.database.present, DEFAULT_JOBS if show.limit is None else show.limit
    newest = islice(enumerate(reversed(present.finished_jobs)), most)
    rows = [_job_row(present.job_count - place, finished, context) for place, finished in newest]
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

KINDS: dict[str, ShowKind] = {
    "DATABASES": _databases,
    "TABLES": _tables,
    "TABLE STATUS": _table_status,
    "COLUMNS": _columns,
    "INDEX": _indexes,
    **dict.fromkeys(("CREATE TABLE", "CREATE VIEW", "CREATE SEQUENCE"), _create_table),
    "CREATE DATABASE": _create_database,
    "NEXT_ROW_ID": _next_row_ids,
    "VARIABLES": lambda show, context: shown(("Variable_name", "Value"), variables(context, show.is_global)),
    "STATUS": _status,
    **dict.fromkeys(("WARNINGS", "ERRORS"), _warnings),
    "PROCESSLIST": _processes,
    "ENGINES": lambda show, context: shown(
        ("Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"), engines(context)
    ),
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
"""The functions that return what a kind of SHOW shows, before LIKE and WHERE."""


def run_show(show: Show, context: StatementContext) -> ResultSet:
    """Return the rows of SHOW. Raises SqlError."""
    shown = KINDS[show.kind](show, context)
    if show.like is not None:
        matches = like_matcher(show.like.lower(), "\\")
        shown = shown._replace(rows=[row for row in shown.rows if matches(str(row[0]).lower())])
    columns = tuple(ResultColumn(column.name, column.type, type_flags(column.type)) for column in shown.table.columns)
    rows = [cells_of_row(row) for row in shown.rows]
    if show.where is not None:
        compilation = new_compilation(context)
        fields = table_fields(shown.table, shown.table.name, shown.table.schema)
        test = compile_condition(show.where, QueryScope(compilation, fields).within("where clause"))
        evaluate_subqueries(compilation)
        rows = [row for row in rows if test([*row, (0, 0)], context)]
    return ResultSet(columns, [tuple(row) for row in rows])
