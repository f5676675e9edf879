"""The summary of a partition: enough to compare it with the others, however long it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.reader.contract.violations import Violations
from simulator.reader.records import TopicPartition
from simulator.reader.statements import BroadcastDdl

NEVER = -1
"""Below every commit-ts."""

DescribedTable: TypeAlias = "tuple[str, int, int]"
"""`db.table`, version and id of a table in a message with its schema; 0 for an id that the message does not have."""


@dataclass(frozen=True)
class ProgressSamples:
    """Progress of a partition at some of its records, in order, for a chart."""

    offset: Ints
    timestamp: Ints
    """Of the record, in milliseconds; -1 if unknown."""

    watermark: Ints
    """The highest so far; -1 for none."""

    row: Ints
    """The highest commit-ts of a row so far; -1 for none."""


def _none() -> Ints:
    return np.zeros(0, np.int64)


@dataclass
class PartitionSummary:
    place: TopicPartition
    records: int = 0
    size: int = 0
    """Bytes of keys and values."""

    first_offset: int | None = None
    last_offset: int | None = None
    watermarks: Ints = field(default_factory=_none)
    """Each watermark once, ascending."""

    statements: tuple[BroadcastDdl, ...] = ()
    """Each statement once, in order of arrival."""

    rows: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of row changes by `db.table` and operation, including repeated ones."""

    bootstraps: Counter[DescribedTable] = field(default_factory=Counter)
    """Number of messages with a table's schema."""

    repeated: int = 0
    """Number of repeated row changes."""

    exact: bool = True
    """Whether all row changes so far tell their commit-ts."""

    whole: int = 0
    """Number of row changes whose messages were compared as a whole."""

    untimed: int = 0
    """Number of row changes without a commit-ts, in protocols where they may have none."""

    repeated_statements: int = 0
    low: int = NEVER
    """The lowest commit-ts or watermark."""

    first_row: int = NEVER
    """The lowest commit-ts of a row."""

    last_row: int = NEVER
    """The highest."""

    last_event: tuple[int, bool] = (NEVER, False)
    """The highest commit-ts of a row or statement, and whether it is a statement that moves tables out of the topic."""

    headless: bool = False
    """Whether the recording starts in the middle, so that earlier records are missing."""

    unchecked: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of rows that could not be checked, by `db.table` and reason."""

    bare_deletes: int = 0
    """Number of DELETEs whose messages have neither key nor value (`StreamSpec.bare_deletes`)."""

    unreadable: Counter[str] = field(default_factory=Counter)
    """Number of unreadable messages by reason."""

    notes: tuple[str, ...] = ()
    found: Violations = Violations()
    samples: ProgressSamples = field(default_factory=lambda: ProgressSamples(_none(), _none(), _none(), _none()))
