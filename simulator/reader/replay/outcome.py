"""The result of a replay: differences in words, and the changes that could not be compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from simulator import tso
from simulator.columns import row_image
from simulator.limits import counted
from simulator.reader.contract import Violation
from simulator.reader.events import UNKNOWN_CELL
from simulator.reader.records import TopicPartition
from simulator.reader.replay import BEGIN, Findings, SkippedChanges
from simulator.reader.replay.normalize import MARKER_SIZE, layout_history, remove_marker
from simulator.reader.replay.row_rules import SPREAD, TableKnowledge
from simulator.reader.replay.table_timeline import NO_TABLE, TableHistory, TableTimeline
from simulator.reader.replay.unique_keys import (
    INEXACT,
    REASONS,
    UNKNOWN,
    UniqueKey,
    by_number_of_table,
    follows_from_replay,
    unique_keys,
)
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import visible_columns

LONGEST = 120
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class TableCompared:
    """Row counts of a table: as the stream leaves it or a consumer wrote it, and as expected."""

    table: str
    expected: int
    found: int | None
    """None if the rows at the start of the stream are unknown."""

    missing: int = 0
    left: int = 0
    """Rows that exist and are not expected."""

    different: int = 0
    untouched: int = 0
    """Expected rows that no change in the stream is about."""

    of: str = ""
    """The consumer's location if these are its rows; empty for the rows that the stream leads to."""

    @property
    def proved(self) -> int:
        """Return how many of the expected rows were compared."""
        return self.expected if self.found is not None else self.expected - self.untouched

    @property
    def differences(self) -> int:
        return self.missing + self.left + self.different


