"""CREATE TABLE and CREATE TABLE … LIKE.

Checks are in TiDB's order, since the first that fails gives the error; a taken name comes after the definition (TiDB:
pkg/ddl/ddl_api.go, CreateTable; later pkg/ddl/create_table.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.ddl import table_checks as checks
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, check_placement_policy, with_table
from simulator.tidb.ddl.catalog import object_key as place_of
from simulator.tidb.ddl.checks import check_name_is_free, check_new_checks, copy_checks
from simulator.tidb.ddl.foreign_keys import check_parent, check_reference, referring_keys
from simulator.tidb.ddl.grammar import check_grammar
from simulator.tidb.ddl.partitioning import new_partitioning, rewrite_statement
from simulator.tidb.ddl.session import ExecutionResult, Job, Session, TargetTable
from simulator.tidb.ddl.table_definitions import DEFAULT_CHARSET, build_table
from simulator.tidb.ddl.table_options import NOT_TEMPORARY, check_ttl, settings, with_soft_deletes
from simulator.tidb.errors import converting_errors, tidb_error, unsupported_error
from simulator.tidb.model.table import Table
from simulator.tidb.parser.ddl.databases_and_tables import parse_create_table
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
        checks.check_limits(statement, table)
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
    charset = checks.check_charset(definition, (database.charset, database.collation), session)
    checks.check_columns(definition, charset, session)
    checks.check_keys(definition, charset, database.name, session)
    checks.check_options(definition, session)
    checks.check_same_names(definition)
    definitions = definition.partitioning.definitions if definition.partitioning else ()
    check_placement_policy(
        catalog, [*definition.options, *(option for definition in definitions for option in definition.options)]
    )
    with converting_errors("ddl:1105"):
        table = build_table(
            structs.replace(definition, schema="", partitioning=None),
            database.name,
            text,
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
    checks.check_generated_columns(definition, database.name)
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
        charset = checks.check_charset(definition, DEFAULT_CHARSET, session)
        checks.check_columns(definition, charset, session)
        checks.check_keys(definition, charset, "", session)


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
        checks=copy_checks(model, definition.name),
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
    checks.check_on_commit(definition)


def check_children(table: Table, catalog: Catalog) -> None:
    """Check existing foreign keys that refer to the new table (TiDB: checkTableForeignKeysValid)."""
    for child, foreign in referring_keys(catalog, table.schema, table.name):
        if place_of(child.schema, child.name) != place_of(table.schema, table.name):
            check_reference(foreign, child, table)
