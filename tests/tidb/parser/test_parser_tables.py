"""CREATE TABLE text becomes a Table: spellings, versioned comments, names, keys, partitions, defaults; or it is refused, and
the error says where, what and what would be accepted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import DUMPLING, cases, grouped

from simulator.errors import SchemaError
from simulator.tidb.ddl.defaults import row_default
from simulator.tidb.ddl.table_definitions import create_table, create_tables
from simulator.tidb.model.table import Column, Index, IndexColumn, Partition, Partitioning
from simulator.tidb.model.types import mysql_type


def columns_of(definition: str, options: str = "") -> tuple[Column, ...]:
    return create_table(f"CREATE TABLE t ({definition}) {options}").columns


def test_a_schema_file_of_dumpling_is_read_with_all_that_tidb_prints_in_versioned_comments() -> None:
    """Comments of features that TiDB knows are opened, others are not."""
    table = create_table(DUMPLING, "shop")
    assert ("shop", "orders", "of; shop") == (table.schema, table.name, table.comment)
    assert ("utf8mb4", "utf8mb4_0900_ai_ci") == (table.charset, table.collation)
    assert (("id",), True) == (table.primary_key, table.clustered)
    assert ["id", "doc", "city", "at", "v"] == [column.name for column in table.columns]
    identifier, _, city, at, vector = table.columns
    assert (True, True) == (identifier.auto_random, identifier.not_null)
    assert city.generated == "virtual"
    assert city.generated_expression == "json_unquote(json_extract(`doc`, _utf8mb4'$.c(it'))"
    assert ("CURRENT_TIMESTAMP(3)", True, "CURRENT_TIMESTAMP(3)") == (at.default, at.default_expression, at.on_update)
    assert "a; b, c) /* d */ -- e" == vector.comment
    assert table == create_table(DUMPLING, "shop")


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


NAMES = cases(r"""
    shop.t => shop => t
    t => given => t
    `Tést-DB`.`Order "Items" <&>` => Tést-DB => Order "Items" <&>
    `a``b`.`c.d` => a`b => c.d
    数据.表 => 数据 => 表
    IF NOT EXISTS `x` . `y` => x => y
""")


@pytest.mark.parametrize(("name", "schema", "table"), NAMES)
def test_names_keep_case_and_script_and_the_statement_s_schema_wins(name: str, schema: str, table: str) -> None:
    """The argument counts where the name is not qualified."""
    found = create_table(f"create table {name} (a int)", "given")
    assert (schema, table) == (found.schema, found.name)


@pytest.mark.parametrize(
    "name",
    "text|date|`key`|status|comment|1st|$x|a$b|ümlaut|vector|columnar|start|end|enum|year|`a b`|`tick``s`|`back\\slash`".split(
        "|"
    ),
)
def test_a_column_may_be_called_almost_anything(name: str) -> None:
    """Words that TiDB does not reserve need no quotes."""
    expected = name[1:-1].replace("``", "`") if name.startswith("`") else name
    assert [expected, "id"] == [column.name for column in columns_of(f"{name} INT, id INT PRIMARY KEY")]


@pytest.mark.slow
@settings(max_examples=100)
@given(st.text(min_size=1, max_size=20).filter(lambda name: name.strip()), st.text(max_size=20))
def test_any_name_and_comment_survive_quoting(name: str, comment: str) -> None:
    """As TiDB prints them: back-quotes doubled, quotes doubled, backslashes escaped."""
    quoted, escaped = name.replace("`", "``"), comment.replace("\\", "\\\\").replace("'", "''")
    table = create_table(f"CREATE TABLE `{quoted}` (`{quoted}` INT COMMENT '{escaped}') COMMENT='{escaped}'")
    (column,) = table.columns
    assert (name, name, comment, comment) == (table.name, column.name, table.comment, column.comment)


