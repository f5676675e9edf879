"""Comparison of two snapshots without a stream between them: the rows that a consumer wrote, and the expected rows.

Rows are compared by the columns that both sides have; the notes list the other columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from simulator.consumer.replay.frame import ImagePairSource
from simulator.consumer.replay.neighbours import TableKnowledge
from simulator.consumer.replay.outcome import table_knowledge
from simulator.consumer.replay.states import snapshot_sources
from simulator.consumer.replay.table_timeline import TableTimeline, table_timeline
from simulator.sources.snapshots import Snapshot
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.model.table import Table, visible_columns


@dataclass(frozen=True)
class SnapshotComparison:
    """Two snapshots, ready to compare."""

    timeline: TableTimeline
    expected: TableKnowledge
    sources: tuple[ImagePairSource, ...]
    notes: tuple[str, ...]
    """Columns that are not compared."""


def compare_snapshots(truth: Snapshot, found: Snapshot, least: int = 2) -> SnapshotComparison:
    """Compare the rows of a snapshot with the truth. A table that the snapshot lacks counts as empty."""
    wanted, there = (_tables(snapshot) for snapshot in (truth, found))
    both = table_timeline((), [*wanted.values(), *(table for name, table in there.items() if name not in wanted)])
    sources = [*snapshot_sources(found, both, False, least), *snapshot_sources(truth, both, True, least)]
    notes = [
        note
        for name, table in wanted.items()
        if name in there
        for note in column_differences(table, [column.name for column in visible_columns(there[name])])
    ]
    return SnapshotComparison(both, all_rows_known(both), tuple(sources), tuple(notes))


def expected_rows(truth: Snapshot, least: int = 2) -> SnapshotComparison:
    """Prepare the rows of the truth alone; the caller adds the other side."""
    found = table_timeline((), [entry.table for entry in truth.tables])
    return SnapshotComparison(found, all_rows_known(found), tuple(snapshot_sources(truth, found, True, least)), ())


def all_rows_known(found: TableTimeline) -> TableKnowledge:
    """Return the knowledge that all rows of all tables are known on both sides."""
    return table_knowledge(found, range(len(found.tables)))


def column_differences(table: Table, names: Sequence[str]) -> Iterator[str]:
    """Yield a note for the columns that only one side has."""
    wanted = [column.name for column in visible_columns(table)]
    title = f"{table.schema}.{table.name}"
    if missing := [name for name in wanted if name not in names]:
        yield f"{title}: {_listed(missing)} not compared, as the other side does not have it"
    if other := [name for name in names if name not in wanted]:
        yield f"{title}: {_listed(other)} not compared, as the truth does not have it"


def _listed(names: Iterable[str]) -> str:
    every = [f"column {name!r}" for name in names]
    return f"{', '.join(every)} {'is' if len(every) == 1 else 'are'}"


def _tables(snapshot: Snapshot) -> dict[Key, Table]:
    return {object_key(entry.table.schema, entry.table.name): entry.table for entry in snapshot.tables}
