"""The tables of information_schema, performance_schema and mysql, made of the catalog when a query names them.

Times of creation, statistics and the ids of tables are NULL or 0: the simulator does not keep them. Tables about the
cluster, its statistics and its statements are not here. Source: tidb pkg/executor/infoschema_reader.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from simulator.tidb.ddl.catalog import DatabaseInfo, object_key, sequence_limits
from simulator.tidb.ddl.create_table_text import list_members
from simulator.tidb.ddl.defaults import stored_partitioning
from simulator.tidb.engine import COLLATION_IDS, system_columns
from simulator.tidb.engine.context import StatementContext, shown_variable
from simulator.tidb.engine.settings import Process, SqlSession
from simulator.tidb.engine.system_columns import (
    LISTED_FIRST,
    SCHEMA,
    TABLES_OF_THE_CLUSTER,
    Row,
    column_rows,
    server_tables,
    system_databases,
    system_definitions,
)
from simulator.tidb.errors import not_simulated
from simulator.tidb.model.table import Cells, Table, row_id_column
from simulator.tidb.model.types import CHARSETS, COLLATIONS, charset_of
from simulator.tidb.parser.cursor import RESERVED, UNRESERVED
from simulator.tidb.storage.ids import initial_counters, next_auto_id
from simulator.tidb.system_variables import VARIABLES

DESCRIPTIONS = {
    "ascii": "US ASCII",
    "binary": "binary",
    "gb18030": "China National Standard GB18030",
    "gbk": "Chinese Internal Code Specification",
    "latin1": "Latin1",
    "utf8": "UTF-8 Unicode",
    "utf8mb4": "UTF-8 Unicode",
}
"""The descriptions of the character sets, in TiDB's order (tidb pkg/parser/charset/charset.go)."""

SORT_LENGTHS = {"gb18030_chinese_ci": 2, "utf8_unicode_ci": 8, "utf8mb4_unicode_ci": 8, "utf8mb4_0900_ai_ci": 0}
NOT_PADDED = ("binary", "utf8mb4_0900_ai_ci", "utf8mb4_0900_bin")

PRIVILEGES = (
    "Select,Insert,Update,Delete,Create,Drop,Process,References,Alter,Show Databases,Super,Execute,Index,Create User,"
    "Create Tablespace,Trigger,Create View,Show View,Create Role,Drop Role,Create Temporary Tables,Lock Tables,"
    "Create Routine,Alter Routine,Event,Shutdown,Reload,File,Config,Replication Client,Replication Slave"
).split(",")
"""The privileges of root (tidb pkg/parser/mysql/privs.go, AllGlobalPrivs)."""


def _charsets(context: StatementContext) -> Iterator[str]:
    yield from (name for name in DESCRIPTIONS if name != "gb18030" or context.database.release.gb18030)


def character_sets(context: StatementContext) -> Iterator[Row]:
    for name in _charsets(context):
        yield name, CHARSETS[name][0], DESCRIPTIONS[name], CHARSETS[name][1]


def collations(context: StatementContext) -> Iterator[Row]:
    known = set(_charsets(context))
    for name in sorted(COLLATIONS):
        charset = charset_of(name, "")
        if charset in known:
            default = "Yes" if CHARSETS[charset][0] == name else ""
            padded = "NO PAD" if name in NOT_PADDED else "PAD SPACE"
            length = SORT_LENGTHS.get(name, 1) if context.database.release.pad_attributes else 1
            yield name, charset, COLLATION_IDS[name], default, "Yes", length, padded


def engines(context: StatementContext) -> Iterator[Row]:
    comment = "Supports transactions, row-level locking, and foreign keys"
    yield "InnoDB", "DEFAULT", comment, "YES", "YES", "YES"


def processes(context: StatementContext) -> Iterator[Row]:
    """Yield the processes of all clients."""
    session = context.session
    own = own_process(session.settings, session.transaction is not None)._replace(statement=session.text)
    for process in context.database.processes() or (own,):
        yield (*process, *("", 0, 0, "", "default", "", 0))


def own_process(session: SqlSession, in_transaction: bool) -> Process:
    """Return the process of a session that executes a statement."""
    user, _, host = session.user.partition("@")
    states = ("in transaction" * in_transaction, "autocommit" * session.autocommit)
    return Process(
        session.connection_id, user, host, session.database or None, "Query", 0, "; ".join(filter(None, states)), None
    )


def user_privileges(context: StatementContext) -> Iterator[Row]:
    user, _, host = context.session.settings.account.partition("@")
    yield from ((f"'{user}'@'{host}'", "def", privilege.upper(), "YES") for privilege in PRIVILEGES)


Rows = Callable[[StatementContext], Iterator[Row]]


def _tables(context: StatementContext) -> list[tuple[str, Table]]:
    """Return all tables with the names of their databases, in the order of both names."""
    own = [(table.schema, table) for table in context.schema.catalog.tables.values()]
    return sorted(own, key=_order)