TYPES = grouped("""
    INT1 => tinyint(4)
    int2 => smallint(6)
    INT3 | MIDDLEINT => mediumint(9)
    INTEGER | INT SIGNED => int(11)
    INT4(5) => int(5)
    INT8 UNSIGNED | SERIAL => bigint(20) unsigned
    BOOL | BOOLEAN => tinyint(1)
    TINYINT ZEROFILL => tinyint(3) unsigned zerofill
    INT ZEROFILL UNSIGNED => int(10) unsigned zerofill
    DEC => decimal(10,0)
    NUMERIC(5) => decimal(5,0)
    FIXED(8,4) => decimal(8,4)
    REAL | DOUBLE PRECISION | FLOAT8 | FLOAT(25) => double
    DOUBLE(20, 3) => double(20,3)
    FLOAT(24) | FLOAT4 => float
    FLOAT(7,2) => float(7,2)
    BIT => bit(1)
    YEAR => year(4)
    TIME(3) => time(3)
    TIMESTAMP(0) => timestamp
    CHARACTER => char(1)
    CHAR(0) => char(0)
    CHARACTER VARYING(9) => varchar(9)
    NCHAR(3) | NATIONAL CHAR(3) => char(3)
    NATIONAL VARCHAR(3) | NCHAR VARCHAR(3) | NVARCHAR(3) | NATIONAL CHARACTER VARYING(3) => varchar(3)
    CHAR(3) CHARACTER SET binary => binary(3)
    MEDIUMTEXT BYTE | LONG VARBINARY | BLOB(65536) => mediumblob
    VARCHAR(3) CHARSET binary => varbinary(3)
    TEXT CHARACTER SET binary | BLOB(256) => blob
    LONG | LONG VARCHAR | TEXT(16384) => mediumtext
    TEXT(63) => tinytext
    TEXT(64) => text
    BLOB(255) => tinyblob
    BLOB(16777216) => longblob
    ENUM('a','it''s ','c,d') => enum('a','it''s','c,d')
    SET ('x', 'é y') => set('x','é y')
    VECTOR => vector
    VECTOR(3) | VECTOR<FLOAT>(3) => vector(3)
    JSON => json
""")


@pytest.mark.parametrize(("spelled", "shown"), TYPES)
def test_every_spelling_of_a_type_is_understood(spelled: str, shown: str) -> None:
    """Synonyms, sizes that pick another type, flags that imply others."""
    assert shown == mysql_type(columns_of(f"c {spelled}")[0].type, full=True)


CHARSETS = grouped("""
    VARCHAR(5) => ENGINE=x => utf8mb4_bin
    VARCHAR(5) | ENUM('a') => CHARSET=latin1 => latin1_bin
    VARCHAR(5) => DEFAULT CHARACTER SET utf8mb3 => utf8_bin
    VARCHAR(5) => COLLATE utf8mb4_general_ci => utf8mb4_general_ci
    VARCHAR(5) COLLATE utf8_general_ci => CHARSET=latin1 => utf8_general_ci
    VARCHAR(5) CHARACTER SET gbk => ENGINE=x => gbk_chinese_ci
    TEXT ASCII => ENGINE=x => latin1_bin
    VARCHAR(5) BINARY => COLLATE=utf8mb4_general_ci => utf8mb4_bin
    VARBINARY(5) => CHARSET=latin1 => binary
    JSON | INT => ENGINE=x => binary
""")


@pytest.mark.parametrize(("definition", "options", "collation"), CHARSETS)
def test_charset_and_collation_come_from_the_column_or_the_table(definition: str, options: str, collation: str) -> None:
    """What is not text has charset binary."""
    type = columns_of(f"c {definition}", options)[0].type
    assert (collation.partition("_")[0], collation) == (type.charset, type.collation)


