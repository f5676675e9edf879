"""Jobs of statements on databases and on what belongs to the whole cluster (tidb: pkg/ddl/executor.go AlterSchema, …).

One law: ALTER DATABASE is a job for each kind of option, in TiDB's order, whatever the order written.
"""

from __future__ import annotations

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.jobs_options import resolved
from simulator.tidb.ddl.jobs_shape import Job, Session, Steps, unsupported
from simulator.tidb.syntax.objects import PlacementPolicy, ResourceGroup
from simulator.tidb.syntax.statements import (
    AlterDatabase,
    CreateDatabase,
    DropDatabase,
    FlashbackCluster,
    FlashbackDatabase,
)

OPTIONS = (
    (actions.MODIFY_SCHEMA_CHARSET_AND_COLLATE, ("CHARSET", "CHARACTER SET", "COLLATE")),
    (actions.MODIFY_SCHEMA_DEFAULT_PLACEMENT, ("PLACEMENT POLICY",)),
    (actions.SET_TIFLASH_REPLICA, ("TIFLASH REPLICA",)),
    (actions.MODIFY_SCHEMA_READ_ONLY, ("READ ONLY",)),
)

VERBS = {
    ("policy", "CREATE"): actions.CREATE_PLACEMENT_POLICY,
    ("policy", "ALTER"): actions.ALTER_PLACEMENT_POLICY,
    ("policy", "DROP"): actions.DROP_PLACEMENT_POLICY,
    ("group", "CREATE"): actions.CREATE_RESOURCE_GROUP,
    ("group", "ALTER"): actions.ALTER_RESOURCE_GROUP,
    ("group", "DROP"): actions.DROP_RESOURCE_GROUP,
}


def create_database(statement: CreateDatabase, session: Session) -> Steps:
    catalog = session.catalog
    if statement.if_not_exists and catalog and catalog.database(statement.name) is not None:
        yield f"Can't create database '{statement.name}'; database exists: no job"
    else:
        yield Job(actions.CREATE_SCHEMA, session.query, statement, statement.name)


def drop_database(statement: DropDatabase, session: Session) -> Steps:
    catalog = session.catalog
    if statement.if_exists and catalog and catalog.database(statement.name) is None:
        yield f"Can't drop database '{statement.name}'; database doesn't exist: no job"
    else:
        yield Job(actions.DROP_SCHEMA, session.query, statement, session.schema(statement.name))


def alter_database(statement: AlterDatabase, session: Session) -> Steps:
    """The replicas of TiFlash are set table by table."""
    schema = session.schema(statement.name)
    said = {option.name.upper() for option in statement.options}
    for code, names in OPTIONS:
        if said.isdisjoint(names):
            continue
        if code == actions.MODIFY_SCHEMA_CHARSET_AND_COLLATE and _has_charset(statement, schema, session):
            yield "the database has this character set and collation: no job"
            continue
        for table in _tables(schema, session) if code == actions.SET_TIFLASH_REPLICA else ("",):
            yield Job(code, session.query, statement, schema, table)


def _has_charset(statement: AlterDatabase, schema: str, session: Session) -> bool:
    """Whether the database is known to have the charset and collation that are asked for."""
    found = session.catalog.database(schema) if session.catalog else None
    return found is not None and resolved(statement.options, (found.charset, found.collation)) == (
        found.charset, found.collation)


def _tables(schema: str, session: Session) -> tuple[str, ...]:
    """The tables of the database; one without a name stands for them where they are not known."""
    if session.catalog is None:
        return ("",)
    return tuple(table.name for (database, _), table in session.catalog.tables.items() if database == schema.lower())


def flashback_database(statement: FlashbackDatabase, session: Session) -> Steps:
    yield Job(actions.RECOVER_SCHEMA, session.query, statement, statement.new_name or statement.name)


def flashback_cluster(statement: FlashbackCluster, session: Session) -> Steps:
    """Raises DdlError for single tables and databases."""
    if statement.tables or statement.database:
        raise unsupported(f"FLASHBACK {'table' if statement.tables else 'database'} TO TIMESTAMP")
    yield Job(actions.FLASHBACK_CLUSTER, session.query, statement)


def placement_policy(statement: PlacementPolicy, session: Session) -> Steps:
    yield Job(VERBS["policy", statement.verb], session.query, statement)


def resource_group(statement: ResourceGroup, session: Session) -> Steps:
    yield Job(VERBS["group", statement.verb], session.query, statement)
