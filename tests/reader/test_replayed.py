"""In a replay each old image equals the previous new image, the last images are the expected rows, and statements change, rename and
drop the tables, columns and partitions of rows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.contract_checks import (
    KEYLESS,
    TABLES,
    Ddl,
    Event,
    Row,
    RowPlace,
    Stream,
    good,
    records,
    rows_of,
    ts,
    with_other_value,
    without_row,
)
from support.playing import Rows, play, replayed

from simulator.reader.records import read_records
from simulator.reader.replay.outcome import ReplayOutcome
from simulator.reader.replay.stream_statements import StreamStatement
from simulator.reader.replay.table_timeline import TableTimeline, table_timeline
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table

OPEN, CANAL = "open-protocol", "canal-json"
SHAPES = [(OPEN, True), (CANAL, True), (CANAL, False)]
ORDERS = ("shop", "orders")


def left(stream: Stream) -> dict[tuple[str, str], list[bytes]]:
    """The rows that its changes lead to."""
    state: dict[int, str] = {}
    for *_, row in sorted(rows_of(stream), key=lambda item: item[3].ts):
        state.pop(row.id, None)
        if row.after is not None:
            state[row.id] = row.after
    return {ORDERS: [f"{number}\xff{name}".encode("latin-1") for number, name in state.items()]}


def replay(stream: Stream, protocol: str = OPEN, extension: bool = True, after: Rows | None = None) -> ReplayOutcome:
    expected = left(good()) if after is None else after
    return replayed(records(stream, protocol, extension), protocol, TABLES.values(), after=expected)


def failed(outcome: ReplayOutcome) -> dict[str, int]:
    return {check: count for (check, _), count in outcome.counts.items()}


@pytest.mark.parametrize(("protocol", "extension"), SHAPES)
def test_a_correct_stream_leads_to_the_final_rows(protocol: str, extension: bool) -> None:
    """Every old image equals the row in the table, and all rows are counted."""
    found = replay(good(), protocol, extension)
    assert ({}, {}) == (found.counts, found.not_compared)
    assert [("shop.log", 0, 0), ("shop.orders", 6, 6)] == [
        (each.table, each.expected, each.found) for each in found.tables
    ]


@pytest.mark.slow
@settings(max_examples=15)
@given(st.sampled_from(rows_of(good())), st.sampled_from(SHAPES), st.sampled_from(["before", "after"]))
def test_a_lost_row_change_and_a_changed_value_are_found(where: RowPlace, shape: tuple[str, bool], image: str) -> None:
    """In the final rows, or in the next old image."""
    assert {} != replay(without_row(where), *shape).counts
    changed = with_other_value(where, image)
    assert changed is None or {} != replay(changed, *shape).counts


@pytest.mark.slow
def test_repeated_rows_change_nothing() -> None:
    stream = good()
    for messages in stream.values():
        messages[-1:-1] = copy.deepcopy(messages[2:-1])
    for shape in SHAPES:
        assert {} == replay(stream, *shape).counts


def test_an_insert_of_an_existing_row_is_found() -> None:
    """An UPDATE of a row that does not exist is found, too."""
    stream = good()
    stream[0].insert(-1, [Row(ts(3.9), 0, None, "again"), Row(ts(3.9), 99, "never", "now")])
    stream[0].insert(-1, [Row(ts(3.95), 0, "again", "new 0"), Row(ts(3.95), 99, "now", None)])
    assert {"row-already-there": 1, "row-not-there": 1} == failed(replay(stream))


def test_two_changes_at_one_commit_ts_contradict_each_other() -> None:
    stream = good()
    stream[0].insert(-1, [Row(ts(3.9), 0, "new 0", "a"), Row(ts(3.9), 0, "new 0", "b")])
    assert 1 == failed(replay(stream))["two-changes"]


def test_a_row_that_moves_between_partitions_is_followed() -> None:
    """DELETE and INSERT of one commit-ts are one step, whichever is read first."""
    stream = good()
    stream[0].insert(-1, [Row(ts(3.9), 0, None, "new 0")])
    stream[1].insert(-1, [Row(ts(3.9), 0, "new 0", None)])
    assert {} == replay(stream).counts


@pytest.mark.slow
def test_a_dropped_table_starts_empty_again() -> None:
    stream = good()
    drop: list[Event] = [Ddl(ts(5), "DROP TABLE `orders`", 4, "ERASE")]
    for messages in stream.values():
        messages += [drop, [Ddl(ts(6))]]
    stream[1].append([Row(ts(7), 0, None, "again")])
    assert {} == replay(stream, after={ORDERS: [b"0\xffagain"]}).counts
    stream[1].append([Row(ts(8), 2, "new 2", None)])
    assert {"row-not-there": 1} == failed(replay(stream, after={ORDERS: [b"0\xffagain"]}))


def test_old_images_of_unknown_initial_rows_are_accepted() -> None:
    """This holds if the rows at the start are unknown."""
    stream: Stream = {0: [[Row(ts(1), 1, "a", "b")], [Row(ts(2), 1, "c", "d")]]}
    found = replayed(records(stream, OPEN), OPEN, TABLES.values(), after={ORDERS: [b"1\xffd", b"7\xffx"]}, known=())
    assert {"old-image": 1} == failed(found)
    assert "shop.orders, row 1: name was 'b', the old image says 'c'" == found.examples[0].what
    (table,) = (table for table in found.tables if table.table == "shop.orders")
    assert (2, None, 1) == (table.expected, table.found, table.untouched)


def test_rows_without_a_handle_key_are_counted() -> None:
    found = replayed(
        [], OPEN, [KEYLESS], before={("shop", "log"): [b"x", b"y", b"y"]}, after={("shop", "log"): [b"x", b"x", b"z"]}
    )
    assert {"row-missing": 2, "row-left": 1} == failed(found)
    assert sorted(example.what for example in found.examples) == [
        "shop.log, row x: is there 1 times, 2 expected",
        "shop.log, row y: is there 2 times, 0 expected",
        "shop.log, row z: is there 0 times, 1 expected",
    ]


# -- statements ------------------------------------------------------------------------------------------------------

CREATED = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"


def tables_after(*queries: str, before: Sequence[str] = (), after: Sequence[str] | None = None) -> TableTimeline:
    sent = [StreamStatement(10 * number, "shop", query) for number, query in enumerate(queries, 1)]
    return table_timeline(
        sent,
        [create_table(text, "shop") for text in before] or None,
        after=None if after is None else [create_table(text, "shop") for text in after],
    )


def numbers(found: TableTimeline) -> dict[str, int]:
    return {name: number for (_, name), number in found.last().items()}


def test_a_table_keeps_its_number_under_every_name() -> None:
    """This holds even if two tables swap their names."""
    found = tables_after("RENAME TABLE a TO t, b TO a, t TO b", before=[CREATED, "CREATE TABLE b (id INT PRIMARY KEY)"])
    assert found.notes == ()
    assert numbers(found) == {"a": 1, "b": 0}


def test_truncate_and_create_start_a_new_table() -> None:
    """TiDB assigns a new table id, and the old rows disappear."""
    found = tables_after(CREATED, "TRUNCATE TABLE a", "DROP TABLE a", CREATED)
    assert [history.gone for history in found.tables] == [20, 30, None]
    assert numbers(found) == {"a": 2}


def test_a_restored_table_has_its_rows_again() -> None:
    found = tables_after(CREATED, "DROP TABLE a", "FLASHBACK TABLE a")
    assert [history.gone for history in found.tables] == [None]


def test_initial_tables_are_inferred_from_the_final_ones() -> None:
    """They have the names of that time; tables that a statement created are excluded."""
    found = tables_after(
        "RENAME TABLE old TO b",
        "CREATE TABLE c (id INT PRIMARY KEY)",
        "ALTER TABLE b ADD COLUMN w INT",
        after=["CREATE TABLE b (id INT PRIMARY KEY, v INT, w INT)", "CREATE TABLE c (id INT PRIMARY KEY)"],
    )
    assert found.notes == ()
    assert {name: spans[0] for (_, name), spans in found.names.items()} == {"old": (-1, 0), "b": (10, 0), "c": (20, 1)}
    assert [history.known for history in found.tables] == [False, True]


def test_a_statement_that_does_not_fit_is_noted() -> None:
    found = tables_after("ALTER TABLE a DROP COLUMN x", before=[CREATED])
    assert len(found.notes) == 1 and found.notes[0].startswith("ALTER TABLE a DROP COLUMN x: ")


BEGUN = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2);"

STORIES = {
    "a column comes": (
        "ALTER TABLE t ADD COLUMN x INT DEFAULT 3; UPDATE t SET v = 9 WHERE id = 1; INSERT INTO t VALUES (7, 7, 7);",
        [b"1\xff9\xff3", b"2\xff2\xff3", b"7\xff7\xff7"],
    ),
    "a column goes": (
        "UPDATE t SET v = 5 WHERE id = 2; ALTER TABLE t DROP COLUMN v; DELETE FROM t WHERE id = 1;",
        [b"2"],
    ),
    "a column comes again": (
        "ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD COLUMN v INT DEFAULT 8; DELETE FROM t WHERE id = 1;",
        [b"2\xff8"],
    ),
    "a column gets another type": (
        "ALTER TABLE t MODIFY COLUMN v VARCHAR(9); UPDATE t SET v = 'x' WHERE id = 1;",
        [b"1\xffx", b"2\xff2"],
    ),
    "a column moves": (
        "ALTER TABLE t MODIFY COLUMN v INT FIRST; UPDATE t SET v = 4 WHERE id = 1;",
        [b"4\xff1", b"2\xff2"],
    ),
    "a table gets another name": (
        "RENAME TABLE t TO u; UPDATE u SET v = 4 WHERE id = 1; RENAME TABLE u TO t;",
        [b"1\xff4", b"2\xff2"],
    ),
    "a table is emptied": ("TRUNCATE TABLE t; INSERT INTO t VALUES (1, 6);", [b"1\xff6"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["protocol=open-protocol", "protocol=canal-json"])
@pytest.mark.parametrize("story", STORIES)
def test_rows_are_converted_by_statements(story: str, sink: str, tmp_path: Path) -> None:
    """An unexpected row is found."""
    text, rows = STORIES[story]
    found = told(BEGUN + text, sink, rows, tmp_path)
    assert (found.counts, found.examples, found.not_compared) == ({}, (), {})
    wrong = told("", sink, rows[1:], tmp_path)
    assert wrong.counts == {("row-left", "shop.t"): 1}


PARTED = """CREATE TABLE t (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (
PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30));
INSERT INTO t VALUES (1, 1), (11, 2), (21, 3);"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("ALTER TABLE t DROP PARTITION p0;", [b"11\xff2", b"21\xff3"]),
        ("ALTER TABLE t TRUNCATE PARTITION p0, p2; INSERT INTO t VALUES (1, 9);", [b"1\xff9", b"11\xff2"]),
        (
            "UPDATE t SET id = 12 WHERE id = 1; ALTER TABLE t DROP PARTITION p0; UPDATE t SET v = 0 WHERE id = 12;",
            [b"11\xff2", b"12\xff0", b"21\xff3"],
        ),
    ],
)
def test_rows_disappear_with_their_partition(text: str, rows: list[bytes], tmp_path: Path) -> None:
    """Only rows in the partition at that time disappear."""
    found = told(PARTED + text, "protocol=open-protocol", rows, tmp_path)
    assert (found.counts, found.not_compared) == ({}, {})


