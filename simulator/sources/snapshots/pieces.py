"""What of snapshots' files is read at one go: small files of many tables together, large ones in pieces.

One law: a piece says all that reading it needs, and no more: it is sent to another process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from simulator.sources.snapshots import parquet, streams
from simulator.sources.snapshots.csv_text import CsvDialect
from simulator.sources.snapshots.directory import DataFile, SnapshotTable
from simulator.sources.snapshots.physical import PlacedTable
from simulator.sources.snapshots.streams import Part
from simulator.tidb.model.table import Table

Finish = Callable[[list[pa.Array], pa.Array], pa.RecordBatch]
"""Texts of the visible columns and table numbers of rows → the columns of STATE behind `move`."""

OPENING = 1 << 16
"""As how many bytes opening a file counts."""

LEAST = 4 << 20
"""Bytes for which another task is worth it."""


@dataclass(frozen=True)
class TableScan:
    """A table of a snapshot that is to be read."""

    table: SnapshotTable
    place: PlacedTable
    csv: CsvDialect = CsvDialect()
    move: int = 0
    """Which comparison the rows are for."""

    finish: Finish | None = None
    """For a table whose definition statements change: what makes the state of its rows, to be pickled."""


@dataclass(frozen=True)
class Piece:
    """Part of a data file, and what its rows are."""

    scan: TableScan
    """Without the list of its files."""

    part: Part
    format: str
    escape: bool
    """Whether a backslash escapes in this CSV file."""

    rows: pa.Table | None = None
    """Rows that lie in no file, as `SnapshotTable.rows` has them."""


def tasks(scans: Iterable[TableScan], least: int = 1) -> list[list[Piece]]:
    """The pieces of all files as one list a task, of about equal bytes; `least` tasks or more where that is worth it.

    Raises SnapshotError for a large file where it cannot be found where to cut it.
    """
    known = list(scans)
    total = sum(file.size + OPENING for scan in known for files in scan.table.files.values() for file in files)
    room = min(max(total // max(least, 1), LEAST), streams.PIECE)
    made: list[list[Piece]] = []
    left = 0
    for size, piece in (sized for scan in known for sized in _pieces(scan, room)):
        if not made or size > left + room // 8:
            made.append([])
            left = room
        made[-1].append(piece)
        left -= size
    return made


def _pieces(scan: TableScan, room: int) -> Iterator[tuple[int, Piece]]:
    """Pieces in the order of the files, and as how many bytes each counts."""
    bare = replace(scan, table=replace(scan.table, table=scan.place.table, files={}, rows=None))
    yield from _held(scan.table.rows, bare)
    root = os.getcwd()
    for format, files in scan.table.files.items():
        for file in files:
            escape = file.indexed if scan.csv.backslash_escapes is None else scan.csv.backslash_escapes
            part = Part(file.path, 0, -1, root, file.size, file.stamp)
            for size, piece in _parts(part, file, format, scan, escape, room):
                yield size + OPENING, Piece(bare, piece, format, escape)


def _held(rows: pa.Table | None, scan: TableScan) -> Iterator[tuple[int, Piece]]:
    """The pieces of rows that lie in memory, each with a copy of its own, as a slice is sent with all that it is of."""
    if rows is None:
        return
    for start in range(0, rows.num_rows, parquet.ROWS):
        part = rows.take(pa.array(range(start, min(start + parquet.ROWS, rows.num_rows))))
        yield part.nbytes, Piece(scan, Part(""), "", False, part.combine_chunks())


def _parts(
    part: Part, file: DataFile, format: str, scan: TableScan, escape: bool, room: int
) -> Iterable[tuple[int, Part]]:
    if file.size <= room + room // 2:
        return [(file.size, part)]
    if format == "parquet":
        return parquet.cut(part, room)
    if format == "sql" and _marked(scan.place.table):
        return [(file.size, part)]
    quote, stop = ("'", ";") if format == "sql" else (scan.csv.quote, "\n")
    try:
        parts = streams.cut(part, ord(quote), ord(stop), format == "sql" or escape, room)
    except OSError as error:
        raise streams.unreadable(part, error) from error
    return [((part.end if part.end >= 0 else file.size) - part.start, part) for part in parts]


def _marked(table: Table) -> bool:
    """Whether a name has marks of SQL, which cutting would take for those of a statement."""
    return any(set("';\\") & set(name) for name in (table.name, *(column.name for column in table.columns)))
