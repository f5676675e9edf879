"""CREATE TABLE, and LIKE another: the job, the table, and what TiDB refuses.

The checks come in TiDB's order: the first that fails decides about the error. That another table has the name is found
behind those of the definition (TiDB: pkg/ddl/ddl_api.go, CreateTable; later pkg/ddl/create_table.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.auto_random import check_auto_random
from simulator.tidb.ddl.catalog import Catalog, Database, LONGEST_NAME, key as place_of, with_table
from simulator.tidb.ddl.column_definitions import LONGEST_COMMENT, check_definition
from simulator.tidb.ddl.create.keys import INDEXED, key_names
from simulator.tidb.ddl.create.table import DEFAULT_CHARSET, build_column, build_table
from simulator.tidb.ddl.expression_columns import columns_of
from simulator.tidb.ddl.foreign_keys import check_new_foreign_key, check_parent, check_reference, referring
from simulator.tidb.ddl.grammar import check_grammar
from simulator.tidb.ddl.illegal_functions import check_generated_functions
from simulator.tidb.ddl.index_parts import check_expressions, check_parts
from simulator.tidb.ddl.partitioning import new_partitioning
from simulator.tidb.ddl.session import Executed, Job, Session
from simulator.tidb.ddl.steps import KnownTable, column_named
from simulator.tidb.ddl.table_options import check_ttl
from simulator.tidb.ddl.tidb_errors import refused, tidb, unsupported, worded
from simulator.tidb.model.charsets import CHARSETS
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import family
from simulator.tidb.syntax.definitions import KeySyntax, TableName
from simulator.tidb.syntax.tables import TableSyntax

MOST_COLUMNS = 1017
MOST_KEYS = 64

TEMPORARY = "a local temporary table lives in its session alone: no job"


def existing_table(catalog: Catalog, schema: str, name: str) -> Table:
    """The table; raises DdlError where it, or its database, is not there, and for a view or a sequence."""
    table = catalog.table(schema, name)
    if table is None and catalog.has(schema, name):
        raise tidb("ddl:1347", schema, name, "BASE TABLE")
    if table is None:
        raise tidb("schema:1146", schema, name)
    return table


def create_table(statement: TableSyntax, text: str, session: Session) -> Executed:
    """No job where IF NOT EXISTS finds one, nor for a local temporary table. Raises DdlError."""
    catalog = session.catalog
    check_grammar(statement, statement.schema or session.database)
    written = session.written(TableName(statement.schema, statement.name))
    database = catalog.database(written.schema) if catalog else Database(written.schema)
    if database is None:
        raise tidb("schema:1049", written.schema)
    if catalog is None:
        check_unknown(statement, session)
        return Executed((new_job(statement, text, session),), (), None)
    table = new_table(catalog, statement, database, text, session)
    if catalog.has(*written):
        if statement.if_not_exists:
            return session.nothing(f"Table '{'.'.join(session.named(written))}' already exists: no job")
        raise tidb("schema:1050", ".".join(written))
    if statement.like is None:
        check_limits(statement, table)
    if statement.temporary == "local":
        return session.nothing(TEMPORARY)
    return Executed((new_job(statement, text, session),), (), with_table(catalog, table))


def new_job(statement: TableSyntax, text: str, session: Session) -> Job:
    name = session.new(session.written(TableName(statement.schema, statement.name)))
    copied = session.named(statement.like) if statement.like else None
    return Job(actions.CREATE_TABLE, text, statement, *name, like=copied)


def create_tables(statements: Sequence[TableSyntax], text: str, session: Session) -> Executed:
    """The one job of several CREATE TABLE in one text (CREATE TABLES), as restoring tools queue it; they are of one
    database. Raises DdlError."""
    names = [session.new(TableName(statement.schema, statement.name)) for statement in statements]
    notes: list[str] = []
    behind = session
    for statement in statements:
        single = create_table(statement, text, behind)
        notes += single.notes
        behind = replace(session, catalog=single.catalog)
    if len({name.schema for name in names}) > 1:
        raise unsupported("batch creation of tables in several databases")
    job = Job(actions.CREATE_TABLES, text, None, *names[0], tables=tuple(statements))
    return Executed((job,), tuple(notes), behind.catalog)


def new_table(catalog: Catalog, syntax: TableSyntax, database: Database, text: str, session: Session) -> Table:
    """The table in a known database; raises DdlError (TiDB: BuildTableInfoWithStmt, checkTableInfoValidWithStmt)."""
    if syntax.like is not None:
        return copied_table(catalog, syntax, database.name, session)
    charset = check_charset(syntax, (database.charset, database.collation))
    check_columns(syntax, charset, session)
    check_keys(syntax, charset, database.name, session)
    check_options(syntax, session)
    check_same_names(syntax)
    with refused("ddl:1105"):
        table = build_table(
            replace(syntax, schema="", partitioning=None), database.name, text, text,
            (database.charset, database.collation), session.clustered_index)
    partitioning = new_partitioning(syntax.partitioning, table, session) if syntax.partitioning else None
    if partitioning and table.temporary:
        raise tidb("ddl:1562")
    table = replace(table, partitioning=partitioning)
    check_generated_columns(syntax)
    if table.ttl is not None:
        check_ttl(table.ttl.column, table, KnownTable(catalog, table, text, ""))
    for foreign in table.foreign_keys:
        check_parent(foreign, replace(table, foreign_keys=()), catalog, session)
    check_children(table, catalog)
    return table


def check_unknown(syntax: TableSyntax, session: Session) -> None:
    """What can be said of a definition where nothing is known of databases and tables."""
    if syntax.like is None:
        charset = check_charset(syntax, DEFAULT_CHARSET)
        check_columns(syntax, charset, session)
        check_keys(syntax, charset, "", session)


def copied_table(catalog: Catalog, syntax: TableSyntax, schema: str, session: Session) -> Table:
    """Another table's definition, without its foreign keys and its place in other things."""
    assert syntax.like is not None
    model = existing_table(catalog, *session.written(syntax.like))
    return replace(
        model, schema=schema, name=syntax.name, foreign_keys=(), cached=False, temporary=syntax.temporary, statement="",
        columns=tuple(replace(column, origin_default=None) for column in model.columns),
        last_ids=replace(model.last_ids, foreign_key=0),
    )


