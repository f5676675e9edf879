"""TiDB's errors of refused statements: numbers, SQLSTATEs and texts."""

from __future__ import annotations

import pytest

from simulator.errors import DdlError
from simulator.tidb.sql_engine.errors import ERRORS, SQLSTATES, error_number, sql_error, sql_error_with_text


def test_an_error_is_printed_as_in_a_mysql_client() -> None:
    """With number, SQLSTATE and TiDB's text about the values."""
    error = sql_error(1062, "6", "t.PRIMARY")

    assert "ERROR 1062 (23000): Duplicate entry '6' for key 't.PRIMARY'" == str(error)


def test_an_error_with_another_text_keeps_its_sqlstate() -> None:
    """1292 has several texts, and one SQLSTATE."""
    assert "ERROR 1292 (22007): Truncated incorrect DOUBLE value: 'x'" == str(
        sql_error_with_text(1292, "Truncated incorrect DOUBLE value: 'x'")
    )


@pytest.mark.parametrize(
    ("code", "number"), [("schema:1146", 1146), ("ddl:8200", 8200), ("CDC:ErrX", 1105), ("", 1105)]
)
def test_the_number_of_a_ddl_error_is_in_its_code(code: str, number: int) -> None:
    """An error without a number of MySQL is an unknown error, 1105."""
    assert number == error_number(DdlError("text", code))


def test_each_number_is_listed_once() -> None:
    """The SQLSTATE of a number is in one place."""
    assert not set(ERRORS) & set(SQLSTATES)
