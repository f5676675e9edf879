"""Row changes that come later than where they were found: those that wait for others, and UPDATEs, of which nobody knew
whether they are split.

What waits is sorted, in runs; memory has as much of it as HELD_BYTES, and files the rest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import ORDER
from simulator.files import disk_errors

HELD_BYTES = 64 << 20
"""Bytes of rows that wait in memory."""

READ_ROWS = 2048
"""Rows that are read of a file at a time."""

Key = tuple[int, int, int, bytes]
"""Commit-ts, rank, table and handle: the ORDER of rows, but of the halves of an UPDATE."""

END: Key = (1 << 63, 0, 0, b"")
"""Behind the key of every row."""


def in_order(found: Iterable[tuple[Key, pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Yield rows (ROW_CHANGES with op and rank) in ORDER. With each batch comes a key that the rows of later ones exceed."""
    with ExitStack() as files:
        held = _Held(files)
        for reached, rows in found:
            held.add(_sorted(rows))
            yield from held.until(reached)
            held.spill()
        yield from held.until(END)


def key_of(rows: pa.RecordBatch, place: int) -> Key:
    """Return the key of a row."""
    commit_ts, rank, table, handle = (rows.column(name)[place].as_py() for name in ORDER[:4])
    return commit_ts, rank, table, handle


def _sorted(rows: pa.RecordBatch) -> pa.RecordBatch:
    if _is_sorted(rows):
        return rows
    return rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in ORDER]))


def _is_sorted(rows: pa.RecordBatch) -> bool:
    """Return whether rows are in ORDER, as they are where none waits and none is split."""
    alike = np.ones(max(rows.num_rows - 1, 0), np.bool_)
    for name in ORDER:
        values = rows.column(name)
        first, then = values.slice(0, len(alike)), values.slice(1)
        if not np.asarray(pc.fill_null(pc.less_equal(first, then), False))[alike].all():
            return False
        alike &= np.asarray(pc.equal(first, then))
    return True


class _Held:
    """Rows that wait."""

    def __init__(self, files: ExitStack) -> None:
        self._stack = files
        self._directory: Path | None = None
        self._runs: list[pa.RecordBatch] = []
        self._files: list[_File] = []

    def add(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows:
            self._runs.append(rows)

    def until(self, key: Key) -> Iterator[pa.RecordBatch]:
        """Remove the rows up to a key; yield them in order."""
        while self._files and (file := min(self._files, key=lambda file: file.next)).next <= key:
            yield from self._taken(file.next, bisect_left)
            self.add(file.read())
            self._files = [each for each in self._files if each.next < END]
        yield from self._taken(key, bisect_right)

    def _taken(self, key: Key, bisect: Callable[..., int]) -> Iterator[pa.RecordBatch]:
        """Remove the rows in memory up to a key; yield them."""
        counts = [bisect(range(run.num_rows), key, key=lambda place, run=run: key_of(run, place)) for run in self._runs]
        ready = [run.slice(0, count) for run, count in zip(self._runs, counts) if count]
        if ready:
            self._runs = [run.slice(count) for run, count in zip(self._runs, counts) if count < run.num_rows]
            yield ready[0] if len(ready) == 1 else _sorted(pa.concat_batches(ready))

    def spill(self) -> None:
        """Write what is in memory to a file if it is too much; raises DeliveryError for a full disk."""
        if sum(run.nbytes for run in self._runs) > HELD_BYTES:
            if self._directory is None:
                self._directory = Path(self._stack.enter_context(TemporaryDirectory(prefix="ticdc-sim-")))
            path = self._directory / f"{len(list(self._directory.iterdir()))}.arrow"
            with disk_errors(path):
                self._files.append(_File(path, _sorted(pa.concat_batches(self._runs)), self._stack))
            self._runs = []


class _File:
    """Rows in a file, in order."""

    def __init__(self, path: Path, rows: pa.RecordBatch, files: ExitStack) -> None:
        starts = range(0, rows.num_rows, READ_ROWS)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            for start in starts:
                writer.write_batch(rows.slice(start, READ_ROWS))
        self._keys = iter([*(key_of(rows, start) for start in starts[1:]), END])
        self._reader = pa.ipc.open_file(files.enter_context(pa.memory_map(str(path))))
        self._number = 0
        self.next = key_of(rows, 0)
        """The key of the next row; END behind the last one."""

    def read(self) -> pa.RecordBatch:
        """Return the next rows."""
        rows = self._reader.get_batch(self._number)
        self._number, self.next = self._number + 1, next(self._keys)
        return rows
