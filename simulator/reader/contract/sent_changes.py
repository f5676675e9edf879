"""Point 7: the row changes of a stream are those that were sent, by sums that do not depend on their order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from simulator.columns.change_frame import BOOTSTRAPS, CHANGES, DELETES, ChangeSum, ChangeSums, sums_by_group
from simulator.reader.contract.summary import DescribedTable, PartitionSummary
from simulator.reader.contract.violations import SHOW, Violation, ViolationCounter, Violations

NAMES = {CHANGES: "INSERTs and UPDATEs", DELETES: "DELETEs"}


def rows_found(summaries: Sequence[PartitionSummary]) -> int:
    """Return the number of row changes, without those that are repeated.

    Without commit-ts equal changes count as several, as nothing tells whether one came again.
    """
    return sum(sum(each.rows.values()) - each.repeated * each.exact for each in summaries)


def rows_sent(sent: ChangeSums) -> int:
    return sum(each.rows for (_, kind), each in sent.items() if kind != BOOTSTRAPS)


def check_sent_changes(
    summaries: Sequence[PartitionSummary],
    found: ChangeSums,
    sent: ChangeSums,
    show: int = SHOW,
    redefined: Collection[str] = (),
) -> Violations:
    """Compare the row changes `found` with those that were sent. Where some are repeated, only their number tells.

    In `redefined` tables nothing tells which definition a row without commit-ts had, and so the text of its values.
    """
    found = {
        (table, kind): replace(each, values=None) if table in redefined else each
        for (table, kind), each in found.items()
    }
    tally = ViolationCounter(show)
    for violation in _other_bootstraps(sum((each.bootstraps for each in summaries), Counter[DescribedTable]()), sent):
        tally.add(violation)
    every, here = rows_sent(sent), rows_found(summaries)
    if not any(each.repeated for each in summaries):
        for violation in _differences(found, sent, sum(each.bare_deletes for each in summaries)):
            tally.add(violation)
    elif here < every and not any(each.untimed for each in summaries):
        what = f"row changes: sent {every:,}, here {here:,}"
        tally.add(Violation("changes-missing", "", None, None, what))
    return tally.found()


def _other_bootstraps(found: Counter[DescribedTable], sent: ChangeSums) -> Iterator[Violation]:
    """Yield what is wrong with messages with a table's schema; those that are repeated need not be the same ones."""
    told: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for table, version, id in found.elements():
        told[table].append((version, id))
    for table, expected in sorted((table, each) for (table, kind), each in sent.items() if kind == BOOTSTRAPS):
        actual = _sum_of_schemas(told[table])
        if actual.rows < expected.rows:
            what = f"messages with the schema of {table}: sent {expected.rows:,}, here {actual.rows:,}"
            yield Violation("bootstrap-missing", "", None, None, what, table)
        elif actual.rows == expected.rows and (
            actual.times != expected.times or actual.images not in (expected.images, None)
        ):
            what = f"messages with the schema of {table}: {actual.rows:,}, of which at least one has another version or id than was sent"
            yield Violation("message-different", "", None, None, what, table)


def _sum_of_schemas(told: Sequence[tuple[int, int]]) -> ChangeSum:
    """Return the sum of versions and ids, as `engines.tasks.messages.sum_rows` does."""
    versions, ids = np.array(told, np.int64).reshape(-1, 2).T
    return sums_by_group(ids * 0, versions, ids.view(np.uint64), versions >= 0, ids > 0).get(0, ChangeSum())


def _differences(found: ChangeSums, sent: ChangeSums, bare_deletes: int) -> Iterator[Violation]:
    kinds = {CHANGES} if 0 < bare_deletes == _missing_deletes(found, sent) else set(NAMES)
    for (table, kind), expected in sorted(sent.items()):
        actual = found.get((table, kind), ChangeSum())
        if kind not in kinds or actual.times is None and actual.rows > expected.rows:
            continue  # without commit-ts it is not known which of them came again
        if actual.rows != expected.rows:
            check = "changes-missing" if actual.rows < expected.rows else "changes-different"
            what = f"{NAMES[kind]} of {table}: sent {expected.rows:,}, here {actual.rows:,}"
            yield Violation(check, "", None, None, what, table)
        elif actual.times not in (expected.times, None):
            what = (
                f"{NAMES[kind]} of {table}: {actual.rows:,}, of which at least one has another commit-ts than was sent"
            )
            yield Violation("changes-different", "", None, None, what, table)
        elif actual.images not in (expected.images, None) or actual.values not in (expected.values, None):
            what = f"{NAMES[kind]} of {table}: {actual.rows:,}, of which at least one has another value than was sent"
            yield Violation("changes-different", "", None, None, what, table)


def _missing_deletes(found: ChangeSums, sent: ChangeSums) -> int:
    """Return how many DELETEs of known tables are missing; those without key and value do not tell their table."""
    return sum(each.rows - found.get(name, ChangeSum()).rows for name, each in sent.items() if name[1] == DELETES)
