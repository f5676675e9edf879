"""Invalid statements raise errors with TiDB's code and text."""

from __future__ import annotations

import pytest
from support.upstreams import after, cases, ddl_refusal, grouped, in_test, played, refusal_number

from simulator.releases import find
from simulator.tidb.ddl.defaults import row_default

T = (
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, b VARCHAR(20), c DECIMAL(8,2),"
    " g INT AS (a + 1), d INT, KEY kb (b), KEY kab (a, b), KEY kf ((c + 1)), KEY kd (d))"
)
SPECS = grouped("""
    ADD COLUMN A INT | ADD KEY (a, A) => schema:1060 Duplicate column name 'A'
    ADD x INT AUTO_INCREMENT => ddl:8200 unsupported add column 'x' constraint AUTO_INCREMENT when altering 'test.t'
    ADD x INT UNIQUE => ddl:8200 unsupported add column 'x' constraint UNIQUE KEY when altering 'test.t'
    ADD x INT PRIMARY KEY => ddl:8200 unsupported add column 'x' constraint PRIMARY KEY when altering 'test.t'
    ADD x INT AFTER y => schema:1054 Unknown column 'y' in 't'
    ADD x INT, ADD y INT AFTER x | MODIFY x INT | RENAME COLUMN x TO y => schema:1054 Unknown column 'x' in 't'
    ADD x INT, ADD KEY (x) => ddl:1072 column does not exist: x
    ADD x INT AS (nope) => ddl:1054 Unknown column 'nope' in 'generated column function'
    ADD x INT AS (a) STORED
        => ddl:3106 'Adding generated stored column through ALTER TABLE' is not supported for generated columns.
    ADD x INT AS (id) => ddl:3109 Generated column 'x' cannot refer to auto-increment column.
    ADD x INT AS (g) FIRST => ddl:3107 Generated column can refer only to generated columns defined prior to it.
    ADD x INT AS (LOWER(a, b)) | MODIFY g INT AS (LOWER(a, b))
        => expression:1582 Incorrect parameter count in the call to native function 'lower'
    ADD x INT AS (RAND()) STORED => ddl:3102 Expression of generated column 'x' contains a disallowed function.
    MODIFY g INT AS (RAND()) => ddl:3102 Expression of generated column 'g' contains a disallowed function.
    MODIFY g INT AS (id) => ddl:3109 Generated column 'g' cannot refer to auto-increment column.
    MODIFY g INT AS (g) => ddl:3107 Generated column can refer only to generated columns defined prior to it.
    ADD `_V$_kf_0` INT => schema:1060 Duplicate column name '_V$_kf_0'
    ADD KEY k ((JSON_PRETTY(c)))
        => ddl:3757 Cannot create an expression index on an expression that returns a BLOB or TEXT. Please consider using CAST
    ADD KEY ((RAND())) => ddl:3758 Expression of expression index 'expression_index' contains a disallowed function
    MODIFY id INT AUTO_RANDOM
        => ddl:8216 Invalid auto random: auto_random option must be defined on `bigint` column, but not on `int` column
    AUTO_ID_CACHE = 9223372036854775808 => ddl:1105 table option auto_id_cache overflows int64
    MODIFY id INT AUTO_INCREMENT DEFAULT (UUID()) => types:1067 Invalid default value for 'id'
    ADD PARTITION (PARTITION `p ` VALUES LESS THAN (1)) => ddl:1567 Incorrect partition name
    ADD x INT NOT NULL DEFAULT NULL | ADD x INT DEFAULT 'abc' => types:1067 Invalid default value for 'x'
    ADD x TINYINT DEFAULT 128 | ADD x INT UNSIGNED DEFAULT -1 => types:1067 Invalid default value for 'x'
    ADD x VARCHAR(2) DEFAULT 'abc' | ADD x DECIMAL(4,2) DEFAULT 100 => types:1067 Invalid default value for 'x'
    ADD x DATE DEFAULT '2020-02-30' | ADD x DATETIME DEFAULT 'soon' => ddl:1067 Invalid default value for 'x'
    ADD x ENUM('p') DEFAULT 'q' => ddl:1067 Invalid default value for 'x'
    ADD x VARCHAR(20000) => types:1074 Column length too big for column 'x' (max = 16383); use BLOB or TEXT instead
    ADD x DECIMAL(66) => types:1426 Too-big precision 66 specified for 'x'. Maximum is 65.
    ADD x ENUM('p', 'p') => types:1291 Column 'x' has duplicated value 'p' in ENUM
    ADD x TEXT DEFAULT 'q' => ddl:1101 BLOB/TEXT/JSON column 'x' can't have a default value
    ADD x VARCHAR(40) DEFAULT (UUID())
        => ddl:1674 Statement is unsafe because it uses a system function that may return a different value on the slave
    ADD x INT, ADD x INT => ddl:8200 Unsupported operate same column 'x'
    DROP x => ddl:1091 Can't DROP 'x'; check that column/key exists
    DROP id => ddl:8200 Unsupported drop integer primary key
    DROP b => ddl:8200 can't drop column b with composite index covered or Primary Key covered now
    DROP a | CHANGE a a2 INT => ddl:3108 Column 'a' has a generated column dependency.
    DROP c => ddl:3837 Column 'c' has an expression index dependency and cannot be dropped or renamed
    RENAME COLUMN c TO y => ddl:3837 Column 'c' has an expression index dependency and cannot be dropped or renamed
    DROP g, DROP g => ddl:8200 Unsupported operate same column 'g'
    DROP g, ADD g INT => schema:1060 Duplicate column name 'g'
    CHANGE b id INT => schema:1060 Duplicate column name 'id'
    MODIFY a INT UNIQUE => ddl:8200 can't change column constraint (UNIQUE KEY)
    MODIFY b INT PRIMARY KEY => ddl:8200 can't change column constraint (PRIMARY KEY)
    MODIFY id VARCHAR(20) => ddl:8200 Unsupported modify column: this column has primary key flag
    MODIFY id INT NULL
        => ddl:1171 All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead
    MODIFY id INT
        => ddl:8200 Unsupported modify column: can't remove auto_increment without @@tidb_allow_remove_auto_inc enabled
    MODIFY c DATETIME
        => ddl:8200 Unsupported modify column: [ddl:8200]Unsupported modify column: change from original type decimal(8,2) to datetime is currently unsupported yet
    MODIFY b BIT(4)
        => ddl:8200 Unsupported modify column: [ddl:8200]Unsupported modify column: change from original type varchar(20) to bit(4) is currently unsupported yet
    MODIFY a VARCHAR(4) => ddl:8200 Unsupported modify column: column has related generated column
    MODIFY a BIGINT
        => ddl:3106 '[ddl:3108]Column 'a' has a generated column dependency.' is not supported for generated columns.
    MODIFY g INT AS (a + 1) STORED => ddl:3106 'Changing the STORED status' is not supported for generated columns.
    MODIFY b VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin
        => ddl:8200 Unsupported modify charset from utf8mb4 to latin1
    CHARACTER SET latin1 => ddl:8200 Unsupported modify charset from utf8mb4 to latin1
    MODIFY b VARCHAR(20) COLLATE utf8mb4_general_ci
        => ddl:8200 Unsupported modifying collation of column 'b' from 'utf8mb4_bin' to 'utf8mb4_general_ci' when index is defined on it.
    MODIFY b VARCHAR(4000) => ddl:1071 Specified key was too long (16000 bytes); max key length is 3072 bytes
    MODIFY b TEXT => ddl:1170 BLOB/TEXT column 'b' used in key specification without a key length
    MODIFY b VARCHAR(20) AFTER b => schema:1054 Unknown column 'b' in 't'
    RENAME COLUMN b TO a => schema:1060 Duplicate column name 'a'
    RENAME COLUMN b TO y, ADD z INT AFTER b => ddl:8200 Unsupported operate same column 'b'
    RENAME COLUMN b TO y, ADD KEY (b) => ddl:8200 Unsupported operate same column 'b'
    ALTER x SET DEFAULT 1 => ddl:1054 Unknown column 'x' in 't'
    ALTER a SET DEFAULT NULL => types:1067 Invalid default value for 'a'
    ADD KEY kb (a) => ddl:1061 Duplicate key name 'kb'
    ADD KEY (nope) => ddl:1072 column does not exist: nope
    ADD KEY (a(3))
        => ddl:1089 Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys
    ADD KEY (b(30))
        => ddl:1089 Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys
    ADD PRIMARY KEY (a) => schema:1068 Multiple primary key defined
    ADD PRIMARY KEY (a) CLUSTERED
        => ddl:8200 Adding clustered primary key is not supported. Please consider adding NONCLUSTERED primary key instead
    ADD KEY x (a), ADD KEY X (b) => ddl:8200 Unsupported operate same index 'x'
    DROP KEY nope => ddl:1091 index nope doesn't exist
    DROP PRIMARY KEY => ddl:8200 Unsupported drop primary key when the table is using clustered index
    RENAME KEY nope TO x | ALTER INDEX nope VISIBLE => schema:1176 Key 'nope' doesn't exist in table 't'
    RENAME KEY kb TO KAB => schema:1061 Duplicate key name 'kab'
    DROP COLUMN d, ALTER INDEX kd INVISIBLE => schema:1176 Key 'kd' doesn't exist in table 't'
    ALTER INDEX `primary` INVISIBLE => ddl:3522 A primary key index cannot be invisible
    DROP FOREIGN KEY f => schema:1091 Can't DROP 'f'; check that column/key exists
    ADD FOREIGN KEY (a) REFERENCES nope (id) => schema:1824 Failed to open the referenced table 'nope'
    ADD FOREIGN KEY (x) REFERENCES t (id) => ddl:1072 Key column 'x' doesn't exist in table
    RENAME TO x.t => ddl:1025 Error on rename of 'test.t' to 'x.t' (errno: 168 - Database `x` doesn't exist)
    RENAME TO u, ADD x INT => ddl:8200 Unsupported multi schema change for rename table
    ADD x INT, AUTO_ID_CACHE = 10 => ddl:8200 Unsupported multi schema change for modify auto id cache
    FORCE => ddl:8200 Unsupported Unsupported/unknown ALTER TABLE specification
    SHARD_ROW_ID_BITS = 4 => ddl:8200 Unsupported shard_row_id_bits for table with primary key as row id
    AUTO_RANDOM_BASE = 4 => ddl:8216 Invalid auto random: alter auto_random_base of a non auto_random table
    TTL_ENABLE = 'OFF' => ddl:8150 Cannot set TTL_ENABLE on a table without TTL config
    TTL = b + INTERVAL 1 DAY
        => ddl:8148 Field 'b' is of a not supported type for TTL config, expect DATETIME, DATE or TIMESTAMP
    CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
        => ddl:8200 Unsupported converting collation of column 'b' from 'utf8mb4_bin' to 'utf8mb4_general_ci' when index is defined on it.
    ADD PARTITION (PARTITION p VALUES LESS THAN (1))
        => ddl:1505 Partition management on a not partitioned table is not possible
    REMOVE PARTITIONING => ddl:1505 Partition management on a not partitioned table is not possible
    PARTITION BY HASH (a) PARTITIONS 2
        => ddl:1503 A PRIMARY KEY must include all columns in the table's partitioning function
    CHECK PARTITION p => ddl:8200 Unsupported check partition
""")


