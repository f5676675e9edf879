"""ALTER TABLE: its specs as steps, all of them or none; the jobs that they are, and the table that they leave.

One law: SPECS lists every spec; each gives its steps against the table before the statement. Specs between commas,
ALGORITHM and LOCK not counted, are one job together, and a foreign key with the index that comes with it; of any other
single spec each step is a job of its own (TiDB: pkg/ddl/executor.go, AlterTable, ResolveAlterTableSpec).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import Any

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.alteration import (
    CHECKS,
    Alteration,
    KnownTable,
    Step,
    Steps,
    check_joinable,
    check_new_columns,
    check_together,
    several_before,
)
from simulator.tidb.ddl.catalog import Catalog, with_table
from simulator.tidb.ddl.columns.alter import add_columns, alter_default, drop_column, rename_column
from simulator.tidb.ddl.columns.modify import change_column, modify_column
from simulator.tidb.ddl.constraints.checks import alter_check, without_lost
from simulator.tidb.ddl.constraints.foreign_keys import followed, own_references
from simulator.tidb.ddl.constraints.indexes import HYPOTHETICAL, add_key, alter_visibility, drop_key, rename_index
from simulator.tidb.ddl.grammar import check_alter_grammar
from simulator.tidb.ddl.partitions.alter import (
    UNKNOWN_SPEC,
    add_partitions,
    check_attributes,
    coalesce,
    partition_action,
    partition_options,
    reorganize,
)
from simulator.tidb.ddl.partitions.interval import last_partition
from simulator.tidb.ddl.partitions.partitioning import exchange, partition_by, remove_partitioning
from simulator.tidb.ddl.session import Executed, Job, Session
from simulator.tidb.ddl.tables.create import existing_table
from simulator.tidb.ddl.tables.options import cache, convert_charset, remove_ttl, set_options
from simulator.tidb.ddl.tables.statements import moved, rename_to
from simulator.tidb.ddl.tidb_errors import tidb, unsupported, worded
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.alter import (
    AddColumns,
    AddKey,
    AddPartitions,
    AlterCheck,
    AlterDefault,
    Attributes,
    Cache,
    ChangeColumn,
    Clause,
    CoalescePartition,
    ConvertCharset,
    DropColumn,
    DropKey,
    ExchangePartition,
    IndexVisibility,
    IntervalPartitionSpec,
    ModifyColumn,
    OrderBy,
    PartitionAction,
    PartitionBy,
    PartitionOptions,
    RemovePartitioning,
    RemoveTtl,
    RenameColumn,
    RenameIndex,
    RenameTo,
    ReorganizePartition,
    SetOptions,
    Spec,
    TiflashReplica,
)
from simulator.tidb.syntax.ddl import AlterTable, CreateIndex, DropIndex, Statement
from simulator.tidb.syntax.definitions import TableName

LEFT_OUT = ("ALGORITHM", "LOCK")
"""Clauses that TiDB takes out before it looks at the specs."""

TABLE_LOCK_IS_OFF = "enable-table-lock is off: no job"


def alter_table(statement: AlterTable, text: str, session: Session) -> Executed:
    return altered(statement.table, statement.specs, statement, text, session)


def create_index(statement: CreateIndex, text: str, session: Session) -> Executed:
    """As ALTER TABLE … ADD does, but for the kinds that only CREATE INDEX refuses."""
    if statement.key.kind in ("fulltext", "spatial"):
        raise worded("ddl:8200", "FULLTEXT and SPATIAL index is not supported")
    schema = session.written(statement.table).schema
    if session.catalog and session.catalog.database(schema) is None:
        raise tidb("schema:1049", schema)
    if not statement.key.name:
        raise worded("ddl:1280", "Incorrect index name ''")
    return altered(statement.table, (AddKey(statement.key),), statement, text, session)


def drop_index(statement: DropIndex, text: str, session: Session) -> Executed:
    name = session.written(statement.table)
    if statement.hypothetical:
        return session.nothing(HYPOTHETICAL)
    if statement.if_exists and session.catalog and session.catalog.table(*name) is None:
        return session.nothing(f"Table '{name.schema}.{name.name}' doesn't exist: no job")
    spec = DropKey("index", statement.name, statement.if_exists)
    return altered(statement.table, (spec,), statement, text, session)


def altered(table: TableName, specs: Sequence[Spec], statement: Statement, text: str, session: Session) -> Executed:
    """The jobs and the catalog of the specs; raises DdlError, and then nothing is done."""
    check_alter_grammar(specs)
    check_algorithm(specs)
    alteration = _alteration(table, text, session)
    counted = [spec for spec in specs if not (isinstance(spec, Clause) and spec.words in LEFT_OUT)]
    if any(isinstance(spec, Clause) and spec.words in ("READ ONLY", "READ WRITE") for spec in counted):
        return session.nothing(TABLE_LOCK_IS_OFF)
    separate = [part for spec in counted for part in _separated(spec)]
    many, known, code = len(separate) > 1, alteration.known, actions.MULTI_SCHEMA_CHANGE
    if many and not session.release.multi_schema_change:
        code = several_before(counted)
    if known:
        if known.table.cached and [type(spec) for spec in separate] != [Cache]:
            raise tidb("ddl:8242", "Alter Table")
        separate = list(_with_names(separate, known.table.last_ids.foreign_key))
    found = list(_found(separate, alteration))
    steps = [step for step in found if isinstance(step, Step) and not (many and _is_open(step, session))]
    if many:
        if known is None:
            check_new_columns(counted, steps)
        check_together(steps, known.table if known else None)
    jobs = _jobs(steps, separate, Job(code, text, statement, *alteration.name), session)
    notes = tuple(note for note in found if isinstance(note, str))
    return Executed(jobs, notes, carried_out(known.catalog, known.table, steps) if known else None)


def check_algorithm(specs: Sequence[Spec]) -> None:
    """Raises DdlError for ALGORITHM = INSTANT of a new key; one slower than asked is a warning (ResolveAlterAlgorithm)."""
    named = [spec.value for spec in specs if isinstance(spec, Clause) and spec.words == "ALGORITHM"]
    if named and named[-1] == "INSTANT" and any(isinstance(spec, AddKey) for spec in specs):
        raise worded(
            "ddl:1846",
            "ALGORITHM=INSTANT is not supported. Reason: Cannot alter table by INSTANT. Try ALGORITHM=INPLACE.",
        )


def _found(specs: Sequence[Spec], alteration: Alteration) -> Steps:
    """The steps of all specs; of several, one that may not stand with others ends it before the next is looked at."""
    for spec in specs:
        for step in SPECS[type(spec)](spec, alteration):
            if len(specs) > 1 and isinstance(step, Step) and not _is_open(step, alteration.session):
                check_joinable(step)
            yield step


def _is_open(step: Step, session: Session) -> bool:
    """Whether the step is a job only if a variable that nobody knows is on."""
    return step.action in CHECKS and session.check_constraints is None


def _alteration(table: TableName, text: str, session: Session) -> Alteration:
    name = session.named(table)
    if session.catalog is None:
        return Alteration(session, name, None)
    there = existing_table(session.catalog, *session.written(table))
    return Alteration(session, name, KnownTable(session.catalog, there, text, session.now))


def _separated(spec: Spec) -> Iterator[Spec]:
    """ADD COLUMN (…, …) as one spec for each column and key."""
    if isinstance(spec, AddColumns) and len(spec.columns) + len(spec.keys) > 1:
        yield from (replace(spec, columns=(column,), keys=()) for column in spec.columns)
        yield from map(AddKey, spec.keys)
    else:
        yield spec


def _with_names(specs: Sequence[Spec], last: int) -> Iterator[Spec]:
    """The specs with TiDB's names for foreign keys that have none."""
    for spec in specs:
        if isinstance(spec, AddKey) and spec.key.kind == "foreign" and not spec.key.name:
            last += 1
            spec = AddKey(replace(spec.key, name=f"fk_{last}"))
        yield spec


