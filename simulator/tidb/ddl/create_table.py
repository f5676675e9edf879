"""CREATE TABLE and CREATE TABLE … LIKE.

Checks are in TiDB's order, since the first that fails gives the error; a taken name comes after the definition (TiDB:
pkg/ddl/ddl_api.go, CreateTable, BuildTableInfoWithStmt, checkTableInfoValidWithStmt, checkTableInfoValidExtra; later
pkg/ddl/create_table.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.alter_columns import (
    MAX_COLUMNS,
    check_auto_random_type,
    check_generation_order,
    check_not_counting,
)
from simulator.tidb.ddl.catalog import (
    Catalog,
    DatabaseInfo,
    check_length,
    check_placement_policy,
    first_repeated,
    qualified_names,
    with_table,
)
from simulator.tidb.ddl.catalog import object_key as place_of
from simulator.tidb.ddl.column_definitions import (
    MAX_COMMENT_BYTES,
    check_charset_name,
    check_collation,
    check_definition,
)
from simulator.tidb.ddl.expressions import check_generated_functions
from simulator.tidb.ddl.foreign_keys import check_parent, check_reference, referring_keys
from simulator.tidb.ddl.grammar import check_grammar
from simulator.tidb.ddl.indexes import MAX_KEYS, check_visible_primary
from simulator.tidb.ddl.key_checks import check_keys, check_name_is_free, check_new_checks
from simulator.tidb.ddl.key_definitions import all_keys, free_names
from simulator.tidb.ddl.partitioning import new_partitioning, rewrite_statement
from simulator.tidb.ddl.session import ExecutionResult, Job, Session, TargetTable
from simulator.tidb.ddl.table_definitions import DEFAULT_CHARSET, build_table
from simulator.tidb.ddl.table_options import NOT_TEMPORARY, check_id_cache, check_ttl, settings, with_soft_deletes
from simulator.tidb.errors import auto_random_error, converting_errors, error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import CHARSETS
from simulator.tidb.parser.databases_and_tables import parse_create_table
from simulator.tidb.parser.script import parse_tokens
from simulator.tidb.parser.tokens import tokenize

TEMPORARY = "a local temporary table lives in its session alone: no job"


def existing_table(catalog: Catalog, schema: str, name: str) -> Table:
    """Return the table. Raises DdlError for an unknown table or database, and for a view or a sequence."""
    table = catalog.table(schema, name)
    if table is None and catalog.has(schema, name):
        raise tidb_error("ddl:1347", schema, name, "BASE TABLE")
    if table is None:
        raise tidb_error("schema:1146", schema, name)
    return table


def create_table(statement: syntax.CreateTable, text: str, session: Session) -> ExecutionResult:
    """Execute CREATE TABLE. A local temporary table is no job. Raises DdlError."""
    catalog = session.catalog
    check_grammar(statement, statement.schema or session.database)
    written = session.qualified_name(syntax.TableName(statement.schema, statement.name))
    database = catalog.existing_database(written.schema) if catalog else DatabaseInfo(written.schema)
    if catalog is None:
        check_unknown(statement, session)
        if statement.temporary == "local":
            return session.without_jobs(TEMPORARY)
        return ExecutionResult((new_job(statement, text, session),), (), None)
    table = build_new_table(catalog, statement, database, text, session)
    if catalog.has(*written):
        if statement.if_not_exists:
            return session.without_jobs(f"Table '{'.'.join(session.existing_name(written))}' already exists: no job")
        raise tidb_error("schema:1050", ".".join(written))
    if statement.like is None:
        check_limits(statement, table)
    for check in table.checks if session.check_constraints else ():
        check_name_is_free(check.name, table, catalog)
    if statement.temporary == "local":
        return session.without_jobs(TEMPORARY)
    query = rewrite_statement(statement, text, table)
    job = new_job(parse_rewritten(statement, text, query, session.sql_mode), query, session)
    return ExecutionResult((job,), (), with_table(catalog, table))


def parse_rewritten(
    statement: syntax.CreateTable, text: str, query: str, sql_mode: frozenset[str]
) -> syntax.CreateTable:
    """Return the statement of a rewritten query, as TiCDC reads it in the job."""
    if query == text:
        return statement
    try:
        return parse_tokens(query, tokenize(query, sql_mode), parse_create_table, sql_mode=sql_mode)
    except SchemaError:  # with an INTERVAL and its partitions, TiDB writes the partitions twice
        return statement


def new_job(statement: syntax.CreateTable, text: str, session: Session) -> Job:
    name = session.new_name(session.qualified_name(syntax.TableName(statement.schema, statement.name)))
    copied = session.existing_name(statement.like) if statement.like else None
    return Job(Action.CREATE_TABLE, text, statement, *name, like=copied)


def create_tables(statements: Sequence[syntax.CreateTable], text: str, session: Session) -> ExecutionResult:
    """Execute several CREATE TABLE of one database as one job (CREATE TABLES), as restore tools queue it. Raises
    DdlError."""
    names = [session.new_name(syntax.TableName(statement.schema, statement.name)) for statement in statements]
    notes: list[str] = []
    current = session
    for statement in statements:
        single = create_table(statement, text, current)
        notes += single.notes
        current = replace(session, catalog=single.catalog)
    if len({name.schema for name in names}) > 1:
        raise unsupported_error("batch creation of tables in several databases")
    job = Job(Action.CREATE_TABLES, text, None, *names[0], tables=tuple(statements))
    return ExecutionResult((job,), tuple(notes), current.catalog)


def build_new_table(
    catalog: Catalog, definition: syntax.CreateTable, database: DatabaseInfo, text: str, session: Session
) -> Table:
    """Check a definition and return its table. Raises DdlError (TiDB: BuildTableInfoWithStmt,
    checkTableInfoValidWithStmt)."""
    if definition.like is not None:
        return copy_table(catalog, definition, database.name, session)
    charset = check_charset(definition, (database.charset, database.collation), session)
    check_columns(definition, charset, session)
    check_keys(definition, charset, database.name, session)
    check_options(definition, session)
    if name := first_repeated(column.name for column in definition.columns):
        raise tidb_error("schema:1060", name)
    definitions = definition.partitioning.definitions if definition.partitioning else ()
    check_placement_policy(
        catalog, [*definition.options, *(option for definition in definitions for option in definition.options)]
    )
    with converting_errors("ddl:1105"):
        table = build_table(
            structs.replace(definition, schema=database.name, partitioning=None),
            text,
            (database.charset, database.collation),
            session.clustered_index,
            session.release.literal_defaults,
        )
    if session.check_constraints:
        check_new_checks(definition, table)
    partitioning = new_partitioning(definition.partitioning, table, session) if definition.partitioning else None
    if partitioning and table.temporary:
        raise tidb_error("ddl:1562")
    table = replace(table, partitioning=partitioning)
    check_generated_columns(table)
    if table.ttl is not None and table.temporary:
        raise tidb_error("ddl:8151")
    if table.ttl is not None:
        check_ttl(table.ttl.column, table, TargetTable(catalog, table, text, ""))
    table = with_soft_deletes(table, settings(definition.options, database.soft_delete), catalog)
    for foreign in table.foreign_keys:
        check_parent(foreign, replace(table, foreign_keys=()), catalog, session)
    check_children(table, catalog)
    return table


def check_unknown(definition: syntax.CreateTable, session: Session) -> None:
    if definition.like is None:
        charset = check_charset(definition, DEFAULT_CHARSET, session)
        check_columns(definition, charset, session)
        check_keys(definition, charset, "", session)


def copy_table(catalog: Catalog, definition: syntax.CreateTable, schema: str, session: Session) -> Table:
    """Return the table of CREATE TABLE … LIKE, which has no foreign keys."""
    assert definition.like is not None
    model = existing_table(catalog, *session.qualified_name(definition.like))
    check_copied(definition, model)
    return replace(
        model,
        schema=schema,
        name=definition.name,
        foreign_keys=(),
        cached=False,
        temporary=definition.temporary,
        statement="",
        # TiDB: renameCheckConstraint
        checks=tuple(replace(each, name=free) for each, free in zip(model.checks, free_names(definition.name, set()))),
        last_ids=replace(model.last_ids, foreign_key=0),
    )


def check_copied(definition: syntax.CreateTable, model: Table) -> None:
    """Raise DdlError for LIKE a temporary table, and for a temporary copy of a table with partitions or options of
    stored tables (TiDB: checkCreateTableGrammar, checkReferInfoForTemporaryTable)."""
    if model.temporary:
        raise tidb_error("planner:8006", "create table like")
    options = dict(model.options)
    if not definition.temporary:
        return
    if model.soft_delete:
        raise unsupported_error(NOT_TEMPORARY)
    if any(column.auto_random for column in model.columns):
        raise tidb_error("planner:8006", "auto_random")
    if options.get("PRE_SPLIT_REGIONS", "0").strip("0"):
        raise tidb_error("planner:8006", "pre split regions")
    if model.partitioning:
        raise tidb_error("ddl:1562")
    if options.get("SHARD_ROW_ID_BITS", "0").strip("0"):
        raise tidb_error("planner:8006", "shard_row_id_bits")
    check_on_commit(definition)


def check_children(table: Table, catalog: Catalog) -> None:
    """Check existing foreign keys that refer to the new table (TiDB: checkTableForeignKeysValid)."""
    for child, foreign in referring_keys(catalog, table.schema, table.name):
        if place_of(child.schema, child.name) != place_of(table.schema, table.name):
            check_reference(foreign, child, table)


SHARD_BITS, RANGE_BITS = 5, 64
MOST_SHARD_BITS = 15
LEAST_RANGE_BITS = 32
LEAST_BITS = 27
"""Bits of the incremental part."""


def check_charset(definition: syntax.CreateTable, default: tuple[str, str], session: Session) -> tuple[str, str]:
    """Return the charset and collation of the table, by default those of its database. Raises DdlError (TiDB:
    GetCharsetAndCollateInTableOption)."""
    charset, collated = "", ""
    for option in definition.options:
        if option.default:
            continue
        if option.name == "CHARSET":
            check_charset_name(option.value, session)
            if charset and charset != option.value:
                raise tidb_error("ddl:1302", charset, option.value)
            charset, collated = option.value, collated or CHARSETS[option.value][0]
        elif option.name == "COLLATE":
            charset_of_collation = option.value.partition("_")[0]
            check_collation(option.value)
            check_charset_name(charset_of_collation, session)
            if charset and charset != charset_of_collation:
                raise tidb_error("ddl:1253", option.value, charset)
            charset, collated = charset_of_collation, option.value
    return (charset, collated) if charset else default


def check_columns(definition: syntax.CreateTable, charset: tuple[str, str], session: Session) -> None:
    primary = {part.column.lower() for key in definition.keys if key.kind == "primary" for part in key.parts}
    for column in definition.columns:
        check_definition(column, charset, session, column.name.lower() in primary)


def check_on_commit(definition: syntax.CreateTable) -> None:
    if definition.temporary == "global" and not definition.on_commit_delete:
        raise error_with_text("ddl:8200", "TiDB doesn't support ON COMMIT PRESERVE ROWS for now")


def check_options(definition: syntax.CreateTable, session: Session) -> None:
    """Check table options (TiDB: setTemporaryType, setTableAutoRandomBits, handleTableOptions)."""
    check_on_commit(definition)
    handle = handle_key(definition)
    check_auto_random(definition, handle)
    options = {option.name: option.value for option in definition.options}
    for option in definition.options:
        if option.name == "SHARD_ROW_ID_BITS" and option.value.strip("0") and handle is not None:
            raise unsupported_error("shard_row_id_bits for table with primary key as row id")
        if option.name == "PRE_SPLIT_REGIONS" and definition.temporary:
            raise tidb_error("planner:8006", "pre split regions")
        check_id_cache(option)
        if option.name in ("TTL_ENABLE", "TTL_JOB_INTERVAL") and "TTL" not in options:
            raise tidb_error("ddl:8150", "TTL_ENABLE" if "TTL_ENABLE" in options else "TTL_JOB_INTERVAL")
    if session.is_strict and len(options.get("COMMENT", "").encode()) > 2 * MAX_COMMENT_BYTES:
        raise tidb_error("ddl:1628", definition.name.lower())


def handle_key(definition: syntax.CreateTable) -> syntax.KeyDefinition | None:
    return next(
        (key for key in all_keys(definition) if key.kind == "primary" and key.options.clustered is not False), None
    )


def check_generated_columns(table: Table) -> None:
    """Check the expressions of generated columns, which may depend on earlier generated columns only (TiDB:
    checkGeneratedColumn)."""
    generated = [column for column in table.columns if column.generated]
    for column in generated:
        check_generated_functions(column.name, column.generated_expression)
        check_names(column.generated_expression, table.schema, table.name)
    for column in generated:
        check_not_counting(column, table)
    check_generation_order(table.columns)


def check_names(expression: str, schema: str, table: str) -> None:
    """Raise DdlError for a column name qualified with another table (TiDB: findDependedColumnNames)."""
    for parts in qualified_names(expression):
        if len(parts) > 2 and parts[-3].lower() != schema.lower():
            raise tidb_error("ddl:1102", parts[-3])
        if len(parts) > 1 and parts[-2].lower() != table.lower():
            raise tidb_error("ddl:1103", parts[-2])


def check_limits(definition: syntax.CreateTable, table: Table) -> None:
    """Raise DdlError for long names and too many columns or keys (TiDB: checkTableInfoValidExtra)."""
    check_length(definition.name)
    for column in definition.columns:
        check_length(column.name)
    hidden = sum(bool(part.expression) for index in table.indexes for part in index.columns)
    if len(table.columns) + hidden > MAX_COLUMNS:
        raise tidb_error("ddl:1117")
    if len(table.indexes) > MAX_KEYS:
        raise tidb_error("ddl:1069", MAX_KEYS)
    check_visible_primary(table)


def check_auto_random(definition: syntax.CreateTable, handle: syntax.KeyDefinition | None) -> None:
    """Raise DdlError 8216; `handle` is the clustered primary key (TiDB: setTableAutoRandomBits; pkg/meta/autoid)."""
    for column in definition.columns:
        option = column.option("auto_random")
        if option is None:
            continue
        check_auto_random_type(column.type.name)
        if handle is None:
            raise auto_random_error("auto_random is only supported on the tables with clustered primary key")
        if handle.parts[0].column.lower() != column.name.lower():
            raise auto_random_error(f"column '{column.name}' must be the first column in primary key")
        if column.auto_increment:
            raise auto_random_error("auto_random is incompatible with auto_increment")
        if column.default is not None:
            raise auto_random_error("auto_random is incompatible with default")
        check_bits(column, option.numbers)


def check_bits(column: syntax.ColumnDefinition, numbers: tuple[int, ...]) -> None:
    shard = numbers[0] if numbers else SHARD_BITS
    bits = numbers[1] if len(numbers) > 1 else RANGE_BITS
    if shard == 0:
        raise auto_random_error("the value of auto_random should be positive")
    if shard > MOST_SHARD_BITS:
        raise auto_random_error(
            f"max allowed auto_random shard bits is {MOST_SHARD_BITS}, but got {shard} on column `{column.name}`"
        )
    if not LEAST_RANGE_BITS <= bits <= RANGE_BITS:
        raise auto_random_error(
            f"auto_random range bits must be between {LEAST_RANGE_BITS} and {RANGE_BITS}, but got {bits}"
        )
    if bits - shard - (not column.type.unsigned) < LEAST_BITS:
        raise auto_random_error(
            "auto_random ID space is too small, please decrease the shard bits or increase the range bits"
        )
