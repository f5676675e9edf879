"""Every check that a stream can fail: its name, its point of the contract, and what a right stream does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A check."""

    point: int
    """Of the contract (docs/verify.md), 1 to 7; 0 for what is no message of the changefeed."""

    says: str
    """What is wrong where it fails."""


CHECKS = {
    "unreadable": Check(0, "a record that is no message of the protocol"),
    "foreign": Check(0, "a record where the changefeed sends none"),
    "wrong-partition": Check(1, "a row that its dispatcher sends to another partition"),
    "table-unknown": Check(1, "a row of a table that is not known"),
    "watermark-falls": Check(2, "a watermark below an earlier one of its partition"),
    "row-below-watermark": Check(2, "a row at or below an earlier watermark of its partition"),
    "row-repeated": Check(3, "a row change that comes again, where no restart is allowed"),
    "row-out-of-order": Check(3, "a row change older than one before it that it must follow"),
    "older-row-last": Check(3, "a row whose newest change is not its last one when a watermark covers both"),
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
    "statement-misfit": Check(7, "a statement that does not fit the tables before it"),
    "row-missing": Check(7, "a row that is expected and not there"),
    "row-left": Check(7, "a row that is there and not expected"),
    "row-different": Check(7, "a row that is not as expected"),
    "old-image": Check(7, "an old image that is not what the row was"),
    "row-not-there": Check(7, "an UPDATE or DELETE of a row that was not there"),
    "row-already-there": Check(7, "an INSERT of a row that was there already"),
    "two-changes": Check(7, "two changes of a row that contradict each other"),
}
"""By name, in the order of the contract."""
