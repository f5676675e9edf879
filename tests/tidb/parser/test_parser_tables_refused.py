"""Text that TiDB would not take is one SchemaError that says where, what and what would be accepted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.table_texts import DUMPLING

from simulator.errors import SchemaError
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table

PARTITIONED = """CREATE TABLE `s`.`t` (`id` INT UNSIGNED ZEROFILL NOT NULL, `d` DATE DEFAULT '2020-01-01',
 `e` ENUM('a','b''c') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, `x` DECIMAL(10,2) DEFAULT 1.5,
 `b` VARBINARY(5) DEFAULT x'41',
 UNIQUE `u` (`id`,`d`), CHECK (`id` > 1)) DEFAULT CHARSET=utf8mb4 PARTITION BY RANGE COLUMNS(`d`)
 (PARTITION p0 VALUES LESS THAN ('2020-01-01') COMMENT 'x', PARTITION p1 VALUES LESS THAN (MAXVALUE));"""


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("CREATE TABLE t (a intt)", "line 1, column 19", "column 'a' has the unknown type 'intt'. Did you mean 'INT'?"),
        ("CREATE TABLE t (a INT,\n  g GEOMETRY)", "line 2, column 5", "column 'g' has the spatial type GEOMETRY"),
        ("CREATE TABLE t (a INT,)", "line 1, column 23", "')' is not expected here. Accepted: a column name"),
        ("CREATE TABLE t (a INT", "line 1, column 22", "the end of the statement is not expected here"),
        (
            "CREATE TABLE t (a INT\n defalt 5)",
            "line 2, column 2",
            "'defalt' is not expected here. Did you mean 'DEFAULT'?",
        ),
        ("CREATE TABLE t (a INT) ENGIN=x", "line 1, column 24", "Did you mean 'ENGINE'?"),
        ("CREATE TABLE t (a INT) x", "line 1, column 24", "Accepted: a table option"),
        ("CREATE TABLE t (a INT COMMENT 'x)", "line 1, column 31", "what ' opens here is not closed"),
        ("CREATE TABLE `t (a INT)", "line 1, column 14", "what ` opens here is not closed"),
        ("CREATE TABLE t (a INT AS (a + (1))", "line 1, column 35", "the end of the statement"),
        ("CREATE TABLE t (a INT AS (a + (1)", "line 1, column 26", "this '(' has no ')'"),
        ("CREATE TABLE t (a INT) /*T![ttl TTL", "line 1, column 24", "this '/*T![' has no ']'"),
        ("CREATE TABLE t (a INT) /* ENGINE=x", "line 1, column 24", "this comment has no '*/'"),
        ("CREATE TABLE t (a INT) AS SELECT 1", "line 1, column 24", "write the columns out"),
        ("CREATE TABLE t LIKE s", "line 1, column 16", "write its columns out"),
        ("CREATE TABLE t (KEY (a))", "line 1, column 1", "table 't' has no columns"),
        ("CREATE TABLE t (CHECK (1))", "line 1, column 1", "table 't' has no columns"),
        ("CREATE TABLE t (size INT, KEY (sise))", "line 1, column 32", "Did you mean 'size'?"),
        ("CREATE TABLE t (a INT, A INT)", "line 1, column 24", "has column 'A' twice"),
        ("CREATE TABLE t (a INT, KEY k (a), KEY K (a))", "line 1, column 35", "key name 'K' twice"),
        ("CREATE TABLE t (a INT KEY, PRIMARY KEY (a))", "line 1, column 17", "a second primary key"),
        ("CREATE TABLE t (a INT NULL PRIMARY KEY)", "line 1, column 17", "column 'a' of the primary key is NULL"),
        ("CREATE TABLE t (a INT, PRIMARY KEY ((a + 1)))", "line 1, column 24", "holds columns, not expressions"),
        ("CREATE TABLE t (a TEXT, KEY (a))", "line 1, column 30", "needs a prefix length"),
        ("CREATE TABLE t (a JSON, KEY (a))", "line 1, column 30", "a JSON cannot be a key"),
        ("CREATE TABLE t (a INT, KEY (a(3)))", "line 1, column 29", "only text and binary columns take a prefix"),
        ("CREATE TABLE t (a VARCHAR)", "line 1, column 19", "VARCHAR needs a length"),
        ("CREATE TABLE t (a VARCHAR(16384))", "line 1, column 19", "accepted: up to 16383"),
        ("CREATE TABLE t (a CHAR(256))", "line 1, column 19", "accepted: up to 255"),
        ("CREATE TABLE t (a BIT(65))", "line 1, column 19", "accepted: up to 64"),
        ("CREATE TABLE t (a DECIMAL(66))", "line 1, column 19", "accepted: up to 65"),
        ("CREATE TABLE t (a DECIMAL(5,6))", "line 1, column 19", "too many decimals"),
        ("CREATE TABLE t (a FLOAT(54))", "line 1, column 19", "accepted: up to FLOAT(53)"),
        ("CREATE TABLE t (a DOUBLE(5))", "line 1, column 19", "accepted: DOUBLE, DOUBLE(m,d)"),
        ("CREATE TABLE t (a DATETIME(7))", "line 1, column 19", "accepted: 0 to 6"),
        ("CREATE TABLE t (a YEAR(2))", "line 1, column 19", "Supports only YEAR or YEAR(4) column"),
        ("CREATE TABLE t (a INT(1,2))", "line 1, column 27", "takes no 2 arguments"),
        ("CREATE TABLE t (a ENUM)", "line 1, column 19", "ENUM needs its members"),
        ("CREATE TABLE t (a ENUM('x','x '))", "line 1, column 19", "the same member twice"),
        ("CREATE TABLE t (a SET('x,y'))", "line 1, column 19", "holds a comma"),
        ("CREATE TABLE t (a CHAR UNSIGNED)", "line 1, column 24", "UNSIGNED does not go with type CHAR"),
        (
            "CREATE TABLE t (a CHAR CHARSET utf9)",
            "line 1, column 19",
            "unknown character set 'utf9'. Did you mean 'utf8'?",
        ),
        ("CREATE TABLE t (a CHAR CHARSET utf8 COLLATE latin1_bin)", "line 1, column 19", "'latin1_bin' is not one of"),
        ("CREATE TABLE t (a INT DEFAULT 'x')", "line 1, column 19", "invalid default 'x' for a column of type int"),
        ("CREATE TABLE t (a ENUM('x') DEFAULT 'y')", "line 1, column 19", "invalid default 'y'"),
        ("CREATE TABLE t (a INT) PARTITION BY RANG (a)", "line 1, column 37", "Did you mean 'RANGE'?"),
        (
            "CREATE TABLE t (a INT) PARTITION BY RANGE (a)",
            "line 1, column 37",
            "For RANGE partitions each partition must be defined",
        ),
        (
            "CREATE TABLE t (a INT) PARTITION BY RANGE COLUMNS (b) (PARTITION p VALUES LESS THAN (1))",
            "line 1, column 37",
            "no column 'b'",
        ),
        (
            "CREATE TABLE t (a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1, 2))",
            "line 1, column 37",
            "Cannot have more than one value for this type of RANGE partitioning",
        ),
        (
            "CREATE TABLE t (a INT) PARTITION BY LIST (a) (PARTITION p)",
            "line 1, column 37",
            "requires definition of VALUES IN for each partition",
        ),
        (
            "CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS 3 (PARTITION p)",
            "line 1, column 37",
            "Wrong number of partitions defined",
        ),
        ("CREATE TBALE t (a INT)", "line 1, column 8", "Did you mean 'TABLE'? Accepted: CREATE TABLE"),
        ("CREATE TABLE t (a INT); ALTER TABLE t ADD b INT", "line 1, column 25", "'ALTER' is not expected here"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, where: str, what: str) -> None:
    """One line: place, what is wrong, what would be accepted."""
    with pytest.raises(SchemaError) as raised:
        create_table(text)
    message = str(raised.value)
    assert message.startswith(f"{where}: ") and what in message and "\n" not in message


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no CREATE TABLE statement in the text"),
        ("SET NAMES binary; CREATE VIEW v AS SELECT 1;", "no CREATE TABLE statement in the text"),
        ("CREATE TABLE a (x INT); CREATE TABLE b (x INT)", "2 CREATE TABLE statements in the text; one is accepted"),
    ],
)
def test_a_text_holds_one_table(text: str, what: str) -> None:
    """None and two are errors."""
    with pytest.raises(SchemaError, match=what):
        create_table(text)


FRAGMENTS = st.sampled_from(
    (
        "'",
        '"',
        "`",
        "(",
        ")",
        ",",
        ";",
        "/*",
        "*/",
        "/*!",
        "/*T![",
        "/*T![ttl]",
        "]",
        "--",
        "#",
        "\\",
        "\0",
        "\n",
        "@",
        "%",
        " KEY ",
        " DEFAULT ",
        " PRIMARY KEY ",
        " CHARSET ",
        " VALUES IN ",
        " ENUM ",
        " AS ",
        " NULL ",
        " COLLATE ",
        "0x",
        "b'",
        "x'",
        "N'",
        "1e",
        "99999999999999999999",
        "-",
        ".",
        "{{",
        "{%",
        "$",
        "é",
        "表",
        "\ufeff",
        "\ud800",
        "_utf8mb4",
    )
)
STATEMENTS = st.sampled_from((DUMPLING, PARTITIONED))


def table_or_schema_error(text: str) -> Table | SchemaError:
    try:
        return create_table(text)
    except SchemaError as error:
        return error


EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), FRAGMENTS | st.text(max_size=3)), max_size=5)


@settings(max_examples=150, deadline=None)
@given(STATEMENTS, EDITS)
def test_mutilated_text_never_raises_anything_but_schema_error(text: str, edits: list[tuple[float, int, str]]) -> None:
    """Parts cut out, others put in, anywhere."""
    for place, length, inserted in edits:
        start = int(place * len(text))
        text = text[:start] + inserted + text[start + length :]
    result = table_or_schema_error(text)
    assert isinstance(result, Table) or "\n" not in str(result)


@settings(max_examples=100, deadline=None)
@given(st.lists(FRAGMENTS | st.sampled_from(PARTITIONED.split()), max_size=40))
def test_words_in_any_order_never_raise_anything_but_schema_error(words: list[str]) -> None:
    """After the beginning of a table."""
    assert table_or_schema_error("CREATE TABLE t (" + " ".join(words))


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=20).filter(lambda name: name.strip()), st.text(max_size=20))
def test_any_name_and_comment_survive_quoting(name: str, comment: str) -> None:
    """As TiDB prints them: back-quotes doubled, quotes doubled, backslashes escaped."""
    quoted, escaped = name.replace("`", "``"), comment.replace("\\", "\\\\").replace("'", "''")
    table = create_table(f"CREATE TABLE `{quoted}` (`{quoted}` INT COMMENT '{escaped}') COMMENT='{escaped}'")
    assert (name, name, comment, comment) == (
        table.name,
        table.columns[0].name,
        table.comment,
        table.columns[0].comment,
    )
