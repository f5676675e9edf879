"""Several sessions of one database: DDL that waits for transactions, locks, temporary tables, sequences."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.upstreams import cases

from simulator.releases import find
from simulator.tidb.engine import FailedStatement
from simulator.tidb.engine.execution import execute
from simulator.tidb.engine.session import Session
from simulator.tidb.errors import error_number
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.storage import new_database
from simulator.tidb.storage.row_keys import entries_of
from simulator.tidb.storage.rows import NEWEST, LockWait
from simulator.tidb.storage.tables import RowReader, StoredTable, partition_of

NOW = 1_700_000_000_000
V8_5 = find("v8.5.0")


class Sessions:
    """Sessions by number, with what each statement answers."""

    def __init__(self) -> None:
        self.database = new_database(V8_5)
        self._sessions: dict[str, Session] = {}

    def answer(self, number: str, text: str) -> str:
        """Return the rows of a statement, `ok`, its error's number, or `waits`."""
        session = self._sessions.get(number)
        if session is None:
            session = self._sessions[number] = Session(self.database)
            session.settings = replace(session.settings, database="test")
        statement = parse_sql(text)
        assert statement is not None
        try:
            outcome = execute(session, statement, text, NOW)
        except LockWait:
            return "waits"
        if isinstance(outcome, FailedStatement):
            return str(error_number(outcome.error))
        if outcome.result is None:
            return "ok"
        return " ".join(
            ",".join("NULL" if cell is None else cell.decode() for cell in row) for row in outcome.result.rows
        )


SCRIPTS = cases("""
    1 BEGIN; 1 UPDATE t SET b = 2 WHERE a = 1; 2 TRUNCATE TABLE t; 3 INSERT INTO t VALUES (9, 9); 1 COMMIT; 2 TRUNCATE TABLE t; 3 SELECT * FROM t
        => ok ok waits waits ok ok -
    1 BEGIN; 1 SELECT b FROM t; 2 ALTER TABLE t ADD c INT; 3 SELECT b FROM t; 1 ROLLBACK; 2 ALTER TABLE t ADD c INT => ok 1 waits waits ok ok
    1 BEGIN; 2 ALTER TABLE t MODIFY b VARCHAR(9); 1 SELECT b FROM t => ok ok 8028
    1 BEGIN; 2 ALTER TABLE t ADD c INT DEFAULT 5; 1 SELECT c FROM t => ok ok 5
    1 BEGIN; 1 INSERT INTO t VALUES (5, 5), (1, 1); 2 INSERT INTO t VALUES (5, 6) => ok 1062 ok
    1 BEGIN OPTIMISTIC; 1 UPDATE t SET b = 3; 2 BEGIN; 2 UPDATE t SET b = 4; 1 COMMIT => ok ok ok ok 9007
    1 BEGIN OPTIMISTIC; 2 UPDATE t SET b = 3; 1 SELECT b FROM t FOR UPDATE; 1 UPDATE t SET b = b + 1; 1 SELECT b FROM t; 1 COMMIT => ok ok 1 ok 2 9007
    1 CREATE TABLE u (a INT PRIMARY KEY, b INT UNIQUE); 1 BEGIN OPTIMISTIC; 1 INSERT INTO u VALUES (1, 5); 2 INSERT INTO u VALUES (2, 5); 1 COMMIT; 1 SELECT * FROM u
        => ok ok ok ok 9007 2,5
    1 CREATE TABLE u (a INT); 1 BEGIN OPTIMISTIC; 1 SELECT b FROM t FOR UPDATE; 1 INSERT INTO u VALUES (1); 2 UPDATE t SET b = 3; 1 COMMIT => ok ok 1 ok ok 9007
    1 CREATE TABLE u (a INT PRIMARY KEY); 3 BEGIN; 3 SELECT * FROM u; 1 BEGIN; 1 SELECT * FROM t FOR UPDATE; 2 ALTER TABLE u ADD c INT; 1 INSERT INTO u VALUES (1); 1 COMMIT; 3 COMMIT; 2 ALTER TABLE u ADD c INT
        => ok ok - ok 1,1 waits ok ok ok ok
    1 BEGIN; 1 SELECT b FROM t; 2 ALTER TABLE t ADD c INT; 3 BEGIN; 3 SELECT b FROM t WHERE a = 1 FOR UPDATE; 1 UPDATE t SET b = 2; 1 COMMIT; 2 ALTER TABLE t ADD c INT; 3 SELECT b FROM t WHERE a = 1 FOR UPDATE
        => ok 1 waits ok waits ok ok ok 2
    1 CREATE TEMPORARY TABLE t (x INT); 1 INSERT INTO t VALUES (7); 1 SELECT * FROM t; 2 SELECT * FROM t; 1 DROP TABLE t; 1 SELECT * FROM t
        => ok ok 7 1,1 ok 1,1
    1 CREATE GLOBAL TEMPORARY TABLE g (x INT) ON COMMIT DELETE ROWS; 1 BEGIN; 1 INSERT INTO g VALUES (7); 1 SELECT * FROM g; 2 SELECT * FROM g; 1 COMMIT; 1 SELECT * FROM g
        => ok ok ok 7 - ok -
    1 CREATE SEQUENCE s INCREMENT BY 3 MAXVALUE 8; 1 BEGIN; 1 SELECT NEXTVAL(s); 1 ROLLBACK; 2 SELECT NEXTVAL(s), LASTVAL(s); 2 SELECT SETVAL(s, 2), NEXTVAL(s); 1 SELECT NEXT VALUE FOR s; 1 SELECT LASTVAL(s)
        => ok ok 1 ok 4,4 NULL,7 4135 1
    1 SELECT GET_LOCK('x', 0); 2 SELECT GET_LOCK('x', 0); 1 SELECT RELEASE_LOCK('x') + 1; 2 SELECT GET_LOCK('x', 0) => 1 0 2 1
""")


