"""Execution of DDL statements; those on views and sequences are here, the others beside.

STATEMENTS maps each kind of statement to its function, which returns the jobs that TiDB queues, whether TiCDC
replicates them or not, or raises DdlError with TiDB's text. Sources: tidb pkg/executor/ddl.go, pkg/ddl/executor.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl import Action, create_table, databases
from simulator.tidb.ddl import alter_table as alter
from simulator.tidb.ddl.catalog import (
    MAX_NAME_LENGTH,
    Catalog,
    Key,
    SequenceInfo,
    ViewInfo,
    check_length,
    check_sequence,
    first_repeated,
)
from simulator.tidb.ddl.catalog import object_key as place_of
from simulator.tidb.ddl.grammar import read_syntax
from simulator.tidb.ddl.session import ExecutionResult, Job, Session, drop_each
from simulator.tidb.errors import tidb_error
from simulator.tidb.model.table import shown_columns
from simulator.tidb.parser.select import field_names

T = TypeVar("T")


def execute(statement: syntax.Statement, text: str, session: Session) -> ExecutionResult:
    """Execute a statement. Raises DdlError, also for a statement that fails after some of its jobs."""
    executed = attempt(read_syntax(statement, text, session.release), text, session)
    if executed.error is not None:
        raise executed.error
    return executed


def attempt(statement: syntax.Statement, text: str, session: Session) -> ExecutionResult:
    """Execute a statement that `read_syntax` returned, and which may fail after some of its jobs; the result then has the
    error.

    `text` is the text of the statement. Raises DdlError with TiDB's text for a statement that fails before its first
    job. Without a catalog in the session, checks that need one are skipped.
    """
    return _complete(STATEMENTS[type(statement)](statement, text, session), session)


def execute_in_catalog(
    catalog: Catalog, statement: syntax.Statement, text: str, session: Session
) -> tuple[tuple[Job, ...], Catalog]:
    """Execute a statement in a catalog; return the jobs and the catalog after it. Raises DdlError."""
    executed = execute(statement, text, replace(session, catalog=catalog))
    return executed.jobs, catalog if executed.catalog is None else executed.catalog


def execute_batch(statements: Sequence[syntax.CreateTable], text: str, session: Session) -> ExecutionResult:
    """Execute several CREATE TABLE in one text as one job. Raises DdlError."""
    read = [read_syntax(statement, text, session.release) for statement in statements]
    return _complete(create_table.create_tables(read, text, session), session)


def _complete(executed: ExecutionResult, session: Session) -> ExecutionResult:
    database = session.schema_name("") if session.database else ""
    jobs = tuple(
        _with_ticdc_code(
            replace(job, database=database, sql_mode=session.sql_mode, charset=session.charset), session.release
        )
        for job in executed.jobs
    )
    return replace(executed, jobs=jobs)


def _with_ticdc_code(job: Job, release: Release) -> Job:
    """Return a job with TiCDC's own code, which some releases assign by a search in the text, comments included
    (ticdc v8.5.4: logservice/schemastore/persist_storage.go handleDDLJob)."""
    text = job.query.upper() if release.codes_search_indexes else ""
    if text.strip().startswith("CREATE HYBRID INDEX"):
        return replace(job, code=Action.CREATE_HYBRID_INDEX)
    return replace(job, code=Action.ADD_FULLTEXT_INDEX) if "ADD FULLTEXT INDEX" in text else job


# -- views and sequences, which share one namespace with tables --------------------------------------------------------

MAX_USER_LENGTH = 32


def create_view(statement: syntax.CreateView, text: str, session: Session) -> ExecutionResult:
    """Execute CREATE VIEW. OR REPLACE can replace a view only."""
    name = session.qualified_name(statement.view)
    definer = statement.definer or ("root", "%")
    if len(definer[0]) > MAX_USER_LENGTH:
        raise tidb_error("ddl:1470", definer[0], "user name", MAX_USER_LENGTH)

    def change(catalog: Catalog) -> Catalog:
        stars: dict[Key, tuple[str, ...]] = {}
        names = _column_names(statement, catalog, session, stars)
        place = _checked_key(catalog, name)
        if catalog.has(*name) and not (statement.or_replace and place in catalog.views):
            if statement.or_replace:
                raise tidb_error("ddl:1347", *name, "VIEW")
            raise tidb_error("schema:1050", ".".join(name))
        if repeated := first_repeated(names):
            raise tidb_error("schema:1060", repeated)
        options = statement.algorithm, definer, statement.security
        view = ViewInfo(name.schema, name.name, statement.query.restored, names, *options, tuple(stars.items()))
        return replace(catalog, views={**catalog.views, place: view})

    return session.with_jobs([Job(Action.CREATE_VIEW, text, statement, *session.new_name(statement.view))], change)


def _checked_key(catalog: Catalog, name: syntax.TableName) -> Key:
    """Return the key of a name. Raises DdlError for an unknown database."""
    catalog.existing_database(name.schema)
    return place_of(*name)


def _column_names(
    statement: syntax.CreateView, catalog: Catalog, session: Session, stars: dict[Key, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the names of the columns of a view; note the columns of tables that `*` means. Raises DdlError.

    A long name of the query is replaced (tidb pkg/planner/core/logical_plan_builder.go, adjustOverlongViewColname).
    """

    def columns_of(schema: str, name: str) -> tuple[str, ...]:
        place = place_of(schema or session.database, name)
        view = catalog.views.get(place)
        stars[place] = view.columns if view else tuple(column.name for column in shown_columns(catalog.tables[place]))
        return stars[place]

    tree = statement.query.tree
    if any(isinstance(part, syntax.Variable | syntax.AssignedVariable) for part in syntax.parts_of(tree)):
        raise tidb_error("planner:1351")
    found = () if tree is None else field_names(tree, columns_of)
    if found and statement.columns and len(found) != len(statement.columns):
        raise tidb_error("ddl:1353")
    for name in statement.columns:
        check_length(name)
    return statement.columns or tuple(
        f"name_exp_{number}" if len(name) > MAX_NAME_LENGTH else name for number, name in enumerate(found, 1)
    )


