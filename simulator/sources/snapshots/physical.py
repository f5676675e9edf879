"""Physical tables, in which TiKV stores rows: a table or one partition of it.

One law: a table's partitions stand together in the order of its definition, and ids depend on nothing but names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from simulator.tidb.model.table import Table
from simulator.tidb.partitions import locate_partition

FIRST_ID = 100
"""The first table id of a run."""


@dataclass(frozen=True)
class PhysicalTable:
    table: Table
    partition_id: int | None = None
    """Physical id of the partition; None where the table is not partitioned."""

    table_id: int = FIRST_ID
    """Id of the table (of the whole of a partitioned one)."""


def physical_tables(tables: Iterable[Table]) -> tuple[PhysicalTable, ...]:
    """The physical tables of these tables, by name, with ids from 100 up; a partitioned table has one id more."""
    physical: list[PhysicalTable] = []
    following = FIRST_ID
    for table in sorted(tables, key=lambda table: (table.schema, table.name)):
        partitions = table.partitioning.partitions if table.partitioning else ()
        if not partitions:
            physical.append(PhysicalTable(table, None, following))
        physical += [PhysicalTable(table, following + 1 + index, following) for index in range(len(partitions))]
        following += 1 + len(partitions)
    return tuple(physical)


@dataclass(frozen=True)
class PlacedTable:
    """A version of a table, and the index of each of its partitions in the run's list of physical tables."""

    table: Table
    indexes: tuple[int, ...]


def located(places: PlacedTable, texts: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """int32 number of the table or partition that takes each row; null where none does."""
    numbers = pa.array(places.indexes, pa.int32())
    if places.table.partitioning is None:
        return pa.repeat(numbers[0], rows)
    return numbers.take(locate_partition(places.table, texts))
