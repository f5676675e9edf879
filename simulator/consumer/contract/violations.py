"""Violations of the contract: all are counted by check and table, and the first of each are kept as examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from simulator.consumer.records import TopicPartition

SHOW = 10
"""Default number of examples of each check and table."""

CheckAndTable: TypeAlias = "tuple[str, str]"
"""Name of a check, and `db.table` or an empty text."""


@dataclass(frozen=True)
class Check:
    point: int
    """Point of the contract, 1 to 7; 0 for an invalid message."""

    says: str
    """Describes a violation."""


CHECKS: Mapping[str, Check] = {
    "unreadable": Check(0, "a message of the changefeed's that is damaged"),
    "foreign": Check(0, "a message that does not look like one of the changefeed's"),
    "file-missing": Check(0, "a file of claim-check that is gone, damaged or of another row"),
    "partition-unknown": Check(0, "a message in a partition that the topic should not have"),
    "table-unknown": Check(1, "a row of a table that is not known"),
    "cannot-dispatch": Check(1, "a row that the changefeed's dispatchers refuse"),
    "wrong-partition": Check(1, "a row that its dispatcher sends to another partition"),
    "watermark-falls": Check(2, "a watermark below an earlier one of its partition"),
    "row-below-watermark": Check(2, "a row at or below an earlier watermark of its partition"),
    "row-repeated": Check(3, "a row change that comes again, where no restart is allowed"),
    "row-out-of-order": Check(3, "a row change older than one before it that it must follow"),
    "older-row-last": Check(3, "a row whose newest change is not its last one when a watermark covers both"),
    "operation-order": Check(3, "changes of one transaction in another order than the release's"),
    "watermark-missing": Check(4, "a partition without a watermark that others have"),
    "watermark-unexpected": Check(4, "a watermark in a stream that has none"),
    "row-uncovered": Check(4, "a row that no watermark covers at the end of the run"),
    "ddl-out-of-order": Check(5, "a statement older than something before it that it must follow"),
    "ddl-below-watermark": Check(5, "a statement below an earlier watermark of its partition"),
    "row-behind-ddl": Check(5, "a row that should have come before a statement on its table"),
    "ddl-missing": Check(5, "a partition without a statement that it should have"),
    "ddl-unexpected": Check(5, "a statement in a partition that should have none"),
    "message-too-large": Check(6, "a message larger than the changefeed allows"),
    "too-many-events": Check(6, "a message with more events than the changefeed allows"),
    "message-mixed": Check(6, "a statement or watermark that shares its message"),
}
"""The checks of the stream alone. Their names are stable."""


@dataclass(frozen=True)
class Violation:
    rule: int
    """Point of the contract, 1 to 7; 0 for an unreadable message."""

    topic: str
    partition: int | None
    """None if it concerns tables and not messages."""

    offset: int | None
    """None for a missing message."""

    what: str
    check: str = ""
    """Short and stable name of the check, such as `row-below-watermark`."""

    table: str = ""
    """`db.table`, if the violation concerns one."""

    def __str__(self) -> str:
        if self.partition is None:
            return f"rule {self.rule}: {self.what}"
        place = f"{self.topic}/{self.partition}" + ("" if self.offset is None else f"@{self.offset}")
        return f"rule {self.rule}, {place}: {self.what}"


def new_violation(check: str, place: TopicPartition, offset: int | None, what: str, table: str = "") -> Violation:
    return Violation(CHECKS[check].point, *place, offset, what, check, table)


@dataclass(frozen=True)
class Violations:
    """Number of violations by check and table, and the first of them."""

    counts: Mapping[CheckAndTable, int] = field(default_factory=dict)
    shown: tuple[Violation, ...] = ()


class ViolationCounter:
    """Counts violations."""

    def __init__(self, show: int = SHOW) -> None:
        self.show = show
        self._counts: Counter[CheckAndTable] = Counter()
        self._kept: Counter[CheckAndTable] = Counter()
        self.shown: list[Violation] = []

    def room(self, check: str, table: str = "") -> int:
        """Return how many more examples are kept."""
        return max(self.show - self._kept[check, table], 0)

    def add(self, violation: Violation) -> bool:
        """Count a violation; return whether it is kept as an example."""
        kind = violation.check, violation.table
        self._counts[kind] += 1
        return self._keep(violation)

    def more(self, check: str, table: str, times: int) -> None:
        """Count violations that are not kept."""
        if times:
            self._counts[check, table] += times

    def include(self, found: Violations) -> None:
        """Add violations that were counted elsewhere."""
        self._counts.update(found.counts)
        for each in found.shown:
            self._keep(each)

    def found(self) -> Violations:
        return Violations(dict(self._counts), tuple(self.shown))

    def _keep(self, violation: Violation) -> bool:
        kind = violation.check, violation.table
        if self._kept[kind] >= self.show:
            return False
        self._kept[kind] += 1
        self.shown.append(violation)
        return True


def merge_violations(found: Iterable[Violations], show: int = SHOW) -> Violations:
    """Merge the violations of several partitions."""
    counter = ViolationCounter(show)
    for each in found:
        counter.include(each)
    return counter.found()
