"""What TiDB says of statements that it refuses: numbers, SQLSTATEs and texts."""

from __future__ import annotations

import pytest

from simulator.errors import DdlError
from simulator.tidb.sql_engine.errors import ERRORS, SQLSTATES, error_number, sql_error, sql_error_with_text


def test_a_refusal_is_told_as_a_client_prints_it() -> None:
    """Number, SQLSTATE and TiDB's text about the values."""
    error = sql_error(1062, "6", "t.PRIMARY")

    assert "ERROR 1062 (23000): Duplicate entry '6' for key 't.PRIMARY'" == str(error)


def test_a_text_of_its_own_keeps_the_state_of_its_number() -> None:
    """`1292` has several texts; all have one SQLSTATE."""
    assert "ERROR 1292 (22007): Truncated incorrect DOUBLE value: 'x'" == str(
        sql_error_with_text(1292, "Truncated incorrect DOUBLE value: 'x'")
    )


@pytest.mark.parametrize(
    ("code", "number"), [("schema:1146", 1146), ("ddl:8200", 8200), ("CDC:ErrX", 1105), ("", 1105)]
)
def test_the_number_of_a_refused_ddl_is_in_its_code(code: str, number: int) -> None:
    """What has no number of MySQL's is an unknown error, 1105."""
    assert number == error_number(DdlError("text", code))


def test_each_number_stands_once() -> None:
    """One place says a number's SQLSTATE."""
    assert not set(ERRORS) & set(SQLSTATES)
