"""Jobs of statements on whole tables, views, sequences and indexes (tidb: pkg/ddl/executor.go).

One law: one job for each object, in the order named; RENAME of several tables is one job.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.errors import DdlError
from simulator.tidb.ddl import actions
from simulator.tidb.ddl.jobs_keys import added_key, dropped_key
from simulator.tidb.ddl.jobs_shape import Job, Session, Steps, unsupported
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.objects import AlterSequence, CreateSequence, CreateView, DropSequence, DropView
from simulator.tidb.syntax.statements import (
    CreateIndex,
    CreateTable,
    DropIndex,
    DropTable,
    FlashbackTable,
    LockTables,
    RecoverTable,
    RenameTable,
    RepairTable,
    Statement,
    TruncateTable,
    UnlockTables,
)


def create_table(statement: CreateTable, session: Session) -> Steps:
    """Nothing for a local temporary table; raises DdlError for CREATE TABLE … SELECT."""
    name = TableName(statement.schema, statement.name)
    if statement.query is not None:
        raise DdlError("'CREATE TABLE ... SELECT' is not implemented yet", "planner:1105")
    if statement.temporary == "local":
        yield "a local temporary table lives in its session alone: no job"
    elif statement.if_not_exists and session.exists(name):
        yield _existing(session.named(name))
    else:
        like = session.named(statement.like) if statement.like else None
        yield Job(actions.CREATE_TABLE, session.query, statement, *session.new(name), like=like)


def drop_table(statement: DropTable, session: Session) -> Steps:
    if statement.temporary == "local":
        yield "a local temporary table lives in its session alone: no job"
        return
    yield from _dropped(actions.DROP_TABLE, statement, statement.tables, statement.if_exists, session)


def truncate_table(statement: TruncateTable, session: Session) -> Steps:
    yield _job(actions.TRUNCATE_TABLE, statement, session, session.named(statement.table))


def rename_table(statement: RenameTable, session: Session) -> Steps:
    """One job of the code RenameTables for several pairs; a later pair may name what an earlier one has named."""
    given: dict[tuple[str, str], TableName] = {}
    pairs = []
    for old, new in statement.pairs:
        before, after = session.named(old), session.new(new)
        before = given.pop(_folded(before), before)
        given[_folded(after)] = after
        pairs.append((before, after))
    code = actions.RENAME_TABLES if len(pairs) > 1 else actions.RENAME_TABLE
    yield Job(code, session.query, statement, *pairs[0][1], pairs=tuple(pairs), written=statement.pairs)


def recover_table(statement: RecoverTable, session: Session) -> Steps:
    """The table of RECOVER TABLE BY JOB is the session's to know; it has no name where the session does not."""
    if statement.table is None:
        name = session.dropped.get(statement.job, TableName("", ""))
    else:
        name = session.named(statement.table)
    yield _job(actions.RECOVER_TABLE, statement, session, name)


def flashback_table(statement: FlashbackTable, session: Session) -> Steps:
    """The event carries the new name."""
    old = session.new(statement.table)
    name = TableName(old.schema, statement.new_name) if statement.new_name else old
    yield _job(actions.RECOVER_TABLE, statement, session, name)


def repair_table(statement: RepairTable, session: Session) -> Steps:
    yield _job(actions.REPAIR_TABLE, statement, session, session.named(statement.table))


def lock_tables(statement: LockTables, session: Session) -> Steps:
    """One job, whatever the number of tables."""
    yield _job(actions.LOCK_TABLE, statement, session, session.named(statement.locks[0][0]))


def unlock_tables(statement: UnlockTables, session: Session) -> Steps:
    yield Job(actions.UNLOCK_TABLE, session.query, statement)


def create_view(statement: CreateView, session: Session) -> Steps:
    yield _job(actions.CREATE_VIEW, statement, session, session.new(statement.view))


def drop_view(statement: DropView, session: Session) -> Steps:
    yield from _dropped(actions.DROP_VIEW, statement, statement.views, statement.if_exists, session)


def create_sequence(statement: CreateSequence, session: Session) -> Steps:
    if statement.if_not_exists and session.exists(statement.sequence):
        yield _existing(session.named(statement.sequence))
    else:
        yield _job(actions.CREATE_SEQUENCE, statement, session, session.new(statement.sequence))


def alter_sequence(statement: AlterSequence, session: Session) -> Steps:
    if statement.if_exists and session.missing(statement.sequence):
        yield _missing("SEQUENCE", session.new(statement.sequence))
    else:
        yield _job(actions.ALTER_SEQUENCE, statement, session, session.named(statement.sequence))


def drop_sequence(statement: DropSequence, session: Session) -> Steps:
    yield from _dropped(actions.DROP_SEQUENCE, statement, statement.sequences, statement.if_exists, session)


def create_index(statement: CreateIndex, session: Session) -> Steps:
    """Raises DdlError for FULLTEXT and SPATIAL, which TiDB takes in ALTER TABLE alone, and does nothing for there."""
    if statement.key.kind in ("fulltext", "spatial"):
        raise DdlError("FULLTEXT and SPATIAL index is not supported", "ddl:8200")
    for step in added_key(statement.key, session.table(statement.table)):
        yield step if isinstance(step, str) else _job(step, statement, session, session.named(statement.table))


def drop_index(statement: DropIndex, session: Session) -> Steps:
    if statement.hypothetical:
        yield "a hypothetical index lives in its session alone: no job"
        return
    for step in dropped_key("index", statement.name, statement.if_exists, session.table(statement.table)):
        yield step if isinstance(step, str) else _job(step, statement, session, session.named(statement.table))


def create_tables(statements: Sequence[CreateTable], session: Session) -> Job:
    """The one job of several CREATE TABLE in one text, as restoring tools queue it; they are of one database."""
    names = [session.new(TableName(one.schema, one.name)) for one in statements]
    if len({name.schema for name in names}) > 1:
        raise unsupported("batch creation of tables in several databases")
    return Job(actions.CREATE_TABLES, session.query, None, *names[0], tables=tuple(statements))


def _job(code: int, statement: Statement, session: Session, name: TableName) -> Job:
    return Job(code, session.query, statement, *name)


def _dropped(
    code: int, statement: DropTable | DropView | DropSequence, names: Sequence[TableName], if_exists: bool,
    session: Session,
) -> Steps:
    for name in names:
        if if_exists and session.missing(name):
            yield _missing(actions.ACTIONS[code].text.split()[1].upper(), session.new(name))
        else:
            yield _job(code, statement, session, session.named(name))


def _existing(name: TableName) -> str:
    return f"Table '{name.schema}.{name.name}' already exists: no job"


def _missing(what: str, name: TableName) -> str:
    unknown = f"Unknown {what}: " if what == "SEQUENCE" else "Unknown table "
    return f"{unknown}'{name.schema}.{name.name}': no job"


def _folded(name: TableName) -> tuple[str, str]:
    return name.schema.lower(), name.name.lower()
