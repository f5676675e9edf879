"""The snapshots around a stream, the failures of its replay, and the tables that a consumer wrote.

Rows are compared where both sides are known; for all others the reason is listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyarrow import RecordBatch

from simulator import files, tso
from simulator.engines.spark.master import chosen_master
from simulator.errors import UserError, mask_secrets, uri_without_secrets
from simulator.limits import counted
from simulator.reader.contract import NEVER
from simulator.reader.database_tables import EXAMPLES, is_database, open_tables
from simulator.reader.replay import ImagePairSource, SkippedChanges, merge_findings
from simulator.reader.replay.image_pairs import ABOVE
from simulator.reader.replay.outcome import ReplayOutcome, summarize_findings
from simulator.reader.replay.row_rules import TableKnowledge
from simulator.reader.replay.states import Gaps, SnapshotComparison, compare_snapshots, expected_rows
from simulator.reader.replay.stream_statements import StreamStatement
from simulator.reader.replay.table_timeline import NO_TABLE, TableHistory, TableTimeline, table_timeline
from simulator.reader.truth_metadata import Truth
from simulator.reader.verify.options import VerifyListener, VerifyOptions, engine_of, with_spark
from simulator.reader.verify.verification import NotChecked
from simulator.settings import IN_PROCESS, ON_SPARK
from simulator.sources import snapshots
from simulator.sources.snapshots import Snapshot
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.model.table import Name, Table
from simulator.tso import FOREVER


@dataclass(frozen=True)
class ReplayInputs:
    timeline: TableTimeline
    known: TableKnowledge
    sources: tuple[ImagePairSource, ...]
    """Sources of the rows before and after the stream."""

    until: int | None = None
    """The TSO at which rows are compared."""

    size: int = 0
    """Bytes of the snapshots."""


@dataclass(frozen=True)
class StreamStates:
    """The known rows before the stream, and the expected rows after it."""

    before: Snapshot | None
    after: Snapshot | None
    empty: tuple[Name, ...]
    """Tables that start without rows; the rows of others are unknown."""

    at: int | None
    """The TSO of the expected rows; None for the end of the stream."""

    emptied: frozenset[Key] = frozenset()
    """Tables that lost rows by statements which the stream does not have."""

    definitions: tuple[Table, ...] | None = None
    """The tables at the start of the stream, as a truth tells them; None if there is none."""

    headless: bool = False
    """Whether the stream begins in the middle, so that the rows of all tables are unknown there."""

    def timeline(self, statements: Iterable[StreamStatement]) -> TableTimeline:
        before = self.definitions if self.before is None else [entry.table for entry in self.before.tables]
        after = None if self.after is None else [entry.table for entry in self.after.tables]
        timeline = table_timeline(statements, before, self.empty if self.before is None else None, after)
        timeline = timeline.without_rows_of(self.emptied, EMPTIED)
        return timeline.with_unknown_rows() if self.headless and self.before is None else timeline

    def until(self, statements: Iterable[StreamStatement]) -> list[StreamStatement]:
        return [sent for sent in statements if self.at is None or sent.ts <= self.at]


def open_states(options: VerifyOptions, truth: Truth | None) -> StreamStates:
    """Open the snapshots; raises SnapshotError, and UserError for a truth that lost a file."""
    before = None if options.before is None else _open(options.before, options)
    after = _open_expected(options) if options.truth or options.after else None
    if truth is not None and after is not None:
        truth.check_files(file_counts(after))
    if truth is None:
        return StreamStates(before, after, (), None)
    emptied = frozenset(object_key(*split_name(name)) for name in truth.emptied)
    empty = tuple(map(split_name, truth.empty))
    return StreamStates(before, after, empty, truth.watermark, emptied, truth.start_tables())


def _open_expected(options: VerifyOptions) -> Snapshot:
    """Open the truth, or what the user says in its place."""
    return snapshots.open(options.truth) if options.truth is not None else _open(str(options.after), options)


def _open(location: str, options: VerifyOptions, tables: Iterable[Table] = ()) -> Snapshot:
    return snapshots.open(location, options.format.csv, tables, options.format.charset)


def file_counts(snapshot: Snapshot) -> dict[Name, int]:
    return {(entry.table.schema, entry.table.name): sum(map(len, entry.files.values())) for entry in snapshot.tables}


def split_name(text: str) -> Name:
    schema, _, table = text.partition(".")
    return schema, table


EMPTIED = "a statement took rows out of it, and no message tells"


def untimed_changes(untimed: int, timed: bool, restarts: bool) -> Iterator[NotChecked]:
    """Yield what remains open of a stream with row changes that have no commit-ts; `timed` is whether others have."""
    if untimed:
        rows = counted(untimed, "DELETE" if timed else "row change")
        more = "" if timed else " without enable-tidb-extension"
        why = f"messages do not have it{more}: they count where they are in their partition"
        yield NotChecked(f"the commit-ts of {rows}", why, False)
    if restarts:
        why = "a repeated change cannot be told from another one: --no-restarts says that nothing comes again"
        yield NotChecked("whether UPDATEs and DELETEs find their rows, and INSERTs none", why, False)


def expected_in(options: VerifyOptions) -> str:
    """Return the source of the expected rows for people; empty for none."""
    if options.truth is not None:
        return f"the truth in {options.truth}"
    return "" if options.after is None else f"the snapshot in {uri_without_secrets(options.after)}"


UNTOLD = "messages do not have them, or not exactly"
BEGINNING = "nobody says with which rows the stream begins: --before DIR tells"


def not_checked(outcome: ReplayOutcome, all_sent: bool) -> Iterator[NotChecked]:
    """Yield tables whose rows cannot be replayed, and rows that only the start of the stream would show.

    `all_sent` is whether the truth tells how many row changes were sent, so that none of these rows can have lost one.
    """
    for (table, why), count in sorted(outcome.not_compared.items()):
        rows = counted(count, "row change") if count else "the rows"
        yield NotChecked(f"what {rows} of {table} lead to" if table else f"what {rows} lead to", why, why != ABOVE)
    for table, columns in outcome.unknown.items():
        listed = ", ".join(f"{name} ({count:,})" for name, count in columns.items())
        yield NotChecked(f"values of {table}: {listed}", UNTOLD)
    for (table, key), why in sorted(outcome.keys.items()):
        yield NotChecked(f"whether two rows of {table} have one value of the unique key {key}", why, False)
    for each in outcome.tables:
        if each.found is None:
            expected = f", {each.untouched:,} of which are expected" if each.untouched else ""
            what = f"rows of {each.table} that no row change here is about{expected}"
            yield NotChecked(what, BEGINNING, not all_sent)


Tables = Mapping[Name, Table]
"""By schema and name, as in messages."""


def table_definitions(timeline: TableTimeline, until: int = FOREVER) -> tuple[Tables, tuple[tuple[int, Tables], ...]]:
    """Return the tables at the start of the stream, and the tables after each statement that changes them, with its
    commit-ts.

    `until` is the time for which inferred tables are known. A table whose final definition alone is known counts as
    known from the last statement about it on.
    """
    changes: dict[int, dict[Key, Table | None]] = {NEVER: {}}
    for place, spans in timeline.names.items():
        for (since, number), (end, _) in zip(spans, [*spans[1:], (FOREVER, NO_TABLE)], strict=True):
            changes.setdefault(since, {})[place] = None
            if number != NO_TABLE:
                touched = timeline.touched(place)
                last = int(max(touched[touched <= until], default=NEVER))
                for start, table in _definitions_of_name(timeline.tables[number], since, end, last):
                    changes.setdefault(start, {})[place] = table
    now: dict[Key, Table] = {}
    versions: list[tuple[int, Tables]] = []
    for ts in sorted(changes):
        now = {place: table for place, table in {**now, **changes[ts]}.items() if table is not None}
        versions.append((ts, {(table.schema, table.name): table for table in now.values()}))
    return versions[0][1], tuple(versions[1:])


def _definitions_of_name(history: TableHistory, since: int, until: int, touched: int) -> Iterator[tuple[int, Table]]:
    """Yield the definitions of a table while it has a name, each with its first commit-ts there."""
    begin = max(since, touched) if history.lenient else since
    starts = [max(begin, definition.since) for definition in history.definitions]
    for definition, start, end in zip(history.definitions, starts, [*starts[1:], FOREVER], strict=True):
        if start < min(end, until):
            yield start, definition.table


JDBC = "jdbc:"


def compare_consumer_tables(
    options: VerifyOptions, truth: Truth | None, listener: VerifyListener
) -> tuple[ReplayOutcome, Gaps]:
    """Return the differences, and what is not compared; raises UserError for rows of another watermark."""
    location, expected = options.against or "", _open_expected(options)
    if truth is not None:
        truth.check_files(file_counts(expected))
    listener.stage(f"comparing {display_location(location)}")
    compare = _reader_of(location)
    if compare is not None:
        outcome, gaps = compare(options, location, expected)
    else:
        actual = _open(location, options, [entry.table for entry in expected.tables])
        _check_watermark(truth, actual)
        comparison = compare_snapshots(expected, actual)
        batches = engine_of(options.master, expected.size + actual.size).replay(
            comparison.sources, comparison.expected, options.show, lambda value: None
        )
        outcome, gaps = _outcome(batches, comparison, options), comparison.gaps
    return without_tables(outcome, gaps.set_aside), gaps


Found = tuple[ReplayOutcome, Gaps]


def _reader_of(location: str) -> Callable[[VerifyOptions, str, Snapshot], Found] | None:
    """Return what compares a database; None for a snapshot. Raises UserError for the URL of anything else."""
    if location.startswith(JDBC):
        return _behind_jdbc
    if is_database(location):
        return _in_database
    scheme, separator, _ = location.partition("://")
    if separator and not files.has_driver(scheme):
        raise UserError(
            f"--against {display_location(location)}: unknown scheme {scheme!r}: accepted are a snapshot (a directory, or "
            f"a URI such as s3://bucket/directory), {EXAMPLES}, and jdbc:… through Spark"
        )
    return None


def _outcome(batches: list[RecordBatch], comparison: SnapshotComparison, options: VerifyOptions) -> ReplayOutcome:
    return summarize_findings(
        merge_findings(batches, options.show), comparison.timeline, comparison.expected, SkippedChanges(), ()
    )


def _in_database(options: VerifyOptions, url: str, expected: Snapshot) -> Found:
    """Compare tables that SQLAlchemy reads."""
    comparison = expected_rows(expected)
    found = open_tables(url, comparison.timeline)
    unreadable = Gaps()

    def report(left: object) -> None:
        nonlocal unreadable
        assert isinstance(left, Gaps)
        unreadable += left

    batches = engine_of(options.master, 2 * expected.size).replay(
        [*found.sources, *comparison.sources], comparison.expected, options.show, report
    )
    return _outcome(batches, comparison, options), found.gaps + unreadable


def _behind_jdbc(options: VerifyOptions, url: str, expected: Snapshot) -> Found:
    """Compare tables behind a JDBC URL, which Spark reads."""
    if options.master == IN_PROCESS:
        raise UserError(
            f"--master none reads no database: --against {display_location(url)} needs Spark, --master {ON_SPARK!r}"
        )
    if options.jdbc_driver is not None and not options.jdbc_driver.is_file():
        raise UserError(f"--jdbc-driver {options.jdbc_driver} is no file: a driver's JAR is accepted")
    comparison = expected_rows(expected)

    def compare(spark: Any) -> Found:
        from simulator.reader import on_spark

        batches, gaps = on_spark.compare_jdbc(spark, url, comparison, options.show, expected.size)
        return _outcome(batches, comparison, options), gaps

    jars = () if options.jdbc_driver is None else (options.jdbc_driver,)
    return with_spark(chosen_master(options.master, False), expected.size, compare, jars)


def without_tables(outcome: ReplayOutcome, tables: frozenset[str]) -> ReplayOutcome:
    """Remove what was found of tables whose rows cannot be compared."""
    return replace(
        outcome,
        counts={kind: count for kind, count in outcome.counts.items() if kind[1] not in tables},
        examples=tuple(each for each in outcome.examples if each.table not in tables),
        tables=tuple(each for each in outcome.tables if each.table not in tables),
    )


def display_location(location: str) -> str:
    return mask_secrets(location) if location.startswith(JDBC) else uri_without_secrets(location)


def _check_watermark(truth: Truth | None, actual: Snapshot) -> None:
    if truth is not None and actual.start_ts is not None and actual.start_ts != truth.watermark:
        raise UserError(
            f"{actual.path} says that it is of {tso.describe(actual.start_ts)}, and {truth.directory} is the truth of "
            f"{tso.describe(truth.watermark)}: give the truth of the same watermark (--truth with --at "
            f"{actual.start_ts} writes it)"
        )
