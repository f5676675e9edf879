"""Scripted SQL follows TiDB where MySQL 8, MariaDB and TiDB differ.

M: seen on MariaDB 10.11; D: documented, in MySQL's reference manual or TiDB's docs (MySQL Compatibility, and the page
named); S: TiDB's source, v8.5.
"""

from __future__ import annotations

import pytest
from support.upstreams import as_text, changes, grouped, played, refusal_number, selected

DIFFERENCES = grouped("""
    superfluous digits of a second: MariaDB cuts (M), MySQL and TiDB round (D: Fractional Seconds)
        => CREATE TABLE t (a DATETIME, b TIME(1)); INSERT INTO t VALUES ('2020-12-31 23:59:59.5', '10:00:00.05'); SELECT * FROM t => 2021-01-01 00:00:00,10:00:00.1
    NULL into TIMESTAMP NOT NULL: MariaDB takes the time (M); explicit_defaults_for_timestamp elsewhere (D)
        => CREATE TABLE t (a TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP); INSERT INTO t VALUES (NULL) => 1048
    an UPDATE's right sides: MySQL and MariaDB see new values (M), TiDB old ones (D: UPDATE)
        => CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 0); UPDATE t SET a = a + 1, b = a; SELECT * FROM t => 2,1
    but in ON DUPLICATE KEY UPDATE TiDB goes from left to right too (S: pkg/executor/insert.go, doDupRowUpdate)
        => CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT); INSERT INTO t VALUES (1, 1, 1); INSERT INTO t VALUES (1, 0, 0) ON DUPLICATE KEY UPDATE b = b + 1, c = b; SELECT * FROM t => 1,2,2
    ON UPDATE CURRENT_TIMESTAMP leaves alone what a statement assigns (D: Automatic Initialization)
        => CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, d DATETIME ON UPDATE CURRENT_TIMESTAMP); INSERT INTO t VALUES (1, 1, 1, NULL); INSERT INTO t VALUES (1, 0, 0, NULL) ON DUPLICATE KEY UPDATE d = '2001-01-01', b = b + 1, c = b; SELECT * FROM t => 1,2,2,2001-01-01 00:00:00
    ON DUPLICATE KEY UPDATE of several rows: TiDB takes the primary key's, then keys as defined (S: the same)
        => CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE, c INT); INSERT INTO t VALUES (1, 1, 0), (2, 2, 0); INSERT INTO t VALUES (2, 1, 0) ON DUPLICATE KEY UPDATE c = 9; SELECT * FROM t => 1,1,0; 2,2,9
    ids of a rollback are gone everywhere, those of a failed INSERT of VALUES in TiDB too (D: AUTO_INCREMENT)
        => CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT); BEGIN; INSERT INTO t (b) VALUES (1); ROLLBACK; INSERT INTO t (b) VALUES (2); SELECT * FROM t => 2,2
    AUTO_INCREMENT without a clustered key has gaps in TiDB alone (D: AUTO_INCREMENT; S: SepAutoInc)
        => CREATE TABLE t (a INT AUTO_INCREMENT UNIQUE, b INT); INSERT INTO t (b) VALUES (1); INSERT INTO t (b) VALUES (2); SELECT * FROM t => 1,1; 3,2
    and none with AUTO_ID_CACHE 1 (D: AUTO_INCREMENT, MySQL compatibility mode)
        => CREATE TABLE t (a INT AUTO_INCREMENT UNIQUE, b INT) AUTO_ID_CACHE 1; INSERT INTO t (b) VALUES (1); INSERT INTO t (b) VALUES (2); SELECT * FROM t => 1,1; 2,2
    a value for a generated column: 1906 in MariaDB (M), 3105 in MySQL and TiDB (D: Generated Columns)
        => CREATE TABLE t (a INT, b INT AS (a + 1) STORED); INSERT INTO t VALUES (1, 2) => 3105
    text of a FLOAT: six digits elsewhere (M), the shortest that tells the number in TiCDC (S: Go's FormatFloat)
        => CREATE TABLE t (a FLOAT); INSERT INTO t VALUES (1.23456789), (16777217); SELECT * FROM t ORDER BY a => 1.2345679; 16777216
    a literal default of TEXT: MariaDB alone (M), 1101 in MySQL and TiDB (D: Data Type Default Values)
        => CREATE TABLE t (a TEXT DEFAULT 'x') => 1101
    JSON: text in MariaDB (M), a document in MySQL and TiDB, which says 3140 (D: JSON)
        => CREATE TABLE t (a JSON); INSERT INTO t VALUES ('[1,') => 3140
    keys of a document: by length in MySQL, by their bytes in TiDB (S: pkg/types/json_binary.go)
        => CREATE TABLE t (a JSON); INSERT INTO t VALUES ('{"bb": 1, "c": 2, "a": 3}'); SELECT * FROM t => {"a": 3, "bb": 1, "c": 2}
    a number with something behind it: 1265 elsewhere (M), 1366 in TiDB (S: completeInsertErr)
        => CREATE TABLE t (a INT); INSERT INTO t VALUES ('12abc') => 1366
    the same in an UPDATE is 1292 in TiDB (S: pkg/executor/update.go, handleErr)
        => CREATE TABLE t (a INT); INSERT INTO t VALUES (1); UPDATE t SET a = '12abc' => 1292
    IGNORE of a date that is none: TiDB keeps zero (S: pkg/table/column.go, handleZeroDatetime)
        => CREATE TABLE t (a DATE, b TINYINT); INSERT IGNORE INTO t VALUES ('2021-02-30', 300); SELECT * FROM t => 0000-00-00,127
    a YEAR beyond its range with IGNORE: 0 in MySQL, the nearest in TiDB (S: pkg/types/time.go, AdjustYear)
        => CREATE TABLE t (a YEAR); INSERT IGNORE INTO t VALUES (2200); SELECT * FROM t => 2155
    YEAR NOT NULL without a default: 1364 elsewhere (D), zero in TiDB (S: setYearDefaultValue)
        => CREATE TABLE t (a INT, b YEAR NOT NULL); INSERT INTO t (a) VALUES (1); SELECT b = 0 FROM t => 1
    text compares by bytes unless a collation is named: utf8mb4_bin is TiDB's default (D: Character Set)
        => CREATE TABLE t (a VARCHAR(5) UNIQUE); INSERT INTO t VALUES ('a'), ('A'); SELECT COUNT(*) FROM t => 2
    spaces at the end do not count in utf8mb4_bin, but in utf8mb4_0900_bin (D: Character Set and Collation)
        => CREATE TABLE t (a VARCHAR(5) UNIQUE); INSERT INTO t VALUES ('a'), ('a ') => 1062
    CHECK is off in TiDB unless it is switched on (D: Constraints)
        => CREATE TABLE t (a INT CHECK (a > 0)); INSERT INTO t VALUES (-1); SELECT * FROM t => -1
    an UPDATE that moves keys goes row by row as they lie: 1062 (M by order of rows; S: updateRecord)
        => CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); UPDATE t SET a = a + 1 => 1062
    an explicit value of AUTO_RANDOM is TiDB's own error (D: AUTO_RANDOM)
        => CREATE TABLE t (a BIGINT AUTO_RANDOM PRIMARY KEY); INSERT INTO t VALUES (5) => 8216
    DDL ends the transaction before it, also in TiDB (D: Statements That Cause an Implicit Commit)
        => CREATE TABLE t (a INT); BEGIN; INSERT INTO t VALUES (1); CREATE TABLE u (a INT); ROLLBACK; SELECT * FROM t => 1
    SELECT … FOR UPDATE, LOCK IN SHARE MODE and hints change no row (D: SELECT)
        => CREATE TABLE t (a INT); INSERT INTO t VALUES (1); SELECT /*+ HASH_AGG() */ a FROM t FOR UPDATE => 1
    digits of a second are rounded before 1970 as after
        => CREATE TABLE t (a DATETIME(1)); INSERT INTO t VALUES (DATE_ADD('1000-01-01 17:46:56.3', INTERVAL 5 HOUR)),(DATE_ADD('1000-01-01 17:46:56.35', INTERVAL 5 HOUR)); SELECT * FROM t => 1000-01-01 22:46:56.3; 1000-01-01 22:46:56.4
""")


