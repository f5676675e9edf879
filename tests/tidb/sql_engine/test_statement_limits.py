"""TiDB's limits of a statement: the size of a text, of a row, and of what a query holds."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SimulatorError
from simulator.tidb.expressions.sql import evaluate

PACKET = "was larger than max_allowed_packet (67108864) - truncated"

TOO_LONG = {
    "repeat": "REPEAT('a', 4000000000)",
    "space": "SPACE(4000000000)",
    "lpad": "LPAD('a', 4000000000, 'b')",
    "rpad": "RPAD('a', 16777217, 'b')",
    "concat": "CONCAT(REPEAT('a', 40000000), REPEAT('a', 40000000))",
    "concat_ws": "CONCAT_WS(',', REPEAT('a', 40000000), REPEAT('a', 40000000))",
    "replace": "REPLACE(REPEAT('a', 100000), 'a', REPEAT('b', 1000))",
    "cast_as_binary": "CAST('a' AS BINARY(4000000000))",
}


@pytest.fixture
def tidb() -> TiCDC:
    ticdc = TiCDC()
    ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY, b LONGTEXT); INSERT INTO t VALUES (1, REPEAT('a', 4000000))")
    return ticdc


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_text_above_max_allowed_packet_is_an_error_where_rows_are_written(tidb: TiCDC, name: str) -> None:
    with pytest.raises(SimulatorError, match=rf"ERROR 1301 \(HY000\): Result of {name}\(\) was larger"):
        tidb.execute(f"UPDATE t SET b = {TOO_LONG[name]}")


def test_it_is_null_with_ignore(tidb: TiCDC) -> None:
    tidb.execute(f"INSERT IGNORE INTO t VALUES (2, {TOO_LONG['repeat']})")
    assert tidb.rows("test.t")[1] == {"id": 2, "b": None}


def test_a_row_above_txn_entry_size_limit_is_refused(tidb: TiCDC) -> None:
    with pytest.raises(SimulatorError, match=r"ERROR 8025 .*entry too large, the max entry size is 6291456"):
        tidb.execute("UPDATE t SET b = CONCAT(b, b)")
    with pytest.raises(SimulatorError, match="ERROR 8025"):
        tidb.execute("INSERT INTO t VALUES (2, REPEAT('a', 7000000))")


def test_rows_above_tidb_mem_quota_query_end_a_statement(tidb: TiCDC, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "MEMORY", 1 << 20)
    tidb.execute(f"CREATE TABLE n (id INT PRIMARY KEY); INSERT INTO n VALUES {', '.join(f'({n})' for n in range(400))}")
    with pytest.raises(SimulatorError, match=r"ERROR 8175 .*exceeding the allowed memory limit"):
        tidb.execute("INSERT INTO t SELECT a.id * 1000 + b.id, 'x' FROM n a, n b WHERE a.id + b.id >= 0")


def test_a_recursive_query_has_a_depth(tidb: TiCDC) -> None:
    with pytest.raises(SimulatorError, match="ERROR 3636"):
        tidb.execute(
            "SET cte_max_recursion_depth = 5; INSERT INTO t WITH RECURSIVE c AS (SELECT 1 n UNION ALL SELECT n + 1 FROM c)"
            " SELECT n + 5, 'x' FROM c"
        )
