"""SELECT as a MySQL client shows it, and TiDB's errors of queries; without a source, measured on TiDB v8.0."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import cases, grouped, played, refused, rows_in, selected, shown

from simulator.tidb.engine.execution import Upstream


@cache
def tables(name: str) -> Upstream:
    return played(SCHEMAS[name]).upstream


SCHEMAS = {
    "shop": """
        CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), kind ENUM('b','a'), price DECIMAL(8,2),
            ci VARCHAR(9) COLLATE utf8mb4_general_ci, f DOUBLE);
        INSERT INTO item VALUES (1, 'nut', 'b', 1.50, 'A', 0.5), (2, 'bolt', 'a', 2.25, 'á', 1e20),
            (3, 'Nut', NULL, NULL, 'b', NULL);
        CREATE TABLE sale (id INT PRIMARY KEY, item INT, n INT, day DATE);
        INSERT INTO sale VALUES (1, 1, 10, '2020-01-01'), (2, 1, 20, '2020-01-02'), (3, 2, 5, NULL),
            (4, 9, NULL, '2020-01-02');
        CREATE TABLE code (id INT PRIMARY KEY, n INT UNIQUE);
        INSERT INTO code VALUES (1, 9), (2, 5);
        CREATE VIEW cheap AS SELECT id FROM item WHERE price < 2""",
    "types": """
        SET sql_mode = 'STRICT_TRANS_TABLES';
        CREATE TABLE t (id BIGINT PRIMARY KEY, s VARCHAR(20), b VARBINARY(20), d DECIMAL(10,2), e ENUM('x','1'),
            w DATETIME(3), bits BIT(8), v INT AS (id + 1) VIRTUAL, ci VARCHAR(9) COLLATE utf8mb4_general_ci,
            ts TIMESTAMP, y YEAR, f DOUBLE, st SET('a','b'));
        INSERT INTO t (id, s, b, d, e, w, bits, ci, ts, y, f, st) VALUES
            (1, 'a', X'00ff', 1.5, 'x', '2020-01-02 03:04:05.6', 5, 'Äb', '2020-01-01', 1999, 1.5, 'a'),
            (2, 'B ', NULL, -2, '1', NULL, 255, 'ab', '2020-06-01', 2020, 1e20, 'a,b'),
            (3, NULL, 'x', NULL, NULL, '0000-00-00', 0, NULL, '2020-01-01', NULL, NULL, '')""",
    "windows": """
        CREATE TABLE w (id INT PRIMARY KEY, g VARCHAR(5), a INT, d DECIMAL(8,2));
        INSERT INTO w VALUES (1,'x',10,1.50),(2,'x',10,2.25),(3,'y',5,NULL),(4,'y',7,3.00),(5,'x',NULL,4.10);
        CREATE TABLE p (a INT PRIMARY KEY) PARTITION BY RANGE (a) (
            PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
        INSERT INTO p VALUES (1), (11), (12)""",
    "having": "CREATE TABLE a (x INT, y VARCHAR(9)); INSERT INTO a VALUES (1, 'a'), (2, 'b')",
    "row ids": """
        CREATE TABLE a (x INT, y VARCHAR(9)); INSERT INTO a VALUES (10, 'a'), (20, 'b'), (30, 'c');
        CREATE TABLE n (id VARCHAR(9) PRIMARY KEY NONCLUSTERED, x INT); INSERT INTO n VALUES ('k', 1), ('l', 2);
        CREATE TABLE c (id INT PRIMARY KEY, x INT); INSERT INTO c VALUES (1, 1);
        CREATE TABLE cc (v VARCHAR(9) PRIMARY KEY CLUSTERED)""",
    "tree": """
        CREATE TABLE e (id INT PRIMARY KEY, name VARCHAR(4), boss INT);
        INSERT INTO e VALUES (1, 'root', NULL), (2, 'a', 1), (3, 'b', 1), (4, 'aa', 2)""",
}

SHOWN = grouped(r"""
    SELECT 1 | SELECT item FROM sale INTERSECT SELECT '1' => 1
    WITH big AS (SELECT * FROM sale WHERE n > 5), one AS (SELECT id FROM big LIMIT 1) SELECT * FROM one => 1
    (SELECT id FROM item LIMIT 2) LIMIT 1 => 1
    SELECT COUNT(*) FROM sale WHERE day BETWEEN '2020-01-01' AND '2020-01-01' => 1
    SELECT 1 + 1 AS two, 'x', NULL, TRUE => 2,x,NULL,1
    SELECT 1 / 3, 2 / 4, 0.10 + 0.2, 7 DIV 2, -7 % 3 => 0.3333,0.5000,0.30,3,-1
    SELECT 1e20, 0.1e0 + 0.2e0, 1e3 => 1e20,0.30000000000000004,1000
    SELECT * FROM item WHERE id = 2 => 2,bolt,a,2.25,á,1e20
    SELECT i.*, i.id + 1 FROM test.item i WHERE i.name = 'nut' => 1,nut,b,1.50,A,0.5,2
    SELECT id FROM item ORDER BY kind => 3; 1; 2
    SELECT id FROM item ORDER BY price DESC, id => 2; 1; 3
    SELECT id x FROM item ORDER BY -x LIMIT 1, 1 => 2
    SELECT id FROM sale WHERE (item, n) IN (SELECT id, 20 FROM item) => 2
    SELECT id FROM sale WHERE n > (SELECT AVG(n) FROM sale) => 2
    SELECT id FROM sale WHERE n >= ALL (SELECT n FROM sale WHERE n IS NOT NULL) => 2
    SELECT name, id FROM item ORDER BY 2 DESC LIMIT 1 => Nut,3
    SELECT DISTINCT item FROM sale => 1; 2; 9
    SELECT DISTINCT ci FROM item WHERE id < 3 => A
    SELECT DISTINCT item FROM sale ORDER BY item DESC LIMIT 2 => 9; 2
    SELECT COUNT(*), COUNT(n), SUM(n), AVG(n), MIN(n), MAX(day) FROM sale => 4,3,35,11.6667,5,2020-01-02
    SELECT COUNT(*), SUM(n), MAX(n), BIT_AND(n), GROUP_CONCAT(n) FROM sale WHERE id > 99
        => 0,NULL,NULL,18446744073709551615,NULL
    SELECT COUNT(DISTINCT day), COUNT(DISTINCT item, day), SUM(DISTINCT item) FROM sale => 2,3,12
    SELECT item, SUM(n) AS total FROM sale GROUP BY item ORDER BY total DESC => 1,30; 2,5; 9,NULL
    SELECT item, COUNT(*) FROM sale GROUP BY item HAVING COUNT(*) > 1 => 1,2
    SELECT item, COUNT(*) c FROM sale GROUP BY item HAVING c = 1 ORDER BY item DESC => 9,1; 2,1
    SELECT item % 2, COUNT(*) FROM sale GROUP BY item % 2 => 1,3; 0,1
    SELECT item % 2 AS odd, MAX(n) + 1 FROM sale GROUP BY odd ORDER BY 1 => 0,6; 1,21
    SELECT ci, COUNT(*) FROM item GROUP BY ci => A,2; b,1
    SELECT item, COUNT(*), GROUPING(item) FROM sale GROUP BY item WITH ROLLUP ORDER BY 1
        => NULL,4,1; 1,2,0; 2,1,0; 9,1,0
    SELECT item % 2, item, SUM(n), GROUPING(item % 2, item) g FROM sale GROUP BY 1, 2 WITH ROLLUP HAVING g > 0 ORDER BY 1
        => NULL,NULL,35,3; 0,NULL,5,1; 1,NULL,30,1
    SELECT (SELECT SUM(s.n)) FROM sale s => 35
    SELECT id FROM item EXCEPT SELECT price FROM item => 1; 2; 3
    SELECT i.id, s.item FROM item i JOIN sale s ON i.id = s.item GROUP BY i.id => 1,1; 2,2
    SELECT DAYNAME('1962-03-01') + 0, IF(kind = 'b', kind, kind) + 0, ELT(1, kind) FROM item WHERE id = 1 => 3,1,b
    SELECT item, (SELECT COUNT(*) FROM item i WHERE i.id <= MAX(s.item)) FROM sale s GROUP BY item => 1,1; 2,2; 9,3
    SELECT (SELECT SUM(i.id + n) FROM sale) FROM item i WHERE id < 3 => 38; 41
    SELECT id, name FROM item GROUP BY id => 1,nut; 2,bolt; 3,Nut
    SELECT GROUP_CONCAT(name ORDER BY id DESC SEPARATOR '-') FROM item => Nut-bolt-nut
    SELECT MIN(kind), MAX(name), SUM(price), SUM(f) FROM item => a,nut,3.75,1e20
    SELECT JSON_ARRAYAGG(name) FROM item WHERE id < 3 => ["nut", "bolt"]
    SELECT i.name, s.n FROM item i JOIN sale s ON i.id = s.item ORDER BY s.id => nut,10; nut,20; bolt,5
    SELECT i.id, s.id FROM item i LEFT JOIN sale s ON i.id = s.item AND s.n > 10 => 1,2; 2,NULL; 3,NULL
    SELECT i.id, s.id FROM item i RIGHT JOIN sale s ON i.id = s.item => 1,1; 1,2; 2,3; NULL,4
    SELECT COUNT(*) FROM item, sale => 12
    SELECT * FROM (SELECT id, n FROM sale) a JOIN (SELECT id, name FROM item) b USING (id) ORDER BY id DESC LIMIT 1
        => 3,5,Nut
    SELECT x.total FROM (SELECT item, SUM(n) AS total FROM sale GROUP BY item) x WHERE x.total > 5 => 30
    SELECT name FROM item WHERE id IN (SELECT item FROM sale) => nut; bolt
    SELECT name FROM item WHERE id NOT IN (SELECT item FROM sale WHERE n IS NOT NULL) => Nut
    SELECT name FROM item i WHERE NOT EXISTS (SELECT 1 FROM sale s WHERE s.item = i.id) => Nut
    SELECT name FROM item WHERE id NOT IN (SELECT NULL) => (none)
    SELECT id FROM item WHERE ci = 'a' COLLATE utf8mb4_bin => (none)
    SELECT name FROM item i WHERE EXISTS (SELECT 1 FROM sale WHERE item = i.id AND n > 5) => nut
    SELECT id, (SELECT SUM(n) FROM sale WHERE item = i.id) FROM item i => 1,30; 2,5; 3,NULL
    SELECT id FROM sale WHERE n > ANY (SELECT n FROM sale) | SELECT 1 UNION SELECT 1 UNION ALL SELECT 2 => 1; 2
    SELECT id FROM code WHERE n IN (5, 9) ORDER BY id | SELECT id FROM item INTERSECT SELECT item FROM sale => 1; 2
    SELECT day FROM sale s WHERE day = (SELECT MAX(day) FROM sale t WHERE t.item = s.item) => 2020-01-02; 2020-01-02
    SELECT test.cheap.id, test.cheap.* FROM cheap => 1,1
    SELECT id FROM item UNION SELECT item FROM sale ORDER BY id DESC LIMIT 2 => 9; 3
    SELECT 1, 'a' UNION ALL SELECT 2.5, NULL => 1.0,a; 2.5,NULL
    SELECT id FROM item EXCEPT SELECT item FROM sale | SELECT id FROM item HAVING id > 2 => 3
    SELECT SQL_NO_CACHE id FROM item USE INDEX (k) WHERE id > 2 FOR UPDATE NOWAIT => 3
    SELECT NOW(), UTC_DATE(), DATABASE() => 2020-02-20 02:20:20,2020-02-20,test
    SELECT name FROM item GROUP BY name => nut; bolt; Nut
    SELECT DISTINCT *, sale.item FROM sale WHERE id = 1 => 1,1,10,2020-01-01,1
""")


@pytest.mark.parametrize(("query", "rows"), SHOWN)
def test_a_query_shows(query: str, rows: str) -> None:
    assert shown(query, tables("shop")) == rows


def test_a_bit_that_is_cast_to_an_integer_is_shown_as_a_number() -> None:
    assert (
        shown("SELECT CAST(bits AS UNSIGNED), CAST(bits AS SIGNED) FROM t WHERE id = 2", tables("types")) == "255,255"
    )


WHERE = grouped(r"""
    WHERE TRUE | WHERE (id, d) > (1, 1.4) | WHERE 0.3 | ORDER BY d DESC => 1; 2; 3
    WHERE id = 2 | WHERE t.id = '2' | WHERE test.t.id = 2.0 | WHERE id = '2x' | WHERE s = 'B' | WHERE e = 2 => 2
    WHERE e = '1' | WHERE ts > '2020-03-01' | WHERE st = 3 | WHERE f > 1e19 | ORDER BY -id LIMIT 1, 1 => 2
    WHERE s = 'b' | WHERE NULL | WHERE 'a' => (none)
    WHERE s IS NULL OR id < 2 => 1; 3
    WHERE ci = 'AB' | WHERE ci LIKE 'a%' | WHERE bits & 1 | ORDER BY s DESC, id LIMIT 0, 2 | LIMIT 0, 2 => 1; 2
    WHERE b = x'00ff' | WHERE bits = b'101' | WHERE w = '2020-01-02 03:04:05.6' | WHERE y = 99 => 1
    WHERE (id, d) = (1, 1.5) | WHERE (id, e) IN ((1, 'x'), (2, 'x')) => 1
    WHERE v > 2 => 2; 3
    ORDER BY d => 3; 2; 1
    ORDER BY e => 3; 1; 2
    ORDER BY ts DESC => 2; 1; 3
""")


@pytest.mark.parametrize(("clauses", "rows"), WHERE)
def test_values_of_every_type_are_compared_and_sorted_as_mysql_does(clauses: str, rows: str) -> None:
    assert shown(f"SELECT id FROM t {clauses}", tables("types")) == rows


def test_a_timestamp_is_seen_in_the_time_zone_of_the_session() -> None:
    assert (
        shown("SET time_zone = '+08:00'; SELECT id FROM t WHERE ts = '2020-01-01 08:00:00'", tables("types")) == "1; 3"
    )


ASSIGNED = cases(r"""
    id = id + 10 => 11
    s = concat(s, 1 / 2) => a0.500000000
    e = 2 => 1
    e = '1' => 1
    st = 3 => a,b
    bits = bits + 1 => 6
    bits = s => 97
    b = concat(b, 'é') => \0ÿÃ©
    w = date_add(w, interval 1 day) => 2020-01-03 03:04:05.600
    w = now(3) => 2020-02-20 02:20:20.123
    ts = now() => 2020-02-20 02:20:20
    s = curtime(1) => 02:20:20.1
    id = unix_timestamp() => 1582165220
    s = database() => test
    id = 12.5e0 => 12
    id = 12.7 => 13
""")


@pytest.mark.parametrize(("assignment", "text"), ASSIGNED)
def test_an_update_stores_the_value_of_an_expression_over_the_old_row(assignment: str, text: str) -> None:
    upstream = played(f"UPDATE t SET {assignment} WHERE id = 1", tables("types")).upstream
    columns = "id s b d e w bits ci ts y f st".split()
    changed = [dict(zip(columns, row)) for row in rows_in(upstream, "t") if row[6] != "255" and row[6] != "0"]
    assert [row[assignment.split()[0]] for row in changed] == [text.replace("\\0", "\0")]


REFUSED = cases(r"""
    SELECT 1 FROM (SELECT 1) => 1248 Every derived table must have its own alias
    SELECT id FROM item, sale => 1052 Column 'id' in field list is ambiguous
    SELECT x FROM item => 1054 Unknown column 'x' in 'field list'
    SELECT id FROM item ORDER BY x => 1054 Unknown column 'x' in 'order clause'
    SELECT id FROM item ORDER BY 2 => 1054 Unknown column '2' in 'order clause'
    SELECT 1 FROM item GROUP BY x => 1054 Unknown column 'x' in 'group statement'
    SELECT 1 FROM item HAVING x => 1054 Unknown column 'x' in 'having clause'
    SELECT 1 FROM item i JOIN sale s ON i.x = 1 => 1054 Unknown column 'i.x' in 'on clause'
    SELECT * FROM other => 1146 Table 'test.other' doesn't exist
    SELECT 1 FROM item, item => 1066 Not unique table/alias: 'item'
    SELECT 1 FROM item WHERE COUNT(*) = 1 => 1111 Invalid use of group function
    SELECT (SELECT id FROM item) => 1242 Subquery returns more than 1 row
    SELECT CHAR_FUNC(65, 'x') => 1115 Unknown character set: 'x'
    SELECT 1 IN (SELECT 1, 2) => 1241 Operand should contain 1 column(s)
    VALUES ROW(1, 'a'), ROW(2, 'b') => 1051 Unknown table ''
    SELECT 1 UNION SELECT 1, 2 => 1222 The used SELECT statements have a different number of columns
    SELECT item, n FROM sale GROUP BY item
        => 1055 Expression #2 of SELECT list is not in GROUP BY clause and contains nonaggregated column 'test.sale.n' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by
    SELECT COUNT(*), n FROM sale
        => 8123 In aggregated query without GROUP BY, expression #2 of SELECT list contains nonaggregated column 'n'; this is incompatible with sql_mode=only_full_group_by
""")
NOT_COMPUTED = cases("""
    SELECT GROUPING(item) FROM sale GROUP BY item => GROUPING
    SELECT 1 INTO OUTFILE 'x' => INTO OUTFILE
""")


@pytest.mark.parametrize(("query", "error"), REFUSED)
def test_a_query_is_refused_in_tidbs_words(query: str, error: str) -> None:
    assert refused(query, tables("shop")) == error


@pytest.mark.parametrize(("query", "what"), NOT_COMPUTED)
def test_what_is_not_computed_is_refused_by_name(query: str, what: str) -> None:
    assert refused(query, tables("shop")).startswith("1235 ") and what in refused(query, tables("shop"))


UNKNOWN = cases("""
    zz = 1 => 1054 Unknown column 'zz' in 'where clause'
    t.zz = 1 => 1054 Unknown column 't.zz' in 'where clause'
    other.id = 1 => 1054 Unknown column 'other.id' in 'where clause'
    foo(1) => 1305 FUNCTION test.foo does not exist
    abs(1, 2) => 1582 Incorrect parameter count in the call to native function 'abs'
    (id, s) = (1, 2, 3) => 1241 Operand should contain 2 column(s)
""")


@pytest.mark.parametrize(("condition", "error"), UNKNOWN)
def test_a_condition_with_an_unknown_name_has_tidbs_error(condition: str, error: str) -> None:
    assert refused(f"DELETE FROM t WHERE {condition}", tables("types")) == error


ROWS = st.lists(st.tuples(st.none() | st.integers(0, 3), st.integers(0, 9), st.text("ab", max_size=2)), max_size=7)


@pytest.mark.slow
@settings(max_examples=15)
@given(ROWS, ROWS, st.integers(0, 5), st.booleans())
def test_joins_groups_and_sorted_rows_are_those_of_python(
    left: list[tuple[int | None, int, str]], right: list[tuple[int | None, int, str]], count: int, descending: bool
) -> None:
    text = "CREATE TABLE l (id INT PRIMARY KEY, k INT, v INT, s VARCHAR(9)); CREATE TABLE r LIKE l; "
    for name, rows in (("l", left), ("r", right)):
        for place, (k, v, s) in enumerate(rows):
            text += f"INSERT INTO {name} VALUES ({place}, {'NULL' if k is None else k}, {v}, '{s}'); "
    upstream = played(text).upstream
    pairs = [(a, b) for a in left for b in right if a[0] is not None and a[0] == b[0]]
    alone = [a for a in left if not any(a[0] is not None and a[0] == b[0] for b in right)]
    sums: dict[int | None, int] = {}
    for k, v, _ in left:
        sums[k] = sums.get(k, 0) + v
    ordered = sorted(range(len(left)), key=lambda place: (left[place][2], place))
    ordered.sort(key=lambda place: -1 if (k := left[place][0]) is None else k, reverse=descending)

    def counted(join: str) -> str:
        return shown(f"SELECT COUNT(*) FROM l {join} r ON l.k = r.k", upstream)

    assert (counted("JOIN"), counted("LEFT JOIN")) == (str(len(pairs)), str(len(pairs) + len(alone)))
    grouped = {(None if k is None else str(k), str(v)) for k, v in sums.items()}
    assert set(selected("SELECT k, SUM(v) FROM l GROUP BY k", upstream)) == grouped
    found = selected(f"SELECT id FROM l ORDER BY k {'DESC' if descending else ''}, s LIMIT {count}", upstream)
    assert found == [(str(place),) for place in ordered[:count]]


HAVING = grouped("""
    SELECT x AS q FROM a HAVING x > 1 | SELECT x AS q FROM a HAVING a.x > 1 | SELECT x AS y FROM a HAVING y > 1 => 2
    SELECT MAX(x) FROM a GROUP BY y HAVING MIN(x) = 2 AND y = 'b' => 2
    SELECT x + 1 AS z FROM a HAVING z > 2 => 3
    SELECT x FROM a GROUP BY x, y HAVING y = 'a' => 1
    SELECT x FROM a b HAVING EXISTS (SELECT 1 FROM a WHERE a.x > b.x) => 1
""")
NO_HAVING = [
    "SELECT x FROM a HAVING y = 'a'",
    "SELECT x + 1 AS z FROM a HAVING x > 1",
    "SELECT 1 FROM a HAVING x > 1",
    "SELECT x FROM a GROUP BY x HAVING y = 'a'",
    "SELECT MAX(x) FROM a HAVING x = 2",
    "SELECT x FROM a HAVING _tidb_rowid > 1",
    "SELECT UPPER(y) FROM a GROUP BY UPPER(y) HAVING UPPER(y) = 'A'",
]


@pytest.mark.parametrize(("query", "found"), [*HAVING, *((query, "") for query in NO_HAVING)])
def test_having_names_columns_of_the_select_list_and_of_group_by_alone(query: str, found: str) -> None:
    if found:
        assert shown(query, tables("having")) == found
    else:
        error = refused(query, tables("having"))
        assert error.startswith("1054 ") and error.endswith(" in 'having clause'")


WINDOWS = cases("""
    row_number() over (partition by g order by id desc) => 3 2 2 1 1
    rank() over (order by a) => 4 4 2 3 1
    dense_rank() over (order by a desc) => 1 1 3 2 4
    lag(a, 1, -1) over (order by id) => -1 10 10 5 7
    lead(d) over (order by id) => 2.25 NULL 3.00 4.10 NULL
    first_value(d) over (partition by g order by id) => 1.50 1.50 NULL NULL 1.50
    nth_value(id, 2) over (order by id) => NULL 2 2 2 2
    ntile(2) over (order by id) => 1 1 1 2 2
    sum(a) over (order by id rows between 1 preceding and 1 following) => 20 25 22 12 7
    count(*) over w => 3 3 2 2 3
    max(d) over (w order by id) => 1.50 2.25 NULL 3.00 4.10
""")


@pytest.mark.parametrize(("expression", "expected"), WINDOWS)
def test_a_window_function_sees_the_rows_around(expression: str, expected: str) -> None:
    query = f"SELECT {expression} FROM w WINDOW w AS (PARTITION BY g) ORDER BY id"
    assert shown(query, tables("windows")).replace(";", "") == expected


PARTS = cases("""
    SELECT g, SUM(SUM(a)) OVER (ORDER BY g) FROM w GROUP BY g => x,20; y,32
    SELECT id, RANK() OVER (ORDER BY a) FROM w => 5,1; 3,2; 4,3; 1,4; 2,4
    SELECT id, ROW_NUMBER() OVER (PARTITION BY g ORDER BY a DESC) FROM w => 1,1; 2,2; 5,3; 4,1; 3,2
    SELECT a FROM p PARTITION (p1) ORDER BY a DESC => 12; 11
""")
NO_PARTS = cases("""
    SELECT 1 FROM w WHERE ROW_NUMBER() OVER () = 1 => 3593
    SELECT SUM(a) OVER nope FROM w => 3579
    SELECT * FROM p PARTITION (p9) => 1735
    SELECT * FROM w PARTITION (p0) => 1747
""")


def test_windows_are_over_groups_and_a_query_reads_the_partitions_that_it_names() -> None:
    for query, rows in PARTS:
        assert shown(query, tables("windows")) == rows
    for query, number in NO_PARTS:
        assert refused(query, tables("windows")).partition(" ")[0] == number


ROW_IDS = cases("""
    SELECT _tidb_rowid, x FROM a => 1,10; 2,20; 3,30
    SELECT *, test.a._TIDB_ROWID FROM a WHERE _tidb_rowid BETWEEN 2 AND 2 => 20,b,2
    SELECT z.* FROM a z ORDER BY z._tidb_rowid DESC LIMIT 1 => 30,c
    SELECT _tidb_rowid / 2, MAX(_tidb_rowid) FROM n GROUP BY _tidb_rowid ORDER BY 1 => 0.5000,1; 1.0000,2
    SELECT n._tidb_rowid FROM a LEFT JOIN n ON a._tidb_rowid = n._tidb_rowid ORDER BY a.x => 1; 2; NULL
    SELECT * FROM a NATURAL JOIN n => (none)
    SELECT _tidb_rowid FROM n, c => 1; 2
    SELECT r FROM (SELECT _tidb_rowid r FROM a WHERE x = 20) s => 2
""")
NO_ROW_IDS = grouped("""
    SELECT _tidb_rowid FROM c | SELECT _tidb_rowid FROM (SELECT * FROM a) s => 1054 … field list
    INSERT INTO c (_tidb_rowid, x) VALUES (9, 9) | UPDATE c SET _tidb_rowid = 1 => 1054 … field list
    SELECT v FROM cc ORDER BY _tidb_rowid => 1054 … order clause
    SELECT 1 FROM a JOIN n USING (_tidb_rowid) => 1054 … from clause
    SELECT _tidb_rowid FROM a, n => 1052 … ambiguous
    INSERT INTO a (_tidb_rowid, x) VALUES (9, 9) => 1105 … statements for _tidb_rowid are not supported
    INSERT INTO cc (_tidb_rowid, v) VALUES (9, 9) => 1105 … statements for _tidb_rowid are not supported
    UPDATE a SET _tidb_rowid = 1 => 1105 … statements for _tidb_rowid are not supported
""")


@pytest.mark.parametrize(("query", "rows"), ROW_IDS)
def test_a_table_without_a_clustered_key_has_row_ids_that_no_star_shows(query: str, rows: str) -> None:
    assert shown(query, tables("row ids")) == rows


@pytest.mark.parametrize(("statement", "error"), NO_ROW_IDS)
def test_row_ids_are_not_written_and_other_tables_have_none(statement: str, error: str) -> None:
    number, where = error.split(" … ")
    found = refused(statement, tables("row ids"))
    assert found.startswith(number) and where in found


def test_update_and_delete_find_rows_by_their_row_ids() -> None:
    script = "UPDATE a SET y = _tidb_rowid WHERE _tidb_rowid > 1; DELETE FROM a WHERE _tidb_rowid = 1; SELECT * FROM a"
    assert shown(script, tables("row ids")) == "20,2; 30,3"


LEVELS = cases("""
    c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 4) => 1; 2; 3; 4
    c (n) AS (SELECT 1 UNION SELECT (n + 1) % 3 FROM c) => 1; 2; 0
    c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c LIMIT 2, 3) => 3; 4; 5
    c AS (SELECT 1 AS n UNION ALL SELECT 5 UNION ALL SELECT n + 1 FROM c WHERE n < 3) => 1; 5; 2; 3
    c AS (SELECT 1 AS n UNION ALL SELECT n + 10 FROM c WHERE n < 2 UNION ALL SELECT n + 20 FROM c WHERE n < 2)
        => 1; 11; 21
    c AS (SELECT id AS n FROM e WHERE boss IS NULL UNION ALL SELECT e.id FROM c JOIN e ON e.boss = c.n) => 1; 2; 3; 4
    c AS (SELECT id AS n FROM e WHERE id > 9 UNION ALL SELECT n + 1 FROM c) => (none)
    c AS (SELECT 1 AS n) => 1
    c AS (SELECT 1 AS n UNION ALL SELECT n + 0.5 FROM c WHERE n < 3) => 1; 2; 3
    c AS (SELECT 1.0 AS n UNION ALL SELECT n + 0.5 FROM c WHERE n < 2) => 1.0; 1.5; 2.0
    c AS (SELECT 1e0 AS n UNION ALL SELECT n / 2 FROM c WHERE n > 0.3) => 1; 0.5; 0.25
    c AS (SELECT 'a' AS n UNION ALL SELECT CONCAT(n, 'b') FROM c LIMIT 2) => a; a
    c AS (SELECT CAST('a' AS CHAR(2)) AS n UNION ALL SELECT CONCAT(n, 'b') FROM c LIMIT 3) => a; ab; ab
    c AS (SELECT NULL AS n UNION ALL SELECT 1 FROM c LIMIT 2) => NULL; NULL
    c AS (SELECT DATE('2020-02-28') AS n UNION ALL SELECT n + INTERVAL 1 DAY FROM c LIMIT 3)
        => 2020-02-28; 2020-02-29; 2020-03-01
