"""What a stream is replayed on, and what the rows that it leads to are held against.

One law: rows are compared where both sides are known; of all others it is said why not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from simulator.consumer.replay.frame import ImagePairSource
from simulator.consumer.replay.neighbours import TableKnowledge
from simulator.consumer.replay.outcome import ReplayOutcome, table_knowledge
from simulator.consumer.replay.states import snapshot_sources, state_table_numbers
from simulator.consumer.replay.table_timeline import StreamStatement, TableTimeline, table_timeline
from simulator.consumer.truth_metadata import TruthMetadata
from simulator.consumer.verify import truth_checks
from simulator.consumer.verify.checks import CHECKS
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.origin import StreamOrigin
from simulator.consumer.verify.verification import Example, Failure, NotChecked, TableCompared
from simulator.errors import uri_without_secrets
from simulator.sources import snapshots
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.filters.event_filters import event_filters
from simulator.tidb.model.table import Name


@dataclass(frozen=True)
class ReplayInputs:
    """A replay before it is done."""

    timeline: TableTimeline
    known: TableKnowledge
    sources: tuple[ImagePairSource, ...]
    """Of the rows before the stream and behind it."""

    until: int | None = None
    """The TSO at which rows are compared."""

    size: int = 0
    """Bytes of the snapshots."""


@dataclass(frozen=True)
class StreamStates:
    """The rows that are known before the stream, and those that are expected behind it."""

    before: Snapshot | None
    after: Snapshot | None
    empty: tuple[Name, ...]
    """Tables that are known to begin without rows, where the others are not known."""

    at: int | None
    """The TSO of the rows expected; None for the stream's end."""

    def timeline(self, statements: Iterable[StreamStatement]) -> TableTimeline:
        """The tables of a stream with these statements."""
        before = () if self.before is None else [entry.table for entry in self.before.tables]
        after = None if self.after is None else [entry.table for entry in self.after.tables]
        return table_timeline(statements, before, self.empty if self.before is None else None, after)

    def until(self, statements: Iterable[StreamStatement]) -> list[StreamStatement]:
        """Those that the rows expected have seen."""
        return [sent for sent in statements if self.at is None or sent.ts <= self.at]


def open_states(asked: VerifyOptions, truth: TruthMetadata | None) -> StreamStates:
    """Raises SnapshotError, and UserError for a truth that lost a file."""
    before = None if asked.before is None else snapshots.open(asked.before)
    directory = asked.truth or asked.after
    after = None if directory is None else snapshots.open(directory)
    if truth is not None and after is not None and asked.truth is not None:
        truth_checks.check_files(asked.truth, truth, file_counts(after))
    empty = () if truth is None else tuple(map(_name, truth.empty))
    return StreamStates(before, after, empty, None if truth is None else truth.watermark)


def replay_inputs(known: StreamStates, statements: Iterable[StreamStatement], restarts: bool) -> ReplayInputs:
    """The replay of a stream with these statements."""
    found = known.timeline(known.until(statements))
    sources: list[ImagePairSource] = []
    for snapshot, is_after in ((known.before, False), (known.after, True)):
        if snapshot is not None:
            sources += snapshot_sources(snapshot, found, is_after)
    ends = () if known.after is None else state_table_numbers(found, True).values()
    size = sum(snapshot.size for snapshot in (known.before, known.after) if snapshot is not None)
    return ReplayInputs(found, table_knowledge(found, tuple(ends), restarts), tuple(sources), known.at, size)


def file_counts(snapshot: Snapshot) -> dict[Name, int]:
    """How many files with rows each table has."""
    return {(entry.table.schema, entry.table.name): sum(map(len, entry.files.values())) for entry in snapshot.tables}


def _name(text: str) -> Name:
    schema, _, table = text.partition(".")
    return schema, table


CHANGES = frozenset(("old-image", "row-not-there", "row-already-there", "two-changes"))
"""Checks of one row change against those before it."""