@pytest.mark.parametrize(("specs", "error"), SPECS)
def test_an_invalid_spec_raises_tidbs_error(specs: str, error: str) -> None:
    """Each spec is checked against the table before the statement."""
    assert ddl_refusal(T, f"ALTER TABLE t {specs}") == error


def test_a_long_name_is_refused() -> None:
    name = "x" * 65
    assert ddl_refusal(T, f"ALTER TABLE t ADD {name} INT") == f"ddl:1059 Identifier name '{name}' is too long"


P = (
    "CREATE TABLE t (a INT, b INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10),"
    " PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30))"
)
ON_PARTITIONS = cases("""
    ADD PARTITION (PARTITION P1 VALUES LESS THAN (40)) => ddl:1517 Duplicate partition name P1
    ADD PARTITION (PARTITION q VALUES LESS THAN (30))
        => ddl:1493 VALUES LESS THAN value must be strictly increasing for each partition
    ADD PARTITION (PARTITION q VALUES IN (1))
        => ddl:1480 Only LIST PARTITIONING can use VALUES IN in partition definition
    DROP PARTITION q => ddl:1507 Error in list of partitions to DROP
    DROP PARTITION p0, p1, p2 => ddl:1508 Cannot remove all partitions, use DROP TABLE instead
    TRUNCATE PARTITION Q => table:1735 Unknown partition 'q' in table 't'
    COALESCE PARTITION 1 => ddl:1509 COALESCE PARTITION can only be used on HASH/KEY partitions
    REORGANIZE PARTITION p0, p2 INTO (PARTITION q VALUES LESS THAN (30))
        => ddl:8200 Unsupported REORGANIZE PARTITION of RANGE; not adjacent partitions
    REORGANIZE PARTITION p0, p1 INTO (PARTITION q VALUES LESS THAN (25))
        => ddl:1493 VALUES LESS THAN value must be strictly increasing for each partition
    REORGANIZE PARTITION q INTO (PARTITION r VALUES LESS THAN (25)) => ddl:1567 Incorrect partition name
    EXCHANGE PARTITION p0 WITH TABLE nope => schema:1146 Table 'test.nope' doesn't exist
    EXCHANGE PARTITION p0 WITH TABLE u => ddl:1736 Tables have different definitions
    EXCHANGE PARTITION p0 WITH TABLE p => ddl:1732 Table to exchange with partition is partitioned: 'p'
    EXCHANGE PARTITION q WITH TABLE u => table:1735 Unknown partition 'q' in table 't'
    ADD UNIQUE x (b)
        => ddl:8264 Global Index is needed for index 'x', since the unique index is not including all partitioning columns, and GLOBAL is not given as IndexOption
    DROP a => ddl:3855 Column 'a' has a partitioning function dependency and cannot be dropped or renamed
    RENAME COLUMN a TO x => ddl:3855 Column 'a' has a partitioning function dependency and cannot be dropped or renamed
    MODIFY b VARCHAR(9) => ddl:8200 Unsupported modify column: table is partition table
    ADD x INT, DROP PARTITION p0 => ddl:8200 Unsupported multi schema change for drop partition
    MERGE FIRST PARTITION LESS THAN (60) => ddl:8200 Unsupported MERGE FIRST PARTITION
""")


