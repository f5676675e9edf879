"""SHOW of databases, tables, columns, indexes, and their CREATE statements (tidb pkg/executor/show.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from simulator.tidb.ddl.catalog import SequenceInfo, ViewInfo, object_key
from simulator.tidb.ddl.create_table_text import (
    TextStyle,
    create_database_text,
    create_sequence_text,
    create_table_text,
    create_view_text,
    quote_ansi,
)
from simulator.tidb.engine.context import StatementContext, local_timestamp
from simulator.tidb.engine.queries.plans import new_compilation
from simulator.tidb.engine.queries.sources import view_table
from simulator.tidb.engine.settings import SqlSession
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
from simulator.tidb.engine.system_tables import ROWS, all_databases
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.model.table import ROW_ID, Column, Table, row_id_column, shown_columns
from simulator.tidb.restore.expressions import quote_name
from simulator.tidb.storage.ids import auto_column, has_own_allocator, initial_counters, next_auto_id
from simulator.tidb.syntax.expressions import TableName
from simulator.tidb.syntax.session import Show


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
    **{
        "Name": "TABLE_NAME",
        "Engine": "ENGINE",
        "Version": "VERSION",
        "Row_format": "ROW_FORMAT",
        "Rows": "TABLE_ROWS",
    },
    **{"Avg_row_length": "AVG_ROW_LENGTH", "Data_length": "DATA_LENGTH", "Max_data_length": "MAX_DATA_LENGTH"},
    **{"Index_length": "INDEX_LENGTH", "Data_free": "DATA_FREE", "Auto_increment": "AUTO_INCREMENT"},
    **{"Create_time": "CREATE_TIME", "Update_time": "UPDATE_TIME", "Check_time": "CHECK_TIME"},
    **{"Collation": "TABLE_COLLATION", "Checksum": "CHECKSUM", "Create_options": "CREATE_OPTIONS"},
    "Comment": "TABLE_COMMENT",
}
"""The columns of SHOW TABLE STATUS, and those of information_schema.TABLES that they show."""

STATUS_TYPES = {
    **dict.fromkeys(("Create_time", "Update_time", "Check_time"), "datetime"),
    **dict.fromkeys(
        ("Version", "Rows", "Avg_row_length", "Data_length", "Max_data_length", "Index_length", "Data_free"), "bigint"
    ),
    "Auto_increment": "bigint",
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


def _tables(show: Show, context: StatementContext) -> Shown:
    database = _database(show, context)
    rows = sorted(
        (str(row[2]), str(row[3])) for row in ROWS["TABLES"](context) if str(row[1]).lower() == database.lower()
    )
    names = [_with_pattern(f"Tables_in_{database}", show), "Table_type"]
    return shown(names, rows) if show.full else shown(names[:1], (row[:1] for row in rows))


def _table_status(show: Show, context: StatementContext) -> Shown:
    database = _database(show, context)
    places = {column.name: place for place, column in enumerate(system_definitions()["tables"].columns)}

    def rows() -> Iterator[Row]:
        for row in ROWS["TABLES"](context):
            if str(row[1]).lower() == database.lower():
                yield ["" if name == "CHECKSUM" else row[places[name]] for name in STATUS_NAMES.values()]

    return shown(STATUS_NAMES, sorted(rows(), key=lambda row: str(row[0])), STATUS_TYPES)


def _find(name: TableName, context: StatementContext) -> Table | ViewInfo | SequenceInfo:
    """Return the object of a name. Raises SqlError 1046, 1146."""
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
    assert show.table is not None, "the parser requires it"
    found = _find(show.table, context)
    if isinstance(found, ViewInfo):
        return view_table(found, new_compilation(context))
    return found if isinstance(found, Table) else Table(found.schema, found.name, ())


def _columns(show: Show, context: StatementContext) -> Shown:
    table = _find_table(show, context)
    described = (
        describe_column(column, table, context.session.settings, context.database.release)
        for column in shown_columns(table)
    )
    if not show.full:
        return shown(
            ("Field", "Type", "Null", "Key", "Default", "Extra"), ((each[0], each[1], *each[3:7]) for each in described)
        )
    names = ("Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment")
    return shown(names, ((*each[:7], PRIVILEGES, each[7]) for each in described))


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
    session: SqlSession = context.session.settings
    return TextStyle(
        quote_ansi if "ANSI_QUOTES" in session.sql_mode else quote_name,
        context.database.release.default_parentheses,
        partial(local_timestamp, session=session),
    )


def _create_table(show: Show, context: StatementContext) -> Shown:
    assert show.table is not None, "the parser requires it"
    found, style = _find(show.table, context), text_style(context)
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
    assert show.table is not None, "the parser requires it"
    table = _find(show.table, context)
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


CATALOG_KINDS: dict[str, ShowKind] = {
    "DATABASES": _databases,
    "TABLES": _tables,
    "TABLE STATUS": _table_status,
    "COLUMNS": _columns,
    "INDEX": _indexes,
    **dict.fromkeys(("CREATE TABLE", "CREATE VIEW", "CREATE SEQUENCE"), _create_table),
    "CREATE DATABASE": _create_database,
    "NEXT_ROW_ID": _next_row_ids,
}
