"""Several clients of one server: what each sees, whom it waits for, and in which order their commits come."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pymysql
import pytest

from simulator.api.server import ServedDatabase
from simulator.consumer.decode import RowEvent

Client = Any
Connect = Callable[[], Client]


@pytest.fixture
def connect(ticdc_server: ServedDatabase) -> Iterator[Connect]:
    with ExitStack() as connections:

        def connected() -> Client:
            client = pymysql.connect(
                host=ticdc_server.host,
                port=ticdc_server.port,
                user="root",
                database=ticdc_server.name,
                autocommit=True,
                ssl_disabled=True,
            )
            connections.callback(client.close)
            return client

        yield connected


def run(client: Client, sql: str) -> tuple[tuple[Any, ...], ...]:
    with client.cursor() as cursor:
        cursor.execute(sql)
        return tuple(cursor.fetchall())


def fails(client: Client, sql: str) -> int:
    with pytest.raises(pymysql.MySQLError) as failure:
        run(client, sql)
    return int(failure.value.args[0])


def in_background(client: Client, sql: str) -> Callable[[], object]:
    """Start a statement that has to wait, and return what waits for its result."""
    result: list[object] = []

    def work() -> None:
        try:
            result.append(run(client, sql))
        except pymysql.MySQLError as error:
            result.append(error.args[0])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive(), f"{sql} does not wait: {result}"

    def finished() -> object:
        thread.join(10)
        assert not thread.is_alive()
        return result[0]

    return finished


@pytest.fixture
def two(connect: Connect) -> tuple[Client, Client]:
    one, other = connect(), connect()
    run(one, "CREATE TABLE item (id INT PRIMARY KEY, n INT, UNIQUE KEY by_n (n))")
    run(one, "INSERT INTO item VALUES (1, 10), (2, 20), (3, 30)")
    return one, other


def test_a_query_sees_the_rows_at_begin(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(other, "UPDATE item SET n = 11 WHERE id = 1")
    assert str(run(one, "SELECT n FROM item WHERE id = 1")[0][0]) == "10"
    run(one, "COMMIT")
    assert str(run(one, "SELECT n FROM item WHERE id = 1")[0][0]) == "11"


def test_a_query_sees_its_own_writes_on_the_rows_at_begin(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "UPDATE item SET n = 21 WHERE id = 2")
    run(other, "UPDATE item SET n = 11 WHERE id = 1")
    run(one, "UPDATE item SET n = 31 WHERE id = 3")
    assert [str(n) for (n,) in run(one, "SELECT n FROM item ORDER BY id")] == ["10", "21", "31"]
    run(one, "COMMIT")
    assert [str(n) for (n,) in run(one, "SELECT n FROM item ORDER BY id")] == ["11", "21", "31"]


def test_read_committed_sees_the_newest_rows(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "SET transaction_isolation = 'READ-COMMITTED'")
    run(one, "BEGIN")
    run(other, "UPDATE item SET n = 11 WHERE id = 1")
    assert str(run(one, "SELECT n FROM item WHERE id = 1")[0][0]) == "11"
    run(one, "ROLLBACK")


def test_an_update_sees_the_newest_rows(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(other, "UPDATE item SET n = 11 WHERE id = 1")
    run(one, "UPDATE item SET n = n + 1 WHERE id = 1")
    run(one, "COMMIT")
    assert str(run(other, "SELECT n FROM item WHERE id = 1")[0][0]) == "12"


def test_a_second_writer_of_a_row_waits(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "UPDATE item SET n = n + 1 WHERE id = 1")
    finished = in_background(other, "UPDATE item SET n = n + 100 WHERE id = 1")
    run(one, "COMMIT")
    assert finished() == ()
    assert str(run(one, "SELECT n FROM item WHERE id = 1")[0][0]) == "111"


def test_writers_of_different_rows_do_not_wait(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "UPDATE item SET n = 11 WHERE id = 1")
    run(other, "UPDATE item SET n = 21 WHERE id = 2")
    run(one, "COMMIT")
    assert [str(n) for (n,) in run(other, "SELECT n FROM item ORDER BY id")] == ["11", "21", "30"]


@pytest.mark.parametrize(
    "sql", ["INSERT INTO item VALUES (4, 50)", "INSERT INTO item VALUES (5, 40)", "REPLACE INTO item VALUES (6, 40)"]
)
def test_an_insert_waits_for_a_key_that_another_transaction_inserts(two: tuple[Client, Client], sql: str) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "INSERT INTO item VALUES (4, 40)")
    finished = in_background(other, sql)
    run(one, "COMMIT")
    assert finished() == (1062 if sql.startswith("INSERT") else ())


def test_an_insert_waits_for_a_key_that_another_transaction_deletes(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "DELETE FROM item WHERE id = 1")
    finished = in_background(other, "INSERT INTO item VALUES (1, 12)")
    run(one, "COMMIT")
    assert finished() == ()


@pytest.mark.parametrize("sql", ["UPDATE item SET n = 41 WHERE id = 4", "DELETE FROM item WHERE n IN (40, 50)"])
def test_a_write_by_a_key_waits_for_the_transaction_that_inserts_it(two: tuple[Client, Client], sql: str) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "INSERT INTO item VALUES (4, 40)")
    run(other, "UPDATE item SET n = n + 1 WHERE n > 39")  # no key, so that it waits for none
    finished = in_background(other, sql)
    run(one, "COMMIT")
    assert finished() == ()
    assert run(one, "SELECT n FROM item WHERE id = 4") == (((41,),) if sql.startswith("UPDATE") else ())


def test_a_duplicate_key_waits_for_a_transaction_on_that_key_alone(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "DELETE FROM item WHERE id = 1")
    assert fails(other, "INSERT INTO item VALUES (2, 21)") == 1062
    run(other, "INSERT IGNORE INTO item VALUES (3, 31)")
    finished = in_background(other, "INSERT IGNORE INTO item VALUES (1, 11), (3, 31)")
    run(one, "COMMIT")
    assert finished() == ()
    assert run(one, "SELECT * FROM item ORDER BY id") == ((1, 11), (2, 20), (3, 30))


@pytest.mark.parametrize("sql", ["INSERT INTO part VALUES (3, 4)", "DELETE FROM item WHERE id = 1"])
def test_a_foreign_key_waits_for_a_transaction_on_that_key_alone(two: tuple[Client, Client], sql: str) -> None:
    one, other = two
    run(one, "CREATE TABLE part (id INT PRIMARY KEY, item INT, FOREIGN KEY (item) REFERENCES item (id))")
    run(one, "INSERT INTO part VALUES (1, 1), (2, 2)")
    run(one, "BEGIN")
    run(one, "INSERT INTO item VALUES (4, 40)")
    run(one, "DELETE FROM part WHERE id = 1")
    assert fails(other, "INSERT INTO part VALUES (3, 5)") == 1452
    assert fails(other, "DELETE FROM item WHERE id = 2") == 1451
    finished = in_background(other, sql)
    run(one, "COMMIT")
    assert finished() == ()


def test_a_rollback_lets_the_waiting_writer_go_on(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "INSERT INTO item VALUES (4, 40)")
    finished = in_background(other, "INSERT INTO item VALUES (4, 41)")
    run(one, "ROLLBACK")
    assert finished() == ()
    assert str(run(one, "SELECT n FROM item WHERE id = 4")[0][0]) == "41"


def test_a_wait_ends_after_innodb_lock_wait_timeout(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "UPDATE item SET n = 11 WHERE id = 1")
    run(other, "SET innodb_lock_wait_timeout = 1")
    run(other, "BEGIN")
    run(other, "UPDATE item SET n = 21 WHERE id = 2")
    began = time.monotonic()
    assert fails(other, "UPDATE item SET n = 12 WHERE id = 1") == 1205
    assert 0.9 < time.monotonic() - began < 5
    run(other, "COMMIT")
    run(one, "COMMIT")
    assert [str(n) for (n,) in run(other, "SELECT n FROM item ORDER BY id")] == ["11", "21", "30"]


def test_a_deadlock_rolls_the_second_transaction_back(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(other, "BEGIN")
    run(one, "UPDATE item SET n = 11 WHERE id = 1")
    run(other, "UPDATE item SET n = 21 WHERE id = 2")
    finished = in_background(one, "UPDATE item SET n = 22 WHERE id = 2")
    assert fails(other, "UPDATE item SET n = 12 WHERE id = 1") == 1213
    assert finished() == ()
    run(one, "COMMIT")
    assert [str(n) for (n,) in run(other, "SELECT n FROM item ORDER BY id")] == ["11", "22", "30"]


def test_select_for_update_locks_its_rows(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "SELECT * FROM item WHERE id = 1 FOR UPDATE")
    run(other, "BEGIN")
    assert fails(other, "SELECT * FROM item WHERE n = 10 FOR UPDATE NOWAIT") == 3572
    run(other, "SELECT * FROM item WHERE id = 2 FOR UPDATE")
    finished = in_background(other, "UPDATE item SET n = n + 1 WHERE id = 1")
    run(one, "COMMIT")
    assert finished() == ()
    run(other, "COMMIT")


def test_a_parent_is_not_deleted_while_a_child_is_inserted(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "CREATE TABLE part (id INT PRIMARY KEY, item INT, FOREIGN KEY (item) REFERENCES item (id))")
    run(one, "BEGIN")
    run(one, "INSERT INTO part VALUES (1, 1)")
    finished = in_background(other, "DELETE FROM item WHERE id = 1")
    run(one, "COMMIT")
    assert finished() == 1451


def test_ddl_waits_for_transactions_on_its_table(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "UPDATE item SET n = 11 WHERE id = 1")
    finished = in_background(other, "ALTER TABLE item ADD COLUMN s VARCHAR(5) DEFAULT 'x'")
    run(one, "COMMIT")
    assert finished() == ()
    assert run(one, "SELECT s FROM item WHERE id = 1") == (("x",),)


def test_commits_have_the_order_of_their_commit_ts(two: tuple[Client, Client], ticdc_server: ServedDatabase) -> None:
    one, other = two
    ticdc_server.messages()
    run(one, "BEGIN")
    run(one, "INSERT INTO item VALUES (4, 40)")
    run(other, "INSERT INTO item VALUES (5, 50)")
    run(one, "COMMIT")
    first, second = (event for event in ticdc_server.events() if isinstance(event, RowEvent))
    assert [str(row["n"]) for row in ticdc_server.rows("item")][3:] == ["40", "50"]
    assert "5" in str(first.after) and "4" in str(second.after)
    assert first.commit_ts is not None and second.commit_ts is not None and first.commit_ts < second.commit_ts


def test_savepoints_survive_the_commits_of_others(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "UPDATE item SET n = 11 WHERE id = 1")
    run(one, "SAVEPOINT here")
    run(one, "UPDATE item SET n = 21 WHERE id = 2")
    run(other, "UPDATE item SET n = 31 WHERE id = 3")
    run(one, "INSERT INTO item VALUES (4, 40)")
    run(one, "ROLLBACK TO here")
    run(one, "COMMIT")
    assert [str(n) for (n,) in run(other, "SELECT n FROM item ORDER BY id")] == ["11", "20", "31"]


def test_generated_ids_are_not_given_twice(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "CREATE TABLE note (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(5))")
    run(one, "BEGIN")
    run(one, "INSERT INTO note (s) VALUES ('a')")
    run(other, "INSERT INTO note (s) VALUES ('b')")
    run(one, "ROLLBACK")
    run(one, "INSERT INTO note (s) VALUES ('c')")
    assert [(str(id), s) for id, s in run(other, "SELECT * FROM note ORDER BY id")] == [("2", "b"), ("3", "c")]


def test_an_id_that_an_update_sets_is_counted(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "CREATE TABLE note (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(5))")
    run(one, "INSERT INTO note (s) VALUES ('a')")
    run(other, "UPDATE note SET id = 1000")
    run(one, "INSERT INTO note (s) VALUES ('b')")
    with one.cursor() as cursor:
        cursor.execute("INSERT INTO note VALUES (-5, 'c')")
        assert cursor.lastrowid == 2**64 - 5
    assert run(one, "SELECT * FROM note ORDER BY id") == ((-5, "c"), (1000, "a"), (1001, "b"))


def test_a_client_that_is_gone_leaves_nothing(two: tuple[Client, Client]) -> None:
    one, other = two
    run(one, "BEGIN")
    run(one, "UPDATE item SET n = 11 WHERE id = 1")
    finished = in_background(other, "UPDATE item SET n = n + 5 WHERE id = 1")
    one._sock.close()
    one._force_close()
    assert finished() == ()
    assert str(run(other, "SELECT n FROM item WHERE id = 1")[0][0]) == "15"


def test_tidb_snapshot_reads_earlier_rows(two: tuple[Client, Client]) -> None:
    one, other = two
    (before,) = run(one, "SELECT n FROM item WHERE id = 1")[0]
    run(other, "BEGIN")
    ((ts,),) = run(other, "SELECT @@tidb_current_ts")
    run(other, "ROLLBACK")
    run(one, "UPDATE item SET n = 99 WHERE id = 1")
    run(other, f"SET @@tidb_snapshot = '{ts}'")
    assert run(other, "SELECT n FROM item WHERE id = 1") == ((before,),)
    assert fails(other, "DELETE FROM item") == 1105
    run(other, "SET @@tidb_snapshot = ''")
    assert str(run(other, "SELECT n FROM item WHERE id = 1")[0][0]) == "99"


def test_set_global_is_for_sessions_that_begin_later(two: tuple[Client, Client], connect: Connect) -> None:
    one, other = two
    run(
        one, "SET GLOBAL innodb_lock_wait_timeout = 7, GLOBAL sql_mode = 'ANSI_QUOTES', GLOBAL tidb_gc_life_time = '1h'"
    )
    query = "SELECT @@innodb_lock_wait_timeout, @@global.innodb_lock_wait_timeout, @@sql_mode, @@tidb_gc_life_time"
    later = connect()
    try:
        assert [run(client, query)[0][::3] for client in (one, other)] == [(50, "1h")] * 2
        assert run(later, query) == ((7, 7, "ANSI_QUOTES", "1h"),)
        assert run(other, "SHOW GLOBAL VARIABLES LIKE 'innodb_lock_wait%'") == (("innodb_lock_wait_timeout", "7"),)
        assert run(later, 'SELECT "n" FROM item WHERE "id" = 1') == ((10,),)
        assert fails(one, "SET GLOBAL innodb_lock_wait_timeout = 'x'") == 1232
    finally:
        names = ("innodb_lock_wait_timeout", "sql_mode", "tidb_gc_life_time")
        run(one, "SET " + ", ".join(f"GLOBAL {name} = DEFAULT" for name in names))
    assert run(other, "SELECT @@global.innodb_lock_wait_timeout, @@tidb_gc_life_time") == ((50, "10m0s"),)
