"""Statements on whole databases and tables: CREATE DATABASE, DROP TABLE, TRUNCATE, RENAME, RECOVER and the like.

Those on objects of the cluster, such as placement policies, are here, too. ALTER DATABASE is a job for each kind of
option, in TiDB's order (TiDB: pkg/ddl/executor.go, AlterSchema).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import (
    Catalog,
    DatabaseInfo,
    check_length,
    check_placement_policy,
    lower_names,
    with_database,
    with_dropped,
    with_table,
    without_database,
    without_table,
)
from simulator.tidb.ddl.catalog import object_key as place_of
from simulator.tidb.ddl.create_table import TEMPORARY, existing_table
from simulator.tidb.ddl.foreign_keys import check_unreferred, update_references
from simulator.tidb.ddl.session import Alteration, ExecutionResult, Job, Session, SubJob, SubJobs, drop_each
from simulator.tidb.ddl.table_definitions import DEFAULT_CHARSET, build_table
from simulator.tidb.ddl.table_options import settings
from simulator.tidb.errors import converting_errors, error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import canonical_charset, charset_of, resolve_charset_and_collation
from simulator.tidb.parser.keys_and_options import SOFT_DELETE_OPTIONS

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
    check_length(name)
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
    return session.with_jobs([job], lambda catalog: drop_database_from_catalog(catalog, name, session))


def drop_database_from_catalog(catalog: Catalog, name: str, session: Session) -> Catalog:
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
    return session.with_jobs(
        [job], lambda catalog: recover_database_in_catalog(catalog, statement.name, statement.new_name)
    )


def recover_database_in_catalog(catalog: Catalog, dropped: str, new_name: str) -> Catalog:
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


def drop_table(statement: syntax.DropTable, text: str, session: Session) -> ExecutionResult:
    """Execute DROP TABLE: a job for each table. Raises DdlError if another table refers to one of them."""
    if statement.temporary == "local":
        return session.without_jobs(TEMPORARY)
    names = [session.qualified_name(name) for name in statement.tables]
    if session.catalog and session.foreign_key_checks:
        for table in filter(None, (session.catalog.table(*name) for name in names)):
            check_unreferred(session.catalog, table, "ddl:3730", {place_of(*name) for name in names})
    job = Job(Action.DROP_TABLE, text, statement)
    return drop_each(statement.tables, drop_from_catalog, job, "schema:1051", session)


def drop_from_catalog(catalog: Catalog, name: syntax.TableName) -> Catalog | None:
    table = catalog.table(*name)
    if table is not None and table.cached:
        raise tidb_error("ddl:8242", "Drop Table")
    return with_dropped(without_table(catalog, table), table) if table else None


def truncate_table(statement: syntax.TruncateTable, text: str, session: Session) -> ExecutionResult:
    """Execute TRUNCATE TABLE, which keeps the definition but for origin defaults. Raises DdlError."""
    written = session.qualified_name(statement.table)

    def change(catalog: Catalog) -> Catalog:
        catalog.existing_database(written.schema)
        table = catalog.table(*written)
        if table is None:
            raise tidb_error("schema:1146", *written)
        if table.cached:
            raise tidb_error("ddl:8242", "Truncate Table")
        if session.foreign_key_checks:
            check_unreferred(catalog, table, "ddl:1701")
        return with_dropped(catalog, table)

    job = Job(Action.TRUNCATE_TABLE, text, statement, *session.existing_name(statement.table))
    return session.with_jobs([job], change)


def rename_table(statement: syntax.RenameTable, text: str, session: Session) -> ExecutionResult:
    """Execute RENAME TABLE pair by pair, so that names can be swapped. Several pairs are one job RenameTables. Raises
    DdlError."""
    renames: dict[tuple[str, str], syntax.TableName] = {}
    pairs, catalog = [], session.catalog
    for old, new in statement.pairs:
        before, after = session.existing_name(old), session.new_name(new)
        before = renames.pop(place_of(*before), before)
        renames[place_of(*after)] = after
        pairs.append((before, after))
        if catalog is not None:
            catalog = rename_in_catalog(catalog, session.qualified_name(old), session.qualified_name(new))
    code = Action.RENAME_TABLES if len(pairs) > 1 else Action.RENAME_TABLE
    job = Job(code, text, statement, *pairs[0][1], renames=tuple(pairs), renames_as_written=statement.pairs)
    return ExecutionResult((job,), (), catalog)


def rename_in_catalog(catalog: Catalog, old: syntax.TableName, new: syntax.TableName) -> Catalog:
    check_rename(catalog, old, new)
    place, database = place_of(*old), catalog.databases[new.schema.lower()]
    if place in catalog.views:
        views = {objects: view for objects, view in catalog.views.items() if objects != place}
        return replace(catalog, views={**views, place_of(*new): replace(catalog.views[place], name=new.name)})
    if place in catalog.sequences:
        sequences = {objects: sequence for objects, sequence in catalog.sequences.items() if objects != place}
        sequence = replace(catalog.sequences[place], schema=database.name, name=new.name)
        return replace(catalog, sequences={**sequences, place_of(*new): sequence})
    table = catalog.tables[place]
    return move_table(catalog, table, replace(table, schema=database.name, name=new.name))


def check_rename(catalog: Catalog, old: syntax.TableName, new: syntax.TableName) -> None:
    """Raise DdlError for an unknown old name or a taken new name (TiDB: ExtractTblInfos)."""
    if not catalog.has(old.schema, old.name):
        if catalog.has(new.schema, new.name):
            raise tidb_error("schema:1050", f"{new.schema}.{new.name}")
        raise tidb_error("schema:1146", old.schema, old.name)
    if place_of(*old) in catalog.views and old.schema != new.schema:
        raise tidb_error("schema:1450", old.schema, new.schema)
    if catalog.database(new.schema) is None:
        raise tidb_error("ddl:1025", old.schema, old.name, new.schema, new.name, new.schema)
    if catalog.has(new.schema, new.name):
        raise tidb_error("schema:1050", f"{new.schema}.{new.name}")
    check_length(new.name)
    table = catalog.table(*old)
    if table is not None and table.cached:
        raise tidb_error("ddl:8242", "Rename Table")


def rename_to(spec: syntax.RenameTo, alteration: Alteration) -> SubJobs:
    target, new = alteration.target, alteration.session.new_name(spec.table)
    if lower_names(new) == lower_names(alteration.name):
        yield "the table has that name: no job"
        return
    if target is not None:
        if target.catalog.database(new.schema) is None:
            raise tidb_error("ddl:1025", *alteration.name, *new, new.schema)
        if target.catalog.has(*new):
            raise tidb_error("schema:1050", f"{new.schema}.{new.name}")
        check_length(new.name)
    yield SubJob(Action.RENAME_TABLE, lambda before: replace(before, schema=new.schema, name=new.name))


def move_table(catalog: Catalog, table: Table, changed: Table) -> Catalog:
    return with_table(without_table(update_references(catalog, table, changed, {}), table), changed)


def recover_table(statement: syntax.RecoverTable, text: str, session: Session) -> ExecutionResult:
    """Execute RECOVER TABLE. The session knows the table of BY JOB; without a catalog its name may be unknown."""
    name = statement.table or session.dropped.get(statement.job)
    if name is None and session.catalog is not None:
        text = "RECOVER TABLE BY JOB: the jobs of a cluster are not known here; name the table"
        raise error_with_text("ddl:1105", text)
    named = session.existing_name(name) if name else syntax.TableName("", "")
    job = Job(Action.RECOVER_TABLE, text, statement, *named)
    return session.with_jobs([job], lambda catalog: recover_in_catalog(catalog, session.qualified_name(named), ""))


def flashback_table(statement: syntax.FlashbackTable, text: str, session: Session) -> ExecutionResult:
    """Execute FLASHBACK TABLE; the job has the new name."""
    old = session.new_name(statement.table)
    job = Job(Action.RECOVER_TABLE, text, statement, old.schema, statement.new_name or old.name)
    return session.with_jobs([job], lambda catalog: recover_in_catalog(catalog, old, statement.new_name))


def recover_in_catalog(catalog: Catalog, old: syntax.TableName, new: str) -> Catalog:
    """Return the catalog with the last dropped or truncated table of a name restored. Raises DdlError."""
    table = catalog.dropped.get(place_of(*old))
    if table is None:
        raise error_with_text("ddl:1105", f"Can't find dropped/truncated table: {old.name} in DDL history jobs")
    if catalog.has(table.schema, new or table.name):
        raise tidb_error("schema:1050", new or table.name)
    return with_table(catalog, replace(table, name=new or table.name))


def repair_table(statement: syntax.RepairTable, text: str, session: Session) -> ExecutionResult:
    def change(catalog: Catalog) -> Catalog:
        table = existing_table(catalog, *session.qualified_name(statement.table))
        with converting_errors("ddl:1105"):
            definition = structs.replace(statement.definition, schema=statement.definition.schema or table.schema)
            new = build_table(definition, text, literal=session.release.literal_defaults)
        return with_table(without_table(catalog, table), new)

    job = Job(Action.REPAIR_TABLE, text, statement, *session.existing_name(statement.table))
    return session.with_jobs([job], change)


def lock_tables(statement: syntax.LockTables, text: str, session: Session) -> ExecutionResult:
    """Execute LOCK TABLES: one job for any number of tables."""
    return session.with_jobs([Job(Action.LOCK_TABLE, text, statement, *session.existing_name(statement.locks[0][0]))])