def told(text: str, sink: str, rows: list[bytes], directory: Path) -> ReplayOutcome:
    """What the replay of a story finds, held against these rows of shop.t; it is played once."""
    story, out = directory / "story.sql", directory / "out"
    if not out.exists():
        story.write_text(f"CREATE DATABASE shop; USE shop; {text}")
        uri = f"kafka://127.0.0.1:9092/shop?partition-num=2&{sink}"
        assert play("run", story, "--sink-uri", uri, "--fixtures", out) == 0
    after: Rows = {("shop", "t"): rows}
    tables: list[Table] = []
    return replayed(read_records(str(out)), sink.partition("=")[2].partition("&")[0], tables, after=after)


@pytest.mark.slow
def test_inferred_tables_are_replayed_as_far_as_possible(tmp_path: Path) -> None:
    """Earlier values of dropped or converted columns are unknown."""
    ends = create_table("CREATE TABLE t (id INT PRIMARY KEY, x INT)", "shop")
    text = BEGUN + "ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD COLUMN x INT; UPDATE t SET x = 1 WHERE id = 1;"
    told(text, "protocol=open-protocol", [], tmp_path)
    stream = [record for record in read_records(str(tmp_path / "out")) if b"CREATE" not in (record.value or b"")]
    rows: Rows = {("shop", "t"): [b"1\xff1", b"2\xff\xfe"]}
    found = replayed(stream, "open-protocol", (), after=rows, ends=[ends], known=())
    assert (found.counts, found.not_compared) == ({}, {})
    rows = {("shop", "t"): [b"1\xff2", b"3\xff1"]}
    found = replayed(stream, "open-protocol", (), after=rows, ends=[ends], known=())
    assert found.counts == {("row-different", "shop.t"): 1, ("row-left", "shop.t"): 1}


def test_a_table_without_changes_has_no_rows(tmp_path: Path) -> None:
    """Its expected rows are missing."""
    ends = create_table("CREATE TABLE other (id INT PRIMARY KEY)", "shop")
    told(BEGUN, "protocol=open-protocol", [], tmp_path)
    found = replayed(
        read_records(str(tmp_path / "out")),
        "open-protocol",
        (),
        ends=[ends],
        after={("shop", "t"): [b"1\xff1", b"2\xff2"], ("shop", "other"): [b"5"]},
    )
    assert found.counts == {}
    (table,) = (table for table in found.tables if table.table == "shop.other")
    assert (table.found, table.untouched) == (None, 1)
