"""Scripted SQL follows TiDB where MySQL 8, MariaDB and TiDB differ.

M: seen on MariaDB 10.11; D: documented, in MySQL's reference manual or TiDB's docs (MySQL Compatibility, and the page
named); S: TiDB's source, v8.5.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from simulator.errors import CodedError, SqlError
from simulator.releases import V8_5
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.sql_engine.errors import error_number
from simulator.tidb.sql_engine.execute import execute, new_upstream
from simulator.tidb.sql_engine.storage.state import (
    CommittedTransaction,
    CompletedDdl,
    FailedStatement,
    StatementOutcome,
)


class Difference(NamedTuple):
    what: str
    script: str
    result: list[tuple[str | None, ...]] | int
    """The rows of the last statement, or the number of its error."""


def played(script: str) -> tuple[StatementOutcome, list[CommittedTransaction | CompletedDdl]]:
    outcome = StatementOutcome(new_upstream(V8_5))
    events: list[CommittedTransaction | CompletedDdl] = []
    for number, statement in enumerate(split_script(f"USE test; {script}")):
        tree = parse_sql(statement.text, outcome.upstream.session.sql_mode)
        assert tree is not None
        made = execute(tree, statement.text, outcome.upstream, 1_600_000_000_000 + number)
        if isinstance(made, FailedStatement):
            raise made.error
        outcome = made
        events += outcome.events
    return outcome, events


def rows(outcome: StatementOutcome) -> list[tuple[str | None, ...]]:
    assert outcome.result is not None
    table = outcome.result.rows
    return [
        tuple(None if cell is None else cell.decode() for cell in row)
        for row in zip(*(column.to_pylist() for column in table.columns))
    ]


DIFFERENCES = (
    Difference(
        "superfluous digits of a second: MariaDB cuts (M), MySQL and TiDB round (D: Fractional Seconds)",
        "CREATE TABLE t (a DATETIME, b TIME(1)); INSERT INTO t VALUES ('2020-12-31 23:59:59.5', '10:00:00.05');"
        "SELECT * FROM t",
        [("2021-01-01 00:00:00", "10:00:00.1")],
    ),
    Difference(
        "NULL into TIMESTAMP NOT NULL: MariaDB takes the time (M); explicit_defaults_for_timestamp elsewhere (D)",
        "CREATE TABLE t (a TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP); INSERT INTO t VALUES (NULL)",
        1048,
    ),
    Difference(
        "an UPDATE's right sides: MySQL and MariaDB see new values (M), TiDB old ones (D: UPDATE)",
        "CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 0); UPDATE t SET a = a + 1, b = a; SELECT * FROM t",
        [("2", "1")],
    ),
    Difference(
        "but in ON DUPLICATE KEY UPDATE TiDB goes from left to right too (S: pkg/executor/insert.go, doDupRowUpdate)",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT); INSERT INTO t VALUES (1, 1, 1);"
        "INSERT INTO t VALUES (1, 0, 0) ON DUPLICATE KEY UPDATE b = b + 1, c = b; SELECT * FROM t",
        [("1", "2", "2")],
    ),
    Difference(
        "ON UPDATE CURRENT_TIMESTAMP leaves alone what a statement assigns (D: Automatic Initialization)",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, d DATETIME ON UPDATE CURRENT_TIMESTAMP);"
        "INSERT INTO t VALUES (1, 1, 1, NULL);"
        "INSERT INTO t VALUES (1, 0, 0, NULL) ON DUPLICATE KEY UPDATE d = '2001-01-01', b = b + 1, c = b;"
        "SELECT * FROM t",
        [("1", "2", "2", "2001-01-01 00:00:00")],
    ),
    Difference(
        "ON DUPLICATE KEY UPDATE of several rows: TiDB takes the primary key's, then keys as defined (S: the same)",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE, c INT); INSERT INTO t VALUES (1, 1, 0), (2, 2, 0);"
        "INSERT INTO t VALUES (2, 1, 0) ON DUPLICATE KEY UPDATE c = 9; SELECT * FROM t",
        [("1", "1", "0"), ("2", "2", "9")],
    ),
    Difference(
        "ids of a rollback are gone everywhere, those of a failed INSERT of VALUES in TiDB too (D: AUTO_INCREMENT)",
        "CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT); BEGIN; INSERT INTO t (b) VALUES (1); ROLLBACK;"
        "INSERT INTO t (b) VALUES (2); SELECT * FROM t",
        [("2", "2")],
    ),
    Difference(
        "AUTO_INCREMENT without a clustered key has gaps in TiDB alone (D: AUTO_INCREMENT; S: SepAutoInc)",
        "CREATE TABLE t (a INT AUTO_INCREMENT UNIQUE, b INT); INSERT INTO t (b) VALUES (1);"
        "INSERT INTO t (b) VALUES (2); SELECT * FROM t",
        [("1", "1"), ("3", "2")],
    ),
    Difference(
        "and none with AUTO_ID_CACHE 1 (D: AUTO_INCREMENT, MySQL compatibility mode)",
        "CREATE TABLE t (a INT AUTO_INCREMENT UNIQUE, b INT) AUTO_ID_CACHE 1; INSERT INTO t (b) VALUES (1);"
        "INSERT INTO t (b) VALUES (2); SELECT * FROM t",
        [("1", "1"), ("2", "2")],
    ),
    Difference(
        "a value for a generated column: 1906 in MariaDB (M), 3105 in MySQL and TiDB (D: Generated Columns)",
        "CREATE TABLE t (a INT, b INT AS (a + 1) STORED); INSERT INTO t VALUES (1, 2)",
        3105,
    ),
    Difference(
        "text of a FLOAT: six digits elsewhere (M), the shortest that tells the number in TiCDC (S: Go's FormatFloat)",
        "CREATE TABLE t (a FLOAT); INSERT INTO t VALUES (1.23456789), (16777217); SELECT * FROM t ORDER BY a",
        [("1.2345679",), ("16777216",)],
    ),
    Difference(
        "a literal default of TEXT: MariaDB alone (M), 1101 in MySQL and TiDB (D: Data Type Default Values)",
        "CREATE TABLE t (a TEXT DEFAULT 'x')",
        1101,
    ),
    Difference(
        "JSON: text in MariaDB (M), a document in MySQL and TiDB, which says 3140 (D: JSON)",
        "CREATE TABLE t (a JSON); INSERT INTO t VALUES ('[1,')",
        3140,
    ),
    Difference(
        "keys of a document: by length in MySQL, by their bytes in TiDB (S: pkg/types/json_binary.go)",
        """CREATE TABLE t (a JSON); INSERT INTO t VALUES ('{"bb": 1, "c": 2, "a": 3}'); SELECT * FROM t""",
        [('{"a": 3, "bb": 1, "c": 2}',)],
    ),
    Difference(
        "a number with something behind it: 1265 elsewhere (M), 1366 in TiDB (S: completeInsertErr)",
        "CREATE TABLE t (a INT); INSERT INTO t VALUES ('12abc')",
        1366,
    ),
    Difference(
        "the same in an UPDATE is 1292 in TiDB (S: pkg/executor/update.go, handleErr)",
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); UPDATE t SET a = '12abc'",
        1292,
    ),
    Difference(
        "IGNORE of a date that is none: TiDB keeps zero (S: pkg/table/column.go, handleZeroDatetime)",
        "CREATE TABLE t (a DATE, b TINYINT); INSERT IGNORE INTO t VALUES ('2021-02-30', 300); SELECT * FROM t",
        [("0000-00-00", "127")],
    ),
    Difference(
        "a YEAR beyond its range with IGNORE: 0 in MySQL, the nearest in TiDB (S: pkg/types/time.go, AdjustYear)",
        "CREATE TABLE t (a YEAR); INSERT IGNORE INTO t VALUES (2200); SELECT * FROM t",
        [("2155",)],
    ),
    Difference(
        "YEAR NOT NULL without a default: 1364 elsewhere (D), zero in TiDB (S: setYearDefaultValue)",
        "CREATE TABLE t (a INT, b YEAR NOT NULL); INSERT INTO t (a) VALUES (1); SELECT b = 0 FROM t",
        [("1",)],
    ),
    Difference(
        "text compares by bytes unless a collation is named: utf8mb4_bin is TiDB's default (D: Character Set)",
        "CREATE TABLE t (a VARCHAR(5) UNIQUE); INSERT INTO t VALUES ('a'), ('A'); SELECT COUNT(*) FROM t",
        [("2",)],
    ),
    Difference(
        "spaces at the end do not count in utf8mb4_bin, but in utf8mb4_0900_bin (D: Character Set and Collation)",
        "CREATE TABLE t (a VARCHAR(5) UNIQUE); INSERT INTO t VALUES ('a'), ('a ')",
        1062,
    ),
    Difference(
        "CHECK is off in TiDB unless it is switched on (D: Constraints)",
        "CREATE TABLE t (a INT CHECK (a > 0)); INSERT INTO t VALUES (-1); SELECT * FROM t",
        [("-1",)],
    ),
    Difference(
        "an UPDATE that moves keys goes row by row as they lie: 1062 (M by order of rows; S: updateRecord)",
        "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); UPDATE t SET a = a + 1",
        1062,
    ),
    Difference(
        "an explicit value of AUTO_RANDOM is TiDB's own error (D: AUTO_RANDOM)",
        "CREATE TABLE t (a BIGINT AUTO_RANDOM PRIMARY KEY); INSERT INTO t VALUES (5)",
        8216,
    ),
    Difference(
        "DDL ends the transaction before it, also in TiDB (D: Statements That Cause an Implicit Commit)",
        "CREATE TABLE t (a INT); BEGIN; INSERT INTO t VALUES (1); CREATE TABLE u (a INT); ROLLBACK; SELECT * FROM t",
        [("1",)],
    ),
    Difference(
        "SELECT … FOR UPDATE, LOCK IN SHARE MODE and hints change no row (D: SELECT)",
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); SELECT /*+ HASH_AGG() */ a FROM t FOR UPDATE",
        [("1",)],
    ),
)


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.what[:60])
def test_scripted_sql_follows_tidb(difference: Difference) -> None:
    if isinstance(difference.result, list):
        assert sorted(rows(played(difference.script)[0]), key=str) == sorted(difference.result, key=str)
        return
    played(difference.script.rpartition(";")[0] or "SELECT 1")
    with pytest.raises((SqlError, CodedError)) as refused:
        played(difference.script)
    assert isinstance(refused.value, (SqlError, CodedError))
    assert error_number(refused.value) == difference.result


def test_digits_of_a_second_are_rounded_before_1970_as_after() -> None:
    outcome, _ = played(
        "CREATE TABLE t (a DATETIME(1)); INSERT INTO t VALUES (DATE_ADD('1000-01-01 17:46:56.3', INTERVAL 5 HOUR)),"
        "(DATE_ADD('1000-01-01 17:46:56.35', INTERVAL 5 HOUR)); SELECT * FROM t"
    )
    assert rows(outcome) == [("1000-01-01 22:46:56.3",), ("1000-01-01 22:46:56.4",)]


def test_create_if_not_exists_runs_no_job() -> None:
    """D: CREATE TABLE … IF NOT EXISTS. MySQL and MariaDB write the statement to the binary log (M)."""
    _, events = played("CREATE TABLE t (a INT); CREATE TABLE IF NOT EXISTS t (b INT); DROP TABLE IF EXISTS u")
    assert len(events) == 1


def test_replace_deletes_and_inserts() -> None:
    """M logs an UPDATE if it can; TiDB inserts a new row in a table without a clustered key (S: replace.go)."""
    for key, changes in (("PRIMARY KEY", 1), ("UNIQUE", 2)):
        made = f"CREATE TABLE t (a INT {key}, b INT); INSERT INTO t VALUES (1, 1)"
        _, events = played(f"{made}; REPLACE INTO t VALUES (1, 2)")
        assert isinstance(events[-1], CommittedTransaction)
        assert len(events[-1].changes[0].handle) == changes


def test_a_row_changed_back_is_still_written() -> None:
    """S: TiDB's transaction holds the key's last value, whatever it was before."""
    _, events = played(
        "CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (1, 1);"
        "BEGIN; UPDATE t SET b = 2; UPDATE t SET b = 1; COMMIT"
    )
    last = events[-1]
    assert isinstance(last, CommittedTransaction) and last.changes[0].before == last.changes[0].after
