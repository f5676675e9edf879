"""The contract between TiCDC and a consumer (docs/verify.md), checked on a recorded stream.

`checks` reads each partition once, in offset order, to a summary that is enough to compare it with the others, however long
it is, as `across_partitions` does. Violations of the contract are counted by check and table, and the first of each are kept
as examples.

Several tasks may check the pieces of a partition at the same time. Each reads some records before its piece, which tell the
state of the checks where the piece begins. If that is the state in which the piece before ends, the findings are those of
one task that reads everything; otherwise they are not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.reader.records import TopicPartition
from simulator.reader.truth_metadata import BroadcastDdl

SHOW = 10
"""Default number of examples of each check and table."""

REASONS = 100
"""Maximum number of different reasons why records cannot be read."""

MOST_SAMPLES = 1000

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
    "bootstrap-missing": Check(5, "a message with a table's schema that should be there and is not"),
    "bootstrap-unexpected": Check(5, "a message with a table's schema where TiCDC sends none"),
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


NEVER = -1
"""Below every commit-ts."""

DescribedTable: TypeAlias = "tuple[str, int, int]"
"""`db.table`, version and id of a table in a message with its schema; 0 for an id that the message does not have."""

TableSpan: TypeAlias = "tuple[str, int, int | None]"
"""`db.table`, how many statements on it were before, and the ordinal of its partition, if that has an id of its own."""

Ids: TypeAlias = "tuple[tuple[str, int], ...]"
"""The names and numbers of ids and versions in a message."""

TABLE_ID = "tableID"
"""The name of a table's id, in rows and in messages with its schema."""


@dataclass(frozen=True)
class ProgressSamples:
    """Progress of a partition at some of its records, in order, for a chart."""

    offset: Ints
    timestamp: Ints
    """Of the record, in milliseconds; -1 if unknown."""

    watermark: Ints
    """The highest so far; -1 for none."""

    row: Ints
    """The highest commit-ts of a row so far; -1 for none."""


def _none() -> Ints:
    return np.zeros(0, np.int64)


