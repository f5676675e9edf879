"""Jobs of ALTER TABLE (tidb: pkg/ddl/executor.go AlterTable, ResolveAlterTableSpec).

One law: specs between commas, ALGORITHM and LOCK not counted, are one job together, and a foreign key with the index
that comes with it; of any other single spec each part is a job of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.jobs_keys import own_index
from simulator.tidb.ddl.jobs_multi import CHECKS, check_columns, check_sub_job, check_touched, several_before
from simulator.tidb.ddl.jobs_shape import Job, Session, Steps
from simulator.tidb.ddl.jobs_specs import codes
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.alter import AddColumns, AddKey, Clause, ExchangePartition, RenameTo, Spec
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.statements import AlterTable

FULLTEXT = actions.ADD_FULLTEXT_INDEX
"""Releases that replicate it stand behind a TiDB that has full-text indexes."""

CHECK_IS_OFF = (
    "CHECK is a job with tidb_enable_check_constraint alone, and then error 8200 among other clauses; while that is "
    "off, as by default, TiDB forgets it")


def alter_table(statement: AlterTable, session: Session) -> Steps:
    specs = [spec for spec in statement.specs if not (isinstance(spec, Clause) and spec.words in ("ALGORITHM", "LOCK"))]
    if any(isinstance(spec, Clause) and spec.words in ("READ ONLY", "READ WRITE") for spec in specs):
        yield "enable-table-lock is off: no job"
        return
    name, table = session.named(statement.table), session.table(statement.table)
    whole = Job(actions.MULTI_SCHEMA_CHANGE, session.query, statement, *name)
    if not session.release.multi_schema_change and (len(specs) > 1 or any(map(_several_columns, specs))):
        yield replace(whole, code=several_before(specs))
        return
    check_columns(specs, table)
    split = [one for spec in specs for part in _split(spec) for one in _with_index(part, session, table)]
    steps = (step for spec in split for step in _steps(spec, whole, session, table))
    yield from steps if len(split) == 1 else _together(split, steps, whole, table)


def _several_columns(spec: Spec) -> bool:
    return isinstance(spec, AddColumns) and len(spec.columns) + len(spec.keys) > 1


def _split(spec: Spec) -> Iterator[Spec]:
    """ADD COLUMN (…, …) as one spec for each column and constraint."""
    if not isinstance(spec, AddColumns) or not _several_columns(spec):
        yield spec
        return
    yield from (replace(spec, columns=(column,), keys=()) for column in spec.columns)
    yield from map(AddKey, spec.keys)


def _with_index(spec: Spec, session: Session, table: Table | None) -> Iterator[Spec]:
    """ADD FOREIGN KEY behind the index that comes with it."""
    if isinstance(spec, AddKey) and spec.key.kind == "foreign" and session.release.foreign_key_index and table:
        index = own_index(spec.key, table)
        if index is not None:
            yield AddKey(index)
    yield spec


def _steps(spec: Spec, whole: Job, session: Session, table: Table | None) -> Steps:
    name = TableName(whole.schema, whole.table)
    if isinstance(spec, RenameTo) and _folded(session.new(spec.table)) == _folded(name):
        yield "the table has that name: no job"
        return
    if isinstance(spec, AddKey) and spec.key.kind == "fulltext" and FULLTEXT in session.release.allowed_ddl:
        yield _job(actions.ADD_COLUMNAR_INDEX, spec, whole, session)
        return
    if isinstance(spec, AddKey) and spec.key.kind == "foreign" and session.release.foreign_key_index and table is None:
        yield "a foreign key on columns that begin no index comes with an index, both as one job 61"
    for code in codes(spec, name, table):
        if code in CHECKS:
            yield CHECK_IS_OFF
        yield code if isinstance(code, str) else _job(code, spec, whole, session)


def _job(code: int, spec: Spec, whole: Job, session: Session) -> Job:
    if isinstance(spec, RenameTo):
        old, new = TableName(whole.schema, whole.table), session.new(spec.table)
        assert isinstance(whole.statement, AlterTable)
        renamed = replace(whole, code=code, schema=new.schema, table=new.name, pairs=((old, new),))
        return replace(renamed, written=((whole.statement.table, spec.table),))
    exchanged = session.named(spec.table) if isinstance(spec, ExchangePartition) else None
    return replace(whole, code=code, exchanged=exchanged)


def _together(specs: list[Spec], steps: Steps, whole: Job, table: Table | None) -> Steps:
    found = []
    for step in steps:
        if isinstance(step, str):
            yield step
        elif step.code not in CHECKS:
            check_sub_job(step.code)
            found.append(step.code)
    if found:
        check_touched(specs, table)
        yield replace(whole, steps=tuple(found))


def _folded(name: TableName) -> tuple[str, str]:
    return name.schema.lower(), name.name.lower()
