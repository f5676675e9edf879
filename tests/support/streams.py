"""Streams for tests: any that can be made, and what their changes come to."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st

from simulator.sources.generate.changes.stream import Stream
from simulator.sources.generate.changes.timetable import Segment
from simulator.sources.generate.model import HotSet, KeyChanges, Mix, Model, TableModel, Uniform, Zipf

Rows: TypeAlias = dict[tuple[int, int], int]
"""(table, key) → version"""

STEADY = (Segment(0, 60_000, 60_000),)

growing = st.builds(
    lambda deletes, more, updates: Mix(deletes + more, updates, deletes),
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(1, 50),
)

steady = st.builds(lambda deletes, updates: Mix(deletes, updates, deletes), st.integers(0, 20), st.integers(1, 50))
"""Mixes with which tables stay as large as they are."""

skews = st.one_of(
    st.just(Uniform()), st.builds(Zipf, st.floats(0.2, 3)), st.builds(HotSet, st.floats(0.01, 0.9), st.floats(0.1, 1))
)


def streams(mixes: st.SearchStrategy[Mix] = growing) -> st.SearchStrategy[Stream]:
    """Of some small tables with such mixes."""
    tables = st.builds(
        TableModel,
        schema=st.just("shop"),
        name=st.just("t"),
        rows=st.integers(1, 300),
        weight=st.integers(1, 5),
        mix=mixes,
        skew=skews,
        kept=st.booleans(),
    )
    return st.builds(
        lambda seed, tables, sizes, most, present: Stream(
            Model(seed, tuple(tables), (min(sizes), max(sizes)), min(most, max(sizes)), present), STEADY
        ),
        st.integers(-1 << 70, 1 << 70),
        st.lists(tables, min_size=1, max_size=4),
        st.tuples(st.integers(1, 40), st.integers(1, 40)),
        st.integers(1, 3),
        st.booleans(),
    )


def stream_of(
    *tables: TableModel,
    seed: int = 7,
    sizes: tuple[int, int] = (10, 10),
    most: int = 1,
    present: bool = False,
    segments: tuple[Segment, ...] = STEADY,
) -> Stream:
    return Stream(Model(seed, tables, sizes, most, present), segments)


def start(stream: Stream) -> list[int]:
    return [0] * len(stream.model.tables)


def rows_before(stream: Stream, transaction: int, since: list[int], chunk: int = 65_536) -> Rows:
    """What is there before a transaction."""
    return {
        (table, key): version
        for table in range(len(since))
        for some in stream.alive(table, transaction, since[table], chunk)
        for key, version in zip(some.keys.tolist(), some.versions.tolist())
    }


def tuples(changes: KeyChanges) -> list[tuple[int, int, int, int, int]]:
    """(table, transaction, key, before, after) of each change."""
    return list(
        zip(
            *(
                column.tolist()
                for column in (changes.table, changes.transaction, changes.key, changes.before, changes.after)
            )
        )
    )


def replayed(rows: Rows, changes: KeyChanges) -> Rows:
    """What rows become by changes, each of which must find its row as it says."""
    found = dict(rows)
    for table, _, key, before, after in tuples(changes):
        assert found.pop((table, key), -1) == before
        if after >= 0:
            found[table, key] = after
    return found


def updates_of(changes: KeyChanges) -> int:
    return int(np.sum((changes.before >= 0) & (changes.after >= 0)))
