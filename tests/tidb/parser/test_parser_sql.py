"""Statements on rows and sessions: every spelling says what the plain one says, whose effect tests of the SQL engine see;
scripts are taken apart as a MySQL client does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.upstreams import cases, grouped

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.syntax.statements import ScriptStatement

SPELLINGS = grouped("""
    INSERT t VALUE (1), (2) => INSERT INTO t VALUES (1), (2)
    INSERT HIGH_PRIORITY IGNORE INTO s.t () VALUES () => INSERT IGNORE INTO s.t () VALUES ()
    INSERT DELAYED t (a, t.b) VALUES (DEFAULT, DEFAULT(b)) => INSERT INTO t (a, b) VALUES (DEFAULT, DEFAULT(b))
    INSERT INTO t SET a = 1, b = a => INSERT INTO t (a, b) VALUES (1, a)
    INSERT INTO t TABLE u => INSERT INTO t SELECT * FROM u
    INSERT INTO t (a) (SELECT 1) => INSERT INTO t (a) SELECT 1
    REPLACE LOW_PRIORITY INTO t (a) VALUES (1) | REPLACE t SET a = 1 => REPLACE INTO t (a) VALUES (1)
    UPDATE LOW_PRIORITY IGNORE t SET a = 1 => UPDATE IGNORE t SET a = 1
    UPDATE t, u SET a = 1 => UPDATE t JOIN u SET a = 1
    UPDATE t AS x SET x.a = 1 LIMIT 3 => UPDATE t x SET x.a = 1 LIMIT 0, 3
    DELETE QUICK IGNORE FROM t => DELETE IGNORE FROM t
    DELETE FROM t x PARTITION (p) WHERE a = 1 => DELETE FROM t AS x PARTITION (p) WHERE a = 1
    DELETE t, s.u.* FROM t JOIN u ON t.a = 1 => DELETE t, s.u FROM t JOIN u ON t.a = 1
    DELETE FROM t.* USING t, u WHERE a = 1 => DELETE t FROM t, u WHERE a = 1
    SELECT 1 FROM DUAL | SELECT /*+ DISTINCT() */ 1 | ((SELECT 1)) => SELECT 1
    SELECT * FROM s.t AS x => SELECT * FROM s.t x
    SELECT * FROM t, u v => SELECT * FROM t CROSS JOIN u v
    SELECT * FROM t LEFT OUTER JOIN u USING (a, b) => SELECT * FROM t LEFT JOIN u USING (a, b)
    SELECT * FROM t NATURAL RIGHT OUTER JOIN u => SELECT * FROM t NATURAL RIGHT JOIN u
    SELECT * FROM t STRAIGHT_JOIN u => SELECT * FROM t INNER JOIN u
    SELECT * FROM (t, u) JOIN v => SELECT * FROM t JOIN u JOIN v
    SELECT * FROM t JOIN u JOIN v ON a JOIN w => SELECT * FROM ((t JOIN u) JOIN v ON a) JOIN w
    SELECT a FROM t LIMIT 5, 6 => SELECT a FROM t LIMIT 6 OFFSET 5
    TABLE t ORDER BY a => SELECT * FROM t ORDER BY a
    SELECT SQL_NO_CACHE a FROM t USE INDEX (k) => SELECT a FROM t
    SELECT a FROM t ORDER BY a ASC, b DESC => SELECT a FROM t ORDER BY a, b DESC
    SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 ORDER BY 1 => SELECT 1 UNION (SELECT 2 INTERSECT SELECT 3) ORDER BY 1
    SELECT 1 EXCEPT SELECT 2 UNION ALL SELECT 3 LIMIT 1 => (SELECT 1 EXCEPT SELECT 2) UNION ALL SELECT 3 LIMIT 1
    (SELECT 1 LIMIT 1) UNION DISTINCT (SELECT 2) => (SELECT 1 LIMIT 1) UNION SELECT 2
    SELECT NOT NOT EXISTS (SELECT 1) AS x => SELECT EXISTS (SELECT 1) AS x
    SELECT a > SOME (SELECT 1) AS x => SELECT a > ANY (SELECT 1) AS x
    SELECT std(DISTINCT a) AS x => SELECT STDDEV_POP(DISTINCT a) AS x
    SELECT @@SQL_mode AS x => SELECT @@sql_mode AS x
    SELECT @@local.x AS x => SELECT @@session.x AS x
    SELECT SUM(a) OVER (w ROWS 1 PRECEDING) AS x => SELECT SUM(a) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x
    begin work | START TRANSACTION | START TRANSACTION READ WRITE | START TRANSACTION WITH CONSISTENT SNAPSHOT => BEGIN
    COMMIT WORK AND CHAIN NO RELEASE => COMMIT AND CHAIN
    COMMIT AND NO CHAIN => COMMIT
    ROLLBACK TO SAVEPOINT `a b` => ROLLBACK WORK TO `a b`
    SET @A = 1, @`b` := 'x' => SET @a = 1, @b = 'x'
    SET GLOBAL x = ON, @@session.y = OFF => SET @@global.x = 'ON', SESSION y = 'OFF'
    SET LOCAL sql_mode = STRICT_ALL_TABLES => SET @@session.sql_mode = 'STRICT_ALL_TABLES'
    SET @@TIME_ZONE = '+08:00' => SET time_zone = '+08:00'
    SET NAMES 'utf8' => SET NAMES utf8
    SET CHARACTER SET 'latin1' => SET CHARSET latin1
