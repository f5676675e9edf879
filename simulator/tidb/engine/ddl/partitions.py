"""The rows of a table whose partitions change: ADD, DROP, TRUNCATE, REORGANIZE, COALESCE, EXCHANGE PARTITION, PARTITION BY.

A partition that stays keeps its rows. The rows of the others are stored anew, as they are, where they belong now (tidb
v8.5 pkg/ddl/partition.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.errors import sql_error
from simulator.tidb.model.table import Table
from simulator.tidb.storage.array_keys import entries_of
from simulator.tidb.storage.auto_ids import highest_counters
from simulator.tidb.storage.partitions import no_partition_error, partition_of
from simulator.tidb.storage.rows import NEWEST, Entry, Handle, TableRows
from simulator.tidb.storage.tables import Ids, RowReader, StoredTable

PARTITION_SPECS = (
    syntax.AddPartitions,
    syntax.PartitionAction,
    syntax.CoalescePartition,
    syntax.ReorganizePartition,
    syntax.PartitionBy,
    syntax.RemovePartitioning,
)
"""Those that change the partitions of one table."""


def with_partitions_of(stored: StoredTable, after: Table, specs: Iterable[syntax.Spec]) -> StoredTable:
    """Return a table after ALTER TABLE with one of PARTITION_SPECS. Raises SqlError."""
    for spec in specs:
        match spec:
            case syntax.PartitionAction(verb="TRUNCATE"):
                return _truncated(stored, after, ordinals_of(stored.table, spec.names))
            case syntax.PartitionAction():
                return _repartitioned(stored, after, ordinals_of(stored.table, spec.names), dropped=True)
            case syntax.ReorganizePartition():
                return _repartitioned(stored, after, ordinals_of(stored.table, spec.names))
            case syntax.CoalescePartition() | syntax.PartitionBy() | syntax.RemovePartitioning():
                return _repartitioned(stored, after, ordinals_of(stored.table))
            case syntax.AddPartitions():
                rule = stored.table.partitioning
                moves = rule is not None and rule.kind in ("hash", "key")
                return _repartitioned(stored, after, ordinals_of(stored.table) if moves else set())
    return replace(stored, table=after)


def ordinals_of(table: Table, names: Sequence[str] = ()) -> set[int]:
    """Return the ordinals of the named partitions; all without names."""
    if table.partitioning is None:
        return {0}
    wanted = {name.lower() for name in names}
    partitions = table.partitioning.partitions
    return {place for place, part in enumerate(partitions) if not wanted or part.name.lower() in wanted}


def _truncated(stored: StoredTable, after: Table, ordinals: set[int]) -> StoredTable:
    partitions = tuple(TableRows() if ordinal in ordinals else rows for ordinal, rows in enumerate(stored.partitions))
    return _with_unpartitioned(replace(stored, table=after, partitions=partitions))


def _repartitioned(stored: StoredTable, after: Table, moved: set[int], dropped: bool = False) -> StoredTable:
    """Return a table whose rows in some partitions are stored anew or, if `dropped`, not at all."""
    kept = dict[str, TableRows]()
    if stored.table.partitioning is not None:
        parts = zip(stored.table.partitioning.partitions, stored.partitions, strict=True)
        kept = {part.name.lower(): rows for place, (part, rows) in enumerate(parts) if place not in moved}
    names = [part.name.lower() for part in after.partitioning.partitions] if after.partitioning else [""]
    result = replace(stored, table=after, partitions=tuple(kept.get(name) or TableRows() for name in names))
    if not dropped:
        _move(stored, result, sorted(moved))
    return _with_unpartitioned(result)


def _move(stored: StoredTable, result: StoredTable, ordinals: Sequence[int]) -> None:
    """Store the rows of some partitions in the new ones of a table. Raises SqlError 1526."""
    after = result.table
    reader, locate, entries = RowReader(after), partition_of(after), entries_of(after)
    for ordinal in ordinals:
        for handle, version in stored.partitions[ordinal].scan(NEWEST):
            cells = reader.cells(version)
            place = locate(cells)
            if place is None:
                raise no_partition_error(after, cells)
            rows = result.partitions[place]
            handle = _free_handle(rows, result, handle)
            rows.write(handle, version, 0)
            for key, value in entries(cells, 1):
                if not key.unpartitioned:
                    rows.write_entry(key.index_id, value, Entry(version.ts, handle), 0)


def _free_handle(rows: TableRows, stored: StoredTable, handle: Handle) -> Handle:
    """Return the handle of a row, or a new one if another row of its partition has it, which came by EXCHANGE."""
    if stored.table.clustered or rows.version(handle) is None:
        return handle
    counters = stored.ids.counters
    number, after = counters.row_id.allocate(1)
    stored.ids.counters = counters._replace(row_id=after)
    return number


def _with_unpartitioned(stored: StoredTable) -> StoredTable:
    """Return a table with the entries of its GLOBAL indexes made anew, which tell partitions by their ordinals."""
    if not any(index.unpartitioned for index in stored.table.indexes):
        return stored
    entries, reader, read = TableRows(), RowReader(stored.table), entries_of(stored.table)
    for ordinal, rows in enumerate(stored.partitions):
        for handle, version in rows.scan(NEWEST):
            cells = reader.cells(version)
            for key, value in read(cells, 1):
                if key.unpartitioned:
                    entries.write_entry(key.index_id, value, Entry(version.ts, (ordinal, handle)), 0)
    return replace(stored, unpartitioned=entries)


# -- EXCHANGE ----------------------------------------------------------------------------------------------------------


def exchanged(
    whole: StoredTable, plain: StoredTable, spec: syntax.ExchangePartition
) -> tuple[StoredTable, StoredTable]:
    """Return a table and a plain one after the plain one has changed its rows with a partition.

    Raises SqlError 1737 for a row of another partition, unless WITHOUT VALIDATION.
    """
    (ordinal,) = ordinals_of(whole.table, (spec.partition,))
    if spec.validation and any(place != ordinal for place in _places(whole.table, plain)):
        raise sql_error(1737)
    counters = highest_counters(whole.ids.counters, plain.ids.counters)
    partitions = [*whole.partitions]
    outgoing, partitions[ordinal] = partitions[ordinal], plain.partitions[0]
    return (
        _with_unpartitioned(replace(whole, partitions=tuple(partitions), ids=Ids(counters))),
        replace(plain, partitions=(outgoing,), ids=Ids(counters)),
    )


def _places(table: Table, plain: StoredTable) -> Iterator[int | None]:
    """Yield the ordinal in which each row of a plain table would be."""
    reader = RowReader(plain.table)
    for _, version in plain.partitions[0].scan(NEWEST):
        yield partition_of(table)(reader.cells(version))
