"""Point 7: the row changes of a stream are those that were sent, by sums that do not depend on their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simulator.columns.change_sums import ChangeSum, ChangeSums
from simulator.consumer.contract.summary import PartitionSummary
from simulator.consumer.contract.violations import SHOW, Violation, ViolationCounter, Violations


def rows_found(summaries: Sequence[PartitionSummary]) -> int:
    """Return the number of row changes, without those that are repeated.

    Without commit-ts equal changes count as several, as nothing tells whether one came again.
    """
    return sum(sum(each.rows.values()) - each.repeated * each.exact for each in summaries)


def rows_sent(sent: ChangeSums) -> int:
    return sum(each.rows for each in sent.values())


def check_sent_changes(
    summaries: Sequence[PartitionSummary], found: ChangeSums, sent: ChangeSums, show: int = SHOW
) -> Violations:
    """Compare the row changes `found` with those that were sent. Where some are repeated, only their number tells."""
    tally = ViolationCounter(show)
    every, here = rows_sent(sent), rows_found(summaries)
    if not any(each.repeated for each in summaries):
        for each in _differences(found, sent):
            tally.add(each)
    elif here < every and not any(each.untimed for each in summaries):
        what = f"{every:,} row changes were sent, and {here:,} are here"
        tally.add(Violation("changes-missing", "", None, None, what))
    return tally.found()


def _differences(found: ChangeSums, sent: ChangeSums) -> Iterator[Violation]:
    for (table, deleted), expected in sorted(sent.items()):
        actual, kind = found.get((table, deleted), ChangeSum()), "DELETEs" if deleted else "INSERTs and UPDATEs"
        if actual.times is None:  # without commit-ts it is not known which of them came again
            continue
        if actual.rows != expected.rows:
            check = "changes-missing" if actual.rows < expected.rows else "changes-different"
            what = f"{expected.rows:,} {kind} of {table} were sent, and {actual.rows:,} are here"
            yield Violation(check, "", None, None, what, table)
        elif actual.times != expected.times:
            what = f"the commit-ts of {actual.rows:,} {kind} of {table} are not those that were sent"
            yield Violation("changes-different", "", None, None, what, table)
        elif actual.images not in (expected.images, None):
            what = f"the values of {actual.rows:,} {kind} of {table} are not those that were sent"
            yield Violation("changes-different", "", None, None, what, table)
