"""Tables with SOFTDELETE and ACTIVE_ACTIVE: rows that are only marked as deleted.

Statements and results are those of TiDB's own tests on its branch feature/active-active: tests/integrationtest/r/
softdelete, r/active_active, r/ddl, and pkg/executor TestSoftDeleteAffectedRowsAndStmtMessage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from support.upstreams import cases

from simulator import TiCDC
from simulator.errors import SqlError

SOFT = "/*T![softdelete] SOFTDELETE=RETENTION 7 DAY */"
ACTIVE = f"/*T![active_active] ACTIVE_ACTIVE='ON' */ {SOFT}"
JOB = "/*T![softdelete] SOFTDELETE_JOB_ENABLE='ON' */ /*T![softdelete] SOFTDELETE_JOB_INTERVAL='24h' */"
TABLES = f"""
    CREATE TABLE t (id INT PRIMARY KEY, v INT) {SOFT};
    CREATE TABLE heap (id INT PRIMARY KEY NONCLUSTERED, v INT) {SOFT};
    CREATE TABLE plain (id INT PRIMARY KEY, v INT);
    CREATE TABLE a (id INT PRIMARY KEY, v INT) {ACTIVE};
    INSERT INTO t VALUES (1, 10), (2, 20), (3, 30); INSERT INTO heap SELECT * FROM t; INSERT INTO plain SELECT * FROM t;
    INSERT INTO a (id, v, _tidb_origin_ts) VALUES (1, 10, 123), (2, 20, NULL);
"""


@pytest.fixture
def ticdc() -> TiCDC:
    made = TiCDC("v26.3.4")
    made.execute(TABLES)
    return made


def shown(ticdc: TiCDC, query: str) -> str:
    return "; ".join(
        ",".join("NULL" if cell is None else str(cell) for cell in row) for row in ticdc.execute(query).rows
    )


ROWS = cases("""
    DELETE FROM t WHERE id = 1 => 2,20; 3,30
    DELETE FROM t WHERE id > 0 ORDER BY id LIMIT 1 => 2,20; 3,30
    DELETE FROM t WHERE v IN (SELECT v FROM plain WHERE id = 3) => 1,10; 2,20
    DELETE FROM t; INSERT INTO t VALUES (1, 11), (4, 44) => 1,11; 4,44
    DELETE FROM t WHERE id = 1; INSERT IGNORE INTO t VALUES (1, 11), (2, 12), (4, 13) => 1,11; 2,20; 3,30; 4,13
    DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 11), (2, 12) ON DUPLICATE KEY UPDATE v = 666 => 1,11; 2,666; 3,30
    DELETE FROM t WHERE id = 1; REPLACE INTO t VALUES (1, 11), (2, 12) => 1,11; 2,12; 3,30
    DELETE FROM t WHERE id = 1; UPDATE t SET v = 0 => 2,0; 3,0
    DELETE FROM t WHERE id < 3; RECOVER VALUES FROM t WHERE id = 1 => 1,10; 3,30
    DELETE FROM t; RECOVER VALUES FROM t => 1,10; 2,20; 3,30
    DELETE t, heap FROM t, heap WHERE t.id = heap.id AND t.v = 10 => 2,20; 3,30
""")


@pytest.mark.parametrize(("statements", "rows"), ROWS)
@pytest.mark.parametrize("table", ["t", "heap"])
def test_a_deleted_row_is_not_seen_and_does_not_stand_in_the_way(
    ticdc: TiCDC, statements: str, rows: str, table: str
) -> None:
    names = {"t": table, "heap": "t" if table == "heap" else "heap"}
    ticdc.execute(re.sub(r"\b(t|heap)\b", lambda match: names[match[0]], statements))
    assert shown(ticdc, f"SELECT * FROM {table} ORDER BY id") == rows


AFFECTED = cases("""
    INSERT INTO t VALUES (2, 200), (4, 400) => 2
    INSERT IGNORE INTO t VALUES (1, 100), (2, 200), (4, 400) => 2
    INSERT INTO t VALUES (2, 100), (3, 200), (4, 400) ON DUPLICATE KEY UPDATE v = v + 1 => 4
    INSERT INTO t SELECT 2, 200 => 1
    UPDATE t SET v = 10 WHERE id IN (1, 2, 3, 5) => 1
    UPDATE t SET v = 99 WHERE id = 2 => 0
    REPLACE INTO t VALUES (1, 10), (2, 200), (3, 31) => 4
    DELETE FROM t => 2
    RECOVER VALUES FROM t => 1
