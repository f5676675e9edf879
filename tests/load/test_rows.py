"""The rows of a window are the same for every assignment to tasks, and wherever windows end.

Which rows those are, the truth of a load says (test_load_truth.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.loads import OPEN, Run, window

from simulator.columns.change_frame import DELETE, EVENTS, INSERT
from simulator.errors import UserError
from simulator.load import windows as rows_module
from simulator.load.epochs import SchemaEpoch, Window
from simulator.load.windows import window_rows
from simulator.releases import V8_5, Release, find

HEAD = "rows-per-second = 1000\nrows-per-transaction = {min = 1, max = 9}\ntables-per-transaction = 2\n"
TABLE = """
[[table]]
definition = '''CREATE TABLE shop.{}'''
rows = 10
mix = {{inserts = 30, updates = 50, deletes = 20}}
"""
BY_REGION = "PARTITION BY HASH (region) PARTITIONS 3"
ORDERS = (
    TABLE.format("orders (id BIGINT PRIMARY KEY, status VARCHAR(9), n INT)")
    + 'update-columns = ["status"]\n[table.columns]\nstatus = {choice = ["a", "b"], null = 0.5}\n'
)
CUSTOMERS = TABLE.format("customers (id VARCHAR(20) PRIMARY KEY, code INT NOT NULL UNIQUE, note VARCHAR(40))")
PARTS = TABLE.format(f"parts (region INT, id INT, note VARCHAR(9), PRIMARY KEY (region, id)) {BY_REGION}")
LOG = TABLE.format("log (line VARCHAR(20), n INT)")
MOVING = TABLE.format(f"moving (region INT, note VARCHAR(9)) {BY_REGION}") + "columns = {region = {version = true}}\n"
"""Some updates of `orders` change nothing, and rows of `moving` go from one partition to the other."""

MODERN = 'force-replicate = true\n[sink]\ndispatchers = [{matcher = ["*.*"], partition = "%s"}]\n'
ROW_ID = '[sink]\ndispatchers = [{matcher = ["*.*"], dispatcher = "rowid"}]\n'
FILTERED = '[[filter.event-filters]]\nmatcher = ["shop.orders"]\nignore-event = ["delete"]\n'
CHANGEFEEDS = (
    *(
        (release, MODERN % dispatcher)
        for release in ("v8.5.3", "v6.5.4")
        for dispatcher in ("table", "index-value", "ts")
    ),
    ("v8.5.4", MODERN % "index-value"),
    ("v7.1.0", MODERN % "index-value" + FILTERED),
    ("v4.0.2", ROW_ID),
)
"""Some split UPDATEs of a unique key, some only where a transaction has other rows of the table."""

END_MS = 120


def epoch(*tables: str, toml: str = "", release: Release = V8_5, seed: int = 1) -> SchemaEpoch:
    """The first epoch of a run of these tables."""
    uri = "kafka://127.0.0.1:9092/load?partition-num=4&protocol="
    return Run(f"seed = {seed}\n{HEAD}{''.join(tables)}", OPEN, release, uri, toml).at(0)


def rows(of: Window, owned: Sequence[int] = range(4), slice_rows: int = 16_384) -> pa.Table:
    """Return the rows of a task."""
    return pa.Table.from_batches(window_rows(of, owned, slice_rows), EVENTS)


def of_destination(table: pa.Table, destination: int) -> pa.Table:
    return table.filter(pc.field("destination") == destination).combine_chunks()


@pytest.mark.slow
@settings(max_examples=12)
@given(
    st.sampled_from(CHANGEFEEDS),
    st.lists(st.sampled_from([ORDERS, CUSTOMERS, PARTS]), min_size=1, max_size=3, unique=True),
    st.sampled_from([(), (LOG, MOVING)]),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.lists(st.integers(1, END_MS - 1), max_size=3),
    st.sampled_from([1, 7, 100]),
    st.integers(0, 9),
)
def test_a_partition_gets_the_same_rows_however_they_are_made(
    changefeed: tuple[str, str],
    tables: list[str],
    keyless: tuple[str, ...],
    dealt: list[int],
    cuts: list[int],
    slice_rows: int,
    seed: int,
) -> None:
    """`dealt` says which task has each destination; the windows end at `cuts`."""
    release, toml = changefeed
    of = epoch(*tables, *(keyless if "force" in toml else ()), toml=toml, release=find(release), seed=seed)
    expected = rows(window(of, 0, END_MS))
    assert expected.num_rows > 50

    bounds = [0, *sorted(set(cuts)), END_MS]
    for task in set(dealt):
        owned = [destination for destination, owner in enumerate(dealt) if owner == task]
        found = pa.concat_tables(rows(window(of, *ends), owned, slice_rows) for ends in zip(bounds, bounds[1:]))
        assert set(pc.unique(found["destination"]).to_pylist()) <= set(owned)
        for destination in owned:
            assert of_destination(found, destination).equals(of_destination(expected, destination))


def test_a_change_that_changes_nothing_is_not_sent() -> None:
    """TiDB writes nothing if an UPDATE leaves a row unchanged."""
    of = epoch(ORDERS)
    made = of.stream.window(0, of.stream.timetable.transactions_before(400), [0])
    found = rows(window(of, 0, 400))

    assert 0 < found.num_rows < len(made.key)
    assert not pc.any(pc.equal(found["before"], found["after"])).as_py()


def test_a_row_goes_from_one_partition_of_its_table_to_another_as_delete_and_insert() -> None:
    found = rows(window(epoch(MOVING, toml="force-replicate = true"), 0, 400))
    assert set(pc.unique(found["op"]).to_pylist()) == {DELETE, INSERT}


def test_a_row_that_no_partition_takes_is_told_once() -> None:
    low = "RANGE (region) (PARTITION low VALUES LESS THAN (3))"
    of = epoch(MOVING.replace("HASH (region) PARTITIONS 3", low), toml="force-replicate = true")
    with pytest.raises(UserError, match=r"table shop.moving: no partition takes row \d+ \(counted from 0"):
        rows(window(of, 0, 400))


def test_rows_of_a_table_that_the_filter_leaves_out_are_not_sent() -> None:
    of = epoch(ORDERS, CUSTOMERS)
    found = rows(window(replace(of, tables=(None, *of.tables[1:])), 0, 400))
    names = {of.rules.tables[place].table.name for place in found["table"].to_pylist()}
    assert names == {"customers"}


def test_transactions_of_many_large_rows_come_in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not depend on the size of rows."""
    of = epoch(ORDERS)
    whole = rows(window(of, 0, 400)).num_rows
    monkeypatch.setattr(rows_module, "SLICE_BYTES", 2000)
    monkeypatch.setattr(rows_module, "FIRST_ROWS", 10)
    batches = list(window_rows(window(of, 0, 400), range(4)))

    assert max(batch.num_rows for batch in batches) < 100
    assert sum(batch.num_rows for batch in batches) == whole
