"""Runs a plan: turns it into the work of an engine, and the reports of its tasks into a result.

Every engine sends the same records for the same work. A plan can be played in this process before it is sent, for
what a scenario expects of its messages or files.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.channel import DriverAddress
from simulator.columns.change_frame import SNAPSHOT_ROWS
from simulator.columns.hashing import ChangeSums, merged_sums, sums_of_kinds
from simulator.engines import in_process
from simulator.engines.tasks import TaskReport
from simulator.engines.tasks.progress import Reporter
from simulator.engines.work import Engine, Work
from simulator.errors import DeliveryError, EncodeError
from simulator.faults.pipeline import InjectedFaults, Injection
from simulator.releases import Release
from simulator.run.checkpoint import CheckpointWriter
from simulator.run.outputs import MemoryOutput, Output, StorageOutput
from simulator.run.plan import Plan, SnapshotPair
from simulator.sinks import SINKS
from simulator.sinks.external_storage import ExternalStorage
from simulator.sinks.memory import Message
from simulator.sinks.records import DeliveryReport
from simulator.sources.diff import ChangeClock, Comparison
from simulator.sources.snapshots import Snapshot, SnapshotTable, TableScan
from simulator.sources.transition import Transition, altered_rows
from simulator.ticdc.changefeed import Changefeed

if TYPE_CHECKING:
    from simulator.reader.storage.events import FileEvent


@dataclass(frozen=True)
class RunResult:
    """Counts of what a run sent."""

    delivered: tuple[DeliveryReport, ...]
    changes: Mapping[tuple[int, int, int], int]
    """(table, op, destination) → rows"""

    shuffles: int
    """Shuffles between tasks: 1, or 2 if the partition of a row is known only after the comparison."""

    sending: float
    """Seconds from the first record handed to a sink to the last acknowledgement."""

    ended: tuple[int, int] | None = None
    """The signal that ended the run early, and the commit-ts up to which everything was sent; 0 for nothing."""

    unmet: tuple[str, ...] = ()
    """Faults whose trigger never occurred."""

    sums: ChangeSums = field(default_factory=dict)
    """Of a whole run that is to sum its row changes."""

    stopped: tuple[int, EncodeError] | None = None
    """The commit-ts of the first event that cannot be encoded, and what TiCDC's encoder says of it; what commits before
    it was sent."""


@dataclass(frozen=True)
class PlannedRun:
    """A plan and its output, and what the messages depend on besides."""

    plan: Plan
    output: Output
    release: Release
    seed: int = 0
    speed: float = 0.0
    """As in TaskSpec."""

    progress: DriverAddress | None = None
    since: int = 0
    """The checkpoint at which the changefeed begins; 0 for its start."""

    def send(self, engine: Engine, checkpoint_writer: CheckpointWriter | None = None, sums: bool = False) -> RunResult:
        """Send the plan to the output, from its checkpoint on if there is one; raises SimulatorError for bad input.

        `sums` is whether row changes are summed. Those of a run from a checkpoint, and those that faults change, are not.
        """
        plan, output = self.plan, self.output
        since = 0 if checkpoint_writer is None else checkpoint_writer.since
        if since:
            output.resume(since)
            output.for_plan(plan)

        def sent(until: int) -> RunResult:
            work = replace(self, since=since).work()
            if checkpoint_writer is not None:
                work = with_checkpoint(work, checkpoint_writer)
            spec = replace(work.spec, sums=sums and not since and not plan.faults, until=until)
            return _account(engine(replace(work, spec=spec)), work.shuffles)

        result = sent(tso.FOREVER)
        if result.stopped is None or plan.faults or not SINKS[output.name].erasable:
            return result
        output.erase()
        # Only now it is known where the stream ends: other partitions may have gone beyond.
        return replace(sent(result.stopped[0]), stopped=result.stopped)

    def work(self) -> Work:
        """Return the work of an engine."""
        plan, output, seed = self.plan, self.output, self.seed
        spec = output.task_spec(
            zip(plan.statements, plan.statement_topics, strict=True),
            plan.timeline,
            self.release,
            tables=plan.tables,
            routes=plan.routes,
            options=replace(output.options, claim_check_seed=seed),
            speed=self.speed,
            start_ms=plan.timeline.start_ms,
            progress=self.progress,
            present=plan.present_tables(self.since) if output.options.send_all_bootstrap_at_start else (),
        )
        spec = replace(spec, barriers=tuple(output.barriers(spec.control_events).tolist()))
        played = plan.whole or plan
        scripted = frozenset() if played.rows is None else frozenset(pc.unique(played.rows["table"]).to_pylist())
        rules = plan.row_rules(scripted, output.destinations)
        before, after = (
            tuple(scan for number, pair in enumerate(played.snapshot_pairs) for scan in scans(pair, number))
            for scans in (before_scans, after_scans)
        )
        return Work(
            before,
            after,
            comparison_of(played, seed),
            rules,
            spec,
            plan.input_bytes,
            played.rows,
            plan.older_rows,
            tso.FOREVER if plan.stopped is None else plan.stopped.until,
            InjectedFaults(plan.faults, seed) if plan.faults else None,
        )


def comparison_of(plan: Plan, seed: int) -> Comparison:
    """Return how the rows of the plan's snapshots are compared, and when their changes commit."""
    return Comparison(
        plan.tables,
        ChangeClock(seed, _salts(plan), tuple(pair.span for pair in plan.snapshot_pairs)),
        tuple(pair.point for pair in plan.snapshot_pairs),
        tuple(_changed(pair) for pair in plan.snapshot_pairs),
    )


