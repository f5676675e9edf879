"""Snapshots of tables: a directory of files, or the URI of one → the state of all its tables.

One law: types come from the CREATE TABLE text, never from the data; what TiDB would reject is an error.
"""

from simulator.sources.snapshots.csv_text import CsvDialect
from simulator.sources.snapshots.directory import DataFile, Snapshot, SnapshotTable, open
from simulator.sources.snapshots.key_order import KeyRanges, Report, unproven
from simulator.sources.snapshots.physical import (
    FIRST_ID,
    PhysicalTable,
    PlacedTable,
    following_id,
    located,
    new_table,
    physical_tables,
)
from simulator.sources.snapshots.pieces import Piece, TableScan, tasks
from simulator.sources.snapshots.states import state_batches

__all__ = [
    "CsvDialect",
    "DataFile",
    "FIRST_ID",
    "KeyRanges",
    "PhysicalTable",
    "Piece",
    "PlacedTable",
    "Report",
    "Snapshot",
    "SnapshotTable",
    "TableScan",
    "following_id",
    "located",
    "new_table",
    "open",
    "physical_tables",
    "state_batches",
    "tasks",
    "unproven",
]
