"""PREPARE, EXECUTE and DEALLOCATE PREPARE, measured on tidb v8.0."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.consumer.decode import DdlEvent, RowEvent
from simulator.errors import SqlError

TABLE = """
    CREATE DATABASE d; USE d;
    CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARBINARY(9)); INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y');
    SET @one = 1, @two = 2, @word = 'w', @null = NULL
"""


def prepared(text: str, settings: str = "SET @unused = 1") -> TiCDC:
    ticdc = TiCDC()
    ticdc.execute(TABLE)
    ticdc.execute(f"{settings}; SET @text = '{text}'; PREPARE s FROM @text")
    return ticdc


@pytest.mark.parametrize(
    ("text", "using", "rows"),
    [
        ("SELECT a FROM t WHERE id = ?", "@two", [("20",)]),
        ("SELECT id FROM t ORDER BY id DESC LIMIT ?, ?", "@one, @one", [("1",)]),
        ("SELECT id FROM t WHERE id IN (?, ?) AND a > (SELECT ? * 10)", "@one, @two, @one", [("2",)]),
        ("SELECT ? / 2, ? / 2", "@two, @word", [("1.0000", "0")]),
        ('SELECT ?, ?, "?" -- ?', "@null, @nobody", [(None, None, "?")]),
        ('SELECT DATE_ADD("2020-02-28", INTERVAL ? DAY)', "@two", [("2020-03-01",)]),
    ],
)
def test_each_parameter_is_the_value_of_a_variable(text: str, using: str, rows: list[tuple[str | None, ...]]) -> None:
    assert list(prepared(text).execute(f"EXECUTE s USING {using}").rows) == rows


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("7", "3.5000"),
        ("'7'", "3.5"),
        ("7.00", "3.500000"),
        ("7e0", "3.5"),
        ("-7", "-3.5000"),
        ("3 + 4", "3.5000"),
        ("(SELECT COUNT(*) FROM t)", "1.0000"),
        ("TRUE", "0.5000"),
        ("CONCAT(7)", "3.5"),
        ("NULL", None),
    ],
)
def test_a_parameter_has_the_type_of_its_variable(value: str, shown: str | None) -> None:
    ticdc = prepared("SELECT ? / 2", f"SET @v = {value}")
    assert ticdc.execute("EXECUTE s USING @v").rows == ((shown,),)


def test_rows_change_inside_and_outside_of_transactions() -> None:
    ticdc = prepared("INSERT INTO t VALUES (?, ?, ?)", "SET @bytes = x'00ff', @three = 3")
    ticdc.execute("EXECUTE s USING @three, @null, @bytes; BEGIN; PREPARE u FROM 'UPDATE t SET a = a + ? WHERE id = ?'")
    ticdc.execute("EXECUTE u USING @two, @one; ROLLBACK; EXECUTE u USING @one, @one")
    assert [tuple(row.values()) for row in ticdc.rows("d.t")] == [(1, 11, b"x"), (2, 20, b"y"), (3, None, b"\x00\xff")]
    assert len([event for event in ticdc.events() if isinstance(event, RowEvent)]) == 4


def test_ddl_is_sent_with_the_prepared_text() -> None:
    ticdc = prepared("CREATE TABLE made (id INT PRIMARY KEY)")
    ticdc.messages()
    ticdc.execute("EXECUTE s")
    assert "CREATE TABLE `made`" in next(each.query for each in ticdc.events() if isinstance(each, DdlEvent))


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("EXECUTE nobody", 8111),
        ("EXECUTE S USING @one", 8111),
        ("DEALLOCATE PREPARE nobody", 8111),
        ("DROP PREPARE s; EXECUTE s USING @one", 8111),
        ("EXECUTE s", 8112),
        ("EXECUTE s USING @one, @one", 8112),
        ("EXECUTE s USING @word", 1210),
        ("EXECUTE s USING @null", 1210),
        ("PREPARE m FROM 'SELECT 1; SELECT 2'", 8115),
        ("PREPARE m FROM ''", 8115),
        ("PREPARE m FROM @null", 1064),
        ("PREPARE m FROM 'EXECUTE s'", 1295),
        ("PREPARE m FROM 'CREATE VIEW v AS SELECT ? AS c'", 8116),
        ("PREPARE m FROM 'SELECT * FROM nothing'", 1146),
        ("PREPARE m FROM 'SELECT nothing FROM t'", 1054),
        ("PREPARE m FROM 'DELETE FROM t WHERE nothing = ?'", 1054),
        ("PREPARE m FROM 'INSERT INTO t VALUES (?)'", 1136),
    ],
)
def test_an_invalid_prepare_or_execute_is_refused(statement: str, number: int) -> None:
    with pytest.raises(SqlError) as raised:
        prepared("SELECT id FROM t LIMIT ?").execute(statement)
    assert raised.value.number == number


def test_a_statement_stays_prepared_if_another_of_its_name_fails() -> None:
    ticdc = prepared("SELECT 5")
    with pytest.raises(SqlError):
        ticdc.execute("PREPARE s FROM 'SELECT FROM'")
    assert ticdc.execute("EXECUTE s").rows == (("5",),)
