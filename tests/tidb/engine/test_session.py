"""SET, stored variables and refused ones; how errors are printed; prepared statements."""

from __future__ import annotations

import pytest
from support.upstreams import cases, grouped, in_test, played, refusal_number, refused, rows_in, shown

from simulator import TiCDC
from simulator.errors import DdlError
from simulator.reader.decode import DdlEvent
from simulator.tidb.engine.settings import DEFAULT_SQL_MODE, SqlSession
from simulator.tidb.errors import error_number, sql_error, sql_error_with_text


def session_after(script: str) -> SqlSession:
    return played(script).upstream.settings


def test_sql_mode_is_a_list_whose_short_names_stand_for_several() -> None:
    """TRADITIONAL brings strict mode with it."""
    found = session_after("SET sql_mode = 'traditional,ANSI_QUOTES'").sql_mode
    assert {"TRADITIONAL", "STRICT_ALL_TABLES", "NO_ZERO_DATE", "ANSI_QUOTES"} <= found
    assert "ONLY_FULL_GROUP_BY" not in found


REFUSED = cases("""
    sql_mode = 'STRICT' => 1105 ERROR 1231 (42000): Variable 'sql_mode' can't be set to the value of 'STRICT'
    auto_increment_increment = 'a' => 1232 Incorrect argument type to variable 'auto_increment_increment'
    max_allowed_packet = '1024'
        => 1621 SESSION variable 'max_allowed_packet' is read-only. Use SET GLOBAL to assign the value
    transaction_isolation = 'nosuch' => 1231 Variable 'transaction_isolation' can't be set to the value of 'nosuch'
    tidb_enable_clustered_index = '3' => 1231 Variable 'tidb_enable_clustered_index' can't be set to the value of '3'
    time_zone = 'Mars/Base' => 1298 Unknown or incorrect time zone: 'Mars/Base'
    time_zone = '+15:00' => 1298 Unknown or incorrect time zone: '+15:00'
    autocommit = '2' => 1231 Variable 'autocommit' can't be set to the value of '2'
    no_such = '1' => 1193 Unknown system variable 'no_such'
    version = '8' => 1238 Variable 'version' is a read only variable
    tidb_opt_write_row_id = 1 => 1235 tidb_opt_write_row_id = 1 is not simulated; accepted: OFF
    tidb_enable_check_constraint = 'ON'
        => 1229 Variable 'tidb_enable_check_constraint' is a GLOBAL variable and should be set with SET GLOBAL
""")


@pytest.mark.parametrize(("setting", "error"), REFUSED)
def test_a_refused_set_has_tidbs_error(setting: str, error: str) -> None:
    """For unknown names, values and scopes."""
    assert refused(f"SET {setting}") == error


SHOWN = cases("""
    SET time_zone = 'SYSTEM'; SELECT @@time_zone => SYSTEM
    SET unique_checks = 0; SELECT @@unique_checks => 0
    SELECT @@unique_checks => 1
    SET sql_mode = 'strict_trans_tables,,PIPES_AS_CONCAT'; SELECT @@sql_mode => STRICT_TRANS_TABLES,PIPES_AS_CONCAT
    SET sql_mode = 'ANSI'; SELECT @@sql_mode => REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI
    SET sql_mode = 'MYSQL40'; SELECT @@sql_mode => MYSQL40,HIGH_NOT_PRECEDENCE
""")

LIMITED = cases("""
    SELECT 3 UNION SELECT 4 => 3
    WITH q AS (SELECT 3 UNION SELECT 4) SELECT * FROM q => 3
    WITH q AS (SELECT 3 UNION SELECT 4) SELECT * FROM q LIMIT 1, 1 => 4
""")


@pytest.mark.parametrize(("script", "value"), SHOWN)
def test_a_variable_reads_as_it_was_set(script: str, value: str) -> None:
    """Headers of dumps save old values in user variables, and restore them. Modes that stand for several come after these."""
    assert shown(script) == value


@pytest.mark.parametrize(("query", "rows"), LIMITED)
def test_a_query_without_a_limit_has_that_of_the_session(query: str, rows: str) -> None:
    assert shown(f"SET sql_select_limit = 1; {query}") == rows


def test_variables_have_their_defaults() -> None:
    assert shown("SELECT @@sql_mode") == ",".join(DEFAULT_SQL_MODE)
    assert refused("SELECT @@nonsense") == "1193 Unknown system variable 'nonsense'"