def with_checkpoint(work: Work, checkpoint_writer: CheckpointWriter) -> Work:
    """Return the work from the checkpoint on, which reports its progress to the writer."""
    stops = work.spec.control_events.stops()
    spec = replace(
        work.spec, barriers=tuple(stops[stops >= checkpoint_writer.since].tolist()), since=checkpoint_writer.since
    )
    return replace(work, spec=spec, on_complete=checkpoint_writer.advance)


def _salts(plan: Plan) -> npt.NDArray[np.int32]:
    """Return a number for each table that makes its rows' commit-ts independent of other tables."""
    names = (f"{replicated.table.schema}.{replicated.table.name}" for replicated in plan.tables)
    return np.array([zlib.crc32(name.encode()) for name in names], np.uint32).view(np.int32)


def _changed(pair: SnapshotPair) -> dict[int, Transition]:
    return {index: change.transition for change in pair.changed for index in change.transition.after.indexes}


def before_scans(pair: SnapshotPair, number: int) -> Iterator[TableScan]:
    """Yield the tables to read of the snapshot before."""
    present = {index for place in pair.places[1].values() for index in place.indexes}
    tables = by_name(pair.before)
    for name, place in pair.places[0].items():
        if name in tables:
            stays = present.issuperset(place.indexes)
            yield TableScan(tables[name], place, number, None if stays else _dropped)
    for change in pair.changed:
        if change.before in tables:
            yield TableScan(
                tables[change.before], change.transition.before, number, partial(altered_rows, change.transition)
            )


def _dropped(texts: Sequence[pa.Array], tables: pa.Array, handles: pa.Array | None) -> pa.RecordBatch:
    """Return no rows: DROP TABLE removes them without row events."""
    return pa.RecordBatch.from_pylist([], SNAPSHOT_ROWS)


def after_scans(pair: SnapshotPair, number: int) -> Iterator[TableScan]:
    """Yield the tables to read of the snapshot after."""
    tables = by_name(pair.after)
    for name, place in (*pair.places[1].items(), *((change.after, change.transition.after) for change in pair.changed)):
        if name in tables:
            yield TableScan(tables[name], place, number)


def by_name(snapshot: Snapshot) -> dict[tuple[str, str] | None, SnapshotTable]:
    """Return the tables of a snapshot by schema and name."""
    return {(entry.table.schema, entry.table.name): entry for entry in snapshot.tables}


def _account(reports: Sequence[TaskReport], shuffles: int) -> RunResult:
    delivered = [delivery for report in reports for delivery in report.delivered]
    if any(report.alone for report in reports) and all(delivery.error is None for delivery in delivered):
        raise DeliveryError("the tasks that send have lost each other at a statement, which was not sent")
    rows = {(table, op, to): count for report in reports for table, op, to, count in report.changes}
    sums = merged_sums(sums_of_kinds(report.sums) for report in reports)
    spans = [report.sending for report in reports if report.sending]
    sending = max(0.0, max(end for _, end in spans) - min(begin for begin, _ in spans)) if spans else 0.0
    delivered.sort(key=lambda delivery: (delivery.topic, delivery.partition))
    ended = next((report.ended for report in reports if report.ended), None)
    unmet = tuple(name for report in reports for name in report.unmet)
    stopped = min((report.stopped for report in reports if report.stopped), key=itemgetter(0), default=None)
    return RunResult(tuple(delivered), rows, shuffles, sending, ended, unmet, sums, stopped)


def rehearse(
    plan: Plan, changefeed: Changefeed, release: Release, seed: int
) -> tuple[list[Message], Sequence[Injection], Mapping[int, str]]:
    """Play a plan into memory before it is sent; return all messages, the faults injected, and the schemas that
    messages name, by id. Raises SimulatorError.

    The messages equal those of the run, except if a broker allows only smaller messages.
    """
    messages: list[Message] = []
    output = MemoryOutput(changefeed, messages)
    injections = _play(plan, output, release, seed)
    return messages, injections, output.schemas.texts


def rehearse_files(plan: Plan, changefeed: Changefeed, release: Release, seed: int) -> list[FileEvent]:
    """Play a plan into a temporary directory before it is written to its storage; return the events of all files.

    CSV has the commit-ts of rows there, even if the changefeed leaves it out. Raises SimulatorError.
    """
    from simulator.reader.storage.directory import StorageDirectory  # they take long, and few runs expect something
    from simulator.reader.storage.events import events
    from simulator.reader.storage.listing import StorageListing

    assert changefeed.storage is not None
    codec = changefeed.codec
    with TemporaryDirectory() as directory:
        storage = replace(changefeed.storage, uri=Path(directory).as_uri())
        timed = replace(codec, csv=replace(codec.csv, include_commit_ts=True))
        changefeed = replace(changefeed, storage=storage, codec=timed)
        output = StorageOutput(changefeed, release)
        _play(plan, output, release, seed)
        return list(events(StorageDirectory(StorageListing(ExternalStorage(storage.uri, "sink-uri")), changefeed)))


def _play(plan: Plan, output: Output, release: Release, seed: int) -> Sequence[Injection]:
    """Play a plan into an output of this process, and close it; return the faults injected."""
    faults = InjectedFaults(plan.faults, seed)
    work = replace(PlannedRun(plan, output.for_plan(plan), release, seed).work(), faults=faults)
    sent = in_process.ordered_task(work, True).into(output.sink, Reporter(None))
    output.close()
    if sent.stopped is not None:
        raise sent.stopped[1]
    return faults.injections
