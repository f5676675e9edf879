"""What a stream does not tell of its tables, and the findings of its replay that nothing proves therefore.

Not every statement that changes rows is in a stream: some protocols have none, releases leave some out, and event
filters hold some back, as they do with rows. A truth knows of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from simulator.reader.contract import Violations
from simulator.reader.contract.stream_spec import UNKNOWN_RELEASE, StreamSpec
from simulator.reader.replay.outcome import ReplayOutcome
from simulator.reader.replay.states import state_table_numbers
from simulator.reader.replay.stream_statements import StreamStatement, exchanged_tables, renames
from simulator.reader.replay.table_timeline import TableTimeline
from simulator.reader.truth_metadata import Truth
from simulator.reader.verify.comparison import split_name
from simulator.reader.verify.origin import StreamOrigin
from simulator.reader.verify.verification import NotChecked, Verification
from simulator.releases import Release
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.dispatch import router, topic_of
from simulator.ticdc.filters.event_filters import ALL_DML, ROW_KINDS, event_filters
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import Key, object_key

KEYS = frozenset(("unique-key",))
CHANGES = KEYS | {"old-image", "row-not-there", "row-already-there", "two-changes"}
"""Checks of a row change against earlier ones."""

ENDS = frozenset(("row-missing", "row-left", "row-different"))
"""Checks of rows at the end of the stream."""

MESSAGES = frozenset(("message-different", "cannot-dispatch", "wrong-partition"))
"""Checks of a row against the definition of its table."""

UNCOVERED = frozenset(("row-uncovered",))

SUMS = frozenset(("changes-missing", "changes-different"))
"""Checks of the number and the sums of a table's row changes."""

UNPROVED = {
    CHANGES: "whether row changes of {} follow from each other",
    ENDS: "the rows of {}",
    MESSAGES: "messages of rows of {}",
    SUMS: "whether all row changes of {} are there",
    UNCOVERED: "whether the files end where they are expected to{}",
}

OfTable = Callable[[str], bool]
"""Whether something is so of a table, `db.table`."""

HELD_BACK = "event filters hold back statements or rows of it, and what was there before a change is not told"
FILTERS = "event filters may hold back statements and rows, and which the changefeed has is not known: --config or --truth tells"
NOT_REACHED = "the stream does not reach them yet"
GROWN = "rows moved when a topic got more partitions, and DELETEs do not tell their commit-ts"

EVERYWHERE = frozenset((Action.DROP_TABLE, Action.TRUNCATE_TABLE, Action.DROP_SCHEMA, Action.MODIFY_COLUMN))
"""Statements that may change the rows of any table."""

OF_PARTITIONS = frozenset(
    (Action.DROP_TABLE_PARTITION, Action.TRUNCATE_TABLE_PARTITION, Action.EXCHANGE_TABLE_PARTITION)
)
"""Statements that move rows in and out of partitions, and so in and out of the table that one was exchanged for."""

OF_NAMES = frozenset((Action.RENAME_TABLE, Action.RENAME_TABLES, Action.RECOVER_TABLE))
"""Statements that bring a table to another name, or back."""

OF_KEYS = frozenset((Action.MULTI_SCHEMA_CHANGE,))
"""Statements that drop several keys of a table. Before TiDB had it, 6.2, DROP_INDEXES did, which no release sends."""

OF_COLUMNS = frozenset((Action.ADD_COLUMNS, Action.DROP_COLUMNS))
"""Statements that change the columns of messages."""


@dataclass(frozen=True)
class Excuse:
    """Findings that nothing proves."""

    checks: frozenset[str]
    of_table: OfTable
    why: str


def excused(outcome: ReplayOutcome, excuses: Iterable[Excuse]) -> tuple[ReplayOutcome, tuple[NotChecked, ...]]:
    """Return the outcome without findings that nothing proves, and these as not checked."""
    left: list[NotChecked] = []
    for excuse in excuses:
        found = {kind: count for kind, count in outcome.counts.items() if _excuses(excuse, *kind)}
        left += _not_proved(excuse, found)
        ends = {table for check, table in found if check in ENDS}
        outcome = replace(
            outcome,
            counts={kind: count for kind, count in outcome.counts.items() if kind not in found},
            examples=tuple(each for each in outcome.examples if (each.check, each.table) not in found),
            tables=tuple(each for each in outcome.tables if each.table not in ends),
        )
    return outcome, tuple(left)


def excused_messages(found: Violations, excuses: Iterable[Excuse]) -> tuple[Violations, tuple[NotChecked, ...]]:
    """Return the violations of messages without those that nothing proves, and these as not checked."""
    left: list[NotChecked] = []
    for excuse in excuses:
        unproved = {kind: count for kind, count in found.counts.items() if _excuses(excuse, *kind)}
        left += _not_proved(excuse, unproved)
        found = Violations(
            {kind: count for kind, count in found.counts.items() if kind not in unproved},
            tuple(each for each in found.shown if (each.check, each.table) not in unproved),
        )
    return found, tuple(left)


