"""CREATE TABLE text becomes a Table: spellings, versioned comments, names, keys, partitions, defaults."""

from __future__ import annotations

import pytest
from support.table_texts import DUMPLING

from simulator.tidb.ddl.definitions.from_sql import create_table, create_tables, parse_column_definition
from simulator.tidb.model.table import Column, Index, IndexColumn, Partition, Partitioning, Table
from simulator.tidb.model.types import mysql_type


def columns_of(definition: str, options: str = "") -> tuple[Column, ...]:
    return create_table(f"CREATE TABLE t ({definition}) {options}").columns


def indexes_of(definition: str) -> list[tuple[int, str, tuple[str, ...], bool]]:
    table = create_table(f"CREATE TABLE t ({definition})")
    return [(i.id, i.name, tuple(column.name for column in i.columns), i.unique) for i in table.indexes]


def partitioning_of(definition: str) -> Partitioning:
    found = create_table(f"CREATE TABLE t (`Id` INT, `Day` DATE, PRIMARY KEY (`Id`, `Day`)) {definition}").partitioning
    assert found is not None
    return found


def test_a_schema_file_of_dumpling_is_read_with_all_that_tidb_prints_in_versioned_comments() -> None:
    """Comments of features that TiDB knows are opened, others are not."""
    table = create_table(DUMPLING, "shop")
    assert ("shop", "orders", "of; shop") == (table.schema, table.name, table.comment)
    assert ("utf8mb4", "utf8mb4_0900_ai_ci") == (table.charset, table.collation)
    assert (("id",), True) == (table.primary_key, table.clustered)
    assert ["id", "doc", "city", "at", "v"] == [column.name for column in table.columns]
    identifier, _, city, at, vector = table.columns
    assert (True, True) == (identifier.auto_random, identifier.not_null)
    assert ("virtual", "json_unquote(json_extract(`doc`, _utf8mb4'$.c(it'))") == (
        city.generated,
        city.generated_expression,
    )
    assert ("CURRENT_TIMESTAMP(3)", True, "CURRENT_TIMESTAMP(3)") == (at.default, at.default_expression, at.on_update)
    assert "a; b, c) /* d */ -- e" == vector.comment


def test_indexes_have_the_ids_that_tidb_gives_them() -> None:
    """A clustered integer key takes none, a vector index takes one and is not listed."""
    assert (
        Index(1, "fx", (IndexColumn("_V$_fx_0", expression="lower(`city`)"), IndexColumn("at")), visible=False),
        Index(2, "uk", (IndexColumn("city", 10),), unique=True, comment="it's", unpartitioned=True),
        Index(4, "last", (IndexColumn("at"),)),
    ) == create_table(DUMPLING).indexes


def test_the_statement_is_kept_as_it_was_read_without_what_stands_before_it() -> None:
    """From CREATE to before the semicolon."""
    assert "CREATE TABLE t (a INT)" == create_table("SET NAMES binary;\n CREATE TABLE t (a INT) ;\n").statement


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop.t", ("shop", "t")),
        ("t", ("given", "t")),
        ('`Tést-DB`.`Order "Items" <&>`', ("Tést-DB", 'Order "Items" <&>')),
        ("`a``b`.`c.d`", ("a`b", "c.d")),
        ("数据.表", ("数据", "表")),
        ("IF NOT EXISTS `x` . `y`", ("x", "y")),
    ],
)
def test_names_keep_case_and_script_and_the_statement_s_schema_wins(name: str, expected: tuple[str, str]) -> None:
    """The argument counts where the name is not qualified."""
    table = create_table(f"create table {name} (a int)", "given")
    assert expected == (table.schema, table.name)


@pytest.mark.parametrize(
    "name",
    [
        "text",
        "date",
        "`key`",
        "status",
        "comment",
        "1st",
        "$x",
        "a$b",
        "ümlaut",
        "vector",
        "columnar",
        "start",
        "end",
        "enum",
        "year",
        "`a b`",
        "`tick``s`",
        "`back\\slash`",
    ],
)
def test_a_column_may_be_called_almost_anything(name: str) -> None:
    """Words that TiDB does not reserve need no quotes."""
    expected = name[1:-1].replace("``", "`") if name.startswith("`") else name
    assert [expected, "id"] == [column.name for column in columns_of(f"{name} INT, id INT PRIMARY KEY")]


