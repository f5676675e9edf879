"""The claims of all rows, of which only those of values that are handed on need memory: the others are on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import by_table, ints
from simulator.sinks.files.settings import disk_errors
from simulator.sources.claims import CLAIMS, NO_CLAIMS
from simulator.sources.handed_on import MOST, handed_on, too_many

HELD = 1 << 21
"""Claims in memory, with about 80 MB."""

BUCKETS = 256
"""Files among which values are divided."""


class ClaimStore:
    """Takes claims in any order."""

    def __init__(self) -> None:
        self._held: list[pa.RecordBatch] = []
        self._rows = 0
        self._files, self._open = ExitStack(), ExitStack()
        self._directory: Path | None = None
        self._writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
        self._written = np.zeros(BUCKETS, np.int64)

    def add(self, claims: pa.RecordBatch) -> None:
        """Add claims; raises DeliveryError for a full disk."""
        self._held.append(claims)
        self._rows += claims.num_rows
        if self._rows > HELD:
            self._spill()

    def handed_on(self) -> pa.RecordBatch:
        """Return the claims of values that are handed on; raises UserError if they are too many."""
        if self._directory is None:
            every = pa.concat_batches([NO_CLAIMS, *self._held])
            return handed_on(lambda: [every])
        self._spill()
        self._open.close()
        found, count = [NO_CLAIMS], 0
        for bucket in sorted(self._writers):
            with disk_errors(self._directory):
                found.append(handed_on(lambda bucket=bucket: self._parts(bucket)))  # type: ignore[misc]
            count += found[-1].num_rows
            if count > MOST:
                raise too_many()
        return pa.concat_batches(found)

    def close(self) -> None:
        """Remove the files."""
        self._held.clear()
        self._open.close()
        self._files.close()

    def _spill(self) -> None:
        if self._directory is None:
            self._directory = Path(self._files.enter_context(TemporaryDirectory(prefix="ticdc-sim-")))
        claims = pa.concat_batches([NO_CLAIMS, *self._held])
        self._held, self._rows = [], 0
        with disk_errors(self._directory):
            for bucket, at in by_table(ints(claims, "value") % BUCKETS):
                self._writer(bucket).write_batch(claims.take(pa.array(at)))
                self._written[bucket] += len(at)

    def _writer(self, bucket: int) -> pa.ipc.RecordBatchStreamWriter:
        if bucket not in self._writers:
            file = self._open.enter_context(pa.OSFile(str(self._file(bucket)), "wb"))
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writers[bucket] = self._open.enter_context(pa.ipc.new_stream(file, CLAIMS, options=options))
        return self._writers[bucket]

    def _parts(self, bucket: int) -> Iterator[pa.RecordBatch]:
        """Yield the claims of a bucket, those of a row together."""
        count = -(-int(self._written[bucket]) // HELD)
        for number in range(count):
            with pa.OSFile(str(self._file(bucket))) as source, pa.ipc.open_stream(source) as file:
                chosen = (each.filter(pa.array(ints(each, "row_hash") % count == number)) for each in file)
                yield pa.concat_batches([NO_CLAIMS, *chosen])

    def _file(self, bucket: int) -> Path:
        assert self._directory is not None
        return self._directory / f"{bucket}.arrows"