@pytest.mark.parametrize(("spec", "error"), ON_PARTITIONS)
def test_an_invalid_spec_on_partitions_raises_tidbs_error(spec: str, error: str) -> None:
    """EXCHANGE PARTITION needs equal definitions."""
    others = ("CREATE TABLE u (a INT, b BIGINT)", "CREATE TABLE p LIKE t")
    assert ddl_refusal(P, *others, f"ALTER TABLE t {spec}") == error


def test_partitions_are_exchanged_with_tables_of_the_same_definition() -> None:
    """Both definitions stay unchanged."""
    tables = after(P, "CREATE TABLE u (a INT, b INT)")
    assert tables == after("ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE u", start=tables)


STATEMENTS = grouped("""
    CREATE TABLE t (x INT) | RENAME TABLE t TO t => schema:1050 Table 'test.t' already exists
    CREATE VIEW t AS SELECT 1 => schema:1050 Table 'test.t' already exists
    CREATE TABLE nope.t (x INT) | ALTER DATABASE nope CHARACTER SET utf8 => schema:1049 Unknown database 'nope'
    CREATE TABLE u (x INT, X INT) => schema:1060 Duplicate column name 'X'
    CREATE TABLE u (x INT, KEY (y)) => ddl:1072 column does not exist: y
    CREATE TABLE u (x INT PRIMARY KEY, y INT, PRIMARY KEY (y)) => schema:1068 Multiple primary key defined
    CREATE TABLE u (x INT, KEY k (x), KEY K (x)) => ddl:1061 Duplicate key name 'K'
    CREATE TABLE u LIKE nope | TRUNCATE nope => schema:1146 Table 'test.nope' doesn't exist
    ALTER TABLE nope COMMENT 'x' | RENAME TABLE nope TO x => schema:1146 Table 'test.nope' doesn't exist
    CREATE INDEX i ON nope (a) => schema:1146 Table 'test.nope' doesn't exist
    CREATE TABLE u (x INT, FOREIGN KEY (x) REFERENCES nope (y))
        => schema:1824 Failed to open the referenced table 'nope'
    CREATE TABLE u (x INT PRIMARY KEY, y INT) PARTITION BY HASH (y)
        => ddl:1503 A PRIMARY KEY must include all columns in the table's partitioning function
    DROP TABLE nope => schema:1051 Unknown table 'test.nope'
    DROP TABLE a.x, t, y => schema:1051 Unknown table 'a.x,test.y'
    ALTER TABLE nope.x ADD y INT => schema:1146 Table 'nope.x' doesn't exist
    RENAME TABLE t TO nope.t
        => ddl:1025 Error on rename of 'test.t' to 'nope.t' (errno: 168 - Database `nope` doesn't exist)
    RENAME TABLE t TO u, t TO v => schema:1146 Table 'test.t' doesn't exist
    DROP INDEX i ON t => ddl:1091 index i doesn't exist
    CREATE DATABASE TEST => schema:1007 Can't create database 'TEST'; database exists
    DROP DATABASE nope => schema:1008 Can't drop database 'nope'; database doesn't exist
    DROP VIEW v => schema:1051 Unknown table 'test.v'
    DROP SEQUENCE s => schema:4139 Unknown SEQUENCE: 'test.s'
    FLASHBACK TABLE nope => ddl:1105 Can't find dropped/truncated table: nope in DDL history jobs
    DROP VIEW t => ddl:1347 'test.t' is not VIEW
    ALTER TABLE t ADD d INT, DROP x => ddl:1091 Can't DROP 'x'; check that column/key exists
""")


