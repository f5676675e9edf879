"""What a task of a run does, on either engine: events in order become messages, and go to its sink.

Here is what it needs to know, and what it reports when it is done. Both values travel between the driver and Spark's
workers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from simulator.channel import DriverAddress
from simulator.columns.hashing import SumsByKind, sums_by_kind
from simulator.engines.tasks.control_events import ControlEvents
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.sinks.records import DeliveryReport, Latencies
from simulator.sources.snapshots.pieces import PhysicalTable
from simulator.ticdc.changefeed import Storage
from simulator.ticdc.codecs import CodecOptions, DdlEvent
from simulator.ticdc.codecs.schema_registry import SchemaIds, SchemaManager
from simulator.ticdc.dispatch import Route
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.tso import FOREVER


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """Everything that the tasks of a run have in common."""

    tables: tuple[PhysicalTable, ...]
    routes: tuple[Route, ...]
    statements: tuple[DdlEvent, ...]
    control_events: ControlEvents
    options: CodecOptions
    release: Release
    sink: str
    settings: object
    start_ms: int
    speed: float = 0.0
    """Simulated seconds per real second; 0 sends as fast as the sink accepts records."""

    progress: DriverAddress | None = None
    barriers: tuple[int, ...] = ()
    """The commit-ts, ascending, at which a task waits until everything older is acknowledged."""

    barrier: DriverAddress | None = None
    """Where several tasks wait for each other at the barriers."""

    since: int = 0
    """The checkpoint from which the changefeed is restarted: older events are not sent; 0 for none."""

    until: int = FOREVER
    """The commit-ts from which on nothing is sent."""

    flush_ends: tuple[int, ...] = ()
    """The commit-ts, ascending, behind which a flush ends besides."""

    present: tuple[int, ...] = ()
    """The physical tables that there are when the changefeed starts, as indexes of `tables`."""

    table_rows: pa.RecordBatch | None = None
    """The rows of all tasks, counted (`bootstraps.TABLE_ROWS`); None if no BOOTSTRAP follows from them."""

    told: dict[tuple[int, int], int] = field(default_factory=dict)
    """By table id and schema version the commit-ts of its first BOOTSTRAP with rows; later ones are added while rows are
    sent."""

    schemas: SchemaIds = field(default_factory=SchemaManager)
    """Gives the ids of schemas, in protocols that have any."""

    storage: Storage | None = None
    """The layout of a storage, for which DDL and watermarks become files; None for Kafka."""

    sums: bool = False
    """Whether the sums of row changes are reported."""

    @property
    def destinations(self) -> Destinations:
        return self.control_events.destinations

    @property
    def complete_before(self) -> tuple[int | None, ...]:
        """For each phase between barriers, the commit-ts up to which everything has been sent when it begins.

        0 stands before DDL, where rows of the same commit-ts may be missing; None stands where no task waits.
        """
        ddl = frozenset(self.control_events.barriers.tolist())
        return None, *(commit_ts for ts in self.barriers for commit_ts in (0 if ts in ddl else None, ts))


@dataclass(frozen=True)
class TaskReport:
    """What one task sent."""

    delivered: list[DeliveryReport]
    """One of each partition."""

    changes: list[tuple[int, int, int, int]]
    """(table, op, destination, rows)"""

    alone: bool = False
    """Whether the task ended at a barrier that another task did not reach."""

    sending: tuple[float, float] | None = None
    """When the sink got the first record and when the last one was acknowledged, in seconds since 1970."""

    ended: tuple[int, int] | None = None
    """The signal that stopped the task and the commit-ts up to which everything was sent; 0 for nothing."""

    latencies: Latencies = Latencies()
    resent: int = 0
    """Records that were sent to Kafka again."""

    unmet: list[str] = field(default_factory=list)
    """Faults whose condition never occurred."""

    sums: SumsByKind = field(default_factory=lambda: sums_by_kind({}))
    stopped: tuple[int, EncodeError] | None = None
    """The commit-ts of the first event that cannot be encoded, and what TiCDC's encoder says of it."""
