"""The names that HAVING may use, measured on tidb v8.0."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SqlError

TABLE = "CREATE DATABASE d; USE d; CREATE TABLE a (x INT, y VARCHAR(9)); INSERT INTO a VALUES (1, 'a'), (2, 'b')"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT x AS q FROM a HAVING x > 1", "2"),
        ("SELECT x AS q FROM a HAVING a.x > 1", "2"),
        ("SELECT x AS y FROM a HAVING y > 1", "2"),
        ("SELECT x + 1 AS z FROM a HAVING z > 2", "3"),
        ("SELECT x FROM a GROUP BY x, y HAVING y = 'a'", "1"),
        ("SELECT MAX(x) FROM a GROUP BY y HAVING MIN(x) = 2 AND y = 'b'", "2"),
        ("SELECT x FROM a b HAVING EXISTS (SELECT 1 FROM a WHERE a.x > b.x)", "1"),
    ],
)
def test_having_names_columns_of_the_select_list_and_of_group_by(query: str, found: str) -> None:
    ticdc = TiCDC()
    ticdc.execute(TABLE)
    assert ticdc.execute(query).rows == ((found,),)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x FROM a HAVING y = 'a'",
        "SELECT x + 1 AS z FROM a HAVING x > 1",
        "SELECT 1 FROM a HAVING x > 1",
        "SELECT x FROM a GROUP BY x HAVING y = 'a'",
        "SELECT MAX(x) FROM a HAVING x = 2",
        "SELECT x FROM a HAVING _tidb_rowid > 1",
        "SELECT UPPER(y) FROM a GROUP BY UPPER(y) HAVING UPPER(y) = 'A'",
    ],
)
def test_having_cannot_name_other_columns(query: str) -> None:
    ticdc = TiCDC()
    ticdc.execute(TABLE)
    with pytest.raises(SqlError, match="in 'having clause'") as raised:
        ticdc.execute(query)
    assert raised.value.number == 1054