@pytest.mark.parametrize(
    ("spelled", "shown"),
    [
        ("INT1", "tinyint(4)"),
        ("int2", "smallint(6)"),
        ("INT3", "mediumint(9)"),
        ("MIDDLEINT", "mediumint(9)"),
        ("INTEGER", "int(11)"),
        ("INT4(5)", "int(5)"),
        ("INT8 UNSIGNED", "bigint(20) unsigned"),
        ("BOOL", "tinyint(1)"),
        ("BOOLEAN", "tinyint(1)"),
        ("TINYINT ZEROFILL", "tinyint(3) unsigned zerofill"),
        ("INT SIGNED", "int(11)"),
        ("INT ZEROFILL UNSIGNED", "int(10) unsigned zerofill"),
        ("SERIAL", "bigint(20) unsigned"),
        ("DEC", "decimal(10,0)"),
        ("NUMERIC(5)", "decimal(5,0)"),
        ("FIXED(8,4)", "decimal(8,4)"),
        ("REAL", "double"),
        ("DOUBLE PRECISION", "double"),
        ("DOUBLE(20, 3)", "double(20,3)"),
        ("FLOAT8", "double"),
        ("FLOAT(24)", "float"),
        ("FLOAT(25)", "double"),
        ("FLOAT(7,2)", "float(7,2)"),
        ("FLOAT4", "float"),
        ("BIT", "bit(1)"),
        ("YEAR", "year(4)"),
        ("TIME(3)", "time(3)"),
        ("TIMESTAMP(0)", "timestamp"),
        ("CHARACTER", "char(1)"),
        ("CHAR(0)", "char(0)"),
        ("CHARACTER VARYING(9)", "varchar(9)"),
        ("NCHAR(3)", "char(3)"),
        ("NATIONAL CHAR(3)", "char(3)"),
        ("NATIONAL VARCHAR(3)", "varchar(3)"),
        ("NCHAR VARCHAR(3)", "varchar(3)"),
        ("NVARCHAR(3)", "varchar(3)"),
        ("NATIONAL CHARACTER VARYING(3)", "varchar(3)"),
        ("CHAR(3) CHARACTER SET binary", "binary(3)"),
        ("MEDIUMTEXT BYTE", "mediumblob"),
        ("VARCHAR(3) CHARSET binary", "varbinary(3)"),
        ("TEXT CHARACTER SET binary", "blob"),
        ("LONG", "mediumtext"),
        ("LONG VARCHAR", "mediumtext"),
        ("LONG VARBINARY", "mediumblob"),
        ("TEXT(63)", "tinytext"),
        ("TEXT(64)", "text"),
        ("TEXT(16384)", "mediumtext"),
        ("BLOB(255)", "tinyblob"),
        ("BLOB(256)", "blob"),
        ("BLOB(65536)", "mediumblob"),
        ("BLOB(16777216)", "longblob"),
        ("ENUM('a','it''s ','c,d')", "enum('a','it''s','c,d')"),
        ("SET ('x', 'é y')", "set('x','é y')"),
        ("VECTOR", "vector"),
        ("VECTOR(3)", "vector(3)"),
        ("VECTOR<FLOAT>(3)", "vector(3)"),
        ("JSON", "json"),
    ],
)
def test_every_spelling_of_a_type_is_understood(spelled: str, shown: str) -> None:
    """Synonyms, sizes that pick another type, flags that imply others."""
    assert shown == mysql_type(columns_of(f"c {spelled}")[0].type, full=True)