@dataclass(frozen=True)
class ReplayOutcome:
    counts: Mapping[tuple[str, str], int]
    """Number of findings, by check and table."""

    examples: tuple[Violation, ...]
    """Some findings of each check and table."""

    tables: tuple[TableCompared, ...]
    """The tables whose expected rows are known, by name."""

    unknown: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Number of new values that nothing tells, by table and column."""

    not_compared: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Number of row changes that could not be compared, by table (empty for all) and reason; 0 if not counted."""

    keys: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Why unique keys were not checked, by table and name."""


COUNTED = ("expected", "found", "untouched", UNKNOWN, SPREAD)
"""Counters that are no differences."""

SEVERAL_PARTITIONS = "changes of one row are in several partitions, and messages do not tell which came first"


def table_knowledge(
    timeline: TableTimeline,
    after: Collection[int],
    restarts: bool = True,
    in_order: bool = False,
    fidelity: Fidelity = Fidelity(),
) -> TableKnowledge:
    """Return what is known of the tables. `after` has the numbers of tables whose final rows are known; `in_order` is
    as in TableKnowledge."""
    tables, keys = timeline.tables, unique_keys(timeline)
    none = [False] * len(keys)
    columns = [len(visible_columns(history.table)) for history in tables] + [len(key.identity) for key in keys]
    return TableKnowledge(
        np.array(columns, np.int64),
        np.array([history.keyed for history in tables] + [True] * len(keys), np.bool_),
        np.array([history.known for history in tables] + none, np.bool_),
        np.array([number in after for number in range(len(tables))] + none, np.bool_),
        restarts,
        in_order,
        tables=len(tables),
        replayed=by_number_of_table(key for key in keys if follows_from_replay(key, fidelity)),
    )


def summarize_findings(
    findings: Findings,
    timeline: TableTimeline,
    expected: TableKnowledge,
    skipped: SkippedChanges,
    partitions: Sequence[TopicPartition],
) -> ReplayOutcome:
    """Summarize findings. `partitions` has the partitions by index. Tables with skipped row changes are
    left out, as nothing can be concluded about them."""
    doubtful = {number for number, _, _ in skipped.rows if number != NO_TABLE}
    doubtful |= {number for number, history in enumerate(timeline.tables) if history.odd}
    spread = {number for (check, number), count in findings.counts.items() if check == SPREAD and count} - doubtful
    doubtful |= spread
    keys = {key.number: key for key in unique_keys(timeline)}
    inexact = {(number, INEXACT) for (check, number), count in findings.counts.items() if check == UNKNOWN and count}
    untold = _untold_keys(skipped.keys | inexact, keys, doubtful)
    doubtful |= {number for number, key in keys.items() if number in untold or key.table in doubtful}
    counts: dict[tuple[str, str], int] = {}
    for (check, number), count in findings.counts.items():
        if check not in COUNTED and number not in doubtful:
            failed = check, _name(keys[number].table if number in keys else number, timeline, skipped)
            counts[failed] = counts.get(failed, 0) + count
    examples = [
        _held_twice(row, keys[number], timeline, partitions)
        if number in keys
        else _difference(*_resolve_example(row, timeline, skipped), partitions)
        for (_, number), batch in sorted(findings.examples.items())
        if number not in doubtful
        for row in batch.to_pylist()
    ]
    why = {(str(history), history.odd): 0 for history in timeline.tables if history.odd}
    why |= {(_name(number, timeline, skipped), SEVERAL_PARTITIONS): 0 for number in spread}
    for (_, name, reason), count in skipped.rows.items():
        why[name, reason] = why.get((name, reason), 0) + count
    compared = [
        _table(findings, number, history, bool(expected.known[number]))
        for number, history in enumerate(timeline.tables)
        if expected.ends[number] and number not in doubtful
    ]
    unknown: dict[str, dict[str, int]] = {}
    for (number, column), count in sorted(skipped.unknown.items()):
        if number not in doubtful:
            unknown.setdefault(str(timeline.tables[number]), {})[column] = count
    return ReplayOutcome(
        counts,
        tuple(examples),
        tuple(sorted(compared, key=lambda each: each.table)),
        unknown,
        why,
        {
            (str(timeline.tables[keys[number].table]), keys[number].index.name): reason
            for number, reason in untold.items()
        },
    )


def _untold_keys(
    found: Collection[tuple[int, str]], keys: Mapping[int, UniqueKey], doubtful: Collection[int]
) -> dict[int, str]:
    """Return the unique keys that messages do not tell enough of, each with a reason."""
    reasons: dict[int, list[str]] = {}
    for number, reason in sorted(found):
        if keys[number].table not in doubtful:
            reasons.setdefault(number, []).append(reason)
    order = {reason: place for place, reason in enumerate(REASONS)}
    return {number: min(each, key=lambda reason: order.get(reason, len(order))) for number, each in reasons.items()}


def _table(findings: Findings, number: int, history: TableHistory, known: bool) -> TableCompared:
    names = ("expected", "found", "row-missing", "row-left", "row-different", "untouched")
    expected, rows, *differences = (findings.counts[name, number] for name in names)
    missing, left, different, untouched = differences
    return TableCompared(str(history), expected, rows if known else None, missing, left, different, untouched)


def _name(number: int, timeline: TableTimeline, skipped: SkippedChanges) -> str:
    if number > NO_TABLE:
        return str(timeline.tables[number])
    layout = next(iter(skipped.layouts[number].values()))
    return f"{layout.schema}.{layout.table}"


def _resolve_example(
    row: Mapping[str, object], timeline: TableTimeline, skipped: SkippedChanges
) -> tuple[Mapping[str, object], TableHistory]:
    """Return an example without layout markers, and its table."""
    number, actual, expected = row["table"], row["actual"], row["expected"]
    assert isinstance(number, int)
    if number > NO_TABLE:
        return row, timeline.tables[number]
    sides = {side: value for side, value in (("actual", actual), ("expected", expected)) if isinstance(value, bytes)}
    layout = skipped.layouts[number][next(iter(sides.values()))[:MARKER_SIZE]]
    return {**row, **{side: remove_marker(value) for side, value in sides.items()}}, layout_history(layout)


def _held_twice(
    row: Mapping[str, object], key: UniqueKey, timeline: TableTimeline, partitions: Sequence[TopicPartition]
) -> Violation:
    """Describe a value of a unique key that two rows have at once."""
    number, offset, ts, actual, expected = (
        row[name] for name in ("partition_index", "offset", "commit_ts", "actual", "expected")
    )
    assert isinstance(number, int) and isinstance(offset, int) and isinstance(ts, int)
    assert isinstance(actual, bytes) and isinstance(expected, bytes)
    one, other = row_image.cells_of(actual), row_image.cells_of(expected)
    count, name = len(key.identity), str(timeline.tables[key.table])
    rows = [", ".join(map(_shown, cells[:count])) for cells in (one, other)]
    value = ", ".join(f"{column} {_value(cell)}" for column, cell in zip(key.columns, one[count:], strict=True))
    spelled = ", ".join(map(_value, other[count:]))
    same = "" if other[count:] == one[count:] else f" as {spelled}"
    when = "before the stream" if ts == BEGIN else f"at {tso.describe(ts)}"
    what = f"{name}, row {rows[0]}: has {value} of {key} {when}, which row {rows[1]} has{same} at the same time"
    if number < 0:
        return Violation(str(row["check"]), "", None, None, what, name)
    return Violation(str(row["check"]), *partitions[number], offset, what, name)


def _difference(row: Mapping[str, object], history: TableHistory, partitions: Sequence[TopicPartition]) -> Violation:
    check, number, offset = str(row["check"]), row["partition_index"], row["offset"]
    assert isinstance(number, int) and isinstance(offset, int)
    describe = KEYED[check] if history.keyed else _times
    what = f"{history}, row {_key(row, history)}: {describe(row['actual'], row['expected'], history)}"  # type: ignore[arg-type]
    if number < 0:
        return Violation(check, "", None, None, what, str(history))
    return Violation(check, *partitions[number], offset, what, str(history))


def _key(row: Mapping[str, object], history: TableHistory) -> str:
    sides = (row["handle"],) if not history.keyed else (row["actual"], row["expected"])
    image = next(side for side in sides if side is not None)
    assert isinstance(image, bytes)
    cells = row_image.cells_of(image)
    names = [column.name for column in visible_columns(history.table)]
    key = handle_key(history.table) or tuple(names)
    return ", ".join(_shown(cells[names.index(name)]) for name in key)


def _shown(cell: bytes | None) -> str:
    if cell is None or cell == UNKNOWN_CELL:
        return "NULL" if cell is None else "?"
    text = cell.decode("utf-8", "backslashreplace")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({counted(len(text), 'character')})"


def _times(actual: bytes | None, expected: bytes | None, history: TableHistory) -> str:
    return f"is there {_shown(actual or b'0')} times, {_shown(expected or b'0')} expected"


def _unequal(actual: bytes, expected: bytes, history: TableHistory) -> list[tuple[str, str, str]]:
    """Return the columns in which two images differ, with both values."""
    names = (column.name for column in visible_columns(history.table))
    cells = zip(names, *map(row_image.cells_of, (actual, expected)), strict=True)
    return [
        (name, _value(one), _value(other))
        for name, one, other in cells
        if one != other and UNKNOWN_CELL not in (one, other)
    ]


def _value(cell: bytes | None) -> str:
    return "NULL" if cell is None else f"'{_shown(cell)}'"


def _different(actual: bytes, expected: bytes, history: TableHistory) -> str:
    return "; ".join(f"{name} is {one}, {other} expected" for name, one, other in _unequal(actual, expected, history))


def _old(actual: bytes, expected: bytes, history: TableHistory) -> str:
    unequal = _unequal(actual, expected, history)
    return "; ".join(f"{name} was {other}, the old image says {one}" for name, one, other in unequal)


KEYED: Mapping[str, Callable[[bytes, bytes, TableHistory], str]] = {
    "row-missing": lambda actual, expected, history: "is missing",
    "row-left": lambda actual, expected, history: "is there and should not be",
    "row-twice": lambda actual, expected, history: "is there more than once",
    "row-different": _different,
    "old-image": _old,
    "row-not-there": lambda actual, expected, history: "was changed or deleted, and was not there",
    "row-already-there": lambda actual, expected, history: "was inserted, and was there already",
    "two-changes": lambda actual, expected, history: "has two changes at one commit-ts that contradict each other",
}
"""Describes a difference in a table with a handle key, by check."""