def check_charset(syntax: TableSyntax, default: tuple[str, str]) -> tuple[str, str]:
    """The table's character set and collation, those of its database without any (TiDB:
    GetCharsetAndCollateInTableOption)."""
    charset, collated = "", ""
    for option in syntax.options:
        if option.default:
            continue
        if option.name == "CHARSET":
            if charset and charset != option.value:
                raise tidb("ddl:1302", charset, option.value)
            charset, collated = option.value, collated or CHARSETS[option.value][0]
        elif option.name == "COLLATE":
            of = option.value.partition("_")[0]
            if charset and charset != of:
                raise tidb("ddl:1253", option.value, charset)
            charset, collated = of, option.value
    return (charset, collated) if charset else default


def check_columns(syntax: TableSyntax, charset: tuple[str, str], session: Session) -> None:
    """Each column's own definition."""
    primary = {part.column.lower() for key in syntax.keys if key.kind == "primary" for part in key.parts}
    for column in syntax.columns:
        check_definition(column, charset, session, column.name.lower() in primary)


def check_keys(syntax: TableSyntax, charset: tuple[str, str], schema: str, session: Session) -> None:
    """Names of keys, then the keys in TiDB's order: those beside the columns first (TiDB: checkConstraintNames,
    BuildTableInfo)."""
    keys = [*syntax.keys, *(key for column in syntax.columns for key in column.keys)]
    check_constraint_names(keys)
    names = key_names(keys)
    with refused("ddl:1105"):
        table = Table(schema, syntax.name, tuple(build_column(column, charset, "") for column in syntax.columns),
                      temporary=syntax.temporary)
    primary = {part.column.lower() for key in keys if key.kind == "primary" for part in key.parts}
    table = replace(table, columns=tuple(
        replace(column, not_null=True) if column.name.lower() in primary else column for column in table.columns))
    foreign = 0
    for key in keys:
        if key.kind == "foreign":
            foreign += 1
            check_new_foreign_key(key, foreign, table)
        else:
            check_key(key, names[id(key)], table, session)
    taken = {name.lower() for key, name in ((key, names[id(key)]) for key in keys if key.kind != "foreign")}
    check_foreign_indexes(keys, taken)


def check_constraint_names(keys: Sequence[KeySyntax]) -> None:
    """TiDB: checkDuplicateConstraint."""
    taken: dict[bool, set[str]] = {True: set(), False: set()}
    for key in keys:
        is_foreign = key.kind == "foreign"
        if key.name and key.name.lower() in taken[is_foreign]:
            raise tidb({"foreign": "ddl:1826", "check": "ddl:3822"}.get(key.kind, "ddl:1061"), key.name)
        taken[is_foreign].add(key.name.lower())


def check_key(key: KeySyntax, name: str, table: Table, session: Session) -> None:
    """A key that the columns can have."""
    if key.kind in ("check", "fulltext", "spatial"):
        return
    check_expressions(key, table, name)
    if key.clustered is not None and key.kind != "primary":
        raise worded("ddl:8200", "CLUSTERED/NONCLUSTERED keyword is only supported for primary key")
    if key.kind == "primary" and check_primary_key(key, table):
        return
    if len(name) > LONGEST_NAME and key.kind != "primary":
        raise tidb("ddl:1059", name)
    if key.kind in INDEXED:
        check_parts(key, table, name, session.is_strict)
    if session.is_strict and len((key.options.comment or "").encode()) > LONGEST_COMMENT:
        raise tidb("ddl:1688", "PRIMARY" if key.kind == "primary" else name)


