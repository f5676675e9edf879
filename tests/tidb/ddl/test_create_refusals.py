"""Errors of CREATE TABLE by number, in the order of TiDB's checks (measured on TiDB v8.0), and what it accepts."""

from __future__ import annotations

from functools import cache

import pytest
from support.upstreams import cases, grouped, in_test, played, refusal_number, refused, shown

from simulator import TiCDC
from simulator.releases import find
from simulator.tidb.engine.execution import Upstream

LONG = "x" * 65
KAFKA = "kafka://127.0.0.1:9092/t?protocol=open-protocol&partition-num=1"


@cache
def tables() -> Upstream:
    script = "CREATE TABLE taken (a INT); CREATE TABLE parent (id INT PRIMARY KEY, v INT AS (id + 1))"
    return played(script, in_test(find("v8.0.0"))).upstream


INVALID = grouped(r"""
    `` (a INT) => 1103 Incorrect table name ''
    t (`a ` INT) => 1166 Incorrect column name 'a '
    t (_tidb_rowid INT) => 1166 Incorrect column name '_tidb_rowid'
    t (x.a INT) => 1103 Incorrect table name 'x'
    t (a INT, KEY `Primary` (a)) => 1280 Incorrect index name 'Primary'
    t (a INT, KEY `` (a)) => 1280 Incorrect index name ''
    taken (a INT AS (rand())) => 3102 Expression of generated column 'a' contains a disallowed function.
    taken (a INT) => 1050 Table 'test.taken' already exists
    t (a FLOAT(54)) => 1063 Incorrect column specifier for column 'a'
    t (a DOUBLE(256,2)) => 1439 Display width out of range for column 'a' (max = 255)
    t (a BIT(0)) => 3013 Invalid size for column 'a'.
    t (a YEAR(2)) => 1818 Supports only YEAR or YEAR(4) column
    t (a SET('x,y')) => 1367 Illegal set 'x,y' value found during parsing
    t (a ENUM('a','A') COLLATE utf8mb4_general_ci) => 1291 Column 'a' has duplicated value 'A' in ENUM
    t (a TIMESTAMP(3) DEFAULT NOW()) | t (a DATE DEFAULT NOW()) => 1067 Invalid default value for 'a'
    t (a TIMESTAMP DEFAULT '2038-01-19 03:14:08') => 1067 Invalid default value for 'a'
    t (a DATETIME DEFAULT '0000-00-00') | t (a INT DEFAULT NULL PRIMARY KEY) => 1067 Invalid default value for 'a'
    t (a DATETIME(2) ON UPDATE NOW(3)) => 1294 Invalid ON UPDATE clause for 'a' column
    t (a VARCHAR(40) DEFAULT (upper('a')))
        => 3770 Default value expression of column 'a' contains a disallowed function: `upper`.
    t (a CHAR(2) DEFAULT 0xC3) | t (a CHAR(2) CHARSET gbk DEFAULT 0xC4) => 1067 Invalid default value for 'a'
    t (a INT AUTO_INCREMENT DEFAULT (rand()) KEY) => 1067 Invalid default value for 'a'
    t (a INT NOT NULL, UNIQUE (a) INVISIBLE) => 3522 A primary key index cannot be invisible
    t (a CHAR(255), KEY k ((json_quote(a))))
        => 1071 Specified key was too long (6128 bytes); max key length is 3072 bytes
    t (a TEXT AUTO_INCREMENT PRIMARY KEY) => 1105 Incorrect column specifier for column 'a'
    t (a INT) CHARSET utf8 CHARSET latin1
        => 1302 Conflicting declarations: 'CHARACTER SET utf8' and 'CHARACTER SET latin1'
    t (a INT AS (b), b INT AS (1)) => 3107 Generated column can refer only to generated columns defined prior to it.
    t (a INT AS (c)) => 1054 Unknown column 'c' in 'generated column function'
    t (a INT, b INT AS (abs())) => 1582 Incorrect parameter count in the call to native function 'abs'
    t (a INT, b INT AS (sum(a))) => 1111 Invalid use of group function
    t (a INT, b INT AS ((1, 2) = (1, 2))) => 3764 Expression of generated column 'b' cannot refer to a row value
    t (a INT AUTO_INCREMENT KEY, b INT AS (a)) => 3109 Generated column 'b' cannot refer to auto-increment column.
    t (a INT, b INT AS (a) DEFAULT 1) => 1221 Incorrect usage of DEFAULT and generated column
    t (a INT, KEY ((a))) => 3762 Expression index on a column is not supported. Consider using a regular index instead
    t (a INT, KEY k ((rand()))) => 3758 Expression of expression index 'k' contains a disallowed function
    t (a INT, KEY k ((abs(a))))
        => 8200 Unsupported creating expression index containing unsafe functions without allow-expression-index in config
    t (a JSON, KEY ((a -> '$.x')))
        => 3753 Cannot create an expression index on a function that returns a JSON or GEOMETRY value
    t (a VARCHAR(0), KEY (a)) => 1167 The used storage engine can't index column 'a'
    t (a INT, UNIQUE KEY (a) CLUSTERED) => 8200 CLUSTERED/NONCLUSTERED keyword is only supported for primary key
    t (a INT, PRIMARY KEY (a) INVISIBLE) => 3522 A primary key index cannot be invisible
    t (a INT, b INT AS (a) STORED, FOREIGN KEY (b) REFERENCES parent (id) ON UPDATE CASCADE)
        => 3104 Cannot define foreign key with ON UPDATE CASCADE clause on a generated column.
    t (a INT, FOREIGN KEY (a) REFERENCES nowhere (id)) => 1824 Failed to open the referenced table 'nowhere'
    t (a INT KEY AUTO_RANDOM)
        => 8216 Invalid auto random: auto_random option must be defined on `bigint` column, but not on `int` column
    t (a BIGINT KEY AUTO_RANDOM(16))
        => 8216 Invalid auto random: max allowed auto_random shard bits is 15, but got 16 on column `a`
    t (a INT KEY) SHARD_ROW_ID_BITS 2 => 8200 Unsupported shard_row_id_bits for table with primary key as row id
    t (a INT) INSERT_METHOD=LAST => 8233 CREATE/ALTER table with insert method option is not supported
    t (a INT) ENGINE = nothing => 1286 Unknown storage engine 'nothing'
    t (a INT) TTL_ENABLE = 'ON' => 8150 Cannot set TTL_ENABLE on a table without TTL config
    t (a INT DEFAULT NULL, PRIMARY KEY (a))
        => 1171 All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead
""")
TOO_LONG = [
    (f"{LONG} (a INT)", f"1059 Identifier name '{LONG}' is too long"),
    (f"t ({LONG} INT)", f"1059 Identifier name '{LONG}' is too long"),
    (f"t (a INT, KEY {LONG} (a))", f"1059 Identifier name '{LONG}' is too long"),
    (f"t (a ENUM('{'x' * 256}'))", "3505 Too long enumeration/set value for column a."),
    (f"t (a INT COMMENT '{'x' * 1025}')", "1629 Comment for field 'a' is too long (max = 1024)"),
    (f"t (a INT) COMMENT '{'x' * 2049}'", "1628 Comment for table 't' is too long (max = 2048)"),
]