def drop_view(statement: syntax.DropView, text: str, session: Session) -> ExecutionResult:
    def without(catalog: Catalog, name: syntax.TableName) -> Catalog | None:
        if catalog.has(*name) and place_of(*name) not in catalog.views:
            raise tidb_error("ddl:1347", *name, "VIEW")
        return replace(catalog, views=_without(catalog.views, name)) if catalog.has(*name) else None

    job = Job(Action.DROP_VIEW, text, statement)
    return drop_each(statement.views, without, job, "schema:1051", session)


def _without(objects: Mapping[Key, T], name: syntax.TableName) -> dict[Key, T]:
    return {place: each for place, each in objects.items() if place != place_of(*name)}


def create_sequence(statement: syntax.CreateSequence, text: str, session: Session) -> ExecutionResult:
    name, catalog = session.qualified_name(statement.sequence), session.catalog
    if catalog is not None:
        place = _checked_key(catalog, name)
        if catalog.has(*name):
            if statement.if_not_exists:
                return session.without_jobs(f"Table '{'.'.join(session.existing_name(name))}' already exists: no job")
            raise tidb_error("schema:1050", ".".join(name))
        sequence = check_sequence(SequenceInfo(*name, _option_pairs(statement.options)))
        catalog = replace(catalog, sequences={**catalog.sequences, place: sequence})
    return ExecutionResult((Job(Action.CREATE_SEQUENCE, text, statement, *session.new_name(name)),), (), catalog)


def alter_sequence(statement: syntax.AlterSequence, text: str, session: Session) -> ExecutionResult:
    name, catalog = session.qualified_name(statement.sequence), session.catalog
    if catalog is not None:
        old = catalog.sequences.get(place_of(*name))
        if old is None:
            if catalog.has(*name):
                raise tidb_error("ddl:1347", *name, "SEQUENCE")
            if statement.if_exists:
                return session.without_jobs(f"Unknown SEQUENCE: '{'.'.join(name)}': no job")
            raise tidb_error("schema:1146", *name)
        new = check_sequence(replace(old, options=(*old.options, *_option_pairs(statement.options))))
        catalog = replace(catalog, sequences={**catalog.sequences, place_of(*name): new})
    return ExecutionResult((Job(Action.ALTER_SEQUENCE, text, statement, *session.existing_name(name)),), (), catalog)


def drop_sequence(statement: syntax.DropSequence, text: str, session: Session) -> ExecutionResult:
    """Execute DROP SEQUENCE. Unlike DROP VIEW, IF EXISTS skips objects of other kinds."""

    def without(catalog: Catalog, name: syntax.TableName) -> Catalog | None:
        if place_of(*name) in catalog.sequences:
            return replace(catalog, sequences=_without(catalog.sequences, name))
        if catalog.has(*name) and not statement.if_exists:
            raise tidb_error("ddl:1347", *name, "SEQUENCE")
        return None

    job = Job(Action.DROP_SEQUENCE, text, statement)
    return drop_each(statement.sequences, without, job, "schema:4139", session)


def _option_pairs(options: Iterable[syntax.SequenceOption]) -> tuple[tuple[str, int | None], ...]:
    return tuple((option.name, option.value) for option in options)


STATEMENTS: Mapping[type, Callable[[Any, str, Session], ExecutionResult]] = {
    syntax.CreateDatabase: databases.create_database,
    syntax.AlterDatabase: databases.alter_database,
    syntax.DropDatabase: databases.drop_database,
    syntax.FlashbackDatabase: databases.flashback_database,
    syntax.FlashbackCluster: databases.flashback_cluster,
    syntax.PlacementPolicy: databases.placement_policy,
    syntax.ResourceGroup: lambda statement, text, session: session.with_jobs(
        [Job(databases.STATEMENT_ACTIONS["group", statement.verb], text, statement)]
    ),
    syntax.CreateTable: create_table.create_table,
    syntax.DropTable: databases.drop_table,
    syntax.TruncateTable: databases.truncate_table,
    syntax.RenameTable: databases.rename_table,
    syntax.RecoverTable: databases.recover_table,
    syntax.FlashbackTable: databases.flashback_table,
    syntax.RepairTable: databases.repair_table,
    syntax.LockTables: databases.lock_tables,
    syntax.UnlockTables: lambda statement, text, session: session.with_jobs(
        [Job(Action.UNLOCK_TABLE, text, statement)]
    ),
    syntax.CreateIndex: alter.create_index,
    syntax.DropIndex: alter.drop_index,
    syntax.AlterTable: alter.alter_table,
    syntax.CreateView: create_view,
    syntax.DropView: drop_view,
    syntax.CreateSequence: create_sequence,
    syntax.AlterSequence: alter_sequence,
    syntax.DropSequence: drop_sequence,
}
