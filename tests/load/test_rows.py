"""The rows of a window are the same for every assignment to tasks, and wherever windows end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.loads import Run, shop_plan, window

from simulator import tso
from simulator.columns import row_image
from simulator.columns.change_frame import DELETE, EVENTS, INSERT, ORDER, ROW_CHANGES, row_changes_schema
from simulator.engines import stages
from simulator.errors import UserError
from simulator.load.epochs.epoch import EpochTable, SchemaEpoch, Window
from simulator.load.windows import rows as rows_module
from simulator.load.windows.rows import window_rows
from simulator.releases import V8_5, Release
from simulator.releases.find import find
from simulator.sources.generate.model import TableRows
from simulator.sources.snapshots.physical import locate_rows
from simulator.ticdc import key_bytes, split
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table, visible_columns

if TYPE_CHECKING:
    from simulator.sources.generate.values.table_values import TableValues

ORDERS = "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, status VARCHAR(9), n INT)"
CUSTOMERS = "CREATE TABLE shop.customers (id VARCHAR(20) PRIMARY KEY, note VARCHAR(40))"
LOG = "CREATE TABLE shop.log (line VARCHAR(20), n INT)"
PARTS = (
    "CREATE TABLE shop.parts (region INT, id INT, note VARCHAR(9), PRIMARY KEY (region, id)) "
    "PARTITION BY HASH (region) PARTITIONS 3"
)
MOVING = "CREATE TABLE shop.moving (region INT, note VARCHAR(9)) PARTITION BY HASH (region) PARTITIONS 3"
UNIQUES = "CREATE TABLE shop.uniques (id BIGINT PRIMARY KEY, code INT NOT NULL UNIQUE, n INT)"

Text = Callable[[int, int], object]
"""A column's value, of key and version."""

