"""Queries over the rows of an upstream, as a MySQL client shows them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import SqlError
from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.sql_engine.queries.evaluate import run_select
from simulator.tidb.sql_engine.storage.state import SqlSession, StoredRows, Upstream
from simulator.tidb.syntax.session import SelectStatement

NOW = 1_600_000_000_123

ITEMS = create_table(
    "CREATE TABLE d.item (id INT PRIMARY KEY, name VARCHAR(20), kind ENUM('b','a'), price DECIMAL(8,2)"
    ", ci VARCHAR(9) COLLATE utf8mb4_general_ci, f DOUBLE)"
)
SALES = create_table("CREATE TABLE d.sale (id INT PRIMARY KEY, item INT, n INT, day DATE)")
ITEM_ROWS = (
    ("1", "nut", "b", "1.50", "A", "0.5"),
    ("2", "bolt", "a", "2.25", "á", "1e20"),
    ("3", "Nut", None, None, "b", None),
)
SALE_ROWS = (
    ("1", "1", "10", "2020-01-01"),
    ("2", "1", "20", "2020-01-02"),
    ("3", "2", "5", None),
    ("4", "9", None, "2020-01-02"),
)


def upstream_of(*tables: tuple[Table, Sequence[Sequence[str | None]]]) -> Upstream:
    stored = {}
    for table, rows in tables:
        cells = {
            column.name: pa.array([row[place] for row in rows], pa.string()).cast(pa.binary())
            for place, column in enumerate(visible_columns(table))
        }
        ids = pa.array([int(row[0] or 0) for row in rows], pa.int64())
        stored[table.schema, table.name] = StoredRows(table, pa.table(cells), ids)
    return Upstream(V8_5, build_catalog([table for table, _ in tables]), stored, SqlSession("d"))


UPSTREAM = upstream_of((ITEMS, ITEM_ROWS), (SALES, SALE_ROWS))


def shown(text: str, upstream: Upstream = UPSTREAM) -> list[tuple[str | None, ...]]:
    statement = parse_sql(text)
    assert isinstance(statement, SelectStatement), statement
    columns = run_select(statement.query, upstream, NOW).rows.columns
    return [
        tuple(None if cell.as_py() is None else cell.as_py().decode() for cell in row)
        for row in zip(*columns, strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", [("1",)]),
        ("SELECT 1 + 1 AS two, 'x', NULL, TRUE", [("2", "x", None, "1")]),
        ("SELECT 1 / 3, 2 / 4, 0.10 + 0.2, 7 DIV 2, -7 % 3", [("0.3333", "0.5000", "0.30", "3", "-1")]),
        ("SELECT 1e20, 0.1e0 + 0.2e0, 1e3", [("1e20", "0.30000000000000004", "1000")]),
        ("SELECT * FROM item WHERE id = 2", [("2", "bolt", "a", "2.25", "á", "1e20")]),
        ("SELECT i.*, i.id + 1 FROM d.item i WHERE i.name = 'nut'", [("1", "nut", "b", "1.50", "A", "0.5", "2")]),
        ("SELECT id FROM item ORDER BY kind", [("3",), ("1",), ("2",)]),
        ("SELECT id FROM item ORDER BY price DESC, id", [("2",), ("1",), ("3",)]),
        ("SELECT id x FROM item ORDER BY -x LIMIT 1, 1", [("2",)]),
        ("SELECT name, id FROM item ORDER BY 2 DESC LIMIT 1", [("Nut", "3")]),
        ("SELECT DISTINCT item FROM sale", [("1",), ("2",), ("9",)]),
        ("SELECT DISTINCT ci FROM item WHERE id < 3", [("A",)]),
        ("SELECT DISTINCT item FROM sale ORDER BY item DESC LIMIT 2", [("9",), ("2",)]),
        (
            "SELECT COUNT(*), COUNT(n), SUM(n), AVG(n), MIN(n), MAX(day) FROM sale",
            [("4", "3", "35", "11.6667", "5", "2020-01-02")],
        ),
        (
            "SELECT COUNT(*), SUM(n), MAX(n), BIT_AND(n), GROUP_CONCAT(n) FROM sale WHERE id > 99",
            [("0", None, None, "18446744073709551615", None)],
        ),
        ("SELECT COUNT(DISTINCT day), COUNT(DISTINCT item, day), SUM(DISTINCT item) FROM sale", [("2", "3", "12")]),
        (
            "SELECT item, SUM(n) AS total FROM sale GROUP BY item ORDER BY total DESC",
            [("1", "30"), ("2", "5"), ("9", None)],
        ),
        ("SELECT item, COUNT(*) FROM sale GROUP BY item HAVING COUNT(*) > 1", [("1", "2")]),
        ("SELECT item, COUNT(*) c FROM sale GROUP BY item HAVING c = 1 ORDER BY item DESC", [("9", "1"), ("2", "1")]),
        ("SELECT item % 2, COUNT(*) FROM sale GROUP BY item % 2", [("1", "3"), ("0", "1")]),
        ("SELECT item % 2 AS odd, MAX(n) + 1 FROM sale GROUP BY odd ORDER BY 1", [("0", "6"), ("1", "21")]),
        ("SELECT ci, COUNT(*) FROM item GROUP BY ci", [("A", "2"), ("b", "1")]),
        ("SELECT id, name FROM item GROUP BY id", [("1", "nut"), ("2", "bolt"), ("3", "Nut")]),
        ("SELECT GROUP_CONCAT(name ORDER BY id DESC SEPARATOR '-') FROM item", [("Nut-bolt-nut",)]),
        ("SELECT MIN(kind), MAX(name), SUM(price), SUM(f) FROM item", [("a", "nut", "3.75", "1e20")]),
        ("SELECT JSON_ARRAYAGG(name) FROM item WHERE id < 3", [('["nut", "bolt"]',)]),
        (
            "SELECT i.name, s.n FROM item i JOIN sale s ON i.id = s.item ORDER BY s.id",
            [("nut", "10"), ("nut", "20"), ("bolt", "5")],
        ),
        (
            "SELECT i.id, s.id FROM item i LEFT JOIN sale s ON i.id = s.item AND s.n > 10",
            [("1", "2"), ("2", None), ("3", None)],
        ),
        (
            "SELECT i.id, s.id FROM item i RIGHT JOIN sale s ON i.id = s.item",
            [("1", "1"), ("1", "2"), ("2", "3"), (None, "4")],
        ),
        ("SELECT COUNT(*) FROM item, sale", [("12",)]),
        (
            "SELECT * FROM (SELECT id, n FROM sale) a JOIN (SELECT id, name FROM item) b USING (id) ORDER BY id DESC LIMIT 1",
            [("3", "5", "Nut")],
        ),
        ("SELECT x.total FROM (SELECT item, SUM(n) AS total FROM sale GROUP BY item) x WHERE x.total > 5", [("30",)]),
        ("SELECT name FROM item WHERE id IN (SELECT item FROM sale)", [("nut",), ("bolt",)]),
        ("SELECT name FROM item WHERE id NOT IN (SELECT item FROM sale WHERE n IS NOT NULL)", [("Nut",)]),
        ("SELECT name FROM item WHERE id NOT IN (SELECT NULL)", []),
        ("SELECT id FROM sale WHERE (item, n) IN (SELECT id, 20 FROM item)", [("2",)]),
        ("SELECT name FROM item i WHERE EXISTS (SELECT 1 FROM sale WHERE item = i.id AND n > 5)", [("nut",)]),
        ("SELECT name FROM item i WHERE NOT EXISTS (SELECT 1 FROM sale s WHERE s.item = i.id)", [("Nut",)]),
        ("SELECT id, (SELECT SUM(n) FROM sale WHERE item = i.id) FROM item i", [("1", "30"), ("2", "5"), ("3", None)]),
        ("SELECT id FROM sale WHERE n > (SELECT AVG(n) FROM sale)", [("2",)]),
        ("SELECT id FROM sale WHERE n >= ALL (SELECT n FROM sale WHERE n IS NOT NULL)", [("2",)]),
        ("SELECT id FROM sale WHERE n > ANY (SELECT n FROM sale)", [("1",), ("2",)]),
        (
            "SELECT day FROM sale s WHERE day = (SELECT MAX(day) FROM sale t WHERE t.item = s.item)",
            [("2020-01-02",), ("2020-01-02",)],
        ),
        ("SELECT 1 UNION SELECT 1 UNION ALL SELECT 2", [("1",), ("2",)]),
        ("SELECT id FROM item UNION SELECT item FROM sale ORDER BY id DESC LIMIT 2", [("9",), ("3",)]),
        ("SELECT 1, 'a' UNION ALL SELECT 2.5, NULL", [("1.0", "a"), ("2.5", None)]),
        ("SELECT id FROM item EXCEPT SELECT item FROM sale", [("3",)]),
        ("SELECT id FROM item INTERSECT SELECT item FROM sale", [("1",), ("2",)]),
        (
            "WITH big AS (SELECT * FROM sale WHERE n > 5), one AS (SELECT id FROM big LIMIT 1) SELECT * FROM one",
            [("1",)],
        ),
        ("SELECT NOW(), UTC_DATE(), DATABASE()", [("2020-09-13 12:26:40", "2020-09-13", "d")]),
        ("SELECT id FROM item WHERE ci = 'a' COLLATE utf8mb4_bin", []),
        ("SELECT id FROM item HAVING id > 2", [("3",)]),
        ("SELECT name FROM item GROUP BY name", [("nut",), ("bolt",), ("Nut",)]),
        ("SELECT COUNT(*) FROM sale WHERE day BETWEEN '2020-01-01' AND '2020-01-01'", [("1",)]),
    ],
)
def test_a_query_shows(text: str, expected: list[tuple[str | None, ...]]) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "number", "told"),
    [
        ("SELECT id FROM item, sale", 1052, "Column 'id' in field list is ambiguous"),
        ("SELECT x FROM item", 1054, "Unknown column 'x' in 'field list'"),
        ("SELECT id FROM item ORDER BY x", 1054, "Unknown column 'x' in 'order clause'"),
        ("SELECT id FROM item ORDER BY 2", 1054, "Unknown column '2' in 'order clause'"),
        ("SELECT 1 FROM item GROUP BY x", 1054, "Unknown column 'x' in 'group statement'"),
        ("SELECT 1 FROM item HAVING x", 1054, "Unknown column 'x' in 'having clause'"),
        ("SELECT 1 FROM item i JOIN sale s ON i.x = 1", 1054, "Unknown column 'i.x' in 'on clause'"),
        ("SELECT * FROM other", 1146, "Table 'd.other' doesn't exist"),
        ("SELECT 1 FROM item, item", 1066, "Not unique table/alias: 'item'"),
        ("SELECT 1 FROM item WHERE COUNT(*) = 1", 1111, "Invalid use of group function"),
        ("SELECT (SELECT id FROM item)", 1242, "Subquery returns more than 1 row"),
        ("SELECT 1 IN (SELECT 1, 2)", 1241, "Operand should contain 1 column(s)"),
        ("VALUES ROW(1, 'a'), ROW(2, 'b')", 1051, "Unknown table ''"),
        ("SELECT 1 UNION SELECT 1, 2", 1222, "The used SELECT statements have a different number of columns"),
        (
            "SELECT item, n FROM sale GROUP BY item",
            1055,
            "Expression #2 of SELECT list is not in GROUP BY clause and contains nonaggregated column 'd.sale.n' which is not "
            "functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by",
        ),
        (
            "SELECT COUNT(*), n FROM sale",
            1140,
            "In aggregated query without GROUP BY, expression #2 of SELECT list contains nonaggregated column 'd.sale.n'; "
            "this is incompatible with sql_mode=only_full_group_by",
        ),
    ],
)
def test_a_query_is_refused_in_tidbs_words(text: str, number: int, told: str) -> None:
    with pytest.raises(SqlError) as caught:
        shown(text)

    assert (caught.value.number, caught.value.text) == (number, told)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT item, COUNT(*) FROM sale GROUP BY item WITH ROLLUP", "ROLLUP"),
        ("SELECT STDDEV(n) FROM sale", "STD"),
        (
            "SELECT (WITH RECURSIVE x AS (SELECT n AS m UNION SELECT m FROM x) SELECT SUM(m) FROM x) FROM sale",
            "RECURSIVE",
        ),
        ("SELECT n + (SELECT 0.00) FROM sale", "arithmetic with a subquery"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(text: str, what: str) -> None:
    with pytest.raises(SqlError, match=what) as caught:
        shown(text)

    assert caught.value.number == 1235


ROWS = st.lists(st.tuples(st.none() | st.integers(0, 3), st.integers(0, 9)), max_size=7)


@settings(max_examples=15, deadline=None)
@given(ROWS, ROWS)
def test_joins_and_groups_agree_with_python(
    left: list[tuple[int | None, int]], right: list[tuple[int | None, int]]
) -> None:
    tables = [create_table(f"CREATE TABLE d.{name} (id INT PRIMARY KEY, k INT, v INT)") for name in "lr"]
    texts = [
        [[str(place), None if k is None else str(k), str(v)] for place, (k, v) in enumerate(rows)]
        for rows in (left, right)
    ]
    upstream = upstream_of(*zip(tables, texts, strict=True))
    pairs = [(a, b) for a in left for b in right if a[0] is not None and a[0] == b[0]]
    alone = [a for a in left if not any(a[0] is not None and a[0] == b[0] for b in right)]
    sums: dict[int | None, int] = {}
    for k, v in left:
        sums[k] = sums.get(k, 0) + v

    assert shown("SELECT COUNT(*) FROM l JOIN r ON l.k = r.k", upstream) == [(str(len(pairs)),)]
    assert shown("SELECT COUNT(*) FROM l LEFT JOIN r ON l.k = r.k", upstream) == [(str(len(pairs) + len(alone)),)]
    assert set(shown("SELECT k, SUM(v) FROM l GROUP BY k", upstream)) == {
        (None if k is None else str(k), str(v)) for k, v in sums.items()
    }
