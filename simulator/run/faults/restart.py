"""The fault `restart`: TiCDC ends and starts again from its checkpoint.

One law: what comes again lies above every watermark that was sent, as it was, in its order.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from simulator.columns.change_frame import DDL
from simulator.run.faults.keys import BACK_KEY
from simulator.run.faults.kind import Acting, FaultKind, Piece, Scene, lowest_checkpoint


class Restart(Acting):
    """It happens at once."""

    def strike(self) -> Iterator[Piece]:
        self.over = True
        return restarted(self.scene)


def restarted(scene: Scene) -> Iterator[Piece]:
    """What a changefeed sends that starts from the checkpoint: its watermark, statements at it, everything above it.

    The watermark comes again since TiCDC keeps the last one in memory (tiflow: cdc/owner/ddl_sink.go writeCheckpointTs;
    ticdc has no such guard). Classic TiCDC reads statements from one below the checkpoint on (cdc/owner/changefeed.go
    ddlStartTs).
    """
    job, history = scene.job, scene.history
    history.at_least(lowest_checkpoint(history.last_statement, scene.release))
    if job.marks.watermarks and history.checkpoint > history.start_ts:
        watermark = job.marks.watermark(history.checkpoint, range(job.destinations.total))
        if watermark.num_rows:
            yield Piece(watermark, apart=True)
    rows: list[pa.RecordBatch] = []
    for events in history.again(job, scene.release.statement_again_at_checkpoint):
        if int(events["kind"][0].as_py()) == DDL:
            yield from _together(rows)
            yield Piece(events, apart=True)
            rows = []
        else:
            rows.append(events)
    yield from _together(rows)


def _together(rows: list[pa.RecordBatch]) -> Iterator[Piece]:
    if rows:
        yield Piece(pa.concat_batches(rows), apart=True)


RESTART = FaultKind(
    says="TiCDC ends and starts again from its checkpoint: what is above it comes again, statements included.",
    source="tiflow#12595, ticdc#4051; tiflow: cdc/owner/changefeed.go initialize",
    acting=Restart,
    keys={"back": BACK_KEY},
)
