"""UPDATE: changed rows, changed keys in TiKV, and conflicts between updated rows."""

from __future__ import annotations

import re

import pytest
from support.upstreams import changes, played, rows_in

from simulator.errors import SqlError

ITEMS = played("""
    CREATE TABLE t (id INT PRIMARY KEY, a INT, u INT, UNIQUE KEY uk (u));
    INSERT INTO t VALUES (1, 10, 1), (2, 20, 2), (3, 30, NULL);
    CREATE TABLE heap (id INT PRIMARY KEY NONCLUSTERED, a INT);
    INSERT INTO heap VALUES (1, 1), (2, 2);
    CREATE TABLE parted (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a) (
        PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
    INSERT INTO parted VALUES (1, 1), (11, 1);
    CREATE TABLE stamped (id INT PRIMARY KEY, a INT, at DATETIME ON UPDATE CURRENT_TIMESTAMP);
    INSERT INTO stamped VALUES (1, 1, NULL), (2, 2, NULL);
    CREATE TABLE made (a INT PRIMARY KEY, g INT AS (a * 2) STORED, v INT AS (a DIV 10) VIRTUAL, UNIQUE KEY (v));
    INSERT INTO made (a) VALUES (1), (11);
    CREATE VIEW view1 AS SELECT 1;
""").upstream


def after(text: str) -> list[str]:
    """Return the net changes of one statement."""
    found = changes(played(text, ITEMS))
    return found[0] if found else []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UPDATE t SET a = a + 1 WHERE id < 3", ["t 1,10,1 > 1,11,1", "t 2,20,2 > 2,21,2"]),
        ("UPDATE t SET a = 10", ["t 2,20,2 > 2,10,2", "t 3,30,NULL > 3,10,NULL"]),
        ("UPDATE t SET a = a", []),
        ("UPDATE t SET a = 0 WHERE id = 9", []),
        ("UPDATE t SET a = a + 1, u = a WHERE id = 1", ["t 1,10,1 > 1,11,10"]),
        ("UPDATE t SET a = 0 ORDER BY id DESC LIMIT 1", ["t 3,30,NULL > 3,0,NULL"]),
        ("UPDATE t SET a = 0 LIMIT 1", ["t 1,10,1 > 1,0,1"]),
        ("UPDATE t SET a = DEFAULT WHERE id = 1", ["t 1,10,1 > 1,NULL,1"]),
        ("UPDATE t SET id = 9 WHERE id = 1", ["-t 1,10,1", "+t 9,10,1"]),
        ("UPDATE heap SET id = 9 WHERE id = 1", ["heap 1,1 > 9,1"]),
        ("UPDATE parted SET a = 12, b = 2 WHERE a = 1", ["-parted/0 1,1", "+parted/1 12,2"]),
        ("UPDATE parted SET a = 2 WHERE a = 1", ["-parted/0 1,1", "+parted/0 2,1"]),
        ("UPDATE stamped SET a = 1", ["stamped 2,2,NULL > 2,1,2020-02-20 02:20:20"]),
        ("UPDATE made SET a = 25 WHERE a = 11", ["-made 11,22", "+made 25,50"]),
        (
            "UPDATE t JOIN heap ON t.id = heap.id SET t.a = heap.a, heap.a = 0 WHERE t.id = 1",
            ["t 1,10,1 > 1,1,1", "heap 1,1 > 1,0"],
        ),
        ("UPDATE t, heap SET t.a = heap.a WHERE t.id = 1", ["t 1,10,1 > 1,1,1"]),
        (
            "UPDATE heap LEFT JOIN t ON t.id = heap.id + 1 AND t.id = 2 SET t.a = 0, heap.a = 7",
            ["t 2,20,2 > 2,0,2", "heap 1,1 > 1,7", "heap 2,2 > 2,7"],
        ),
    ],
)
def test_changed_rows_are_written(text: str, expected: list[str]) -> None:
    assert after(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "UPDATE t SET id = id + 1 ORDER BY id DESC",
            ["-t 1,10,1", "t 2,20,2 > 2,10,1", "t 3,30,NULL > 3,20,2", "+t 4,30,NULL"],
        ),
        ("UPDATE t SET u = u + 1 ORDER BY id DESC", ["t 1,10,1 > 1,10,2", "t 2,20,2 > 2,20,3"]),
        ("UPDATE t SET id = id - 1", ["+t 0,10,1", "t 1,10,1 > 1,20,2", "t 2,20,2 > 2,30,NULL", "-t 3,30,NULL"]),
    ],
)
def test_a_row_may_take_a_key_that_another_row_has_given_up(text: str, expected: list[str]) -> None:
    assert after(text) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("UPDATE t SET id = id + 1", "1062 (23000): Duplicate entry '2' for key 't.PRIMARY'"),
        ("UPDATE t SET id = 2 WHERE id = 1", "1062 (23000): Duplicate entry '2' for key 't.PRIMARY'"),
        ("UPDATE t SET u = 2 WHERE id = 3", "1062 (23000): Duplicate entry '2' for key 't.uk'"),
        ("UPDATE t SET u = 5", "1062 (23000): Duplicate entry '5' for key 't.uk'"),
        ("UPDATE t SET id = 3 - id WHERE id < 3", "1062 (23000): Duplicate entry '2' for key 't.PRIMARY'"),
        ("UPDATE made SET a = 12 WHERE a = 1", "1062 (23000): Duplicate entry '1' for key 'made.v'"),
        ("UPDATE parted SET a = 30 WHERE a = 1", "1526 (HY000): Table has no partition for value 30"),
        ("UPDATE t SET no = 1", "1054 (42S22): Unknown column 'no' in 'field list'"),
        ("UPDATE t SET heap.a = 1", "1054 (42S22): Unknown column 'heap.a' in 'field list'"),
        ("UPDATE t, heap SET a = 1", "1052 (23000): Column 'a' in field list is ambiguous"),
        ("UPDATE no SET a = 1", "1146 (42S02): Table 'test.no' doesn't exist"),
        ("UPDATE view1 SET a = 1", "1288 (HY000): The target table view1 of the UPDATE is not updatable"),
    ],
)
def test_a_refused_statement_has_tidbs_error(text: str, error: str) -> None:
    with pytest.raises(SqlError, match=f"^{re.escape(f'ERROR {error}')}$"):
        played(text, ITEMS)