@dataclass
class PartitionSummary:
    place: TopicPartition
    records: int = 0
    size: int = 0
    """Bytes of keys and values."""

    first_offset: int | None = None
    last_offset: int | None = None
    watermarks: Ints = field(default_factory=_none)
    """Each watermark once, ascending."""

    statements: tuple[BroadcastDdl, ...] = ()
    """Each statement once, in order of arrival."""

    rows: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of row changes by `db.table` and operation, including repeated ones."""

    bootstraps: Counter[DescribedTable] = field(default_factory=Counter)
    """Number of messages with a table's schema."""

    first_bootstraps: dict[DescribedTable, int] = field(default_factory=dict)
    """The offset of the first one."""

    first_told: dict[DescribedTable, int] = field(default_factory=dict)
    """The offset of the first statement that gave a table this version or id."""

    told_ids: set[tuple[str, int]] = field(default_factory=set)
    """`db.table` and the ids of the tables in statements."""

    row_ids: dict[TableSpan, dict[Ids, int]] = field(default_factory=dict)
    """The ids that rows of a table have between two statements, each with the offset of a row."""

    repeated: int = 0
    """Number of repeated row changes."""

    exact: bool = True
    """Whether all row changes so far tell their commit-ts."""

    whole: int = 0
    """Number of row changes whose messages were compared as a whole."""

    untimed: int = 0
    """Number of row changes without a commit-ts, in protocols where they may have none."""

    repeated_statements: int = 0
    low: int = NEVER
    """The lowest commit-ts or watermark."""

    first_row: int = NEVER
    """The lowest commit-ts of a row."""

    last_row: int = NEVER
    """The highest."""

    last_event: tuple[int, bool] = (NEVER, False)
    """The highest commit-ts of a row or statement, and whether it is a statement that moves tables out of the topic, or one
    that does may have been held back by event filters."""

    headless: bool = False
    """Whether the recording starts in the middle, so that earlier records are missing."""

    unchecked: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of rows that could not be checked, by `db.table` and reason."""

    bare_deletes: int = 0
    """Number of DELETEs whose messages have neither key nor value (`StreamSpec.bare_deletes`)."""

    unreadable: Counter[str] = field(default_factory=Counter)
    """Number of unreadable messages by reason."""

    notes: tuple[str, ...] = ()
    found: Violations = Violations()
    samples: ProgressSamples = field(default_factory=lambda: ProgressSamples(_none(), _none(), _none(), _none()))


BELOW = frozenset(("row-below-watermark", "ddl-below-watermark"))
"""Checks of events that depend on more than the state of `PartitionChecks`."""


@dataclass(frozen=True)
class CheckedPiece:
    summary: PartitionSummary
    """Of the piece alone."""

    begin: bytes | None
    """The state where it begins; None if it is not known."""

    end: bytes | None


def joined_pieces(pieces: Sequence[CheckedPiece], show: int = SHOW) -> PartitionSummary | None:
    """Return the summary of the partition with these pieces, in order; None if they do not fit."""
    first, *others = (piece.summary for piece in pieces)
    if any(before.end is None or before.end != after.begin for before, after in pairwise(pieces)):
        return None
    if any(check in BELOW for other in others for check, _ in other.found.counts):
        return None
    every = [first, *others]
    statements = tuple(dict.fromkeys(ddl for each in every for ddl in each.statements))
    offsets = [each for each in every if each.first_offset is not None]
    return replace(
        first,
        records=sum(each.records for each in every),
        size=sum(each.size for each in every),
        first_offset=offsets[0].first_offset if offsets else None,
        last_offset=offsets[-1].last_offset if offsets else None,
        watermarks=np.unique(np.concatenate([each.watermarks for each in every])),
        statements=statements,
        rows=sum((each.rows for each in every), Counter()),
        bootstraps=sum((each.bootstraps for each in every), Counter()),
        first_bootstraps=_firsts(each.first_bootstraps for each in every),
        first_told=_firsts(each.first_told for each in every),
        told_ids=set().union(*(each.told_ids for each in every)),
        row_ids=_row_ids(every),
        repeated=sum(each.repeated for each in every),
        bare_deletes=sum(each.bare_deletes for each in every),
        exact=all(each.exact for each in every),
        whole=sum(each.whole for each in every),
        untimed=sum(each.untimed for each in every),
        repeated_statements=sum(each.repeated_statements + len(each.statements) for each in every) - len(statements),
        low=_lowest([each.low for each in every]),
        first_row=_lowest([each.first_row for each in every]),
        last_row=max(each.last_row for each in every),
        last_event=max(each.last_event for each in every),
        headless=bool(offsets) and offsets[0].headless,
        unchecked=sum((each.unchecked for each in every), Counter()),
        unreadable=_reasons(every),
        found=merge_violations([each.found for each in every], show),
        samples=_samples([each.samples for each in every]),
    )


def _lowest(times: Sequence[int]) -> int:
    return min((ts for ts in times if ts != NEVER), default=NEVER)


def _firsts(parts: Iterable[Mapping[DescribedTable, int]]) -> dict[DescribedTable, int]:
    found: dict[DescribedTable, int] = {}
    for table, offset in (item for each in parts for item in each.items()):
        found.setdefault(table, offset)
    return found


def _row_ids(summaries: Sequence[PartitionSummary]) -> dict[TableSpan, dict[Ids, int]]:
    found: dict[TableSpan, dict[Ids, int]] = {}
    for span, ids in (item for each in reversed(summaries) for item in each.row_ids.items()):
        found.setdefault(span, {}).update(ids)
    return found


def _reasons(summaries: Sequence[PartitionSummary]) -> Counter[str]:
    reasons = Counter[str]()
    for why, count in (item for each in summaries for item in each.unreadable.items()):
        reasons[why if why in reasons or len(reasons) < REASONS else "other"] += count
    return reasons


def _samples(parts: Sequence[ProgressSamples]) -> ProgressSamples:
    offset, timestamp, watermark, row = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("offset", "timestamp", "watermark", "row")
    )
    stride = -(-len(offset) // MOST_SAMPLES) or 1
    tops = np.maximum.accumulate(row) if len(row) else row
    return ProgressSamples(offset[::stride], timestamp[::stride], watermark[::stride], tops[::stride])
