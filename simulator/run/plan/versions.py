"""The versions of the tables of a run: a statement that touches a table makes a new one.

One law: a version keeps its number for the whole run, and a partition its id, whatever its table is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from simulator.sources.snapshots import FIRST_ID, PhysicalTable, PlacedTable, following_id, new_table
from simulator.tidb.ddl.derive import alterations
from simulator.tidb.model.table import Name, Table

EVERYTHING = "*"


@dataclass(frozen=True)
class ExchangedPartition:
    """EXCHANGE PARTITION: a partition and a plain table change their ids."""

    partition: str
    """In lower case; said for the plain table, too."""

    taken: int
    """The id that comes: the plain table's for the partition, the partition's for the plain table."""


@dataclass(frozen=True)
class TableVersion:
    table: Table
    of: int | None
    """The version that it comes from; None for the first of a table."""

    emptied: frozenset[str] = frozenset()
    """Names of its partitions that were truncated, in lower case; `*` for the whole table."""

    scripted: bool = False
    """Whether a statement of scripted SQL made it: TiCDC judges it then, not when the changefeed starts."""


@dataclass
class TableVersions:
    """All versions met so far, and the physical tables that they are, in the order in which they came."""

    every: list[TableVersion] = field(default_factory=list)
    places: list[PlacedTable] = field(default_factory=list)
    """As long as `every`."""

    tables: list[PhysicalTable] = field(default_factory=list)
    """The run's list of physical tables."""

    firsts: dict[Name, list[int]] = field(default_factory=dict)
    next_id: int = FIRST_ID

    def first(self, table: Table) -> int:
        """A table that is new; one that was there before and is the same again keeps its number."""
        known = self.firsts.setdefault((table.schema, table.name), [])
        for number in known:
            if same(self.every[number].table, table):
                return number
        known.append(self._add(TableVersion(table, None), new_table(table, self.next_id)))
        return known[-1]

    def created(self, table: Table) -> int:
        """A table that a statement of scripted SQL creates: a new one, whatever was there before."""
        return self._add(TableVersion(table, None, scripted=True), new_table(table, self.next_id))

    def next(self, table: Table, of: int, emptied: frozenset[str] = frozenset()) -> int:
        """What statements made of a version; partitions that were emptied have new ids."""
        before = [self.tables[index] for index in self.places[of].indexes]
        return self._add(TableVersion(table, of, emptied), _successors(table, before, emptied, self.next_id))

    def altered(
        self, table: Table, of: int, emptied: frozenset[str] = frozenset(), exchanged: ExchangedPartition | None = None
    ) -> int:
        """What a statement of scripted SQL made of a version; what was emptied has new ids, what was exchanged those
        of the other table."""
        before = [self.tables[index] for index in self.places[of].indexes]
        if EVERYTHING in emptied:
            physical: Sequence[PhysicalTable] = new_table(table, self.next_id)
        else:
            physical = _successors(table, before, emptied, self.next_id)
        if exchanged:
            physical = _exchanged(physical, exchanged)
        return self._add(TableVersion(table, of, emptied, True), physical)

    def ids(self, number: int) -> dict[str, int]:
        """The physical ids of a version by the names of its partitions in lower case; of a table without partitions
        its own, without a name."""
        tables = [self.tables[index] for index in self.places[number].indexes]
        rule = tables[0].table.partitioning
        names = [partition.name.lower() for partition in rule.partitions] if rule else [""]
        return {name: each.partition_id or each.table_id for name, each in zip(names, tables, strict=True)}

    def _add(self, version: TableVersion, physical: Sequence[PhysicalTable]) -> int:
        indexes = range(len(self.tables), len(self.tables) + len(physical))
        self.next_id = max(self.next_id, following_id(physical))
        self.tables += physical
        self.places.append(PlacedTable(version.table, tuple(indexes)))
        self.every.append(version)
        return len(self.every) - 1


def _successors(
    table: Table, before: Sequence[PhysicalTable], emptied: frozenset[str], following: int
) -> list[PhysicalTable]:
    """The physical tables of a version, with the ids of those before; what is new gets ids from `following` on."""
    if table.partitioning is None:
        return [PhysicalTable(table, None, before[0].table_id)]
    was = before[0].table.partitioning
    names = [partition.name.lower() for partition in was.partitions] if was else []
    known = {name: physical.partition_id for name, physical in zip(names, before) if name not in emptied}
    made = []
    for partition in table.partitioning.partitions:
        partition_id = known.get(partition.name.lower())
        if partition_id is None:
            partition_id, following = following, following + 1
        made.append(PhysicalTable(table, partition_id, before[0].table_id))
    return made


def _exchanged(tables: Sequence[PhysicalTable], exchanged: ExchangedPartition) -> list[PhysicalTable]:
    rule = tables[0].table.partitioning
    if rule is None:
        return [replace(tables[0], table_id=exchanged.taken)]
    names = [partition.name.lower() for partition in rule.partitions]
    return [
        replace(each, partition_id=exchanged.taken) if name == exchanged.partition else each
        for name, each in zip(names, tables, strict=True)
    ]


def same(table: Table, other: Table) -> bool:
    """Whether two definitions of a table differ in nothing that a statement could change."""
    return table.clustered == other.clustered and not alterations(table, other, {})