""")


@pytest.mark.parametrize(("statement", "affected"), AFFECTED)
def test_deleted_rows_do_not_count(ticdc: TiCDC, statement: str, affected: str) -> None:
    ticdc.execute("DELETE FROM t WHERE id = 2")
    assert str(ticdc.execute(statement).affected) == affected


def test_without_translation_the_mark_is_a_column_and_delete_removes_rows(ticdc: TiCDC) -> None:
    ticdc.execute("DELETE FROM t WHERE id = 1; DELETE FROM t WHERE id = 1")
    ticdc.execute("SET tidb_translate_softdelete_sql = OFF; DELETE FROM t WHERE id = 2")
    assert shown(ticdc, "SELECT *, _tidb_softdelete_time IS NULL FROM t") == "1,10,0; 3,30,1"
    ticdc.execute("UPDATE t SET _tidb_softdelete_time = NULL; SET tidb_translate_softdelete_sql = DEFAULT")
    assert shown(ticdc, "SELECT * FROM t") == "1,10; 3,30"
    assert shown(ticdc, "SELECT @@tidb_translate_softdelete_sql") == "1"


def test_a_view_and_a_join_see_no_deleted_rows(ticdc: TiCDC) -> None:
    ticdc.execute("CREATE VIEW v1 AS SELECT * FROM t WHERE id >= 2; DELETE FROM t WHERE id = 2")
    assert shown(ticdc, "SELECT * FROM v1") == "3,30"
    assert shown(ticdc, "SELECT plain.id FROM plain JOIN t USING (id) ORDER BY 1") == "1; 3"
    assert shown(ticdc, "SELECT id FROM t NATURAL JOIN heap ORDER BY 1") == "1; 3"


ORIGINS = cases("""
    UPDATE a SET v = 200 => 1,200,NULL; 2,200,NULL
    UPDATE a SET _tidb_origin_ts = 567 => 1,10,567; 2,20,567
    UPDATE a SET v = _tidb_origin_ts * 10 WHERE id = 1 => 1,1230,NULL; 2,20,NULL
    UPDATE a SET v = 10 => 1,10,123; 2,10,NULL
    INSERT INTO a (id, v) VALUES (1, 11) ON DUPLICATE KEY UPDATE v = 42 => 1,42,NULL; 2,20,NULL
    INSERT INTO a (id, v) VALUES (1, 11) ON DUPLICATE KEY UPDATE _tidb_origin_ts = 22 => 1,10,22; 2,20,NULL
    REPLACE INTO a (id, v, _tidb_origin_ts) VALUES (1, 11, NULL), (2, 22, 222) => 1,11,NULL; 2,22,222
