"""`_tidb_rowid` in the files of a table without a clustered key: the handle under which TiKV stores a row, as `SELECT
_tidb_rowid, t.*` gives it.

A file has it as one more column.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.sources.snapshots import parquet, records, streams
from simulator.sources.snapshots.csv_text import CsvDialect
from simulator.sources.snapshots.streams import FilePart
from simulator.ticdc.key_bytes import ROW_ID_TYPE
from simulator.tidb.model.table import ROW_ID, Column, Table


def with_row_id(table: Table) -> Table:
    """Return the table with the column, behind its own."""
    return replace(table, columns=(*table.columns, Column(ROW_ID, ROW_ID_TYPE, not_null=True)))


def are_told(part: FilePart, format: str, table: Table, csv: CsvDialect, escape: bool) -> bool | None:
    """Return whether a file has the column; None if it has neither rows nor names. Raise SnapshotError."""
    if table.clustered:
        return False
    with streams.steady(part):
        names = _names(part, format, table, csv, escape)
    return any(name.lower() == ROW_ID for name in names) if names else None


def _names(part: FilePart, format: str, table: Table, csv: CsvDialect, escape: bool) -> tuple[str, ...]:
    if format == "parquet":
        return tuple(parquet.names(part))
    layout = records.layout(with_row_id(table))
    if format == "sql":
        return records.sql_names(part, layout)
    return records.csv_names(part, layout, csv, escape)