@pytest.mark.parametrize(("what", "script", "result"), DIFFERENCES, ids=lambda cell: cell[:60])
def test_scripted_sql_follows_tidb(what: str, script: str, result: str) -> None:
    """The rows of the last statement, or the number of its error."""
    if result.isdecimal() and "SELECT" not in script:
        assert refusal_number(script) == int(result)
    else:
        assert as_text(sorted(selected(script), key=str)) == result


def test_create_if_not_exists_runs_no_job() -> None:
    """D: CREATE TABLE … IF NOT EXISTS. MySQL and MariaDB write the statement to the binary log (M)."""
    script = "CREATE TABLE t (a INT); CREATE TABLE IF NOT EXISTS t (b INT); DROP TABLE IF EXISTS u"
    assert len(played(script).events) == 1


@pytest.mark.parametrize(("key", "written"), [("PRIMARY KEY", ["t 1,1 > 1,2"]), ("UNIQUE", ["-t 1,1", "+t 1,2"])])
def test_replace_deletes_and_inserts(key: str, written: list[str]) -> None:
    """M logs an UPDATE if it can; TiDB inserts a new row in a table without a clustered key (S: replace.go)."""
    script = f"CREATE TABLE t (a INT {key}, b INT); INSERT INTO t VALUES (1, 1); REPLACE INTO t VALUES (1, 2)"
    assert changes(played(script))[-1] == written
