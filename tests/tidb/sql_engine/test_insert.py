"""INSERT and REPLACE: inserted and replaced rows, and TiDB's errors for duplicate keys."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import changes, played, rows_in

from simulator.errors import SqlError
from simulator.tidb.sql_engine.storage.state import StatementOutcome, Upstream

ITEMS = played("""
    CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 7, u VARCHAR(10), UNIQUE KEY uk (u));
    INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL);
    CREATE TABLE heap (a INT, b INT, UNIQUE KEY (b));
    INSERT INTO heap VALUES (1, 1), (2, NULL), (3, NULL);
    CREATE TABLE parted (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a) (
        PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
    CREATE VIEW v AS SELECT 1;
""").upstream


def after(text: str, upstream: Upstream = ITEMS) -> list[str]:
    """Return the net changes of one transaction; none if it has none."""
    found = changes(played(text, upstream))
    assert len(found) < 2
    return found[0] if found else []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO t VALUES (5, 1, 'a'), (4, 1, NULL)", ["+t 4,1,NULL", "+t 5,1,a"]),
        ("INSERT INTO t (u, id) VALUES ('a', 4)", ["+t 4,7,a"]),
        ("INSERT INTO t SET id = 4, a = 1 + 1", ["+t 4,2,NULL"]),
        ("INSERT INTO t VALUES (4, DEFAULT, 'a'), (5, 1, DEFAULT)", ["+t 4,7,a", "+t 5,1,NULL"]),
        ("INSERT INTO heap () VALUES (), ()", ["+heap NULL,NULL", "+heap NULL,NULL"]),
        ("INSERT INTO parted VALUES (15, 1), (5, 1)", ["+parted/0 5,1", "+parted/1 15,1"]),
        ("INSERT INTO parted PARTITION (p1) VALUES (15, 1)", ["+parted/1 15,1"]),
    ],
)
def test_new_rows_are_inserted(text: str, expected: list[str]) -> None:
    assert after(text) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("INSERT INTO t VALUES (4, 1, 'a'), (1, 1, 'b')", "1062 (23000): Duplicate entry '1' for key 't.PRIMARY'"),
        ("INSERT INTO t VALUES (4, 1, 'a'), (1, 1, 'y')", "1062 (23000): Duplicate entry '1' for key 't.PRIMARY'"),
        ("INSERT INTO t VALUES (4, 1, 'y'), (1, 1, 'b')", "1062 (23000): Duplicate entry 'y' for key 't.uk'"),
        ("INSERT INTO t VALUES (4, 1, 'a'), (5, 1, 'a ')", "1062 (23000): Duplicate entry 'a ' for key 't.uk'"),
        ("INSERT INTO heap VALUES (9, 1)", "1062 (23000): Duplicate entry '1' for key 'heap.b'"),
        ("INSERT INTO t VALUES (4, 1)", "1136 (21S01): Column count doesn't match value count at row 1"),
        ("INSERT INTO t VALUES (4, 1, 'a'), (5)", "1136 (21S01): Column count doesn't match value count at row 2"),
        ("INSERT INTO t (id) VALUES ()", "1136 (21S01): Column count doesn't match value count at row 1"),
        ("INSERT INTO t (id, no) VALUES (4, 1)", "1054 (42S22): Unknown column 'no' in 'field list'"),
        ("INSERT INTO t (id, ID) VALUES (4, 1)", "1110 (42000): Column 'id' specified twice"),
        (
            "INSERT INTO t (id) VALUES (4) ON DUPLICATE KEY UPDATE no = 1",
            "1054 (42S22): Unknown column 'no' in 'field list'",
        ),
        ("INSERT INTO no VALUES (1)", "1146 (42S02): Table 'test.no' doesn't exist"),
        ("INSERT INTO v VALUES (1)", "1105 (HY000): insert into view v is not supported now"),
        ("REPLACE INTO v VALUES (1)", "1105 (HY000): replace into view v is not supported now"),
        ("INSERT INTO parted VALUES (1, 1), (20, 1)", "1526 (HY000): Table has no partition for value 20"),
        (
            "INSERT INTO parted PARTITION (p1) VALUES (1, 1)",
            "1748 (HY000): Found a row not matching the given partition set",
        ),
        ("INSERT INTO parted PARTITION (p7) VALUES (1, 1)", "1735 (HY000): Unknown partition 'p7' in table 'parted'"),
    ],
)
def test_a_refused_statement_has_tidbs_error(text: str, error: str) -> None:
    with pytest.raises(SqlError, match=f"^{re.escape(f'ERROR {error}')}$"):
        played(text, ITEMS)


def test_a_statement_that_fails_leaves_its_transaction_as_it_was() -> None:
    begun = played("BEGIN; INSERT INTO t VALUES (4, 1, 'a')", ITEMS).upstream
    with pytest.raises(SqlError):
        played("INSERT INTO t VALUES (5, 1, 'b'), (1, 1, 'c')", begun)

    assert after("COMMIT", begun) == ["+t 4,1,a"]


@pytest.mark.parametrize(
    ("text", "expected", "warnings"),
    [
        ("(1, 1, 'a'), (4, 1, 'b')", ["+t 4,1,b"], ["1062 Duplicate entry '1' for key 't.PRIMARY'"]),
        (
            "(4, 1, 'a'), (4, 2, 'b'), (5, 3, 'b')",
            ["+t 4,1,a", "+t 5,3,b"],
            ["1062 Duplicate entry '4' for key 't.PRIMARY'"],
        ),
        (
            "(4, 1, 'a'), (4, 2, 'b'), (5, 3, 'a')",
            ["+t 4,1,a"],
            ["1062 Duplicate entry '4' for key 't.PRIMARY'", "1062 Duplicate entry 'a' for key 't.uk'"],
        ),
        ("(9, 1, NULL), (8, 1, NULL)", ["+t 8,1,NULL", "+t 9,1,NULL"], []),
    ],
)
def test_ignore_leaves_out_rows_with_existing_keys(text: str, expected: list[str], warnings: list[str]) -> None:
    outcome = played(f"INSERT IGNORE INTO t VALUES {text}", ITEMS)

    assert (changes(outcome), list(outcome.warnings)) == ([expected], warnings)


def test_ignore_leaves_out_rows_that_fit_no_partition() -> None:
    outcome = played("INSERT IGNORE INTO parted VALUES (1, 1), (20, 1), (2, 1)", ITEMS)

    assert changes(outcome) == [["+parted/0 1,1", "+parted/0 2,1"]]
    assert outcome.warnings == ("1526 Table has no partition for value 20",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(1, 11, 'x')", ["t 1,10,x > 1,11,x"]),
        ("(1, 10, 'x')", []),
        ("(1, 10, 'y')", ["t 1,10,x > 1,10,y", "-t 2,20,y"]),
        ("(4, 1, 'y')", ["-t 2,20,y", "+t 4,1,y"]),
        ("(4, 1, 'a'), (4, 2, 'b')", ["+t 4,2,b"]),
        ("(1, 1, 'z'), (1, 10, 'x')", ["t 1,10,x > 1,10,x"]),
        ("(4, 1, 'x'), (1, 2, 'y'), (5, 3, 'x')", ["t 1,10,x > 1,2,y", "-t 2,20,y", "+t 5,3,x"]),
    ],
)
def test_replace_deletes_every_conflicting_row(text: str, expected: list[str]) -> None:
    assert after(f"REPLACE INTO t VALUES {text}") == expected


def test_replace_into_a_table_without_a_unique_key_adds_rows() -> None:
    table = played("CREATE TABLE free (a INT, b INT); INSERT INTO free VALUES (1, 1)").upstream

    outcome = played("REPLACE INTO free VALUES (1, 1), (2, 2)", table)

    assert (rows_in(outcome.upstream, "free"), outcome.affected) == ([("1", "1"), ("1", "1"), ("2", "2")], 2)


def test_replace_gives_a_table_without_a_clustered_key_a_new_row() -> None:
    outcome = played("REPLACE INTO heap VALUES (5, 1)", ITEMS)

    assert changes(outcome) == [["-heap 1,1", "+heap 5,1"]]
    assert outcome.upstream.rows["test", "heap"].row_ids.to_pylist() == [2, 3, 4]


def test_replace_of_one_key_keeps_the_last_of_equal_rows() -> None:
    table = played("CREATE TABLE one (id INT PRIMARY KEY, a INT); INSERT INTO one VALUES (1, 1)").upstream

    assert after("REPLACE INTO one VALUES (2, 1), (1, 5), (2, 2), (1, 1)", table) == ["one 1,1 > 1,1", "+one 2,2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET a = b + a, b = a + 1", ["+n 1,NULL,NULL,x,0"]),
        ("(a, b) VALUES (1, a + 1), (a, 2)", ["+n 1,1,2,x,0", "+n 2,NULL,2,x,0"]),
        ("(c, d) VALUES (CONCAT(c, 'y'), d + 1)", ["+n 1,NULL,NULL,xy,1"]),
        ("(d, a) VALUES (d, id), (7, d)", ["+n 1,0,NULL,x,0", "+n 2,7,NULL,x,7"]),
        ("(a) VALUES (VALUES(b))", ["+n 1,NULL,NULL,x,0"]),
    ],
)
def test_a_value_names_columns_of_its_row(text: str, expected: list[str]) -> None:
    """A column that the row has not set yet is its default, or the zero of a column without one (pkg/executor/
    insert_common.go, setValueForRefColumn)."""
    table = played(
        "SET sql_mode = ''; CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b INT, c VARCHAR(9)"
        " DEFAULT 'x', d INT NOT NULL)"
    ).upstream

    assert after(f"INSERT INTO n {text}", table) == expected


QUERIES = """
    CREATE TABLE s (id INT PRIMARY KEY, a INT, n DECIMAL(5,2), x VARCHAR(9));
    INSERT INTO s VALUES (1, 7, 1.50, 'one'), (2, NULL, 2.50, 'two');
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT s.id, s.a, NULL FROM s ON DUPLICATE KEY UPDATE u = s.x, a = n * 2",
            ["t 1,10,x > 1,3,one", "t 2,20,y > 2,5,two"],
        ),
        (
            "SELECT id, 5, NULL FROM s k WHERE id = 1 ON DUPLICATE KEY UPDATE u = CONCAT(t.u, k.x)",
            ["t 1,10,x > 1,10,xone"],
        ),
        (
            "SELECT id, SUM(a) m, NULL FROM s GROUP BY id ON DUPLICATE KEY UPDATE t.a = m",
            ["t 1,10,x > 1,7,x", "t 2,20,y > 2,NULL,y"],
        ),
        (
            "SELECT * FROM (SELECT id, a, x FROM s) q ON DUPLICATE KEY UPDATE t.a = t.a + q.id",
            ["t 1,10,x > 1,11,x", "t 2,20,y > 2,22,y"],
        ),
        (
            "SELECT id, a, x FROM s ON DUPLICATE KEY UPDATE u = VALUES(u)",
            ["t 1,10,x > 1,10,one", "t 2,20,y > 2,20,two"],
        ),
    ],
)
def test_on_duplicate_key_names_columns_of_the_query(text: str, expected: list[str]) -> None:
    """pkg/planner/core/planbuilder.go, buildSelectPlanOfInsert."""
    assert after(f"INSERT INTO t {text}", played(QUERIES, ITEMS).upstream) == expected