@pytest.mark.parametrize(
    ("definition", "options", "expected"),
    [
        ("VARCHAR(5)", "", ("utf8mb4", "utf8mb4_bin")),
        ("VARCHAR(5)", "CHARSET=latin1", ("latin1", "latin1_bin")),
        ("VARCHAR(5)", "DEFAULT CHARACTER SET utf8mb3", ("utf8", "utf8_bin")),
        ("VARCHAR(5)", "COLLATE utf8mb4_general_ci", ("utf8mb4", "utf8mb4_general_ci")),
        ("VARCHAR(5) COLLATE utf8_general_ci", "CHARSET=latin1", ("utf8", "utf8_general_ci")),
        ("VARCHAR(5) CHARACTER SET gbk", "", ("gbk", "gbk_chinese_ci")),
        ("TEXT ASCII", "", ("latin1", "latin1_bin")),
        ("VARCHAR(5) BINARY", "COLLATE=utf8mb4_general_ci", ("utf8mb4", "utf8mb4_bin")),
        ("VARBINARY(5)", "CHARSET=latin1", ("binary", "binary")),
        ("ENUM('a')", "CHARSET=latin1", ("latin1", "latin1_bin")),
        ("JSON", "", ("binary", "binary")),
        ("INT", "", ("binary", "binary")),
    ],
)
def test_charset_and_collation_come_from_the_column_else_the_table_else_tidb(
    definition: str, options: str, expected: tuple[str, str]
) -> None:
    """What is not text has charset binary."""
    type = columns_of(f"c {definition}", options)[0].type
    assert expected == (type.charset, type.collation)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("INT", None),
        ("INT DEFAULT NULL", None),
        ("INT DEFAULT '007'", "7"),
        ("INT DEFAULT -5", "-5"),
        ("DECIMAL(10,3) DEFAULT 1.5", "1.500"),
        ("BOOL DEFAULT TRUE", "1"),
        ("BIT(4) DEFAULT b'101'", "5"),
        ("BIT(8) DEFAULT 0x0F", "15"),
        ("INT DEFAULT 0x0F", "15"),
        ("VARCHAR(5) DEFAULT ''", ""),
        ("VARCHAR(9) DEFAULT _utf8mb4'it''s'", "it's"),
        ('VARCHAR(9) DEFAULT "q\\"\\n"', 'q"\n'),
        ("VARBINARY(4) DEFAULT x'41FF'", "Aÿ"),
        ("BINARY(4) DEFAULT 'a'", "a\0\0\0"),
        ("ENUM('a','b') DEFAULT 2", "b"),
        ("SET('a','b','c') DEFAULT 'c,a'", "a,c"),
        ("SET('a','b') DEFAULT 3", "a,b"),
        ("DATETIME(2) DEFAULT '2020-01-02'", "2020-01-02 00:00:00.00"),
        ("TIME(1) DEFAULT '10:00:00'", "10:00:00.0"),
        ("TIMESTAMP DEFAULT '0000-00-00 00:00:00'", "0000-00-00 00:00:00"),
        ("DOUBLE DEFAULT '1.5'", "1.5"),
    ],
)
def test_a_default_is_the_text_that_a_row_would_hold(definition: str, expected: str | None) -> None:
    """Numbers by scale, times by digits, members by name, bytes as Latin-1."""
    found = columns_of(f"c {definition}")[0]
    assert (expected, False) == (found.default, found.default_expression)


@pytest.mark.parametrize("expression", ["CURRENT_TIMESTAMP", "now()", "NEXT VALUE FOR `s`", "nextval(`d`.`s`)"])
def test_a_default_that_is_an_expression_stays_sql(expression: str) -> None:
    """In parentheses or, as TiDB allows for a few, without."""
    for written in (expression, f"({expression})"):
        found = columns_of(f"c BIGINT DEFAULT {written} COMMENT 'x'")[0]
        assert (expression, True, "x") == (found.default, found.default_expression, found.comment)


