"""Statements on databases and on objects of the cluster.

ALTER DATABASE is a job for each kind of option, in TiDB's order (TiDB: pkg/ddl/executor.go, AlterSchema).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, check_placement_policy, with_database, without_database
from simulator.tidb.ddl.definitions.table import DEFAULT_CHARSET
from simulator.tidb.ddl.session import ExecutionResult, Job, Session
from simulator.tidb.ddl.tables.soft_deletes import settings
from simulator.tidb.errors import converting_errors, error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.charsets import canonical_charset, charset_of, resolve_charset_and_collation
from simulator.tidb.parser.ddl.options import SOFT_DELETE_OPTIONS

OPTION_ACTIONS = (
    (Action.MODIFY_SCHEMA_CHARSET_AND_COLLATE, ("CHARSET", "COLLATE")),
    (Action.MODIFY_SCHEMA_DEFAULT_PLACEMENT, ("PLACEMENT POLICY",)),
    (Action.SET_TIFLASH_REPLICA, ("TIFLASH REPLICA",)),
    (Action.MODIFY_SCHEMA_READ_ONLY, ("READ ONLY",)),
    (Action.MODIFY_SCHEMA_SOFT_DELETE, SOFT_DELETE_OPTIONS),
)

STATEMENT_ACTIONS = {
    ("policy", "CREATE"): Action.CREATE_PLACEMENT_POLICY,
    ("policy", "ALTER"): Action.ALTER_PLACEMENT_POLICY,
    ("policy", "DROP"): Action.DROP_PLACEMENT_POLICY,
    ("group", "CREATE"): Action.CREATE_RESOURCE_GROUP,
    ("group", "ALTER"): Action.ALTER_RESOURCE_GROUP,
    ("group", "DROP"): Action.DROP_RESOURCE_GROUP,
}


def create_database(statement: syntax.CreateDatabase, text: str, session: Session) -> ExecutionResult:
    name = statement.name
    if session.catalog and session.catalog.database(name):
        if statement.if_not_exists:
            return session.without_jobs(f"Can't create database '{name}'; database exists: no job")
        raise tidb_error("schema:1007", name)
    check_placement_policy(session.catalog, statement.options)
    database = DatabaseInfo(name, *charset(statement.options, DEFAULT_CHARSET), settings(statement.options, None))
    job = Job(Action.CREATE_SCHEMA, text, statement, name)
    return session.with_jobs([job], lambda catalog: with_database(catalog, database))


def alter_database(statement: syntax.AlterDatabase, text: str, session: Session) -> ExecutionResult:
    """Execute ALTER DATABASE: the default of new tables changes; TiFlash replicas are a job for each table."""
    schema = session.schema_name(statement.name)
    old = session.catalog.existing_database(schema) if session.catalog else DatabaseInfo(schema)
    new = DatabaseInfo(
        old.name, *charset(statement.options, _charset(old)), settings(statement.options, old.soft_delete)
    )
    check_placement_policy(session.catalog, statement.options)
    names = {option.name for option in statement.options}
    notes, jobs = [], []
    for code, options in OPTION_ACTIONS:
        if names.isdisjoint(options):
            continue
        if code == Action.MODIFY_SCHEMA_CHARSET_AND_COLLATE and session.catalog and _charset(new) == _charset(old):
            notes.append("the database has this character set and collation: no job")
            continue
        for table in _tables(schema, session.catalog) if code == Action.SET_TIFLASH_REPLICA else ("",):
            jobs.append(Job(code, text, statement, schema, table))
    return replace(session.with_jobs(jobs, lambda catalog: with_database(catalog, new)), notes=tuple(notes))


def charset(options: Iterable[syntax.TableOption], default: tuple[str, str]) -> tuple[str, str]:
    """Return the charset and collation of the options, else the default. Raises DdlError."""
    values = {option.name: "" if option.default else option.value for option in options}
    charset, collation = values.get("CHARSET", ""), values.get("COLLATE", "")
    with converting_errors("ddl:1115"):
        if charset and collation and charset_of(collation, "database") != canonical_charset(charset, "database"):
            raise tidb_error("ddl:1253", collation, charset)
        return resolve_charset_and_collation(charset, collation, default, "database")


def _charset(database: DatabaseInfo) -> tuple[str, str]:
    return database.charset, database.collation


def _tables(schema: str, catalog: Catalog | None) -> tuple[str, ...]:
    """Return the tables of the database, or one empty name if they are unknown."""
    if catalog is None:
        return ("",)
    return tuple(table.name for (database, _), table in catalog.tables.items() if database == schema.lower())


def drop_database(statement: syntax.DropDatabase, text: str, session: Session) -> ExecutionResult:
    """Execute DROP DATABASE. Raises DdlError if a table of another database refers to one of its tables."""
    name = statement.name
    if session.catalog and session.catalog.database(name) is None:
        if statement.if_exists:
            return session.without_jobs(f"Can't drop database '{name}'; database doesn't exist: no job")
        raise tidb_error("schema:1008", name)
    job = Job(Action.DROP_SCHEMA, text, statement, session.schema_name(name))
    return session.with_jobs([job], lambda catalog: drop_from_catalog(catalog, name, session))


def drop_from_catalog(catalog: Catalog, name: str, session: Session) -> Catalog:
    dropped = name.lower()
    for table in catalog.tables.values() if session.foreign_key_checks else ():
        for foreign in table.foreign_keys:
            refers = foreign.schema.lower() == dropped != table.schema.lower()
            if refers and catalog.table(foreign.schema, foreign.table):
                raise tidb_error("ddl:3730", foreign.table, foreign.name, table.name)
    return without_database(catalog, name)


def flashback_database(statement: syntax.FlashbackDatabase, text: str, session: Session) -> ExecutionResult:
    """Execute FLASHBACK DATABASE, which restores the tables, too. Raises DdlError."""
    job = Job(Action.RECOVER_SCHEMA, text, statement, statement.new_name or statement.name)
    return session.with_jobs([job], lambda catalog: recover_in_catalog(catalog, statement.name, statement.new_name))


def recover_in_catalog(catalog: Catalog, dropped: str, new_name: str) -> Catalog:
    old = catalog.dropped_databases.get(dropped.lower())
    if old is None:
        raise error_with_text("ddl:1105", f"Can't find dropped database: {dropped} in DDL history jobs")
    name = new_name or old.name
    if catalog.database(name):
        raise tidb_error("schema:1007", name)
    tables = {
        (name.lower(), place[1]): replace(table, schema=name)
        for place, table in catalog.dropped.items()
        if place[0] == dropped.lower()
    }
    return with_database(replace(catalog, tables={**catalog.tables, **tables}), replace(old, name=name))


def flashback_cluster(statement: syntax.FlashbackCluster, text: str, session: Session) -> ExecutionResult:
    """Execute FLASHBACK CLUSTER. Raises DdlError for single tables and databases."""
    if statement.tables or statement.database:
        raise unsupported_error(f"FLASHBACK {'table' if statement.tables else 'database'} TO TIMESTAMP")
    return session.with_jobs([Job(Action.FLASHBACK_CLUSTER, text, statement)])


def placement_policy(statement: syntax.PlacementPolicy, text: str, session: Session) -> ExecutionResult:
    """Execute a statement on a placement policy. Raises DdlError."""
    job, name = Job(STATEMENT_ACTIONS["policy", statement.verb], text, statement), statement.name.lower()
    policies = session.catalog.policies if session.catalog else None
    if policies is None:
        return session.with_jobs([job])
    creates, existing = statement.verb == "CREATE", name in policies
    if creates and existing and not statement.or_replace or not creates and not existing:
        if statement.exists and statement.verb != "ALTER":
            return session.without_jobs(f"placement policy '{statement.name}': no job")
        raise tidb_error("ddl:8238" if creates else "ddl:8239", statement.name)
    left = policies - {name} if statement.verb == "DROP" else policies | {name}
    return session.with_jobs([job], lambda catalog: replace(catalog, policies=left))


def resource_group(statement: syntax.ResourceGroup, text: str, session: Session) -> ExecutionResult:
    return session.with_jobs([Job(STATEMENT_ACTIONS["group", statement.verb], text, statement)])