DEFAULTS = grouped(r"""
    INT | INT DEFAULT NULL => (none)
    INT DEFAULT '007' => 7
    INT DEFAULT -5 => -5
    DECIMAL(10,3) DEFAULT 1.5 => 1.500
    BOOL DEFAULT TRUE => 1
    BIT(4) DEFAULT b'101' => 5
    BIT(8) DEFAULT 0x0F | INT DEFAULT 0x0F => 15
    VARCHAR(5) DEFAULT '' => (empty)
    VARCHAR(9) DEFAULT _utf8mb4'it''s' => it's
    VARCHAR(9) DEFAULT "q\"\n" => q"¶
    VARBINARY(4) DEFAULT x'41FF' => Aï¿½
    BINARY(4) DEFAULT 'a' => a␀␀␀
    ENUM('a','b') DEFAULT 2 => b
    SET('a','b','c') DEFAULT 'c,a' => a,c
    SET('a','b') DEFAULT 3 => a,b
    DATETIME(2) DEFAULT '2020-01-02' => 2020-01-02 00:00:00.00
    TIME(1) DEFAULT '10:00:00' => 10:00:00.0
    FLOAT(8,2) DEFAULT 0.005 => 0
    YEAR DEFAULT '70' => 1970
    BIT(64) DEFAULT -1 => 18446744073709551615
    BIT(16) DEFAULT '1' => 49
    TIMESTAMP DEFAULT '0000-00-00 00:00:00' => 0000-00-00 00:00:00
    DOUBLE DEFAULT '1.5' => 1.5
""")


@pytest.mark.parametrize(("definition", "expected"), DEFAULTS)
def test_a_default_is_the_text_that_a_row_would_hold(definition: str, expected: str) -> None:
    """Numbers by scale, times by digits, members by name; bytes as Latin-1, U+FFFD for what is no UTF-8."""
    (found,) = columns_of(f"c {definition}")
    wanted = {"(none)": None, "(empty)": ""}.get(expected, expected)
    assert (wanted, False) == (row_default(found), found.default_expression)


@pytest.mark.parametrize("expression", ["CURRENT_TIMESTAMP", "now()", "NEXT VALUE FOR `s`", "nextval(`d`.`s`)"])
def test_a_default_that_is_an_expression_stays_sql(expression: str) -> None:
    """In parentheses or, as TiDB allows for a few, without."""
    for written in (expression, f"({expression})"):
        (found,) = columns_of(f"c BIGINT DEFAULT {written} COMMENT 'x'")
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


INDEXES = cases("""
    a VARCHAR(5) PRIMARY KEY, b INT UNIQUE, UNIQUE INDEX two (B) => 1 two (b) unique, 2 PRIMARY (a) unique, 3 b (b) unique
    a INT, b INT, KEY (a, b), INDEX (a), CONSTRAINT u UNIQUE (b), KEY ((a + 1)), FULLTEXT KEY f (a)
        => 1 a (a b), 2 a_2 (a), 3 u (b) unique, 4 expression_index (_V$_expression_index_0)
    id INT PRIMARY KEY, a INT, b INT, FOREIGN KEY (a) REFERENCES p (x), FOREIGN KEY (b) REFERENCES p (y), CONSTRAINT own FOREIGN KEY (id) REFERENCES p (z) MATCH FULL ON UPDATE NO ACTION, KEY k (a, b)
        => 1 k (a b), 2 fk_2 (b)
""")


@pytest.mark.parametrize(("definition", "expected"), INDEXES)
def test_keys_are_numbered_and_named_as_in_tidb(definition: str, expected: str) -> None:
    """Keys beside the columns come before keys written with them. A key without a name gets the first column's, numbered
    where it is taken; a constraint's name counts for UNIQUE. A foreign key brings an index, after all others, unless one
    begins with its columns."""
    found = (
        f"{index.id} {index.name} ({' '.join(column.name for column in index.columns)}){' unique' * index.unique}"
        for index in create_table(f"CREATE TABLE t ({definition})").indexes
    )
    assert expected == ", ".join(found)


