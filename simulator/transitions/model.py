"""What statements make of a table between two snapshots, and when.

One law: values only; nothing here is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.ddl.convert import ColumnSource
from simulator.snapshots import Places

KEYED = ("table", "handle", "image", "hash", "row_id", "unique_hash")
"""Columns of a state frame."""


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

    hash_stays: bool = False
    """Whether a row has the same dispatch hash before and after."""

    def known(self, prefix: str) -> dict[str, Column]:
        """What of a row need not be computed, as it is known of the same row under a prefix."""
        names = [*(("handle", "row_id") if self.key_stays else ()), *(("hash",) if self.hash_stays else ())]
        return {name: F.col(f"{prefix}_{name}") for name in names}


@dataclass(frozen=True)
class Turn:
    """When the statements run, in milliseconds of the span: before the change of this millisecond."""

    slot: int
    squeezed: bool
    """Whether every change that the old definition can tell comes before them, in proportionally less time."""
