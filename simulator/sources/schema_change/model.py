"""What statements make of a table between two snapshots, and when.

One law: values only; nothing here is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.sources.snapshots import Places
from simulator.tidb.ddl.column_sources import ColumnSource


@dataclass(frozen=True)
class Transition:
    """What statements make of a table between two snapshots."""

    before: Places
    after: Places
    sources: tuple[ColumnSource, ...]
    """Of each visible column of the table after."""

    lost: frozenset[int] = frozenset()
    """Indexes of tables and partitions whose rows go with the statements: truncated, dropped."""

    sent: tuple[bool, bool] = (True, True)
    """Whether rows before and after the statements are replicated."""

    key_stays: bool = False
    """Whether a row has the same handle and row id before and after."""


@dataclass(frozen=True)
class Turn:
    """When the statements run, in milliseconds of the span: before the change of this millisecond."""

    slot: int
    squeezed: bool
    """Whether every change that the old definition can tell comes before them, in proportionally less time."""
