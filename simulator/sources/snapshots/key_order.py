"""Proof that no key occurs twice in a snapshot, from the order in which its rows were read.

A table is proven only if no two of its rows can have the same key; the other tables must be checked row by row. The
key of a table without a clustered key is `_tidb_rowid`, if its files have it as one more column, as `SELECT
_tidb_rowid, t.*` gives it: the handle under which TiKV stores a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.sources.snapshots import parquet, records, streams
from simulator.sources.snapshots.csv_text import CsvDialect
from simulator.sources.snapshots.streams import FilePart
from simulator.tidb.model.table import ROW_ID, Column, Table
from simulator.tidb.model.types import BIGINT

RUNS = 64
"""Maximum runs of a table in a report; a table with more counts as unordered."""

KEYS = 1 << 16
"""Maximum keys of a table in a report."""

Key = tuple[int, int]
"""Move and number of a table."""


@dataclass
class _Seen:
    """What is known of a table's rows in their order."""

    runs: list[tuple[bytes, bytes]] = field(default_factory=list)
    """First and last handle of each run of rising ones; empty if there are more than RUNS."""

    ordered: bool = True
    keys: list[npt.NDArray[np.int64]] | None = field(default_factory=list)
    rows: int = 0


@dataclass(frozen=True)
class KeyReport:
    """A task's report on the rows of a table that it has read."""

    move: int
    table: int
    rows: int
    runs: tuple[tuple[bytes, bytes], ...] | None
    """First and last handle of each run of strictly rising handles; None for unordered rows."""

    keys: bytes | None
    """The 64-bit hash of every handle, eight bytes each; None if the rows are one run, too many, or not hashed."""


class KeyRanges:
    """Collects the key order of the state batches of a task; hashes are the column `row_hash`, if there is one."""

    def __init__(self) -> None:
        self._seen: dict[Key, _Seen] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of the next batch."""
        if not len(batch):
            return
        names = batch.schema.names
        moves, numbers = (batch.column(name).to_numpy() for name in ("move", "table"))
        handles = batch.column("handle")
        keys = batch.column("row_hash").to_numpy() if "row_hash" in names else None
        together = np.flatnonzero((moves[1:] != moves[:-1]) | (numbers[1:] != numbers[:-1])) + 1
        if len(together) > RUNS:
            order = np.lexsort((numbers, moves))
            moves, numbers, handles = moves[order], numbers[order], handles.take(pa.array(order))
            keys = None if keys is None else keys[order]
            together = np.flatnonzero((moves[1:] != moves[:-1]) | (numbers[1:] != numbers[:-1])) + 1
        rises = pc.less(handles[:-1], handles[1:]).to_numpy(zero_copy_only=False)
        edges = [0, *together.tolist(), len(moves)]
        for start, end in zip(edges, edges[1:]):
            seen = self._seen.setdefault((int(moves[start]), int(numbers[start])), _Seen())
            _note(seen, handles, rises, start, end, None if keys is None else keys[start:end])

    def reports(self) -> list[KeyReport]:
        """Return a report for each table."""
        return [
            KeyReport(
                move,
                table,
                seen.rows,
                tuple(seen.runs) if seen.ordered else None,
                None if len(seen.runs) == 1 or seen.keys is None else b"".join(keys.tobytes() for keys in seen.keys),
            )
            for (move, table), seen in sorted(self._seen.items())
        ]


def _note(
    seen: _Seen,
    handles: pa.Array,
    rises: npt.NDArray[np.bool_],
    start: int,
    end: int,
    keys: npt.NDArray[np.int64] | None,
) -> None:
    """Add rows of one table."""
    seen.rows += end - start
    if seen.keys is not None:
        seen.keys = [*seen.keys, keys] if keys is not None and seen.rows <= KEYS else None
    if not seen.ordered:
        return
    falls = np.flatnonzero(~rises[start : end - 1]) + start + 1
    if len(falls) + len(seen.runs) > RUNS:
        seen.ordered, seen.runs = False, []
        return
    edges = [start, *falls.tolist(), end]
    runs = [(handles[first].as_py(), handles[after - 1].as_py()) for first, after in zip(edges, edges[1:])]
    if seen.runs and seen.runs[-1][1] < runs[0][0]:
        runs[0] = (seen.runs.pop()[0], runs[0][1])
    seen.runs += runs
    if len(seen.runs) > RUNS:
        seen.ordered, seen.runs = False, []


def unproven_tables(reports: Iterable[KeyReport]) -> set[Key]:
    """Return the tables whose keys must be checked, from the reports of all tasks of one snapshot.

    A table is proven, and so not among them, exactly if every report has runs and, sorted by first handle, each run
    ends strictly before the next begins; or if every report has hashes and they all differ. Equal hashes need not be
    equal keys: such a table is checked, too. Handles compare as bytes.
    """
    tables: dict[Key, list[KeyReport]] = {}
    for report in reports:
        tables.setdefault((report.move, report.table), []).append(report)
    return {key for key, seen in tables.items() if not (_disjoint(seen) or _distinct(seen))}


def _disjoint(reports: list[KeyReport]) -> bool:
    runs: list[tuple[bytes, bytes]] = []
    for report in reports:
        if report.runs is None:
            return False
        runs += report.runs
    runs.sort()
    return all(before[1] < after[0] for before, after in zip(runs, runs[1:]))


def _distinct(reports: list[KeyReport]) -> bool:
    if any(report.keys is None for report in reports):
        return False
    keys = np.concatenate([np.frombuffer(report.keys or b"", np.int64) for report in reports])
    return len(np.unique(keys)) == len(keys)


def with_row_id(table: Table) -> Table:
    """Return the table with the column, behind its own."""
    return replace(table, columns=(*table.columns, Column(ROW_ID, BIGINT, not_null=True)))


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
