"""DROP, TRUNCATE, RENAME, RECOVER, REPAIR and LOCK TABLE (TiDB: pkg/ddl/executor.go)."""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.alteration import Alteration, SubJob, SubJobs
from simulator.tidb.ddl.catalog import Catalog, with_dropped, with_table, without_table
from simulator.tidb.ddl.catalog import object_key as place_of
from simulator.tidb.ddl.constraints.foreign_keys import check_unreferred, update_references
from simulator.tidb.ddl.definitions.table import build_table
from simulator.tidb.ddl.lookups import check_length, lower_names
from simulator.tidb.ddl.session import ExecutionResult, Job, Session, drop_each
from simulator.tidb.ddl.tables.create import TEMPORARY, existing_table
from simulator.tidb.errors import converting_errors, error_with_text, tidb_error
from simulator.tidb.model.table import Table


def drop_table(statement: syntax.DropTable, text: str, session: Session) -> ExecutionResult:
    """Execute DROP TABLE: a job for each table. Raises DdlError if another table refers to one of them."""
    if statement.temporary == "local":
        return session.without_jobs(TEMPORARY)
    names = [session.qualified_name(name) for name in statement.tables]
    if session.catalog and session.foreign_key_checks:
        for table in filter(None, (session.catalog.table(*name) for name in names)):
            check_unreferred(session.catalog, table, "ddl:3730", {place_of(*name) for name in names})
    job = Job(Action.DROP_TABLE, text, statement)
    return drop_each(statement.tables, drop_from_catalog, job, "schema:1051", statement.if_exists, session)


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
            new = build_table(statement.definition, table.schema, text, text, literal=session.release.literal_defaults)
        return with_table(without_table(catalog, table), new)

    job = Job(Action.REPAIR_TABLE, text, statement, *session.existing_name(statement.table))
    return session.with_jobs([job], change)


def lock_tables(statement: syntax.LockTables, text: str, session: Session) -> ExecutionResult:
    """Execute LOCK TABLES: one job for any number of tables."""
    return session.with_jobs([Job(Action.LOCK_TABLE, text, statement, *session.existing_name(statement.locks[0][0]))])


def unlock_tables(statement: syntax.UnlockTables, text: str, session: Session) -> ExecutionResult:
    return session.with_jobs([Job(Action.UNLOCK_TABLE, text, statement)])