@pytest.mark.parametrize(("definition", "error"), [*INVALID, *TOO_LONG])
def test_an_invalid_definition_raises_tidbs_error(definition: str, error: str) -> None:
    """That another table has the name is found last."""
    assert refused(f"CREATE TABLE {definition}", tables()) == error


PARTITIONS = cases("""
    RANGE (a) (PARTITION p VALUES LESS THAN ('x')) => 1697 VALUES value for partition 'p' must have type INT
    RANGE (a) (PARTITION p VALUES LESS THAN (NULL))
        => 1659 Field 'NULL' is of a not allowed type for this type of partitioning
    RANGE (u) (PARTITION p VALUES LESS THAN (-1)) => 1563 Partition constant is out of partition function domain
    RANGE (a) (PARTITION p VALUES LESS THAN (2), PARTITION q VALUES LESS THAN (1 + 1))
        => 1493 VALUES LESS THAN value must be strictly increasing for each partition
    RANGE (a) (PARTITION p VALUES IN (2)) => 1480 Only LIST PARTITIONING can use VALUES IN in partition definition
    RANGE (rand()) (PARTITION p VALUES LESS THAN (2)) => 1564 This partition function is not allowed
    RANGE (1) (PARTITION p VALUES LESS THAN (2))
        => 1486 Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed
    RANGE (year(s)) (PARTITION p VALUES LESS THAN (2))
        => 1486 Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed
    RANGE (m) (PARTITION p VALUES LESS THAN (2))
        => 1659 Field 'm' is of a not allowed type for this type of partitioning
    RANGE (m * 2) (PARTITION p VALUES LESS THAN (2)) => 1491 The PARTITION function returns the wrong type
    RANGE (a + z) (PARTITION p VALUES LESS THAN (2)) => 1054 Unknown column 'z' in 'partition function'
    RANGE COLUMNS (a) (PARTITION p VALUES LESS THAN ('2')) => 1654 Partition column values of incorrect type
    RANGE COLUMNS (d) (PARTITION p VALUES LESS THAN ('2020-13-01')) => 1654 Partition column values of incorrect type
    RANGE COLUMNS (a, a) (PARTITION p VALUES LESS THAN (1, 2)) => 1652 Duplicate partition field name 'a'
    RANGE COLUMNS (a, d) (PARTITION p VALUES LESS THAN (1))
        => 1653 Inconsistency in usage of column lists for partitioning
    LIST COLUMNS (c) (PARTITION p VALUES IN ('a'), PARTITION q VALUES IN ('A'))
        => 1495 Multiple definition of same constant in list partitioning
    LIST (a) (PARTITION p VALUES IN (1, 1 + 0)) => 1495 Multiple definition of same constant in list partitioning
    HASH (a) PARTITIONS 0 => 1504 Number of partitions = 0 is not an allowed value
    HASH (a) PARTITIONS 8193 => 1499 Too many partitions (including subpartitions) were defined
    HASH (a) PARTITIONS 3 (PARTITION p) => 1484 Wrong number of partitions defined, mismatch with previous setting
    HASH (a) (PARTITION p, PARTITION P) => 1517 Duplicate partition name P
    HASH (a) (PARTITION `p `) => 1567 Incorrect partition name
    KEY () PARTITIONS 2
        => 1105 Table partition metadata not correct, neither partition expression or list of partition columns
    SYSTEM_TIME => 4128 Wrong Partitions: must have at least one HISTORY and exactly one last CURRENT
""")