def check_primary_key(key: KeySyntax, table: Table) -> bool:
    """Whether it is one integer under which rows are stored, and so no index."""
    for part in key.parts:
        if part.expression:
            raise tidb("ddl:3756")
        column = column_named(table, part.column)
        if column is None:
            raise tidb("ddl:1072", part.column)
        if column.generated == "virtual":
            raise tidb("ddl:3106", "Defining a virtual generated column as primary key")
    clustered = key.clustered is not False
    if clustered and key.options.visible is False:
        raise tidb("ddl:3522")
    return clustered and len(key.parts) == 1 and column is not None and family(column.type) == "integer"


def check_foreign_indexes(keys: Sequence[KeySyntax], taken: set[str]) -> None:
    """The index that a foreign key gets has a name of its own (TiDB: addIndexForForeignKey)."""
    beginnings = [tuple(part.column.lower() for part in key.parts) for key in keys if key.kind in INDEXED]
    for number, key in enumerate((key for key in keys if key.kind == "foreign"), 1):
        columns = tuple(part.column.lower() for part in key.parts)
        if any(columns == beginning[:len(columns)] for beginning in beginnings):
            continue
        name = key.name or f"fk_{number}"
        if name.lower() in taken:
            raise worded("ddl:1061", f"duplicate key name {name}")
        taken.add(name.lower())
        beginnings.append(columns)


def check_options(syntax: TableSyntax, session: Session) -> None:
    """What the table's options ask for (TiDB: setTemporaryType, setTableAutoRandomBits, handleTableOptions)."""
    if syntax.temporary == "global" and not syntax.on_commit_delete:
        raise worded("ddl:8200", "TiDB doesn't support ON COMMIT PRESERVE ROWS for now")
    handle = handle_key(syntax)
    check_auto_random(syntax, handle)
    options = {option.name: option.value for option in syntax.options}
    for option in syntax.options:
        if option.name == "SHARD_ROW_ID_BITS" and option.value.strip("0") and handle is not None:
            raise unsupported("shard_row_id_bits for table with primary key as row id")
        if option.name == "PRE_SPLIT_REGIONS" and syntax.temporary:
            raise tidb("planner:8006", "pre split regions")
        if option.name in ("TTL_ENABLE", "TTL_JOB_INTERVAL") and "TTL" not in options:
            raise tidb("ddl:8150", "TTL_ENABLE" if "TTL_ENABLE" in options else "TTL_JOB_INTERVAL")
    if session.is_strict and len(options.get("COMMENT", "").encode()) > 2 * LONGEST_COMMENT:
        raise tidb("ddl:1628", syntax.name.lower())


def handle_key(syntax: TableSyntax) -> KeySyntax | None:
    """The primary key that rows are stored under."""
    keys = [*syntax.keys, *(key for column in syntax.columns for key in column.keys)]
    return next((key for key in keys if key.kind == "primary" and key.clustered is not False), None)


def check_generated_columns(syntax: TableSyntax) -> None:
    """Generated columns are computed from what may be, and from generated ones that stand before them (TiDB:
    checkGeneratedColumn, verifyColumnGeneration)."""
    places = {column.name.lower(): place for place, column in enumerate(syntax.columns)}
    counting = next((column.name.lower() for column in reversed(syntax.columns) if column.auto_increment), "")
    depends = {}
    for column in syntax.columns:
        if column.generated:
            check_generated_functions(column.name, column.generated_expression)
            depends[column.name.lower()] = columns_of(column.generated_expression)
    for name, needed in depends.items():
        if counting in needed:
            raise tidb("ddl:3109", name)
    for name, needed in depends.items():
        for other in sorted(needed):
            if other not in places:
                raise tidb("ddl:1054", other, "generated column function")
            if other in depends and places[other] >= places[name]:
                raise tidb("ddl:3107")


def check_limits(syntax: TableSyntax, table: Table) -> None:
    """Lengths of names, and how many columns and keys there may be (TiDB: checkTableInfoValidExtra)."""
    if len(syntax.name) > LONGEST_NAME:
        raise tidb("ddl:1059", syntax.name)
    for column in syntax.columns:
        if len(column.name) > LONGEST_NAME:
            raise tidb("ddl:1059", column.name)
    hidden = sum(bool(part.expression) for index in table.indexes for part in index.columns)
    if len(table.columns) + hidden > MOST_COLUMNS:
        raise tidb("ddl:1117")
    if len(table.indexes) > MOST_KEYS:
        raise tidb("ddl:1069", MOST_KEYS)
    if any(index.primary and not index.visible for index in table.indexes):
        raise tidb("ddl:3522")


def check_same_names(syntax: TableSyntax) -> None:
    names: set[str] = set()
    for column in syntax.columns:
        if column.name.lower() in names:
            raise tidb("schema:1060", column.name)
        names.add(column.name.lower())


def check_children(table: Table, catalog: Catalog) -> None:
    """Foreign keys that have waited for the table fit it (TiDB: checkTableForeignKeysValid)."""
    for child, foreign in referring(catalog, table.schema, table.name):
        if place_of(child.schema, child.name) != place_of(table.schema, table.name):
            check_reference(foreign, child, table)
