"""ALTER TABLE: the sub-jobs of its specs, its jobs, and the table after it. It succeeds or fails as a whole.

SPECS maps each kind of spec to its sub-jobs. Several specs are one multi-schema change, not counting ALGORITHM and
LOCK, and so is a foreign key with its index. Otherwise each sub-job is a job of its own (TiDB: pkg/ddl/executor.go,
AlterTable, ResolveAlterTableSpec).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from msgspec import structs

from simulator.tidb import syntax
from simulator.tidb.ddl import (
    Action,
    databases,
    foreign_keys,
    indexes,
    key_checks,
    modify_columns,
    partitioning,
    table_options,
)
from simulator.tidb.ddl import alter_columns as columns
from simulator.tidb.ddl import alter_partitions as partitions
from simulator.tidb.ddl.catalog import Catalog, column_names, partition_names, with_table
from simulator.tidb.ddl.create_table import existing_table
from simulator.tidb.ddl.grammar import check_alter_grammar
from simulator.tidb.ddl.session import Alteration, ExecutionResult, Job, Session, SubJob, SubJobs, TargetTable
from simulator.tidb.ddl.table_options import check_specs
from simulator.tidb.errors import error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import Partitioning, Table

IGNORED_CLAUSES = ("ALGORITHM", "LOCK")
"""Clauses that TiDB removes before it checks the specs."""

TABLE_LOCK_IS_OFF = "enable-table-lock is off: no job"


def alter_table(statement: syntax.AlterTable, text: str, session: Session) -> ExecutionResult:
    return execute_specs(statement.table, statement.specs, statement, text, session)


def create_index(statement: syntax.CreateIndex, text: str, session: Session) -> ExecutionResult:
    """Execute CREATE INDEX like ALTER TABLE … ADD, but reject FULLTEXT and SPATIAL."""
    if statement.key.kind in ("fulltext", "spatial"):
        raise error_with_text("ddl:8200", "FULLTEXT and SPATIAL index is not supported")
    schema = session.qualified_name(statement.table).schema
    if session.catalog:
        session.catalog.existing_database(schema)
    if not statement.key.name:
        raise error_with_text("ddl:1280", "Incorrect index name ''")
    return execute_specs(statement.table, (syntax.AddKey(statement.key),), statement, text, session)


def drop_index(statement: syntax.DropIndex, text: str, session: Session) -> ExecutionResult:
    name = session.qualified_name(statement.table)
    if statement.hypothetical:
        return session.without_jobs(indexes.HYPOTHETICAL_NOTE)
    if statement.if_exists and session.catalog and session.catalog.table(*name) is None:
        return session.without_jobs(f"Table '{name.schema}.{name.name}' doesn't exist: no job")
    spec = syntax.DropKey("index", statement.name, statement.if_exists)
    return execute_specs(statement.table, (spec,), statement, text, session)


def execute_specs(
    table: syntax.TableName, specs: Sequence[syntax.Spec], statement: syntax.Statement, text: str, session: Session
) -> ExecutionResult:
    """Return the jobs and the catalog of the specs. Raises DdlError."""
    check_alter_grammar(specs)
    check_algorithm(specs)
    alteration = _alteration(table, text, session)
    counted = [spec for spec in specs if not (isinstance(spec, syntax.Clause) and spec.words in IGNORED_CLAUSES)]
    if any(isinstance(spec, syntax.Clause) and spec.words in ("READ ONLY", "READ WRITE") for spec in counted):
        return session.without_jobs(TABLE_LOCK_IS_OFF)
    separate = [part for spec in counted for part in _split_columns(spec)]
    many, target, code = len(separate) > 1, alteration.target, Action.MULTI_SCHEMA_CHANGE
    if many and not session.release.multi_schema_change:
        code = action_before_6_2(counted)
    if target:
        if target.table.cached and [type(spec) for spec in separate] != [syntax.Cache]:
            raise tidb_error("ddl:8242", "Alter Table")
        check_specs(separate, target.table)
        separate = list(_name_foreign_keys(separate, target.table.last_ids.foreign_key))
    result = list(_sub_jobs(separate, alteration))
    sub_jobs = [
        sub_job
        for sub_job in result
        if isinstance(sub_job, SubJob) and not (many and _is_unknown_check(sub_job, session))
    ]
    if many:
        if target is None:
            check_new_columns(counted, sub_jobs)
        check_conflicts(sub_jobs, target.table if target else None)
    jobs = _jobs(sub_jobs, separate, Job(code, text, statement, *alteration.name), session)
    notes = tuple(note for note in result if isinstance(note, str))
    return ExecutionResult(jobs, notes, apply_sub_jobs(target.catalog, target.table, sub_jobs) if target else None)


def check_algorithm(specs: Sequence[syntax.Spec]) -> None:
    """Raise DdlError for ALGORITHM = INSTANT of a new key; other ones are only warnings (ResolveAlterAlgorithm)."""
    named = [spec.value for spec in specs if isinstance(spec, syntax.Clause) and spec.words == "ALGORITHM"]
    if named and named[-1] == "INSTANT" and any(isinstance(spec, syntax.AddKey) for spec in specs):
        reason = "Reason: Cannot alter table by INSTANT. Try ALGORITHM=INPLACE."
        raise error_with_text("ddl:1846", f"ALGORITHM=INSTANT is not supported. {reason}")


def _sub_jobs(specs: Sequence[syntax.Spec], alteration: Alteration) -> SubJobs:
    """Yield the sub-jobs of all specs. Raises DdlError for the first that cannot be part of a multi-schema change."""
    for spec in specs:
        for sub_job in SPECS[type(spec)](spec, alteration):
            if len(specs) > 1 and isinstance(sub_job, SubJob) and not _is_unknown_check(sub_job, alteration.session):
                check_allowed_together(sub_job)
            yield sub_job


def _is_unknown_check(sub_job: SubJob, session: Session) -> bool:
    return sub_job.action in CHECK_ACTIONS and session.check_constraints is None


def _alteration(table: syntax.TableName, text: str, session: Session) -> Alteration:
    name = session.existing_name(table)
    if session.catalog is None:
        return Alteration(session, name, None)
    existing = existing_table(session.catalog, *session.qualified_name(table))
    return Alteration(session, name, TargetTable(session.catalog, existing, text, session.now))


def _split_columns(spec: syntax.Spec) -> Iterator[syntax.Spec]:
    if isinstance(spec, syntax.AddColumns) and len(spec.columns) + len(spec.keys) > 1:
        yield from (structs.replace(spec, columns=(column,), keys=()) for column in spec.columns)
        yield from map(syntax.AddKey, spec.keys)
    else:
        yield spec


def _name_foreign_keys(specs: Sequence[syntax.Spec], last: int) -> Iterator[syntax.Spec]:
    for spec in specs:
        if isinstance(spec, syntax.AddKey) and spec.key.kind == "foreign" and not spec.key.name:
            last += 1
            spec = syntax.AddKey(structs.replace(spec.key, name=f"fk_{last}"))
        yield spec


def _jobs(sub_jobs: Sequence[SubJob], specs: Sequence[syntax.Spec], whole: Job, session: Session) -> tuple[Job, ...]:
    """Return one job for several specs, or for a foreign key with its index; otherwise one for each sub-job."""
    if len(specs) > 1 or len(sub_jobs) > 1 and isinstance(specs[0], syntax.AddKey):
        parts = tuple(sub_job.action for sub_job in sub_jobs) if session.release.multi_schema_change else ()
        return (replace(whole, sub_jobs=parts),) if sub_jobs else ()
    return tuple(_written(sub_job, _job(sub_job.action, specs[0], whole, session)) for sub_job in sub_jobs)


def _written(sub_job: SubJob, job: Job) -> Job:
    """Return the job with the spec that TiDB writes in place of the statement's."""
    if sub_job.written is None:
        return job
    assert isinstance(job.statement, syntax.AlterTable)
    return replace(
        job, query=sub_job.written.query, statement=structs.replace(job.statement, specs=(sub_job.written.spec,))
    )


