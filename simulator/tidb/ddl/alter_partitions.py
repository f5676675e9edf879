"""ALTER TABLE … ADD, DROP, TRUNCATE, REORGANIZE, COALESCE PARTITION (TiDB: pkg/ddl/executor.go, pkg/ddl/partition.go).

Lookups of partitions ignore case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.ddl import Action, partition_values
from simulator.tidb.ddl.catalog import (
    check_length,
    check_placement_policy,
    first_repeated,
    lower_names,
    partition_names,
)
from simulator.tidb.ddl.column_definitions import MAX_COMMENT_BYTES
from simulator.tidb.ddl.expressions import constant_in_zone
from simulator.tidb.ddl.partition_values import is_unsigned
from simulator.tidb.ddl.session import Alteration, Session, SubJob, SubJobs
from simulator.tidb.errors import tidb_error, unsupported_error
from simulator.tidb.model.table import Partition, Partitioning, Table
from simulator.tidb.parser.partitions import METHODS_BY_VALUES, VALUES_CLAUSES

UNKNOWN_SPEC = "Unsupported/unknown ALTER TABLE specification"
"""TiDB repeats `Unsupported`."""


def table_partitioning(table: Table) -> Partitioning:
    """Return the partitioning of the table. Raises DdlError for a table without one."""
    if table.partitioning is None:
        raise tidb_error("ddl:1505")
    return table.partitioning


def with_partitions(partitions: tuple[Partition, ...]) -> Callable[[Table], Table]:
    def apply(table: Table) -> Table:
        assert table.partitioning is not None
        return replace(table, partitioning=replace(table.partitioning, partitions=partitions))

    return apply


def add_partitions(spec: syntax.AddPartitions, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of ADD PARTITION, which reorganizes a HASH or KEY table. Raises DdlError.

    Without a catalog, partitions without values mean HASH or KEY.
    """
    if alteration.target is None:
        valued = any(definition.kind for definition in spec.definitions)
        yield SubJob(Action.ADD_TABLE_PARTITION if valued else Action.REORGANIZE_PARTITION)
        return
    for definition in spec.definitions:
        check_placement_policy(alteration.target.catalog, definition.options)
    table, session = alteration.target.table, alteration.session
    old = table_partitioning(table)
    action = Action.ADD_TABLE_PARTITION
    if old.kind in ("hash", "key"):
        action = Action.REORGANIZE_PARTITION
        count = len(old.partitions)
        new = tuple(build_partition(definition, old.kind, session) for definition in spec.definitions)
        new = new or tuple(Partition(f"p{number}") for number in range(count, count + spec.count))
    elif not spec.definitions:
        raise tidb_error("ddl:1492", old.kind.upper())
    else:
        new = new_partitions(spec.definitions, old, table, session)
        if old.kind == "list" and any(("DEFAULT",) in partition.values for partition in old.partitions):
            raise unsupported_error(
                "ADD List partition, already contains DEFAULT partition. Please use REORGANIZE PARTITION instead"
            )
    names = partition_names(old)
    repeated = next((partition.name for partition in new if partition.name.lower() in names), "")
    if spec.if_not_exists and repeated:
        yield f"Duplicate partition name {repeated}: no job"
        return
    changed = check_partitions(replace(old, partitions=(*old.partitions, *new)), table, alteration.session)
    yield SubJob(action, with_partitions(changed.partitions))


def new_partitions(
    definitions: Iterable[syntax.PartitionDefinition], old: Partitioning, table: Table, session: Session
) -> tuple[Partition, ...]:
    result = []
    for definition in definitions:
        width = len(old.columns) or 1
        partition = build_partition(definition, old.kind, session)
        if any(len(value) != width and value != partition_values.DEFAULT for value in partition.values):
            single = {"range": tidb_error("ddl:1657", "RANGE"), "list": tidb_error("ddl:1658")}
            raise tidb_error("ddl:1653") if old.columns else single[old.kind]
        partition_values.check_types(partition, old, table)
        check_length(partition.name)
        result.append(partition)
    return tuple(result)