""")


@pytest.mark.parametrize(("table", "found"), LEVELS)
def test_each_level_is_computed_from_the_level_before_in_the_types_of_the_first(table: str, found: str) -> None:
    assert shown(f"WITH RECURSIVE {table} SELECT * FROM c", tables("tree")) == found


NO_RECURSION = grouped("""
    SELECT n + 1 AS n FROM c => 3573
    SELECT n FROM c UNION ALL SELECT 1 => 3574
    SELECT 1 AS n UNION ALL SELECT MAX(n) FROM c | SELECT 1 AS n UNION ALL SELECT n FROM c GROUP BY n => 3575
    SELECT 1 AS n UNION ALL SELECT ROW_NUMBER() OVER () FROM c => 3575
    SELECT 1 AS n UNION ALL SELECT e.id FROM e LEFT JOIN c ON c.n = e.id => 3576
    SELECT 1 AS n UNION ALL SELECT x.n FROM c x, c y => 3577
    SELECT 1 AS n UNION ALL SELECT n FROM c WHERE n < (SELECT MAX(n) FROM c) => 3577
    SELECT 1 AS n UNION ALL SELECT n FROM (SELECT * FROM c) x => 3577
    SELECT 1 AS n UNION ALL SELECT DISTINCT n FROM c | SELECT 1 AS n UNION ALL SELECT n FROM c ORDER BY n => 1235
    SELECT 1 AS n EXCEPT SELECT n FROM c => 1235
    SELECT 1 AS n UNION ALL SELECT n, n FROM c => 1222