def _jobs(steps: Sequence[Step], specs: Sequence[Spec], whole: Job, session: Session) -> tuple[Job, ...]:
    """One job of all steps, those of several specs and of a foreign key with its index; else one for each step."""
    if len(specs) > 1 or len(steps) > 1 and isinstance(specs[0], AddKey):
        parts = tuple(step.action for step in steps) if session.release.multi_schema_change else ()
        return (replace(whole, steps=parts),) if steps else ()
    return tuple(_job(step.action, specs[0], whole, session) for step in steps)


def _job(code: int, spec: Spec, job: Job, session: Session) -> Job:
    """The job of a spec that stands alone."""
    if isinstance(spec, RenameTo):
        assert isinstance(job.statement, AlterTable)
        new = session.new(spec.table)
        pairs, written = ((TableName(job.schema, job.table), new),), ((job.statement.table, spec.table),)
        return replace(job, code=code, schema=new.schema, table=new.name, pairs=pairs, written=written)
    exchanged = session.named(spec.table) if isinstance(spec, ExchangePartition) else None
    return replace(job, code=code, exchanged=exchanged)


def carried_out(catalog: Catalog, table: Table, steps: Sequence[Step]) -> Catalog:
    """The catalog with the table changed, foreign keys that refer to it following its names."""
    if not steps:
        return catalog
    changed = without_lost(reduce(lambda before, step: step.apply(before), steps, table))
    renames = {old.lower(): new for step in steps for old, new in step.renamed.items()}
    if (changed.schema, changed.name) != (table.schema, table.name):
        return moved(catalog, table, changed)
    return with_table(followed(catalog, table, changed, renames), own_references(changed, renames))