@pytest.mark.parametrize(("statement", "error"), STATEMENTS)
def test_an_invalid_statement_raises_tidbs_error(statement: str, error: str) -> None:
    """With IF EXISTS or IF NOT EXISTS, it succeeds."""
    assert ddl_refusal("CREATE TABLE t (a INT)", statement) == error


FAMILY = (
    "CREATE TABLE p (id INT PRIMARY KEY, v INT, d DATE)",
    "CREATE TABLE c (x INT, y INT, CONSTRAINT f FOREIGN KEY (x) REFERENCES p (id))",
)
FOREIGN_KEYS = cases("""
    DROP TABLE p => ddl:3730 Cannot drop table 'p' referenced by a foreign key constraint 'f' on table 'c'.
    TRUNCATE p => ddl:1701 Cannot truncate a table referenced in a foreign key constraint (`test`.`c` CONSTRAINT `f`)
    ALTER TABLE c DROP KEY f => ddl:1553 Cannot drop index 'f': needed in a foreign key constraint
    ALTER TABLE c ADD KEY k (y); ALTER TABLE c DROP KEY k, ADD FOREIGN KEY (y) REFERENCES p (id)
        => ddl:1553 Cannot drop index 'k': needed in a foreign key constraint
    ALTER TABLE c DROP COLUMN x => ddl:1828 Cannot drop column 'x': needed in a foreign key constraint 'f'
    ALTER TABLE c CHANGE x z BIGINT
        => ddl:3780 Referencing column 'z' and referenced column 'id' in foreign key constraint 'f' are incompatible.
    ALTER TABLE p ADD z INT; ALTER TABLE c MODIFY x BIGINT
        => ddl:3780 Referencing column 'x' and referenced column 'id' in foreign key constraint 'f' are incompatible.
    ALTER TABLE c ADD CONSTRAINT F FOREIGN KEY (x) REFERENCES p (id)
        => ddl:1826 Duplicate foreign key constraint name 'F'
    ALTER TABLE c ADD FOREIGN KEY (x) REFERENCES p (w)
        => schema:3734 Failed to add the foreign key constraint. Missing column 'w' for constraint 'fk_2' in the referenced table 'p'
    ALTER TABLE c ADD FOREIGN KEY (x) REFERENCES p (v)
        => schema:1822 Failed to add the foreign key constraint. Missing index for constraint 'fk_2' in the referenced table 'p'
    ALTER TABLE p TTL = d + INTERVAL 1 DAY => ddl:8152 Set TTL for a table referenced by foreign key is not allowed
""")


