"""Window functions and PARTITION (…) of a SELECT, measured on TiDB v8.0."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SqlError


@pytest.fixture(scope="module")
def ticdc() -> TiCDC:
    found = TiCDC("v8.0.0", databases=["test"])
    found.execute("""
        CREATE TABLE test.w (id INT PRIMARY KEY, g VARCHAR(5), a INT, d DECIMAL(8,2));
        INSERT INTO test.w VALUES (1,'x',10,1.50),(2,'x',10,2.25),(3,'y',5,NULL),(4,'y',7,3.00),(5,'x',NULL,4.10);
        CREATE TABLE test.p (a INT PRIMARY KEY) PARTITION BY RANGE (a) (
            PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
        INSERT INTO test.p VALUES (1), (11), (12)""")
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("row_number() over (partition by g order by id desc)", ("3", "2", "2", "1", "1")),
        ("rank() over (order by a)", ("4", "4", "2", "3", "1")),
        ("dense_rank() over (order by a desc)", ("1", "1", "3", "2", "4")),
        ("lag(a, 1, -1) over (order by id)", ("-1", "10", "10", "5", "7")),
        ("lead(d) over (order by id)", ("2.25", None, "3.00", "4.10", None)),
        ("first_value(d) over (partition by g order by id)", ("1.50", "1.50", None, None, "1.50")),
        ("nth_value(id, 2) over (order by id)", (None, "2", "2", "2", "2")),
        ("ntile(2) over (order by id)", ("1", "1", "1", "2", "2")),
        ("sum(a) over (order by id rows between 1 preceding and 1 following)", ("20", "25", "22", "12", "7")),
        ("count(*) over w", ("3", "3", "2", "2", "3")),
        ("max(d) over (w order by id)", ("1.50", "2.25", None, "3.00", "4.10")),
    ],
)
def test_a_window_function_sees_the_rows_around(
    ticdc: TiCDC, expression: str, expected: tuple[str | None, ...]
) -> None:
    rows = ticdc.execute(f"SELECT {expression} FROM test.w WINDOW w AS (PARTITION BY g) ORDER BY id").rows
    assert tuple(value if value is None else str(value) for (value,) in rows) == expected


def test_windows_are_over_groups_if_there_are_any(ticdc: TiCDC) -> None:
    rows = ticdc.execute("SELECT g, SUM(SUM(a)) OVER (ORDER BY g) FROM test.w GROUP BY g").rows
    assert [tuple(map(str, row)) for row in rows] == [("x", "20"), ("y", "32")]


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("SELECT 1 FROM test.w WHERE ROW_NUMBER() OVER () = 1", 3593),
        ("SELECT SUM(a) OVER nope FROM test.w", 3579),
        ("SELECT * FROM test.p PARTITION (p9)", 1735),
        ("SELECT * FROM test.w PARTITION (p0)", 1747),
    ],
)
def test_an_unknown_window_or_partition_is_refused(ticdc: TiCDC, statement: str, number: int) -> None:
    with pytest.raises(SqlError) as raised:
        ticdc.execute(statement)
    assert raised.value.number == number


def test_a_query_reads_the_partitions_that_it_names(ticdc: TiCDC) -> None:
    rows = ticdc.execute("SELECT a FROM test.p PARTITION (p1) ORDER BY a DESC").rows
    assert [str(a) for (a,) in rows] == ["12", "11"]
