"""UPDATE and DELETE: the rows they write, conflicts between these, and TiDB's errors."""

from __future__ import annotations

import pytest
from support.upstreams import cases, changes, grouped, played, refusal_number, refused, rows_in

ITEMS = played("""
    CREATE TABLE t (id INT PRIMARY KEY, a INT, u INT, UNIQUE KEY uk (u));
    INSERT INTO t VALUES (1, 10, 1), (2, 20, 2), (3, 30, NULL);
    CREATE TABLE heap (id INT PRIMARY KEY NONCLUSTERED, a INT);
    INSERT INTO heap VALUES (1, 1), (2, 2);
    CREATE TABLE free (a INT); INSERT INTO free VALUES (1), (1), (2);
    CREATE TABLE parted (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a) (
        PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
    INSERT INTO parted VALUES (1, 1), (11, 1), (13, 2);
    CREATE TABLE stamped (id INT PRIMARY KEY, a INT, at DATETIME ON UPDATE CURRENT_TIMESTAMP);
    INSERT INTO stamped VALUES (1, 1, NULL), (2, 2, NULL);
    CREATE TABLE made (a INT PRIMARY KEY, g INT AS (a * 2) STORED, v INT AS (a DIV 10) VIRTUAL, UNIQUE KEY (v));
    INSERT INTO made (a) VALUES (1), (11);
    CREATE TABLE early (at DATETIME(1)); INSERT INTO early VALUES ('1000-01-01 17:46:56.3');
    CREATE VIEW view1 AS SELECT 1;
""").upstream

CHANGED = grouped("""
    UPDATE t SET a = a + 1 WHERE id < 3 => t 1,10,1 > 1,11,1; t 2,20,2 > 2,21,2
    UPDATE t SET a = 10 => t 2,20,2 > 2,10,2; t 3,30,NULL > 3,10,NULL
    UPDATE t SET a = a | UPDATE t SET a = 0 WHERE id = 9 | DELETE FROM t WHERE id = 9 => (none)
    UPDATE t SET a = a + 1, u = a WHERE id = 1 => t 1,10,1 > 1,11,10
    UPDATE t SET a = 0 ORDER BY id DESC LIMIT 1 => t 3,30,NULL > 3,0,NULL
    UPDATE t SET a = 0 LIMIT 1 => t 1,10,1 > 1,0,1
    UPDATE t SET a = DEFAULT WHERE id = 1 => t 1,10,1 > 1,NULL,1
    UPDATE t SET id = 9 WHERE id = 1 => -t 1,10,1; +t 9,10,1
    UPDATE heap SET id = 9 WHERE id = 1 => heap 1,1 > 9,1
    UPDATE parted SET a = 12, b = 2 WHERE a = 1 => -parted/0 1,1; +parted/1 12,2
    UPDATE parted SET a = 2 WHERE a = 1 => -parted/0 1,1; +parted/0 2,1
    UPDATE stamped SET a = 1 => stamped 2,2,NULL > 2,1,2020-02-20 02:20:20
    UPDATE made SET a = 25 WHERE a = 11 => -made 11,22; +made 25,50
    UPDATE t JOIN heap ON t.id = heap.id SET t.a = heap.a, heap.a = 0 WHERE t.id = 1 => t 1,10,1 > 1,1,1; heap 1,1 > 1,0
    UPDATE t, heap SET t.a = heap.a WHERE t.id = 1 => t 1,10,1 > 1,1,1
    UPDATE heap LEFT JOIN t ON t.id = heap.id + 1 AND t.id = 2 SET t.a = 0, heap.a = 7
        => t 2,20,2 > 2,0,2; heap 1,1 > 1,7; heap 2,2 > 2,7
    UPDATE stamped SET a = 5, at = '2001-01-01' WHERE id = 1 => stamped 1,1,NULL > 1,5,2001-01-01 00:00:00
    UPDATE early SET at = DATE_ADD(at, INTERVAL 5 HOUR) => early 1000-01-01 17:46:56.3 > 1000-01-01 22:46:56.3
    UPDATE t SET id = id + 1 ORDER BY id DESC => -t 1,10,1; t 2,20,2 > 2,10,1; t 3,30,NULL > 3,20,2; +t 4,30,NULL
    UPDATE t SET u = u + 1 ORDER BY id DESC => t 1,10,1 > 1,10,2; t 2,20,2 > 2,20,3
    UPDATE t SET id = id - 1 => +t 0,10,1; t 1,10,1 > 1,20,2; t 2,20,2 > 2,30,NULL; -t 3,30,NULL
    DELETE FROM t WHERE a > 10 => -t 2,20,2; -t 3,30,NULL
    DELETE FROM t ORDER BY id DESC LIMIT 1 => -t 3,30,NULL
    DELETE x FROM t AS x LEFT JOIN free ON x.id = free.a WHERE free.a IS NULL => -t 3,30,NULL
    DELETE FROM free WHERE a = 1 LIMIT 1 => -free 1
    DELETE FROM parted PARTITION (p1) WHERE b = 1 => -parted/1 11,1
    DELETE t FROM t, free WHERE t.id = free.a => -t 1,10,1; -t 2,20,2
    DELETE FROM t, free USING t JOIN free ON t.id = free.a WHERE t.id = 2 => -t 2,20,2; -free 2
    DELETE free FROM t LEFT JOIN free ON t.id = free.a => -free 1; -free 1; -free 2
""")