def parts(**values: tuple[tuple[str, ...], ...]) -> tuple[Partition, ...]:
    return tuple(Partition(name, rows) for name, rows in values.items())


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (
            "RANGE (YEAR(`Day`)) (PARTITION p0 VALUES LESS THAN (2020) ENGINE = InnoDB, PARTITION p1 VALUES LESS THAN"
            " MAXVALUE COMMENT = 'x' /*T![placement] PLACEMENT POLICY=`pp` */)",
            Partitioning("range", "YEAR(`Day`)", (), parts(p0=(("2020",),), p1=(("MAXVALUE",),))),
        ),
        (
            "RANGE COLUMNS(day, id) (PARTITION p0 VALUES LESS THAN ('2020-01-01', 5 + (1)), PARTITION `p1` VALUES LESS"
            " THAN (maxvalue, maxvalue))",
            Partitioning(
                "range", "", ("Day", "Id"), parts(p0=(("'2020-01-01'", "5 + (1)"),), p1=(("MAXVALUE", "MAXVALUE"),))
            ),
        ),
        (
            "LIST (`Id`) (PARTITION p0 VALUES IN (1, -2, NULL), PARTITION p1 DEFAULT)",
            Partitioning("list", "`Id`", (), parts(p0=(("1",), ("-2",), ("NULL",)), p1=(("DEFAULT",),))),
        ),
        (
            "LIST COLUMNS(`Id`,`Day`) (PARTITION p0 VALUES IN ((1,'2020-01-01'),(NULL,NULL)))",
            Partitioning("list", "", ("Id", "Day"), parts(p0=(("1", "'2020-01-01'"), ("NULL", "NULL")))),
        ),
        ("HASH (`Id` + 1) PARTITIONS 2", Partitioning("hash", "`Id` + 1", (), parts(p0=(), p1=()))),
        ("LINEAR HASH (id) (PARTITION a, PARTITION b)", Partitioning("hash", "id", (), parts(a=(), b=()))),
        ("KEY (day) PARTITIONS 2", Partitioning("key", "", ("Day",), parts(p0=(), p1=()))),
        ("KEY ALGORITHM = 2 ()", Partitioning("key", "", ("Id", "Day"), parts(p0=()))),
    ],
)
def test_partitions_of_every_kind_are_read(definition: str, expected: Partitioning) -> None:
    """Expressions and bounds as SQL text; KEY without columns takes the primary key."""
    table = f"CREATE TABLE t (`Id` INT, `Day` DATE, PRIMARY KEY (`Id`, `Day`)) PARTITION BY {definition}"
    assert expected == create_table(table).partitioning


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


