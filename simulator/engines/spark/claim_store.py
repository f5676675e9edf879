"""The claims of all rows, of which only those of values that are handed on need memory: the others are on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from simulator.columns.change_frame import by_table, ints
from simulator.sinks.files.settings import disk_errors
from simulator.sources.precedence import CLAIMS, NO_CLAIMS, ROLE_BITS, handed_on, require_few

HELD = 1 << 21
"""Claims in memory, with about 60 MB."""

BUCKETS = 256
"""Files among which values are divided."""


class ClaimStore:
    """Takes claims in any order."""

    def __init__(self) -> None:
        self._held = [NO_CLAIMS]
        self._files, self._open = ExitStack(), ExitStack()
        self._directory: Path | None = None
        self._writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}

    def add(self, claims: pa.RecordBatch) -> None:
        """Add claims; raises DeliveryError for a full disk."""
        self._held.append(claims)
        if sum(batch.num_rows for batch in self._held) > HELD:
            self._spill()

    def handed_on(self) -> pa.RecordBatch:
        """Return the claims of values that are handed on; raises UserError if they are too many."""
        if self._directory is None:
            return handed_on(lambda: self._held)
        self._spill()
        self._open.close()
        found = [NO_CLAIMS]
        with disk_errors(self._directory):
            for bucket in sorted(self._writers):
                found.append(handed_on(lambda bucket=bucket: self._parts(bucket)))  # type: ignore[misc]
                require_few(sum(batch.num_rows for batch in found))
        return pa.concat_batches(found)

    def close(self) -> None:
        """Remove the files."""
        self._held.clear()
        self._open.close()
        self._files.close()

    def _spill(self) -> None:
        if self._directory is None:
            self._directory = Path(self._files.enter_context(TemporaryDirectory(prefix="ticdc-sim-")))
        claims, self._held = pa.concat_batches(self._held), [NO_CLAIMS]
        with disk_errors(self._directory):
            for bucket, at in by_table((ints(claims, "value") >> ROLE_BITS) % BUCKETS):
                self._writer(bucket).write_batch(claims.take(pa.array(at)))

    def _writer(self, bucket: int) -> pa.ipc.RecordBatchStreamWriter:
        if bucket not in self._writers:
            file = self._open.enter_context(pa.OSFile(self._file(bucket), "wb"))
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writers[bucket] = self._open.enter_context(pa.ipc.new_stream(file, CLAIMS, options=options))
        return self._writers[bucket]

    def _parts(self, bucket: int) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(self._file(bucket)) as source, pa.ipc.open_stream(source) as file:
            yield from file

    def _file(self, bucket: int) -> str:
        return f"{self._directory}/{bucket}.arrows"