@pytest.mark.parametrize(("statement", "expected"), CHANGED)
def test_changed_rows_are_written_and_each_row_is_deleted_once(statement: str, expected: str) -> None:
    """pkg/executor/write.go, updateRecord: ON UPDATE applies only if another column changes."""
    outcome = played(statement, ITEMS)
    found = changes(outcome)
    assert ("; ".join(found[0]) if found else "(none)") == expected
    if statement.startswith("DELETE"):
        assert outcome.affected == len(sum(found, []))


REFUSED = grouped("""
    UPDATE t SET id = id + 1 | UPDATE t SET id = 2 WHERE id = 1 => 1062 Duplicate entry '2' for key 't.PRIMARY'
    UPDATE t SET id = 3 - id WHERE id < 3 => 1062 Duplicate entry '2' for key 't.PRIMARY'
    UPDATE t SET u = 2 WHERE id = 3 => 1062 Duplicate entry '2' for key 't.uk'
    UPDATE t SET u = 5 => 1062 Duplicate entry '5' for key 't.uk'
    UPDATE made SET a = 12 WHERE a = 1 => 1062 Duplicate entry '1' for key 'made.v'
    UPDATE parted SET a = 30 WHERE a = 1 => 1526 Table has no partition for value 30
    UPDATE t SET no = 1 => 1054 Unknown column 'no' in 'field list'
    UPDATE t SET heap.a = 1 => 1054 Unknown column 'heap.a' in 'field list'
    UPDATE t, heap SET a = 1 => 1052 Column 'a' in field list is ambiguous
    UPDATE no SET a = 1 | DELETE FROM no => 1146 Table 'test.no' doesn't exist
    UPDATE view1 SET a = 1 => 1288 The target table view1 of the UPDATE is not updatable
    DELETE no FROM t => 1109 Unknown table 'no' in MULTI DELETE
    DELETE FROM view1 => 1105 delete view view1 is not supported now
    DELETE FROM t PARTITION (p0) => 1747 PARTITION () clause on non partitioned table
    UPDATE t, (SELECT 1 AS q) d SET d.q = 2 => 1288 The target table d of the UPDATE is not updatable
    UPDATE t, (SELECT 1 AS q) d SET q = 2 => 1288 The target table d of the UPDATE is not updatable
    DELETE d FROM (SELECT 1 AS q) d => 1288 The target table d of the DELETE is not updatable
""")


@pytest.mark.parametrize(("statement", "error"), REFUSED)
def test_a_refused_statement_has_tidbs_error(statement: str, error: str) -> None:
    assert refused(statement, ITEMS) == error


def test_update_ignore_leaves_rows_that_do_not_fit() -> None:
    """pkg/executor/write.go, updateRecord."""
    outcome = played("UPDATE IGNORE t SET u = 5", ITEMS)
    assert changes(outcome) == [["t 1,10,1 > 1,10,5"]]
    assert outcome.warnings == ("1062 Duplicate entry '5' for key 't.uk'",) * 2
    outcome = played("UPDATE IGNORE parted SET a = a * 9 WHERE a < 12", ITEMS)
    assert changes(outcome) == [["-parted/0 1,1", "+parted/0 9,1"]]
    assert outcome.warnings == ("1526 Table has no partition for value 99",)


def test_rows_are_in_the_order_of_their_new_keys() -> None:
    upstream = played("UPDATE t SET id = 9 WHERE id = 1", ITEMS).upstream
    assert [row[0] for row in rows_in(upstream, "t")] == ["2", "3", "9"]
    assert upstream.rows(upstream.catalog.tables["test", "t"]).row_ids.to_pylist() == [2, 3, 9]


def test_affected_rows_are_those_that_changed() -> None:
    assert played("UPDATE t SET a = 10", ITEMS).affected == 2


TABLE = """CREATE TABLE n (id INT PRIMARY KEY, b BIGINT, d DECIMAL(10, 2));
    INSERT INTO n VALUES (1, 9223372036854775807, 0), (2, 5, 2);
    CREATE TABLE x (i INT, s VARCHAR(20), d DATETIME); INSERT INTO x VALUES (2, '3x', NULL);"""

