"""`_tidb_rowid` by name, measured on tidb v8.0."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SqlError

TABLES = """
    CREATE DATABASE d; USE d;
    CREATE TABLE a (x INT, y VARCHAR(9)); INSERT INTO a VALUES (10, 'a'), (20, 'b'), (30, 'c');
    CREATE TABLE n (id VARCHAR(9) PRIMARY KEY NONCLUSTERED, x INT); INSERT INTO n VALUES ('k', 1), ('l', 2);
    CREATE TABLE c (id INT PRIMARY KEY, x INT); INSERT INTO c VALUES (1, 1);
    CREATE TABLE cc (v VARCHAR(9) PRIMARY KEY CLUSTERED)
"""


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT _tidb_rowid, x FROM a", [("1", "10"), ("2", "20"), ("3", "30")]),
        ("SELECT *, d.a._TIDB_ROWID FROM a WHERE _tidb_rowid BETWEEN 2 AND 2", [("20", "b", "2")]),
        ("SELECT z.* FROM a z ORDER BY z._tidb_rowid DESC LIMIT 1", [("30", "c")]),
        (
            "SELECT _tidb_rowid / 2, MAX(_tidb_rowid) FROM n GROUP BY _tidb_rowid ORDER BY 1",
            [("0.5000", "1"), ("1.0000", "2")],
        ),
        (
            "SELECT n._tidb_rowid FROM a LEFT JOIN n ON a._tidb_rowid = n._tidb_rowid ORDER BY a.x",
            [("1",), ("2",), (None,)],
        ),
        ("SELECT * FROM a NATURAL JOIN n", []),
        ("SELECT _tidb_rowid FROM n, c", [("1",), ("2",)]),
        ("SELECT r FROM (SELECT _tidb_rowid r FROM a WHERE x = 20) s", [("2",)]),
    ],
)
def test_a_table_without_a_clustered_key_has_row_ids_that_no_star_shows(
    query: str, rows: list[tuple[str | None, ...]]
) -> None:
    ticdc = TiCDC()
    ticdc.execute(TABLES)
    assert list(ticdc.execute(query).rows) == rows


@pytest.mark.parametrize(
    ("statement", "number", "where"),
    [
        ("SELECT _tidb_rowid FROM c", 1054, "field list"),
        ("SELECT v FROM cc ORDER BY _tidb_rowid", 1054, "order clause"),
        ("SELECT 1 FROM a JOIN n USING (_tidb_rowid)", 1054, "from clause"),
        ("SELECT _tidb_rowid FROM (SELECT * FROM a) s", 1054, "field list"),
        ("SELECT _tidb_rowid FROM a, n", 1052, "ambiguous"),
        ("INSERT INTO a (_tidb_rowid, x) VALUES (9, 9)", 1105, "statements for _tidb_rowid are not supported"),
        ("INSERT INTO cc (_tidb_rowid, v) VALUES (9, 9)", 1105, "statements for _tidb_rowid are not supported"),
        ("INSERT INTO c (_tidb_rowid, x) VALUES (9, 9)", 1054, "field list"),
        ("UPDATE a SET _tidb_rowid = 1", 1105, "statements for _tidb_rowid are not supported"),
        ("UPDATE c SET _tidb_rowid = 1", 1054, "field list"),
    ],
)
def test_row_ids_are_not_written_and_other_tables_have_none(statement: str, number: int, where: str) -> None:
    ticdc = TiCDC()
    ticdc.execute(TABLES)
    with pytest.raises(SqlError, match=where) as raised:
        ticdc.execute(statement)
    assert raised.value.number == number


def test_update_and_delete_find_rows_by_their_row_ids() -> None:
    ticdc = TiCDC()
    ticdc.execute(TABLES)
    ticdc.execute("UPDATE a SET y = _tidb_rowid WHERE _tidb_rowid > 1; DELETE FROM a WHERE _tidb_rowid = 1")
    assert ticdc.rows("d.a") == [{"x": 20, "y": "2"}, {"x": 30, "y": "3"}]
