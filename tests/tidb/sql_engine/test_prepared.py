"""PREPARE, EXECUTE and DEALLOCATE PREPARE, measured on tidb v8.0."""

from __future__ import annotations

import pytest
from support.upstreams import cases, played, refusal_number, rows_in, shown

from simulator import TiCDC
from simulator.consumer.decode import DdlEvent

TABLE = played("""
    CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARBINARY(9)); INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y');
    SET @one = 1, @two = 2, @word = 'w', @null = NULL
""").upstream

EXECUTED = cases("""
    SELECT a FROM t WHERE id = ? => @two => 20
    SELECT id FROM t ORDER BY id DESC LIMIT ?, ? => @one, @one => 1
    SELECT id FROM t WHERE id IN (?, ?) AND a > (SELECT ? * 10) => @one, @two, @one => 2
    SELECT ? / 2, ? / 2 => @two, @word => 1.0000,0
    SELECT ?, ?, "?" -- ? => @null, @nobody => NULL,NULL,?
    SELECT DATE_ADD("2020-02-28", INTERVAL ? DAY) => @two => 2020-03-01
""")


@pytest.mark.parametrize(("text", "using", "rows"), EXECUTED)
def test_each_parameter_is_the_value_of_a_variable(text: str, using: str, rows: str) -> None:
    assert shown(f"SET @text = '{text}'; PREPARE s FROM @text; EXECUTE s USING {using}", TABLE) == rows


VALUES = cases("""
    7 => 3.5000
    '7' => 3.5
    7.00 => 3.500000
    7e0 => 3.5
    -7 => -3.5000
    3 + 4 => 3.5000
    (SELECT COUNT(*) FROM t) => 1.0000
    TRUE => 0.5000
    CONCAT(7) => 3.5
    NULL => NULL
""")


@pytest.mark.parametrize(("value", "result"), VALUES)
def test_a_parameter_has_the_type_of_its_variable(value: str, result: str) -> None:
    assert shown(f"SET @v = {value}; PREPARE s FROM 'SELECT ? / 2'; EXECUTE s USING @v", TABLE) == result


def test_rows_change_inside_and_outside_of_transactions() -> None:
    outcome = played(
        """SET @bytes = x'00ff', @three = 3; PREPARE s FROM 'INSERT INTO t VALUES (?, ?, ?)';
        EXECUTE s USING @three, @null, @bytes; BEGIN; PREPARE u FROM 'UPDATE t SET a = a + ? WHERE id = ?';
        EXECUTE u USING @two, @one; ROLLBACK; EXECUTE u USING @one, @one""",
        TABLE,
    )
    assert rows_in(outcome.upstream, "t") == [("1", "11", "x"), ("2", "20", "y"), ("3", None, "\0ÿ")]
    assert len(outcome.events) == 2


def test_ddl_is_sent_with_the_prepared_text() -> None:
    with TiCDC() as ticdc:
        ticdc.execute("PREPARE s FROM 'CREATE TABLE made (id INT PRIMARY KEY)'; EXECUTE s")
        assert "CREATE TABLE `made`" in next(each.query for each in ticdc.events() if isinstance(each, DdlEvent))


INVALID = cases("""
    EXECUTE nobody => 8111
    EXECUTE S USING @one => 8111
    DEALLOCATE PREPARE nobody => 8111
    DROP PREPARE s; EXECUTE s USING @one => 8111
    EXECUTE s => 8112
    EXECUTE s USING @one, @one => 8112
    EXECUTE s USING @word => 1210
    EXECUTE s USING @null => 1210
    PREPARE m FROM 'SELECT 1; SELECT 2' => 8115
    PREPARE m FROM '' => 8115
    PREPARE m FROM @null => 1064
    PREPARE m FROM 'EXECUTE s' => 1295
    PREPARE m FROM 'CREATE VIEW v AS SELECT ? AS c' => 8116
    PREPARE m FROM 'SELECT * FROM nothing' => 1146
    PREPARE m FROM 'SELECT nothing FROM t' => 1054
    PREPARE m FROM 'DELETE FROM t WHERE nothing = ?' => 1054
    PREPARE m FROM 'INSERT INTO t VALUES (?)' => 1136
""")


@pytest.mark.parametrize(("statement", "number"), INVALID)
def test_an_invalid_prepare_or_execute_is_refused(statement: str, number: str) -> None:
    assert refusal_number(f"PREPARE s FROM 'SELECT id FROM t LIMIT ?'; {statement}", TABLE) == int(number)


def test_a_statement_stays_prepared_if_another_of_its_name_fails() -> None:
    upstream = played("PREPARE s FROM 'SELECT 5'", TABLE).upstream
    assert refusal_number("PREPARE s FROM 'SELECT FROM'", upstream) == 1064
    assert shown("EXECUTE s", upstream) == "5"
