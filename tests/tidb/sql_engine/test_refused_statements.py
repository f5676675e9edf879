"""Side effects of refused statements: the transaction that DDL commits, and ids that are used up."""

from __future__ import annotations

import pytest
from support.upstreams import played, refusal, rows_in

from simulator.errors import SqlError
from simulator.tidb.sql_engine.errors import error_number
from simulator.tidb.sql_engine.storage.auto_ids import auto_allocator
from simulator.tidb.sql_engine.storage.state import CommittedTransaction


def test_refused_ddl_commits_the_open_transaction() -> None:
    before = played("CREATE TABLE t (a INT PRIMARY KEY); BEGIN; INSERT INTO t VALUES (1)").upstream
    refused = refusal("CREATE TABLE t (a INT)", before)
    assert [type(event) for event in refused.events] == [CommittedTransaction] and refused.upstream.transaction is None
    assert rows_in(played("ROLLBACK", refused.upstream).upstream, "t") == [("1",)]


@pytest.mark.parametrize(
    "table",
    [
        "a INT AUTO_INCREMENT PRIMARY KEY, b INT UNIQUE",
        "a INT AUTO_INCREMENT KEY, b INT, UNIQUE (b)",
        "b INT UNIQUE, a BIGINT AUTO_RANDOM PRIMARY KEY",
    ],
)
def test_an_insert_of_a_duplicate_key_uses_up_its_ids(table: str) -> None:
    before = played(f"CREATE TABLE t ({table}); INSERT INTO t (b) VALUES (1)").upstream
    behind = refusal("INSERT INTO t (b) VALUES (2), (3), (1)", before).upstream
    assert [auto_allocator(row.table, row.counters).base for row in behind.rows.values()] == [4]


def test_an_insert_of_a_duplicate_key_uses_up_row_ids() -> None:
    before = played("CREATE TABLE t (b INT UNIQUE); INSERT INTO t VALUES (1)").upstream
    behind = played("INSERT INTO t VALUES (2)", refusal("INSERT INTO t VALUES (2), (1)", before).upstream).upstream
    assert [row.row_ids.to_pylist() for row in behind.rows.values()] == [[1, 4]]


def test_an_insert_of_unfit_values_uses_up_no_ids() -> None:
    before = played("CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b TINYINT)").upstream
    behind = played("INSERT INTO t (b) VALUES (1)", refusal("INSERT INTO t (b) VALUES (1), (999)", before).upstream)
    assert rows_in(behind.upstream, "t") == [("1", "1")]


def test_ids_of_a_refused_insert_stay_used_up_after_rollback() -> None:
    before = played("CREATE TABLE t (a INT AUTO_INCREMENT KEY, b INT UNIQUE); INSERT INTO t VALUES (1, 1); BEGIN")
    behind = refusal("INSERT INTO t (b) VALUES (1)", before.upstream).upstream
    assert behind.transaction is not None
    after = played("ROLLBACK; INSERT INTO t (b) VALUES (2)", behind).upstream
    assert rows_in(after, "t") == [("1", "1"), ("3", "2")]


def test_a_foreign_key_is_not_added_if_rows_have_no_parent() -> None:
    tables = "CREATE TABLE p (a INT PRIMARY KEY); CREATE TABLE c (a INT PRIMARY KEY, b INT); INSERT INTO p VALUES (1);"
    before = played(tables + "INSERT INTO c VALUES (1, 1), (2, NULL), (3, 7)").upstream
    add = "ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (b) REFERENCES p (a)"
    assert error_number(refusal(add, before).error) == 1452
    assert played(f"DELETE FROM c WHERE a = 3; {add}", before).events
    assert played(f"SET foreign_key_checks = 0; {add}", before).events


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE TABLE u (a INT) PARTITION BY RANGE (a)", 1492),
        ("CREATE TABLE u (a CHAR(3)) CHARSET nope", 1115),
        ("CREATE TABLE u (a CHAR(3)) COLLATE nope", 1273),
        ("CREATE TABLE u (a CHAR(3) CHARSET nope)", 1115),
        ("CREATE TABLE u (a INT", 1064),
    ],
)
def test_an_error_of_the_parser_has_a_number(text: str, number: int) -> None:
    with pytest.raises(SqlError) as refused:
        played(text)
    assert error_number(refused.value) == number