def attributes(spec: Attributes, alteration: Alteration) -> Steps:
    check_attributes(spec.value or "")
    yield Step(actions.ALTER_TABLE_ATTRIBUTES)


def tiflash_replica(spec: TiflashReplica, alteration: Alteration) -> Steps:
    hypothetical = "a hypothetical replica lives in its session alone: no job"
    yield hypothetical if spec.hypothetical else Step(actions.SET_TIFLASH_REPLICA)


def order_by(spec: OrderBy, alteration: Alteration) -> Steps:
    yield "ORDER BY is accepted, no job"


def clause(spec: Clause, alteration: Alteration) -> Steps:
    if spec.words not in HARMLESS:
        raise unsupported(UNKNOWN_SPEC)
    yield HARMLESS[spec.words]


HARMLESS = MappingProxyType(
    {
        "ENABLE KEYS": "accepted, no job",
        "DISABLE KEYS": "accepted, no job",
        "WITH VALIDATION": "ALTER TABLE WITH VALIDATION is currently unsupported: no job",
        "WITHOUT VALIDATION": "ALTER TABLE WITHOUT VALIDATION is currently unsupported: no job",
        "ANALYZE": "statistics, no job",
        "COMPACT": "TiFlash alone, no job",
        "ADD STATS_EXTENDED": "statistics, no job",
        "DROP STATS_EXTENDED": "statistics, no job",
    }
)
"""Clauses that TiDB reads and makes no job of."""


SPECS: MappingProxyType[type, Callable[[Any, Alteration], Steps]] = MappingProxyType(
    {
        AddColumns: add_columns,
        DropColumn: drop_column,
        ModifyColumn: modify_column,
        ChangeColumn: change_column,
        RenameColumn: rename_column,
        AlterDefault: alter_default,
        AddKey: add_key,
        DropKey: drop_key,
        RenameIndex: rename_index,
        IndexVisibility: alter_visibility,
        AlterCheck: alter_check,
        SetOptions: set_options,
        ConvertCharset: convert_charset,
        RenameTo: rename_to,
        AddPartitions: add_partitions,
        IntervalPartitionSpec: last_partition,
        PartitionAction: partition_action,
        CoalescePartition: coalesce,
        ReorganizePartition: reorganize,
        ExchangePartition: exchange,
        PartitionBy: partition_by,
        RemovePartitioning: remove_partitioning,
        PartitionOptions: partition_options,
        Attributes: attributes,
        Cache: cache,
        RemoveTtl: remove_ttl,
        TiflashReplica: tiflash_replica,
        OrderBy: order_by,
        Clause: clause,
    }
)