@pytest.mark.parametrize(("partitions", "error"), PARTITIONS)
def test_invalid_partitions_raise_tidbs_error(partitions: str, error: str) -> None:
    columns = "a INT, u INT UNSIGNED, d DATE, s TIMESTAMP, m DECIMAL(9, 2), c CHAR(9) COLLATE utf8mb4_general_ci"
    assert refused(f"CREATE TABLE t ({columns}) PARTITION BY {partitions}", tables()) == error


VALID = [
    "(a INT(256))",
    "(a INT AUTO_INCREMENT, b INT, PRIMARY KEY (b, a))",
    "(a INT AUTO_INCREMENT)",
    "(a INT, b INT AS (a) STORED PRIMARY KEY)",
    "(a TIME) PARTITION BY RANGE COLUMNS (a) (PARTITION p VALUES LESS THAN ('10:00:00'))",
    "(a INT NOT NULL, UNIQUE (a)) PARTITION BY KEY () PARTITIONS 2",
    "(a INT, b INT AS (a + 1)) PARTITION BY HASH (b) PARTITIONS 2",
    "(a JSON, KEY ((CAST(a -> '$.x' AS UNSIGNED ARRAY))))",
    "(a INT PRIMARY KEY, b INT NOT NULL, UNIQUE (b) INVISIBLE)",
]


