"""What arithmetic that fails does to INSERT and UPDATE."""

from __future__ import annotations

import pytest
from simulator.errors import SqlError
from support.upstreams import played, rows_in

TABLE = "CREATE TABLE test.t (id INT PRIMARY KEY, b BIGINT, d DECIMAL(10, 2)); USE test;"
ROWS = f"{TABLE} INSERT INTO t VALUES (1, 9223372036854775807, 0), (2, 5, 2);"


@pytest.mark.parametrize(("statement", "number"), [
    ("UPDATE t SET b = b / d", 1365), ("UPDATE t SET b = 7 DIV (id - 1)", 1365), ("UPDATE t SET b = 1 + b % d", 1365),
    ("INSERT INTO t VALUES (3, 1 / 0, 0)", 1365), ("INSERT INTO t (id, b) VALUES (3, 2), (4, ABS(7 % 0))", 1365),
    ("INSERT INTO t VALUES (2, 5, 2) ON DUPLICATE KEY UPDATE b = b DIV 0", 1365),
    ("UPDATE t SET b = b + 1", 1690), ("UPDATE t SET b = -2 * b", 1690), ("UPDATE t SET d = 1, b = (b + id) - 5", 1690),
    ("INSERT INTO t VALUES (3, 9223372036854775807 + 1 - 1 + 9223372036854775807 * 5, 0)", 1690),
])
def test_a_division_by_zero_and_a_result_out_of_range_are_refused(statement: str, number: int) -> None:
    """tidb pkg/expression/errors.go, handleDivisionByZeroError; pkg/errno/errname.go."""
    with pytest.raises(SqlError) as caught:
        played(ROWS + statement)

    assert caught.value.number == number


@pytest.mark.parametrize("statement", [
    "SET sql_mode = ''; UPDATE t SET b = 1 / 0 WHERE id = 2",
    "SET sql_mode = 'STRICT_TRANS_TABLES'; UPDATE t SET b = 1 % 0 WHERE id = 2",
    "UPDATE t SET b = IF(d = 0, NULL, 1 / (d - 2)) WHERE id = 1",
    "UPDATE t SET b = b / NULL WHERE id = 2",
    "UPDATE IGNORE t SET b = 1 / 0 WHERE id = 2",
    "INSERT IGNORE INTO t VALUES (3, 1 / 0, 0)",
])
def test_where_the_mode_is_lenient_or_nothing_is_divided_it_is_null(statement: str) -> None:
    rows = rows_in(played(ROWS + statement).upstream, "t")

    assert len([id for id, b, _ in rows if b is None]) == 1