def _order(named: tuple[str, Table]) -> tuple[str, str]:
    return named[0].lower(), named[1].name.lower()


def _of_tables(rows: Callable[[Table, str], Iterator[Row]]) -> Rows:
    def all_rows(context: StatementContext) -> Iterator[Row]:
        for schema, table in _tables(context):
            yield from rows(table, schema)

    return all_rows


def all_databases(context: StatementContext) -> list[DatabaseInfo]:
    """Return the databases in the order of their names."""
    system = {name.lower(): DatabaseInfo(name) for name in system_databases(context.database.release)}
    return sorted(
        (system | dict(context.schema.catalog.databases)).values(), key=lambda database: database.name.lower()
    )


def _schemata(context: StatementContext) -> Iterator[Row]:
    for database in all_databases(context):
        yield "def", database.name, database.charset, database.collation, None, None


def _table_rows(context: StatementContext) -> Iterator[Row]:
    unknown = [Table(SCHEMA, name, ()) for name in TABLES_OF_THE_CLUSTER]
    for table in sorted([*system_definitions().values(), *unknown], key=lambda table: table.name):
        yield _table_row(LISTED_FIRST, table, "SYSTEM VIEW", context)
    mysql = [(table.schema, table) for table in server_tables() if table.schema != SCHEMA]
    for schema, table in sorted([*mysql, *_tables(context)], key=lambda each: each[0].lower()):
        yield _table_row(schema, table, "BASE TABLE", context)
    for sequence in context.schema.catalog.sequences.values():
        yield _table_row(sequence.schema, Table(sequence.schema, sequence.name, ()), "SEQUENCE", context)
    for view in context.schema.catalog.views.values():
        none = [None] * 16
        yield ("def", view.schema, view.name, "VIEW", *none, "VIEW", None, None, "NONCLUSTERED", None)


def _table_row(schema: str, table: Table, kind: str, context: StatementContext) -> Row:
    stored = context.schema.tables.get(object_key(schema, table.name))
    rows = 0 if stored is None else sum(len(each.rows) for each in stored.partitions)
    counters = initial_counters(table) if stored is None else stored.ids.counters
    options = "partitioned" if table.partitioning else "cached=on" if table.cached else ""
    key = "CLUSTERED" if table.clustered else "NONCLUSTERED"
    sharding = None if kind == "SYSTEM VIEW" else _sharding(table)
    return (
        *("def", schema, table.name, kind, "InnoDB", 10, "Compact", rows, 0, 0, 0, 0, 0),
        *(next_auto_id(table, counters) or None if any(column.auto_increment for column in table.columns) else None,),
        *(None, None, None, table.collation, None, options, table.comment, None, sharding, key, None),
    )


def _sharding(table: Table) -> str:
    """Return TIDB_ROW_ID_SHARDING_INFO (tidb pkg/infoschema/tables.go, GetShardingInfo)."""
    bits = next((column.shard_bits for column in table.columns if column.auto_random), 0)
    if bits:
        return f"PK_AUTO_RANDOM_BITS={bits}"
    if row_id_column(table) is not None:
        return "NOT_SHARDED(PK_IS_HANDLE)"
    shards = dict(table.options).get("SHARD_ROW_ID_BITS", "0")
    return "NOT_SHARDED" if shards == "0" else f"SHARD_BITS={shards}"


def _columns(context: StatementContext, views: Callable[[], Sequence[Table]]) -> Iterator[Row]:
    described_with = context.session.settings, context.database.release
    for table in system_definitions().values():
        yield from column_rows(table, LISTED_FIRST, *described_with)
    described = [*_tables(context), *((table.schema, table) for table in views())]
    for schema, table in sorted(described, key=_order):
        yield from column_rows(table, schema, *described_with)


def _views(context: StatementContext) -> Iterator[Row]:
    for view in context.schema.catalog.views.values():
        yield (
            *("def", view.schema, view.name, view.query, "CASCADED", "NO", "@".join(view.definer), view.security),
            *("utf8mb4", "utf8mb4_bin"),
        )


def _partitions(table: Table, schema: str) -> Iterator[Row]:
    """Yield the rows of PARTITIONS: one for a table without partitions."""
    rule = table.partitioning
    if rule is None:
        yield "def", schema, table.name, *[None] * 9, 0, 0, 0, None, 0, *[None] * 10
        return
    expression = (
        stored_partitioning(rule.expression) if rule.expression else ",".join(f"`{each}`" for each in rule.columns)
    )
    columns = " COLUMNS" * (not rule.expression and rule.kind != "key")
    for place, partition in enumerate(rule.partitions, 1):
        bounds = ",".join(partition.values[0]) if rule.kind == "range" else list_members(partition)
        yield (
            *("def", schema, table.name, partition.name, None, place, None, f"{rule.kind.upper()}{columns}", None),
            *(expression, None, bounds, *[0] * 6, *[None] * 4, partition.comment, *[None] * 4),
        )


