"""ALTER TABLE … ADD, DROP, TRUNCATE, REORGANIZE, COALESCE PARTITION.

One law: partitions are found by name, whatever its case, and keep their order (TiDB: pkg/ddl/executor.go,
pkg/ddl/partition.go).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.evolve_errors import tidb, unsupported, worded
from simulator.tidb.ddl.evolve_intervals import more
from simulator.tidb.ddl.evolve_ranges import below, check_partitions, partition_of
from simulator.tidb.ddl.evolve_steps import Scene, Step, lower, unchanged
from simulator.tidb.model.table import Partition, Partitioning, Table
from simulator.tidb.syntax.alter import (
    AddPartitions,
    CoalescePartition,
    LastPartition,
    PartitionAction,
    ReorganizePartition,
)

UNKNOWN_SPEC = "Unsupported/unknown ALTER TABLE specification"


def partitioned(table: Table) -> Partitioning:
    """How the table is partitioned; raises DdlError where it is not."""
    if table.partitioning is None:
        raise tidb("ddl:1505")
    return table.partitioning


def with_partitions(partitions: tuple[Partition, ...]) -> Callable[[Table], Table]:
    def apply(table: Table) -> Table:
        assert table.partitioning is not None
        return replace(table, partitioning=replace(table.partitioning, partitions=partitions))

    return apply


def add_partitions(spec: AddPartitions, scene: Scene) -> tuple[Step, ...]:
    """At the end; of HASH and KEY by number or by name. Raises DdlError."""
    old = partitioned(scene.table)
    action = actions.ADD_TABLE_PARTITION
    if old.kind in ("hash", "key"):
        action = actions.REORGANIZE_PARTITION
        count = len(old.partitions)
        new = tuple(partition_of(one, old.kind) for one in spec.definitions)
        new = new or tuple(Partition(f"p{number}") for number in range(count, count + spec.count))
    elif not spec.definitions:
        raise tidb("ddl:1492", old.kind.upper())
    else:
        new = tuple(partition_of(one, old.kind) for one in spec.definitions)
        if old.kind == "list" and any(("DEFAULT",) in partition.values for partition in old.partitions):
            raise unsupported("ADD List partition, already contains DEFAULT partition. Please use REORGANIZE PARTITION"
                              " instead")
    names = lower(partition.name for partition in old.partitions)
    if spec.if_not_exists and any(partition.name.lower() in names for partition in new):
        return ()
    partitions = (*old.partitions, *new)
    check_partitions(replace(old, partitions=partitions))
    return Step(action, with_partitions(partitions)),


def partition_action(spec: PartitionAction, scene: Scene) -> tuple[Step, ...]:
    """DROP and TRUNCATE; raises DdlError for the verbs that TiDB only reads."""
    if spec.verb in ("DROP", "TRUNCATE"):
        old = partitioned(scene.table)
        return drop(spec, old) if spec.verb == "DROP" else truncate(spec, old, scene.table)
    if spec.verb in ("CHECK", "REBUILD", "OPTIMIZE", "REPAIR"):
        raise unsupported(f"{spec.verb.lower()} partition")
    raise worded("ddl:8200", UNKNOWN_SPEC)


def drop(spec: PartitionAction, old: Partitioning) -> tuple[Step, ...]:
    """TiDB: CheckDropTablePartition."""
    if old.kind not in ("range", "list"):
        raise tidb("ddl:1512", "DROP")
    gone, names = lower(spec.names), lower(partition.name for partition in old.partitions)
    if len(names) <= len(gone):
        raise tidb("ddl:1508")
    if len(set(gone)) < len(gone) or any(name not in names for name in gone):
        if spec.if_exists:
            return ()
        raise tidb("ddl:1507")
    partitions = tuple(partition for partition in old.partitions if partition.name.lower() not in gone)
    return Step(actions.DROP_TABLE_PARTITION, with_partitions(partitions)),


def truncate(spec: PartitionAction, old: Partitioning, table: Table) -> tuple[Step, ...]:
    """The rows go, the partitions stay."""
    names = lower(partition.name for partition in old.partitions)
    for name in lower(spec.names):
        if name not in names:
            raise tidb("table:1735", name, table.name)
    return Step(actions.TRUNCATE_TABLE_PARTITION, unchanged),


def coalesce(spec: CoalescePartition, scene: Scene) -> tuple[Step, ...]:
    """The last partitions of HASH and KEY go, their rows to the others."""
    old = partitioned(scene.table)
    if old.kind not in ("hash", "key"):
        raise tidb("ddl:1509")
    if spec.count < 1:
        raise tidb("ddl:1515")
    if spec.count >= len(old.partitions):
        raise tidb("ddl:1508")
    return Step(actions.REORGANIZE_PARTITION, with_partitions(old.partitions[:-spec.count])),


def reorganize(spec: ReorganizePartition, scene: Scene) -> tuple[Step, ...]:
    """Named partitions become others that hold the same rows; raises DdlError (TiDB: checkReorgPartitionDefs)."""
    old = partitioned(scene.table)
    if old.kind not in ("range", "list"):
        raise unsupported("reorganize partition")
    places = places_of(spec.names, old)
    if not spec.definitions or not places:
        raise tidb("ddl:1492", old.kind.upper())
    new = tuple(partition_of(one, old.kind) for one in spec.definitions)
    first = min(places)
    before = tuple(one for place, one in enumerate(old.partitions) if place < first)
    after = tuple(one for place, one in enumerate(old.partitions) if place > first and place not in places)
    partitions = (*before, *new, *after)
    check_partitions(replace(old, partitions=partitions))
    if old.kind == "range":
        check_end(old.partitions[max(places)], new[-1], max(places) == len(old.partitions) - 1)
    return Step(actions.REORGANIZE_PARTITION, with_partitions(partitions)),


def places_of(names: tuple[str, ...], old: Partitioning) -> set[int]:
    """Places of the named partitions, side by side where they are ranges."""
    known = lower(partition.name for partition in old.partitions)
    places: set[int] = set()
    for name in lower(names):
        if name not in known:
            raise tidb("ddl:1567")
        if known.index(name) in places:
            raise tidb("ddl:1517", "%-.192s")
        places.add(known.index(name))
    if old.kind == "range" and len(places) != max(places, default=0) - min(places, default=0) + 1:
        raise unsupported("REORGANIZE PARTITION of RANGE; not adjacent partitions")
    return places


def check_end(old: Partition, new: Partition, last: bool) -> None:
    """Ranges end where they ended, but for the last, which may end elsewhere."""
    if not last and (below(old.values[0], new.values[0]) or below(new.values[0], old.values[0])):
        raise tidb("ddl:1493")


def last_partition(spec: LastPartition, scene: Scene) -> tuple[Step, ...]:
    """FIRST and LAST PARTITION LESS THAN of INTERVAL partitioning; raises DdlError."""
    if spec.verb not in INTERVALS:
        what = "SPLIT LAST PARTITION" if spec.verb.startswith("SPLIT") else "MERGE FIRST PARTITION"
        raise unsupported(what)
    return INTERVALS[spec.verb](spec.bound.text.strip(), partitioned(scene.table))


def first_interval(bound: str, old: Partitioning) -> tuple[Step, ...]:
    """Drops the partitions below the bound."""
    places = [place for place, one in enumerate(old.partitions) if one.values == ((bound,),)]
    if old.kind != "range" or not places or places[0] == 0:
        raise unsupported("FIRST PARTITION, given value does not generate a list of partition names to be dropped")
    return Step(actions.DROP_TABLE_PARTITION, with_partitions(old.partitions[places[0]:])),


def last_interval(last: str, old: Partitioning) -> tuple[Step, ...]:
    """Adds partitions as wide as the last one, up to the bound."""
    if old.kind != "range":
        raise unsupported("LAST PARTITION of HASH/KEY partitioned table")
    return Step(actions.ADD_TABLE_PARTITION, with_partitions((*old.partitions, *more(old.partitions, last)))),


INTERVALS: MappingProxyType[str, Callable[[str, Partitioning], tuple[Step, ...]]] = MappingProxyType({
    "FIRST": first_interval,
    "LAST": last_interval,
})
