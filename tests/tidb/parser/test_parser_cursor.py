"""The cursor passes over what is asked for, and says where something else stands. Whatever is called a statement, reading it ends,
and raises nothing but the errors of a text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.upstreams import DUMPLING, behind

from simulator.errors import DdlError, SchemaError, SqlError
from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import Catalog, build_catalog
from simulator.tidb.ddl.execute import execute
from simulator.tidb.ddl.session import Session
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.parser.script import GRAMMAR, split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.restore.ddl import restore_statement


def cursor(text: str) -> Cursor:
    return Cursor(text, tokenize(text), GRAMMAR)


def test_a_phrase_is_accepted_whole_or_not_at_all() -> None:
    """Its case, and blanks and comments inside, do not matter. Two words that are one token are one word."""
    place = cursor("if /* or */ Not  exists t")
    assert not place.accept("IF EXISTS")
    assert (place.word(), place.accept("IF NOT EXISTS"), place.name(), place.at_end()) == ("IF", True, "t", True)
    place = cursor("partition  by (a)")
    assert (place.accept("PARTITION"), place.accept("PARTITION BY"), place.word()) == (False, True, "(")


def test_a_quoted_name_or_a_string_is_no_word() -> None:
    """So that `select` between back-quotes begins no query."""
    place = cursor("`select` 'from' x'41' where")
    assert (place.word(), place.word_after(), place.word_ahead(2), place.word_ahead(3)) == ("", "", "", "WHERE")
    assert [(place.kind(), place.literal())[0] for _ in range(4)] == ["name", "string", "hex", "word"]


def test_the_cursor_never_leaves_the_statement() -> None:
    """After the last token every word is empty, however often it is taken."""
    place = cursor("a")
    assert [place.take(), place.take(), place.literal(), place.word(), place.kind()] == ["A", "", "", "", ""]
    assert (place.at_end(), place.word_ahead(9), place.next_text()) == (True, "", "the end of the statement")


def test_parentheses_and_text_since_a_token() -> None:
    """A parenthesis inside a string closes nothing. The text has the blanks and comments between the tokens."""
    assert (cursor("((a) ')') b").closing_ahead(0), cursor("((a)").closing_ahead(0)) == (5, -1)
    place = cursor("x  a +/* more */ `b` , c")
    place.take()
    start = place.next_token()
    for _ in range(3):
        place.take()
    assert place.text_since(start) == "a +/* more */ `b`"


END = "the end of the statement is not expected here. Accepted:"


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        (
            "a\n  b",
            lambda place: (place.name(), place.expect("c")),
            "2, column 3: 'b' is not expected here. Accepted: 'c'",
        ),
        ("a", lambda place: (place.name(), place.name("a column")), f"1, column 2: {END} a column"),
        ("group", Cursor.name, "1, column 1: 'group' is a reserved word, which is a name only between back-quotes"),
        ("-1", Cursor.integer, "1, column 1: '-' is not expected here. Accepted: a whole number"),
        ("(1, 2", lambda place: place.parenthesised_list(Cursor.integer), f"1, column 6: {END} ',' or ')'"),
        (
            "tabel",
            lambda place: place.unexpected("TABLE or VIEW", ("TABLE", "VIEW")),
            "1, column 1: 'tabel' is not expected here. Did you mean 'TABLE'? Accepted: TABLE or VIEW",
        ),
    ],
)
def test_an_unexpected_token_is_told_with_its_place(text: str, read: Callable[[Cursor], object], message: str) -> None:
    """The message lists what would be accepted."""
    with pytest.raises(SchemaError) as caught:
        read(cursor(text))
    assert str(caught.value) == f"line {message}"


def test_places_are_counted_in_characters_from_one() -> None:
    """The width of a character does not matter."""
    found = [position("é表\nx", offset) for offset in (0, 2, 3, 4)]
    assert found == [f"line {line}, column {column}" for line, column in ((1, 1), (1, 3), (2, 1), (2, 2))]


# -- any text --------------------------------------------------------------------------------------------------------

GOOD = (
    "CREATE DATABASE IF NOT EXISTS shop CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE t (a INT UNSIGNED PRIMARY KEY, b ENUM('x', 'it''s') DEFAULT 'x', c INT AS (a + 1), UNIQUE k (b DESC),"
    " FOREIGN KEY (a) REFERENCES p (id)) ENGINE = InnoDB",
    "CREATE TABLE p (a INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN"
    " MAXVALUE)",
    "CREATE TABLE `s`.`t` (`id` INT UNSIGNED ZEROFILL NOT NULL, `d` DATE DEFAULT '2020-01-01', `e` ENUM('a','b''c')"
    " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, `x` DECIMAL(10,2) DEFAULT 1.5, `b` VARBINARY(5) DEFAULT x'41',"
    " UNIQUE `u` (`id`,`d`), CHECK (`id` > 1)) DEFAULT CHARSET=utf8mb4 PARTITION BY RANGE COLUMNS(`d`) (PARTITION p0"
    " VALUES LESS THAN ('2020-01-01') COMMENT 'x', PARTITION p1 VALUES LESS THAN (MAXVALUE));",
    "ALTER TABLE t ADD COLUMN (d DATETIME(3) NOT NULL, e JSON), MODIFY f BIGINT AFTER a, DROP INDEX k",
    "ALTER TABLE t REORGANIZE PARTITION p0 INTO (PARTITION p VALUES IN (1, NULL))",
    "CREATE OR REPLACE DEFINER = 'u'@'%' VIEW v (x) AS SELECT count(*) FROM t WHERE a IN (SELECT 1) GROUP BY b",
    "CREATE SEQUENCE s START WITH 1 INCREMENT BY 2 CACHE 10",
    "ALTER TABLE t COMMENT = 'new', AUTO_INCREMENT = 100",
    "RENAME TABLE t TO u, `weird``name` TO shop.v",
    "INSERT INTO t VALUES (1, 'x')",
)
ROWS = (
    "INSERT IGNORE t (a, b) VALUES (1, DEFAULT), (2, b'1') ON DUPLICATE KEY UPDATE a = VALUES(a) + t.b",
    "REPLACE INTO t SET a = DEFAULT(a), b = (SELECT 1)",
    "UPDATE t x LEFT JOIN (u, v) USING (a) SET x.a = 1, b = DEFAULT WHERE NOT EXISTS (SELECT 1)",
    "DELETE t.*, u FROM t JOIN u ON t.a > ALL (SELECT b FROM v) WHERE a IN (SELECT 1 UNION SELECT 2)",
    "WITH RECURSIVE c (n) AS (SELECT 1) DELETE FROM t WHERE a = @x ORDER BY b DESC LIMIT 1",
    "SELECT DISTINCT a AS b, t.*, COUNT(*), @@global.x FROM t GROUP BY a WITH ROLLUP HAVING b LIMIT 1, 2 FOR UPDATE",
    "SET @a := 1, NAMES utf8mb4 COLLATE utf8mb4_bin, @@session.sql_mode = STRICT_ALL_TABLES",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "ROLLBACK WORK TO SAVEPOINT a",
    "SELECT {d '2020-01-01'} << 1 | ~a ^ b && c || ! d <=> e -> '$' ->> '$.x' AND a BETWEEN CASE a WHEN 1 THEN .5 ELSE"
    " 0x1F END AND INTERVAL 1 DAY + ROW(1, 2) LIKE CAST(a AS CHAR) IS NOT NULL OVER (PARTITION BY a) /*+ X() */",
)
STRANGE = (
    *"' \" ` ( ) ; -- /* */ /*! /*T![ /*T![ttl] ] \\ \0 \ufeff 表 é 😀 \ud800 0x b'2' x' 1e 1e999 - . @ ? -> { {{ {% $"
    " NULL DEFAULT SELECT _utf8 N' # % \n ENUM VALUES".split(" "),
    "9" * 40,
)
WORDS = sorted({word for text in (*GOOD, *ROWS) for word in text.replace("(", " ( ").replace(")", " ) ").split()})
BEGINNINGS = st.sampled_from(
    "|CREATE TABLE t (|ALTER TABLE t |CREATE VIEW v AS SELECT |CREATE |DROP |INSERT INTO t |UPDATE t SET a = |DELETE "
    "|SELECT |SET |WITH c AS (".split("|")
)


@cache
def known() -> Catalog:
    """What the good CREATE statements make, as far as TiDB takes them one after the other."""
    held = build_catalog((), ("shop",))
    for text in GOOD:
        statement = parse_ddl(text) if text.startswith("CREATE ") else None
        with suppress(DdlError):
            held = behind(statement, text, held, "shop") if statement else held
    return held


def outcome(text: str) -> str:
    """`read`, `empty` or the code of the DdlError; anything else is raised."""
    try:
        statement = parse_ddl(text)
        if statement is None:
            return "empty"
        restore_statement(statement)
        execute(statement, text, Session("shop", None, V8_5))
        with suppress(DdlError):
            behind(statement, text, known(), "shop")
    except DdlError as error:
        return error.code or "not DDL"
    return "read"


def read(text: str) -> None:
    """Reads it as a statement of each kind, as a table of a file and as a script."""
    outcome(text)
    with suppress(SqlError, DdlError):
        parse_sql(text)
    with suppress(SqlError):
        split_script(text)
    try:
        create_table(text)
    except SchemaError as error:
        assert "\n" not in str(error)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A good statement, some stretches of which are replaced by something else, by nothing, or by themselves twice."""
    text = draw(st.sampled_from((*GOOD, *ROWS, DUMPLING)))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.sampled_from(("", text[start:end] * 2, *STRANGE, *WORDS))) + text[end:]
    return text