@pytest.mark.parametrize("definition", VALID)
def test_a_valid_definition_is_accepted(definition: str) -> None:
    assert not refused(f"CREATE TABLE t {definition}", tables())


def test_a_foreign_key_without_checks_may_precede_its_table() -> None:
    """The table must match the foreign key once it is created."""
    child = "SET foreign_key_checks = 0; CREATE TABLE child (a INT, FOREIGN KEY (a) REFERENCES later (id))"
    error = "3780 Referencing column 'a' and referenced column 'id' in foreign key constraint 'fk_1' are incompatible."
    assert refused(f"{child}; CREATE TABLE later (id VARCHAR(9) PRIMARY KEY)", tables()) == error
    assert not refused(f"{child}; CREATE TABLE later (id INT PRIMARY KEY)", tables())


def test_a_lenient_mode_ignores_the_empty_default_of_a_text() -> None:
    script = "SET sql_mode = ''; CREATE TABLE t (a TEXT NOT NULL DEFAULT '', b JSON NOT NULL DEFAULT ''); DESC t"
    assert shown(script, tables()) == "a,text,NO,,NULL,; b,json,NO,,null,"


def test_literals_of_bytes_are_defaults_in_the_charset_of_the_column() -> None:
    script = "CREATE TABLE t (a CHAR(2) CHARSET gbk DEFAULT 0xC4E3BAC3); INSERT INTO t VALUES (); TABLE t"
    assert shown(script, tables()) == "你好"


ALTERED_VISIBILITY = [
    "CREATE TABLE t (a INT NOT NULL, UNIQUE (a)); ALTER TABLE t ALTER INDEX a INVISIBLE",
    "CREATE TABLE t (a INT, UNIQUE (a) INVISIBLE); ALTER TABLE t MODIFY a INT NOT NULL",
    "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, UNIQUE (a), UNIQUE (b) INVISIBLE); ALTER TABLE t DROP KEY a",
]


@pytest.mark.parametrize("script", ALTERED_VISIBILITY)
def test_an_invisible_index_cannot_become_the_primary_key(script: str) -> None:
    """Without a primary key, it is the first unique index of NOT NULL columns."""
    assert refusal_number(script, tables()) == 3522


def test_a_name_of_a_database_has_64_characters() -> None:
    assert not refused(f"CREATE DATABASE {LONG[1:]}", tables())
    assert refusal_number(f"CREATE DATABASE {LONG}", tables()) == 1059


def test_two_columns_of_a_view_have_different_names() -> None:
    assert refused("CREATE VIEW v AS SELECT 1 AS a, id AS A FROM parent", tables()) == "1060 Duplicate column name 'A'"


@pytest.mark.parametrize("taken", ["TABLE l (a INT)", "VIEW l AS SELECT 1 AS a", "SEQUENCE l"])
def test_a_local_temporary_table_may_have_any_name_and_keeps_to_the_check_variable(taken: str) -> None:
    """tidb_enable_check_constraint is off: TiDB forgets the CHECK, with a column that is not there."""
    script = f"CREATE {taken}; CREATE TEMPORARY TABLE IF NOT EXISTS l (b INT CHECK (c > 1)); INSERT INTO l VALUES (0)"
    assert shown(f"{script}; TABLE l", tables()) == "0"


@pytest.mark.parametrize(
    ("view", "number"),
    [
        ("VIEW v (x) AS SELECT id, 1 FROM parent", 1353),
        ("VIEW v (x, y) AS SELECT id FROM parent", 1353),
        ("VIEW v AS SELECT @@sql_mode", 1351),
        ("VIEW v AS SELECT id FROM parent WHERE id IN (SELECT @a)", 1351),
        (f"VIEW v ({LONG}) AS SELECT 1", 1059),
        (f"DEFINER = {'u' * 33} VIEW v AS SELECT 1", 1470),
        ("VIEW taken (x, y) AS SELECT id FROM parent", 1353),
    ],
)
def test_a_view_has_as_many_names_as_columns_and_no_variables(view: str, number: int) -> None:
    assert refusal_number(f"CREATE {view}", tables()) == number


