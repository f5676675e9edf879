"""What a task is told, and what it tells when it is done.

One law: both travel between the driver and Spark's workers as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.releases import Release
from simulator.run.marks import Marks
from simulator.sinks.driver import Driver
from simulator.sinks.latencies import Latencies
from simulator.sources.snapshots.physical import PhysicalTable
from simulator.ticdc.codecs import CodecOptions, DdlEvent
from simulator.ticdc.dispatch import Destinations, Route


@dataclass(frozen=True)
class Job:
    """All a task must know; it travels to Spark's workers."""

    tables: tuple[PhysicalTable, ...]
    routes: tuple[Route, ...]
    statements: tuple[DdlEvent, ...]
    marks: Marks
    options: CodecOptions
    release: Release
    sink: str
    settings: object
    speed: float
    """Simulated seconds for each real one; 0 is as fast as the sink takes it."""

    start_ms: int
    progress: Driver | None
    barriers: tuple[int, ...] = ()
    """At which commit-ts, ascending, a task goes on only when everything older is acknowledged."""

    barrier: Driver | None = None
    """Where several tasks meet at the barriers."""

    since: int = 0
    """The checkpoint from which the changefeed is restarted: of what is older nothing is sent; 0 for none."""

    @property
    def destinations(self) -> Destinations:
        return self.marks.destinations

    @property
    def meetings(self) -> tuple[int | None, ...]:
        """What is told before each leg, of `barriers.legs`, when all tasks have come: up to where everything has been
        sent; 0 before statements, of which some of that time may be missing; None where nobody waits."""
        statements = frozenset(self.marks.barriers.tolist())
        return None, *(told for ts in self.barriers for told in (0 if ts in statements else None, ts))


@dataclass(frozen=True)
class TaskReport:
    """What one task sent."""

    delivered: list[dict[str, Any]]
    """`sinks.records.Delivered` of each partition."""

    changes: list[tuple[int, int, int, int]]
    """(table, op, destination, rows)"""

    alone: bool
    """Whether it ended at a statement to which another task did not come."""

    sending: tuple[float, float] | None
    """When the sink got the first record, and when the last one was acknowledged, in seconds since 1970."""

    ended: tuple[int, int] | None = None
    """The signal that asked for an early end, and the commit-ts up to which everything was sent; 0 for nothing."""

    latencies: Latencies = Latencies()
    resent: int = 0
    """Records that had to be given to Kafka again."""

    unmet: list[str] = field(default_factory=list)
    """Faults that have not met what they wait for."""

    @staticmethod
    def read(document: Mapping[str, Any]) -> TaskReport:
        """Back from the JSON of its fields."""
        return TaskReport(**{**document, "latencies": Latencies.read(document["latencies"])})