COLUMNS: dict[str, dict[str, Text]] = {
    "orders": {
        "id": lambda key, version: key * 7 % 100_003,
        "status": lambda key, version: None if version % 10 > 7 else "abc"[version // 2 % 3],
        "n": lambda key, version: key + version // 2,
    },
    "customers": {
        "id": lambda key, version: f"c{key * 31 % 1009}-{key}",
        "note": lambda key, version: "n" * (version % 7),
    },
    "log": {"line": lambda key, version: f"line {key}", "n": lambda key, version: version},
    "parts": {
        "region": lambda key, version: key % 5,
        "id": lambda key, version: key,
        "note": lambda key, version: version,
    },
    "moving": {"region": lambda key, version: key + version, "note": lambda key, version: None},
    "uniques": {
        "id": lambda key, version: key,
        "code": lambda key, version: 2 * key + version % 2,
        "n": lambda key, version: version,
    },
}
"""Some versions of a row of `orders` are alike, and rows of `moving` go from one partition to the other."""


@dataclass(frozen=True)
class Made:
    """In place of `TableValues`."""

    table: Table
    columns: Mapping[str, Text]

    def texts(self, names: Sequence[str], rows: TableRows) -> dict[str, pa.Array]:
        pairs = list(zip(rows.keys.tolist(), rows.versions.tolist(), strict=True))
        made = {name: [self.columns[name](*pair) for pair in pairs] for name in names}
        return {
            name: pa.array([None if value is None else str(value).encode() for value in values], pa.binary())
            for name, values in made.items()
        }

    def images(self, rows: TableRows) -> pa.Array:
        return row_image.pack(list(self.texts([column.name for column in visible_columns(self.table)], rows).values()))

    def handles(self, rows: TableRows) -> pa.Array:
        return key_bytes.handle_keys(self.table, self.texts(handle_key(self.table), rows))


def epoch(
    *definitions: str, toml: str = "", release: Release = V8_5, seed: int = 1, rows: int = 30, last: str = ""
) -> SchemaEpoch:
    """The first epoch of a run of these tables, whose values are functions of key and version."""
    text = shop_plan(last, rows, *definitions, more=f"seed = {seed}")
    made = Run(text, "open-protocol", release, "kafka://127.0.0.1:9092/load?partition-num=4&protocol=", toml).at(0)
    tables = [table for table in made.tables if table]
    values = (cast("TableValues", Made(each.place.table, COLUMNS[each.place.table.name])) for each in tables)
    return replace(made, tables=tuple(replace(each, values=value) for each, value in zip(tables, values, strict=True)))


MODERN = 'force-replicate = true\n[sink]\ndispatchers = [{matcher = ["*.*"], partition = "%s"}]\n'
ROW_ID = 'force-replicate = true\n[sink]\ndispatchers = [{matcher = ["*.*"], dispatcher = "rowid"}]\n'
FILTERED = '[[filter.event-filters]]\nmatcher = ["shop.orders"]\nignore-event = ["delete"]\n'
CHANGEFEEDS = (
    *(
        (release, MODERN % dispatcher)
        for release in ("v8.5.3", "v6.5.4", "v8.5.4")
        for dispatcher in ("table", "index-value", "ts")
    ),
    ("v7.1.0", MODERN % "index-value" + FILTERED),
    ("v4.0.2", ROW_ID),
)
"""Some split UPDATEs of a unique key, some only where a transaction has other rows of the table."""

TABLES = (ORDERS, CUSTOMERS, PARTS, UNIQUES)
KEYLESS = (LOG, MOVING)
END_MS = 80


def rows(of: Window, owned: Sequence[int], slice_rows: int = 16_384) -> pa.Table:
    """Return the rows of a task."""
    return pa.Table.from_batches(window_rows(of, owned, slice_rows), EVENTS)


def all_at_once(of: SchemaEpoch, end_ms: int) -> pa.Table:
    """Return all rows from the start on, sorted at the end."""
    changes = of.stream.window(0, of.stream.timetable.transactions_before(end_ms), [0] * len(of.tables))
    found = []
    commit_ts = tso.compose(of.spec.start_ms + of.stream.timetable.milliseconds(changes.transaction))
    commit_ts |= of.stream.timetable.logical(changes.transaction)
    for number, table in enumerate(of.tables):
        assert table is not None
        at = np.flatnonzero(changes.table == number)
        key, keyless = changes.key[at], table.place.table.name in ("log", "moving")
        shown = TableRows(key, np.maximum(changes.before, changes.after)[at], 0, of.stream, number)
        row_ids = [int(row + 1).to_bytes(8, "big") for row in key]
        handles = row_ids if keyless else table.values.handles(shown).to_pylist()
        sides = [_sides(table, replace(shown, versions=versions[at])) for versions in (changes.before, changes.after)]
        for row, handle, ts, was, becomes in zip(key.tolist(), handles, commit_ts[at].tolist(), *sides, strict=True):
            if was and becomes and was[0] != becomes[0]:
                split_up = [(was[0], was[1], None), (becomes[0], None, becomes[1])]
            else:
                place = next(side[0] for side in (was, becomes) if side)
                split_up = [(place, was and was[1], becomes and becomes[1])]
            found += [
                (ts, *changed[:1], handle, *changed[1:], row + 1 if keyless else None)
                for changed in split_up
                if changed[1] != changed[2]
            ]
    schema = row_changes_schema("row_id")
    columns = [pa.array(column, field.type) for column, field in zip(zip(*found, strict=True), schema, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    if batch.column("row_id").null_count == batch.num_rows:
        batch = batch.select(ROW_CHANGES.names)
    if of.rules.split.several:
        batch = batch.append_column("beside", pa.array(split.shares_transaction(batch)))
    sent = stages.filter_and_split(batch, of.rules)
    sent = sent.take(pc.sort_indices(sent, sort_keys=[(name, "ascending") for name in ORDER]))
    return pa.Table.from_batches([stages.to_events(sent, of.rules)], EVENTS)


def _sides(table: EpochTable, rows: TableRows) -> list[tuple[int, bytes] | None]:
    """Return index and image of each row; None for a missing one."""
    there = np.flatnonzero(rows.versions >= 0)
    some = replace(rows, keys=rows.keys[there], versions=rows.versions[there])
    names = [column.name for column in visible_columns(table.place.table)]
    places = locate_rows(table.place, table.values.texts(names, some), len(there)).to_pylist()
    found = dict(zip(there.tolist(), zip(places, table.values.images(some).to_pylist(), strict=True), strict=True))
    return [found.get(row) for row in range(len(rows.keys))]


def of_destination(table: pa.Table, destination: int) -> pa.Table:
    return table.filter(pc.field("destination") == destination)


@pytest.mark.slow
@settings(max_examples=12, derandomize=True)
@given(
    st.sampled_from(CHANGEFEEDS),
    st.lists(st.sampled_from(TABLES), min_size=1, max_size=3, unique=True),
    st.sampled_from([(), KEYLESS]),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.lists(st.integers(1, END_MS - 1), max_size=3),
    st.sampled_from([1, 7, 100, 16_384]),
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
    of = epoch(*tables, *keyless, toml=toml, release=find(release), seed=seed, rows=10)
    expected = all_at_once(of, END_MS)

    bounds = [0, *sorted(set(cuts)), END_MS]
    for task in set(dealt):
        owned = [destination for destination, owner in enumerate(dealt) if owner == task]
        found = pa.concat_tables(
            [rows(window(of, first, end), owned, slice_rows) for first, end in zip(bounds, bounds[1:])]
        )
        assert set(pc.unique(found["destination"]).to_pylist()) <= set(owned)
        for destination in owned:
            assert of_destination(found, destination).equals(of_destination(expected, destination))


def test_a_change_that_changes_nothing_is_not_sent() -> None:
    """TiDB writes nothing if an UPDATE leaves a row unchanged."""
    of = epoch(ORDERS, rows=10)
    made = of.stream.window(0, of.stream.timetable.transactions_before(400), [0])
    found = rows(window(of, 0, 400), range(4))

    assert 0 < found.num_rows < len(made.key)
    assert not pc.any(pc.equal(found["before"], found["after"])).as_py()


def test_a_row_goes_from_one_partition_of_its_table_to_another_as_delete_and_insert() -> None:
    found = rows(window(epoch(MOVING, toml="force-replicate = true"), 0, 400), range(4))

    assert set(pc.unique(found["op"]).to_pylist()) == {DELETE, INSERT}


def test_a_row_that_no_partition_takes_is_told_once() -> None:
    low = PARTS.replace("HASH (region) PARTITIONS 3", "RANGE (region) (PARTITION low VALUES LESS THAN (3))")
    with pytest.raises(UserError, match=r"table shop.parts: no partition takes row 3 \(counted from 0"):
        rows(window(epoch(low, last="columns = {region = {min = 0, max = 2}}"), 0, 400), range(4))


def test_rows_of_a_table_that_the_filter_leaves_out_are_not_sent() -> None:
    of = epoch(ORDERS, CUSTOMERS)
    left_out = replace(of, tables=(None, *of.tables[1:]))
    found = rows(window(left_out, 0, 400), range(4))

    names = {of.rules.tables[place].table.name for place in found["table"].to_pylist()}
    assert names == {"customers"}


def test_transactions_of_many_large_rows_come_in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not depend on the size of rows."""
    monkeypatch.setattr(rows_module, "SLICE_BYTES", 2000)
    monkeypatch.setattr(rows_module, "FIRST_ROWS", 10)
    batches = list(window_rows(window(epoch(ORDERS), 0, 400), range(4)))

    assert max(batch.num_rows for batch in batches) < 100
    assert sum(batch.num_rows for batch in batches) == rows(window(epoch(ORDERS), 0, 400), range(4)).num_rows