def test_a_long_expression_gives_a_column_of_a_view_a_number_for_a_name() -> None:
    script = f"CREATE VIEW v AS SELECT 1, '{LONG}', 2 AS b; DESC v"
    assert [line.split(",")[0] for line in shown(script, tables()).split("; ")] == ["1", "name_exp_2", "b"]


def test_a_view_is_shown_with_its_definer() -> None:
    script = "CREATE ALGORITHM = MERGE DEFINER = me@h SQL SECURITY INVOKER VIEW v AS SELECT 1; SHOW CREATE VIEW v"
    assert "CREATE ALGORITHM=MERGE DEFINER=`me`@`h` SQL SECURITY INVOKER VIEW `v`" in shown(script, tables())


def test_a_sequence_caches_a_number_at_least() -> None:
    assert refusal_number("CREATE SEQUENCE s CACHE 0", tables()) == 4136
    assert "nocache" in shown("CREATE SEQUENCE s CACHE 2 NOCACHE; SHOW CREATE SEQUENCE s", tables())


@pytest.mark.parametrize(
    ("statement", "number"),
    [("GLOBAL TEMPORARY TABLE taken", 8007), ("GLOBAL TEMPORARY TABLE l", 8007), ("TEMPORARY TABLE l, taken", 1051)],
)
def test_a_drop_of_temporary_tables_drops_no_others(statement: str, number: int) -> None:
    script = f"CREATE TEMPORARY TABLE l (a INT); DROP {statement}"
    assert refusal_number(script, tables()) == number
    assert (
        shown("CREATE TEMPORARY TABLE l (a INT); DROP TEMPORARY TABLE IF EXISTS l, taken; TABLE l", tables())
        == "(none)"
    )


def test_later_releases_show_the_current_date_in_parentheses() -> None:
    script = "CREATE TABLE t (a DATE DEFAULT (CURRENT_DATE())); SHOW CREATE TABLE t"
    assert "DEFAULT CURRENT_DATE" in shown(script, tables())
    assert "DEFAULT (CURRENT_DATE)" in shown(script, in_test(find("v8.5.3")))


def test_later_releases_allow_more_functions_in_defaults() -> None:
    """JSON_OBJECT is one of them."""
    for release, number in (("v8.0.0", 3770), ("v8.5.3", 0)):
        script = "CREATE TABLE t (a JSON DEFAULT (JSON_OBJECT()))"
        assert refusal_number(script, in_test(find(release))) == number


@pytest.mark.parametrize(("release", "number"), [("v8.1.0", 0), ("v8.1.1", 1493), ("v8.2.0", 0), ("v8.3.0", 1493)])
def test_bounds_of_several_columns_increase_as_tuples(release: str, number: int) -> None:
    """In earlier releases, one greater column is enough."""
    bounds = "(PARTITION p VALUES LESS THAN (2, 1), PARTITION q VALUES LESS THAN (%s))"
    script = f"CREATE TABLE t (a INT, b INT) PARTITION BY RANGE COLUMNS (a, b) {bounds}"
    assert refusal_number(script % "1, 2", in_test(find(release))) == number
    assert refusal_number(script % "2, 2", in_test(find(release))) == 0
    assert refusal_number(script % "2, 0", in_test(find(release))) == 1493


def test_names_in_expressions_lose_their_table() -> None:
    """So they outlive a new name of it."""
    script = """
        CREATE TABLE t (a INT, v INT AS (t.a + 1), s INT AS (test.t.v * 2) STORED, KEY k ((t.a + 3)))
        PARTITION BY HASH (test.t.a); RENAME TABLE t TO u; INSERT INTO u (a) VALUES (4);
    """
    assert shown(f"{script} TABLE u", tables()) == "4,5,10"
    text = shown(f"{script} SHOW CREATE TABLE u", tables())
    assert all(part in text for part in ("(`a` + 1)", "(`v` * 2)", "((`a` + 3))", "HASH (`a`)")), text