def test_a_row_alias_is_not_accepted_yet() -> None:
    """tidb PR 67920 adds it in a later release."""
    with pytest.raises(SqlError, match="^ERROR 1064"):
        played("INSERT INTO t VALUES (1, 1, 'a') AS new ON DUPLICATE KEY UPDATE a = new.a", ITEMS)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "SELECT id, a, x FROM s ON DUPLICATE KEY UPDATE a = a + 1",
            "1052 (23000): Column 'a' in field list is ambiguous",
        ),
        (
            "SELECT id, SUM(a), NULL FROM s GROUP BY id ON DUPLICATE KEY UPDATE a = s.a",
            "1054 (42S22): Unknown column 's.a' in 'field list'",
        ),
        (
            "SELECT id, a FROM s ON DUPLICATE KEY UPDATE u = s.x",
            "1136 (21S01): Column count doesn't match value count at row 1",
        ),
    ],
)
def test_on_duplicate_key_refuses_unknown_names(text: str, error: str) -> None:
    with pytest.raises(SqlError, match=f"^{re.escape(f'ERROR {error}')}$"):
        played(f"INSERT INTO t {text}", played(QUERIES, ITEMS).upstream)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(1, 5, 'q') ON DUPLICATE KEY UPDATE a = a + VALUES(a)", ["t 1,10,x > 1,15,x"]),
        ("(1, 5, 'y') ON DUPLICATE KEY UPDATE a = 0", ["t 1,10,x > 1,0,x"]),
        ("(9, 5, 'y') ON DUPLICATE KEY UPDATE a = 0", ["t 2,20,y > 2,0,y"]),
        ("(1, 5, 'q') ON DUPLICATE KEY UPDATE a = 10", []),
        (
            "(1, 1, NULL), (1, 1, NULL), (4, 1, NULL), (4, 1, NULL) ON DUPLICATE KEY UPDATE a = a + 1",
            ["t 1,10,x > 1,12,x", "+t 4,2,NULL"],
        ),
        ("(1, 1, NULL) ON DUPLICATE KEY UPDATE id = 9", ["-t 1,10,x", "+t 9,10,x"]),
        (
            "(1, 1, NULL), (9, 1, NULL), (1, 1, NULL) ON DUPLICATE KEY UPDATE id = 9 - 5 * (id = 9)",
            ["t 1,10,x > 1,1,NULL", "+t 4,10,x"],
        ),
        ("(1, 1, NULL) ON DUPLICATE KEY UPDATE a = a + 1, u = a", ["t 1,10,x > 1,11,11"]),
        ("(1, 1, NULL) ON DUPLICATE KEY UPDATE a = DEFAULT", ["t 1,10,x > 1,7,x"]),
    ],
)
def test_on_duplicate_key_changes_the_first_conflicting_row(text: str, expected: list[str]) -> None:
    found = after(f"INSERT INTO t VALUES {text}")

    assert found == [change for change in expected if change != "t 1,10,x > 1,10,x"]


