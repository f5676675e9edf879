"""Several clients of one server: what each sees, whom it waits for, and in which order their commits come."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pymysql
import pytest

from simulator import TiCDC
from simulator.api.server import ServedDatabase, TiCDCServer
from simulator.reader.decode import RowEvent

Client = Any
Clients = tuple[Client, Client]
Connect = Callable[..., Client]


@pytest.fixture
def two(connect: Connect, ticdc_server: ServedDatabase) -> Clients:
    """Two clients in a database with three items."""
    one, other = (connect(ticdc_server.port, database=ticdc_server.name) for _ in range(2))
    one.run("CREATE TABLE item (id INT PRIMARY KEY, n INT, UNIQUE KEY by_n (n))")
    one.run("INSERT INTO item VALUES (1, 10), (2, 20), (3, 30)")
    return one, other


def answer(client: Client, sql: str) -> str:
    """Rows, or the number of an error."""
    try:
        return ", ".join(" ".join(map(str, row)) for row in client.run(sql))
    except pymysql.MySQLError as error:
        return f"error {error.args[0]}"


def in_background(client: Client, sql: str) -> Callable[[], str]:
    """Start a statement that has to wait, and return what waits for its answer."""
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(answer(client, sql)))
    thread.start()
    thread.join(0.2)
    assert thread.is_alive(), f"{sql} does not wait: {answers}"

    def finished() -> str:
        thread.join(10)
        assert not thread.is_alive()
        return answers[0]

    return finished


STORIES = {
    "a query sees the rows at BEGIN and its own writes on them": """
        1: BEGIN
        2: UPDATE item SET n = 11 WHERE id = 1
        1: SELECT n FROM item WHERE id = 1 -> 10
        1: UPDATE item SET n = 21 WHERE id = 2
        2: UPDATE item SET n = 12 WHERE id = 1
        1: UPDATE item SET n = 31 WHERE id = 3
        1: SELECT n FROM item ORDER BY id -> 10, 21, 31
        1: COMMIT
        1: SELECT n FROM item ORDER BY id -> 12, 21, 31
    """,
    "READ COMMITTED sees the newest rows": """
        1: SET transaction_isolation = 'READ-COMMITTED'
        1: BEGIN
        2: UPDATE item SET n = 11 WHERE id = 1
        1: SELECT n FROM item WHERE id = 1 -> 11
    """,
    "READ COMMITTED locks no missing keys": """
        1: BEGIN
        1: UPDATE item SET n = 0 WHERE id = 4
        2: INSERT INTO item VALUES (4, 40) -> waits
        1: COMMIT
        2 goes on
        1: SET transaction_isolation = 'READ-COMMITTED'
        1: BEGIN
        1: SELECT n FROM item WHERE id IN (1, 5) FOR UPDATE -> 10
        1: SELECT id FROM item WHERE n = 60 FOR UPDATE ->
        2: INSERT INTO item VALUES (5, 60)
        2: UPDATE item SET n = 11 WHERE id = 1 -> waits
        1: UPDATE item SET n = 61 WHERE n = 60
        3: DELETE FROM item WHERE id = 5 -> waits
        1: COMMIT
        2 goes on
        3 goes on
    """,
    "an UPDATE sees the newest rows": """
        1: BEGIN
        2: UPDATE item SET n = 11 WHERE id = 1
        1: UPDATE item SET n = n + 1 WHERE id = 1
        1: COMMIT
        2: SELECT n FROM item WHERE id = 1 -> 12
    """,
    "a second writer of a row waits": """
        1: BEGIN
        1: UPDATE item SET n = n + 1 WHERE id = 1
        2: UPDATE item SET n = n + 100 WHERE id = 1 -> waits
        1: COMMIT
        2 goes on
        1: SELECT n FROM item WHERE id = 1 -> 111
    """,
    "a write waits for the transaction that inserts or deletes its key": """
        1: BEGIN
        1: INSERT INTO item VALUES (4, 40), (5, 50), (6, 60), (7, 70), (8, 80)
        1: DELETE FROM item WHERE id = 1
        2: UPDATE item SET n = n + 1 WHERE n > 39
        2: INSERT INTO item VALUES (4, 41) -> waits
        3: INSERT INTO item VALUES (9, 50) -> waits
        4: REPLACE INTO item VALUES (10, 60) -> waits
        5: INSERT INTO item VALUES (1, 12) -> waits
        6: UPDATE item SET n = 71 WHERE id = 7 -> waits
        7: DELETE FROM item WHERE n IN (80, 90) -> waits
        1: COMMIT
        2 goes on -> error 1062
        3 goes on -> error 1062
        4 goes on
        5 goes on
        6 goes on
        7 goes on
        1: SELECT * FROM item ORDER BY id -> 1 12, 2 20, 3 30, 4 40, 5 50, 7 71, 10 60
    """,
    "a duplicate key waits for a transaction on that key alone": """
        1: BEGIN
        1: DELETE FROM item WHERE id = 1
        2: INSERT INTO item VALUES (2, 21) -> error 1062
        2: INSERT IGNORE INTO item VALUES (3, 31)
        2: INSERT IGNORE INTO item VALUES (1, 11), (3, 31) -> waits
        1: COMMIT
        2 goes on
        1: SELECT * FROM item ORDER BY id -> 1 11, 2 20, 3 30
    """,
    "parents and children wait for a transaction on the other": """
        1: CREATE TABLE part (id INT PRIMARY KEY, item INT, FOREIGN KEY (item) REFERENCES item (id))
        1: INSERT INTO part VALUES (1, 1), (2, 2)
        1: BEGIN
        1: INSERT INTO item VALUES (4, 40)
        1: DELETE FROM part WHERE id = 1
        1: INSERT INTO part VALUES (5, 3)
        2: INSERT INTO part VALUES (3, 5) -> error 1452
        2: DELETE FROM item WHERE id = 2 -> error 1451
        2: INSERT INTO part VALUES (3, 4) -> waits
        3: DELETE FROM item WHERE id = 1 -> error 1451
        4: DELETE FROM item WHERE id = 3 -> waits
        1: COMMIT
        2 goes on
        3: DELETE FROM item WHERE id = 1
        4 goes on -> error 1451
    """,
    "a ROLLBACK lets the waiting writer go on": """
        1: BEGIN
        1: INSERT INTO item VALUES (4, 40)
        2: INSERT INTO item VALUES (4, 41) -> waits
        1: ROLLBACK
        2 goes on
        1: SELECT n FROM item WHERE id = 4 -> 41
    """,
    "a deadlock rolls the second transaction back": """
        1: BEGIN
        2: BEGIN
        1: UPDATE item SET n = 11 WHERE id = 1
        2: UPDATE item SET n = 21 WHERE id = 2
        1: UPDATE item SET n = 22 WHERE id = 2 -> waits
        2: UPDATE item SET n = 12 WHERE id = 1 -> error 1213
        1 goes on
        1: COMMIT
        2: SELECT n FROM item ORDER BY id -> 11, 22, 30
    """,
    "SELECT FOR UPDATE locks its rows": """
        1: BEGIN
        1: SELECT * FROM item WHERE id = 1 FOR UPDATE
        2: BEGIN
        2: SELECT * FROM item WHERE n = 10 FOR UPDATE NOWAIT -> error 3572
        2: SELECT * FROM item WHERE id = 2 FOR UPDATE
        2: UPDATE item SET n = n + 1 WHERE id = 1 -> waits
        1: COMMIT
        2 goes on
    """,
    "DDL waits for transactions on its table": """
        1: BEGIN
        1: UPDATE item SET n = 11 WHERE id = 1
        2: ALTER TABLE item ADD COLUMN s VARCHAR(5) DEFAULT 'x' -> waits
        1: COMMIT
        2 goes on
        1: SELECT s FROM item WHERE id = 1 -> x
    """,
    "savepoints survive the commits of others": """
        1: BEGIN
        1: UPDATE item SET n = 11 WHERE id = 1
        1: SAVEPOINT here
        1: UPDATE item SET n = 21 WHERE id = 2
        2: UPDATE item SET n = 31 WHERE id = 3
        1: INSERT INTO item VALUES (4, 40)
        1: ROLLBACK TO here
        1: COMMIT
        2: SELECT n FROM item ORDER BY id -> 11, 20, 31
    """,
    "generated ids are not given twice": """
        1: CREATE TABLE note (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(5))
        1: BEGIN
        1: INSERT INTO note (s) VALUES ('a')
        2: INSERT INTO note (s) VALUES ('b')
        1: ROLLBACK
        1: INSERT INTO note (s) VALUES ('c')
        2: UPDATE note SET id = 1000 WHERE id = 3
        1: INSERT INTO note (s) VALUES ('d')
        2: SELECT * FROM note ORDER BY id -> 2 b, 1000 c, 1001 d
    """,
    "a wait ends after innodb_lock_wait_timeout": """
        1: BEGIN
        1: UPDATE item SET n = 11 WHERE id = 1
        2: SET innodb_lock_wait_timeout = 1
        2: BEGIN
        2: UPDATE item SET n = 21 WHERE id = 2
        2: UPDATE item SET n = 12 WHERE id = 1 -> waits
        2 goes on -> error 1205
        2: COMMIT
        1: COMMIT
        2: SELECT n FROM item ORDER BY id -> 11, 21, 30
    """,
    "DDL waits until the other transactions end": """
        1: BEGIN
        1: UPDATE item SET n = 11 WHERE id = 1
        2: SET innodb_lock_wait_timeout = 1
        2: ALTER TABLE item ADD COLUMN s INT -> waits
        1: SELECT SLEEP(1.5) -> 0
        1: COMMIT
        2 goes on
    """,
}
"""A line is a statement of a client, and behind an arrow its answer; one that waits goes on later."""


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES.values(), ids=list(STORIES))
def test_a_story_of_several_clients(story: str, two: Clients, connect: Connect, ticdc_server: ServedDatabase) -> None:
    clients = dict(enumerate(two, start=1))
    waiting: dict[int, Callable[[], str]] = {}
    for line in map(str.strip, story.strip().splitlines()):
        asked, arrow, wanted = line.partition(" ->")
        number, sql = int(asked[0]), asked[3:] if asked[1] == ":" else ""
        client = clients.get(number) or connect(ticdc_server.port, database=ticdc_server.name)
        clients[number] = client
        if wanted == " waits":
            waiting[number] = in_background(client, sql)
            continue
        found = answer(client, sql) if sql else waiting.pop(number)()
        assert found == wanted.strip() if arrow else not found.startswith("error"), (line, found)


def test_commits_have_the_order_of_their_commit_ts(two: Clients, ticdc_server: ServedDatabase) -> None:
    one, other = two
    ticdc_server.messages()
    one.run("BEGIN", "INSERT INTO item VALUES (4, 40)")
    other.run("INSERT INTO item VALUES (5, 50)")
    one.run("COMMIT")
    first, second = (event for event in ticdc_server.events() if isinstance(event, RowEvent))
    assert [str(row["n"]) for row in ticdc_server.rows("item")][3:] == ["40", "50"]
    assert "5" in str(first.after) and "4" in str(second.after)
    assert first.commit_ts is not None and second.commit_ts is not None and first.commit_ts < second.commit_ts


def test_a_negative_id_is_answered_without_its_sign(two: Clients) -> None:
    one, _ = two
    one.run("CREATE TABLE note (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(5))")
    with one.cursor() as cursor:
        cursor.execute("INSERT INTO note VALUES (-5, 'c')")
        assert cursor.lastrowid == 2**64 - 5
    assert one.run("SELECT * FROM note") == ((-5, "c"),)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("INSERT INTO item VALUES (8, 1)", ""),
        ("INSERT INTO item VALUES (8, 1), (9, 2)", "Records: 2  Duplicates: 0  Warnings: 0"),
        ("INSERT INTO item SELECT 8, 1", "Records: 1  Duplicates: 0  Warnings: 0"),
        ("INSERT IGNORE INTO item VALUES (1, 1), (8, 2)", "Records: 2  Duplicates: 1  Warnings: 1"),
        (
            "INSERT INTO item VALUES (1, 1), (2, 2), (8, 3) ON DUPLICATE KEY UPDATE n = n + 1",
            "Records: 3  Duplicates: 2  Warnings: 0",
        ),
        ("REPLACE INTO item VALUES (1, 1), (2, 2), (8, 3)", "Records: 3  Duplicates: 2  Warnings: 0"),
        ("UPDATE item SET n = n + (id = 1) WHERE id < 3", "Rows matched: 2  Changed: 1  Warnings: 0"),
    ],
)
def test_a_client_is_told_how_many_rows_a_statement_has_met(two: Clients, statement: str, told: str) -> None:
    """In TiDB's words (tidb pkg/executor/insert.go and replace.go, setMessage)."""
    one, _ = two
    with one.cursor() as cursor:
        cursor.execute(statement)
        message = cursor._result.message
    assert bytes(message)[1:].decode() == told