def _job(code: int, spec: syntax.Spec, job: Job, session: Session) -> Job:
    if isinstance(spec, syntax.RenameTo):
        assert isinstance(job.statement, syntax.AlterTable)
        new = session.new_name(spec.table)
        pairs, written = ((syntax.TableName(job.schema, job.table), new),), ((job.statement.table, spec.table),)
        return replace(job, code=code, schema=new.schema, table=new.name, renames=pairs, renames_as_written=written)
    exchanged = session.existing_name(spec.table) if isinstance(spec, syntax.ExchangePartition) else None
    return replace(job, code=code, exchanged_table=exchanged)


def apply_sub_jobs(catalog: Catalog, table: Table, sub_jobs: Sequence[SubJob]) -> Catalog:
    """Return the catalog with the table changed and the foreign keys that refer to it updated."""
    if not sub_jobs:
        return catalog
    changed = key_checks.without_invalid_checks(reduce(lambda before, sub_job: sub_job.apply(before), sub_jobs, table))
    indexes.check_visible_primary(changed)
    renames = {old.lower(): new for sub_job in sub_jobs for old, new in sub_job.renamed.items()}
    if (changed.schema, changed.name) != (table.schema, table.name):
        return databases.move_table(catalog, table, changed)
    return with_table(
        foreign_keys.update_references(catalog, table, changed, renames),
        foreign_keys.with_updated_own_references(changed, renames),
    )


