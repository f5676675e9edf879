"""The result of a verification: the verdict and everything it is based on, as the summaries of all partitions add up to it.

All failures are counted, even if few are shown, and what was not checked is listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from simulator.limits import counted
from simulator.reader.contract import CHECKS, NEVER, CheckAndTable, PartitionSummary, Violation
from simulator.reader.contract.across_partitions import last_watermark
from simulator.reader.replay.outcome import TableCompared
from simulator.tidb.model.table import Name

UNKNOWN = "how the stream was made is not known: --sink-uri, with --config, or --truth tells"

RIGHT, UNPROVED, WRONG, UNFINISHED = "right", "unproved", "wrong", "unfinished"
"""Verdicts: everything agrees; nothing is wrong, but some tables, statements or columns could not be compared; something
is wrong; nothing is wrong so far, but the stream ends before the expected rows."""


@dataclass(frozen=True)
class AssumedSetting:
    """A property of the changefeed that the verification assumed."""

    name: str
    value: str
    told_by: str
    """Where it comes from: `--release`, `the truth`, `the stream`, `the default` and the like."""


@dataclass(frozen=True)
class PartitionProgress:
    offset: int
    timestamp: int
    """Of the record, in milliseconds since 1970."""

    watermark: int
    newest: int
    """The greatest commit-ts of its rows so far; 0 before the first."""


@dataclass(frozen=True)
class PartitionRead:
    topic: str
    partition: int
    first_offset: int | None
    """None if it is empty."""

    next_offset: int
    """The offset after the last record that was read."""

    records: int
    bytes: int
    """Of keys and values."""

    rows: int
    statements: int
    watermarks: int
    repeated: int
    """Number of repeated row changes."""

    unreadable: int
    watermark: int
    """The last one; 0 for none."""

    newest: int
    """The greatest commit-ts of a row; 0 for none."""

    moments: tuple[PartitionProgress, ...] = ()
    """Some of its watermarks, including the first and the last."""


@dataclass(frozen=True)
class Failure:
    check: str
    """Its name in `CHECKS`."""

    tables: Mapping[str, int]
    """Count by table; the empty name is for failures without a table."""

    examples: tuple[Violation, ...]
    """Some, in the order of the stream."""

    of: str = ""
    """The consumer's location if the failure is about its tables; empty for the stream."""

    @property
    def point(self) -> int:
        """Return the point of the contract; 0 for an invalid message."""
        return CHECKS[self.check].point

    @property
    def says(self) -> str:
        return CHECKS[self.check].says

    @property
    def count(self) -> int:
        return sum(self.tables.values())


@dataclass(frozen=True)
class NotChecked:
    what: str
    why: str
    leaves_open: bool = True
    """Whether rows, statements or columns remain uncompared by it. Otherwise it is a property of the changefeed that
    nobody tells, or that messages cannot show."""


@dataclass(frozen=True)
class Verification:
    """The result of a finished verification."""

    source: str
    """Of the stream; empty if only the consumer's tables were compared."""

    against: str
    """The consumer's tables; empty if none were given."""

    expected: str
    """The source of the expected rows: `the truth in DIR` and the like; empty for none."""

    settings: tuple[AssumedSetting, ...]
    partitions: tuple[PartitionRead, ...]
    tables: Mapping[str, Mapping[str, int]]
    """Row changes by table and kind: INSERT, UPDATE, DELETE."""

    failures: tuple[Failure, ...]
    compared: tuple[TableCompared, ...]
    not_checked: tuple[NotChecked, ...] = ()
    notes: tuple[str, ...] = ()
    watermark: int = 0
    """The watermark up to which every partition is complete; 0 for none."""

    wanted: int = 0
    """The watermark that the stream should reach; 0 if unknown."""

    seconds: float = 0.0
    engine: str = "in process"
    began: float = field(default=0.0)
    """Start time, in seconds since 1970."""

    @property
    def verdict(self) -> str:
        if self.failures:
            return WRONG
        if self.source and self.watermark < self.wanted:
            return UNFINISHED
        return UNPROVED if self.unproved else RIGHT

    @property
    def unproved(self) -> tuple[NotChecked, ...]:
        """Return what could not be compared and leaves the verdict open."""
        return tuple(each for each in self.not_checked if each.leaves_open)

    @property
    def rows(self) -> int:
        return sum(place.rows for place in self.partitions)

    @property
    def records(self) -> int:
        return sum(place.records for place in self.partitions)

    @property
    def wrong(self) -> int:
        return sum(failure.count for failure in self.failures)


