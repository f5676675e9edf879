"""Arithmetic errors in INSERT and UPDATE."""

from __future__ import annotations

import pytest
from support.upstreams import played, rows_in

from simulator.errors import SqlError

TABLE = "CREATE TABLE test.t (id INT PRIMARY KEY, b BIGINT, d DECIMAL(10, 2)); USE test;"
ROWS = f"{TABLE} INSERT INTO t VALUES (1, 9223372036854775807, 0), (2, 5, 2);"


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("UPDATE t SET b = b / d", 1365),
        ("UPDATE t SET b = 7 DIV (id - 1)", 1365),
        ("UPDATE t SET b = 1 + b % d", 1365),
        ("INSERT INTO t VALUES (3, 1 / 0, 0)", 1365),
        ("INSERT INTO t (id, b) VALUES (3, 2), (4, ABS(7 % 0))", 1365),
        ("INSERT INTO t VALUES (2, 5, 2) ON DUPLICATE KEY UPDATE b = b DIV 0", 1365),
        ("UPDATE t SET b = b + 1", 1690),
        ("UPDATE t SET b = -2 * b", 1690),
        ("UPDATE t SET d = 1, b = (b + id) - 5", 1690),
        ("INSERT INTO t VALUES (3, 9223372036854775807 + 1 - 1 + 9223372036854775807 * 5, 0)", 1690),
    ],
)
def test_a_division_by_zero_and_a_result_out_of_range_are_refused(statement: str, number: int) -> None:
    """tidb pkg/expression/errors.go, handleDivisionByZeroError; pkg/errno/errname.go."""
    with pytest.raises(SqlError) as caught:
        played(ROWS + statement)

    assert caught.value.number == number


@pytest.mark.parametrize(
    "statement",
    [
        "SET sql_mode = ''; UPDATE t SET b = 1 / 0 WHERE id = 2",
        "SET sql_mode = 'STRICT_TRANS_TABLES'; UPDATE t SET b = 1 % 0 WHERE id = 2",
        "UPDATE t SET b = IF(d = 0, NULL, 1 / (d - 2)) WHERE id = 1",
        "UPDATE t SET b = b / NULL WHERE id = 2",
        "UPDATE IGNORE t SET b = 1 / 0 WHERE id = 2",
        "INSERT IGNORE INTO t VALUES (3, 1 / 0, 0)",
    ],
)
def test_in_a_lenient_mode_a_division_by_zero_is_null(statement: str) -> None:
    rows = rows_in(played(ROWS + statement).upstream, "t")

    assert len([id for id, b, _ in rows if b is None]) == 1


TEXTS = "CREATE TABLE test.x (i INT, s VARCHAR(20), d DATETIME); USE test; INSERT INTO x VALUES (2, '3x', NULL);"


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("'1a' + 1", 1292),
        ("IF(0, 2, '1a' + 1)", 1292),
        ("NULL AND '1a'", 1292),
        ("CAST('12abc' AS SIGNED)", 1292),
        ("CAST('1.9' AS SIGNED)", 1292),
        ("NOT '1x'", 1292),
        ("'1x' | 1", 1292),
        ("LEFT('abc', '1x')", 1292),
        ("DATE'2020-01-01' = 'x'", 1292),
        ("CAST('x' AS DATE)", 1292),
        ("IFNULL(1 / 0, 3)", 1365),
        ("1.5 DIV 0", 1365),
        ("CAST('abc' AS CHAR(2))", 1406),
        ("CAST(1000 AS DECIMAL(5, 2))", 1690),
        ("CAST(1e30 AS UNSIGNED)", 1690),
        ("CAST('x' AS JSON)", 3140),
        ("EXP(1000)", 1690),
        ("ABS(-9223372036854775808)", 1690),
    ],
)
def test_a_problem_of_an_expression_is_an_error_if_strict_mode_writes_rows(expression: str, number: int) -> None:
    """tidb pkg/executor/executor.go, ResetContextOfStmt; pkg/types/convert.go."""
    with pytest.raises(SqlError) as caught:
        played(f"{TEXTS} INSERT INTO x (s) VALUES ({expression})")

    assert caught.value.number == number


@pytest.mark.parametrize(
    "expression",
    [
        "IF(1, 2, '1a' + 1)",
        "COALESCE(2, '1a' + 1)",
        "CASE WHEN 1 THEN 2 ELSE 1 / 0 END",
        "0 AND '1a' + 1",
        "1 OR '1a' + 1",
        "'' + 1",
        "' 1 ' + 1",
        "SQRT(-1)",
        "HOUR('x')",
        "CAST('-1' AS UNSIGNED)",
    ],
)
def test_a_problem_in_an_unused_branch_is_no_error(expression: str) -> None:
    assert len(rows_in(played(f"{TEXTS} INSERT INTO x (s) VALUES ({expression})").upstream, "x")) == 2


@pytest.mark.parametrize(
    ("condition", "number"),
    [
        ("s + 0 = 3", 1292),
        ("s = 3", 1292),
        ("i = '2x'", 1292),
        ("i IN ('2x')", 1292),
        ("1 / 0", 1365),
        ("s", 1292),
        ("d = 'abc'", 1292),
        ("i + 9223372036854775807 = 1", 1690),
    ],
)
def test_a_problem_in_a_condition_changes_no_row(condition: str, number: int) -> None:
    with pytest.raises(SqlError) as caught:
        played(f"{TEXTS} DELETE FROM x WHERE {condition}")

    assert caught.value.number == number


def test_a_select_is_refused_only_for_values_out_of_range() -> None:
    with pytest.raises(SqlError, match="1690 .*BIGINT value is out of range in '.9223372036854775807 . 1.'"):
        played("SELECT '1x' + 1, 9223372036854775807 + 1")
    played("SELECT '1x' + 1, 1 / 0, CAST('x' AS SIGNED), 1e0+1")