def _excuses(excuse: Excuse, check: str, table: str) -> bool:
    return check in excuse.checks and excuse.of_table(table)


def _not_proved(excuse: Excuse, found: dict[tuple[str, str], int]) -> Iterator[NotChecked]:
    for checks, what in UNPROVED.items():
        for table in sorted({table for check, table in found if check in checks}):
            counts = ", ".join(
                f"{check} ({count:,})"
                for (check, name), count in sorted(found.items())
                if name == table and check in checks
            )
            yield NotChecked(f"{what.format(table)}: {counts}", excuse.why)


def filter_check(origin: StreamOrigin) -> OfTable:
    """Return whether the known event filters may drop statements or row changes of a table."""
    changefeed = origin.changefeed
    rules = event_filters(changefeed.event_filters, origin.release, changefeed.case_sensitive).rules
    return lambda table: any(
        matcher.match(*split_name(table)) for rule in rules for matcher in (rule.matcher, rule.row_matcher)
    )


def _is_among(keys: Collection[Key]) -> OfTable:
    return lambda table: object_key(*split_name(table)) in keys


def statements_held_back(origin: StreamOrigin) -> OfTable:
    """Return whether the known event filters may drop statements on a table."""
    changefeed = origin.changefeed
    rules = event_filters(changefeed.event_filters, origin.release, changefeed.case_sensitive).rules
    matchers = [rule.matcher for rule in rules if rule.sql or rule.types - {ALL_DML, *ROW_KINDS}]
    return lambda table: any(matcher.match(*split_name(table)) for matcher in matchers)


def held_back(origin: StreamOrigin) -> Iterator[Excuse]:
    """Yield what event filters leave open: those of the changefeed, or those that it may have."""
    yield Excuse(CHANGES, filter_check(origin), HELD_BACK)
    if not origin.filters_known:
        yield Excuse(CHANGES, bool, FILTERS)


def untold_statements(
    origin: StreamOrigin, timeline: TableTimeline, after: Snapshot | None, releases: Collection[Release]
) -> Iterator[Excuse]:
    """Yield what is open of a stream without a truth because one of the releases may not send statements."""
    untold = {action for release in releases for action in _untold(origin, release)}
    if untold & EVERYWHERE:
        why = f"{origin.protocol} does not have the statements that may have changed it: --truth tells"
        yield Excuse(CHANGES | ENDS | MESSAGES, bool, why)
        return
    some = "its release does not send" if len(releases) == 1 else "a release may not send"
    if untold & OF_PARTITIONS and any(history.table.partitioning is not None for history in timeline.tables):
        yield Excuse(CHANGES | ENDS, bool, f"{some} every statement on partitions: --truth tells")
    if untold & OF_COLUMNS:
        yield Excuse(MESSAGES, bool, f"{some} every statement that changes columns: --truth tells")
    if untold & OF_KEYS:
        several = {f"{table.schema}.{table.name}" for table in timeline.definitions if len(table.indexes) > 1}
        yield Excuse(KEYS, several.__contains__, f"{some} every statement that drops several keys: --truth tells")
    if untold & OF_NAMES and after is not None:
        expected = {object_key(entry.table.schema, entry.table.name) for entry in after.tables}
        numbers = state_table_numbers(timeline, True)
        fixed = {key for key, number in numbers.items() if key in expected and not timeline.tables[number].lenient}
        yield Excuse(
            ENDS,
            lambda table: object_key(*split_name(table)) not in fixed,
            f"{some} every statement that gives a table another name: --truth tells",
        )


def _untold(origin: StreamOrigin, release: Release) -> Iterator[Action]:
    codec = CODECS[origin.protocol]
    sends = codec.sends_ddl(origin.changefeed.codec, release)
    for action in EVERYWHERE | OF_PARTITIONS | OF_NAMES | OF_COLUMNS | OF_KEYS:
        if not sends or action not in release.allowed_ddl or codec.skips_ddl(action):
            yield action


def open_files(spec: StreamSpec) -> Iterator[Excuse]:
    """Yield what is open of files without a truth: TiCDC writes rows above its checkpoint before it is stopped."""
    if spec.files:
        yield Excuse(
            UNCOVERED, lambda table: True, "TiCDC may have been stopped, and nothing tells where: --truth tells"
        )


BARE = "the DELETE of a table without a primary key has neither key nor value in Avro of the new architecture"


def bare_deletes(spec: StreamSpec) -> Excuse:
    """Return what is open because of DELETEs that do not tell their row."""
    tables = spec.tables_of_any_time
    keyless = {(table.schema, table.name) for table in tables if not table.primary_key}
    keyed = {f"{table.schema}.{table.name}" for table in tables if (table.schema, table.name) not in keyless}
    return Excuse(CHANGES | ENDS, lambda table: table not in keyed, BARE)


