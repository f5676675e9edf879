"""Physical tables, in which TiKV stores rows: a table or one of its partitions.

A table's partitions are contiguous, in the order of its definition, with ids after its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from simulator.tidb.model.table import Table
from simulator.tidb.storage.tables import locate_partition

FIRST_ID = 100
"""The first table id of a run."""


@dataclass(frozen=True)
class PhysicalTable:
    """A table without partitions, or a partition."""

    table: Table
    partition_id: int | None = None
    """Physical id of the partition; None if the table is not partitioned."""

    table_id: int = FIRST_ID
    """Id of the (whole) table."""

    version: int = 0
    """The schema version of the table: the TSO at which the last job that changed its definition began."""

    snapshot_version: int = 0
    """As in `TableInfo.snapshot_version` of the codecs."""

    repartitioned: bool = False
    """Whether the last statement on it was one on partitions."""

    row_ids: bool = False
    """Whether snapshots tell the `_tidb_rowid` of its rows, which is their handle then, whatever keys the table has."""


def physical_tables(tables: Iterable[Table]) -> tuple[PhysicalTable, ...]:
    """Return the physical tables of these tables, sorted by name, with ids from 100."""
    physical: list[PhysicalTable] = []
    for table in sorted(tables, key=lambda table: (table.schema, table.name)):
        physical += new_table(table, following_id(physical))
    return tuple(physical)


def new_table(table: Table, table_id: int) -> tuple[PhysicalTable, ...]:
    """Return a table with that id; its partitions have the following ids."""
    if table.partitioning is None:
        return (PhysicalTable(table, None, table_id),)
    count = len(table.partitioning.partitions)
    return tuple(PhysicalTable(table, table_id + 1 + index, table_id) for index in range(count))


def following_id(physical: Iterable[PhysicalTable]) -> int:
    """Return the first unused id."""
    return max((max(each.table_id, each.partition_id or 0) for each in physical), default=FIRST_ID - 1) + 1


@dataclass(frozen=True)
class PlacedTable:
    """A version of a table, and the index of each of its partitions in the run's list of physical tables."""

    table: Table
    indexes: tuple[int, ...]
    row_ids: bool = False
    """As in `PhysicalTable`."""


def locate_rows(places: PlacedTable, texts: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """Return the int32 number of the table or partition of each row; null if no partition takes it."""
    numbers = pa.array(places.indexes, pa.int32())
    if places.table.partitioning is None:
        return pa.repeat(numbers[0], rows)
    return numbers.take(locate_partition(places.table, texts))
