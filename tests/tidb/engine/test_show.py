"""What a MySQL client asks about a server: SHOW, information_schema, functions, variables, columns of results."""

from __future__ import annotations

from functools import cache

import pytest
from support.upstreams import as_text, cases, in_test, played, refusal, selected, shown

from simulator.errors import SqlError
from simulator.releases import V8_5, find
from simulator.tidb.engine import AUTO_INCREMENT, NOT_NULL, PRIMARY, UNIQUE, UNSIGNED, ResultSet
from simulator.tidb.engine.execution import Upstream

SCHEMA = """CREATE DATABASE shop; USE shop;
CREATE TABLE p (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'x' COMMENT 'it''s',
    at TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), UNIQUE KEY u (name), KEY k ((LOWER(name))));
CREATE TABLE c (a INT, b VARCHAR(5), pid BIGINT UNSIGNED, d DECIMAL(8,2) DEFAULT 1.5, e ENUM('x','yy'), PRIMARY KEY (a, b),
    CONSTRAINT f FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE);
CREATE TABLE parts (a INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (9), PARTITION p1 VALUES LESS THAN MAXVALUE);
CREATE VIEW v AS SELECT id FROM p; CREATE SEQUENCE s;
INSERT INTO p (name) VALUES ('one'), ('two');"""


@cache
def shop() -> Upstream:
    return played(SCHEMA).upstream


ANSWERS = cases("""
    SHOW DATABASES LIKE 'sh%' => shop
    SHOW TABLES => c; p; parts; s; v
    SHOW FULL TABLES FROM shop WHERE Table_type = 'VIEW' => v,VIEW
    SHOW TABLES LIKE 'PAR%' => parts
    DESC c pid => pid,bigint(20) unsigned,YES,,NULL,
    SHOW FULL COLUMNS FROM p LIKE 'name' => name,varchar(20),utf8mb4_bin,NO,UNI,x,
    SHOW INDEX FROM p WHERE Expression IS NOT NULL => p,1,k,1,NULL
    SHOW CREATE DATABASE shop => shop,CREATE DATABASE `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */
    DROP TABLE IF EXISTS none, x.y; SHOW WARNINGS => Note,1051,Unknown table 'shop.none'; Note,1051,Unknown table 'x.y'
    DROP TEMPORARY TABLE IF EXISTS p, q; SHOW WARNINGS => Note,1051,Unknown table 'shop.p,shop.q'
    SELECT 1 / 0; SHOW COUNT(*) WARNINGS => 1
    SHOW SESSION VARIABLES LIKE 'tx_isolation' => tx_isolation,REPEATABLE-READ
    SET autocommit = 0; SHOW VARIABLES WHERE Variable_name = 'autocommit' => autocommit,OFF
    SHOW COLLATION WHERE Id = 46 => utf8mb4_bin,utf8mb4,46,Yes,Yes,1,PAD SPACE
    SHOW CHARACTER SET LIKE 'latin1' => latin1,Latin1,latin1_bin,1
    SHOW TRIGGERS => (none)
    CREATE VIEW w AS SELECT 1, 1, 'a' AS `1`; DESC w => Name_exp_1,; Name_exp_1_1,; 1,
    ADMIN SHOW DDL JOBS 1 => 6,shop,s,create sequence
    USE information_schema; SHOW TABLES LIKE 'schemata' => SCHEMATA
""")


@pytest.mark.parametrize(("sql", "expected"), ANSWERS)
def test_show_answers_as_tidb(sql: str, expected: str) -> None:
    """Rows are compared as far as they are given."""
    found = [as_text([row]) for row in selected(sql, shop())] or ["(none)"]
    wanted = expected.split("; ")
    assert len(found) == len(wanted) and all(map(str.startswith, found, wanted)), found


SCHEMA_TABLES = cases("""
    SELECT table_name, table_type, table_rows, auto_increment FROM tables WHERE table_schema = 'SHOP' AND table_name IN ('P', 'v') ORDER BY 1
        => p,BASE TABLE,2,30001; v,VIEW,NULL,NULL
    SELECT column_name, data_type, column_type, numeric_precision, numeric_scale, column_default FROM columns WHERE table_name = 'c' AND ordinal_position > 3
        => d,decimal,decimal(8,2),8,2,1.5; e,enum,enum('x','yy'),NULL,NULL,NULL
    SELECT k.column_name, k.referenced_column_name, r.delete_rule FROM information_schema.key_column_usage k JOIN referential_constraints r USING (constraint_name) WHERE k.referenced_table_name = 'p'
        => pid,id,CASCADE
    SELECT index_name, seq_in_index, column_name FROM Statistics WHERE table_name = 'c' AND non_unique = 0
        => PRIMARY,1,a; PRIMARY,2,b
    SELECT constraint_name, constraint_type FROM table_constraints WHERE table_name = 'p'
        => PRIMARY,PRIMARY KEY; u,UNIQUE
    SELECT partition_name, partition_method, partition_expression, partition_description FROM partitions WHERE table_name = 'parts' AND partition_ordinal_position = 1
        => p0,RANGE,`a`,9
    SELECT COUNT(*) FROM routines, triggers => 0
    SELECT sequence_name, cache_value FROM sequences => s,1000
""")