def partition_action(spec: syntax.PartitionAction, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of DROP or TRUNCATE PARTITION. Raises DdlError for actions that TiDB does not support."""
    if spec.verb in ("CHECK", "REBUILD", "OPTIMIZE", "REPAIR"):
        raise unsupported_error(f"{spec.verb.lower()} partition")
    if spec.verb not in PARTITION_VERBS:
        raise unsupported_error(UNKNOWN_SPEC)
    if alteration.target is None:
        yield SubJob(PARTITION_VERBS[spec.verb])
    elif spec.verb == "DROP":
        yield from drop_partitions(spec, table_partitioning(alteration.target.table))
    else:
        yield from truncate_partitions(spec, table_partitioning(alteration.target.table), alteration.target.table)


PARTITION_VERBS = {"DROP": Action.DROP_TABLE_PARTITION, "TRUNCATE": Action.TRUNCATE_TABLE_PARTITION}


def drop_partitions(spec: syntax.PartitionAction, old: Partitioning) -> SubJobs:
    """Yield the sub-job of DROP PARTITION (TiDB: CheckDropTablePartition)."""
    if old.kind not in ("range", "list"):
        raise tidb_error("ddl:1512", "DROP")
    dropped, names = lower_names(spec.names), partition_names(old)
    if len(names) <= len(dropped):
        raise tidb_error("ddl:1508")
    if len(set(dropped)) < len(dropped) or any(name not in names for name in dropped):
        if spec.if_exists:
            yield "Error in list of partitions to DROP: no job"
            return
        raise tidb_error("ddl:1507")
    partitions = tuple(partition for partition in old.partitions if partition.name.lower() not in dropped)
    yield SubJob(Action.DROP_TABLE_PARTITION, with_partitions(partitions))


def truncate_partitions(spec: syntax.PartitionAction, old: Partitioning, table: Table) -> SubJobs:
    """Yield the sub-job of TRUNCATE PARTITION, which leaves the definition unchanged."""
    names = partition_names(old)
    for name in lower_names(spec.names):
        if name not in names:
            raise tidb_error("table:1735", name, table.name)
    yield SubJob(Action.TRUNCATE_TABLE_PARTITION)


def coalesce(spec: syntax.CoalescePartition, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of COALESCE PARTITION, which removes the last partitions of a HASH or KEY table."""
    if alteration.target is None:
        yield SubJob(Action.REORGANIZE_PARTITION)
        return
    old = table_partitioning(alteration.target.table)
    if old.kind not in ("hash", "key"):
        raise tidb_error("ddl:1509")
    if spec.count < 1:
        raise tidb_error("ddl:1515")
    if spec.count >= len(old.partitions):
        raise tidb_error("ddl:1508")
    yield SubJob(Action.REORGANIZE_PARTITION, with_partitions(old.partitions[: -spec.count]))


def reorganize(spec: syntax.ReorganizePartition, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of REORGANIZE PARTITION. Raises DdlError (TiDB: checkReorgPartitionDefs)."""
    if alteration.target is None:
        yield SubJob(Action.REORGANIZE_PARTITION)
        return
    table = alteration.target.table
    old = table_partitioning(table)
    if old.kind not in ("range", "list"):
        raise unsupported_error("reorganize partition")
    places = partition_positions(spec.names, old)
    if not spec.definitions or not places:
        raise tidb_error("ddl:1492", old.kind.upper())
    new = new_partitions(spec.definitions, old, table, alteration.session)
    first = min(places)
    after = tuple(partition for place, partition in enumerate(old.partitions) if place > first and place not in places)
    changed = check_partitions(
        replace(old, partitions=(*old.partitions[:first], *new, *after)), table, alteration.session
    )
    if old.kind == "range" and max(places) < len(old.partitions) - 1:
        check_range_end(old.partitions[max(places)], new[-1], old, table)
    yield SubJob(Action.REORGANIZE_PARTITION, with_partitions(changed.partitions))


def partition_positions(names: tuple[str, ...], old: Partitioning) -> set[int]:
    """Return the positions of partitions. Raises DdlError for unknown names, and for ranges that are not adjacent."""
    target = partition_names(old)
    places: set[int] = set()
    for name in lower_names(names):
        if name not in target:
            raise tidb_error("ddl:1567")
        if target.index(name) in places:
            raise tidb_error("ddl:1517", "%-.192s")
        places.add(target.index(name))
    if old.kind == "range" and len(places) != max(places, default=0) - min(places, default=0) + 1:
        raise unsupported_error("REORGANIZE PARTITION of RANGE; not adjacent partitions")
    return places


def check_range_end(old: Partition, new: Partition, rule: Partitioning, table: Table) -> None:
    """Raise DdlError if reorganized ranges before others end elsewhere than before."""
    bounds = old.values[0], new.values[0]
    if rule.columns:
        moved = any(partition_values.is_above(*pair, rule, table, True) for pair in (bounds[::-1], bounds))
    else:
        unsigned = is_unsigned(rule.expression, table)
        ends = [
            math.inf if partition_values.MAXVALUE in bound else partition_values.integer_bound(bound[0], unsigned) or 0
            for bound in bounds
        ]
        moved = ends[0] != ends[1]
    if moved:
        raise tidb_error("ddl:1493")


def partition_options(spec: syntax.PartitionOptions, alteration: Alteration) -> SubJobs:
    """Yield the sub-jobs of options of a partition, which change no rows."""
    target = alteration.target
    if target and spec.partition.lower() not in partition_names(table_partitioning(target.table)):
        raise tidb_error("table:1735", spec.partition, target.table.name)
    names = {option.name for option in spec.options}
    for option in spec.options:
        if option.name == "ATTRIBUTES":
            check_attributes(option.value)
    if "ATTRIBUTES" in names:
        yield SubJob(Action.ALTER_TABLE_PARTITION_ATTRIBUTES)
    if "PLACEMENT POLICY" in names:
        check_placement_policy(target.catalog if target else None, spec.options)
        yield SubJob(Action.ALTER_TABLE_PARTITION_PLACEMENT)


def check_attributes(text: str) -> None:
    """Raise DdlError unless a text is a list of `key=value` with distinct keys (TiDB: pkg/ddl/label)."""
    values: dict[str, str] = {}
    for attribute in text.split(",") if text else ():
        name, _, value = (part.strip() for part in attribute.partition("="))
        if not name or not value or "=" in value:
            raise tidb_error("ddl:8237", f"attributes should be in format 'key=value': {attribute}")
        if values.setdefault(name, value) != value:
            raise tidb_error("ddl:8237", f"'{name}={value}' and '{name}={values[name]}' are conflicted")


MAX_PARTITIONS = 8192


def build_partition(definition: syntax.PartitionDefinition, kind: str, session: Session) -> Partition:
    """Return the partition of a definition. Raises DdlError if its values do not match the partitioning."""
    method = METHODS_BY_VALUES.get(definition.kind, "")
    if method and method != kind:
        raise tidb_error("ddl:1480", *VALUES_CLAUSES[method])
    if kind in VALUES_CLAUSES and not definition.values:
        raise tidb_error("ddl:1479", *VALUES_CLAUSES[kind])
    comment = next((option.value for option in definition.options if option.name == "COMMENT"), "")
    if kind == "range" and session.is_strict and len(comment.encode()) > MAX_COMMENT_BYTES:
        raise tidb_error("ddl:1793", definition.name.lower())
    bounds = (tuple(constant_in_zone(text, session.zone) for text in row) for row in definition.values)
    return Partition(definition.name, tuple(bounds), comment)


def check_partitions(partitioning: Partitioning, table: Table, session: Session) -> Partitioning:
    """Return the partitioning with evaluated bounds. Raises DdlError for duplicate names, columns and members, too many
    partitions, and bounds that do not increase (TiDB: checkPartitionDefinitionConstraints)."""
    if name := first_repeated(partition.name for partition in partitioning.partitions):
        raise tidb_error("ddl:1517", name)
    if len(partitioning.partitions) > MAX_PARTITIONS:
        raise tidb_error("ddl:1499")
    if column := first_repeated(lower_names(partitioning.columns)):
        raise tidb_error("ddl:1652", column)
    if partitioning.kind == "range":
        return partition_values.check_bounds(partitioning, table, session.release.bounds_are_tuples)
    if partitioning.kind == "list":
        partition_values.check_lists(partitioning, table)
    return partitioning