MISTAKES = cases(r"""
    CREATE TABLE t (a intt) => 1:19: column 'a' has the unknown type 'intt'. Did you mean 'INT'?
    CREATE TABLE t (a INT,¶  g GEOMETRY) => 2:5: column 'g' has the spatial type GEOMETRY
    CREATE TABLE t (a INT,) => 1:23: ')' is not expected here. Accepted: a column name
    CREATE TABLE t (a INT => 1:22: the end of the statement is not expected here
    CREATE TABLE t (a INT¶ defalt 5) => 2:2: 'defalt' is not expected here. Did you mean 'DEFAULT'?
    CREATE TABLE t (a INT) ENGIN=x => 1:24: Did you mean 'ENGINE'?
    CREATE TABLE t (a INT) x => 1:24: Accepted: a table option
    CREATE TABLE t (a INT COMMENT 'x) => 1:31: what ' opens here is not closed
    CREATE TABLE `t (a INT) => 1:14: what ` opens here is not closed
    CREATE TABLE t (a INT AS (a + (1)) => 1:35: the end of the statement
    CREATE TABLE t (a INT AS (a + (1) => 1:26: this '(' has no ')'
    CREATE TABLE t (a INT) /*T![ttl TTL => 1:24: this '/*T![' has no ']'
    CREATE TABLE t (a INT) /* ENGINE=x => 1:24: this comment has no '*/'
    CREATE TABLE t (a INT) AS SELECT 1 => 1:24: write the columns out
    CREATE TABLE t LIKE s => 1:16: write its columns out
    CREATE TABLE t (KEY (a)) => 1:1: table 't' has no columns
    CREATE TABLE t (CHECK (1)) => 1:1: table 't' has no columns
    CREATE TABLE t (size INT, KEY (sise)) => 1:32: Did you mean 'size'?
    CREATE TABLE t (a INT, A INT) => 1:24: has column 'A' twice
    CREATE TABLE t (a INT, KEY k (a), KEY K (a)) => 1:35: key name 'K' twice
    CREATE TABLE t (a INT KEY, PRIMARY KEY (a)) => 1:17: a second primary key
    CREATE TABLE t (a INT NULL PRIMARY KEY) => 1:17: column 'a' of the primary key is NULL
    CREATE TABLE t (a INT, PRIMARY KEY ((a + 1))) => 1:24: holds columns, not expressions
    CREATE TABLE t (a TEXT, KEY (a)) => 1:30: needs a prefix length
    CREATE TABLE t (a JSON, KEY (a)) => 1:30: a JSON cannot be a key
    CREATE TABLE t (a INT, KEY (a(3))) => 1:29: only text and binary columns take a prefix
    CREATE TABLE t (a VARCHAR) => 1:19: VARCHAR needs a length
    CREATE TABLE t (a VARCHAR(16384)) => 1:19: accepted: up to 16383
    CREATE TABLE t (a CHAR(256)) => 1:19: accepted: up to 255
    CREATE TABLE t (a BIT(65)) => 1:19: accepted: up to 64
    CREATE TABLE t (a DECIMAL(66)) => 1:19: accepted: up to 65
    CREATE TABLE t (a DECIMAL(5,6)) => 1:19: too many decimals
    CREATE TABLE t (a FLOAT(54)) => 1:19: accepted: up to FLOAT(53)
    CREATE TABLE t (a DOUBLE(5)) => 1:19: accepted: DOUBLE, DOUBLE(m,d)
    CREATE TABLE t (a DATETIME(7)) => 1:19: accepted: 0 to 6
    CREATE TABLE t (a YEAR(2)) => 1:19: Supports only YEAR or YEAR(4) column
    CREATE TABLE t (a INT(1,2)) => 1:27: takes no 2 arguments
    CREATE TABLE t (a ENUM) => 1:19: ENUM needs its members
    CREATE TABLE t (a ENUM('x','x ')) => 1:19: the same member twice
    CREATE TABLE t (a SET('x,y')) => 1:19: holds a comma
    CREATE TABLE t (a CHAR UNSIGNED) => 1:24: UNSIGNED does not go with type CHAR
    CREATE TABLE t (a CHAR CHARSET utf9) => 1:19: unknown character set 'utf9'. Did you mean 'utf8'?
    CREATE TABLE t (a CHAR CHARSET utf8 COLLATE latin1_bin) => 1:19: 'latin1_bin' is not one of
    CREATE TABLE t (a INT DEFAULT 'x') => 1:19: invalid default 'x' for a column of type int
    CREATE TABLE t (a ENUM('x') DEFAULT 'y') => 1:19: invalid default 'y'
    CREATE TABLE t (a INT) PARTITION BY RANG (a) => 1:37: Did you mean 'RANGE'?
    CREATE TABLE t (a INT) PARTITION BY RANGE (a) => 1:37: For RANGE partitions each partition must be defined
    CREATE TABLE t (a INT) PARTITION BY RANGE COLUMNS (b) (PARTITION p VALUES LESS THAN (1)) => 1:37: no column 'b'
    CREATE TABLE t (a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1, 2))
        => 1:37: Cannot have more than one value for this type of RANGE partitioning
    CREATE TABLE t (a INT) PARTITION BY LIST (a) (PARTITION p)
        => 1:37: requires definition of VALUES IN for each partition
    CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS 3 (PARTITION p) => 1:37: Wrong number of partitions defined
    CREATE TBALE t (a INT) => 1:8: Did you mean 'TABLE'? Accepted: CREATE TABLE
    CREATE TABLE t (a INT); ALTER TABLE t ADD b INT => 1:25: 'ALTER' is not expected here
""")


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_is_named_with_its_place(text: str, said: str) -> None:
    """One line: place, what is wrong, what would be accepted."""
    with pytest.raises(SchemaError) as raised:
        create_table(text)
    place, _, what = said.partition(": ")
    message, (line, column) = str(raised.value), place.split(":")
    assert message.startswith(f"line {line}, column {column}: ") and what in message and "\n" not in message


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no CREATE TABLE statement in the text"),
        ("SET NAMES binary; CREATE VIEW v AS SELECT 1;", "no CREATE TABLE statement in the text"),
        ("CREATE TABLE a (x INT); CREATE TABLE b (x INT)", "2 CREATE TABLE statements in the text; one is accepted"),
    ],
)
def test_a_text_holds_one_table(text: str, what: str) -> None:
    with pytest.raises(SchemaError, match=what):
        create_table(text)
