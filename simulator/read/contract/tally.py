"""What is found wrong: all of it counted by check and table, the first of each kept to be shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from simulator.read.contract.stream import Violation
from simulator.read.records import Place

SHOW = 10
"""Of each check and table so many are kept, where nothing else is asked for."""

Kind: TypeAlias = "tuple[str, str]"
"""Name of a check, and `db.table` or nothing."""


@dataclass(frozen=True)
class Check:
    point: int
    """Of the contract, 1 to 7; 0 for what is no message of the changefeed."""

    says: str
    """What is wrong where it is told."""


CHECKS: Mapping[str, Check] = {
    "unreadable": Check(0, "a message that is none of the protocol, or a damaged one"),
    "foreign": Check(0, "a message that does not look like one of the protocol at all"),
    "file-missing": Check(0, "a file of claim-check that is gone, damaged or of another row"),
    "unknown-partition": Check(0, "a message in a partition that the topic should not have"),
    "unknown-table": Check(1, "a row of a table that is not there"),
    "cannot-dispatch": Check(1, "a row that the changefeed's dispatchers refuse"),
    "wrong-partition": Check(1, "a row in another partition than its dispatcher gives"),
    "watermark-falls": Check(2, "a watermark below an earlier one of its partition"),
    "row-below-watermark": Check(2, "a row at or below an earlier watermark of its partition"),
    "row-out-of-order": Check(3, "a row that comes first behind a later one that TiCDC sends after it"),
    "row-repeated": Check(3, "a row that comes again where nothing restarted"),
    "older-row-last": Check(3, "a row whose older change was the last to come again before a watermark passed it"),
    "operation-order": Check(3, "changes of one transaction in another order than the release's"),
    "watermark-unexpected": Check(4, "a watermark of a changefeed that sends none"),
    "watermark-missing": Check(4, "a watermark that other partitions have"),
    "row-uncovered": Check(4, "a row that no watermark covers in the end"),
    "ddl-out-of-order": Check(5, "a statement behind a later one, or behind a later row of its table"),
    "ddl-below-watermark": Check(5, "a statement below an earlier watermark"),
    "row-behind-ddl": Check(5, "a row behind a statement that it should come before"),
    "ddl-outside-partition-0": Check(5, "a statement where only partition 0 has them"),
    "ddl-missing": Check(5, "a statement that other partitions have"),
    "message-too-large": Check(6, "a message above max-message-bytes"),
    "too-many-events": Check(6, "a message with more events than max-batch-size"),
    "mixed-message": Check(6, "a statement or watermark that shares its message"),
}
"""What can be told from the stream alone. The names are stable."""


def violation(check: str, place: Place, offset: int | None, what: str, table: str = "") -> Violation:
    return Violation(CHECKS[check].point, *place, offset, what, check, table)


@dataclass(frozen=True)
class Found:
    """Violations: how many of each check and table, and the first of them."""

    counts: Mapping[Kind, int] = field(default_factory=dict)
    shown: tuple[Violation, ...] = ()


class Tally:
    """Found, as it grows."""

    def __init__(self, show: int = SHOW) -> None:
        self.show = show
        self._counts: Counter[Kind] = Counter()
        self._kept: Counter[Kind] = Counter()
        self._shown: list[Violation] = []

    def room(self, check: str, table: str = "") -> int:
        """How many more of it are kept."""
        return max(self.show - self._kept[check, table], 0)

    def add(self, violation: Violation) -> bool:
        """Counts it; whether it is one of those that are kept."""
        kind = violation.check, violation.table
        self._counts[kind] += 1
        return self._keep(violation)

    def more(self, check: str, table: str, times: int) -> None:
        """Counts what is not kept."""
        if times:
            self._counts[check, table] += times

    def include(self, found: Found) -> None:
        """Counts all that was found elsewhere."""
        self._counts.update(found.counts)
        for each in found.shown:
            self._keep(each)

    def found(self) -> Found:
        return Found(dict(self._counts), tuple(self._shown))

    def _keep(self, violation: Violation) -> bool:
        kind = violation.check, violation.table
        if self._kept[kind] >= self.show:
            return False
        self._kept[kind] += 1
        self._shown.append(violation)
        return True


def joined(found: Iterable[Found], show: int = SHOW) -> Found:
    """What several partitions have, as one."""
    tally = Tally(show)
    for each in found:
        tally.include(each)
    return tally.found()