def test_options_of_a_column_come_in_any_order_and_null_is_one() -> None:
    """NULL, NOT NULL, COMMENT, COLLATE, CHECK, REFERENCES, STORAGE, KEY."""
    found = columns_of(
        "a INT COMMENT 'x' CHECK (a > 1) NOT NULL STORAGE DISK REFERENCES t2 (x) ON DELETE SET NULL DEFAULT 1,"
        "b VARCHAR(3) NULL COLLATE utf8mb4_general_ci COLUMN_FORMAT FIXED, c INT KEY, d INT AS (a + (1)) STORED UNIQUE"
    )
    assert [True, False, True, False] == [column.not_null for column in found]
    assert ("stored", "a + (1)") == (found[3].generated, found[3].generated_expression)


@pytest.mark.parametrize(
    ("key", "clustered"),
    [
        ("id INT PRIMARY KEY", True),
        ("id INT KEY NONCLUSTERED", False),
        ("id INT, PRIMARY KEY (ID) NONCLUSTERED", False),
        ("id INT PRIMARY KEY /*T![clustered_index] NONCLUSTERED */", False),
        ("id VARCHAR(5) PRIMARY KEY CLUSTERED", True),
        ("id INT, CONSTRAINT x PRIMARY KEY pk USING BTREE (id) COMMENT 'c'", True),
    ],
)
def test_a_primary_key_is_clustered_unless_the_statement_says_otherwise(key: str, clustered: bool) -> None:
    """TiDB's default; names of columns are compared without case."""
    table = create_table(f"CREATE TABLE t ({key})")
    assert (("id",), clustered, True) == (table.primary_key, table.clustered, table.columns[0].not_null)


def test_keys_beside_the_columns_come_before_keys_written_with_them() -> None:
    """Their ids decide between two that could be the handle."""
    assert [(1, "two", ("b",), True), (2, "PRIMARY", ("a",), True), (3, "b", ("b",), True)] == indexes_of(
        "a VARCHAR(5) PRIMARY KEY, b INT UNIQUE, UNIQUE INDEX two (B)"
    )


def test_keys_without_a_name_get_tidb_s() -> None:
    """The first column's, numbered where it is taken; a constraint's name counts for UNIQUE."""
    assert [
        (1, "a", ("a", "b"), False),
        (2, "a_2", ("a",), False),
        (3, "u", ("b",), True),
        (4, "expression_index", ("_V$_expression_index_0",), False),
    ] == indexes_of("a INT, b INT, KEY (a, b), INDEX (a), CONSTRAINT u UNIQUE (b), KEY ((a + 1)), FULLTEXT KEY f (a)")


