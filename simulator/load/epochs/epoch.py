"""The parts of a load run between two statements that change its tables, and the windows that are sent of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.engines.stages import RowRules
from simulator.engines.tasks.control_events import PlacedDdl
from simulator.engines.tasks.task import TaskSpec
from simulator.sources.snapshots.physical import PlacedTable

if TYPE_CHECKING:
    from simulator.sources.generate.changes.stream import Stream
    from simulator.sources.generate.values.table_values import TableValues


@dataclass(frozen=True)
class EpochTable:
    """One table of the stream as it is in a epoch."""

    place: PlacedTable
    """Its definition, and which of the run's physical tables its partitions are."""

    values: TableValues
    since: int
    """The transaction before which it was empty (`TableRows.since`)."""


@dataclass(frozen=True)
class SchemaEpoch:
    """What is sent between two statements; it travels to the tasks."""

    number: int
    first_ms: int
    """Simulated milliseconds since the stream's start: where it begins. The statement that made it lies there, above
    all rows before."""

    end_ms: int | None
    """Where the next epoch begins; None where there is no other."""

    stream: Stream
    tables: tuple[EpochTable | None, ...]
    """As long as `stream.model.tables`; None for one that the changefeed's filter leaves out."""

    rules: RowRules
    spec: TaskSpec
    """Without marks: those are the driver's."""

    statements: tuple[PlacedDdl, ...]
    """That go out before its first row; `index` finds them in `spec.statements`."""


@dataclass(frozen=True)
class Pace:
    """How fast a window is sent."""

    speed: float
    """Simulated seconds for each real one; 0 is as fast as the sink takes it."""

    behind: float
    """How many seconds late it already was when it was handed out; below 0 where it is early."""


@dataclass(frozen=True)
class Window:
    """Rows from one watermark to the next: those of `first_ms` up to, and not with, `end_ms`."""

    epoch: SchemaEpoch
    first_ms: int
    end_ms: int
    pace: Pace
