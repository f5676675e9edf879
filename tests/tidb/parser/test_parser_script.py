"""A script is taken apart as a MySQL client does it, with the line of each statement and the error it expects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import SqlError
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.syntax.session import ScriptStatement

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


@pytest.mark.parametrize("text", ["", "\n ", ";;", "-- nothing", "/* a; */", "# x\n;"])
def test_a_script_may_be_empty(text: str) -> None:
    assert split_script(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-- fails 1062\nSELECT 1; SELECT 2", [1062, None]),
        ("  -- FAILS 1062  \n\n# why\nSELECT 1", [1062]),
        ("SELECT 1; -- fails 1062\nSELECT 2", [None, None]),
        ("SELECT 1\n-- fails 1062\n; SELECT 2", [None, None]),
        ("# fails 1062\nSELECT 1", [None]),
        ("-- fails because of that\nSELECT 1", [None]),
    ],
)
def test_a_comment_line_of_its_own_names_the_error_of_the_next_statement(text: str, expected: list[int | None]) -> None:
    assert [statement.fails for statement in split_script(text)] == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT 1;\n  SELECT 'a;\n", "line 2, column 10: what ' opens here is not closed"),
        ("SELECT 1;\nSELECT `a", "line 2, column 8: what ` opens here is not closed"),
        ("\n/* SELECT 1;", "line 2, column 1: this comment has no '*/'"),
        ("/*!40101 SELECT '*/", "line 1, column 1: this comment has no '*/'"),
        ("SELECT 1;\nSELECT \0", "line 2, column 8: a NUL character"),
        ("DELIMITER //\nSELECT 1//", "line 1, column 1: DELIMITER is not simulated"),
        ("SELECT 1;\n-- fails 1062\n", "no statement follows that `-- fails 1062` could be about"),
    ],
)
def test_a_script_that_never_ends_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(SqlError) as refusal:
        split_script(text)

    assert why in str(refusal.value)


def test_a_parenthesis_that_is_never_closed_is_found_when_its_statement_is_read() -> None:
    """A semicolon ends a statement, whatever is open."""
    first, second = split_script("SELECT (1;\nSELECT 2")

    assert second.line == 2
    with pytest.raises(SqlError, match=r"line 1, column 8: this '\(' has no '\)'"):
        parse_sql(first.text)


@given(st.lists(st.sampled_from(("'", '"', "`", "/*", "*/", "/*!", "--", "-- ", "#", "\n", ";", "a", "\\", " ", "\0"))))
def test_any_text_is_split_or_refused(parts: list[str]) -> None:
    """No statement is empty or has blanks around it."""
    try:
        statements = split_script("".join(parts))
    except SqlError:
        return
    assert all(statement.text.strip() == statement.text and statement.text for statement in statements)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT 'a\\'; SELECT 1", 3),
        ("SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SET sql_mode = ''; SELECT 'a\\'; SELECT 1'", 3),
        ("SELECT 'a\\'; SELECT 1'", 1),
    ],
)
def test_a_backslash_escapes_as_sql_mode_says(text: str, statements: int) -> None:
    """A MySQL client is told the mode by the server, and cuts by it."""
    assert len(split_script(text)) == statements
    assert len(split_script("SELECT 'a\\'; SELECT 'b\\'", frozenset({"NO_BACKSLASH_ESCAPES"}))) == 2