@pytest.mark.parametrize(("statements", "error"), FOREIGN_KEYS)
def test_foreign_keys_protect_their_columns_and_indexes(statements: str, error: str) -> None:
    """Both the child and the parent are protected."""
    assert ddl_refusal(*FAMILY, *statements.split("; ")) == error
    assert not after(*FAMILY, "DROP TABLE p, c").tables


@pytest.mark.parametrize(
    "expression",
    ["replace(a, 'x', 'y')", "`LOWER`(`A`)", "CASE 1 WHEN 2 THEN t.a END", "a -> '$.x'", "'a' IN (1, (a))"],
)
def test_a_column_of_a_generation_expression_cannot_be_dropped(expression: str) -> None:
    """The expression may spell the column in any way."""
    made = f"CREATE TABLE t (a JSON, c INT, b INT AS ({expression}))"
    assert ddl_refusal(made, "ALTER TABLE t DROP a") == "ddl:3108 Column 'a' has a generated column dependency."
    after(made, "ALTER TABLE t DROP c")


def test_an_unqualified_name_needs_a_current_database() -> None:
    """Otherwise, the error is TiDB's 1046."""
    with pytest.raises(Exception, match=r"\[planner:1046\] No database selected"):
        after("CREATE TABLE t (a INT)", database="")