def old_names(origin: StreamOrigin, statements: Iterable[StreamStatement]) -> Iterator[Excuse]:
    """Yield what is open as rows may be under the name that their table had before a RENAME."""
    renamed = {object_key(*name) for each in statements for pair in renames(each) for name in pair}
    if renamed and CODECS[origin.protocol].keeps_old_names(origin.release):
        yield Excuse(
            CHANGES | ENDS | MESSAGES | SUMS,
            _is_among(renamed),
            "a renamed table, whose rows may have its old name, as TiCDC registers no schema after RENAME TABLE",
        )


def left_untold(truth: Truth) -> Iterator[Excuse]:
    """Yield what is open of tables that a RENAME took out of the changefeed without a message: their rows stay."""
    statements = (StreamStatement(*each.statement, None, each.modes) for each in truth.statements if not each.is_sent)
    kept = {object_key(*split_name(name)) for name in truth.rows}
    left = {object_key(*new) for each in statements for _, new in renames(each)} - kept
    if left:
        yield Excuse(
            frozenset(("row-left",)), _is_among(left), "a RENAME took it out of the changefeed, and no message tells"
        )


def shared_schemas(origin: StreamOrigin, statements: Iterable[StreamStatement]) -> Iterator[Excuse]:
    """Yield what is open as rows may be under the name of another table, whose schema they are sent with."""
    if not CODECS[origin.protocol].shares_schemas:
        return
    rules = router(origin.changefeed, origin.release)
    changed: dict[tuple[int, str], set[Key]] = {}
    for each in statements:
        for name in (*(new for _, new in renames(each)), *exchanged_tables(each)):
            changed.setdefault((each.ts, topic_of(rules, *name)), set()).add(object_key(*name))
    several = {key for keys in changed.values() if len(keys) > 1 for key in keys}
    if several:
        yield Excuse(
            CHANGES | ENDS | MESSAGES | SUMS,
            _is_among(several),
            "a statement gave several tables of one topic the same schema version, and TiCDC writes the rows of all of "
            "them with the schema of one: a topic for each table, {schema}_{table}, keeps them apart",
        )


def mistaken_columns(origin: StreamOrigin, timeline: TableTimeline) -> Iterator[Excuse]:
    """Yield what is open where TiCDC mistakes columns for others (`ticdc.codecs.simple.mistaken`)."""
    mistakes = CODECS[origin.protocol].mistakes_columns
    mistaken = {
        object_key(table.schema, table.name) for table in timeline.definitions if mistakes(table, origin.release)
    }
    if mistaken:
        yield Excuse(
            CHANGES | ENDS | MESSAGES | SUMS,
            _is_among(mistaken),
            f"TiCDC {origin.release.name} mistakes its columns for others, as they are not in the order of their "
            "ids, or behind a virtual one",
        )


def moved_rows(spec: StreamSpec, timeline: TableTimeline) -> Iterator[Excuse]:
    """Yield what is open where an UPDATE may change the handle key, and messages do not tell the old one."""
    if spec.fidelity.old_values or not spec.fidelity.moves_rows:
        return
    moving = {
        object_key(table.schema, table.name)
        for table in timeline.definitions
        if handle_key(table) and not table.clustered
    }
    yield Excuse(
        CHANGES | {"row-left"},
        _is_among(moving),
        "an UPDATE may give a row another handle key, and messages do not tell the old one, so that no consumer can "
        "delete it",
    )


def without_end_checks(outcome: ReplayOutcome, why: str = NOT_REACHED) -> tuple[ReplayOutcome, tuple[NotChecked, ...]]:
    """Remove findings about the final rows, as of a stream that has not reached the expected watermark."""
    counts = {kind: count for kind, count in outcome.counts.items() if kind[0] not in ENDS}
    examples = tuple(each for each in outcome.examples if each.check not in ENDS)
    left = (NotChecked("the rows that are expected", why),) if outcome.tables else ()
    return replace(outcome, counts=counts, examples=examples, tables=()), left


def without_replay(outcome: ReplayOutcome, why: str) -> tuple[ReplayOutcome, tuple[NotChecked, ...]]:
    """Remove findings about row changes and final rows, as of a stream that does not tell the order of changes."""
    outcome, changes = excused(outcome, [Excuse(CHANGES, bool, why)])
    outcome, ends = without_end_checks(outcome, why)
    return outcome, (*changes, *ends)


def unproved(assumed: Verification, of_any: Verification) -> Iterator[NotChecked]:
    """Yield what is wrong if the assumed release wrote a stream, and may be right if another one did."""
    wrong = {(failure.check, table) for failure in of_any.failures for table in failure.tables}
    release = next(setting.value for setting in assumed.settings if setting.name == "release")
    for failure in assumed.failures:
        tables = {table: count for table, count in failure.tables.items() if (failure.check, table) not in wrong}
        if tables:
            of = f" of {', '.join(tables)}" if any(tables) else ""
            first = next((each.what for each in failure.examples if each.table in tables), failure.says)
            what = f"{failure.check} ({sum(tables.values()):,}){of}, if {release} wrote it: {first}"
            yield NotChecked(what, UNKNOWN_RELEASE)