def test_a_foreign_key_brings_an_index_unless_one_begins_with_its_columns() -> None:
    """As TiDB adds it, after all others."""
    assert [(1, "k", ("a", "b"), False), (2, "fk_2", ("b",), False)] == indexes_of(
        "id INT PRIMARY KEY, a INT, b INT, FOREIGN KEY (a) REFERENCES p (x), FOREIGN KEY (b) REFERENCES p (y), "
        "CONSTRAINT own FOREIGN KEY (id) REFERENCES p (z) MATCH FULL ON UPDATE NO ACTION, KEY k (a, b)"
    )


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (
            "PARTITION BY RANGE (YEAR(`Day`)) (PARTITION p0 VALUES LESS THAN (2020) ENGINE = InnoDB,"
            " PARTITION `p 1` VALUES LESS THAN MAXVALUE COMMENT = 'x' /*T![placement] PLACEMENT POLICY=`pp` */)",
            Partitioning(
                "range", "YEAR(`Day`)", (), (Partition("p0", (("2020",),)), Partition("p 1", (("MAXVALUE",),)))
            ),
        ),
        (
            "PARTITION BY RANGE COLUMNS(day, id) (PARTITION p0 VALUES LESS THAN ('2020-01-01', 5 + (1)),"
            " PARTITION p1 VALUES LESS THAN (maxvalue, maxvalue))",
            Partitioning(
                "range",
                "",
                ("Day", "Id"),
                (Partition("p0", (("'2020-01-01'", "5 + (1)"),)), Partition("p1", (("MAXVALUE", "MAXVALUE"),))),
            ),
        ),
        (
            "PARTITION BY LIST (`Id`) (PARTITION p0 VALUES IN (1, -2, NULL), PARTITION p1 DEFAULT)",
            Partitioning(
                "list", "`Id`", (), (Partition("p0", (("1",), ("-2",), ("NULL",))), Partition("p1", (("DEFAULT",),)))
            ),
        ),
        (
            "PARTITION BY LIST COLUMNS(`Id`,`Day`) (PARTITION p0 VALUES IN ((1,'2020-01-01'),(NULL,NULL)))",
            Partitioning("list", "", ("Id", "Day"), (Partition("p0", (("1", "'2020-01-01'"), ("NULL", "NULL"))),)),
        ),
        (
            "PARTITION BY HASH (`Id` + 1) PARTITIONS 2",
            Partitioning("hash", "`Id` + 1", (), (Partition("p0"), Partition("p1"))),
        ),
        (
            "PARTITION BY LINEAR HASH (id) (PARTITION a, PARTITION b)",
            Partitioning("hash", "id", (), (Partition("a"), Partition("b"))),
        ),
        ("PARTITION BY KEY (day) PARTITIONS 2", Partitioning("key", "", ("Day",), (Partition("p0"), Partition("p1")))),
        ("PARTITION BY KEY ALGORITHM = 2 ()", Partitioning("key", "", ("Id", "Day"), (Partition("p0"),))),
    ],
)
def test_partitions_of_every_kind_are_read(definition: str, expected: Partitioning) -> None:
    """Expressions and bounds as SQL text; KEY without columns takes the primary key."""
    assert expected == partitioning_of(definition)


@pytest.mark.parametrize(
    "options",
    [
        "SHARD_ROW_ID_BITS=4 PRE_SPLIT_REGIONS=2",
        "/*T! SHARD_ROW_ID_BITS=4 PRE_SPLIT_REGIONS=2 */",
        "/*T![auto_id_cache] AUTO_ID_CACHE=1 */",
        "ENGINE = InnoDB, AUTO_INCREMENT = 5, ROW_FORMAT=COMPACT",
        "DATA DIRECTORY = '/x' UNION = (a, b) STATS_PERSISTENT=DEFAULT",
        "/*+ hint */ -- rest\n",
        "FORCE AUTO_INCREMENT = 9",
        "TTL = at + INTERVAL 1 DAY TTL_ENABLE = 'OFF'",
        "PLACEMENT POLICY p1",
        "INSERT_METHOD = FIRST # end",
    ],
)
def test_options_that_change_nothing_here_are_taken(options: str) -> None:
    """With and without `=` and commas."""
    assert "t" == create_table(f"CREATE TABLE t (a INT, at DATETIME) {options}").name


def test_temporary_tables_and_comments_anywhere_are_read() -> None:
    """Line comments of both kinds, block comments, a quote within them."""
    text = "-- it's\nCREATE /* a */ GLOBAL TEMPORARY TABLE t ( # it's\n a INT -- x\n, b INT) ON COMMIT DELETE ROWS"
    assert ["a", "b"] == [column.name for column in create_table(text).columns]


def test_several_tables_of_one_text_are_read_in_order() -> None:
    """Statements that make none are passed over."""
    text = "CREATE DATABASE d; USE d; DROP TABLE IF EXISTS a; CREATE TABLE a (x INT); CREATE TABLE e.b (x INT);"
    assert [("d", "a"), ("e", "b")] == [(table.schema, table.name) for table in create_tables(text, "d")]


def test_a_column_in_prose_may_lack_what_tidb_demands() -> None:
    """For type names in documents, not for tables."""
    assert ["varbinary", "enum", "varchar"] == [
        mysql_type(parse_column_definition(f"c {name}").type, full=False) for name in ("VARBINARY", "ENUM", "VARCHAR")
    ]


def test_the_same_text_gives_the_same_table() -> None:
    """A Table is a value."""
    first: Table = create_table(DUMPLING)
    assert first == create_table(DUMPLING)