def test_cached_tables_allow_nocache_only() -> None:
    """Other changes and DROP are errors."""
    start = ("CREATE TABLE t (a INT)", "ALTER TABLE t CACHE")
    for statement, what in (
        ("ALTER TABLE t ADD b INT", "Alter Table"),
        ("DROP TABLE t", "Drop Table"),
        ("TRUNCATE t", "Truncate Table"),
    ):
        assert ddl_refusal(*start, statement) == f"ddl:8242 '{what}' is unsupported on cache tables."
    assert after(*start, "ALTER TABLE t NOCACHE", "DROP TABLE t").tables == {}


DEFAULTS = grouped("""
    DATETIME DEFAULT '99999999999999' | TIMESTAMP DEFAULT '1900-01-01' => ddl:1067 Invalid default value for 'a'
    TIMESTAMP DEFAULT '2039-01-01' | DATETIME DEFAULT '2020-01-01 25:00:00' => ddl:1067 Invalid default value for 'a'
    DATETIME DEFAULT '9999-12-31 23:59:59.9' | DATETIME DEFAULT 'now' => ddl:1067 Invalid default value for 'a'
    DATETIME DEFAULT 0 | DATE DEFAULT '2020-02-30' => ddl:1067 Invalid default value for 'a'
    DATE DEFAULT '0000-00-00' | DATE DEFAULT 20201301 => ddl:1067 Invalid default value for 'a'
    YEAR DEFAULT 1900 | YEAR DEFAULT 'x' | YEAR DEFAULT 2156 => types:1067 Invalid default value for 'a'
    TINYINT DEFAULT 128 | FLOAT UNSIGNED DEFAULT -1 => types:1067 Invalid default value for 'a'
    DECIMAL(3,1) UNSIGNED DEFAULT -1 | DECIMAL(3,1) DEFAULT 100 => types:1067 Invalid default value for 'a'
    TIME DEFAULT '9999999999999999999' => types:1292 Truncated incorrect time value: '9999999999999999999'
    TIME DEFAULT '839:00:00' => types:1292 Truncated incorrect time value: '839:00:00'
    TIME DEFAULT '10:61:00' => types:1292 Truncated incorrect time value: '10:61:00'
    TIME DEFAULT 'x' => types:1292 Truncated incorrect time value: 'x'
""")