def attributes(spec: syntax.Attributes, alteration: Alteration) -> SubJobs:
    partitions.check_attributes(spec.value or "")
    yield SubJob(Action.ALTER_TABLE_ATTRIBUTES)


def tiflash_replica(spec: syntax.TiflashReplica, alteration: Alteration) -> SubJobs:
    hypothetical = "a hypothetical replica lives in its session alone: no job"
    yield hypothetical if spec.hypothetical else SubJob(Action.SET_TIFLASH_REPLICA)


def clause(spec: syntax.Clause, alteration: Alteration) -> SubJobs:
    if spec.words not in CLAUSES_WITHOUT_JOB:
        raise unsupported_error(partitions.UNKNOWN_SPEC)
    if spec.words == "ANALYZE" and spec.value and alteration.target is not None:
        _check_analyzed(spec.value.split(","), partitions.table_partitioning(alteration.target.table))
    yield CLAUSES_WITHOUT_JOB[spec.words]


def _check_analyzed(names: Iterable[str], partitioning: Partitioning) -> None:
    """Raise DdlError for a partition that does not exist (TiDB: getPhysicalIDsAndPartitionNames)."""
    for name in names:
        if name.lower() not in partition_names(partitioning):
            raise error_with_text(
                "ddl:1105", f"can not found the specified partition name {name} in the table definition"
            )


CLAUSES_WITHOUT_JOB = {
    "ENABLE KEYS": "accepted, no job",
    "DISABLE KEYS": "accepted, no job",
    "WITH VALIDATION": "ALTER TABLE WITH VALIDATION is currently unsupported: no job",
    "WITHOUT VALIDATION": "ALTER TABLE WITHOUT VALIDATION is currently unsupported: no job",
    "ANALYZE": "statistics, no job",
    "COMPACT": "TiFlash alone, no job",
    "ADD STATS_EXTENDED": "statistics, no job",
    "DROP STATS_EXTENDED": "statistics, no job",
}
"""Clauses that TiDB accepts without a job, and the notes about them."""


SPECS: Mapping[type, Callable[[Any, Alteration], Iterable[SubJob | str]]] = {
    syntax.AddColumns: columns.add_columns,
    syntax.DropColumn: columns.drop_column,
    syntax.ModifyColumn: modify_columns.modify_column,
    syntax.ChangeColumn: modify_columns.change_column,
    syntax.RenameColumn: columns.rename_column,
    syntax.AlterDefault: columns.alter_default,
    syntax.AddKey: indexes.add_key,
    syntax.DropKey: indexes.drop_key,
    syntax.RenameIndex: indexes.rename_index,
    syntax.IndexVisibility: indexes.alter_visibility,
    syntax.AlterCheck: indexes.alter_check,
    syntax.SetOptions: table_options.set_options,
    syntax.ConvertCharset: table_options.convert_charset,
    syntax.RenameTo: databases.rename_to,
    syntax.AddPartitions: partitions.add_partitions,
    syntax.IntervalPartitionSpec: partitioning.last_partition,
    syntax.PartitionAction: partitions.partition_action,
    syntax.CoalescePartition: partitions.coalesce,
    syntax.ReorganizePartition: partitions.reorganize,
    syntax.ExchangePartition: partitioning.exchange,
    syntax.PartitionBy: partitioning.partition_by,
    syntax.RemovePartitioning: partitioning.remove_partitioning,
    syntax.PartitionOptions: partitions.partition_options,
    syntax.Attributes: attributes,
    syntax.Cache: table_options.cache,
    syntax.RemoveTtl: table_options.remove_ttl,
    syntax.TiflashReplica: tiflash_replica,
    syntax.OrderBy: lambda spec, alteration: ["ORDER BY is accepted, no job"],
    syntax.Clause: clause,
}


# -- multi-schema changes -------------------------------------------------------------------------------------------------


MULTI_SCHEMA_ACTIONS = frozenset(
    {
        Action.ADD_COLUMN,
        Action.DROP_COLUMN,
        Action.MODIFY_COLUMN,
        Action.SET_DEFAULT_VALUE,
        Action.ADD_INDEX,
        Action.DROP_INDEX,
        Action.RENAME_INDEX,
        Action.ALTER_INDEX_VISIBILITY,
        Action.ADD_PRIMARY_KEY,
        Action.DROP_PRIMARY_KEY,
        Action.ADD_FOREIGN_KEY,
        Action.REBASE_AUTO_ID,
        Action.MODIFY_TABLE_COMMENT,
        Action.MODIFY_TABLE_CHARSET_AND_COLLATE,
    }
)
"""Job types that may be part of a multi-schema change (fillMultiSchemaInfo)."""

