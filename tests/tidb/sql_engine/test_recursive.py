"""WITH RECURSIVE, measured on tidb v8.0."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SqlError

TREE = """
    CREATE DATABASE d; USE d; CREATE TABLE e (id INT PRIMARY KEY, name VARCHAR(4), boss INT);
    INSERT INTO e VALUES (1, 'root', NULL), (2, 'a', 1), (3, 'b', 1), (4, 'aa', 2)
"""


def rows(with_: str, query: str = "SELECT * FROM c", settings: str = "") -> list[tuple[str | bytes | None, ...]]:
    ticdc = TiCDC()
    ticdc.execute(f"{TREE}; {settings}")
    return list(ticdc.execute(f"WITH RECURSIVE {with_} {query}").rows)


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 4)", "1 2 3 4"),
        ("c (n) AS (SELECT 1 UNION SELECT (n + 1) % 3 FROM c)", "1 2 0"),
        ("c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c LIMIT 2, 3)", "3 4 5"),
        ("c AS (SELECT 1 AS n UNION ALL SELECT 5 UNION ALL SELECT n + 1 FROM c WHERE n < 3)", "1 5 2 3"),
        (
            "c AS (SELECT 1 AS n UNION ALL SELECT n + 10 FROM c WHERE n < 2 UNION ALL SELECT n + 20 FROM c WHERE n < 2)",
            "1 11 21",
        ),
        (
            "c AS (SELECT id AS n FROM e WHERE boss IS NULL UNION ALL SELECT e.id FROM c JOIN e ON e.boss = c.n)",
            "1 2 3 4",
        ),
        ("c AS (SELECT id AS n FROM e WHERE id > 9 UNION ALL SELECT n + 1 FROM c)", ""),
        ("c AS (SELECT 1 AS n)", "1"),
    ],
)
def test_each_level_is_computed_from_the_level_before(table: str, found: str) -> None:
    assert " ".join(str(row[0]) for row in rows(table)) == found


@pytest.mark.parametrize(
    ("seed", "step", "found"),
    [
        ("1", "n + 0.5 FROM c WHERE n < 3", ["1", "2", "3"]),
        ("1.0", "n + 0.5 FROM c WHERE n < 2", ["1.0", "1.5", "2.0"]),
        ("1e0", "n / 2 FROM c WHERE n > 0.3", ["1", "0.5", "0.25"]),
        ("'a'", "CONCAT(n, 'b') FROM c LIMIT 2", ["a", "a"]),
        ("CAST('a' AS CHAR(2))", "CONCAT(n, 'b') FROM c LIMIT 3", ["a", "ab", "ab"]),
        ("NULL", "1 FROM c LIMIT 2", [None, None]),
        ("DATE('2020-02-28')", "n + INTERVAL 1 DAY FROM c LIMIT 3", ["2020-02-28", "2020-02-29", "2020-03-01"]),
    ],
)
def test_columns_have_the_types_of_the_seed(seed: str, step: str, found: list[str | None]) -> None:
    assert [row[0] for row in rows(f"c AS (SELECT {seed} AS n UNION ALL SELECT {step})")] == found


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("SELECT n + 1 AS n FROM c", 3573),
        ("SELECT n FROM c UNION ALL SELECT 1", 3574),
        ("SELECT 1 AS n UNION ALL SELECT MAX(n) FROM c", 3575),
        ("SELECT 1 AS n UNION ALL SELECT n FROM c GROUP BY n", 3575),
        ("SELECT 1 AS n UNION ALL SELECT ROW_NUMBER() OVER () FROM c", 3575),
        ("SELECT 1 AS n UNION ALL SELECT e.id FROM e LEFT JOIN c ON c.n = e.id", 3576),
        ("SELECT 1 AS n UNION ALL SELECT x.n FROM c x, c y", 3577),
        ("SELECT 1 AS n UNION ALL SELECT n FROM c WHERE n < (SELECT MAX(n) FROM c)", 3577),
        ("SELECT 1 AS n UNION ALL SELECT n FROM (SELECT * FROM c) x", 3577),
        ("SELECT 1 AS n UNION ALL SELECT DISTINCT n FROM c", 1235),
        ("SELECT 1 AS n UNION ALL SELECT n FROM c ORDER BY n", 1235),
        ("SELECT 1 AS n EXCEPT SELECT n FROM c", 1235),
        ("SELECT 1 AS n UNION ALL SELECT n, n FROM c", 1222),
    ],
)
def test_a_recursion_that_tidb_does_not_accept_is_refused(query: str, number: int) -> None:
    with pytest.raises(SqlError) as raised:
        rows(f"c AS ({query})")
    assert raised.value.number == number


@pytest.mark.parametrize(("most", "last", "number"), [(3, 3, 0), (3, 4, 3636), (0, 1, 3636)])
def test_no_more_levels_than_the_session_allows(most: int, last: int, number: int) -> None:
    table = f"c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < {last})"
    if not number:
        assert len(rows(table, settings=f"SET cte_max_recursion_depth = {most}")) == last
        return
    with pytest.raises(SqlError, match=f"aborted after {most + 1} iterations") as raised:
        rows(table, settings=f"SET cte_max_recursion_depth = {most}")
    assert raised.value.number == number


def test_a_recursive_query_can_provide_rows_to_insert() -> None:
    ticdc = TiCDC()
    ticdc.execute(TREE)
    numbers = "WITH RECURSIVE c AS (SELECT 5 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 7)"
    ticdc.execute(f"INSERT INTO e (id) {numbers} SELECT n FROM c")
    ticdc.execute(f"{numbers} DELETE FROM e WHERE id IN (SELECT n FROM c WHERE n > 5)")
    ticdc.execute(f"{numbers} UPDATE e, c SET e.name = 'new' WHERE e.id = c.n")
    assert ticdc.rows("d.e")[-1] == {"id": 5, "name": "new", "boss": None}
