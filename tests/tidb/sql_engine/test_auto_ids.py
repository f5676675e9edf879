"""The ids that statements use up, and the next ids of tables (tidb pkg/meta/autoid/autoid.go)."""

from __future__ import annotations

import pytest
from support.upstreams import played, refusal, rows_in

from simulator.errors import SqlError
from simulator.releases import find
from simulator.tidb.sql_engine.execute import new_upstream
from simulator.tidb.sql_engine.storage.allocators import Allocator
from simulator.tidb.sql_engine.storage.state import StatementOutcome

AUTO = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE)"


def ids(*texts: str, table: str = AUTO) -> list[str | None]:
    """Return the ids of rows after statements, refused ones included."""
    upstream = played(table).upstream
    for text in texts:
        try:
            upstream = played(text, upstream).upstream
        except SqlError:
            upstream = refusal(text, upstream).upstream
    return [row[0] for row in rows_in(upstream, "t")]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (
            ["INSERT INTO t (u) VALUES (1), (2)", "INSERT INTO t (u) VALUES (3), (1)", "INSERT INTO t (u) VALUES (4)"],
            ["1", "2", "5"],
        ),
        (
            [
                "INSERT INTO t (u) VALUES (1)",
                "INSERT IGNORE INTO t (u) VALUES (1), (2)",
                "INSERT INTO t (u) VALUES (3)",
            ],
            ["1", "3", "4"],
        ),
        (
            [
                "INSERT INTO t (u) VALUES (1)",
                "INSERT INTO t (u) VALUES (1) ON DUPLICATE KEY UPDATE id = 50",
                "INSERT INTO t (u) VALUES (2)",
            ],
            ["50", "51"],
        ),
        (["INSERT INTO t (u) VALUES (1)", "UPDATE t SET id = 70", "INSERT INTO t (u) VALUES (2)"], ["70", "71"]),
        (
            ["INSERT INTO t (u) VALUES (1)", "ALTER TABLE t AUTO_INCREMENT = 5", "INSERT INTO t (u) VALUES (2)"],
            ["1", "30001"],
        ),
        (
            ["INSERT INTO t (u) VALUES (1)", "ALTER TABLE t FORCE AUTO_INCREMENT = 5", "INSERT INTO t (u) VALUES (2)"],
            ["1", "5"],
        ),
        (["ALTER TABLE t AUTO_INCREMENT = 100", "TRUNCATE TABLE t", "INSERT INTO t (u) VALUES (2)"], ["1"]),
        (
            [
                "SET auto_increment_increment = 10, auto_increment_offset = 7",
                "INSERT INTO t (u) VALUES (1), (2)",
                "INSERT INTO t (u) VALUES (3)",
            ],
            ["7", "17", "27"],
        ),
    ],
)
def test_auto_increment_goes_on(statements: list[str], expected: list[str]) -> None:
    assert ids(*statements) == expected


@pytest.mark.parametrize(
    ("type", "value", "number", "text"),
    [
        ("TINYINT", "127", 1690, "constant 128 overflows tinyint"),
        ("SMALLINT UNSIGNED", "65535", 1690, "constant 65536 overflows smallint"),
        ("BIGINT", "9223372036854775806", 1467, "Failed to read auto-increment value from storage engine"),
        ("BIGINT UNSIGNED", "18446744073709551614", 1467, "Failed to read auto-increment value from storage engine"),
        ("DOUBLE", "1e18", 1062, "Duplicate entry '1000000000000000000' for key 't.PRIMARY'"),
    ],
)
def test_auto_increment_ends_with_its_type(type: str, value: str, number: int, text: str) -> None:
    table = played(f"CREATE TABLE t (id {type} AUTO_INCREMENT PRIMARY KEY, u INT)").upstream

    error = refusal("INSERT INTO t (u) VALUES (2)", played(f"INSERT INTO t VALUES ({value}, 1)", table).upstream).error

    assert isinstance(error, SqlError) and (error.number, error.text) == (number, text)


def test_ignore_assigns_0_if_no_ids_are_left() -> None:
    table = "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, u INT)"

    assert ids("INSERT INTO t VALUES (9223372036854775807, 1)", "INSERT IGNORE INTO t (u) VALUES (2)", table=table) == [
        "0",
        "9223372036854775807",
    ]


def row_ids(outcome: StatementOutcome) -> list[int]:
    found: list[int] = outcome.upstream.rows["test", "t"].row_ids.to_pylist()
    return found


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("REPLACE INTO t VALUES (1, 1), (1, 2), (2, 1); INSERT INTO t VALUES (3, 3)", [2, 3, 4]),
        ("INSERT IGNORE INTO t VALUES (1, 9), (2, 2), (2, 3), (3, 3)", [1, 2, 3]),
        ("INSERT INTO t VALUES (1, 9), (2, 2) ON DUPLICATE KEY UPDATE b = 7; INSERT INTO t VALUES (3, 3)", [1, 2, 3]),
        ("REPLACE INTO t VALUES (1, 1), (2, 2)", [1, 2]),
    ],
)
def test_each_inserted_row_uses_up_a_row_id(statements: str, expected: list[int]) -> None:
    """pkg/executor/replace.go, insert.go: one id for each inserted row."""
    table = played("CREATE TABLE t (a INT UNIQUE, b INT); INSERT INTO t VALUES (1, 1)").upstream

    assert row_ids(played(statements, table)) == expected


def test_a_row_that_moves_to_another_partition_has_a_new_row_id() -> None:
    """pkg/table/tables/partition.go, partitionedTableUpdateRecord."""
    table = played(
        "CREATE TABLE t (a INT, b INT) PARTITION BY HASH (a) PARTITIONS 2;INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"
    ).upstream

    assert row_ids(played("UPDATE t SET a = a + 1 WHERE b < 3", table)) == [5, 3, 4]


@pytest.mark.parametrize(("release", "expected"), [("v7.5.7", 30001), ("v8.0.0", 2)])
def test_up_to_7_5_a_renamed_table_loses_its_cached_ids(release: str, expected: int) -> None:
    upstream = new_upstream(find(release))

    found = played(
        "USE test; CREATE TABLE o (a INT); INSERT INTO o VALUES (1); RENAME TABLE o TO t;INSERT INTO t VALUES (2)",
        upstream,
    )

    assert row_ids(found) == [1, expected]


def test_an_allocator_loses_its_cache_if_more_ids_are_requested() -> None:
    _, held = Allocator().allocate(1)

    first, held = held.advance_past(29_999).allocate(3)

    assert (first, held.base, held.end) == (30_001, 30_003, 60_000)
    assert held.restarted().allocate(1)[0] == 60_001
    assert Allocator().advance_past(-5) == Allocator()
