"""Bounds and members of partitions, compared.

One law: only what can be compared without evaluating SQL is; what cannot is taken on trust.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.tidb.ddl.evolve_errors import tidb
from simulator.tidb.model.table import Partition, Partitioning
from simulator.tidb.syntax.tables import PartitionDefinition

MOST_PARTITIONS = 8192
VALUES = {"range": ("RANGE", "LESS THAN"), "list": ("LIST", "IN")}
KINDS = {"less than": "range", "in": "list", "default": "list"}


def partition_of(definition: PartitionDefinition, kind: str) -> Partition:
    """The partition as the table keeps it; raises DdlError where its values are not those of the partitioning."""
    said = KINDS.get(definition.kind, "")
    if said and said != kind:
        raise tidb("ddl:1480", *VALUES[said])
    if kind in VALUES and not definition.values:
        raise tidb("ddl:1479", *VALUES[kind])
    return Partition(definition.name, definition.values)


def check_partitions(partitioning: Partitioning) -> None:
    """Raises DdlError for a name twice, too many, bounds that do not grow, a member twice
    (TiDB: checkPartitionDefinitionConstraints)."""
    names: set[str] = set()
    for partition in partitioning.partitions:
        if partition.name.lower() in names:
            raise tidb("ddl:1517", partition.name)
        names.add(partition.name.lower())
    if len(names) > MOST_PARTITIONS:
        raise tidb("ddl:1499")
    if partitioning.kind == "range":
        check_growing(partitioning)
    if partitioning.kind == "list":
        check_members(partitioning.partitions)


def check_growing(partitioning: Partitioning) -> None:
    """Each bound is above the one before; MAXVALUE comes last."""
    bounds = [partition.values[0] for partition in partitioning.partitions]
    if len(partitioning.columns) <= 1 and any(bound == ("MAXVALUE",) for bound in bounds[:-1]):
        raise tidb("ddl:1481")
    for one, two in zip(bounds, bounds[1:]):
        if not below(one, two):
            raise tidb("ddl:1493")


def below(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    """Whether the one bound lies below the other, as far as that can be told."""
    for left, right in zip(one, two):
        if left == "MAXVALUE" or right == "MAXVALUE":
            if left != right:
                return right == "MAXVALUE"
            continue
        (left_kind, left_value), (right_kind, right_value) = comparable(left), comparable(right)
        if left_kind != right_kind:
            return True
        if left_value != right_value:
            return left_value < right_value
    return False


def comparable(text: str) -> tuple[str, tuple[int, str]]:
    """What may be compared with what, and how: whole numbers, literals, and one function of literals."""
    if text.lstrip("+-").isdecimal():
        return "", (int(text), "")
    call, quote, rest = text.partition("'")
    return (call.upper().strip() + quote, (0, rest))


def check_members(partitions: Iterable[Partition]) -> None:
    """Raises DdlError for MAXVALUE, and for a member twice."""
    seen: set[tuple[str, ...]] = set()
    for partition in partitions:
        for member in partition.values:
            if any(value.upper() == "MAXVALUE" for value in member):
                raise tidb("ddl:1656")
            if member in seen:
                raise tidb("ddl:1495")
            seen.add(member)
