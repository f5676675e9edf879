"""The versions of the tables of a run: a statement that touches a table creates a new version.

A version keeps its number for the whole run. A partition keeps its id when its table is renamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from simulator.sources.snapshots import FIRST_ID, PhysicalTable, PlacedTable, following_id, new_table
from simulator.tidb.ddl.column_definitions import columns_lacked
from simulator.tidb.ddl.derive import alterations
from simulator.tidb.model.table import Name, Table

EVERYTHING = "*"


@dataclass(frozen=True)
class ExchangedPartition:
    """One side of EXCHANGE PARTITION, by which a partition and a plain table swap their ids."""

    partition: str
    """The partition's name in lower case, on both sides."""

    new_id: int
    """The plain table's id for the partition, the partition's id for the plain table."""


@dataclass(frozen=True)
class PlannedTable:
    table: Table
    of: int | None
    """The number of the version before; None for a table's first version."""

    emptied: frozenset[str] = frozenset()
    """Names of truncated partitions in lower case; `*` for the whole table."""

    scripted: bool = False
    """Whether scripted SQL created it: TiCDC checks it at that time, not when the changefeed starts."""


@dataclass
class TableVersions:
    """All table versions so far and their physical tables, in the order of their creation."""

    every: list[PlannedTable] = field(default_factory=list)
    places: list[PlacedTable] = field(default_factory=list)
    """Parallel to `every`."""

    tables: list[PhysicalTable] = field(default_factory=list)
    """The run's list of physical tables."""

    firsts: dict[Name, list[int]] = field(default_factory=dict)
    next_id: int = FIRST_ID

    def copy(self) -> TableVersions:
        """Return the versions so far, to which more can be added apart from these."""
        firsts = {name: [*numbers] for name, numbers in self.firsts.items()}
        return TableVersions([*self.every], [*self.places], [*self.tables], firsts, self.next_id)

    def first(self, table: Table) -> int:
        """Return the number of a new table's version; a table that existed before with this definition keeps its."""
        known = self.firsts.setdefault((table.schema, table.name), [])
        for number in known:
            if same(self.every[number].table, table):
                return number
        known.append(self._add(PlannedTable(table, None), new_table(table, self.next_id)))
        return known[-1]

    def created(self, table: Table, table_id: int | None = None) -> int:
        """Return the number of a new version for a table that scripted SQL creates, or that keeps an earlier id."""
        physical = new_table(table, self.next_id if table_id is None else table_id)
        return self._add(PlannedTable(table, None, scripted=True), physical)

    def next(self, table: Table, of: int, emptied: frozenset[str] = frozenset()) -> int:
        """Return the number of the version after statements; emptied partitions get new ids."""
        before = [self.tables[index] for index in self.places[of].indexes]
        return self._add(PlannedTable(table, of, emptied), _successors(table, before, emptied, self.next_id))

    def altered(
        self,
        table: Table,
        of: int,
        emptied: frozenset[str] = frozenset(),
        exchanged: ExchangedPartition | None = None,
        moved: bool = False,
    ) -> int:
        """Return the number of the version after a statement of scripted SQL.

        Emptied partitions get new ids, an exchanged one the id of the other table; a moved table gets new ids, too.
        """
        before = [self.tables[index] for index in self.places[of].indexes]
        if EVERYTHING in emptied or moved:
            physical: Sequence[PhysicalTable] = [
                replace(each, repartitioned=moved) for each in new_table(table, self.next_id)
            ]
        else:
            physical = _successors(table, before, emptied, self.next_id)
        if exchanged:
            physical = _exchanged(physical, before, exchanged)
        return self._add(PlannedTable(table, of, emptied, True), physical)

    def stamp(self, number: int, schema_version: int, snapshot_version: int) -> None:
        """Set the schema version and the snapshot's version of a version's physical tables, unless they are known."""
        for index in self.places[number].indexes:
            if not self.tables[index].version:
                self.tables[index] = replace(
                    self.tables[index], version=schema_version, snapshot_version=snapshot_version
                )

    def table_id(self, number: int) -> int:
        """Return the id of the (whole) table."""
        return self.tables[self.places[number].indexes[0]].table_id

    def ids(self, number: int) -> dict[str, int]:
        """Return the physical ids of a version by partition name in lower case; the name is empty without partitions."""
        tables = [self.tables[index] for index in self.places[number].indexes]
        rule = tables[0].table.partitioning
        names = [partition.name.lower() for partition in rule.partitions] if rule else [""]
        return {name: each.partition_id or each.table_id for name, each in zip(names, tables, strict=True)}

    def added_columns(self) -> dict[int, tuple[tuple[int, int], ...]]:
        """Return the columns that rows may be older than, as `sources.older_rows.AddedColumns`."""
        of_versions: list[dict[int, int]] = []
        for version, place in zip(self.every, self.places, strict=True):
            known: dict[int, int] = {}
            if version.of is not None:
                kept, new = columns_lacked(self.every[version.of].table, version.table)
                known = {id: commit_ts for id, commit_ts in of_versions[version.of].items() if id in kept}
                known |= dict.fromkeys(sorted(new), self.tables[place.indexes[0]].snapshot_version)
            of_versions.append(known)
        numbered = zip(self.places, of_versions, strict=True)
        return {index: (*known.items(),) for place, known in numbered if known for index in place.indexes}

    def _add(self, version: PlannedTable, physical: Sequence[PhysicalTable]) -> int:
        indexes = range(len(self.tables), len(self.tables) + len(physical))
        self.next_id = max(self.next_id, following_id(physical))
        self.tables += physical
        self.places.append(PlacedTable(version.table, tuple(indexes)))
        self.every.append(version)
        return len(self.every) - 1


def _successors(
    table: Table, before: Sequence[PhysicalTable], emptied: frozenset[str], following: int
) -> list[PhysicalTable]:
    """Return the physical tables of a version: they keep their ids, and new ones get ids from `following` on."""
    if table.partitioning is None:
        return [PhysicalTable(table, None, before[0].table_id)]
    partitioning = before[0].table.partitioning
    names = [partition.name.lower() for partition in partitioning.partitions] if partitioning else []
    known = {name: physical.partition_id for name, physical in zip(names, before) if name not in emptied}
    changed = bool(emptied) or table.partitioning != partitioning
    successors = []
    for partition in table.partitioning.partitions:
        partition_id = known.get(partition.name.lower())
        if partition_id is None:
            partition_id, following = following, following + 1
        successors.append(PhysicalTable(table, partition_id, before[0].table_id, repartitioned=changed))
    return successors


def _exchanged(
    tables: Sequence[PhysicalTable], before: Sequence[PhysicalTable], exchanged: ExchangedPartition
) -> list[PhysicalTable]:
    """Return the physical tables after an exchange, of which other partitions get to know nothing."""
    rule = tables[0].table.partitioning
    if rule is None:
        return [replace(tables[0], table_id=exchanged.new_id)]
    names = [partition.name.lower() for partition in rule.partitions]
    return [
        replace(each, partition_id=exchanged.new_id, repartitioned=True)
        if name == exchanged.partition
        else replace(each, repartitioned=was.repartitioned)
        for name, each, was in zip(names, tables, before, strict=True)
    ]


def same(table: Table, other: Table) -> bool:
    """Return whether no statement is needed to turn one definition of a table into the other."""
    return table.clustered == other.clustered and not alterations(table, other, {})