""")


@pytest.mark.parametrize(("text", "plain"), SPELLINGS)
def test_every_spelling_says_what_the_plain_one_says(text: str, plain: str) -> None:
    """Joins and set operations are grouped by their precedence; a bare word of SET is a string."""
    assert text != plain and parse_sql(text) == parse_sql(plain)


def test_names_and_queries_of_the_session_are_kept_as_written() -> None:
    assert parse_sql("USE `my shop`") == syntax.Use("my shop")
    assert parse_sql("SAVEPOINT a") == syntax.Savepoint("a")
    assert parse_sql("SET sql_mode = DEFAULT") == syntax.SetVariables((syntax.VariableAssignment("sql_mode", None),))
    names = parse_sql("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
    assert isinstance(names, syntax.SetVariables)
    assert [(each.name, each.scope) for each in names.settings] == [
        ("names", "session"),
        ("collation_connection", "session"),
    ]
    assert isinstance(parse_sql("TRUNCATE TABLE t"), syntax.TruncateTable)
    assert parse_sql(" /* nothing */ -- at all") is None


NAMES = grouped("""
    a | (t.a) | +a => a
    t.`A b` => A b
    a + 1 => a + 1
    COUNT( * ) => COUNT( * )
    '  text' => text
    null => NULL
    true => TRUE
    1.50 => 1.50
    a b => b
    a AS 'c d' => c d
""")


@pytest.mark.parametrize(("field", "name"), NAMES)
def test_a_column_has_the_name_that_tidb_gives_it(field: str, name: str) -> None:
    """Its alias, its own name, or its text as it is written."""
    statement = parse_sql(f"SELECT {field} FROM t")
    assert isinstance(statement, syntax.SelectStatement) and isinstance(statement.query, syntax.SelectTree)
    assert [item.name for item in statement.query.items if isinstance(item, syntax.SelectItem)] == [name]


IGNORED = cases("""
    SHOW STATS_META => SHOW
    ANALYZE TABLE t => ANALYZE
    ADMIN CHECK TABLE t => ADMIN
    EXPLAIN DELETE FROM t => EXPLAIN
    DESC SELECT 1 => DESC
    SPLIT TABLE t BETWEEN (0) AND (9) REGIONS 3 => SPLIT
    CREATE USER 'a'@'%' => CREATE USER
    SET PASSWORD FOR 'a' = 'b' => SET PASSWORD
