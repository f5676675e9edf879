"""Schema epochs, the parts of a load run between two DDL statements, and the windows in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.engines.stages import RowRules
from simulator.engines.tasks.control_events import PlacedDdl
from simulator.engines.tasks.task import TaskSpec
from simulator.sources.snapshots.physical import PlacedTable

if TYPE_CHECKING:
    from simulator.generate.changes.stream import Stream
    from simulator.generate.values.table_values import TableValues
    from simulator.load.epochs.layouts import RowLayouts


@dataclass(frozen=True)
class EpochTable:
    """A table of the stream in a schema epoch."""

    place: PlacedTable
    """Its definition, and the run's physical tables that hold its partitions."""

    values: TableValues
    since: int
    """The transaction before which it was empty (`TableRows.since`)."""

    layouts: RowLayouts
    """What rows may lack; nothing if old values of older rows are as TiDB reads them."""


@dataclass(frozen=True)
class SchemaEpoch:
    """The part of the stream between two DDL statements. It is sent to the tasks."""

    number: int
    first_ms: int
    """The start, in simulated milliseconds since the start of the stream. The DDL statement commits there, after all
    older rows.
    """

    end_ms: int | None
    """The start of the next epoch; None if there is none."""

    stream: Stream
    tables: tuple[EpochTable | None, ...]
    """Parallel to `stream.model.tables`; None for a table that the filter of the changefeed excludes."""

    rules: RowRules
    spec: TaskSpec
    """Without control events, which the driver sends."""

    statements: tuple[PlacedDdl, ...]
    """The DDL events before its first row. `index` refers to `spec.statements`."""


@dataclass(frozen=True)
class Pace:
    """The pace of a window."""

    speed: float
    """Simulated seconds for each real one; 0 means as fast as the sink takes rows."""

    behind: float
    """How many seconds late the window was handed out; negative if it was early."""


@dataclass(frozen=True)
class Window:
    """The rows between two watermarks, from `first_ms` up to but excluding `end_ms`."""

    epoch: SchemaEpoch
    first_ms: int
    end_ms: int
    pace: Pace
