"""Point 7: the row changes of a stream are those that were sent, by sums that do not depend on their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from simulator.columns.change_sums import BOOTSTRAPS, CHANGES, DELETES, ChangeSum, ChangeSums
from simulator.consumer.contract.summary import PartitionSummary
from simulator.consumer.contract.violations import SHOW, Violation, ViolationCounter, Violations

NAMES = {CHANGES: "INSERTs and UPDATEs", DELETES: "DELETEs"}


def rows_found(summaries: Sequence[PartitionSummary]) -> int:
    """Return the number of row changes, without those that are repeated.

    Without commit-ts equal changes count as several, as nothing tells whether one came again.
    """
    return sum(sum(each.rows.values()) - each.repeated * each.exact for each in summaries)


def rows_sent(sent: ChangeSums) -> int:
    return sum(each.rows for (_, kind), each in sent.items() if kind != BOOTSTRAPS)


def check_sent_changes(
    summaries: Sequence[PartitionSummary], found: ChangeSums, sent: ChangeSums, show: int = SHOW
) -> Violations:
    """Compare the row changes `found` with those that were sent. Where some are repeated, only their number tells."""
    tally, told = ViolationCounter(show), sum((each.bootstraps for each in summaries), Counter[str]())
    for (table, kind), each in sorted(sent.items()):
        if kind == BOOTSTRAPS and told[table] < each.rows:
            what = f"{each.rows:,} messages with the schema of {table} were sent, and {told[table]:,} are here"
            tally.add(Violation("bootstrap-missing", "", None, None, what, table))
    every, here = rows_sent(sent), rows_found(summaries)
    if not any(each.repeated for each in summaries):
        for violation in _differences(found, sent):
            tally.add(violation)
    elif here < every and not any(each.untimed for each in summaries):
        what = f"{every:,} row changes were sent, and {here:,} are here"
        tally.add(Violation("changes-missing", "", None, None, what))
    return tally.found()


def _differences(found: ChangeSums, sent: ChangeSums) -> Iterator[Violation]:
    for (table, kind), expected in sorted(sent.items()):
        actual = found.get((table, kind), ChangeSum())
        if kind not in NAMES or actual.times is None:  # without commit-ts it is not known which of them came again
            continue
        if actual.rows != expected.rows:
            check = "changes-missing" if actual.rows < expected.rows else "changes-different"
            what = f"{expected.rows:,} {NAMES[kind]} of {table} were sent, and {actual.rows:,} are here"
            yield Violation(check, "", None, None, what, table)
        elif actual.times != expected.times:
            what = f"the commit-ts of {actual.rows:,} {NAMES[kind]} of {table} are not those that were sent"
            yield Violation("changes-different", "", None, None, what, table)
        elif actual.images not in (expected.images, None):
            what = f"the values of {actual.rows:,} {NAMES[kind]} of {table} are not those that were sent"
            yield Violation("changes-different", "", None, None, what, table)