@pytest.mark.parametrize(("sql", "expected"), SCHEMA_TABLES)
def test_information_schema_is_queried_like_any_table(sql: str, expected: str) -> None:
    assert expected == shown(f"USE information_schema; {sql}", shop())


SESSION = cases("""
    UPDATE p SET name = CONCAT(name, 'x'); SELECT ROW_COUNT() => 2
    SELECT * FROM p; SELECT FOUND_ROWS(), ROW_COUNT() => 2,-1
    SELECT @@tidb_current_ts => 0
    BEGIN; SELECT @@tidb_current_ts > 0 => 1
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT @@tx_isolation => READ-COMMITTED
    SELECT @@query_cache_size, @@license, @@wait_timeout => 1048576,Apache License 2.0,28800
""")


@pytest.mark.parametrize(("sql", "expected"), SESSION)
def test_functions_and_variables_tell_about_the_session(sql: str, expected: str) -> None:
    assert expected == shown(sql, shop())
    version = f"8.0.11-TiDB-{V8_5.name}"
    asked = "SELECT VERSION(), @@version, DATABASE(), USER(), CONNECTION_ID()"
    assert f"{version},{version},shop,root@%,1" == shown(asked, shop())


@pytest.mark.parametrize(("release", "version"), [("v6.5.3", "5.7.25-TiDB-v6.5.3"), ("v7.4.0", "8.0.11-TiDB-v7.4.0")])
def test_the_version_is_that_of_the_release(release: str, version: str) -> None:
    assert version == shown("SELECT VERSION()", in_test(find(release)))


def test_lock_tables_does_nothing_and_warns() -> None:
    outcome = played("LOCK TABLES p WRITE", shop())
    assert ((), shop().catalog) == (outcome.events, outcome.upstream.catalog)
    assert outcome.warnings[0].startswith("1235 LOCK TABLES is not supported.")


MISSING = cases("""
    SHOW COLUMNS FROM none => 1146
    SHOW TABLES FROM none => 1049
    SHOW CREATE VIEW p => 1347
    SELECT * FROM information_schema.none => 1146
    SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE => 8048
    SHOW TABLES WHERE none = 1 => 1054
""")


@pytest.mark.parametrize(("sql", "number"), MISSING)
def test_what_is_not_there_is_an_error_that_show_errors_repeats(sql: str, number: str) -> None:
    outcome = refusal(sql, shop())
    assert isinstance(outcome.error, SqlError) and outcome.error.number == int(number)
    assert [("Error", number, outcome.error.text)] == selected("SHOW ERRORS", outcome.upstream)


def answered(sql: str) -> ResultSet:
    result = played(sql, shop()).result
    assert result is not None
    return result


def test_columns_of_results_have_the_types_of_the_protocol() -> None:
    columns = answered("SELECT id AS i, name, at, 1.25, NOW(), NULL, COUNT(*) FROM p GROUP BY id").columns
    assert [
        ("i", 8, 63, 20, 0),
        ("name", 253, 46, 80, 31),
        ("at", 7, 63, 23, 3),
        ("1.25", 246, 63, 5, 2),
        ("NOW()", 12, 63, 19, 0),
        ("NULL", 6, 63, 0, 0),
        ("COUNT(*)", 8, 63, 20, 0),
    ] == [(each.name, each.code, each.charset_id, each.length, each.decimals) for each in columns]
    assert ("shop", "p", "p", "id") == columns[0].origin
    assert NOT_NULL | PRIMARY | UNSIGNED | AUTO_INCREMENT == columns[0].flags & ~(1 << 7 | 1 << 12)


def test_a_derived_table_keeps_the_columns_of_its_table() -> None:
    column = answered("SELECT x.n FROM (SELECT DISTINCT name AS n FROM p) x").columns[0]
    assert ("shop", "p", "p", "name") == column.origin and column.flags & UNIQUE
