"""Plans that are kept: a query by an integer key gives the rows of one that is planned anew, whatever came between."""

from __future__ import annotations

import pytest
from support.upstreams import in_test, played

from simulator.errors import DdlError, SqlError
from simulator.tidb.engine import queries
from simulator.tidb.engine.execution import Upstream

BETWEEN = """
    CREATE TABLE t (id BIGINT PRIMARY KEY, a INT, at TIMESTAMP, bits BIT(8), v INT AS (a / 3) VIRTUAL, j JSON)
    INSERT INTO t (id, a, at, bits, j) VALUES (5, 1, '2024-01-01', 5, '{"b": 1, "a": 2}'), (7, NULL, NULL, 0, NULL)
    SET time_zone = '+05:00'
    SET div_precision_increment = 1
    ALTER TABLE t ADD b INT DEFAULT 3
    ALTER TABLE t RENAME COLUMN at TO c
    UPDATE t SET b = b + 1
    BEGIN
    INSERT INTO t (id) VALUES (6)
    DELETE FROM t WHERE id = 5
    ROLLBACK
    TRUNCATE TABLE t
    INSERT INTO t (id) VALUES (5), (18)
    CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, mine TEXT)
    INSERT INTO t VALUES (5, 'mine')
    DROP TABLE t
    CREATE DATABASE other
    USE other
    CREATE TABLE t (x INT, id INT PRIMARY KEY NONCLUSTERED)
    INSERT INTO t VALUES (1, 5), (2, 7)
    ALTER TABLE t DROP PRIMARY KEY
    USE test
    RENAME TABLE t TO gone
    CREATE VIEW t AS SELECT id, c FROM gone
    DROP VIEW t
    CREATE TABLE t (a INT, id INT UNSIGNED AUTO_INCREMENT, PRIMARY KEY (id) CLUSTERED) PARTITION BY HASH (id) PARTITIONS 2
    INSERT INTO t VALUES (1, 5), (2, 7)
    ALTER TABLE t TRUNCATE PARTITION p1
    SET sql_select_limit = 0
    SET sql_select_limit = DEFAULT
"""


def answer(query: str, upstream: Upstream) -> object:
    try:
        result = played(query, upstream).result
    except (SqlError, DdlError) as error:
        return str(error)
    assert result is not None
    return result.rows, result.columns


@pytest.mark.parametrize("query", ["SELECT * FROM t WHERE {} = {}", "SELECT id, t.* FROM test.t AS t WHERE t.{} = {}"])
def test_a_kept_plan_reads_what_a_new_one_reads(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = in_test()
    for statement in BETWEEN.strip().splitlines():
        upstream = played(statement, upstream).upstream
        for number in (5, 7, 6, 18446744073709551615, -1):
            kept = answer(query.format("id", number), upstream)
            with monkeypatch.context() as patched:
                patched.setattr(queries, "DIGITS", 0)
                assert answer(query.format("id", number), upstream) == kept, statement


def test_a_plan_is_kept() -> None:
    upstream = played("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2)").upstream
    table = upstream.catalog.tables["test", "t"]
    counts = []
    for number in range(9):
        played(f"SELECT id FROM t WHERE id = {number}", upstream)
        counts.append(len(queries._kept_plans(table)))
    assert 0 < counts[2] == counts[-1]