@pytest.mark.slow
def test_a_client_that_is_gone_leaves_nothing(two: Clients) -> None:
    one, other = two
    one.run("BEGIN", "UPDATE item SET n = 11 WHERE id = 1")
    finished = in_background(other, "UPDATE item SET n = n + 5 WHERE id = 1")
    one._sock.close()
    one._force_close()
    assert finished() == ""
    assert other.run("SELECT n FROM item WHERE id = 1") == ((15,),)


def test_kill_ends_a_connection_and_its_transaction(two: Clients) -> None:
    one, other = two
    one.run("BEGIN", "INSERT INTO item VALUES (4, 40)")
    ((number,),) = one.run("SELECT CONNECTION_ID()")
    other.run(f"KILL {number}", "INSERT INTO item VALUES (4, 41)")
    one.error("SELECT 1")
    assert other.error("KILL 99999") == (1094, "Unknown thread id: 99999")


def test_every_client_is_in_the_list_of_processes(two: Clients, ticdc_server: ServedDatabase) -> None:
    one, other = two
    ((number,),) = one.run("BEGIN", "SELECT CONNECTION_ID()")
    listed = {row[0]: row for row in other.run("SHOW FULL PROCESSLIST")}
    assert listed[number][1:5] == ("root", "127.0.0.1", ticdc_server.name, "Sleep")
    assert listed[number][6] == "in transaction; autocommit"
    ((sleeping,),) = other.run("SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Sleep'")
    assert sleeping >= 1