@pytest.mark.parametrize(
    ("zone", "kept"), [("SYSTEM", "UTC"), ("+8:00", "+08:00"), ("-03:30", "-03:30"), ("Asia/Shanghai", "Asia/Shanghai")]
)
def test_a_time_zone_is_a_name_or_an_offset(zone: str, kept: str) -> None:
    """The system's zone is UTC here."""
    assert kept == session_after(f"SET time_zone = '{zone}'").time_zone


def test_set_default_restores_the_default() -> None:
    """For variables with and without an effect on rows."""
    changed = played("SET sql_mode = '', timestamp = 1700000000.5, tidb_mem_quota_query = 1").upstream
    session = changed.settings
    assert (frozenset(), 1700000000.5) == (session.sql_mode, session.timestamp)
    assert {"sql_mode": "", "tidb_mem_quota_query": "1"} == session.settings
    again = played("SET sql_mode = DEFAULT, timestamp = DEFAULT, tidb_mem_quota_query = DEFAULT", changed).upstream
    assert again.settings == in_test().settings


def test_set_global_does_not_affect_the_current_session() -> None:
    """SET GLOBAL sql_mode applies to new sessions. A variable that is only global applies at once."""
    assert session_after("SET GLOBAL sql_mode = ''").sql_mode == frozenset(DEFAULT_SQL_MODE)
    assert session_after("SET GLOBAL tidb_enable_check_constraint = on").check_constraints


def test_an_error_is_printed_as_in_a_mysql_client() -> None:
    """With number, SQLSTATE and TiDB's text about the values. 1292 has several texts, and one SQLSTATE."""
    assert str(sql_error(1062, "6", "t.PRIMARY")) == "ERROR 1062 (23000): Duplicate entry '6' for key 't.PRIMARY'"
    other = sql_error_with_text(1292, "Truncated incorrect DOUBLE value: 'x'")
    assert str(other) == "ERROR 1292 (22007): Truncated incorrect DOUBLE value: 'x'"
    states = {1054: "42S22", 1136: "21S01", 1146: "42S02", 1110: "42000", 1052: "23000", 1451: "23000", 1526: "HY000"}
    assert states == {number: sql_error_with_text(number, "").state for number in states}


@pytest.mark.parametrize(
    ("code", "number"), [("schema:1146", 1146), ("ddl:8200", 8200), ("CDC:ErrX", 1105), ("", 1105)]
)
def test_the_number_of_a_ddl_error_is_in_its_code(code: str, number: int) -> None:
    """An error without a number of MySQL is an unknown error, 1105."""
    assert number == error_number(DdlError("text", code))


# -- prepared statements ---------------------------------------------------------------------------------------------

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


VALUES = grouped("""
    7 | 3 + 4 => 3.5000
    '7' | 7e0 | CONCAT(7) => 3.5
    7.00 => 3.500000
    -7 => -3.5000
    (SELECT COUNT(*) FROM t) => 1.0000
    TRUE => 0.5000
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


INVALID = grouped("""
    EXECUTE nobody | EXECUTE S USING @one | DEALLOCATE PREPARE nobody | DROP PREPARE s; EXECUTE s USING @one => 8111
    EXECUTE s | EXECUTE s USING @one, @one => 8112
    EXECUTE s USING @word | EXECUTE s USING @null => 1210
    PREPARE m FROM 'SELECT 1; SELECT 2' | PREPARE m FROM '' => 8115
    PREPARE m FROM @null => 1064
    PREPARE m FROM 'EXECUTE s' => 1295
    PREPARE m FROM 'CREATE VIEW v AS SELECT ? AS c' => 8116
    PREPARE m FROM 'SELECT * FROM nothing' => 1146
    PREPARE m FROM 'SELECT nothing FROM t' | PREPARE m FROM 'DELETE FROM t WHERE nothing = ?' => 1054
    PREPARE m FROM 'INSERT INTO t VALUES (?)' => 1136
""")


@pytest.mark.parametrize(("statement", "number"), INVALID)
def test_an_invalid_prepare_or_execute_is_refused(statement: str, number: str) -> None:
    assert refusal_number(f"PREPARE s FROM 'SELECT id FROM t LIMIT ?'; {statement}", TABLE) == int(number)


def test_a_statement_stays_prepared_if_another_of_its_name_fails() -> None:
    upstream = played("PREPARE s FROM 'SELECT 5'", TABLE).upstream
    assert refusal_number("PREPARE s FROM 'SELECT FROM'", upstream) == 1064
    assert shown("EXECUTE s", upstream) == "5"
