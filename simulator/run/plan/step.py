"""The fold that a plan is: where a run stands between two steps, and what a step adds.

One law: a step is planned from what the steps before it left behind, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import pyarrow as pa

from simulator import tso
from simulator.errors import UserError
from simulator.faults.fault import Fault
from simulator.run.plan.expectation import PlannedExpectation
from simulator.run.plan.snapshot_pairs import UnplacedPair
from simulator.run.plan.statements import EmittedJob
from simulator.run.plan.versions import TableVersions
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.dispatch import Route, TopicGrowth
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.model.table import Name
from simulator.tidb.sql_engine.storage.state import SqlSession, Upstream


@dataclass(frozen=True)
class RunPosition:
    """Where a run stands between two steps."""

    start_ts: int
    """The TSO above which everything lies that happens."""

    now_ms: int
    """The first millisecond in which nothing has happened yet."""

    catalog: Catalog = Catalog()
    versions: Mapping[Name, int] = field(default_factory=dict)
    """The version of each table that is there and replicated."""

    state: Snapshot | Upstream | None = None
    """Where the rows lie; None before the first step."""

    unread: Snapshot | None = None
    """Behind scripted SQL: the tables of the snapshot before it that no statement has touched, which the upstream's
    catalog has, and its rows have not."""

    session: SqlSession | None = None
    """That of the scripted SQL before; None before any."""

    @property
    def start_ms(self) -> int:
        """As a changefeed sends what is committed after its start-ts."""
        return tso.physical(self.start_ts) + 1

    def not_before(self, now_ms: int) -> RunPosition:
        """At that millisecond, or where it is later already; raises as `passed`."""
        return self.passed(max(0, now_ms - self.now_ms))

    def passed(self, milliseconds: int) -> RunPosition:
        """So much later; raises UserError behind the last TSO."""
        now_ms = self.now_ms + milliseconds
        if now_ms > tso.physical(tso.FOREVER):
            raise UserError(
                f"the run would end after the last TSO there is, {tso.describe(tso.FOREVER)}: it starts at "
                f"{tso.describe(self.start_ts)} and takes {now_ms - self.start_ms} ms of simulated time; let it start "
                "earlier or be shorter"
            )
        return replace(self, now_ms=now_ms)


def starting(start_ts: int) -> RunPosition:
    """Nothing is there yet."""
    return RunPosition(start_ts, tso.physical(start_ts) + 1)


@dataclass(frozen=True)
class VersionRows:
    """Row changes that scripted SQL committed to one version of a table."""

    version: int
    changes: pa.RecordBatch
    """commit_ts, partition (int32 ordinal), handle, row_id, before, after: as in `upstream.outcome.TableChanges`."""


@dataclass(frozen=True)
class StepResult:
    """What a step adds to the plan."""

    jobs: tuple[EmittedJob, ...] = ()
    pair_drafts: tuple[UnplacedPair, ...] = ()
    rows: tuple[VersionRows, ...] = ()
    notes: tuple[str, ...] = ()
    """For people."""

    expected: tuple[PlannedExpectation, ...] = ()
    faults: tuple[Fault, ...] = ()
    grown: tuple[TopicGrowth, ...] = ()


def joined(results: Sequence[StepResult]) -> StepResult:
    """What steps without drafts added, as if one of them had; what is for people, or was expected, is left out."""
    rows: dict[int, list[pa.RecordBatch]] = {}
    for each in (each for result in results for each in result.rows):
        rows.setdefault(each.version, []).append(each.changes)
    return StepResult(
        jobs=tuple(job for result in results for job in result.jobs),
        rows=tuple(VersionRows(version, pa.concat_batches(parts)) for version, parts in rows.items()),
        faults=tuple(fault for result in results for fault in result.faults),
        grown=tuple(growth for result in results for growth in result.grown),
    )


@dataclass(frozen=True)
class PlanContext:
    """What all steps of a run are planned with."""

    rules: ChangefeedRules
    start_ts: int | None
    """Where the user lets the run start."""

    over_ms: int | None
    """How long the user lets a step take that does not say it."""

    seed: int = 0
    versions: TableVersions = field(default_factory=TableVersions)
    """All versions of tables met so far; planners add to them."""

    routes: list[Route] = field(default_factory=list)
    """Where the rows of each of their physical tables go, as far as that was asked."""


class ScenarioStep(Protocol):
    """A step of a scenario."""

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        """The cursor behind the step, and what the step adds; raises UserError."""
