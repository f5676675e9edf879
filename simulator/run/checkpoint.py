"""The checkpoint of a run to Kafka, which resumes as a changefeed restarts from its checkpoint.

Everything up to the checkpoint is acknowledged, and no watermark above it has been sent.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from simulator import files, tso
from simulator.releases import Release
from simulator.run import checkpoint_file
from simulator.run.checkpoint_file import CheckpointFile, changefeed_identity, resume_hint, short_hash
from simulator.run.plan import Plan
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.dispatch import Destinations

PIECE = 1 << 22


@dataclass(frozen=True)
class RunCheckpoint:
    """The progress of a run."""

    run: Mapping[str, str]
    """Its `identity`."""

    start_ts: int
    commit_ts: int = 0
    """Everything up to this TSO is acknowledged; 0 at the start."""

    @property
    def watermark(self) -> int:
        return self.commit_ts or self.start_ts


class CheckpointWriter:
    """Writes the progress of a run to its checkpoint file."""

    def __init__(self, file: CheckpointFile, checkpoint: RunCheckpoint) -> None:
        self.since = checkpoint.commit_ts
        """The TSO from which the run resumes; 0 for a new run."""

        self.file = file
        self._checkpoint = checkpoint

    def advance(self, commit_ts: int) -> None:
        """Store that everything up to a TSO is acknowledged; raises DeliveryError."""
        if commit_ts > self._checkpoint.commit_ts:
            checkpoint = replace(self._checkpoint, commit_ts=commit_ts)
            self.file.write(checkpoint)
            self._checkpoint = checkpoint

    @property
    def resume_hint(self) -> str:
        """The message of a run that ends early."""
        return resume_hint(self._checkpoint.watermark)


def begin(directory: Path, run: Mapping[str, str], plan: Plan) -> CheckpointWriter:
    """Start the checkpoint of a new run; raises UserError if there is one of an unfinished run."""
    first = RunCheckpoint(run, tso.compose(plan.timeline.start_ms))
    return CheckpointWriter(checkpoint_file.begin(directory, first, _from_json), first)


def resume(directory: Path, run: Mapping[str, str]) -> CheckpointWriter:
    """Resume from a checkpoint; raises UserError if there is none, or it is of another run."""
    return CheckpointWriter(*checkpoint_file.resume(directory, run, _from_json))


def _from_json(document: Mapping[str, Any]) -> RunCheckpoint:
    """Read a checkpoint; raises ValueError for impossible numbers."""
    start_ts, commit_ts = int(document["start_ts"]), int(document["commit_ts"])
    if not 0 < start_ts <= tso.FOREVER or (commit_ts and not start_ts <= commit_ts <= tso.FOREVER):
        raise ValueError("nobody wrote that")
    return RunCheckpoint({str(name): str(value) for name, value in document["run"].items()}, start_ts, commit_ts)


def identity(
    plan: Plan, seed: int, release: Release, changefeed: Changefeed, destinations: Destinations
) -> dict[str, str]:
    """Return everything that decides what a run sends, by the names that error messages use.

    Reads the files of the snapshots; raises OSError if it cannot.
    """
    line = plan.timeline
    partitions = dict(zip(destinations.topics, destinations.counts, strict=True))
    return {
        "what is played": short_hash(
            repr((plan.tables, plan.statements, plan.topics, plan.active)), _ipc_bytes(plan.rows)
        ),
        "a snapshot": short_hash(*_snapshot_content(plan)),
        "--seed": str(seed),
        "its begin": str(tso.compose(line.start_ms)),
        "its end": str(tso.compose(line.end_ms)),
        "--resolved-interval": f"{line.resolved_interval_ms}ms",
        **changefeed_identity(release, changefeed, partitions),
    }


def _ipc_bytes(rows: pa.RecordBatch | None) -> bytes:
    """Return rows as an Arrow IPC stream."""
    if rows is None:
        return b""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, rows.schema) as stream:
        stream.write_batch(rows)
    return out.getvalue()


def _snapshot_content(plan: Plan) -> Iterator[str | bytes]:
    """Yield the table definitions, rows and files of all snapshots."""
    for snapshot in (snapshot for pair in plan.snapshot_pairs for snapshot in (pair.before, pair.after)):
        for table in snapshot.tables:
            yield repr(table.table)
            for batch in table.rows.to_batches() if table.rows is not None else ():
                yield _ipc_bytes(batch)
        yield from _file_content(snapshot)


def _file_content(snapshot: Snapshot) -> Iterable[str | bytes]:
    for file in (file for table in snapshot.tables for some in table.files.values() for file in some):
        yield f"{Path(file.path).name} {file.size}"
        with files.open_file(file.path) as content:
            while piece := content.read(PIECE):
                yield piece