""")


@pytest.mark.parametrize(("sql", "what"), IGNORED)
def test_statements_without_effect_are_ignored(sql: str, what: str) -> None:
    assert parse_sql(sql) == syntax.IgnoredStatement(what)


REFUSED = cases("""
    INSERT INTO t VALES (1) => 1064 => line 1, column 15: 'VALES' is not expected here. Did you mean 'VALUES'?
    INSERT INTO t VALUES (1 => 1064 => line 1, column 22: this '(' has no ')'
    INSERT INTO t VALUES (1) garbage => 1064 => line 1, column 26: 'garbage' is not expected here
    INSERT INTO t VALUES (1)¶, 2 => 1064 => line 2, column 3: '2' is not expected here
    REPLACE INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1 => 1064 => 'ON' is not expected here
    UPDATE t WHERE a = 1 => 1064 => column 10: 'WHERE' is not expected here. Accepted: 'SET'
    UPDATE t, u SET a = 1 LIMIT 1 => 1064 => 'LIMIT' is not expected here
    UPDATE t JOIN u SET a = 1 ORDER BY a => 1064 => 'ORDER BY' is not expected here
    DELETE t, u WHERE a = 1 => 1064 => column 13: 'WHERE' is not expected here. Accepted: 'FROM'
    DELETE FROM t, u WHERE a = 1 => 1064 => Accepted: 'USING'
    INSERT INTO t SET select = 1 => 1064 => 'select' is a reserved word
    LOAD DATA INFILE 'x' INTO TABLE t => 1235
        => LOAD DATA without LOCAL is not simulated. Accepted: LOAD DATA LOCAL INFILE
    IMPORT INTO t FROM 'x' => 1235 => IMPORT INTO is not simulated
    CALL p() => 1235 => CALL is not simulated
    SELECT ? => 1149 => unexpected '?'
    SELECT SUM(a) OVER (ROWS x PRECEDING) => 1064 => Accepted: UNBOUNDED, CURRENT ROW, INTERVAL or a number
    CREATE PROCEDURE p () SELECT 1 => 1235 => CREATE PROCEDURE is not simulated
    CREATE TRIGGER x BEFORE INSERT ON t => 1235 => CREATE TRIGGER is not simulated
    EXPLAIN ANALYZE DELETE FROM t => 1235 => EXPLAIN of a statement that changes rows is not simulated
    SET NAMES klingon => 1115 => Unknown character set: 'klingon'
    FROB => 1064 => line 1, column 1: 'FROB' is not expected here. Accepted: CREATE, ALTER
    SELEC 1 => 1064 => Did you mean 'SELECT'?
    SELECT 1; SELECT 2 => 1064 => line 1, column 11: a second statement begins here
    SELECT¶'a => 1064 => line 2, column 1: what ' opens here is not closed
    CREATE TABLE t (a INT => 1064 => this '(' has no ')'
""")


@pytest.mark.parametrize(("text", "number", "why"), REFUSED)
def test_what_is_invalid_or_not_simulated_is_refused_with_an_error_number(text: str, number: str, why: str) -> None:
    """The message has the position and lists what would be accepted."""
    with pytest.raises(SqlError) as refusal:
        parse_sql(text)
    assert refusal.value.number == int(number) and why in refusal.value.text


def test_the_sql_mode_changes_how_a_text_is_read() -> None:
    """ANSI_QUOTES, PIPES_AS_CONCAT and IGNORE_SPACE, then NO_BACKSLASH_ESCAPES and HIGH_NOT_PRECEDENCE."""
    statement = parse_sql('SELECT "a""b" || now () AS x', frozenset(("ANSI_QUOTES", "PIPES_AS_CONCAT", "IGNORE_SPACE")))
    assert statement == parse_sql('SELECT CONCAT(`a"b`, NOW()) AS x')
    assert parse_sql(r"SELECT 'a\nb'", frozenset(("NO_BACKSLASH_ESCAPES",))) == parse_sql(r"SELECT 'a\\nb'")
    assert parse_sql("SELECT NOT 1 = 2", frozenset(("HIGH_NOT_PRECEDENCE",))) != parse_sql("SELECT NOT 1 = 2")


def test_some_functions_are_no_names_where_a_parenthesis_follows() -> None:
    """TiDB: pkg/parser/misc.go isTokenIdentifier; a blank between them helps, unless the sql_mode has IGNORE_SPACE."""
    text = "CREATE TABLE {} (a INT, INDEX {} (a))"
    assert parse_sql(text.format("count", "now")) and parse_sql(text.format("d.count", "`now`"), IGNORE_SPACE)
    for wrong, mode in (("CREATE TABLE count(a INT)", NO_MODE), (text.format("t", "now"), IGNORE_SPACE)):
        with pytest.raises(SqlError, match="is a function if"):
            parse_sql(wrong, mode)


NO_MODE, IGNORE_SPACE = frozenset[str](), frozenset({"IGNORE_SPACE"})


SCRIPT = """-- a comment; with a semicolon
# and another; one
CREATE TABLE t (a INT); INSERT INTO t VALUES
  ('a;b', "c;""d", 'it''s; \\' ;') ; -- behind; it

-- fails 1062
INSERT INTO `a;b` /* c; */ VALUES (1)
;;
/*!40101 SET NAMES 'a;b' */;
/*T![unknown] ; */;
SELECT 5--3
"""


def test_statements_end_at_semicolons_outside_quotes_and_comments() -> None:
    """Each has its line, and only the one behind `-- fails` expects an error."""
    assert split_script(SCRIPT) == (
        ScriptStatement("CREATE TABLE t (a INT)", 3),
        ScriptStatement("INSERT INTO t VALUES\n  ('a;b', \"c;\"\"d\", 'it''s; \\' ;')", 3),
        ScriptStatement("INSERT INTO `a;b` /* c; */ VALUES (1)", 7, 1062),
        ScriptStatement("/*!40101 SET NAMES 'a;b' */", 9),
        ScriptStatement("SELECT 5--3", 11),
    )


FAILS: list[tuple[str, list[int | None]]] = [
    *((text, []) for text in ("", "\n ", ";;", "-- nothing", "/* a; */", "# x\n;")),
    ("-- fails 1062\nSELECT 1; SELECT 2", [1062, None]),
    ("  -- FAILS 1062  \n\n# why\nSELECT 1", [1062]),
    ("SELECT 1; -- fails 1062\nSELECT 2", [None, None]),
    ("SELECT 1\n-- fails 1062\n; SELECT 2", [None, None]),
    ("# fails 1062\nSELECT 1", [None]),
    ("-- fails because of that\nSELECT 1", [None]),
    ("SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT 'a\\'; SELECT 1", [None] * 3),
    ("SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SET sql_mode = ''; SELECT 'a\\'; SELECT 1'", [None] * 3),
    ("SELECT 'a\\'; SELECT 1'", [None]),
]


@pytest.mark.parametrize(("text", "expected"), FAILS)
def test_a_comment_line_of_its_own_names_the_error_of_the_next_statement(text: str, expected: list[int | None]) -> None:
    """A backslash escapes as sql_mode says: a MySQL client is told the mode by the server, and cuts by it."""
    assert [statement.fails for statement in split_script(text)] == expected
    assert len(split_script("SELECT 'a\\'; SELECT 'b\\'", frozenset({"NO_BACKSLASH_ESCAPES"}))) == 2


ENDLESS = cases("""
    SELECT 1;¶  SELECT 'a;¶ => line 2, column 10: what ' opens here is not closed
    SELECT 1;¶SELECT `a => line 2, column 8: what ` opens here is not closed
    ¶/* SELECT 1; => line 2, column 1: this comment has no '*/'
    /*!40101 SELECT '*/ => line 1, column 1: this comment has no '*/'
    SELECT 1;¶SELECT ␀ => line 2, column 8: a NUL character
    DELIMITER //¶SELECT 1// => line 1, column 1: DELIMITER is not simulated
    SELECT 1;¶-- fails 1062¶ => no statement follows that `-- fails 1062` could be about
""")


@pytest.mark.parametrize(("text", "why"), ENDLESS)
def test_a_script_that_never_ends_is_refused_with_its_place(text: str, why: str) -> None:
    """A parenthesis that is never closed is found when its statement is read: a semicolon ends it, whatever is open."""
    with pytest.raises(SqlError) as refusal:
        split_script(text)
    assert why in str(refusal.value)
    assert [statement.line for statement in split_script("SELECT (1;\nSELECT 2")] == [1, 2]


@given(st.lists(st.sampled_from(("'", '"', "`", "/*", "*/", "/*!", "--", "-- ", "#", "\n", ";", "a", "\\", " ", "\0"))))
def test_any_text_is_split_or_refused(parts: list[str]) -> None:
    """No statement is empty or has blanks around it."""
    try:
        statements = split_script("".join(parts))
    except SqlError:
        return
    assert all(statement.text.strip() == statement.text and statement.text for statement in statements)