CHECK_ACTIONS = frozenset({Action.ADD_CHECK_CONSTRAINT, Action.DROP_CHECK_CONSTRAINT, Action.ALTER_CHECK_CONSTRAINT})
"""Job types that need tidb_enable_check_constraint, which is off by default."""

ACTIONS_BEFORE_6_2 = {
    syntax.AddColumns: Action.ADD_COLUMNS,
    syntax.DropColumn: Action.DROP_COLUMNS,
    syntax.DropKey: Action.DROP_INDEXES,
}
"""TiDB up to 6.1 combines several specs of one of these kinds to one job, and nothing else."""

COLUMN_KEY_KINDS = frozenset({"key", "unique", "primary", "foreign", "vector", "columnar"})


def action_before_6_2(specs: Sequence[syntax.Spec]) -> Action:
    """Return the job type of several specs in a release without multi-schema change. Raises DdlError."""
    kinds = {type(spec) for spec in specs}
    code = ACTIONS_BEFORE_6_2.get(next(iter(kinds))) if len(kinds) == 1 else None
    constraints = any(isinstance(spec, syntax.AddColumns) and spec.keys for spec in specs)
    others = any(isinstance(spec, syntax.DropKey) and spec.kind not in ("index", "primary") for spec in specs)
    if code is None or constraints or others:
        raise unsupported_error("multi schema change")
    return code


def check_new_columns(specs: Sequence[syntax.Spec], sub_jobs: Sequence[SubJob]) -> None:
    """Raise DdlError for a key on a column that the same statement adds, in a session without a catalog.

    Keys inside the parentheses of ADD COLUMN (…) are not checked.
    """
    new = set(collect_names(sub_jobs, "added")).difference(
        collect_names(sub_jobs, "dropped"), collect_names(sub_jobs, "modified")
    )
    for spec in specs:
        if isinstance(spec, syntax.AddKey) and spec.key.kind in COLUMN_KEY_KINDS:
            check_key(spec.key, new)


def check_key(key: syntax.KeyDefinition, new: set[str]) -> None:
    for part in key.parts:
        if part.column.lower() in new:
            if key.kind == "foreign":
                raise tidb_error("ddl:1072", part.column)
            raise error_with_text("ddl:1072", f"column does not exist: {part.column}")
        if part.expression and (names := sorted(column_names(part.expression) & new)):
            raise tidb_error("ddl:1054", names[0], "expression")


def check_allowed_together(sub_job: SubJob) -> None:
    if sub_job.action not in MULTI_SCHEMA_ACTIONS:
        raise unsupported_error(f"multi schema change for {Action(sub_job.action).text}")


def check_conflicts(sub_jobs: Sequence[SubJob], table: Table | None) -> None:
    """Raise DdlError for conflicting sub-jobs. The table is None in a session without a catalog."""
    check_same_columns(sub_jobs, table)
    check_same_keys(sub_jobs)
    dropped = sum(len(sub_job.affected.dropped) for sub_job in sub_jobs)
    if table and len(table.columns) + sum(len(sub_job.affected.added) for sub_job in sub_jobs) <= dropped:
        raise tidb_error("ddl:1090")


def check_same_columns(sub_jobs: Sequence[SubJob], table: Table | None) -> None:
    """Raise DdlError if two sub-jobs affect one column (TiDB: checkOperateSameColAndIdx).

    Without a catalog, a key inside ADD COLUMN (…) may refer to added columns, as in `check_new_columns`.
    """
    seen: set[str] = set()
    for names in ("added", "dropped", "placed", "modified", "related"):
        passed = set(collect_names(sub_jobs, "added")) if names == "related" and table is None else set()
        for name in collect_names(sub_jobs, names):
            if name in seen - passed:
                raise unsupported_error(f"operate same column '{name}'")
            if names not in ("placed", "related"):
                seen.add(name)


def check_same_keys(sub_jobs: Sequence[SubJob]) -> None:
    seen: set[str] = set()
    for names in ("added_keys", "dropped_keys", "altered_keys"):
        for name in collect_names(sub_jobs, names):
            if name in seen:
                raise unsupported_error(f"operate same index '{name}'")
            seen.add(name)


def collect_names(sub_jobs: Iterable[SubJob], names: str) -> tuple[str, ...]:
    return tuple(name for sub_job in sub_jobs for name in getattr(sub_job.affected, names))