@pytest.mark.parametrize(("definition", "error"), DEFAULTS)
def test_an_invalid_default_raises_tidbs_error(definition: str, error: str) -> None:
    """It does so in CREATE TABLE and in ADD COLUMN. The texts were measured on TiDB v8.0."""
    assert ddl_refusal(f"CREATE TABLE t (id INT PRIMARY KEY, a {definition})") == error
    assert ddl_refusal("CREATE TABLE t (id INT)", f"ALTER TABLE t ADD COLUMN a {definition}") == error


NORMALIZED = grouped("""
    DATETIME DEFAULT '20200102' => 2020-01-02 00:00:00
    DATETIME DEFAULT 200102030405 => 2020-01-02 03:04:05
    DATETIME(2) DEFAULT '2020-1-2T3:4:5.678' => 2020-01-02 03:04:05.68
    DATETIME DEFAULT '2020-12-31 23:59:59.5' => 2021-01-01 00:00:00
    TIMESTAMP(3) DEFAULT '99.12.31 23^59' => 1999-12-31 23:59:00.000
    DATE DEFAULT 101 => 2000-01-01
    DATE DEFAULT '2020-01-02 10:11:12' => 2020-01-02
    TIME DEFAULT '1 2:03' => 26:03:00
    TIME(1) DEFAULT '-10:11:12.36' => -10:11:12.4
    TIME DEFAULT 101112 | TIME DEFAULT '2020-01-01 10:11:12' => 10:11:12
    TIME DEFAULT '838:59:59' => 838:59:59
    YEAR DEFAULT 70 => 1970
    YEAR DEFAULT '0' | YEAR DEFAULT 0 => 2000
    YEAR DEFAULT 2155 => 2155
""")


@pytest.mark.parametrize(("definition", "text"), NORMALIZED)
def test_a_default_in_another_spelling_is_normalized(definition: str, text: str) -> None:
    table = after(f"CREATE TABLE t (id INT PRIMARY KEY, a {definition})").tables["test", "t"]
    assert row_default(table.columns[-1]) == text