def test_on_duplicate_key_may_not_conflict_with_another_row() -> None:
    text = "INSERT INTO t VALUES (1, 1, 'q') ON DUPLICATE KEY UPDATE u = 'y'"
    with pytest.raises(SqlError, match="1062 .*Duplicate entry 'y' for key 't.uk'"):
        played(text, ITEMS)

    outcome = played(text.replace("INSERT", "INSERT IGNORE"), ITEMS)

    assert (changes(outcome), outcome.warnings) == ([], ("1062 Duplicate entry 'y' for key 't.uk'",))


def test_affected_rows_count_as_mysql_counts_them() -> None:
    assert played("INSERT INTO t VALUES (1, 1, NULL), (8, 1, NULL) ON DUPLICATE KEY UPDATE a = 0", ITEMS).affected == 3
    assert played("REPLACE INTO t VALUES (1, 1, 'y')", ITEMS).affected == 3


def test_last_insert_id_is_the_first_generated_id() -> None:
    outcome = played("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, v INT); INSERT INTO a (v) VALUES (1), (2)")

    assert outcome.upstream.session.last_insert_id == 1
    assert rows_in(played("INSERT INTO a (v) VALUES (3)", outcome.upstream).upstream, "a")[-1] == ("3", "3")


ROW = st.tuples(st.integers(0, 6), st.none() | st.integers(0, 6), st.integers(0, 2))
KEYED = played("CREATE TABLE k (id INT PRIMARY KEY, u INT, a INT, UNIQUE KEY (u))").upstream


