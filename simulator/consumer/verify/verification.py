"""What a verification found: the verdict, and all that it rests on.

One law: what was not checked is said; nothing that is wrong goes uncounted, however little of it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.consumer.verify.checks import CHECKS

RIGHT, WRONG, UNFINISHED = "right", "wrong", "unfinished"
"""Verdicts: nothing is wrong; something is; nothing so far, but the stream ends before what it is held against."""


@dataclass(frozen=True)
class Setting:
    """Something that the stream was taken to be made with."""

    name: str
    value: str
    told_by: str
    """`--release`, `the truth`, `the stream`, `the default` and the like."""


@dataclass(frozen=True)
class Moment:
    """How far a partition was when it had a watermark."""

    offset: int
    timestamp: int
    """Of the record, milliseconds since 1970."""

    watermark: int
    newest: int
    """The greatest commit-ts of its rows so far; 0 before the first."""


@dataclass(frozen=True)
class PartitionRead:
    """What was read of a partition."""

    topic: str
    partition: int
    first_offset: int | None
    """None where it is empty."""

    next_offset: int
    """Behind the last record that was read."""

    records: int
    bytes: int
    """Of keys and values."""

    rows: int
    statements: int
    watermarks: int
    repeated: int
    """Row changes that came again."""

    unreadable: int
    watermark: int
    """The last one; 0 without any."""

    newest: int
    """The greatest commit-ts of a row; 0 without any."""

    moments: tuple[Moment, ...] = ()
    """Some of its watermarks, the first and the last among them."""


@dataclass(frozen=True)
class Example:
    """A place where something is wrong."""

    topic: str
    partition: int | None
    """None for what concerns a table, not a message."""

    offset: int | None
    """None for something that is missing."""

    what: str

    @property
    def place(self) -> str:
        """`topic/partition@offset`, as far as there is one."""
        if self.partition is None:
            return ""
        return f"{self.topic}/{self.partition}" + ("" if self.offset is None else f"@{self.offset}")


@dataclass(frozen=True)
class Failure:
    """A check that failed."""

    check: str
    """Its name, of `CHECKS`."""

    tables: Mapping[str, int]
    """How often, by table; the empty name is for what concerns none."""

    examples: tuple[Example, ...]
    """Some, in the order of the stream."""

    of: str = ""
    """What a consumer wrote down, where it is about that; empty for the stream."""

    @property
    def point(self) -> int:
        """Of the contract; 0 for what is no message of the changefeed."""
        return CHECKS[self.check].point

    @property
    def says(self) -> str:
        """What is wrong, in words."""
        return CHECKS[self.check].says

    @property
    def count(self) -> int:
        return sum(self.tables.values())


@dataclass(frozen=True)
class TableCompared:
    """How the rows of a table are held against those that are expected."""

    table: str
    expected: int
    """Rows."""

    found: int | None
    """Rows; None where nobody tells."""

    missing: int = 0
    left: int = 0
    """Rows that are there and not expected."""

    different: int = 0
    of: str = ""
    """What a consumer wrote down, where these are its rows; empty for what the stream leads to."""

    @property
    def differences(self) -> int:
        return self.missing + self.left + self.different


@dataclass(frozen=True)
class NotChecked:
    """Something that could not be checked."""

    what: str
    why: str


@dataclass(frozen=True)
class Verification:
    """A verification that came to its end."""

    source: str
    """Of the stream; empty where only what a consumer wrote down was compared."""

    against: str
    """What a consumer wrote down; empty where nobody asks."""

    expected: str
    """What the rows were held against, for people: `the truth in DIR` and the like; empty for nothing."""

    settings: tuple[Setting, ...]
    partitions: tuple[PartitionRead, ...]
    tables: Mapping[str, Mapping[str, int]]
    """Row changes by table and kind: INSERT, UPDATE, DELETE."""

    failures: tuple[Failure, ...]
    compared: tuple[TableCompared, ...]
    not_checked: tuple[NotChecked, ...] = ()
    notes: tuple[str, ...] = ()
    watermark: int = 0
    """Up to where every partition is complete; 0 for nowhere."""

    wanted: int = 0
    """The watermark that the stream should reach; 0 where nobody says."""

    seconds: float = 0.0
    engine: str = "in process"
    began: float = field(default=0.0)
    """Seconds since 1970."""

    @property
    def verdict(self) -> str:
        if self.failures:
            return WRONG
        return UNFINISHED if self.source and self.watermark < self.wanted else RIGHT

    @property
    def rows(self) -> int:
        return sum(place.rows for place in self.partitions)

    @property
    def records(self) -> int:
        return sum(place.records for place in self.partitions)

    @property
    def wrong(self) -> int:
        """How much is wrong in all."""
        return sum(failure.count for failure in self.failures)