def _sequences(context: StatementContext) -> Iterator[Row]:
    for sequence in context.schema.catalog.sequences.values():
        limits = sequence_limits(sequence)
        yield (
            *("def", sequence.schema, sequence.name, int(limits.cache > 0), limits.cache, int(limits.cycle)),
            *(limits.increment, limits.most, limits.least, limits.start, ""),
        )


def variables(context: StatementContext, is_global: bool = False) -> Iterator[Row]:
    names = (name for name in sorted(VARIABLES) if not is_global or VARIABLES[name].scope != "session")
    shown = ((name, shown_variable(name, is_global, context)) for name in names)
    yield from ((name, value) for name, value in shown if value is not None)


def _keywords(context: StatementContext) -> Iterator[Row]:
    words = {**dict.fromkeys(RESERVED, 1), **dict.fromkeys(UNRESERVED, 0)}
    yield from sorted(words.items())


ROWS: Mapping[str, Rows] = {
    "SCHEMATA": _schemata,
    "TABLES": _table_rows,
    "STATISTICS": _of_tables(system_columns.statistics_rows),
    "TIDB_INDEXES": _of_tables(system_columns.tidb_index_rows),
    "KEY_COLUMN_USAGE": _of_tables(system_columns.key_column_rows),
    "TABLE_CONSTRAINTS": _of_tables(system_columns.constraint_rows),
    "REFERENTIAL_CONSTRAINTS": _of_tables(system_columns.reference_rows),
    "CHECK_CONSTRAINTS": _of_tables(system_columns.check_rows),
    "PARTITIONS": _of_tables(_partitions),
    "VIEWS": _views,
    "SEQUENCES": _sequences,
    "SESSION_VARIABLES": variables,
    "KEYWORDS": _keywords,
    "CHARACTER_SETS": character_sets,
    "COLLATIONS": collations,
    "COLLATION_CHARACTER_SET_APPLICABILITY": lambda context: (row[:2] for row in collations(context)),
    "ENGINES": engines,
    "PROCESSLIST": processes,
    "USER_PRIVILEGES": user_privileges,
    **dict.fromkeys(
        (
            *("ROUTINES", "PARAMETERS", "TRIGGERS", "EVENTS", "PLUGINS", "TABLESPACES"),
            *("SCHEMA_PRIVILEGES", "TABLE_PRIVILEGES", "COLUMN_PRIVILEGES"),
        ),
        lambda context: iter(()),
    ),
}
"""By the names of the tables but COLUMNS, which has those of views, too."""


class SystemTable(NamedTuple):
    """A table of information_schema with its rows."""

    table: Table
    rows: Callable[[StatementContext], Iterator[Cells]]


def _root(table: Table) -> Row:
    """Return the only row of mysql.user, which has all privileges."""
    known = {"Host": "%", "User": "root", "authentication_string": "", "plugin": "mysql_native_password"}
    known |= {"Account_locked": "N", "Password_expired": "N", "Max_user_connections": "0"}
    return [known.get(column.name, "Y" if column.name.lower().endswith("_priv") else None) for column in table.columns]


PERFORMANCE_SCHEMA = "performance_schema"


def system_table(schema: str, name: str, views: Callable[[], Sequence[Table]]) -> SystemTable | None:
    """Return a table of information_schema or performance_schema; None for a name that is none. `views` returns the views
    as tables. Raises SqlError 1235 for a table that is only listed."""
    if schema.lower() == PERFORMANCE_SCHEMA and name.lower() in ("session_variables", "global_variables"):
        table = replace(system_definitions()["session_variables"], schema=PERFORMANCE_SCHEMA, name=name.lower())
        is_global = table.name == "global_variables"
        return SystemTable(table, lambda context: map(cells_of_row, variables(context, is_global)))
    if (schema.lower(), name.lower()) == ("mysql", "user"):
        table = next(table for table in server_tables() if table.schema == "mysql")
        return SystemTable(table, lambda context: map(cells_of_row, [_root(table)]))
    if schema.lower() != SCHEMA:
        return None
    known = system_definitions().get(name.lower())
    if known is None:
        if name.upper() in TABLES_OF_THE_CLUSTER:
            raise not_simulated(f"{SCHEMA}.{name} is not simulated; accepted: TABLES, COLUMNS, STATISTICS, …")
        return None
    rows = partial(_columns, views=views) if known.name == "COLUMNS" else ROWS[known.name]
    return SystemTable(known, lambda context: map(cells_of_row, rows(context)))


def cells_of_row(row: Row) -> Cells:
    """Return values as cells."""
    return [None if value is None else str(value).encode("utf-8", "surrogatepass") for value in row]
