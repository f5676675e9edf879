"""What a replay led to: differences in words, and what could not be compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from simulator.columns import row_image
from simulator.consumer.frame import UNTOLD
from simulator.consumer.records import Place
from simulator.consumer.replay.findings import Findings, merged
from simulator.consumer.replay.image_pairs import Unreplayed
from simulator.consumer.replay.neighbours import Expected
from simulator.consumer.replay.table_timeline import NOWHERE, History, Timeline
from simulator.consumer.replay.undefined_tables import MARK, bare, history_of
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import visible_columns

LONGEST = 120
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class Difference:
    """A row that is not as it should be."""

    check: str
    table: str
    place: Place | None
    """None for what is in no message."""

    offset: int | None
    what: str


@dataclass(frozen=True)
class TableOutcome:
    """The rows of a table, as the stream leaves them, and as they are expected."""

    table: str
    expected: int
    found: int | None
    """None where the stream does not tell, since nobody knows what the table began with."""

    missing: int
    left: int
    different: int
    untouched: int
    """Rows that are expected, and of which the stream says nothing."""


@dataclass(frozen=True)
class Outcome:
    """What a replay found."""

    counts: Mapping[tuple[str, str], int]
    """By check and table, all of them."""

    examples: tuple[Difference, ...]
    """Some of each."""

    tables: tuple[TableOutcome, ...]
    """Those whose rows are expected, by name."""

    not_compared: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By table (empty for all) and why: of how many row changes nothing can be told; 0 where that is not counted."""


COUNTED = ("expected", "found", "untouched")
"""What is counted and no difference."""


def expected_of(timeline: Timeline, after: Collection[int], restarts: bool = True) -> Expected:
    """What is known of the tables; `after` are the numbers of those whose rows in the end are known."""
    tables = timeline.tables
    return Expected(
        np.array([len(visible_columns(history.table)) for history in tables], np.int64),
        np.array([history.keyed for history in tables], np.bool_),
        np.array([history.known for history in tables], np.bool_),
        np.array([number in after for number in range(len(tables))], np.bool_),
        restarts,
    )


def outcome(
    batches: Iterable[pa.RecordBatch],
    timeline: Timeline,
    expected: Expected,
    left: Unreplayed,
    places: Sequence[Place],
    show: int,
) -> Outcome:
    """What FINDINGS say; `places` are the partitions by their numbers. Of tables of which row changes were left out
    nothing can be said."""
    findings = merged(batches, show)
    doubtful = {number for number, _, _ in left.rows if number != NOWHERE}
    doubtful |= {number for number, history in enumerate(timeline.tables) if history.odd}
    counts: dict[tuple[str, str], int] = {}
    for (check, number), count in findings.counts.items():
        if check not in COUNTED and number not in doubtful:
            failed = check, _name(number, timeline, left)
            counts[failed] = counts.get(failed, 0) + count
    examples = [
        _difference(*_read(row, timeline, left), places)
        for (_, number), batch in sorted(findings.examples.items())
        if number not in doubtful
        for row in batch.to_pylist()
    ]
    why = {(str(history), history.odd): 0 for history in timeline.tables if history.odd}
    for (_, name, reason), count in left.rows.items():
        why[name, reason] = why.get((name, reason), 0) + count
    compared = [
        _table(findings, number, history, bool(expected.known[number]))
        for number, history in enumerate(timeline.tables)
        if expected.ends[number] and number not in doubtful
    ]
    return Outcome(counts, tuple(examples), tuple(sorted(compared, key=lambda each: each.table)), why)


def _table(findings: Findings, number: int, history: History, known: bool) -> TableOutcome:
    counts = findings.counts
    names = ("row-missing", "row-left", "row-different", "untouched")
    return TableOutcome(
        str(history),
        counts["expected", number],
        counts["found", number] if known else None,
        *(counts[name, number] for name in names),
    )


def _name(number: int, timeline: Timeline, left: Unreplayed) -> str:
    if number > NOWHERE:
        return str(timeline.tables[number])
    layout = next(iter(left.layouts[number].values()))
    return f"{layout.schema}.{layout.table}"


def _read(row: Mapping[str, object], timeline: Timeline, left: Unreplayed) -> tuple[Mapping[str, object], History]:
    """An example with its table; without marks where nobody defines that."""
    number, found, wanted = row["table"], row["found"], row["wanted"]
    assert isinstance(number, int)
    if number > NOWHERE:
        return row, timeline.tables[number]
    sides = {side: value for side, value in (("found", found), ("wanted", wanted)) if isinstance(value, bytes)}
    layout = left.layouts[number][next(iter(sides.values()))[:MARK]]
    return {**row, **{side: bare(value) for side, value in sides.items()}}, history_of(layout)


def _difference(row: Mapping[str, object], history: History, places: Sequence[Place]) -> Difference:
    number, offset = row["place"], row["offset"]
    assert isinstance(number, int)
    place = places[number] if number >= 0 else None
    words = _words(str(row["check"]), row, history)
    assert isinstance(offset, int)
    return Difference(str(row["check"]), str(history), place, offset if place else None, words)


def _words(check: str, row: Mapping[str, object], history: History) -> str:
    if history.keyed:
        say = KEYED[check]
    else:
        say = _times
    return f"{history}, row {_key(row, history)}: {say(row['found'], row['wanted'], history)}"  # type: ignore[arg-type]


def _key(row: Mapping[str, object], history: History) -> str:
    image = row["handle"] if not history.keyed else row["found"] or row["wanted"]
    assert isinstance(image, bytes)
    cells = row_image.cells_of(image)
    names = [column.name for column in visible_columns(history.table)]
    key = handle_key(history.table) or tuple(names)
    return ", ".join(_shown(cells[names.index(name)]) for name in key)


def _shown(cell: bytes | None) -> str:
    if cell is None or cell == UNTOLD:
        return "NULL" if cell is None else "?"
    text = cell.decode("utf-8", "backslashreplace")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _times(found: bytes | None, wanted: bytes | None, history: History) -> str:
    return f"is there {_shown(found or b'0')} times, {_shown(wanted or b'0')} expected"


def _unequal(found: bytes, wanted: bytes, history: History) -> list[tuple[str, str, str]]:
    """Columns in which two images differ, with both values."""
    names = (column.name for column in visible_columns(history.table))
    cells = zip(names, *map(row_image.cells_of, (found, wanted)), strict=True)
    return [
        (name, _value(one), _value(other)) for name, one, other in cells if one != other and UNTOLD not in (one, other)
    ]


def _value(cell: bytes | None) -> str:
    return "NULL" if cell is None else f"'{_shown(cell)}'"


def _different(found: bytes, wanted: bytes, history: History) -> str:
    return "; ".join(f"{name} is {one}, {other} expected" for name, one, other in _unequal(found, wanted, history))


def _old(found: bytes, wanted: bytes, history: History) -> str:
    unequal = _unequal(found, wanted, history)
    return "; ".join(f"{name} was {other}, the old image says {one}" for name, one, other in unequal)


KEYED: Mapping[str, Callable[[bytes, bytes, History], str]] = {
    "row-missing": lambda found, wanted, history: "is missing",
    "row-left": lambda found, wanted, history: "is there and should not be",
    "row-twice": lambda found, wanted, history: "is there more than once",
    "row-different": _different,
    "old-image": _old,
    "row-not-there": lambda found, wanted, history: "was changed or deleted, and was not there",
    "row-already-there": lambda found, wanted, history: "was inserted, and was there already",
    "two-changes": lambda found, wanted, history: "has two changes at one commit-ts that contradict each other",
}
"""What is wrong with a row of a table with a handle key, by check."""
