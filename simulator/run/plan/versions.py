"""The versions of the tables of a run: a statement that touches a table makes a new one.

One law: a version keeps its number for the whole run, and a partition its id, whatever its table is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.sources.snapshots import PhysicalTable, PlacedTable, physical_tables
from simulator.tidb.ddl.derive import alterations
from simulator.tidb.model.table import Name, Table


@dataclass(frozen=True)
class Version:
    table: Table
    of: int | None
    """The version that it comes from; None for the first of a table."""

    emptied: frozenset[str] = frozenset()
    """Names of its partitions that were truncated, in lower case."""


@dataclass
class Versions:
    """All versions met so far."""

    every: list[Version] = field(default_factory=list)
    firsts: dict[Name, list[int]] = field(default_factory=dict)

    def first(self, table: Table) -> int:
        """A table that is new; one that was there before and is the same again keeps its number."""
        known = self.firsts.setdefault((table.schema, table.name), [])
        for number in known:
            if same(self.every[number].table, table):
                return number
        known.append(self._add(Version(table, None)))
        return known[-1]

    def next(self, table: Table, of: int, emptied: frozenset[str] = frozenset()) -> int:
        """What statements made of a version; partitions that were emptied have new ids."""
        return self._add(Version(table, of, emptied))

    def _add(self, version: Version) -> int:
        self.every.append(version)
        return len(self.every) - 1


def physical(versions: Sequence[Version]) -> tuple[tuple[PhysicalTable, ...], tuple[PlacedTable, ...]]:
    """The run's list of physical tables, first versions before all others, and each version's places in it."""
    firsts = physical_tables(version.table for version in versions if version.of is None)
    listed = list(firsts)
    by_table: dict[int, list[int]] = {}
    for index, first in enumerate(firsts):
        by_table.setdefault(id(first.table), []).append(index)
    places: list[tuple[int, ...]] = []
    following = max((max(first.table_id, first.partition_id or 0) for first in firsts), default=99) + 1
    for version in versions:
        if version.of is None:
            places.append(tuple(by_table[id(version.table)]))
            continue
        before = [listed[index] for index in places[version.of]]
        made, following = _successors(version, before, following)
        places.append(tuple(range(len(listed), len(listed) + len(made))))
        listed += made
    placed = (PlacedTable(version.table, place) for version, place in zip(versions, places, strict=True))
    return tuple(listed), tuple(placed)


def _successors(
    version: Version, before: Sequence[PhysicalTable], following: int
) -> tuple[list[PhysicalTable], int]:
    """The physical tables of a version, with the ids of those before; what is new gets ids from `following` on."""
    table, table_id = version.table, before[0].table_id
    if table.partitioning is None:
        return [PhysicalTable(table, None, table_id)], following
    was = before[0].table.partitioning
    names = [partition.name.lower() for partition in was.partitions] if was else []
    known = {name: physical.partition_id for name, physical in zip(names, before) if name not in version.emptied}
    made = []
    for partition in table.partitioning.partitions:
        partition_id = known.get(partition.name.lower())
        if partition_id is None:
            partition_id, following = following, following + 1
        made.append(PhysicalTable(table, partition_id, table_id))
    return made, following


def same(table: Table, other: Table) -> bool:
    """Whether two definitions of a table differ in nothing that a statement could change."""
    return table.clustered == other.clustered and not alterations(table, other, {})
