"""How a step is planned: from the position that the steps before it reached, to a new position and a result.

A result may have expectations, which `simulator.run.expectations` compares with what a run sends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import pyarrow as pa

from simulator import tso
from simulator.errors import DdlError, UserError
from simulator.faults.fault import Fault
from simulator.run.plan.snapshot_pairs import UnplacedPair
from simulator.run.plan.statements import EmittedJob
from simulator.run.plan.versions import TableVersions
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.codecs import TableInfo
from simulator.ticdc.dispatch import Route
from simulator.ticdc.dispatch.destinations import TopicGrowth
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl.catalog import Catalog, Key
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.engine.settings import SqlSession
from simulator.tidb.model.table import Name


@dataclass(frozen=True)
class RunPosition:
    """The position of a run between two steps."""

    start_ts: int
    """The changefeed's start-ts: everything happens after it."""

    now_ms: int
    """The first millisecond without an event."""

    catalog: Catalog = Catalog()
    versions: Mapping[Name, int] = field(default_factory=dict)
    """The version number of each existing, replicated table."""

    infos: Mapping[Key, TableInfo] = field(default_factory=dict)
    """The tables and views that statements have touched, replicated or not."""

    state: Snapshot | Upstream | None = None
    """The rows of all tables; None before the first step."""

    unread: Snapshot | None = None
    """After scripted SQL: the tables of the snapshot before it that no statement has touched. The upstream has them in
    its catalog, but not their rows."""

    session: SqlSession | None = None
    """The session of earlier scripted SQL."""

    @property
    def start_ms(self) -> int:
        """The first millisecond that is sent: a changefeed sends commits after its start-ts."""
        return tso.physical(self.start_ts) + 1

    def not_before(self, now_ms: int) -> RunPosition:
        """Return the position at a millisecond, or this one if it is later; raises UserError as `passed`."""
        return self if now_ms <= self.now_ms else self.passed(now_ms - self.now_ms)

    def passed(self, milliseconds: int) -> RunPosition:
        """Return the position some milliseconds later; raises UserError behind the last TSO."""
        now_ms = self.now_ms + milliseconds
        if now_ms > tso.physical(tso.FOREVER):
            raise UserError(
                f"the run would end after the last TSO there is, {tso.describe(tso.FOREVER)}: it starts at "
                f"{tso.describe(self.start_ts)} and takes {now_ms - self.start_ms} ms of simulated time; let it start "
                "earlier or be shorter"
            )
        return replace(self, now_ms=now_ms)


def starting(start_ts: int) -> RunPosition:
    """Return the position before the first step."""
    return RunPosition(start_ts, tso.physical(start_ts) + 1)


@dataclass(frozen=True)
class StepResult:
    """The additions of a step to the plan."""

    jobs: tuple[EmittedJob, ...] = ()
    pair_drafts: tuple[UnplacedPair, ...] = ()
    rows: tuple[pa.RecordBatch, ...] = ()
    """Row changes of scripted SQL (ROW_CHANGES with row_id); no batch is empty."""

    notes: tuple[str, ...] = ()
    """Messages for the user."""

    expected: tuple[PlannedExpectation, ...] = ()
    faults: tuple[Fault, ...] = ()
    grown: tuple[TopicGrowth, ...] = ()


def joined(results: Sequence[StepResult]) -> StepResult:
    """Merge results of steps without snapshot pairs; drops notes and expectations."""
    rows = [changes for result in results for changes in result.rows]
    return StepResult(
        jobs=tuple(job for result in results for job in result.jobs),
        rows=(pa.concat_batches(rows),) if rows else (),
        faults=tuple(fault for result in results for fault in result.faults),
        grown=tuple(growth for result in results for growth in result.grown),
    )


@dataclass(frozen=True)
class PlanContext:
    """The settings and shared state with which all steps of a run are planned."""

    rules: ChangefeedRules
    start_ts: int | None
    """The start-ts that the user gives."""

    over_ms: int | None
    """The duration that the user gives to steps without one of their own."""

    seed: int = 0
    versions: TableVersions = field(default_factory=TableVersions)
    """All table versions so far; steps add to them."""

    routes: list[Route] = field(default_factory=list)
    """The routes of their physical tables, as far as they were computed."""


class ChangefeedStopped(DdlError):
    """A statement that TiDB has executed, and that stops the changefeed. `behind` is the position after it, `result` what
    is sent before it."""

    def __init__(
        self,
        error: DdlError,
        behind: RunPosition,
        result: StepResult,
        last: RunPosition | None = None,
        until: int = tso.FOREVER,
    ) -> None:
        super().__init__(error.text, error.code)
        self.behind, self.result = behind, result
        self.last = last or replace(behind, now_ms=behind.now_ms - (not result.rows))
        """The position up to which everything is sent, the rows of a transaction that the statement commits, too."""

        self.until = until
        """The commit-ts from which on row changes of diffs are not sent."""


class ScenarioStep(Protocol):
    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        """Return the position after the step, and its result; raises UserError."""


@dataclass(frozen=True)
class Expectation:
    """The content of a step `expect`."""

    events: tuple[str, ...] | None = None
    """Row and DDL events, each as `inspect` prints it after the time."""

    counts: Mapping[str, int | Mapping[str, int]] = field(default_factory=dict)
    """By `schema.table`: the number of row events, in total or by kind; also `ddl` and `messages`."""

    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By `schema.table`: all its rows, as `a=1 b=NULL`."""

    decisions: tuple[str, ...] | None = None
    """For each DDL job `sent` or `not sent`, optionally with a colon and some words of the reason."""

    sql: str = ""
    """A statement that must fail; it has no effect."""

    error: tuple[int | None, str] = (None, "")
    """The number of its error, and words of the error's text."""

    @property
    def about_messages(self) -> bool:
        return self.events is not None or bool(self.counts)


@dataclass(frozen=True)
class PlannedExpectation:
    """An expectation at its position in a run. It is about the events since the expectation before it."""

    expectation: Expectation
    where: str
    """File, line and step, for messages."""

    until_ms: int
    """The first millisecond after these events."""

    state: Snapshot | Upstream | None
    """The rows at this position."""

    raised: tuple[int, str] | None = None
    """Number and text of the error of `expectation.sql`; None if it succeeds."""
