"""Every check of a verification by name, in the order of the contract."""

from __future__ import annotations

from simulator.consumer.contract import violations
from simulator.consumer.contract.violations import Check

CHECKS = {
    **violations.CHECKS,
    "row-missing": Check(7, "a row that is expected and not there"),
    "row-left": Check(7, "a row that is there and not expected"),
    "row-twice": Check(7, "a row that is there more than once, in a table with a key"),
    "row-different": Check(7, "a row that is not as expected"),
    "old-image": Check(7, "an old image that is not what the row was"),
    "row-not-there": Check(7, "an UPDATE or DELETE of a row that was not there"),
    "row-already-there": Check(7, "an INSERT of a row that was there already"),
    "two-changes": Check(7, "two changes of a row at one commit-ts that contradict each other"),
}
"""The checks of the stream alone, then those of the replay."""
