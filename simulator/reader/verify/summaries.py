"""What the summaries of all partitions add up to: how far each was read, row counts, and the common watermark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from simulator.quantities import counted
from simulator.reader.contract.summary import NEVER, PartitionSummary
from simulator.reader.contract.violations import CHECKS, CheckAndTable, Violation
from simulator.reader.verify.origin import UNKNOWN
from simulator.reader.verify.verification import Failure, NotChecked, PartitionProgress, PartitionRead
from simulator.tidb.model.table import Name

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


def last_watermark(summary: PartitionSummary) -> int:
    """Return the last watermark, or 0."""
    return int(summary.watermarks[-1]) if len(summary.watermarks) else 0


def complete(summaries: Iterable[PartitionSummary]) -> int:
    """Return the watermark that every partition has reached, without topics that all their tables left; 0 for none."""
    all_summaries = list(summaries)
    ends: dict[str, tuple[int, bool]] = {}
    for summary in all_summaries:
        topic = summary.place[0]
        ends[topic] = max(summary.last_event, ends.get(topic, summary.last_event))
    active = [summary for summary in all_summaries if not ends[summary.place[0]][1]]
    return min(map(last_watermark, active or all_summaries), default=0)


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
