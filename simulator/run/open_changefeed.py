"""A changefeed that stays open and plays steps as they are given to it.

Steps that are played together send the same messages as a run of them, which are delivered when `play` returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from simulator import tso
from simulator.engines import in_process
from simulator.engines.tasks import send
from simulator.engines.tasks.bootstraps import Bootstraps
from simulator.engines.tasks.progress import Reporter
from simulator.engines.tasks.task import TaskSpec
from simulator.engines.tasks.watermark_schedule import WatermarkSchedule
from simulator.errors import SimulatorError, UserError
from simulator.faults.pipeline import InjectedFaults
from simulator.releases import Release
from simulator.run import execute
from simulator.run.outputs import MemoryOutput
from simulator.run.plan import Plan, assemble_plan
from simulator.run.plan.step import PlanContext, RunPosition, ScenarioStep, StepResult, joined, starting
from simulator.run.steps.sql import execute_statement, with_upstream
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.rules import changefeed_rules
from simulator.tidb.ddl.catalog import DatabaseInfo, with_database
from simulator.tidb.sql_engine.storage.state import FailedStatement, StatementOutcome, Upstream

JOINED = 256
"""Results of steps that are merged into one: a tiny Arrow batch costs 20 times its payload."""


class OpenChangefeed:
    """An open changefeed: its position and its sink."""

    def __init__(
        self,
        output: MemoryOutput,
        changefeed: Changefeed,
        release: Release,
        start_ts: int | None = None,
        over_ms: int | None = None,
        resolved_interval_ms: int = 1000,
        seed: int = 0,
    ) -> None:
        self.position = starting(start_ts or tso.DEFAULT_START_TS)
        self._context = PlanContext(changefeed_rules(changefeed, release), start_ts, over_ms, seed)
        self._cursors = [self.position]
        """The positions before and between the results; only the first one has rows."""

        self._additions: list[StepResult] = []
        """The result between each two positions."""

        self._joined = 0
        """The number of leading results that are merged, or precede a snapshot."""

        self.output = output
        self._resolved_interval_ms = changefeed.checkpoint_interval_ms(resolved_interval_ms)
        self._seed = seed
        self._resolved_ms = 0
        self._reporter = Reporter(None)
        self.faults = InjectedFaults((), seed, stays_open=True)
        self._bootstraps = Bootstraps()

    @property
    def watermark(self) -> int:
        """The last watermark that was sent."""
        watermark = tso.compose(self._resolved_ms or self.position.start_ms)
        return self.faults.checkpoint if self.faults.holds_back(watermark) else watermark

    def play(self, *steps: ScenarioStep) -> list[StepResult]:
        """Play steps with the watermarks of their time, and return their results.

        They are sent together, as in a run: batches, and the order that a fault gives to rows, reach across steps.
        Raises UserError for an impossible step, after it has sent those before it; UserError for a fault that the
        changefeed cannot have, and then no step is played; and DeliveryError.
        """
        positions, results, planned = [self.position], list[StepResult](), self._context
        self._context = replace(planned, versions=planned.versions.copy(), routes=[*planned.routes])
        impossible: SimulatorError | None = None
        for step in steps:
            try:
                position, result = step.plan(positions[-1], self._context)
            except SimulatorError as error:
                impossible = error
                break
            positions.append(position)
            results.append(result)
        faults = [fault for result in results for fault in result.faults]
        self.faults.add(faults)
        try:
            self._send(positions, results, False)
        except UserError:
            self.faults.forget(faults)
            if self.position is positions[0]:
                self._context = planned
            raise
        if impossible is not None:
            raise impossible
        return results

    def execute(self, text: str) -> StatementOutcome:
        """Execute one SQL statement; the session and its transaction stay open.

        Raises SqlError and DdlError with TiDB's texts, and DeliveryError. A failed statement changes nothing but the
        auto ids that it used; failed DDL commits an open transaction first.
        """
        position, result, outcome = execute_statement(text, self.position, self._context)
        self._send((self.position, position), (result,), False)
        if isinstance(outcome, FailedStatement):
            raise outcome.error
        return outcome

    def upstream(self) -> Upstream:
        """Return the state of TiDB; it has the rows of those tables that statements named."""
        state = with_upstream(self.position, self._context).state
        assert isinstance(state, Upstream)
        return state

    def create_database(self, database: DatabaseInfo) -> None:
        """Create a database as if it existed from the start: no statement is sent for it."""
        upstream = self.upstream()
        catalog = with_database(upstream.catalog, database)
        position = with_upstream(self.position, self._context)
        self.position = replace(position, catalog=catalog, state=replace(upstream, catalog=catalog))
        first = with_upstream(self._cursors[0], self._context)
        assert isinstance(first.state, Upstream)
        known = with_database(first.catalog, database)
        self._cursors[0] = replace(first, catalog=known, state=replace(first.state, catalog=known))

    def played(self) -> Plan:
        """Return one plan of all steps so far, for the rows that a consumer holds at a watermark."""
        since, last = self._cursors[0], self.position
        end_ms = self._resolved_ms or since.start_ms
        timeline = WatermarkSchedule(since.start_ms, end_ms, self._resolved_interval_ms)
        positions = (*self._cursors, last) if len(self._cursors) == 1 else (*self._cursors[:-1], last)
        return assemble_plan(positions, self._additions, self._context, timeline, self.output.topics)

    def resolve(self) -> None:
        """Send a watermark above everything so far, unless that was done."""
        if self.position.now_ms > (self._resolved_ms or self.position.start_ms):
            self._send((self.position, self.position), (), True)

    def close(self, complete: bool = True) -> None:
        """Close the sink; raises DeliveryError. An incomplete output leaves no files."""
        if complete and self.faults.holding:
            self.faults.stays_open = False
            self._resolved_ms = tso.physical(self.watermark)
            self._send((self.position, self.position), (), True)
        self._reporter.done(())
        self.output.close(complete)

    def _send(self, positions: Sequence[RunPosition], results: Sequence[StepResult], final: bool) -> None:
        last = positions[-1]
        if not final and last.now_ms == positions[0].now_ms and not any(part.jobs or part.rows for part in results):
            self._note(positions, results)
            return
        if positions[0].state is None and isinstance(positions[1].state, Snapshot):
            positions = (positions[1], *positions[1:])  # the snapshot exists when the changefeed begins
        since = self._resolved_ms or last.start_ms
        timeline = WatermarkSchedule(last.start_ms, last.now_ms, self._resolved_interval_ms, since, final)
        plan = assemble_plan(positions, results, self._context, timeline, self.output.topics)
        output, release = self.output.for_plan(plan), self._context.rules.release
        rows, owned, spec = in_process.ordered_rows(execute.work_of(plan, output, release, self._seed, 0.0, None), True)
        self.faults.begin(spec)
        self._note(positions, results)
        self._resolved_ms = max(
            [timeline.last_watermark_ms or since, *(tso.physical(growth.commit_ts) for growth in plan.grown)]
        )
        self._send_rows(rows, owned, spec)

    def _note(self, positions: Sequence[RunPosition], results: Sequence[StepResult]) -> None:
        """Append the results of steps and the positions after them."""
        for position, result in zip(positions[1:], results):
            if self.position.state is None and isinstance(position.state, Snapshot):
                self._cursors = [position]  # the snapshot exists when the changefeed begins
            else:
                self._cursors.append(replace(position, state=None, unread=None))
                self._additions.append(result)
                if result.pair_drafts:
                    self._joined = len(self._additions)  # a move is found by the cursors on either side
                elif len(self._additions) - self._joined >= JOINED:
                    self._additions[self._joined :] = [joined(self._additions[self._joined :])]
                    self._joined += 1
                    self._cursors[self._joined :] = self._cursors[-1:]
            self.position = position

    def _send_rows(self, rows: Iterable[pa.RecordBatch], owned: Iterable[int], spec: TaskSpec) -> None:
        send.feed(
            rows, owned, spec, self.output.sink, lambda: True, self._reporter, None, self.faults, None, self._bootstraps
        )
        self.output.settle()
