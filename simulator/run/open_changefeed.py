"""A changefeed that stays open and plays steps as they are given to it.

Steps that are played together send the same messages as a run of them, which are delivered when `play` returns. The
messages of statements may wait for `deliver`: they are the same, and cost less together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

from simulator import tso
from simulator.columns.hashing import ChangeSum, add_sums
from simulator.engines import in_process
from simulator.engines.tasks.bootstraps import Bootstraps
from simulator.engines.tasks.control_events import WatermarkSchedule
from simulator.engines.tasks.progress import Reporter
from simulator.engines.tasks.send import SendingTask
from simulator.errors import DeliveryError, EncodeError, SimulatorError, UserError
from simulator.faults.pipeline import InjectedFaults
from simulator.releases import Release
from simulator.run.execute import PlannedRun
from simulator.run.outputs import Output
from simulator.run.plan import Plan, assemble_plan
from simulator.run.plan.statements import ids_of
from simulator.run.plan.step import (
    ChangefeedStopped,
    PlanContext,
    RunPosition,
    ScenarioStep,
    StepResult,
    joined,
    starting,
)
from simulator.run.steps.execution import apply_events, execute_statement, with_upstream
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.rules import ChangefeedRules, changefeed_rules
from simulator.tidb.ddl.catalog import DatabaseInfo, Key, with_database
from simulator.tidb.engine import CompletedDdl, Event, FailedStatement, StatementOutcome
from simulator.tidb.engine.execution import Upstream

JOINED = 256
"""Results of steps that are merged into one: a tiny Arrow batch costs 20 times its payload."""


MOST_WAITING = 256
"""Statements whose messages wait at most."""


class OpenChangefeed:
    """An open changefeed: its position and its sink."""

    def __init__(
        self,
        output: Output,
        release: Release,
        start_ts: int | None = None,
        resolved_interval_ms: int = 1000,
        seed: int = 0,
        keep_history: bool = True,
    ) -> None:
        """Without `keep_history` there is no `played`, and memory does not grow with what was sent."""
        self.position = starting(start_ts or tso.DEFAULT_START_TS)
        self._context = PlanContext(changefeed_rules(output.changefeed, release), start_ts, None, seed)
        self._cursors = [self.position]
        """The positions before and between the results; only the first one has rows."""

        self._additions: list[StepResult] = []
        """The result between each two positions."""

        self._waiting: list[StepResult] = []
        """The results of statements that are not sent."""

        self._sent_to = [self.position]
        """The position up to which everything is sent, and those after each waiting result."""

        self._joined = 0
        """The number of leading results that are merged, or precede a snapshot."""

        self._keeps_history = keep_history
        self.output = output
        self._resolved_interval_ms = output.changefeed.checkpoint_interval_ms(resolved_interval_ms)
        self._seed = seed
        self._resolved_ms = 0
        self._statement_ts = 0
        """The commit-ts of the last statement that was sent."""

        self._reporter = Reporter(None)
        self.faults = InjectedFaults((), seed, stays_open=True)
        self._bootstraps = Bootstraps()
        self.sums: dict[tuple[str, str], ChangeSum] | None = {} if keep_history else None
        """Of the row changes that were sent; None without history, and after a fault."""

        self.stopped: ChangefeedStopped | EncodeError | None = None
        """The statement, or the row, at which the changefeed has stopped. TiDB goes on, and nothing more is sent."""

    @property
    def table_ids(self) -> Mapping[Key, int]:
        """The ids of the tables that are replicated now."""
        return ids_of(self.position.versions, self._context.versions)

    @property
    def rules(self) -> ChangefeedRules:
        return self._context.rules

    @property
    def watermark(self) -> int:
        """The last watermark that was sent."""
        self.deliver()
        watermark = tso.compose(self._resolved_ms or self.position.start_ms)
        return self.faults.checkpoint if self.faults.holds_back(watermark) else watermark

    @property
    def checkpoint_ts(self) -> int:
        """Where it would go on after a restart: at the last watermark, or at the last statement, before which everything was
        sent (tiflow: cdc/owner/ddl_manager.go)."""
        checkpoint_ts = max(self.watermark, self._statement_ts)
        return self.faults.checkpoint if self.faults.holds_back(checkpoint_ts) else checkpoint_ts

    def play(self, *steps: ScenarioStep) -> list[StepResult]:
        """Play steps with the watermarks of their time, and return their results.

        They are sent together, as in a run: batches, and the order that a fault gives to rows, reach across steps.
        Raises UserError for an impossible step, after it has sent those before it; UserError for a fault that the
        changefeed cannot have, and then no step is played; ChangefeedStopped and EncodeError if it has stopped; and
        DeliveryError.
        """
        if self.stopped is not None:
            raise self.stopped
        self.deliver()
        positions, results, planned = [self.position], list[StepResult](), self._context
        self._context = replace(planned, versions=planned.versions.copy(), routes=[*planned.routes])
        impossible: SimulatorError | None = None
        stop: ChangefeedStopped | None = None
        for step in steps:
            try:
                position, result = step.plan(positions[-1], self._context)
            except ChangefeedStopped as error:
                impossible = stop = error
                positions.append(error.last)
                results.append(error.result)
                break
            except SimulatorError as error:
                impossible = error
                break
            positions.append(position)
            results.append(result)
        faults = [fault for result in results for fault in result.faults]
        self.faults.add(faults)
        try:
            self._send(positions, results, stop is not None)
        except UserError:
            self.faults.forget(faults)
            if self.position is positions[0]:
                self._context = planned
            raise
        if stop is not None:
            self.position, self.stopped = stop.behind, stop
        if impossible is not None:
            raise impossible
        return results

    def execute(self, text: str, prompt: bool = True) -> StatementOutcome:
        """Execute one SQL statement; the session and its transaction stay open.

        Unless `prompt`, the messages may wait for `deliver`, which all other methods call. DDL, many statements and a
        fault do not let them wait. Raises SqlError and DdlError with TiDB's texts, and DeliveryError. A failed statement
        changes nothing but the auto ids that it used; failed DDL commits an open transaction first.

        Raises ChangefeedStopped for DDL at which TiCDC stops, and EncodeError for a row that it cannot encode, which TiDB has
        executed, and the same for each later commit, which is refused: its transaction is rolled back.
        """
        if not self._waiting:
            self._sent_to = [self.position]
        try:
            position, result, outcome = execute_statement(text, self.position, self._context)
        except ChangefeedStopped as stop:
            if self.stopped is not None:
                raise self._refused(self.stopped) from None
            self._stop(stop)
            raise
        if self.stopped is not None and outcome.events:
            raise self._refused(self.stopped)
        self._waiting.append(result)
        self._sent_to.append(position)
        self._note((self.position, position), (result,))
        if prompt or result.jobs or len(self._waiting) >= MOST_WAITING or self.faults.expected:
            self.deliver()
        if isinstance(outcome, FailedStatement):
            raise outcome.error
        return outcome

    def _refused(self, stopped: ChangefeedStopped | EncodeError) -> ChangefeedStopped | EncodeError:
        """Return the error of a commit after the changefeed has stopped; the transaction is rolled back."""
        if isinstance(self.position.state, Upstream):
            self.position = replace(self.position, state=self.position.state.rolled_back())
        return stopped

    def send_events(self, events: Sequence[Event], now_ms: int, prompt: bool = True) -> None:
        """Send the events of a statement that a session has executed elsewhere.

        They commit at `now_ms` or later. Unless `prompt`, their messages may wait for `deliver`. If TiCDC stops at one, `stopped` says so. Raises DeliveryError; then the state is as before.
        """
        has_ddl = any(isinstance(event, CompletedDdl) for event in events)
        if prompt or has_ddl or not self._waiting or len(self._waiting) >= MOST_WAITING:
            self.deliver()
            self._sent_to = [self.position]
        position, planned = self.position, self._context
        known = len(self._cursors), len(self._additions), len(self._waiting)
        if prompt or has_ddl:
            self._context = replace(planned, versions=planned.versions.copy(), routes=[*planned.routes])
        try:
            behind, result = self._applied(events, now_ms)
            self._waiting.append(result)
            self._sent_to.append(behind)
            self._note((position, behind), (result,))
            if prompt or has_ddl or self.faults.expected:
                self.deliver()
        except ChangefeedStopped as stop:
            self._stop(stop)
        except EncodeError:
            pass  # TiDB has executed it, and `stopped` says so
        except SimulatorError:
            self.position, self._context = position, planned
            del self._cursors[known[0] :], self._additions[known[1] :]
            del self._waiting[known[2] :], self._sent_to[known[2] + 1 :]
            raise

    def skip_events(self, events: Sequence[Event], now_ms: int) -> None:
        """Like `send_events`, but send nothing: an earlier changefeed has sent these events."""
        self.deliver()
        try:
            behind, result = self._applied(events, now_ms)
        except ChangefeedStopped as stop:
            behind, result = stop.behind, stop.result
        self._note((self.position, behind), (result,))
        self._resolved_ms = behind.now_ms - 1

    def _applied(self, events: Sequence[Event], now_ms: int) -> tuple[RunPosition, StepResult]:
        """Return the position after events, and their result. Raises ChangefeedStopped."""
        before, stop = with_upstream(self.position, self._context).not_before(now_ms), None
        try:
            behind, result = apply_events(tuple(events), before, self._context, "")
        except ChangefeedStopped as error:
            stop, behind, result = error, error.behind, error.result
        for event in events:
            if isinstance(event, CompletedDdl):
                behind = replace(behind, catalog=event.after)
        behind = behind.passed(1)
        if stop is not None:
            raise ChangefeedStopped(stop, behind, result)
        return behind, result

    def _stop(self, stop: ChangefeedStopped) -> None:
        """Send what is before the statement that stops the changefeed, with a last watermark, and nothing from now on."""
        self.deliver()
        self._send((self.position, stop.last), (stop.result,), True)
        self.position, self.stopped = stop.behind, stop

    def replace_upstream(self, upstream: Upstream) -> None:
        """Take another state of TiDB, which needs no messages."""
        self.position = replace(with_upstream(self.position, self._context), state=upstream)

    def begin_at(self, ts: int, now_ms: int, statements: Iterable[tuple[Sequence[Event], int]]) -> None:
        """Begin behind a TSO, the start-ts or a checkpoint, of a TiDB that has executed statements before, which are given
        with their milliseconds; `now_ms` is the first one behind the TSO."""
        self.position = replace(self.position, now_ms=0)
        for events, then_ms in statements:
            self.skip_events(events, then_ms)
        self.position = replace(self.position, now_ms=now_ms)
        self._resolved_ms = tso.physical(ts)

    def reconnect(self, output: Output) -> None:
        """Send to another output from now on, which gets the topics of the last one, which has failed."""
        with suppress(DeliveryError):
            self.output.close(False)
        output.topics.extend(self.output.topics)
        output.counts.update(self.output.counts)
        self.output = output

    def advance(self, now_ms: int) -> None:
        """Let time pass until a millisecond, with the watermarks of that time; raises DeliveryError."""
        self.deliver()
        if now_ms > self.position.now_ms:
            position = self.position.not_before(now_ms)
            self._send((self.position, position), (StepResult(),), False)

    def deliver(self) -> None:
        """Send the messages of all statements so far. Raises DeliveryError, after which they go on waiting, and
        EncodeError, after which they do not."""
        results, self._waiting = self._waiting, []
        if results:
            try:
                self._send(self._sent_to, results, False, noted=True)
            except DeliveryError:
                self._waiting = results
                raise

    def upstream(self) -> Upstream:
        """Return the state of TiDB; it has the rows of those tables that statements named."""
        state = with_upstream(self.position, self._context).state
        assert isinstance(state, Upstream)
        return state

    def create_database(self, database: DatabaseInfo) -> None:
        """Create a database as if it existed from the start: no statement is sent for it."""
        self.deliver()
        first = self._cursors[0]
        position = with_upstream(self.position, self._context)
        assert isinstance(position.state, Upstream)
        position.state.create_database(database)
        self.position = replace(position, catalog=with_database(position.catalog, database))
        if first.state is None:
            first = replace(first, state=position.state.at_start(), unread=position.unread)
        self._cursors[0] = replace(first, catalog=with_database(first.catalog, database))

    def played(self) -> Plan:
        """Return one plan of all steps so far, for the rows that a consumer holds at a watermark."""
        self.deliver()
        since, last = self._cursors[0], self.position
        end_ms = self._resolved_ms or since.start_ms
        timeline = WatermarkSchedule(since.start_ms, end_ms, self._resolved_interval_ms)
        positions = (*self._cursors, last) if len(self._cursors) == 1 else (*self._cursors[:-1], last)
        return assemble_plan(positions, self._additions, self._context, timeline, self.output.topics)

    def resolve(self) -> None:
        """Send a watermark above everything so far, unless that was done."""
        self.deliver()
        if self.position.now_ms > (self._resolved_ms or self.position.start_ms):
            self._send((self.position, self.position), (), True)

    def close(self, complete: bool = True) -> None:
        """Close the sink; raises DeliveryError. An incomplete output leaves no files."""
        if complete:
            self.deliver()
        if complete and self.faults.holding:
            self.faults.stays_open = False
            self._resolved_ms = tso.physical(self.watermark)
            self._send((self.position, self.position), (), True)
        self._reporter.done(())
        self.output.close(complete)

    def _send(
        self, positions: Sequence[RunPosition], results: Sequence[StepResult], final: bool, noted: bool = False
    ) -> None:
        """Send results. Those of statements are `noted`, and each ends a flush."""
        last = positions[-1]
        if self.stopped is not None:
            return None if noted else self._note(positions, results)
        if not final and last.now_ms == positions[0].now_ms and not any(part.jobs or part.rows for part in results):
            if not noted:
                self._note(positions, results)
            return
        if positions[0].state is None and isinstance(positions[1].state, Snapshot):
            positions = (positions[1], *positions[1:])  # the snapshot exists when the changefeed begins
        since = self._resolved_ms or last.start_ms
        timeline = WatermarkSchedule(last.start_ms, last.now_ms, self._resolved_interval_ms, since, final)
        plan = assemble_plan(positions, results, self._context, timeline, self.output.topics)
        output, release = self.output.for_plan(plan), self._context.rules.release
        output.grow(plan.grown)
        work = PlannedRun(plan, output, release, self._seed).work()
        ends = tuple(tso.compose(position.now_ms) for position in positions[1:]) if noted else ()
        if plan.faults:
            self.sums = None
        spec = replace(work.spec, flush_ends=ends, sums=self.sums is not None, told=self._bootstraps.told)
        task, count = in_process.ordered_task(replace(work, spec=spec, faults=self.faults), True), self.output.count
        if not noted:
            self._note(positions, results)
        self._send_task(task)
        self._resolved_ms = max(
            [timeline.last_watermark_ms or since, *(tso.physical(growth.commit_ts) for growth in plan.grown)]
        )
        self._statement_ts = max([self._statement_ts, *(job.commit_ts for part in results for job in part.jobs)])
        if len(ends) > 1:
            self.output.in_order_of(count, ends)

    def _note(self, positions: Sequence[RunPosition], results: Sequence[StepResult]) -> None:
        """Append the results of steps and the positions after them."""
        for position, result in zip(positions[1:], results):
            if not self._keeps_history:
                pass
            elif self.position.state is None and isinstance(position.state, Snapshot):
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

    def _send_task(self, task: SendingTask) -> None:
        before = deepcopy(self._bootstraps)
        try:
            sent = replace(task, bootstraps=self._bootstraps).into(self.output.sink, self._reporter)
            self.output.settle()
            if sent.stopped is not None:
                raise sent.stopped[1]
        except DeliveryError:
            self._bootstraps = before  # all of it is sent again
            raise
        except EncodeError as error:
            self.stopped = error
            raise
        if self.sums is not None:
            add_sums(self.sums, sent.sums)
