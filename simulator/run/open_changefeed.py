"""A changefeed that stays open: steps are played one at a time, as they come.

One law: a step is planned, merged with its watermarks and encoded as in a run that knows all its steps; everything
that a step made has arrived when it is played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

import pyarrow as pa

from simulator import tso
from simulator.engines import in_process
from simulator.engines.tasks import send
from simulator.engines.tasks.progress import Reporter
from simulator.engines.tasks.task import TaskSpec
from simulator.engines.tasks.watermark_schedule import WatermarkSchedule
from simulator.errors import SimulatorError, UserError
from simulator.faults.history import checkpoint_standstill
from simulator.faults.pipeline import InjectedFaults, Injection
from simulator.releases import Release
from simulator.run import execute
from simulator.run.outputs import MemoryOutput
from simulator.run.plan import Plan, assemble_plan
from simulator.run.plan.step import PlanContext, RunPosition, ScenarioStep, StepResult, joined, starting
from simulator.run.steps.sql import execute_statement, with_upstream
from simulator.sinks.records import DeliveryReport, require_delivered
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.rules import changefeed_rules
from simulator.tidb.ddl.catalog import DatabaseInfo, with_database
from simulator.tidb.sql_engine.storage.outcome import FailedStatement, StatementOutcome
from simulator.tidb.sql_engine.storage.state import Upstream

JOINED = 256
"""Additions that are kept as one: a batch of each of their rows takes twenty times what is in it."""


class OpenChangefeed:
    """Holds where the changefeed stands, and its sink."""

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
        self._planning = PlanContext(changefeed_rules(changefeed, release), start_ts, over_ms, seed)
        self._cursors = [self.position]
        """Around and between what was played; those behind the first one, without rows."""

        self._additions: list[StepResult] = []
        """Between two cursors each."""

        self._joined = 0
        """How many of them are joined ones, or before a snapshot."""

        self._output = output
        self._resolved_interval_ms = resolved_interval_ms
        self._seed = seed
        self._resolved_ms = 0
        self._reporter = Reporter(None)
        self._faults = InjectedFaults((), seed, stays_open=True)

    @property
    def watermark(self) -> int:
        """The highest TSO below or at which everything has been sent, and said to be."""
        said = tso.compose(self._resolved_ms or self.position.start_ms)
        return self._faults.checkpoint if self._faults.holds_back(said) else said

    def play(self, step: ScenarioStep) -> StepResult:
        """Plays a step, with the watermarks of the time that it takes, and says what it added.

        Raises UserError for a step that cannot be played, which leaves everything as it was, and DeliveryError.
        """
        position, result = step.plan(self.position, self._planning)
        self._faults.add(result.faults)
        try:
            self._send((self.position, position), (result,), False)
        except UserError:
            self._faults.forget(result.faults)
            raise
        return result

    def foresee(self, steps: Iterable[ScenarioStep]) -> None:
        """These steps will be played next: what has to be known before some of them come is found out."""
        spans, last, position = [], 0, self.position
        context = replace(
            self._planning, versions=deepcopy(self._planning.versions), routes=list(self._planning.routes)
        )
        with suppress(SimulatorError):  # which whoever plays the step is told
            for step in steps:
                position, result = step.plan(position, context)
                last = max([last, *(job.commit_ts for job in result.jobs if job.events)])
                spans += [
                    checkpoint_standstill(fault, last, context.rules.release)
                    for fault in result.faults
                    if fault.back_ms
                ]
        self._faults.foresee(spans)

    def execute(self, text: str) -> StatementOutcome:
        """Plays one statement of SQL; the session, and its transaction, stay open.

        Raises SqlError and DdlError as TiDB words them, and DeliveryError. DDL that is refused inside a transaction has
        committed it; whatever else is refused leaves everything as it was, but for ids that it used up.
        """
        position, result, outcome = execute_statement(text, self.position, self._planning)
        self._send((self.position, position), (result,), False)
        if isinstance(outcome, FailedStatement):
            raise outcome.error
        return outcome

    def upstream(self) -> Upstream:
        """What exists, and the rows of tables that statements have met."""
        state = with_upstream(self.position, self._planning).state
        assert isinstance(state, Upstream)
        return state

    def create_database(self, database: DatabaseInfo) -> None:
        """A database that counts as having been there from the start: no statement of it is sent."""
        upstream = self.upstream()
        catalog = with_database(upstream.catalog, database)
        position = with_upstream(self.position, self._planning)
        self.position = replace(position, catalog=catalog, state=replace(upstream, catalog=catalog))
        first = with_upstream(self._cursors[0], self._planning)
        assert isinstance(first.state, Upstream)
        known = with_database(first.catalog, database)
        self._cursors[0] = replace(first, catalog=known, state=replace(first.state, catalog=known))

    def played(self) -> Plan:
        """All of it as one plan, for what a consumer has at a watermark so far."""
        since, last = self._cursors[0], self.position
        end_ms = self._resolved_ms or since.start_ms
        timeline = WatermarkSchedule(since.start_ms, end_ms, self._resolved_interval_ms)
        positions = (*self._cursors, last) if len(self._cursors) == 1 else (*self._cursors[:-1], last)
        return assemble_plan(positions, self._additions, self._planning, timeline, self._output.topics)

    @property
    def partitions(self) -> Mapping[str, int]:
        """Of each topic so far."""
        return self._output.counts

    def resolve(self) -> None:
        """Sends a watermark above everything so far, unless there is one."""
        if self.position.now_ms > (self._resolved_ms or self.position.start_ms):
            self._send((self.position, self.position), (), True)

    @property
    def topics(self) -> Sequence[str]:
        """Those that are known so far."""
        return self._output.topics

    @property
    def injections(self) -> Sequence[Injection]:
        """When faults began."""
        return self._faults.injections

    @property
    def records(self) -> int:
        """How many have been sent."""
        return self._faults.records

    @property
    def unmet(self) -> Sequence[str]:
        """InjectedFaults that have ended, and never met what they wait for."""
        return self._faults.unmet

    def accounts(self) -> list[DeliveryReport]:
        """What of each partition has arrived."""
        return self._output.sink.accounts()

    def close(self, complete: bool = True) -> None:
        """Ends the sink; raises DeliveryError. What is not complete leaves no files."""
        if complete and self._faults.holding:
            self._faults.stays_open = False
            self._resolved_ms = tso.physical(self.watermark)
            self._send((self.position, self.position), (), True)
        self._reporter.done(())
        self._output.close(complete)

    def _send(self, positions: Sequence[RunPosition], results: Sequence[StepResult], final: bool) -> None:
        last = positions[-1]
        if not final and last.now_ms == positions[0].now_ms and not any(part.jobs or part.rows for part in results):
            self._note(last, results)
            return
        since = self._resolved_ms or last.start_ms
        timeline = WatermarkSchedule(last.start_ms, last.now_ms, self._resolved_interval_ms, since, final)
        plan = assemble_plan(positions, results, self._planning, timeline, self._output.topics)
        output, release = self._output.for_plan(plan), self._planning.rules.release
        rows, owned, spec = in_process.ordered_rows(execute.work_of(plan, output, release, self._seed, 0.0, None), True)
        self._faults.begin(spec)
        self._note(last, results)
        self._resolved_ms = max(
            [timeline.last_watermark_ms or since, *(tso.physical(growth.commit_ts) for growth in plan.grown)]
        )
        self._give(rows, owned, spec)

    def _note(self, position: RunPosition, results: Sequence[StepResult]) -> None:
        """Keeps what was played, and where that ends."""
        if self.position.state is None and isinstance(position.state, Snapshot):
            self._cursors = [position]  # it was there when the changefeed began
        elif results:
            self._cursors.append(replace(position, state=None, unread=None))
            self._additions += results
            if any(result.pair_drafts for result in results):
                self._joined = len(self._additions)  # a move is found by the cursors on either side
            elif len(self._additions) - self._joined >= JOINED:
                self._additions[self._joined :] = [joined(self._additions[self._joined :])]
                self._joined += 1
                self._cursors[self._joined :] = self._cursors[-1:]
        self.position = position

    def _give(self, rows: Iterable[pa.RecordBatch], owned: Iterable[int], spec: TaskSpec) -> None:
        send.feed(rows, owned, spec, self._output.sink, lambda: True, self._reporter, None, self._faults)
        self._output.sink.drain()
        if self._output.sink.failed:
            require_delivered(self._output.sink.accounts())