def test_ignore_leaves_rows_unchanged_if_their_new_keys_exist() -> None:
    outcome = played("UPDATE IGNORE t SET u = 5", ITEMS)

    assert changes(outcome) == [["t 1,10,1 > 1,10,5"]]
    assert outcome.warnings == ("1062 Duplicate entry '5' for key 't.uk'",) * 2


def test_rows_are_in_the_order_of_their_new_keys() -> None:
    upstream = played("UPDATE t SET id = 9 WHERE id = 1", ITEMS).upstream

    assert [row[0] for row in rows_in(upstream, "t")] == ["2", "3", "9"]
    assert upstream.rows["test", "t"].row_ids.to_pylist() == [2, 3, 9]


def test_affected_rows_are_those_that_changed() -> None:
    assert played("UPDATE t SET a = 10", ITEMS).affected == 2


def test_a_moment_before_1970_keeps_its_fraction() -> None:
    early = played("CREATE TABLE e (at DATETIME(1)); INSERT INTO e VALUES ('1000-01-01 17:46:56.3')").upstream

    assert changes(played("UPDATE e SET at = DATE_ADD(at, INTERVAL 5 HOUR)", early)) == [
        ["e 1000-01-01 17:46:56.3 > 1000-01-01 22:46:56.3"]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE item, (SELECT 1 AS q) d SET d.q = 2",
        "UPDATE item, (SELECT 1 AS q) d SET q = 2",
        "DELETE d FROM (SELECT 1 AS q) d",
    ],
)
def test_rows_of_a_query_are_not_written(text: str) -> None:
    with pytest.raises(SqlError, match=r"^ERROR 1288 .*: The target table d of the (UPDATE|DELETE) is not updatable$"):
        played(f"CREATE TABLE item (id INT); {text}")


def test_update_ignore_leaves_a_row_that_fits_no_partition() -> None:
    """pkg/executor/write.go, updateRecord."""
    outcome = played(
        "CREATE TABLE p (a INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10));"
        "INSERT INTO p VALUES (1), (2); UPDATE IGNORE p SET a = a * 9"
    )

    assert rows_in(outcome.upstream, "p") == [("9",), ("2",)]
    assert list(outcome.warnings) == ["1526 Table has no partition for value 18"]