@pytest.mark.parametrize(("script", "answers"), SCRIPTS)
def test_sessions_wait_for_each_other_as_in_tidb(script: str, answers: str) -> None:
    """A DDL statement waits for transactions that have used its table, and statements that use it next wait behind it."""
    sessions = Sessions()
    sessions.answer("1", "CREATE TABLE t (a INT PRIMARY KEY, b INT)")
    sessions.answer("1", "INSERT INTO t VALUES (1, 1)")
    said = [sessions.answer(*step.strip().split(" ", 1)) or "-" for step in script.split(";")]
    assert " ".join(said) == answers


def entries(stored: StoredTable) -> Iterator[tuple[object, ...]]:
    """Yield the entries that the rows of a table should have; checks their partitions."""
    reader, locate, read = RowReader(stored.table), partition_of(stored.table), entries_of(stored.table)
    for ordinal, rows in enumerate(stored.partitions):
        for handle, version in rows.scan(NEWEST):
            cells = reader.cells(version)
            assert locate(cells) == ordinal
            for key, value in read(cells, 1):
                yield id(stored.entries(ordinal, key.unpartitioned)), key.index_id, value, handle


def stored_entries(stored: StoredTable) -> Iterator[tuple[object, ...]]:
    known = {index.id for index in stored.table.indexes}
    for where in {*stored.partitions, stored.unpartitioned}:
        for index_id, values in where.entries.items():
            for value, versions in values.items() if index_id in known else ():
                if versions[-1].handle is not None:
                    yield id(where), index_id, value, versions[-1].handle


STATEMENTS = """
    INSERT IGNORE INTO t VALUES ({0}, {1}, '{2}'), ({1}, {2}, '{0}')
    UPDATE IGNORE t SET b = b + {1} WHERE a % 3 = 1
    UPDATE IGNORE t SET a = a + {1} WHERE b > {2}
    DELETE FROM t WHERE a > {0} + 30
    ALTER TABLE t ADD UNIQUE u{0} (b, a)
    ALTER TABLE t ADD UNIQUE v{0} (c, a)
    ALTER TABLE t MODIFY b VARCHAR(20)
    ALTER TABLE t MODIFY b BIGINT FIRST
    ALTER TABLE t MODIFY c VARCHAR({0})
    ALTER TABLE t ADD x{0} INT DEFAULT 3, DROP COLUMN x{1}
    ALTER TABLE t ADD x{1} INT NOT NULL
    ALTER TABLE t PARTITION BY HASH (a) PARTITIONS 3
    ALTER TABLE t PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (30), PARTITION p1 VALUES LESS THAN MAXVALUE)
    ALTER TABLE t REORGANIZE PARTITION p1 INTO (PARTITION p1 VALUES LESS THAN (60), PARTITION p2 VALUES LESS THAN MAXVALUE)
    ALTER TABLE t TRUNCATE PARTITION p1
    ALTER TABLE t DROP PARTITION p1
    ALTER TABLE t COALESCE PARTITION 1
    ALTER TABLE t REMOVE PARTITIONING
    CREATE TABLE e{0} LIKE t
    ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE e{0}
    RENAME TABLE t TO z, z TO t
    DROP TABLE t
    FLASHBACK TABLE t
    TRUNCATE TABLE t
""".strip().splitlines()


@pytest.mark.parametrize("seed", range(4))
def test_unique_keys_have_the_entries_of_the_rows_after_any_ddl(seed: int) -> None:
    sessions, dice = Sessions(), random.Random(seed)
    sessions.answer("1", "CREATE TABLE t (a INT, b INT, c VARCHAR(20), UNIQUE KEY (a))")
    for _ in range(150):
        text = dice.choice(STATEMENTS).strip().format(*(dice.randrange(1, 90) for _ in range(3)))
        sessions.answer("1", text)
        for stored in sessions.database.present.tables.values():
            assert sorted(map(repr, entries(stored))) == sorted(map(repr, stored_entries(stored))), text
