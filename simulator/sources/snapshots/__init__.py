"""Snapshots of tables: a directory of files, or its URI, with the state of all its tables.

Types come from the CREATE TABLE text, not from the data. A value that TiDB would reject is an error.
"""

from simulator.sources.snapshots.csv_text import CsvDialect, TextFormat, text_format
from simulator.sources.snapshots.directory import DataFile, Snapshot, SnapshotTable, open
from simulator.sources.snapshots.key_order import KeyRanges, KeyReport, unproven_tables
from simulator.sources.snapshots.pieces import (
    FIRST_ID,
    FilePiece,
    PhysicalTable,
    PlacedTable,
    TableScan,
    divide_both_into_tasks,
    divide_into_tasks,
    following_id,
    locate_rows,
    new_table,
    physical_tables,
)
from simulator.sources.snapshots.states import state_batches
