"""What is left of a partition when it is read: enough to hold it against the others, however long it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.consumer.contract.violations import Violations
from simulator.consumer.records import TopicPartition

NEVER = -1
"""Below every commit-ts."""


@dataclass(frozen=True)
class Statement:
    """A DDL event; the same statement in another partition, or again, is equal."""

    commit_ts: int
    schema: str
    table: str
    text: str
    type: str


@dataclass(frozen=True)
class ProgressSamples:
    """How far a partition was at some of its records, in order: for a timeline."""

    offset: Ints
    timestamp: Ints
    """Of the record, milliseconds; -1 where it was not given."""

    watermark: Ints
    """The highest so far; -1 for none."""

    row: Ints
    """commit-ts of the newest row so far; -1 for none."""


def _none() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class PartitionSummary:
    place: TopicPartition
    records: int = 0
    size: int = 0
    """Bytes of keys and values."""

    first_offset: int | None = None
    last_offset: int | None = None
    watermarks: Ints = field(default_factory=_none)
    """Those that it has, each once, ascending."""

    statements: tuple[Statement, ...] = ()
    """Each once, in order of their coming."""

    rows: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Row changes by `db.table` and operation, repeated ones included."""

    repeated: int = 0
    """Row changes that came again."""

    repeated_statements: int = 0
    low: int = NEVER
    """The lowest commit-ts or watermark of all events."""

    first_row: int = NEVER
    """The lowest commit-ts of a row."""

    last_row: int = NEVER
    """The highest."""

    last_event: tuple[int, bool] = (NEVER, False)
    """The highest commit-ts of a row or statement, and whether that is a statement by which tables leave the topic."""

    headless: bool = False
    """Whether it begins in the middle: what came before its first record is not there."""

    unchecked: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Rows by `db.table` and why what should be checked of them cannot be."""

    unreadable: Mapping[str, int] = field(default_factory=dict)
    """Messages that cannot be read, by the reason."""

    notes: tuple[str, ...] = ()
    found: Violations = Violations()
    samples: ProgressSamples = field(default_factory=lambda: ProgressSamples(_none(), _none(), _none(), _none()))
