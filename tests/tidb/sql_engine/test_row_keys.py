"""Keys of rows: which rows conflict in TiDB, and the order of rows in TiKV."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns.cells import columns
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.storage.auto_ids import counters_after
from simulator.tidb.sql_engine.storage.row_keys import (
    duplicate_error,
    earlier_duplicates,
    encode_key,
    find_keys,
    unique_keys,
)
from simulator.tidb.sql_engine.storage.rows import column_arrays, ensure_keys, key_rows, replace_rows, take_stored
from simulator.tidb.sql_engine.storage.state import StoredRows


def table_of(definition: str) -> Table:
    return create_table(f"CREATE TABLE test.t ({definition})")


def stored(table: Table, rows: list[dict[str, str | None]]) -> StoredRows:
    ids = pa.array(range(1, len(rows) + 1), pa.int64())
    return StoredRows(table, pa.table(columns(rows)), ids, counters_after(table, len(rows), 0))


def same_key(definition: str, one: dict[str, str | None], other: dict[str, str | None]) -> bool:
    """Return whether two rows conflict in the last unique key of a table."""
    table = table_of(definition)
    keys = encode_key(table, unique_keys(table)[-1], columns([one, other]))
    return bool(keys[0].is_valid and keys[0] == keys[1])


@pytest.mark.parametrize(
    ("definition", "one", "other", "collide"),
    [
        ("a INT PRIMARY KEY", {"a": "1"}, {"a": "1"}, True),
        ("a INT PRIMARY KEY", {"a": "1"}, {"a": "-1"}, False),
        ("a INT, UNIQUE KEY (a)", {"a": None}, {"a": None}, False),
        ("a INT, b INT, UNIQUE KEY (a, b)", {"a": "1", "b": None}, {"a": "1", "b": None}, False),
        ("a VARCHAR(9) PRIMARY KEY", {"a": "x"}, {"a": "x  "}, True),
        ("a VARBINARY(9) PRIMARY KEY", {"a": "x"}, {"a": "x  "}, False),
        ("a VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY", {"a": "Straße"}, {"a": "STRAsE"}, True),
        ("a VARCHAR(9) COLLATE utf8mb4_0900_ai_ci, UNIQUE KEY (a)", {"a": "é"}, {"a": "E"}, True),
        ("a VARCHAR(9), UNIQUE KEY (a(2))", {"a": "äöx"}, {"a": "äöy"}, True),
        ("a VARCHAR(9), b INT, UNIQUE KEY (a(2), b)", {"a": "äöx", "b": "1"}, {"a": "äöy", "b": "2"}, False),
        ("a INT, b INT AS (a DIV 10) VIRTUAL, UNIQUE KEY (b)", {"a": "11"}, {"a": "12"}, True),
        ("a VARCHAR(9), UNIQUE KEY ((lower(a)))", {"a": "AB"}, {"a": "ab"}, True),
    ],
)
def test_rows_conflict_if_a_key_is_equal_in_tidb(
    definition: str, one: dict[str, str | None], other: dict[str, str | None], collide: bool
) -> None:
    assert same_key(definition, one, other) is collide


@pytest.mark.parametrize(
    ("definition", "row", "text"),
    [
        ("a INT, b CHAR(1), PRIMARY KEY (a, b)", {"a": "6", "b": "c"}, "Duplicate entry '6-c' for key 't.PRIMARY'"),
        ("a INT, PRIMARY KEY (a) NONCLUSTERED", {"a": "6"}, "Duplicate entry '6' for key 't.PRIMARY'"),
        ("a INT, UNIQUE KEY Other (a)", {"a": "6"}, "Duplicate entry '6' for key 't.Other'"),
    ],
)
def test_a_duplicate_error_names_the_values_and_the_key(definition: str, row: dict[str, str | None], text: str) -> None:
    table = table_of(definition)

    error = duplicate_error(table, unique_keys(table)[-1], columns([row]), 0)

    assert (error.number, error.state, str(error)) == (1062, "23000", f"ERROR 1062 (23000): {text}")


def test_the_handle_is_checked_first_then_indexes_in_their_order() -> None:
    table = table_of("a INT, b INT, c INT, UNIQUE KEY z (c), UNIQUE KEY y (b), PRIMARY KEY (a)")

    assert [key.name for key in unique_keys(table)] == ["PRIMARY", "z", "y"]


def test_the_last_earlier_row_with_an_equal_key_is_found_in_any_of_the_keys() -> None:
    one = pa.array([b"a", b"b", b"a", None, None, b"a"], pa.binary())
    other = pa.array([b"1", b"2", b"3", b"2", b"9", b"9"], pa.binary())

    assert earlier_duplicates([one, other]).tolist() == [-1, -1, 0, 1, -1, 4]


SHORT = st.binary(max_size=2)


@given(st.lists(SHORT, unique=True, max_size=60), st.lists(st.none() | SHORT, max_size=9))
def test_keys_are_found_at_their_positions(existing: list[bytes], wanted: list[bytes | None]) -> None:
    expected = [existing.index(key) if key in existing else -1 for key in wanted]

    assert find_keys(pa.array(existing, pa.binary()), pa.array(wanted, pa.binary())).tolist() == expected


@given(st.lists(st.integers(-300, 300), unique=True, max_size=90), st.data())
def test_rows_stay_in_the_order_of_their_keys_after_changes(ids: list[int], data: st.DataObject) -> None:
    table = table_of("id INT PRIMARY KEY, u INT, UNIQUE KEY (u)")
    half = data.draw(st.integers(0, len(ids)))
    old, new = ids[:half], ids[half:]
    rows = ensure_keys(stored(table, [row(id) for id in old]) if old else ensure_keys(stored(table, [row(0)])))
    if not old:
        rows = replace_rows(rows, np.array([0]), take_stored(rows, np.zeros(0, np.int64)))
    gone = np.array(data.draw(st.lists(st.integers(0, max(half - 1, 0)), unique=True, max_size=half)), np.int64)
    left = [id for place, id in enumerate(sorted(old)) if place not in gone]
    fresh = key_rows(table, columns([row(id) for id in new]), None) if new else take_stored(rows, np.zeros(0, np.int64))

    made = replace_rows(rows, gone, fresh)

    expected = sorted(left + new)
    texts = column_arrays(made.cells)
    assert [int(cell) for cell in texts["id"].to_pylist()] == expected
    assert made.row_ids.to_pylist() == expected
    anew = ensure_keys(StoredRows(table, made.cells, made.row_ids))
    assert made.keys is not None and anew.keys is not None
    assert (made.keys.handles, made.keys.unique) == (anew.keys.handles, anew.keys.unique)


def row(id: int) -> dict[str, str | None]:
    return {"id": str(id), "u": None if id % 3 == 0 else str(-id)}


def test_rows_of_a_partitioned_table_lie_by_partitions() -> None:
    table = create_table("CREATE TABLE test.t (a INT PRIMARY KEY) PARTITION BY HASH (a) PARTITIONS 2")

    rows = ensure_keys(stored(table, [{"a": text} for text in "4321"]))

    assert column_arrays(rows.cells)["a"].to_pylist() == [b"2", b"4", b"1", b"3"]