@pytest.mark.slow
@settings(max_examples=250)
@given(damaged())
def test_a_damaged_statement_is_read_or_refused(text: str) -> None:
    """Quotes opened and not closed, words missing, doubled or out of place."""
    read(text)


@pytest.mark.slow
@settings(max_examples=120)
@given(BEGINNINGS, st.lists(st.sampled_from((*WORDS, *STRANGE)), max_size=30).map(" ".join))
def test_words_of_statements_in_any_order_are_read_or_refused(beginning: str, words: str) -> None:
    """Every word that statements are made of may follow every other."""
    read(beginning + words)


@pytest.mark.slow
@settings(max_examples=120)
@given(BEGINNINGS, st.text(max_size=60))
@example("", "")
@example("", "\0")
@example("DROP TABLE ", "\ud800")
@example("ALTER TABLE t COMMENT = ", "'new\ud800'")
@example("SELECT ", "a->'$' ->> '$'")
@example("", "((select 1) union select 2")
@example("CREATE TABLE t (a INT CHECK ", "(" * 50_000)
@example("CREATE TABLE t (a INT AS ", "(" * 5_000 + "1" + ")" * 5_000 + ")")
@example("CREATE VIEW v AS SELECT ", "1" * 100_000)
@example("INSERT INTO t VALUES (", "(" * 20_000)
@example("SELECT ", "(" * 2_000 + "SELECT 1" + ")" * 2_000)
@example("CREATE VIEW v AS ", "(" * 2_000 + "SELECT 1" + ")" * 2_000)
def test_any_text_is_read_or_refused(beginning: str, text: str) -> None:
    """Text of any characters, after the beginning of a statement or after nothing."""
    read(beginning + text)


def test_every_statement_that_is_damaged_here_was_good() -> None:
    """Each is read, or is known not to be DDL."""
    assert {outcome(text) for text in GOOD} <= {"read", "not DDL"}
    assert None not in [parse_sql(text) for text in (*GOOD, *ROWS[:-1])]
    create_table(DUMPLING)
