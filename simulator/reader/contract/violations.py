"""Violations of the contract: all are counted by check and table, and the first of each are kept as examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

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
    "schema-unknown": Check(0, "a row whose table schema no message before it told"),
    "file-missing": Check(0, "a file that is gone, or of claim-check and damaged or of another row"),
    "file-damaged": Check(0, "a file on storage that is not as TiCDC writes it"),
    "message-different": Check(0, "a message that TiCDC writes in another way"),
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
    "ddl-repeated": Check(5, "a statement that comes again, where no restart is allowed"),
    "ddl-different": Check(5, "a statement that is not as it was sent, or that was not sent"),
    "ddl-unexpected": Check(5, "a statement in a partition that should have none"),
    "bootstrap-missing": Check(5, "a message with a table's schema that was sent and is not there"),
    "schema-different": Check(5, "a schema file that does not follow from the statements or the truth"),
    "message-too-large": Check(6, "a message larger than the changefeed allows"),
    "too-many-events": Check(6, "a message with more events than the changefeed allows"),
    "message-mixed": Check(6, "a statement or watermark that shares its message"),
    "changes-missing": Check(7, "row changes that were sent and are not there"),
    "changes-different": Check(7, "row changes that are not those that were sent"),
    "row-missing": Check(7, "a row that is expected and not there"),
    "row-left": Check(7, "a row that is there and not expected"),
    "row-twice": Check(7, "a row that is there more than once, in a table with a key"),
    "row-different": Check(7, "a row that is not as expected"),
    "old-image": Check(7, "an old image that is not what the row was"),
    "row-not-there": Check(7, "an UPDATE or DELETE of a row that was not there"),
    "row-already-there": Check(7, "an INSERT of a row that was there already"),
    "two-changes": Check(7, "two changes of a row at one commit-ts that contradict each other"),
    "unique-key": Check(7, "a value of a unique key that two rows have at the same time"),
}
"""The checks of the stream alone, then those of the replay. Their names are stable."""


@dataclass(frozen=True)
class Violation:
    check: str
    """Its name in CHECKS."""

    topic: str
    partition: int | None
    """None if it concerns tables and not messages."""

    offset: int | None
    """None for a missing message."""

    what: str
    table: str = ""
    """`db.table`, if the violation concerns one."""

    at: str = ""
    """The file and row, as `shop/item/…/CDC….csv:2`; empty for a message."""

    @property
    def rule(self) -> int:
        return CHECKS[self.check].point

    @property
    def place(self) -> str:
        """Return `topic/partition@offset`, as far as known, or the file and row."""
        if self.at:
            return self.at
        if self.partition is None:
            return ""
        return f"{self.topic}/{self.partition}" + ("" if self.offset is None else f"@{self.offset}")

    def __str__(self) -> str:
        return f"rule {self.rule}{f', {self.place}' if self.place else ''}: {self.what}"


@dataclass(frozen=True)
class Violations:
    """Number of violations by check and table, and the first of them."""

    counts: Mapping[CheckAndTable, int] = field(default_factory=dict)
    shown: tuple[Violation, ...] = ()


class ViolationCounter:
    def __init__(self, show: int = SHOW) -> None:
        self.show = show
        self._counts: Counter[CheckAndTable] = Counter()
        self._kept: Counter[CheckAndTable] = Counter()
        self.shown: list[Violation] = []

    def room(self, check: str, table: str = "") -> int:
        """Return how many more examples are kept."""
        return max(self.show - self._kept[check, table], 0)

    def add(self, violation: Violation) -> None:
        self._counts[violation.check, violation.table] += 1
        self._keep(violation)

    def more(self, check: str, table: str, times: int) -> None:
        """Count violations that are not kept."""
        if times:
            self._counts[check, table] += times

    def include(self, other: Violations) -> None:
        """Add violations that were counted elsewhere."""
        self._counts.update(other.counts)
        for each in other.shown:
            self._keep(each)

    def found(self) -> Violations:
        return Violations(dict(self._counts), tuple(self.shown))

    def _keep(self, violation: Violation) -> None:
        if self.room(violation.check, violation.table):
            self._kept[violation.check, violation.table] += 1
            self.shown.append(violation)


def merge_violations(parts: Iterable[Violations], show: int = SHOW) -> Violations:
    counter = ViolationCounter(show)
    for each in parts:
        counter.include(each)
    return counter.found()
