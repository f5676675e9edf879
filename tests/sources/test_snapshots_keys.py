"""That no key comes twice is told from the order of rows, and never where one does."""

from __future__ import annotations

import base64

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from simulator.sources.snapshots import key_order
from simulator.sources.snapshots.key_order import KeyRanges, KeyReport, unproven_tables
from simulator.sources.snapshots.states import unbase64, unhex

Row = tuple[int, int, bytes]
"""Move, table and handle."""

HANDLES = st.binary(max_size=2)
ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), HANDLES), max_size=12)
TASKS = st.lists(st.lists(ROWS, max_size=3), max_size=3)
"""The batches of each task."""


def batch(rows: list[Row], hashed: bool) -> pa.RecordBatch:
    columns = {
        name: pa.array([row[place] for row in rows], kind)
        for place, (name, kind) in enumerate({"move": pa.int32(), "table": pa.int32(), "handle": pa.binary()}.items())
    }
    hashes = {"row_hash": pa.array([sum(row[2]) for row in rows], pa.int64())} if hashed else {}
    return pa.record_batch({**columns, **hashes})


def reports(tasks: list[list[list[Row]]], hashed: bool) -> list[KeyReport]:
    made: list[KeyReport] = []
    for task in tasks:
        ranges = KeyRanges()
        for rows in task:
            ranges.add(batch(rows, hashed))
        made += ranges.reports()
    return made


def repeated(rows: list[Row]) -> set[tuple[int, int]]:
    """Tables with a key that comes twice."""
    return {(move, table) for move, table, handle in rows if rows.count((move, table, handle)) > 1}


@given(tasks=TASKS, hashed=st.booleans())
def test_a_table_with_a_key_twice_is_never_proven(tasks: list[list[list[Row]]], hashed: bool) -> None:
    """In whatever batches and tasks its rows come, with hashes and without."""
    reported = reports(tasks, hashed)
    rows = [row for task in tasks for rows in task for row in rows]
    assert repeated(rows) <= unproven_tables(reported)
    assert sum(report.rows for report in reported) == len(rows)


@given(rows=st.sets(st.tuples(st.integers(0, 1), st.integers(0, 2), HANDLES)), data=st.data())
def test_what_is_dumped_in_order_of_its_keys_is_proven(rows: set[Row], data: st.DataObject) -> None:
    """Wherever files, batches and tasks are cut, and in whatever order the tasks end."""
    ordered, tasks = sorted(rows), []
    while ordered:
        size = data.draw(st.integers(1, len(ordered)))
        taken, ordered = ordered[:size], ordered[size:]
        middle = data.draw(st.integers(0, size))
        tasks.append([taken[:middle], taken[middle:]])
    assert unproven_tables(reports(data.draw(st.permutations(tasks)), False)) == set()


def test_files_in_another_order_than_their_rows_are_proven() -> None:
    """Each stretch of rising keys stands for itself."""
    rows = [(0, 0, key.to_bytes(2, "big")) for key in range(100)]
    assert unproven_tables(reports([[rows[50:75], rows[25:50]], [rows[75:] + rows[:25]]], False)) == set()
    assert unproven_tables(reports([[rows[50:76], rows[25:50]], [rows[75:] + rows[:25]]], False)) == {(0, 0)}


def test_rows_in_no_order_are_proven_by_their_hashes() -> None:
    """Where they are few enough, and known."""
    rows: list[Row] = [(0, 0, bytes([key * 130 % 251])) for key in range(251)]
    assert [report.runs for report in reports([[rows]], True)] == [None]
    assert unproven_tables(reports([[rows[:100]], [rows[100:]]], True)) == set()
    assert unproven_tables(reports([[rows[:100]], [rows[99:]]], True)) == {(0, 0)}
    assert unproven_tables(reports([[rows]], False)) == {(0, 0)}


def test_a_report_stays_small() -> None:
    """Neither runs nor hashes of a large table without order are sent."""
    rows: list[Row] = [(0, 0, (key * 40503 % 65537).to_bytes(3, "big")) for key in range(65_537)]
    [report] = reports([[rows[start : start + 9000] for start in range(0, len(rows), 9000)]], True)
    assert (report.rows, report.runs, report.keys) == (65_537, None, None)
    assert len(rows) > key_order.KEYS


def test_partitions_that_alternate_in_a_batch_are_told_apart() -> None:
    """The rows of each rise, though those of all together do not."""
    rows: list[Row] = [(0, key % 7, key.to_bytes(2, "big")) for key in range(1000)]
    assert [len(report.runs or ()) for report in reports([[rows]], False)] == [1] * 7


BYTES = st.lists(st.one_of(st.none(), st.binary(max_size=7)), max_size=6)


@given(values=BYTES, start=st.integers(0, 2))
def test_hexadecimal_and_base64_are_undone(values: list[bytes | None], start: int) -> None:
    """Of arrays that begin anywhere in their buffers, too."""
    hexed = pa.array([None if value is None else value.hex().encode() for value in values], pa.binary()).slice(start)
    based = pa.array([None if value is None else base64.b64encode(value) for value in values], pa.binary()).slice(start)
    for found in (unhex(hexed), unbase64(based)):
        found.validate(full=True)
        assert found.to_pylist() == values[start:]


@given(texts=st.lists(st.text("AZaz09+/=!é", max_size=6), max_size=5))
def test_what_is_no_hexadecimal_and_no_base64_is_null(texts: list[str]) -> None:
    """And the values beside it are what they are."""
    array = pa.array([text.encode() for text in texts], pa.binary())
    assert unbase64(array).to_pylist() == [decoded(text) for text in texts]
    digits = pa.array([text.encode() for text in ("0a", "0", "0g", "", "FF")], pa.binary())
    assert unhex(digits).to_pylist() == [b"\n", None, None, b"", b"\xff"]


def decoded(text: str) -> bytes | None:
    """Padded base64 by Python, which is laxer about what stands behind the padding."""
    body = text.rstrip("=")
    if len(text) % 4 or "=" in body or len(text) - len(body) > 2 or set(body) & set("!é"):
        return None
    return base64.b64decode(text)
