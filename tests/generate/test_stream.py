"""A stream of changes, wherever one looks into it, and what a long stretch has beside what it was asked to have."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns.change_frame import DELETE, INSERT, UPDATE, Ints
from simulator.errors import UserError
from simulator.generate.model import HotSet, KeyChanges, Mix, Model, Skew, TableModel, Uniform, Zipf
from simulator.generate.stream import Stream, check
from simulator.generate.transactions import Segment

FAR = 10**12
"""Transactions, of up to 40 rows."""

Rows: TypeAlias = dict[tuple[int, int], int]
"""(table, key) → version"""

Case: TypeAlias = tuple[Stream, int, int, int, list[int]]
"""A stream, three transactions of it in order, and behind which each of its tables was truncated."""

STEADY = (Segment(0, 60_000, 60_000),)

MIXES = st.builds(
    lambda deletes, more, updates: Mix(deletes + more, updates, deletes),
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(1, 50),
)
STEADY_MIXES = st.builds(
    lambda deletes, updates: Mix(deletes, updates, deletes), st.integers(0, 20), st.integers(1, 50)
)
"""Mixes with which tables stay as large as they are."""

SKEWS = st.one_of(
    st.just(Uniform()), st.builds(Zipf, st.floats(0.2, 3)), st.builds(HotSet, st.floats(0.01, 0.9), st.floats(0.1, 1))
)
LENGTHS = st.integers(0, 150)


def streams(mixes: st.SearchStrategy[Mix]) -> st.SearchStrategy[Stream]:
    """Of some small tables with such mixes."""
    tables = st.builds(
        lambda *values: TableModel("shop", "t", *values),
        *(st.integers(1, 300), st.integers(1, 5), mixes, SKEWS, st.booleans()),
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


@st.composite
def windows(draw: st.DrawFn) -> Case:
    far = draw(st.sampled_from([0, 0, FAR]))
    stream = draw(streams(STEADY_MIXES if far else MIXES))
    first = max(0, stream.fill_transactions - 20) + far + draw(LENGTHS)
    middle = first + draw(LENGTHS)
    since = [draw(st.sampled_from([0, max(0, first - 30), first])) for _ in stream.model.tables]
    return stream, first, middle, middle + draw(LENGTHS), since


def stream_of(
    *tables: TableModel, seed: int = 7, sizes: tuple[int, int] = (10, 10), most: int = 1, present: bool = False
) -> Stream:
    return Stream(Model(seed, tables, sizes, most, present), STEADY)


def table_of(
    rows: int, mix: Mix = Mix(20, 70, 10), weight: int = 1, skew: Skew = Uniform(), kept: bool = False
) -> TableModel:
    return TableModel("shop", "orders", rows, weight, mix, skew, kept)


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
    columns = changes.table, changes.transaction, changes.key, changes.before, changes.after
    return list(zip(*(column.tolist() for column in columns)))


@pytest.mark.slow
@given(windows())
def test_the_rows_at_a_moment_and_a_window_give_the_rows_behind_it(case: Case) -> None:
    """Each change finds its row as it says; two windows are the window over both."""
    stream, first, middle, end, since = case
    changes = tuples(stream.window(first, end, since))

    rows = rows_before(stream, first, since)
    for table, _, key, before, after in changes:
        assert rows.pop((table, key), -1) == before
        if after >= 0:
            rows[table, key] = after
    assert rows == rows_before(stream, end, since, chunk=100)
    assert changes == tuples(stream.window(first, middle, since)) + tuples(stream.window(middle, end, since))


@pytest.mark.slow
@given(windows())
def test_a_row_changes_once_in_a_transaction_and_never_comes_again(case: Case) -> None:
    stream, first, _, end, since = case
    changes = stream.window(first, end, since)

    assert np.all(np.diff(changes.transaction) >= 0)
    assert np.all((changes.after == -1) | (changes.after > changes.before))
    inserted = dict[int, int]()
    for table, _, key, before, _after in tuples(changes):
        if before < 0:
            assert key > inserted.get(table, -1)
            inserted[table] = key
    of_rows = Counter((table, number, key) for table, number, key, _, _ in tuples(changes))
    assert set(of_rows.values()) <= {1}


@pytest.mark.slow
@given(windows())
def test_the_transactions_that_made_a_row_and_its_version_are_known(case: Case) -> None:
    stream, first, _, end, since = case
    changes = stream.window(first, end, since)

    for table in range(len(since)):
        made = (changes.table == table) & (changes.after >= 0)
        keys, versions = changes.key[made], changes.after[made]
        assert stream.changed(table, keys, versions, since[table]).tolist() == changes.transaction[made].tolist()
        fresh = (changes.table == table) & (changes.before < 0)
        born = stream.born(table, changes.key[fresh], since[table])
        assert born.tolist() == changes.transaction[fresh].tolist()
        for rows in stream.alive(table, first, since[table]):
            assert np.all(rows.born <= rows.changed)
            assert np.all(rows.changed < max(first, 1))
            assert np.all(rows.born >= since[table] - (stream.model.present or not since[table]))


@pytest.mark.slow
@given(streams(MIXES), LENGTHS)
def test_rows_are_inserted_behind_those_they_may_refer_to(stream: Stream, length: int) -> None:
    changes = stream.window(0, stream.fill_transactions + length, [0] * len(stream.model.tables))

    for child in range(1, len(stream.model.tables)):
        fresh = changes.transaction[(changes.table == child) & (changes.before < 0)]
        assert np.all(stream.inserted(child - 1, fresh, 0) >= 1)


def test_rows_that_are_there_before_the_stream_have_no_transaction() -> None:
    stream = stream_of(table_of(5), present=True)
    (rows,) = stream.alive(0, 0, 0)

    assert stream.fill_transactions == 0
    assert rows.keys.tolist() == [0, 1, 2, 3, 4]
    assert rows.born.tolist() == rows.changed.tolist() == stream.milliseconds(rows.born).tolist() == [-1] * 5


def test_the_stream_begins_with_its_rows_parents_first() -> None:
    stream = stream_of(table_of(25), table_of(12), sizes=(5, 15))
    changes = stream.window(0, stream.fill_transactions, [0, 0])

    assert stream.fill_transactions == 5
    assert changes.table.tolist() == [0] * 25 + [1] * 12
    assert changes.transaction.tolist() == [0] * 10 + [1] * 10 + [2] * 5 + [3] * 10 + [4] * 2
    assert np.all(changes.before == -1) and np.all(changes.after == 0)


def test_rows_that_others_refer_to_are_never_deleted() -> None:
    stream = stream_of(table_of(50, Mix(1, 2, 1), kept=True))
    changes = stream.window(0, 20_000, [0])

    gone = changes.key[changes.after < 0]
    assert len(gone) > 10_000
    assert gone.min() == 50
    assert set(range(50)) <= {key for _, key in rows_before(stream, 20_000, [0])}


def test_a_truncated_table_is_filled_again_with_rows_of_another_fate() -> None:
    stream = stream_of(table_of(1000), present=True)
    again = stream.window(500, 600, [500])

    assert not list(stream.alive(0, 500, 500))
    assert again.key.tolist() == list(range(1000))
    assert np.all(again.before == -1)
    first = stream.window(0, 200, [0])
    assert stream.window(600, 800, [500]).key.tolist() != first.key.tolist()


def test_a_table_of_a_hundred_million_rows_is_looked_into_without_being_made() -> None:
    stream = stream_of(table_of(100_000_000), present=True)
    rows = next(stream.alive(0, FAR, 0))

    assert len(rows.keys) == 65_536
    assert len(stream.window(FAR, FAR + 100, [0]).key) == 1000
    assert np.all(stream.changed(0, rows.keys, rows.versions, 0) < FAR)


def test_a_table_of_one_row_is_updated_once_in_a_transaction() -> None:
    changes = stream_of(table_of(1, Mix(0, 1, 0)), present=True).window(FAR, FAR + 3, [0])

    versions = [10 * FAR + 10 * place for place in range(4)]
    assert [change[2:] for change in tuples(changes)] == [(0, *pair) for pair in zip(versions, versions[1:])]


def test_a_stream_is_sent_to_tasks_as_what_it_was_asked_to_be() -> None:
    stream = stream_of(table_of(1000))
    fresh = len(pickle.dumps(stream))
    stream.window(0, 1000, [0])

    assert len(pickle.dumps(stream)) == fresh < 1000
    assert pickle.loads(pickle.dumps(stream)) == stream


BEGIN = 10**9


def stretch(stream: Stream, transactions: int = 20_000) -> KeyChanges:
    return stream.window(BEGIN, BEGIN + transactions, [0] * len(stream.model.tables))


def operations(changes: KeyChanges) -> npt.NDArray[np.float64]:
    """Shares of deletes, updates and inserts."""
    kinds = np.select([changes.before < 0, changes.after < 0], [INSERT, DELETE], UPDATE)
    return np.bincount(kinds, minlength=3) / len(kinds)


def hits(skew: Skew, rows: int) -> Ints:
    """How often each row is updated, the most hit first."""
    stream = stream_of(table_of(rows, Mix(0, 1, 0), skew=skew), sizes=(1, 1), present=True)
    return np.sort(np.bincount(stretch(stream, 40_000).key, minlength=rows))[::-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mix", [Mix(20, 70, 10), Mix(1, 0, 0), Mix(0, 1, 0), Mix(1, 0, 1), Mix(1, 8, 0), Mix(333, 334, 333), Mix(5, 90, 5)]
)
@pytest.mark.parametrize("kept", [False, True])
def test_the_mix_is_as_asked(mix: Mix, kept: bool) -> None:
    shares = operations(stretch(stream_of(table_of(10_000, mix, kept=kept), sizes=(1, 20), present=True)))

    total = mix.inserts + mix.updates + mix.deletes
    assert shares == pytest.approx(np.array([mix.deletes, mix.updates, mix.inserts]) / total, abs=0.01)


@pytest.mark.slow
def test_each_table_has_its_share_of_rows() -> None:
    weights = [1, 2, 0, 30, 67]
    tables = [table_of(1000, weight=weight) for weight in weights]
    changes = stretch(stream_of(*tables, sizes=(1, 30), most=3, present=True))

    shares = 100 * np.bincount(changes.table, minlength=5) / len(changes.table)
    assert shares == pytest.approx(weights, rel=0.03)
    in_one = np.unique(np.stack((changes.transaction, changes.table)), axis=1)[0]
    assert np.bincount(in_one - BEGIN).max() == 3


def test_a_thousand_tables_have_their_shares() -> None:
    stream = stream_of(*[table_of(100)] * 1000, present=True)
    whole = stream.transactions.length

    rows = [np.diff(stream.transactions.changes_before(table, np.array([0, whole])))[0] for table in range(1000)]
    assert rows == pytest.approx(np.full(1000, 10 * whole / 1000), rel=0.01)


@pytest.mark.parametrize("least, most", [(10, 10), (1, 20), (3, 4), (1, 10_000)])
def test_each_size_of_transactions_is_as_likely(least: int, most: int) -> None:
    stream = stream_of(table_of(10), sizes=(least, most), present=True)
    sizes = np.diff(stream.transactions.rows_before(np.arange(BEGIN, BEGIN + 50_000)))

    assert (sizes.min(), sizes.max()) == pytest.approx((least, most), abs=(most - least) / 4000)
    assert sizes.mean() == pytest.approx((least + most) / 2, rel=0.02)
    below = np.mean(sizes < (least + most) / 2)
    assert below == pytest.approx(0.5 if least < most else 0, abs=0.02)


def test_rows_of_one_rank_are_hit_as_often() -> None:
    """All rows alike, or the hot ones and the others."""
    uniform, hot = hits(Uniform(), 1000), hits(HotSet(0.01, 0.9), 1000)
    assert uniform.sum() == 40_000
    assert hot[:10].sum() / 40_000 == pytest.approx(0.9, abs=0.005)
    assert max(np.ptp(found) for found in (uniform, hot[:10], hot[10:])) <= 2


@pytest.mark.parametrize("exponent", [0.5, 1, 1.1, 2])
def test_ranks_of_zipf_are_hit_as_often_as_asked(exponent: float) -> None:
    rows = 5000
    found, asked = hits(Zipf(exponent), rows) / 40_000, np.arange(1, rows + 1) ** -float(exponent)
    asked /= asked.sum()

    assert found[:20] == pytest.approx(asked[:20], rel=0.02, abs=1e-4)
    for first, end in ((20, 100), (100, rows)):
        assert found[first:end].sum() == pytest.approx(asked[first:end].sum(), rel=0.03, abs=3e-4)


def test_updates_go_to_rows_all_over_a_table_by_the_seed() -> None:
    stream = stream_of(table_of(100_000, Mix(0, 1, 0), skew=Zipf(1.1)), present=True)
    hot = np.unique(stream.window(0, 100, [0]).key)
    assert np.all(np.bincount(hot // 10_000, minlength=10) > 20)

    one, two = (stream_of(table_of(100_000, Mix(0, 1, 0)), seed=seed, present=True) for seed in (1, 2))
    first, second = (set(stream.window(0, 100, [0]).key.tolist()) for stream in (one, two))
    assert len(first) == 1000 and len(first & second) < 50


def model(
    rows: int = 100, mix: Mix = Mix(20, 70, 10), sizes: tuple[int, int] = (10, 10), most: int = 1, **more: object
) -> Model:
    return Model(7, (table_of(rows, mix, **more),), sizes, most)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Model(7, ()), "a stream needs a table at least"),
        (model(sizes=(5, 4)), "rows-per-transaction: least 5 and most 4"),
        (model(sizes=(0, 4)), "rows-per-transaction: least 0 and most 4: expected 1 to 1,000,000"),
        (model(most=11), "tables-per-transaction 11: expected 1 to 10"),
        (model(weight=-1), "table shop.orders: weight -1: expected 0 or more"),
        (model(weight=0), "every table has weight 0"),
        (
            Model(7, (table_of(1), table_of(1, weight=10**9))),
            "table shop.orders: weight 1 beside 1,000,000,000 of the others",
        ),
        (model(-1), "rows -1: expected 0 to 2,000,000,000"),
        (model(mix=Mix(0, 0, 0)), "mix of 0 inserts, 0 updates and 0 deletes"),
        (model(mix=Mix(-1, 2, 0)), "expected none below 0"),
        (model(mix=Mix(1, 10_000, 0)), "10,000 updates and 0 deletes: expected none below 0, and 1 to 10,000"),
        (model(mix=Mix(20, 50, 30)), "30 deletes for 20 inserts exhaust the table after 1,000 changes"),
        (model(mix=Mix(0, 0, 1), kept=True), "whose first rows are kept as others refer to them, after 20 "),
        (model(9), "rows 9 are too few for deletes in transactions of up to 10 rows: expected rows 10"),
        (model(0, Mix(1, 9, 0)), "rows 0, but a mix of 9 updates: expected 1 row or more"),
        (model(skew=Zipf(0)), "skew zipf 0: expected an exponent above 0, and up to 10"),
        (model(skew=Zipf(float("nan"))), "skew zipf nan"),
        (model(skew=HotSet(1, 0.5)), "skew of 0.5 of the updates for 1 of the rows: expected shares above 0"),
        (model(skew=HotSet(0.1, 1.5)), "skew of 1.5 of the updates"),
    ],
)
def test_what_cannot_be_is_refused(model: Model, said: str) -> None:
    with pytest.raises(UserError) as refused:
        check(model)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "model",
    [
        model(),
        model(0, Mix(1, 0, 0)),
        model(kept=True),
        model(mix=Mix(1, 0, 1), sizes=(1, 100), most=3),
        model(mix=Mix(200_000, 700_000, 100_000)),
        Model(7, (table_of(100), table_of(0, weight=0))),
    ],
)
def test_what_can_be_is_not(model: Model) -> None:
    check(model)
    assert len(Stream(model, ()).window(0, 3000, [0] * len(model.tables)).key) > 20_000
