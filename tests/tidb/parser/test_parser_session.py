"""Statements about the session and its transaction; those that do nothing, and those that are not played."""

from __future__ import annotations

import pytest

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.parser.sql import parse_sql


def text(value: str) -> syntax.Node:
    return syntax.Literal("string", value, "utf8mb4")


ONE = syntax.Literal("integer", "1")


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("BEGIN", syntax.Begin()),
        ("begin optimistic", syntax.Begin()),
        ("START TRANSACTION", syntax.Begin()),
        ("START TRANSACTION READ WRITE", syntax.Begin()),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT", syntax.Begin()),
        ("COMMIT", syntax.Commit()),
        ("COMMIT WORK AND CHAIN NO RELEASE", syntax.Commit(True)),
        ("COMMIT AND NO CHAIN", syntax.Commit()),
        ("ROLLBACK", syntax.Rollback()),
        ("ROLLBACK AND CHAIN", syntax.Rollback(chain=True)),
        ("ROLLBACK TO a", syntax.Rollback("a")),
        ("ROLLBACK TO SAVEPOINT `a b`", syntax.Rollback("a b")),
        ("SAVEPOINT a", syntax.Savepoint("a")),
        ("RELEASE SAVEPOINT a", syntax.ReleaseSavepoint("a")),
        ("USE `my shop`", syntax.Use("my shop")),
    ],
)
def test_a_statement_about_the_session(sql: str, statement: syntax.SqlStatement) -> None:
    assert parse_sql(sql) == statement


@pytest.mark.parametrize(
    ("sql", "settings"),
    [
        (
            "SET @A = 1, @`b` := 'x'",
            (syntax.VariableAssignment("a", ONE, "user"), syntax.VariableAssignment("b", text("x"), "user")),
        ),
        ("SET autocommit = 1", (syntax.VariableAssignment("autocommit", ONE),)),
        (
            "SET GLOBAL x = ON, @@session.y = OFF",
            (
                syntax.VariableAssignment("x", text("ON"), "global"),
                syntax.VariableAssignment("y", text("OFF"), "session"),
            ),
        ),
        (
            "SET LOCAL sql_mode = STRICT_ALL_TABLES",
            (syntax.VariableAssignment("sql_mode", text("STRICT_ALL_TABLES"), "session"),),
        ),
        ("SET @@TIME_ZONE = '+08:00'", (syntax.VariableAssignment("time_zone", text("+08:00")),)),
        ("SET sql_mode = DEFAULT", (syntax.VariableAssignment("sql_mode", None),)),
        ("SET NAMES utf8", (syntax.VariableAssignment("names", text("utf8"), "session"),)),
        ("SET CHARACTER SET 'latin1'", (syntax.VariableAssignment("charset", text("latin1"), "session"),)),
        (
            "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
            (
                syntax.VariableAssignment("names", text("utf8mb4"), "session"),
                syntax.VariableAssignment("collation_connection", text("utf8mb4_bin"), "session"),
            ),
        ),
    ],
)
def test_set_names_each_variable_with_its_scope(sql: str, settings: tuple[syntax.VariableAssignment, ...]) -> None:
    """A bare word is a string."""
    assert parse_sql(sql) == syntax.SetVariables(settings)


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SHOW STATS_META", "SHOW"),
        ("ANALYZE TABLE t", "ANALYZE"),
        ("ADMIN CHECK TABLE t", "ADMIN"),
        ("EXPLAIN DELETE FROM t", "EXPLAIN"),
        ("DESC SELECT 1", "DESC"),
        ("SPLIT TABLE t BETWEEN (0) AND (9) REGIONS 3", "SPLIT"),
        ("CREATE USER 'a'@'%'", "CREATE USER"),
        ("SET SESSION TRANSACTION READ WRITE", "SET TRANSACTION"),
        ("SET PASSWORD FOR 'a' = 'b'", "SET PASSWORD"),
        ("DO SLEEP(1)", "DO"),
    ],
)
def test_statements_without_effect_are_ignored(sql: str, what: str) -> None:
    assert parse_sql(sql) == syntax.IgnoredStatement(what)


@pytest.mark.parametrize(
    ("sql", "number", "why"),
    [
        (
            "LOAD DATA INFILE 'x' INTO TABLE t",
            1235,
            "LOAD DATA without LOCAL is not simulated. Accepted: LOAD DATA LOCAL INFILE",
        ),
        ("IMPORT INTO t FROM 'x'", 1235, "IMPORT INTO is not simulated"),
        ("CALL p()", 1235, "CALL is not simulated"),
        ("SELECT ?", 1149, "unexpected '?'"),
        ("CREATE PROCEDURE p () SELECT 1", 1235, "CREATE PROCEDURE is not simulated"),
        ("CREATE TRIGGER x BEFORE INSERT ON t", 1235, "CREATE TRIGGER is not simulated"),
        ("START TRANSACTION READ ONLY", 1235, "START TRANSACTION READ ONLY is not simulated"),
        ("EXPLAIN ANALYZE DELETE FROM t", 1235, "EXPLAIN of a statement that changes rows is not simulated"),
        ("SET NAMES klingon", 1115, "Unknown character set: 'klingon'"),
        ("FROB", 1064, "line 1, column 1: 'FROB' is not expected here. Accepted: CREATE, ALTER, "),
        ("SELEC 1", 1064, "Did you mean 'SELECT'?"),
        ("SELECT 1; SELECT 2", 1064, "line 1, column 11: a second statement begins here"),
        ("SELECT\n'a", 1064, "line 2, column 1: what ' opens here is not closed"),
        ("CREATE TABLE t (a INT", 1064, "this '(' has no ')'"),
    ],
)
def test_unsimulated_statements_are_refused_with_an_error_number(sql: str, number: int, why: str) -> None:
    with pytest.raises(SqlError) as refusal:
        parse_sql(sql)

    assert refusal.value.number == number
    assert why in refusal.value.text


def test_ddl_is_read_as_ever_and_an_empty_text_is_nothing() -> None:
    assert isinstance(parse_sql("TRUNCATE TABLE t"), syntax.TruncateTable)
    assert parse_sql(" /* nothing */ -- at all") is None


def test_the_sql_mode_changes_how_a_text_is_read() -> None:
    """ANSI_QUOTES, PIPES_AS_CONCAT and IGNORE_SPACE, then NO_BACKSLASH_ESCAPES and HIGH_NOT_PRECEDENCE."""
    statement = parse_sql('SELECT "a""b" || now ()', frozenset(("ANSI_QUOTES", "PIPES_AS_CONCAT", "IGNORE_SPACE")))

    name = '"a""b" || now ()'
    call = syntax.Call("CONCAT", (syntax.ColumnName(('a"b',)), syntax.Call("NOW")))
    assert statement == syntax.SelectStatement(syntax.SelectTree((syntax.SelectItem(call, name),)))
    assert parse_sql(r"SELECT 'a\nb'", frozenset(("NO_BACKSLASH_ESCAPES",))) == parse_sql(r"SELECT 'a\\nb'")
    assert parse_sql("SELECT NOT 1 = 2", frozenset(("HIGH_NOT_PRECEDENCE",))) != parse_sql("SELECT NOT 1 = 2")
