"""What TiCDC would send again after a restart: everything above the checkpoint that has been sent so far.

One law: the checkpoint is never below a watermark that was sent, and nothing above it is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns.change_frame import DDL, EVENTS, ROW, WATERMARK, Ints, ints
from simulator.engines.tasks.task import TaskSpec
from simulator.faults.fault import Fault
from simulator.releases import Release
from simulator.ticdc.codecs import DdlEvent
from simulator.ticdc.dispatch import Destinations

Renumbering = Callable[[pa.RecordBatch], pa.RecordBatch]
"""Events (EVENTS) with the numbers that their destinations have now."""


def renumber_destinations(events: pa.RecordBatch, was: Destinations, to: Destinations) -> pa.RecordBatch:
    """Events where other destinations are: topics keep their places, and partitions theirs in their topic."""
    before, now, destination = np.array(was.first), np.array(to.first), ints(events, "destination")
    topic = np.searchsorted(before, destination, side="right") - 1
    moved = pa.array(now[topic] + destination - before[topic], pa.int32())
    return events.set_column(events.schema.get_field_index("destination"), EVENTS.field("destination"), moved)


class SentHistory:
    """Holds rows above the checkpoint, statements at it and above it, in the order of sending."""

    def __init__(self) -> None:
        self.checkpoint = 0
        self.start_ts = 0

        self.statements: list[DdlEvent] = []
        """All that have been sent; the table of a kept statement is its place here."""

        self._kept: list[pa.RecordBatch] = []
        self._resolved: Ints = np.zeros(0, np.int64)
        self._held: list[tuple[int, int]] = []
        self._last_statement = 0

    def begin(self, start_ts: int) -> None:
        """A changefeed that has sent nothing yet stands there."""
        self.checkpoint = self.checkpoint or start_ts
        self.start_ts = self.start_ts or start_ts

    def renumber(self, moved: Renumbering) -> None:
        """Destinations have other numbers."""
        self._kept = [*map(moved, self._kept)]

    def resolves(self, times: Ints) -> None:
        """Commit-ts at which the checkpoint will have arrived, ascending, whether watermarks say so or not."""
        self._resolved = np.union1d(self._resolved[self._resolved > self.checkpoint], times)

    def hold(self, since: int, until: int) -> None:
        """The checkpoint stands still between those TSOs, both included."""
        self._held.append((since, until))

    def holds(self, commit_ts: int) -> bool:
        """Whether the checkpoint does not come to be there."""
        return any(since <= commit_ts <= until for since, until in self._held)

    def record(self, events: pa.RecordBatch, spec: TaskSpec) -> None:
        """Takes events that are sent: rows, or marks of one kind and commit-ts."""
        commit_ts, kind = int(events["commit_ts"][0].as_py()), int(events["kind"][0].as_py())
        self.passed(commit_ts)
        if kind == WATERMARK:
            self._reached(commit_ts)
        elif kind == ROW:
            self._kept.append(events)
        else:
            self._last_statement = commit_ts
            self._kept.append(self._statement(events, spec))

    def passed(self, commit_ts: int) -> None:
        """Everything below has been sent."""
        for reached in reversed(self._resolved[self._resolved < commit_ts].tolist()):
            if not self.holds(reached):
                self._reached(reached)
                break

    def at_least(self, commit_ts: int) -> None:
        """The checkpoint is there, though no watermark has said so."""
        self._reached(commit_ts)

    @property
    def last_statement(self) -> int:
        """Commit-ts; 0 before any."""
        return self._last_statement

    def again(self, spec: TaskSpec, with_statements_at_checkpoint: bool) -> Iterator[pa.RecordBatch]:
        """What is sent again, in order, to be encoded with `statements_of`."""
        for events in self._kept:
            at = ints(events, "commit_ts")
            is_statement = int(events["kind"][0].as_py()) == DDL
            wanted = at >= self.checkpoint if is_statement and with_statements_at_checkpoint else at > self.checkpoint
            if wanted.any():
                chosen = events if wanted.all() else events.filter(pa.array(wanted))
                yield self._placed(chosen, len(spec.statements)) if is_statement else chosen

    def statements_of(self, spec: TaskSpec) -> tuple[DdlEvent, ...]:
        """Those that events may refer to: the job's own, and behind them all that were sent before."""
        return (*spec.statements, *self.statements)

    def _statement(self, events: pa.RecordBatch, spec: TaskSpec) -> pa.RecordBatch:
        table = ints(events, "table")
        places = {number: len(self.statements) + place for place, number in enumerate(np.unique(table).tolist())}
        self.statements += (spec.statements[number] for number in places)
        return _with_table(events, np.array([places[number] for number in table.tolist()]))

    def _placed(self, events: pa.RecordBatch, behind: int) -> pa.RecordBatch:
        return _with_table(events, ints(events, "table") + behind)

    def _reached(self, commit_ts: int) -> None:
        if commit_ts <= self.checkpoint:
            return
        self.checkpoint = commit_ts
        kept = []
        for events in self._kept:
            stays = pc.greater_equal(events["commit_ts"], commit_ts)
            if pc.any(stays).as_py():
                kept.append(events.filter(stays))
        self._kept = kept


def lowest_checkpoint(statement: int, release: Release) -> int:
    """Where the checkpoint is at least when a statement of that commit-ts has been sent: classic TiCDC sends it when
    the checkpoint is there (tiflow: cdc/owner/ddl_manager.go shouldExecDDL), the new architecture right before."""
    return statement if release.statement_again_at_checkpoint else statement - 1


def checkpoint_standstill(fault: Fault, statement: int, release: Release) -> tuple[int, int]:
    """Between which TSOs, both included, the checkpoint stands still before a fault, as its `back` says; `statement` is
    the commit-ts of the last one before it: TiCDC sends a statement when the checkpoint has come to it."""
    since = tso.compose(fault.at_ms - fault.back_ms)
    return max(since, lowest_checkpoint(statement, release) + 1), fault.at_ts


def _with_table(events: pa.RecordBatch, table: Ints) -> pa.RecordBatch:
    return events.set_column(events.schema.get_field_index("table"), EVENTS.field("table"), pa.array(table, pa.int32()))