MANY = 40
"""Number of tables that are listed."""


def failure_lines(verification: Verification) -> Iterator[str]:
    for failure in verification.failures:
        yield failure_heading(failure)
        yield from failure_details(failure)


def failure_heading(failure: Failure) -> str:
    point = f" (point {failure.point} of the contract)" if failure.point else ""
    where = f" in {failure.of}" if failure.of else ""
    return f"{failure.check}{point}{where}: {failure.says}: {failure.count:,}"


def failure_details(failure: Failure) -> Iterator[str]:
    """Yield the tables and examples of a failure, a line each."""
    named = [(table, count) for table, count in failure.tables.items() if table]
    if named:
        listed = ", ".join(f"{table} {count:,}" for table, count in named[:MANY])
        yield f"  by table: {listed}{f' and {len(named) - MANY} more tables' if len(named) > MANY else ''}"
    for example in failure.examples:
        yield f"  {example.place}: {example.what}" if example.place else f"  {example.what}"
    if failure.count > len(failure.examples):
        yield f"  … {failure.count - len(failure.examples):,} more"


FEW = 5
"""Number of tables that are listed."""


def partition_read(summary: PartitionSummary) -> PartitionRead:
    topic, partition = summary.place
    samples = summary.samples
    last = summary.last_offset
    return PartitionRead(
        topic,
        partition,
        summary.first_offset,
        0 if last is None else last + 1,
        summary.records,
        summary.size,
        sum(summary.rows.values()),
        len(summary.statements),
        len(summary.watermarks),
        summary.repeated,
        sum(summary.unreadable.values()),
        last_watermark(summary),
        max(0, summary.last_row),
        tuple(
            PartitionProgress(*(int(value) for value in moment))
            for moment in zip(samples.offset, samples.timestamp, samples.watermark, samples.row, strict=True)
            if moment[2] != NEVER
        ),
    )


def by_table(summaries: Iterable[PartitionSummary]) -> dict[str, Mapping[str, int]]:
    """Return row changes by table and kind."""
    tables: dict[str, Counter[str]] = {}
    for summary in summaries:
        for (table, kind), count in summary.rows.items():
            tables.setdefault(table, Counter())[kind] += count
    return dict(sorted(tables.items()))


def names(summaries: Iterable[PartitionSummary]) -> set[Name]:
    """Return the tables with row changes. A dot in a schema name cannot be recognised."""
    tables = {table for summary in summaries for table, _ in summary.rows}
    return {(schema, name) for table in tables for schema, _, name in [table.partition(".")]}


def failures(
    counts: Mapping[CheckAndTable, int], examples: Sequence[Violation], show: int | None = None, of: str = ""
) -> Iterator[Failure]:
    """Yield the failed checks in the order of the contract, each with at most `show` examples; `of` is the location of
    the consumer's tables, or empty."""
    tables: dict[str, dict[str, int]] = {}
    for (check, table), count in counts.items():
        tables.setdefault(check, {})[table] = count
    for check in sorted(tables, key=list(CHECKS).index):
        ordered = sorted(tables[check].items(), key=lambda item: (-item[1], item[0]))
        of_check = tuple(example for example in examples if example.check == check)
        yield Failure(check, dict(ordered), of_check[:show], of)


def unchecked(summaries: Iterable[PartitionSummary]) -> Iterator[NotChecked]:
    """Yield the rows whose partition could not be checked, by reason."""
    reasons: dict[str, Counter[str]] = {}
    for summary in summaries:
        for (table, why), count in summary.unchecked.items():
            reasons.setdefault(why, Counter())[table] += count
    for why, tables in sorted(reasons.items(), key=lambda item: -item[1].total()):
        names = [table for table, _ in tables.most_common(FEW)]
        more = f" and {len(tables) - FEW} more tables" if len(tables) > FEW else ""
        what = f"the partition of {counted(tables.total(), 'row')} of {', '.join(names)}{more}"
        yield NotChecked(what, why, why != UNKNOWN)
