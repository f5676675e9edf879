"""What a long stretch of a stream has, beside what it was asked to have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from support.streams import stream_of

from simulator.columns.change_frame import DELETE, INSERT, UPDATE, Ints
from simulator.errors import UserError
from simulator.sources.generate.changes.possible import check
from simulator.sources.generate.changes.stream import Stream
from simulator.sources.generate.model import HotSet, KeyChanges, Mix, Model, Skew, TableModel, Uniform, Zipf

BEGIN = 10**9


def changes_of(stream: Stream, transactions: int = 20_000) -> KeyChanges:
    return stream.window(BEGIN, BEGIN + transactions, [0] * len(stream.model.tables))


def operations(changes: KeyChanges) -> npt.NDArray[np.float64]:
    """Shares of deletes, updates and inserts."""
    kinds = np.select([changes.before < 0, changes.after < 0], [INSERT, DELETE], UPDATE)
    return np.bincount(kinds, minlength=3) / len(kinds)


def hits(skew: Skew, rows: int, transactions: int = 40_000) -> Ints:
    """How often each row is updated, the most hit first."""
    stream = stream_of(TableModel("shop", "t", rows, mix=Mix(0, 1, 0), skew=skew), sizes=(1, 1), present=True)
    return np.sort(np.bincount(changes_of(stream, transactions).key, minlength=rows))[::-1]


@pytest.mark.parametrize(
    "mix", [Mix(20, 70, 10), Mix(1, 0, 0), Mix(0, 1, 0), Mix(1, 0, 1), Mix(1, 8, 0), Mix(333, 334, 333), Mix(5, 90, 5)]
)
@pytest.mark.parametrize("kept", [False, True])
def test_the_mix_is_as_asked(mix: Mix, kept: bool) -> None:
    stream = stream_of(TableModel("shop", "t", 10_000, mix=mix, kept=kept), sizes=(1, 20), present=True)

    shares = operations(changes_of(stream))

    assert shares == pytest.approx(
        np.array([mix.deletes, mix.updates, mix.inserts]) / (mix.inserts + mix.updates + mix.deletes), abs=0.01
    )


def test_each_table_has_its_share_of_rows() -> None:
    weights = [1, 2, 0, 30, 67]
    tables = [TableModel("shop", f"t{place}", 1000, weight) for place, weight in enumerate(weights)]

    changes = changes_of(stream_of(*tables, sizes=(1, 30), most=3, present=True))

    shares = 100 * np.bincount(changes.table, minlength=5) / len(changes.table)
    assert shares == pytest.approx(weights, rel=0.03)
    in_one = np.unique(np.stack((changes.transaction, changes.table)), axis=1)[0]
    assert np.bincount(in_one - BEGIN).max() == 3


def test_a_thousand_tables_have_their_shares() -> None:
    stream = stream_of(*(TableModel("shop", f"t{place}", 100) for place in range(1000)), present=True)

    whole = stream.transactions.length

    rows = [np.diff(stream.transactions.changes_before(table, np.array([0, whole])))[0] for table in range(1000)]
    assert rows == pytest.approx(np.full(1000, 10 * whole / 1000), rel=0.01)


@pytest.mark.parametrize("least, most", [(10, 10), (1, 20), (3, 4), (1, 10_000)])
def test_each_size_of_transactions_is_as_likely(least: int, most: int) -> None:
    stream = stream_of(TableModel("shop", "t", 10), sizes=(least, most), present=True)

    sizes = np.diff(stream.transactions.rows_before(np.arange(BEGIN, BEGIN + 50_000)))

    assert (sizes.min(), sizes.max()) == pytest.approx((least, most), abs=(most - least) / 4000)
    assert sizes.mean() == pytest.approx((least + most) / 2, rel=0.02)
    below = np.mean(sizes < (least + most) / 2)
    assert below == pytest.approx(0.5 if least < most else 0, abs=0.02)


def test_uniform_updates_hit_each_row_as_often() -> None:
    found = hits(Uniform(), 1000)

    assert found.max() - found.min() <= 2
    assert found.sum() == 40_000


def test_a_hot_set_gets_its_share() -> None:
    found = hits(HotSet(0.01, 0.9), 1000)

    assert found[:10].sum() / 40_000 == pytest.approx(0.9, abs=0.005)
    assert found[:10].max() - found[:10].min() <= 2
    assert found[10:].max() - found[10:].min() <= 2


@pytest.mark.parametrize("exponent", [0.5, 1, 1.1, 2])
def test_ranks_of_zipf_are_hit_as_often_as_asked(exponent: float) -> None:
    rows = 5000
    found, asked = hits(Zipf(exponent), rows) / 40_000, np.arange(1, rows + 1) ** -float(exponent)
    asked /= asked.sum()

    assert found[:20] == pytest.approx(asked[:20], rel=0.02, abs=1e-4)
    for first, end in ((20, 100), (100, rows)):
        assert found[first:end].sum() == pytest.approx(asked[first:end].sum(), rel=0.03, abs=3e-4)


def test_updates_go_to_rows_all_over_a_table() -> None:
    stream = stream_of(TableModel("shop", "t", 100_000, mix=Mix(0, 1, 0), skew=Zipf(1.1)), present=True)

    hot = np.unique(stream.window(0, 100, [0]).key)

    assert np.all(np.bincount(hot // 10_000, minlength=10) > 20)


def test_streams_of_two_seeds_have_little_in_common() -> None:
    def keys(seed: int) -> set[int]:
        stream = stream_of(TableModel("shop", "t", 100_000, mix=Mix(0, 1, 0)), seed=seed, present=True)
        return set(stream.window(0, 100, [0]).key.tolist())

    assert len(keys(1)) == 1000
    assert len(keys(1) & keys(2)) < 50


def model_of(table: TableModel, sizes: tuple[int, int] = (10, 10), most: int = 1) -> Model:
    return Model(7, (table,), sizes, most)


def table_of(
    rows: int = 100, weight: int = 1, mix: Mix = Mix(20, 70, 10), skew: Skew = Uniform(), kept: bool = False
) -> TableModel:
    return TableModel("shop", "orders", rows, weight, mix, skew, kept)


@pytest.mark.parametrize(
    "model, said",
    [
        (Model(7, ()), "a stream needs a table at least"),
        (model_of(table_of(), (5, 4)), "rows-per-transaction: least 5 and most 4"),
        (model_of(table_of(), (0, 4)), "rows-per-transaction: least 0 and most 4: expected 1 to 1,000,000"),
        (model_of(table_of(), most=11), "tables-per-transaction 11: expected 1 to 10"),
        (model_of(table_of(weight=-1)), "table shop.orders: weight -1: expected 0 or more"),
        (model_of(table_of(weight=0)), "every table has weight 0"),
        (
            Model(7, (table_of(), table_of(weight=10**9))),
            "table shop.orders: weight 1 beside 1,000,000,000 of the others",
        ),
        (model_of(table_of(rows=-1)), "rows -1: expected 0 to 2,000,000,000"),
        (model_of(table_of(mix=Mix(0, 0, 0))), "mix of 0 inserts, 0 updates and 0 deletes"),
        (model_of(table_of(mix=Mix(-1, 2, 0))), "expected none below 0"),
        (
            model_of(table_of(mix=Mix(1, 10_000, 0))),
            "10,000 updates and 0 deletes: expected none below 0, and 1 to 10,000",
        ),
        (model_of(table_of(mix=Mix(20, 50, 30))), "30 deletes for 20 inserts exhaust the table after 1,000 changes"),
        (
            model_of(table_of(mix=Mix(0, 0, 1), kept=True)),
            "whose first rows are kept as others refer to them, after 20 ",
        ),
        (
            model_of(table_of(rows=9)),
            "rows 9 are too few for deletes in transactions of up to 10 rows: expected rows 10",
        ),
        (model_of(table_of(rows=0, mix=Mix(1, 9, 0))), "rows 0, but a mix of 9 updates: expected 1 row or more"),
        (model_of(table_of(skew=Zipf(0))), "skew zipf 0: expected an exponent above 0, and up to 10"),
        (model_of(table_of(skew=Zipf(float("nan")))), "skew zipf nan"),
        (
            model_of(table_of(skew=HotSet(1, 0.5))),
            "skew of 0.5 of the updates for 1 of the rows: expected shares above 0",
        ),
        (model_of(table_of(skew=HotSet(0.1, 1.5))), "skew of 1.5 of the updates"),
    ],
)
def test_what_cannot_be_is_refused(model: Model, said: str) -> None:
    with pytest.raises(UserError) as refused:
        check(model)

    assert said in str(refused.value)


@pytest.mark.parametrize(
    "model",
    [
        model_of(table_of()),
        model_of(table_of(rows=0, mix=Mix(1, 0, 0))),
        model_of(table_of(kept=True)),
        model_of(table_of(mix=Mix(1, 0, 1)), (1, 100), 3),
        model_of(table_of(mix=Mix(200_000, 700_000, 100_000))),
        Model(7, (table_of(), table_of(rows=0, weight=0))),
    ],
)
def test_what_can_be_is_not(model: Model) -> None:
    check(model)

    changes = Stream(model, ()).window(0, 3000, [0] * len(model.tables))

    assert len(changes.key) > 20_000