VERBS = st.sampled_from(["INSERT IGNORE", "REPLACE", "INSERT"])


@pytest.mark.slow
@given(VERBS, st.lists(ROW, max_size=5), st.lists(ROW, min_size=1, max_size=8))
@settings(max_examples=40)
def test_rows_of_one_statement_equal_those_of_single_statements(
    verb: str, there: list[tuple[int, int | None, int]], rows: list[tuple[int, int | None, int]]
) -> None:
    behind = " ON DUPLICATE KEY UPDATE a = a + VALUES(a) + 1" if verb == "INSERT" else ""
    started = one_by_one("INSERT IGNORE", there, "", KEYED).upstream
    separate = one_by_one(verb, rows, behind, played("BEGIN", started).upstream)
    together = played(f"{verb} INTO k VALUES {', '.join(map(shown, rows))}{behind}", started)

    assert rows_in(together.upstream, "k") == rows_in(separate.upstream, "k")
    assert (changes(together) or [[]])[0] == after("COMMIT", separate.upstream)


def one_by_one(verb: str, rows: list[tuple[int, int | None, int]], behind: str, upstream: Upstream) -> StatementOutcome:
    outcome = StatementOutcome(upstream)
    for row in rows:
        outcome = played(f"{verb} INTO k VALUES {shown(row)}{behind}", outcome.upstream)
    return outcome


def shown(row: tuple[int, int | None, int]) -> str:
    return f"({', '.join('NULL' if cell is None else str(cell) for cell in row)})"
