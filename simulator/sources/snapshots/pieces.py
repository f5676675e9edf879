"""Physical tables, in which TiKV stores rows, and the division of snapshots' files of their rows into tasks.

A physical table is a table or one of its partitions, which are contiguous, in the order of its definition, with ids after
its own. Small files of many tables are a task together, large ones in pieces. A piece contains everything that reading
it needs, and is sent to another process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from simulator.sources.snapshots import parquet, sql_comments, streams
from simulator.sources.snapshots.directory import DataFile, SnapshotTable
from simulator.sources.snapshots.key_order import with_row_id
from simulator.sources.snapshots.streams import FilePart
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


Finish = Callable[[list[pa.Array], pa.Array, pa.Array | None], pa.RecordBatch]
"""Convert texts of the visible columns, table numbers and, if row ids are told, handles of rows to the columns of STATE
after `move`."""

OPENING = 1 << 16
"""Bytes that count for opening a file."""

MIN_TASK_BYTES = 4 << 20
"""Minimum bytes of a task."""


@dataclass(frozen=True)
class TableScan:
    """A table of a snapshot that is to be read."""

    table: SnapshotTable
    place: PlacedTable
    move: int = 0
    """The comparison that the rows are for."""

    finish: Finish | None = None
    """For a table whose definition changes: the function that makes the state of its rows; it is pickled."""


@dataclass(frozen=True)
class FilePiece:
    """A part of a data file, and the table of its rows."""

    scan: TableScan
    """The scan without its list of files."""

    part: FilePart
    format: str
    escape: bool
    """Whether a backslash escapes in this CSV file."""

    row_ids: bool = False
    """Whether the file has a column `_tidb_rowid`."""

    rows: pa.Table | None = None
    """Rows in memory, as in `SnapshotTable.rows`."""

    @property
    def table(self) -> Table:
        """The table with the columns of the file."""
        table = self.scan.place.table
        return with_row_id(table) if self.row_ids else table


def divide_into_tasks(scans: Iterable[TableScan], least: int = 1) -> list[list[FilePiece]]:
    """Return the pieces of all files as one list a task, of about equal bytes; at least `least` tasks if that is
    useful.

    Raise SnapshotError for a large file in which no position to cut is found.
    """
    all_scans = list(scans)
    room = _room(all_scans, least)
    task_pieces: list[list[FilePiece]] = []
    left = 0
    for size, piece in (sized for scan in all_scans for sized in _pieces(scan, room)):
        if not task_pieces or size > left + room // 8:
            task_pieces.append([])
            left = room
        task_pieces[-1].append(piece)
        left -= size
    return task_pieces


BothPieces = tuple[list[FilePiece], list[FilePiece]]
"""The pieces of a task of the snapshots before and after."""


def divide_both_into_tasks(before: Iterable[TableScan], after: Iterable[TableScan], least: int = 1) -> list[BothPieces]:
    """Return the same for two snapshots: a task has small tables of both, or pieces from the same place of a large
    table's files."""
    tables: dict[tuple[int, int], tuple[list[TableScan], list[TableScan]]] = {}
    for side, scans in enumerate((before, after)):
        for scan in scans:
            tables.setdefault((scan.move, scan.place.indexes[0]), ([], []))[side].append(scan)
    room = _room([scan for both in tables.values() for scans in both for scan in scans], least)
    tasks: list[BothPieces] = []
    left = 0
    for _, both in sorted(tables.items(), key=lambda item: item[0]):
        size = sum(_bytes(scan) for scans in both for scan in scans)
        count = max(1, round(size / room))
        if count > 1 or not tasks or size > left + room // 8:
            tasks += [([], []) for _ in range(count)]
            left = room if count == 1 else 0
        left -= size
        for side, scans in enumerate(both):
            for scan in scans:
                for middle, piece in _with_middles([*_pieces(scan, max(_bytes(scan) // count, OPENING))]):
                    tasks[int(middle * count) - count][side].append(piece)
    return [task for task in tasks if any(task)]


def _with_middles(pieces: list[tuple[int, FilePiece]]) -> Iterator[tuple[float, FilePiece]]:
    """Yield pieces with the share of the table's bytes that lies before the middle of each."""
    total, begins = sum(size for size, _ in pieces), 0
    for size, piece in pieces:
        yield (begins + size / 2) / total, piece
        begins += size


def _room(scans: Sequence[TableScan], least: int) -> int:
    """Return the bytes of a task."""
    return min(max(sum(map(_bytes, scans)) // max(least, 1), MIN_TASK_BYTES), streams.PIECE)


def _bytes(scan: TableScan) -> int:
    """Return the bytes for which a table counts."""
    held = 0 if scan.table.rows is None else scan.table.rows.nbytes
    return held + sum(file.bytes + OPENING for files in scan.table.files.values() for file in files)


def _pieces(scan: TableScan, room: int) -> Iterator[tuple[int, FilePiece]]:
    """Yield the pieces in the order of the files, with the bytes for which each counts."""
    bare = replace(scan, table=replace(scan.table, table=scan.place.table, files={}, rows=None))
    yield from _held(scan.table.rows, bare)
    root, row_ids = os.getcwd(), bool(scan.table.row_ids)
    for format, files in scan.table.files.items():
        for file in files:
            escape = scan.table.escapes(file)
            for size, piece in _parts(file.part(root), file, format, scan, escape, room):
                yield size + OPENING, FilePiece(bare, piece, format, escape, row_ids)


def _held(rows: pa.Table | None, scan: TableScan) -> Iterator[tuple[int, FilePiece]]:
    """Yield the pieces of rows in memory, each a copy, because a slice is sent with the whole array."""
    if rows is None:
        return
    for start in range(0, rows.num_rows, parquet.ROWS):
        part = rows.take(pa.array(range(start, min(start + parquet.ROWS, rows.num_rows))))
        yield part.nbytes, FilePiece(scan, FilePart(""), "", False, scan.place.row_ids, part.combine_chunks())


def _parts(
    part: FilePart, file: DataFile, format: str, scan: TableScan, escape: bool, room: int
) -> Iterable[tuple[int, FilePart]]:
    if file.bytes <= room + room // 2:
        return [(file.bytes, part)]
    if format == "parquet":
        return parquet.cut(part, room)
    if format == "sql" and _marked(scan.place.table):
        return [(file.bytes, part)]
    quotes, stop = (sql_comments.QUOTES, ";") if format == "sql" else (scan.table.csv.quote.encode(), "\n")
    try:
        parts = streams.cut(part, quotes, ord(stop), format == "sql" or escape, room)
    except OSError as error:
        raise streams.unreadable(part, error) from error
    return [((part.end if part.end >= 0 else file.size) - part.start, part) for part in parts]


def _marked(table: Table) -> bool:
    """Return whether a name contains characters of SQL, which the search for statements would misread."""
    return any(set("'\";\\") & set(name) for name in (table.name, *(column.name for column in table.columns)))
