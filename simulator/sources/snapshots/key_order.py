"""That no key comes twice in a snapshot, told by the order in which its rows were read.

One law: a table is proven only where no two of its rows can have one key; the others must be looked at, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

RUNS = 64
"""Of a table in a report at most: one with more is in no order."""

KEYS = 1 << 16
"""Keys of a table in a report at most."""

Key = tuple[int, int]
"""The move and number of a table."""


@dataclass
class _Seen:
    """What is known of a table's rows in the order they came."""

    runs: list[tuple[bytes, bytes]] = field(default_factory=list)
    """First and last handle of each stretch of rising ones; none once they are more than RUNS."""

    ordered: bool = True
    keys: list[npt.NDArray[np.int64]] | None = field(default_factory=list)
    rows: int = 0


@dataclass(frozen=True)
class Report:
    """What a task says of the rows of a table that it has read."""

    move: int
    table: int
    rows: int
    runs: tuple[tuple[bytes, bytes], ...] | None
    """First and last handle of each stretch in which handles rise strictly; None for rows in no order."""

    keys: bytes | None
    """The 64-bit hash of every handle, eight bytes each; None where the rows are one run, too many, or not hashed."""


class KeyRanges:
    """Folds the state batches of a task of one snapshot; hashes are the column `row_hash`, where batches have one."""

    def __init__(self) -> None:
        self._seen: dict[Key, _Seen] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Notes the rows of the next batch."""
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

    def reports(self) -> list[Report]:
        """What was seen, table by table."""
        return [
            Report(
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
    """Adds rows of one table."""
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


def unproven(reports: Iterable[Report]) -> set[Key]:
    """The tables whose keys must be looked at, from the reports of all tasks of one snapshot.

    A table is proven, and so not among them, exactly if every report of it has runs and, sorted by first handle, each
    run ends strictly below the beginning of the next; or if every report of it has hashes and they all differ. Equal
    hashes need not be equal keys: such a table is looked at, too. Handles compare as bytes.
    """
    tables: dict[Key, list[Report]] = {}
    for report in reports:
        tables.setdefault((report.move, report.table), []).append(report)
    return {key for key, seen in tables.items() if not (_disjoint(seen) or _distinct(seen))}


def _disjoint(reports: list[Report]) -> bool:
    runs: list[tuple[bytes, bytes]] = []
    for report in reports:
        if report.runs is None:
            return False
        runs += report.runs
    runs.sort()
    return all(before[1] < after[0] for before, after in zip(runs, runs[1:]))


def _distinct(reports: list[Report]) -> bool:
    if any(report.keys is None for report in reports):
        return False
    keys = np.concatenate([np.frombuffer(report.keys or b"", np.int64) for report in reports])
    return len(np.unique(keys)) == len(keys)
