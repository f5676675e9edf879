"""Where a run to Kafka stands, and from where it goes on as a changefeed does that is restarted from its checkpoint.

One law: no watermark is sent above what the checkpoint says, and all that it says is acknowledged.
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
class Checkpoint:
    """Where a run stands."""

    run: Mapping[str, str]
    """What it must be to go on there (`identity`)."""

    start_ts: int
    commit_ts: int = 0
    """Everything up to there is acknowledged; 0 before there is anything."""

    @property
    def watermark(self) -> int:
        return self.commit_ts or self.start_ts


class CheckpointWriter:
    """Writes down how far a run is."""

    def __init__(self, store: CheckpointFile, checkpoint: Checkpoint) -> None:
        self.since = checkpoint.commit_ts
        """From where the run goes on; 0 where it begins."""

        self._store, self._checkpoint = store, checkpoint

    def reached(self, commit_ts: int) -> None:
        """Everything up to there is acknowledged; it is on the disk then. Raises DeliveryError."""
        if commit_ts > self._checkpoint.commit_ts:
            checkpoint = replace(self._checkpoint, commit_ts=commit_ts)
            self._store.write(checkpoint)
            self._checkpoint = checkpoint

    @property
    def told(self) -> str:
        """For people, of a run that ends before its end."""
        return resume_hint(self._checkpoint.watermark)

    def end(self) -> None:
        """The run came to its end: there is nothing to go on with."""
        self._store.end()

    def close(self) -> None:
        self._store.close()


def begun(directory: Path, run: Mapping[str, str], plan: Plan) -> CheckpointWriter:
    """Of a new run; raises UserError where another one may go on."""
    first = Checkpoint(run, tso.compose(plan.timeline.start_ms))
    return CheckpointWriter(checkpoint_file.begin(directory, first, _read), first)


def resumed(directory: Path, run: Mapping[str, str]) -> CheckpointWriter:
    """Of a run that goes on; raises UserError where there is none, or it was another one."""
    return CheckpointWriter(*checkpoint_file.resume(directory, run, _read))


def _read(found: Mapping[str, Any]) -> Checkpoint:
    """Raises ValueError for numbers that no run has written."""
    start_ts, commit_ts = int(found["start_ts"]), int(found["commit_ts"])
    if not 0 < start_ts <= tso.FOREVER or (commit_ts and not start_ts <= commit_ts <= tso.FOREVER):
        raise ValueError("nobody wrote that")
    return Checkpoint({str(name): str(value) for name, value in found["run"].items()}, start_ts, commit_ts)


def identity(
    plan: Plan, seed: int, release: Release, changefeed: Changefeed, destinations: Destinations
) -> dict[str, str]:
    """All that decides what a run sends, by the words in which a difference is told; reads the snapshots' files.

    Raises OSError where they cannot be read."""
    line = plan.timeline
    partitions = dict(zip(destinations.topics, destinations.counts, strict=True))
    return {
        "what is played": short_hash(
            repr((plan.tables, plan.statements, plan.topics, plan.active)), _written(plan.rows)
        ),
        "a snapshot": short_hash(*_content(plan)),
        "--seed": str(seed),
        "its begin": str(tso.compose(line.start_ms)),
        "its end": str(tso.compose(line.end_ms)),
        "--resolved-interval": f"{line.resolved_interval_ms}ms",
        **changefeed_identity(release, changefeed, partitions),
    }


def _written(rows: pa.RecordBatch | None) -> bytes:
    """What scripted SQL committed, as bytes."""
    if rows is None:
        return b""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, rows.schema) as stream:
        stream.write_batch(rows)
    return out.getvalue()


def _content(plan: Plan) -> Iterator[str | bytes]:
    """Of all snapshots that are compared: definitions, and files with their names."""
    for snapshot in (snapshot for pair in plan.snapshot_pairs for snapshot in (pair.before, pair.after)):
        for table in snapshot.tables:
            yield repr(table.table)
            for batch in table.rows.to_batches() if table.rows is not None else ():
                yield _written(batch)
        yield from _files(snapshot)


def _files(snapshot: Snapshot) -> Iterable[str | bytes]:
    for file in (file for table in snapshot.tables for some in table.files.values() for file in some):
        yield f"{Path(file.path).name} {file.size}"
        with files.open_file(file.path) as content:
            while piece := content.read(PIECE):
                yield piece
