"""Physical tables: what TiKV stores rows in, a table or one partition of it.

One law: a table's partitions stand together in the order of its definition, and ids depend on nothing but names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simulator.tidb.model.table import Table

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
class Places:
    """A version of a table, and the index of each of its partitions in the run's list of physical tables."""

    table: Table
    indexes: tuple[int, ...]