def test_later_releases_show_a_parent_without_its_own_database() -> None:
    script = (
        "CREATE DATABASE d; CREATE TABLE d.p (a INT PRIMARY KEY); CREATE TABLE p (a INT PRIMARY KEY); CREATE TABLE c (\
        a INT, FOREIGN KEY (a) REFERENCES p (a), FOREIGN KEY (a) REFERENCES d.p (a)); SHOW CREATE TABLE c"
    )
    for release, parent in (("v8.0.0", "`test`.`p`"), ("v8.1.0", "`p`")):
        text = shown(script, in_test(find(release)))
        assert f"REFERENCES {parent} (`a`)" in text and "REFERENCES `d`.`p` (`a`)" in text


def test_a_table_without_a_ttl_job_interval_shows_the_releases() -> None:
    script = "CREATE TABLE t (d DATE) TTL = d + INTERVAL 1 DAY; SHOW CREATE TABLE t"
    for release, interval in (("v8.5.3", "1h"), ("v26.3.4", "24h")):
        assert f"TTL_JOB_INTERVAL='{interval}'" in shown(script, in_test(find(release)))


def test_the_job_of_interval_partitioning_lists_the_partitions() -> None:
    """TiDB replaces INTERVAL by the partitions."""
    made = TiCDC("v8.0.0", sink_uri=KAFKA, databases=["test"], config={"force-replicate": True})
    made.execute(
        "CREATE TABLE t (a TINYINT) PARTITION BY RANGE COLUMNS (a)"
        " INTERVAL (10) FIRST PARTITION LESS THAN (10) LAST PARTITION LESS THAN (20) NULL PARTITION"
    )
    partitions = (
        "(PARTITION `P_NULL` VALUES LESS THAN (-128),PARTITION `P_LT_10` VALUES LESS THAN (10),"
        "PARTITION `P_LT_20` VALUES LESS THAN (20))"
    )
    sent = {getattr(event, "query", "") for event in made.events()} - {""}
    assert sent == {f"CREATE TABLE `t` (`a` TINYINT) PARTITION BY RANGE COLUMNS (`a`) {partitions}"}


def test_defaults_are_converted_to_the_type_of_the_column() -> None:
    """A hexadecimal number gets the scale of the column; 0 of a YEAR is stored as text, which is 2000."""
    table = "CREATE TABLE t (a INT, b DECIMAL(5, 2) DEFAULT x'41', c YEAR DEFAULT 0, d YEAR DEFAULT '0000')"
    assert shown(f"{table}; INSERT INTO t (a) VALUES (1); SELECT b, c, d + 0 FROM t", tables()) == "65.00,2000,0"


def test_the_index_of_a_foreign_key_marks_no_column() -> None:
    """Open Protocol's flags are those of a column without a key: 65 instead of 97."""
    made = TiCDC("v8.0.0", sink_uri=KAFKA, databases=["test"], config={"force-replicate": True})
    made.execute("CREATE TABLE p (id INT PRIMARY KEY)")
    made.execute("CREATE TABLE c (id INT PRIMARY KEY, p BLOB, q INT, FOREIGN KEY (q) REFERENCES p (id))")
    made.execute("INSERT INTO c VALUES (1, 'x', NULL)")
    assert b'"q":{"t":3,"f":65,"v":null}' in b"".join(message.value or b"" for message in made.messages())


def test_a_prefix_of_the_handle_is_not_checked_as_it_is_no_index() -> None:
    assert "PRIMARY KEY (`a`) " in shown("CREATE TABLE t (a INT, PRIMARY KEY (a(4))); SHOW CREATE TABLE t", tables())
    assert refusal_number("CREATE TABLE t (a INT, PRIMARY KEY (a(4)) NONCLUSTERED)", tables()) == 1089
