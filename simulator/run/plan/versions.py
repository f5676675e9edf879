"""The versions of the tables of a run: a statement that touches a table makes a new one.

One law: a version keeps its number for the whole run, and a partition its id, whatever its table is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from simulator.sources.snapshots import PhysicalTable, PlacedTable, physical_tables
from simulator.tidb.ddl.derive import alterations
from simulator.tidb.model.table import Name, Table


EVERYTHING = "*"


@dataclass(frozen=True)
class Exchanged:
    """EXCHANGE PARTITION: the ids of a partition and of a plain table change places."""

    partition: str
    """In lower case."""

    other: int
    """The version before it of the other table."""


@dataclass(frozen=True)
class Version:
    table: Table
    of: int | None
    """The version that it comes from; None for the first of a table."""

    emptied: frozenset[str] = frozenset()
    """Names of its partitions that were truncated, in lower case; `*` for the whole table."""

    scripted: bool = False
    """Whether a statement of scripted SQL made it: TiCDC judges it then, not when the changefeed starts."""

    exchanged: Exchanged | None = None


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

    def created(self, table: Table) -> int:
        """A table that a statement of scripted SQL creates: a new one, whatever was there before."""
        return self._add(Version(table, None, scripted=True))

    def next(self, table: Table, of: int, emptied: frozenset[str] = frozenset()) -> int:
        """What statements made of a version; partitions that were emptied have new ids."""
        return self._add(Version(table, of, emptied))

    def altered(
        self, table: Table, of: int, emptied: frozenset[str] = frozenset(), exchanged: Exchanged | None = None
    ) -> int:
        """What a statement of scripted SQL made of a version; what was emptied has new ids."""
        return self._add(Version(table, of, emptied, True, exchanged))

    def _add(self, version: Version) -> int:
        self.every.append(version)
        return len(self.every) - 1


def physical(versions: Sequence[Version]) -> tuple[tuple[PhysicalTable, ...], tuple[PlacedTable, ...]]:
    """The run's list of physical tables, first versions before all others, and each version's places in it."""
    firsts = physical_tables(version.table for version in versions if version.of is None and not version.scripted)
    listed = list(firsts)
    by_table: dict[int, list[int]] = {}
    for index, first in enumerate(firsts):
        by_table.setdefault(id(first.table), []).append(index)
    places: list[tuple[int, ...]] = []
    following = max((max(first.table_id, first.partition_id or 0) for first in firsts), default=99) + 1
    for version in versions:
        if version.of is None and not version.scripted:
            places.append(tuple(by_table[id(version.table)]))
            continue
        if version.of is None:
            made, following = _new(version.table, following)
        else:
            before, other = (
                [listed[index] for index in places[number]] if number is not None else []
                for number in (version.of, version.exchanged.other if version.exchanged else None))
            made, following = _successors(version, before, other, following)
        places.append(tuple(range(len(listed), len(listed) + len(made))))
        listed += made
    placed = (PlacedTable(version.table, place) for version, place in zip(versions, places, strict=True))
    return tuple(listed), tuple(placed)


def _new(table: Table, following: int) -> tuple[list[PhysicalTable], int]:
    """The physical tables of a table whose ids begin with `following`, and the id after them."""
    partitions = len(table.partitioning.partitions) if table.partitioning else 0
    ids: Iterable[int | None] = range(following + 1, following + 1 + partitions) if partitions else (None,)
    return [PhysicalTable(table, partition_id, following) for partition_id in ids], following + 1 + partitions


def _successors(
    version: Version, before: Sequence[PhysicalTable], other: Sequence[PhysicalTable], following: int
) -> tuple[list[PhysicalTable], int]:
    """The physical tables of a version, with the ids of those before; what is new gets ids from `following` on, and
    what is exchanged with another table its ids."""
    table, table_id, exchanged = version.table, before[0].table_id, version.exchanged
    if EVERYTHING in version.emptied and version.scripted:
        return _new(table, following)
    if table.partitioning is None:
        if exchanged:
            table_id = _by_name(other)[exchanged.partition] or table_id
        return [PhysicalTable(table, None, table_id)], following
    known = {name: partition_id for name, partition_id in _by_name(before).items() if name not in version.emptied}
    if exchanged:
        known[exchanged.partition] = other[0].table_id
    made = []
    for partition in table.partitioning.partitions:
        partition_id = known.get(partition.name.lower())
        if partition_id is None:
            partition_id, following = following, following + 1
        made.append(PhysicalTable(table, partition_id, table_id))
    return made, following


def _by_name(tables: Sequence[PhysicalTable]) -> dict[str, int | None]:
    """The ids of the partitions of a table, by their names in lower case."""
    rule = tables[0].table.partitioning
    names = [partition.name.lower() for partition in rule.partitions] if rule else []
    return {name: physical.partition_id for name, physical in zip(names, tables)}


def same(table: Table, other: Table) -> bool:
    """Whether two definitions of a table differ in nothing that a statement could change."""
    return table.clustered == other.clustered and not alterations(table, other, {})
