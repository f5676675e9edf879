"""DELETE from one table and from several."""

from __future__ import annotations

import re

import pytest
from support.upstreams import changes, played

from simulator.errors import SqlError

ITEMS = played("""
    CREATE TABLE t (id INT PRIMARY KEY, a INT);
    INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
    CREATE TABLE heap (a INT);
    INSERT INTO heap VALUES (1), (1), (2);
    CREATE TABLE parted (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a) (
        PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
    INSERT INTO parted VALUES (1, 1), (11, 1), (12, 2);
    CREATE VIEW view1 AS SELECT 1;
""").upstream


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DELETE FROM t WHERE a > 10", ["-t 2,20", "-t 3,30"]),
        ("DELETE FROM t ORDER BY id DESC LIMIT 1", ["-t 3,30"]),
        ("DELETE FROM heap WHERE a = 1 LIMIT 1", ["-heap 1"]),
        ("DELETE FROM parted PARTITION (p1) WHERE b = 1", ["-parted/1 11,1"]),
        ("DELETE t FROM t, heap WHERE t.id = heap.a", ["-t 1,10", "-t 2,20"]),
        ("DELETE FROM t, heap USING t JOIN heap ON t.id = heap.a WHERE t.id = 2", ["-t 2,20", "-heap 2"]),
        ("DELETE x FROM t AS x LEFT JOIN heap ON x.id = heap.a WHERE heap.a IS NULL", ["-t 3,30"]),
        ("DELETE heap FROM t LEFT JOIN heap ON t.id = heap.a", ["-heap 1", "-heap 1", "-heap 2"]),
    ],
)
def test_each_row_is_deleted_once(text: str, expected: list[str]) -> None:
    outcome = played(text, ITEMS)

    assert (changes(outcome), outcome.affected) == ([expected], len(expected))


def test_a_delete_without_rows_commits_nothing() -> None:
    assert played("DELETE FROM t WHERE id = 9", ITEMS).events == ()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("DELETE FROM no", "1146 (42S02): Table 'test.no' doesn't exist"),
        ("DELETE no FROM t", "1109 (42S02): Unknown table 'no' in MULTI DELETE"),
        ("DELETE FROM view1", "1105 (HY000): delete view view1 is not supported now"),
        ("DELETE FROM t PARTITION (p0)", "1747 (HY000): PARTITION () clause on non partitioned table"),
    ],
)
def test_a_refused_statement_has_tidbs_error(text: str, error: str) -> None:
    with pytest.raises(SqlError, match=f"^{re.escape(f'ERROR {error}')}$"):
        played(text, ITEMS)