def test_tidb_snapshot_reads_earlier_rows(two: Clients) -> None:
    one, other = two
    ((ts,),) = other.run("BEGIN", "SELECT @@tidb_current_ts")
    other.run("ROLLBACK")
    one.run("UPDATE item SET n = 99 WHERE id = 1")
    assert other.run(f"SET @@tidb_snapshot = '{ts}'", "SELECT n FROM item WHERE id = 1") == ((10,),)
    assert other.error("DELETE FROM item")[0] == 1105
    assert other.run("SET @@tidb_snapshot = ''", "SELECT n FROM item WHERE id = 1") == ((99,),)


def test_set_global_is_for_sessions_from_then_on(two: Clients, connect: Connect, ticdc_server: ServedDatabase) -> None:
    one, other = two
    names = ("innodb_lock_wait_timeout", "sql_mode", "tidb_gc_life_time")
    one.run("SET GLOBAL {} = 7, GLOBAL {} = 'ANSI_QUOTES', GLOBAL {} = '1h'".format(*names))
    query = "SELECT @@innodb_lock_wait_timeout, @@global.innodb_lock_wait_timeout, @@sql_mode, @@tidb_gc_life_time"
    later = connect(ticdc_server.port, database=ticdc_server.name)
    try:
        assert [client.run(query)[0][::3] for client in two] == [(50, "1h")] * 2
        assert later.run(query) == ((7, 7, "ANSI_QUOTES", "1h"),)
        assert other.run("SHOW GLOBAL VARIABLES LIKE 'innodb_lock_wait%'") == (("innodb_lock_wait_timeout", "7"),)
        assert later.run('SELECT "n" FROM item WHERE "id" = 1') == ((10,),)
        assert one.error("SET GLOBAL innodb_lock_wait_timeout = 'x'")[0] == 1232
    finally:
        one.run("SET " + ", ".join(f"GLOBAL {name} = DEFAULT" for name in names))
    assert other.run("SELECT @@global.innodb_lock_wait_timeout, @@tidb_gc_life_time") == ((50, "10m0s"),)


@pytest.mark.parametrize("ticks", range(5))
def test_kill_query_ends_a_statement_whose_wait_ends_at_that_moment(connect: Connect, ticks: int) -> None:
    """Whichever the event loop meets first; and the server ends afterwards."""
    with TiCDC(databases=("test",)) as ticdc:
        served = TiCDCServer(ticdc)
        with served:
            one, other = (connect(served.port) for _ in range(2))
            one.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "BEGIN", "DELETE FROM t")
            finished = in_background(other, "DELETE FROM t")
            server = served.server
            loop = server._loop
            assert loop is not None

            def kill_in(ticks: int) -> None:
                if ticks:
                    loop.call_soon(kill_in, ticks - 1)
                else:
                    server.kill(other.thread_id(), True)

            loop.call_soon_threadsafe(server.transaction_ended)
            loop.call_soon_threadsafe(kill_in, ticks)
            assert finished() == "error 1317"
            ending = threading.Thread(target=served.close, daemon=True)
            ending.start()
            ending.join(10)
            assert not ending.is_alive()