ARITHMETIC = grouped("""
    UPDATE n SET b = b / d | UPDATE n SET b = 7 DIV (id - 1) | UPDATE n SET b = 1 + b % d => 1365
    INSERT INTO n VALUES (3, 1 / 0, 0) | INSERT INTO n (id, b) VALUES (3, 2), (4, ABS(7 % 0)) => 1365
    INSERT INTO n VALUES (2, 5, 2) ON DUPLICATE KEY UPDATE b = b DIV 0 => 1365
    UPDATE n SET b = b + 1 | UPDATE n SET b = -2 * b | UPDATE n SET d = 1, b = (b + id) - 5 => 1690
    INSERT INTO n VALUES (3, 9223372036854775807 + 1 - 1 + 9223372036854775807 * 5, 0) => 1690
    SET sql_mode = ''; UPDATE n SET b = 1 / 0 WHERE id = 2 => NULL
    SET sql_mode = 'STRICT_TRANS_TABLES'; UPDATE n SET b = 1 % 0 WHERE id = 2 => NULL
    UPDATE n SET b = IF(d = 0, NULL, 1 / (d - 2)) WHERE id = 1 | UPDATE n SET b = b / NULL WHERE id = 2 => NULL
    UPDATE IGNORE n SET b = 1 / 0 WHERE id = 2 | INSERT IGNORE INTO n VALUES (3, 1 / 0, 0) => NULL
""")


@pytest.mark.parametrize(("statement", "result"), ARITHMETIC)
def test_a_division_by_zero_and_a_result_out_of_range_are_refused_or_null(statement: str, result: str) -> None:
    """tidb pkg/expression/errors.go, handleDivisionByZeroError; pkg/errno/errname.go."""
    if result != "NULL":
        assert refusal_number(TABLE + statement) == int(result)
        return
    rows = rows_in(played(TABLE + statement).upstream, "n")
    assert len([id for id, b, _ in rows if b is None]) == 1


VALUES = cases("""
    '1a' + 1 => 1292
    IF(0, 2, '1a' + 1) => 1292
    NULL AND '1a' => 1292
    CAST('12abc' AS SIGNED) => 1292
    CAST('1.9' AS SIGNED) => 1292
    NOT '1x' => 1292
    '1x' | 1 => 1292
    LEFT('abc', '1x') => 1292
    DATE'2020-01-01' = 'x' => 1292
    CAST('x' AS DATE) => 1292
    IFNULL(1 / 0, 3) => 1365
    1.5 DIV 0 => 1365
    CAST('abc' AS CHAR(2)) => 1406
    CAST(1000 AS DECIMAL(5, 2)) => 1690
    CAST(1e30 AS UNSIGNED) => 1690
    CAST('x' AS JSON) => 3140
    EXP(1000) => 1690
    ABS(-9223372036854775808) => 1690
    IF(1, 2, '1a' + 1) => 0
    COALESCE(2, '1a' + 1) => 0
    CASE WHEN 1 THEN 2 ELSE 1 / 0 END => 0
    0 AND '1a' + 1 => 0
    1 OR '1a' + 1 => 0
    '' + 1 => 0
    ' 1 ' + 1 => 0
    SQRT(-1) => 0
    HOUR('x') => 0
    CAST('-1' AS UNSIGNED) => 0
""")
CONDITIONS = grouped("""
    s + 0 = 3 | s = 3 | i = '2x' | i IN ('2x') | s | d = 'abc' => 1292
    1 / 0 => 1365
    i + 9223372036854775807 = 1 => 1690
""")


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        *((f"INSERT INTO x (s) VALUES ({value})", number) for value, number in VALUES),
        *((f"DELETE FROM x WHERE {condition}", number) for condition, number in CONDITIONS),
    ],
)
def test_a_problem_of_an_expression_is_an_error_if_strict_mode_writes_rows(statement: str, number: str) -> None:
    """Not in a branch that is not used. tidb pkg/executor/executor.go, ResetContextOfStmt; pkg/types/convert.go."""
    assert refusal_number(TABLE + statement) == int(number)


def test_a_select_is_refused_only_for_values_out_of_range() -> None:
    error = refused("SELECT '1x' + 1, 9223372036854775807 + 1")
    assert error.startswith("1690 BIGINT value is out of range in '") and "9223372036854775807" in error
    assert not refused("SELECT '1x' + 1, 1 / 0, CAST('x' AS SIGNED), 1e0+1")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("id = 1", "NULL"),
        ("(2 = b AND a = 1)", "NULL"),
        ("id < 2", "0000-00-00"),
        ("id = 1 AND a = 1", "0000-00-00"),
        ("a = 1", "0000-00-00"),
    ],
)
def test_what_is_no_date_is_null_where_the_key_finds_the_row(where: str, value: str) -> None:
    """In a lenient mode; TiDB casts such an UPDATE by CAST."""
    made = (
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, d DATE, UNIQUE (a, b)); INSERT INTO t VALUES (1, 1, 2, NULL)"
    )
    upstream = played(
        f"{made}; SET sql_mode = ''; UPDATE t SET d = '2000-01-01'; UPDATE t SET d = '99' WHERE {where}"
    ).upstream
    assert rows_in(upstream, "t") == [("1", "1", "2", None if value == "NULL" else value)]