CLAUSES = grouped("""
    ALTER TABLE t COMPACT | ALTER TABLE p ANALYZE PARTITION p0, P0 => 0
    SET sql_mode = 'STRICT_TRANS_TABLES'; CREATE TABLE z (d DATETIME DEFAULT 0, e DATE DEFAULT '0000-00-00') => 0
    ALTER TABLE t ATTRIBUTES 'a=b, c = d' | ALTER TABLE t PLACEMENT POLICY = EAST => 0
    ALTER TABLE t PLACEMENT POLICY DEFAULT | DROP PLACEMENT POLICY IF EXISTS west => 0
    CREATE OR REPLACE PLACEMENT POLICY east FOLLOWERS = 1 | ALTER TABLE t ALTER d SET DEFAULT (CURRENT_TIMESTAMP) => 0
    ALTER TABLE t ALTER b SET DEFAULT (UUID()) => 0
    SET tidb_allow_remove_auto_inc = ON; ALTER TABLE counted MODIFY n INT => 0
    SET tidb_allow_remove_auto_inc = ON; ALTER TABLE counted DROP COLUMN n => 0
    ALTER TABLE t ANALYZE PARTITION p0 => 1505
    ALTER TABLE p ANALYZE PARTITION p0, p1 | ALTER TABLE t CONVERT TO CHARSET DEFAULT => 1105
    CREATE TABLE z (d DATETIME DEFAULT 0) => 1067
    ALTER TABLE nope COMPACT => 1146
    ALTER TABLE t ATTRIBUTES 'bad' | ALTER TABLE t ATTRIBUTES 'a=b,a=c' => 8237
    ALTER TABLE p PARTITION p0 ATTRIBUTES '=a' => 8237
    ALTER TABLE t PLACEMENT POLICY = west | ALTER DATABASE test PLACEMENT POLICY west => 8239
    CREATE TABLE n (a INT) PLACEMENT POLICY west | CREATE DATABASE n PLACEMENT POLICY west => 8239
    ALTER TABLE p ADD PARTITION (PARTITION p1 VALUES LESS THAN (20) PLACEMENT POLICY west) => 8239
    DROP PLACEMENT POLICY west | ALTER PLACEMENT POLICY west FOLLOWERS = 2 => 8239
    CREATE PLACEMENT POLICY east FOLLOWERS = 1 => 8238
    ALTER TABLE parent ADD COLUMN ts DATETIME, TTL = ts + INTERVAL 1 DAY => 8152
    ALTER TABLE t ADD COLUMN ts DATETIME, TTL = ts + INTERVAL 1 DAY | ALTER TABLE t ALTER a SET DEFAULT (b) => 1054
    ALTER TABLE t MODIFY nope INT DEFAULT 'x' => 1054
    ALTER TABLE counted MODIFY n INT | ALTER TABLE counted DROP COLUMN n | ALTER TABLE t CACHE, ADD a INT => 8200
    ALTER TABLE t ALTER d SET DEFAULT (NOW()) | ALTER TABLE t ALTER b SET DEFAULT (CONCAT('a', 'b')) => 3770
    ALTER TABLE t ALTER j SET DEFAULT ('1') => 1101
    ALTER TABLE t MODIFY nope DECIMAL(3, 5) => 1427
    ALTER TABLE nope MODIFY nope DECIMAL(70, 5) => 1426
    ALTER TABLE t MODIFY nope CHAR(300) => 1074
    ALTER TABLE t CHANGE b a BIT(65) => 1439
    ALTER TABLE t MODIFY IF EXISTS nope BIT(0) => 3013
    ALTER TABLE t ADD COLUMN a SET('a,b') => 1367
    ALTER TABLE nope ADD INDEX i (a, a) => 1060
    ALTER TABLE t ADD INDEX (a), ALGORITHM = INSTANT => 1846
    ALTER TABLE t ALGORITHM = nosuch => 1800
    ALTER TABLE t LOCK = nosuch => 1801
    ALTER TABLE t ENGINE = nosuch => 1286
    ALTER TABLE t CHARSET utf8mb4 CHARSET latin1 => 1302
    CREATE INDEX `` ON t (a) => 1280
    ALTER TABLE t ADD PRIMARY KEY (a) INVISIBLE => 3522
""")


@pytest.mark.parametrize(("statement", "number"), CLAUSES)
def test_a_clause_is_accepted_or_refused_as_in_tidb(statement: str, number: str) -> None:
    """Depending on other objects, the session and the database."""
    tables = """
        CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), d DATETIME, j JSON);
        CREATE TABLE p (a INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10));
        CREATE TABLE counted (a INT PRIMARY KEY, n INT AUTO_INCREMENT, KEY (n));
        CREATE TABLE parent (id INT PRIMARY KEY);
        CREATE TABLE child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES parent (id));
        CREATE PLACEMENT POLICY east FOLLOWERS = 1"""
    assert refusal_number(statement, played(tables, in_test(find("v8.0.0"))).upstream) == int(number)
