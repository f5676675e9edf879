"""TiDB's limits of a statement: the size of a text, of a row, and of what a query holds."""

from __future__ import annotations

import gc

import pytest
from support.upstreams import cases, played, refused, rows_in

from simulator.tidb.engine import context

TABLE = played(
    "CREATE TABLE t (id INT PRIMARY KEY, b LONGTEXT); INSERT INTO t VALUES (1, REPEAT('a', 4000000))"
).upstream

TOO_LONG = cases("""
    repeat => REPEAT('a', 4000000000)
    space => SPACE(4000000000)
    lpad => LPAD('a', 4000000000, 'b')
    rpad => RPAD('a', 16777217, 'b')
    concat => CONCAT(REPEAT('a', 40000000), REPEAT('a', 40000000))
    concat_ws => CONCAT_WS(',', REPEAT('a', 40000000), REPEAT('a', 40000000))
    replace => REPLACE(REPEAT('a', 100000), 'a', REPEAT('b', 1000))
    cast_as_binary => CAST('a' AS BINARY(4000000000))
""")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "expression"), TOO_LONG)
def test_a_text_above_max_allowed_packet_is_an_error_where_rows_are_written(name: str, expression: str) -> None:
    error = f"1301 Result of {name}() was larger than max_allowed_packet (67108864) - truncated"
    assert refused(f"UPDATE t SET b = {expression}", TABLE) == error


def test_it_is_null_with_ignore() -> None:
    upstream = played("INSERT IGNORE INTO t VALUES (2, REPEAT('a', 4000000000))", TABLE).upstream
    assert rows_in(upstream, "t")[1] == ("2", None)


def test_a_row_above_txn_entry_size_limit_is_refused() -> None:
    error = refused("UPDATE t SET b = CONCAT(b, b)", TABLE)
    assert error.startswith("8025 entry too large, the max entry size is 6291456")
    assert refused("INSERT INTO t VALUES (2, REPEAT('a', 7000000))", TABLE).startswith("8025 ")


def test_rows_above_tidb_mem_quota_query_end_a_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MEMORY", 1 << 20)
    numbers = ", ".join(f"({number})" for number in range(400))
    error = refused(
        f"""CREATE TABLE n (id INT PRIMARY KEY); INSERT INTO n VALUES {numbers};
        INSERT INTO t SELECT a.id * 1000 + b.id, 'x' FROM n a, n b WHERE a.id + b.id >= 0""",
        TABLE,
    )
    assert error.startswith("8175 ") and "exceeding the allowed memory limit" in error


SMALL = cases("""
    INSERT INTO t VALUES (7, 'a')
    INSERT INTO t VALUES (7 + 1, DEFAULT), (9, b)
    REPLACE INTO t VALUES (1, 'b')
    INSERT INTO t VALUES (1, 'c') ON DUPLICATE KEY UPDATE b = VALUES(b)
    UPDATE t SET b = CONCAT(id, 'd') WHERE id = 1
    DELETE FROM t WHERE id = 1
    SELECT id FROM t WHERE id = 1
""")


@pytest.mark.parametrize("statement", [case[0] for case in SMALL])
def test_what_a_small_statement_holds_is_freed_without_garbage_collection(statement: str) -> None:
    """Circles of references in each INSERT took a quarter of the time of 100,000 of them."""
    upstream = played("SELECT 1", TABLE).upstream
    played(statement, upstream)
    upstream = played("SELECT 1", TABLE).upstream
    gc.collect()
    gc.disable()
    try:
        played(statement, upstream)
        assert gc.collect() == 0
    finally:
        gc.enable()