MayBeFiltered = Callable[[str], bool]
"""Whether event filters may hold back statements or row changes of a table."""


def filter_check(made: StreamOrigin) -> MayBeFiltered:
    """As far as it is known which event filters there are."""
    changefeed = made.changefeed
    rules = event_filters(changefeed.event_filters, made.release, changefeed.case_sensitive).rules
    return lambda table: any(
        matcher.match(*_name(table)) for rule in rules for matcher in (rule.matcher, rule.row_matcher)
    )


def without_filtered_changes(
    outcome: ReplayOutcome, held_back: MayBeFiltered
) -> tuple[ReplayOutcome, tuple[NotChecked, ...]]:
    """Without what row changes say of those before them, where these may have been held back."""
    tables = sorted({table for check, table in outcome.counts if check in CHANGES and held_back(table)})
    if not tables:
        return outcome, ()
    kept = {
        (check, table): count
        for (check, table), count in outcome.counts.items()
        if check not in CHANGES or table not in tables
    }
    examples = tuple(each for each in outcome.examples if (each.check, each.table) in kept)
    why = "event filters hold back statements or rows of it, and what was there before a change is not told"
    left = tuple(NotChecked(f"whether row changes of {table} follow from each other", why) for table in tables)
    return replace(outcome, counts=kept, examples=examples), left


ENDS = frozenset(("row-missing", "row-left", "row-different"))
"""Checks of rows where the stream ends."""


def without_end_checks(outcome: ReplayOutcome) -> tuple[ReplayOutcome, tuple[NotChecked, ...]]:
    """Without the rows where the stream ends: it does not reach those that are expected."""
    counts = {kind: count for kind, count in outcome.counts.items() if kind[0] not in ENDS}
    examples = tuple(each for each in outcome.examples if each.check not in ENDS)
    why = "the stream does not reach them yet"
    left = (NotChecked("the rows that are expected", why),) if outcome.tables else ()
    return replace(outcome, counts=counts, examples=examples, tables=()), left


def failures(outcome: ReplayOutcome, of: str = "") -> Iterator[Failure]:
    """What is wrong with rows, by check; `of` is what a consumer wrote down."""
    tables: dict[str, dict[str, int]] = {}
    for (check, table), count in outcome.counts.items():
        tables.setdefault(check, {})[table] = count
    for check in sorted(tables, key=list(CHECKS).index):
        examples = tuple(
            Example(
                "" if each.place is None else each.place[0],
                None if each.place is None else each.place[1],
                each.offset,
                each.what,
            )
            for each in outcome.examples
            if each.check == check
        )
        yield Failure(check, dict(sorted(tables[check].items(), key=lambda item: (-item[1], item[0]))), examples, of)


def compared(outcome: ReplayOutcome, of: str = "") -> tuple[TableCompared, ...]:
    """The tables whose rows are expected."""
    return tuple(
        TableCompared(each.table, each.expected, each.found, each.missing, each.left, each.different, of)
        for each in outcome.tables
    )


def expected_in(asked: VerifyOptions) -> str:
    """What rows are held against, for people; empty for nothing."""
    if asked.truth is not None:
        return f"the truth in {asked.truth}"
    return "" if asked.after is None else f"the snapshot in {uri_without_secrets(asked.after)}"


BEGINNING = "nobody says with which rows the stream begins: --before DIR tells"


def not_checked(outcome: ReplayOutcome) -> Iterator[NotChecked]:
    """Tables whose rows cannot be replayed, and rows that only the beginning of the stream would tell."""
    for (table, why), count in sorted(outcome.not_compared.items()):
        rows = f"{count:,} row changes" if count else "the rows"
        yield NotChecked(f"what {rows} of {table} lead to" if table else f"what {rows} lead to", why)
    for each in outcome.tables:
        if each.found is None:
            expected = f", {each.untouched:,} of which are expected" if each.untouched else ""
            yield NotChecked(f"rows of {each.table} that no row change here is about{expected}", BEGINNING)