""")


@pytest.mark.parametrize(("query", "number"), NO_RECURSION)
def test_a_recursion_that_tidb_does_not_accept_is_refused(query: str, number: str) -> None:
    assert refused(f"WITH RECURSIVE c AS ({query}) SELECT * FROM c", tables("tree")).partition(" ")[0] == number


@pytest.mark.parametrize(("most", "last", "refusal"), [(3, 3, ""), (3, 4, "after 4 iter"), (0, 1, "after 1 iter")])
def test_no_more_levels_than_the_session_allows(most: int, last: int, refusal: str) -> None:
    query = f"WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < {last}) SELECT COUNT(*) FROM c"
    script = f"SET cte_max_recursion_depth = {most}; {query}"
    if refusal:
        assert refused(script).startswith("3636 ") and refusal in refused(script)
    else:
        assert shown(script) == str(last)


def test_a_recursive_query_can_provide_rows_to_change() -> None:
    numbers = "WITH RECURSIVE c AS (SELECT 5 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 7)"
    script = f"""
        INSERT INTO e (id) {numbers} SELECT n FROM c; {numbers} DELETE FROM e WHERE id IN (SELECT n FROM c WHERE n > 5);
        {numbers} UPDATE e, c SET e.name = 'new' WHERE e.id = c.n; SELECT * FROM e WHERE id > 4"""
    assert shown(script, tables("tree")) == "5,new,NULL"
