"""A stream of changes, wherever one looks into it."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import TypeAlias

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.streams import STEADY, replayed, rows_before, start, steady, stream_of, streams, tuples

from simulator.sources.generate.changes.stream import Stream
from simulator.sources.generate.model import Mix, Model, TableModel

FAR = 10**12
"""Transactions, of up to 40 rows."""

Case: TypeAlias = tuple[Stream, int, int, int, list[int]]
"""A stream, three transactions of it in order, and behind which each of its tables was truncated."""

lengths = st.integers(0, 150)
cheap = settings(max_examples=25, deadline=None)


@st.composite
def windows(draw: st.DrawFn) -> Case:
    far = draw(st.sampled_from([0, 0, FAR]))
    stream = draw(streams(steady) if far else streams())
    first = max(0, stream.fill_transactions - 20) + far + draw(lengths)
    middle = first + draw(lengths)
    since = [draw(st.sampled_from([0, max(0, first - 30), first])) for _ in stream.model.tables]
    return stream, first, middle, middle + draw(lengths), since


@given(windows())
@cheap
def test_the_rows_at_a_moment_and_a_window_give_the_rows_behind_it(case: Case) -> None:
    stream, first, _, end, since = case

    changes = stream.window(first, end, since)

    assert replayed(rows_before(stream, first, since), changes) == rows_before(stream, end, since, chunk=100)


@given(windows())
@cheap
def test_two_windows_are_the_window_over_both(case: Case) -> None:
    stream, first, middle, end, since = case

    halves = tuples(stream.window(first, middle, since)) + tuples(stream.window(middle, end, since))

    assert tuples(stream.window(first, end, since)) == halves


@given(windows())
@cheap
def test_a_row_changes_once_in_a_transaction_and_never_comes_again(case: Case) -> None:
    stream, first, _, end, since = case

    changes = stream.window(first, end, since)

    assert np.all(np.diff(changes.transaction) >= 0)
    assert np.all((changes.after == -1) | (changes.after > changes.before))
    inserted = dict[int, int]()
    for (table, _, key, before, _after), times in Counter(tuples(changes)).items():
        assert times == 1
        if before < 0:
            assert key > inserted.get(table, -1)
            inserted[table] = key
    of_rows = Counter((table, number, key) for table, number, key, _, _ in tuples(changes))
    assert set(of_rows.values()) <= {1}


@given(windows())
@cheap
def test_the_transaction_that_made_a_version_is_known(case: Case) -> None:
    stream, first, _, end, since = case

    changes = stream.window(first, end, since)

    for table in range(len(since)):
        made = (changes.table == table) & (changes.after >= 0)
        keys, versions = changes.key[made], changes.after[made]
        assert stream.changed(table, keys, versions, since[table]).tolist() == changes.transaction[made].tolist()
        fresh = (changes.table == table) & (changes.before < 0)
        born = stream.born(table, changes.key[fresh], since[table])
        assert born.tolist() == changes.transaction[fresh].tolist()


@given(windows())
@cheap
def test_rows_that_are_there_were_written_before(case: Case) -> None:
    stream, first, _, _, since = case

    for table in range(len(since)):
        for rows in stream.alive(table, first, since[table]):
            assert np.all(rows.born <= rows.changed)
            assert np.all(rows.changed < max(first, 1))
            assert np.all(rows.born >= since[table] - (stream.model.present or not since[table]))


def test_rows_that_are_there_before_the_stream_have_no_transaction() -> None:
    stream = stream_of(TableModel("shop", "t", 5), present=True)

    (rows,) = stream.alive(0, 0, 0)

    assert stream.fill_transactions == 0
    assert rows.keys.tolist() == [0, 1, 2, 3, 4]
    assert rows.born.tolist() == rows.changed.tolist() == stream.milliseconds(rows.born).tolist() == [-1] * 5


def test_the_stream_begins_with_its_rows_parents_first() -> None:
    stream = stream_of(TableModel("shop", "customer", 25), TableModel("shop", "orders", 12), sizes=(5, 15))

    changes = stream.window(0, stream.fill_transactions, [0, 0])

    assert stream.fill_transactions == 5
    assert changes.table.tolist() == [0] * 25 + [1] * 12
    assert changes.transaction.tolist() == [0] * 10 + [1] * 10 + [2] * 5 + [3] * 10 + [4] * 2
    assert np.all(changes.before == -1) and np.all(changes.after == 0)


@given(streams(), lengths)
@cheap
def test_rows_are_inserted_behind_those_they_may_refer_to(stream: Stream, length: int) -> None:
    changes = stream.window(0, stream.fill_transactions + length, start(stream))

    for child in range(1, len(stream.model.tables)):
        fresh = changes.transaction[(changes.table == child) & (changes.before < 0)]
        assert np.all(stream.inserted(child - 1, fresh, 0) >= 1)


def test_rows_that_others_refer_to_are_never_deleted() -> None:
    stream = stream_of(TableModel("shop", "customer", 50, mix=Mix(1, 2, 1), kept=True))

    changes = stream.window(0, 20_000, [0])

    gone = changes.key[changes.after < 0]
    assert len(gone) > 10_000
    assert gone.min() == 50
    assert set(range(50)) <= {key for _, key in rows_before(stream, 20_000, [0])}


def test_a_truncated_table_is_filled_again_with_rows_of_another_fate() -> None:
    stream = stream_of(TableModel("shop", "t", 1000), present=True)

    again = stream.window(500, 600, [500])

    assert not list(stream.alive(0, 500, 500))
    assert again.key.tolist() == list(range(1000))
    assert np.all(again.before == -1)
    first = stream.window(0, 200, [0])
    assert stream.window(600, 800, [500]).key.tolist() != first.key.tolist()


def test_a_table_of_a_hundred_million_rows_is_looked_into_without_being_made() -> None:
    stream = stream_of(TableModel("shop", "t", 100_000_000), present=True)

    rows = next(stream.alive(0, FAR, 0))
    changes = stream.window(FAR, FAR + 100, [0])

    assert len(rows.keys) == 65_536
    assert len(changes.key) == 1000
    assert np.all(stream.changed(0, rows.keys, rows.versions, 0) < FAR)


def test_a_table_of_one_row_is_updated_once_in_a_transaction() -> None:
    stream = stream_of(TableModel("shop", "t", 1, mix=Mix(0, 1, 0)), present=True)

    changes = stream.window(FAR, FAR + 3, [0])

    assert [change[2:] for change in tuples(changes)] == [
        (0, 10 * FAR + 10 * place, 10 * FAR + 10 * place + 10) for place in range(3)
    ]


def test_a_stream_is_sent_to_tasks_as_what_it_was_asked_to_be() -> None:
    stream = Stream(Model(7, (TableModel("shop", "t", 1000),)), STEADY)
    fresh = len(pickle.dumps(stream))

    stream.window(0, 1000, [0])

    assert len(pickle.dumps(stream)) == fresh < 1000
    assert pickle.loads(pickle.dumps(stream)) == stream
