"""Statements that differ in literals: one that was read before with others is read as it is by itself."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import DdlError, SqlError
from simulator.tidb.parser import sql
from simulator.tidb.parser.sql import Templates, parse_sql

LITERALS = st.sampled_from(
    """1|5|007|0|123456789012345678|99999999999999999999|1.50|.5|1e3|1.|0x1F|x'41'|b'1'|'a'|''|'it''s'|'a b, 5'|'a' 'b'|'é'
    |'\ud800'|'\\\\'|'-- 5'|'/*'|"x 'y"|"5"|N'n'|_utf8mb4'x'|DATE '2020-01-01'|NULL|-5|- 5|--5|+1|a5|`a 5`|@a5|@`5`|?""".split(
        "|"
    )
)
STATEMENTS = st.sampled_from(
    [
        "INSERT INTO t VALUES ($, $)",
        "INSERT t (a) VALUES ($),($) ON DUPLICATE KEY UPDATE a = $",
        "UPDATE t SET a = a + $ WHERE id = $",
        "DELETE FROM t WHERE id IN ($, $) ORDER BY $ LIMIT $",
        "SELECT a, $, a + $ FROM t WHERE b LIKE $ ESCAPE $",
        "SELECT CAST($ AS CHAR(5)), c->'$.a' FROM t -- it's 5\n WHERE a = $",
        "SELECT (SELECT $), COUNT(*), SUM(a + $) OVER (ROWS 5 PRECEDING) FROM t GROUP BY $ LIMIT $",
        "SELECT /*+ MAX_EXECUTION_TIME(5) */ INTERVAL $ DAY + a, /*!50000 $ */ /*T![ttl] $ */ 1",
        "SELECT NOW($), ROUND(1.5, $), t1.a, t.5a FROM t1 AS OF TIMESTAMP $ WHERE `5` = $",
        "SET @a = $, @b = $",
        "SET sql_mode = $",
        "CREATE TABLE t (a INT DEFAULT $, b VARCHAR(5), CHECK (b > $))",
        "ALTER TABLE t ADD CHECK (a > $), COMMENT $",
        "SHOW TABLES LIKE $",
        "PREPARE s FROM $",
        "COMMIT",
    ]
)
MODES = st.sampled_from([frozenset[str](), frozenset({"ANSI_QUOTES"}), frozenset({"NO_BACKSLASH_ESCAPES"})])


def read(text: str, modes: frozenset[str]) -> object:
    try:
        return parse_sql(text, modes)
    except (SqlError, DdlError) as error:
        return str(error)


@given(STATEMENTS, st.lists(LITERALS, min_size=20, max_size=20), MODES)
def test_literals_are_read_in_templates_as_in_texts(statement: str, literals: list[str], modes: frozenset[str]) -> None:
    texts = [
        re.sub(r"\$(?!\.)", lambda _, rest=iter(literals[place:]): next(rest), statement)  # type: ignore[misc]
        for place in range(8)
    ]
    alone = list[str]()
    with pytest.MonkeyPatch.context() as patched:
        for text in texts:
            patched.setattr(sql, "TEMPLATES", Templates())
            alone.append(repr(read(text, modes)))
        patched.setattr(sql, "TEMPLATES", Templates())
        assert alone * 3 == [repr(read(text, modes)) for text in texts * 3]


def test_a_template_takes_all_literals() -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sql, "TEMPLATES", Templates())
        for number in range(2):
            parse_sql(f"INSERT INTO t VALUES ({number}, 'x{number}', -{number}.5)")
        patched.delattr(sql.Cursor, "__init__")
        assert repr(parse_sql("INSERT INTO t VALUES (7, 'a', -1.25)")).count("text='1.25'") == 1
