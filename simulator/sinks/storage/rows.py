"""The rows of a table that wait for a flush, and the files that they are cut into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from simulator.columns.cells import stored_buffers
from simulator.columns.change_frame import Ints


@dataclass(frozen=True)
class RowsFile:
    """The rows of one file."""

    parts: Sequence[memoryview]
    last_commit_ts: int
    fault: int = 0
    """What happens to it (`simulator.sinks.records`); 0 for nothing."""

    @property
    def size(self) -> int:
        return sum(len(part) for part in self.parts)

    def cut_short(self) -> RowsFile:
        """Return the file without the second half of its last line."""
        content = b"".join(self.parts)
        last_line = content.rfind(b"\n", 0, len(content) - 1) + 1
        return replace(self, parts=[memoryview(content)[: (last_line + len(content)) // 2]])


@dataclass
class WaitingRows:
    """Encoded rows in order, as long as they are not in a file."""

    limit: int
    """The bytes from which on a file is complete, at the end of a transaction."""

    parts: list[memoryview] = field(default_factory=list)
    size: int = 0
    last_commit_ts: int = 0
    fault: int = 0
    """What happens to the next file."""

    def add(self, values: pa.Array, commit_ts: Ints) -> Iterator[RowsFile]:
        """Append rows, and yield the files that are complete."""
        data, offsets = stored_buffers(values)
        start = 0
        for end in self._transaction_ends(offsets, commit_ts):
            if self.size + int(offsets[end] - offsets[start]) >= self.limit:
                self._append(data[offsets[start] : offsets[end]], int(commit_ts[end - 1]) if end else 0)
                yield self.take()
                start = end
        self._append(data[offsets[start] :], int(commit_ts[-1]))

    def take(self) -> RowsFile:
        """Return all rows as a file, and forget them."""
        taken = RowsFile(self.parts, self.last_commit_ts, self.fault)
        self.parts, self.size, self.fault = [], 0, 0
        return taken

    def _transaction_ends(self, offsets: np.ndarray, commit_ts: Ints) -> list[int]:
        """Return after how many of the rows a transaction ends and a file may be complete."""
        if self.size + int(offsets[-1]) < self.limit:
            return []
        ends = np.flatnonzero(np.diff(commit_ts)) + 1
        begins_new = self.size > 0 and self.last_commit_ts != commit_ts[0]
        return [*([0] if begins_new else []), *ends.tolist()]

    def _append(self, data: np.ndarray, commit_ts: int) -> None:
        if len(data):
            self.parts.append(data.data)
            self.size += len(data)
        self.last_commit_ts = commit_ts or self.last_commit_ts