""")


@pytest.mark.parametrize(("statement", "rows"), ORIGINS)
def test_a_local_write_takes_the_origin_of_a_row_away(ticdc: TiCDC, statement: str, rows: str) -> None:
    ticdc.execute(statement)
    assert shown(ticdc, "SELECT id, v, _tidb_origin_ts FROM a") == rows


NAMED = "1815 .*column '_tidb_softdelete_time' cannot be referenced when tidb_translate_softdelete_sql is enabled"
UNIQUE = "1846 .*UNIQUE is not supported. Reason: Cannot add unique index on ACTIVE_ACTIVE or softdelete table"
KEY_UPDATED = "1235 .*This version of TiDB doesn't yet support 'updating primary key column on soft-delete table'"
REFUSED = [
    ("SELECT id, _tidb_softdelete_time FROM t", NAMED),
    ("SELECT id FROM t ORDER BY _tidb_softdelete_time", NAMED),
    ("UPDATE t SET _tidb_softdelete_time = NOW() WHERE id = 2", NAMED),
    ("UPDATE t SET v = 1 WHERE _tidb_softdelete_time IS NULL", NAMED),
    ("DELETE FROM t WHERE _tidb_softdelete_time IS NOT NULL", NAMED),
    ("INSERT INTO t VALUES (1, 1) ON DUPLICATE KEY UPDATE _tidb_softdelete_time = NULL", NAMED),
    ("INSERT INTO t (id, v, _tidb_softdelete_time) VALUES (1, 1, NULL)", NAMED),
    ("UPDATE t SET id = 9", KEY_UPDATED),
    ("INSERT INTO t VALUES (1, 1) ON DUPLICATE KEY UPDATE id = 9", KEY_UPDATED),
    ("INSERT INTO t VALUES (4, 4, 4)", "1136 .*Column count"),
    ("INSERT INTO t VALUES (3, 4)", "1062 .*Duplicate entry '3' for key 't.PRIMARY'"),
    ("DELETE t, plain FROM t, plain WHERE t.id = plain.id", "1105 .*cannot mix soft delete and non-soft delete tables"),
    ("RECOVER VALUES FROM plain", "1235 .*'RECOVER VALUES on table without soft delete enabled'"),
    ("RECOVER VALUES FROM t WHERE v = (SELECT MIN(v) FROM heap)", "1235 .*with a subquery is not computed"),
    ("CREATE TABLE x (id INT PRIMARY KEY) ACTIVE_ACTIVE = 'ON'", "8200 .*ActiveActive enabled but SoftDelete disabled"),
    (
        "CREATE TABLE x (id INT PRIMARY KEY) ACTIVE_ACTIVE = 'ON' SOFTDELETE = 'OFF'",
        "8200 .*ACTIVE_ACTIVE = 'ON' but SOFTDELETE = 'OFF'",
    ),
    ("CREATE TABLE x (id INT PRIMARY KEY) SOFTDELETE_JOB_ENABLE = 'ON'", "8200 .*must sepecify SOFTDELETE = RETENTION"),
    (
        "CREATE TABLE x (id INT PRIMARY KEY) SOFTDELETE_JOB_ENABLE = 'ON' SOFTDELETE = 'OFF'",
        "8200 .*having SOFTDELETE options but SOFTDELETE = 'OFF'",
    ),
    (f"CREATE TEMPORARY TABLE x (id INT PRIMARY KEY) {SOFT}", "8200 .*is unspported on temp table"),
    ("CREATE TEMPORARY TABLE x LIKE t", "8200 .*is unspported on temp table"),
    ("ALTER TABLE t ADD COLUMN _tidb_origin_ts BIGINT", "1235 .*own columns .* are not simulated"),
    (f"CREATE TABLE x (id INT) {SOFT}", "8200 .*needs a primary key"),
    (f"CREATE TABLE x (id INT PRIMARY KEY, v INT UNIQUE) {SOFT}", UNIQUE),
    ("CREATE TABLE x (id INT PRIMARY KEY) SOFTDELETE = 'ON'", "1064 .*The SOFTDELETE option must be RETENTION XXX or"),
    ("CREATE TABLE x (id INT PRIMARY KEY) SOFTDELETE RETENTION 'a' DAY", "1064"),
    (
        f"CREATE TABLE x (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES plain (id)) {SOFT}",
        "8200 .*SOFTDELETE is unspported on table with foreign key",
    ),
    ("CREATE TABLE x (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES t (id))", "1215 .*Cannot add foreign key"),
    ("ALTER TABLE a DROP COLUMN _tidb_origin_ts", "8200 .*can not drop internal columns"),
    ("ALTER TABLE a ADD COLUMN _tidb_origin_ts BIGINT", "1060 .*Duplicate column name '_tidb_origin_ts'"),
    ("ALTER TABLE a MODIFY COLUMN _tidb_origin_ts BIGINT", "1166 .*Incorrect column name '_tidb_origin_ts'"),
    ("ALTER TABLE a RENAME COLUMN v TO _tidb_origin_ts", "1166 .*Incorrect column name '_tidb_origin_ts'"),
    ("ALTER TABLE t ADD UNIQUE INDEX (v)", UNIQUE),
    ("CREATE UNIQUE INDEX u ON t (v)", UNIQUE),
    ("ALTER TABLE t ADD INDEX (_tidb_softdelete_time)", "1235 .*indexes on .* are not simulated"),
    ("ALTER TABLE t ADD FOREIGN KEY (id) REFERENCES plain (id)", "1215 .*Cannot add foreign key constraint"),
    ("ALTER TABLE t ACTIVE_ACTIVE = 'ON'", "8200 .*This type of ALTER TABLE is currently unsupported"),
    ("ALTER TABLE t SOFTDELETE = 'OFF'", "1235 .*that turns SOFTDELETE on or off is not simulated"),
    ("ALTER TABLE plain SOFTDELETE RETENTION 1 DAY", "1235 .*that turns SOFTDELETE on or off is not simulated"),
    ("ALTER DATABASE test SOFTDELETE_JOB_INTERVAL = '3h'", "8200 .*must sepecify SOFTDELETE = RETENTION xxx"),
]


@pytest.mark.parametrize(("statement", "error"), REFUSED)
def test_what_tidb_refuses(ticdc: TiCDC, statement: str, error: str) -> None:
    with pytest.raises(SqlError, match=error):
        ticdc.execute(statement)
    assert shown(ticdc, "SELECT * FROM t") == "1,10; 2,20; 3,30"


def last_line(ticdc: TiCDC, statement: str) -> str:
    (row,) = ticdc.execute(statement).rows
    return str(row[-1]).splitlines()[-1]


def test_show_create_has_the_options_in_comments_and_no_columns_of_tidb(ticdc: TiCDC) -> None:
    line = ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
    assert last_line(ticdc, "SHOW CREATE TABLE t") == f"{line} {SOFT} {JOB}"
    assert last_line(ticdc, "SHOW CREATE TABLE a") == f"{line} {ACTIVE} {JOB}"
    ticdc.execute("ALTER TABLE t SOFTDELETE RETENTION 30 DAY; ALTER TABLE t SOFTDELETE_JOB_ENABLE 'OFF'")
    changed = last_line(ticdc, "SHOW CREATE TABLE t").removeprefix(line)
    assert changed == f" {SOFT} {JOB}".replace("7 DAY", "30 DAY").replace("'ON'", "'OFF'")
    assert shown(ticdc, "SELECT column_name FROM information_schema.columns WHERE table_name = 'a'") == "id; v"
    assert len(ticdc.execute("SHOW COLUMNS FROM a").rows) == 2


def test_new_tables_have_the_options_of_their_database(ticdc: TiCDC) -> None:
    ticdc.execute(
        "CREATE DATABASE d ACTIVE_ACTIVE='ON' SOFTDELETE RETENTION 7 DAY; CREATE TABLE d.t (id INT PRIMARY KEY)"
    )
    assert last_line(ticdc, "SHOW CREATE TABLE d.t").endswith(f"{ACTIVE} {JOB}")
    head = "CREATE DATABASE `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 */"
    assert last_line(ticdc, "SHOW CREATE DATABASE d") == f"{head} {ACTIVE} {JOB}"
    ticdc.execute(
        "ALTER DATABASE d ACTIVE_ACTIVE='OFF' SOFTDELETE='OFF'; CREATE TABLE d.u LIKE d.t; CREATE TABLE d.v (a INT)"
    )
    assert last_line(ticdc, "SHOW CREATE DATABASE d") == head
    endings: Sequence[str] = [last_line(ticdc, f"SHOW CREATE TABLE d.{name}")[-3:] for name in "tuv"]
    assert endings == [" */", " */", "bin"]
