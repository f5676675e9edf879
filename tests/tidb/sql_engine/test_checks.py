"""CHECK constraints (TiDB's docs: Constraints, CHECK)."""

from __future__ import annotations

import pytest
from support.upstreams import rows_in

from simulator.errors import DdlError, SqlError
from simulator.releases import V8_5
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.sql_engine.errors import error_number
from simulator.tidb.sql_engine.execute import execute, new_upstream
from simulator.tidb.sql_engine.storage.state import FailedStatement, StatementOutcome, Upstream


def play(*texts: str) -> StatementOutcome:
    upstream: Upstream = new_upstream(V8_5)
    outcome = StatementOutcome(upstream)
    for number, text in enumerate(("USE test", *texts)):
        statement = parse_sql(text)
        assert statement is not None
        made = execute(statement, text, outcome.upstream, 1_600_000_000_000 + number)
        if isinstance(made, FailedStatement):
            raise made.error
        outcome = made
    return outcome


ON = "SET GLOBAL tidb_enable_check_constraint = ON"
MADE = "CREATE TABLE t (a INT PRIMARY KEY CHECK (a > 0), b INT, CONSTRAINT small CHECK (b < a), CHECK (b <> 7))"


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("INSERT INTO t VALUES (5, 4), (-1, -3)", "t_chk_2"),
        ("INSERT INTO t VALUES (5, 6)", "small"),
        ("UPDATE t SET b = a", "small"),
        ("INSERT INTO t VALUES (9, 7)", "t_chk_1"),
        ("INSERT INTO t VALUES (1, 0) ON DUPLICATE KEY UPDATE b = 2", "small"),
    ],
)
def test_a_row_that_violates_a_check_is_refused(statement: str, name: str) -> None:
    with pytest.raises(SqlError) as refused:
        play(ON, MADE, "INSERT INTO t VALUES (1, 0)", statement)
    assert str(refused.value) == f"ERROR 3819 (HY000): Check constraint '{name}' is violated."


def test_an_unknown_condition_does_not_violate_a_check() -> None:
    assert play(ON, MADE, "INSERT INTO t VALUES (1, NULL)").affected == 1


def test_checks_defined_while_the_variable_is_off_are_not_stored() -> None:
    assert play(MADE, ON, "INSERT INTO t VALUES (-1, 7)").affected == 1
    assert play(MADE, "ALTER TABLE t ADD CHECK (a > 5)").events == ()
    assert play(ON, MADE.replace(")", ") NOT ENFORCED", 1), "INSERT INTO t VALUES (-1, -2)").affected == 1


@pytest.mark.parametrize(
    ("statement", "rows", "warnings"),
    [
        (
            "INSERT IGNORE INTO t VALUES (-1, -2), (2, 1), (2, -1), (3, 7)",
            [("1", "0"), ("2", "1")],
            [
                "3819 Check constraint 't_chk_2' is violated.",
                "1062 Duplicate entry '2' for key 't.PRIMARY'",
                "3819 Check constraint 'small' is violated.",
            ],
        ),
        ("UPDATE IGNORE t SET b = a", [("1", "0")], ["3819 Check constraint 'small' is violated."]),
        (
            "INSERT IGNORE INTO t VALUES (1, -5) ON DUPLICATE KEY UPDATE b = 9",
            [("1", "0")],
            ["3819 Check constraint 'small' is violated."],
        ),
    ],
)
def test_ignore_leaves_out_rows_that_violate_a_check(
    statement: str, rows: list[tuple[str, str]], warnings: list[str]
) -> None:
    """pkg/executor/insert_common.go, batchCheckAndInsert; pkg/executor/update.go, exec."""
    outcome = play(ON, MADE, "INSERT INTO t VALUES (1, 0)", statement)

    assert (rows_in(outcome.upstream, "t"), list(outcome.warnings)) == (rows, warnings)


OTHER = (
    "CREATE TABLE p (id INT PRIMARY KEY)",
    "CREATE TABLE f (i INT AUTO_INCREMENT KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON UPDATE CASCADE)",
    "INSERT INTO t VALUES (1, 0), (2, NULL), (3, -5)",
)


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("ALTER TABLE t ADD CHECK (b > -5)", 3819),
        ("ALTER TABLE t ADD CHECK (b < 5 OR b IS NULL)", 3819),
        ("ALTER TABLE t ADD CHECK ((b < 5 OR b IS NULL))", 0),
        ("ALTER TABLE t ADD CHECK (b > -5) NOT ENFORCED", 0),
        ("ALTER TABLE t ADD CONSTRAINT Small CHECK (a > 1)", 3822),
        ("ALTER TABLE p ADD CONSTRAINT small CHECK (id)", 3812),
        ("ALTER TABLE p ADD CONSTRAINT small CHECK (id > 1)", 3822),
        ("ALTER TABLE t ADD CHECK (nope > 1)", 1054),
        ("ALTER TABLE t ADD CHECK (NOW() > b)", 3814),
        ("ALTER TABLE t ADD CHECK (b > @a)", 3816),
        ("ALTER TABLE t ADD CHECK (b > (SELECT 1))", 3815),
        ("ALTER TABLE t ADD CHECK (a + b)", 3812),
        ("ALTER TABLE f ADD CHECK (i > 0)", 3818),
        ("ALTER TABLE f ADD CHECK (p > 0)", 3823),
        ("ALTER TABLE t DROP CHECK nope", 3940),
        ("ALTER TABLE t DROP CONSTRAINT SMALL", 0),
        ("ALTER TABLE t ALTER CHECK nope ENFORCED", 3940),
        ("ALTER TABLE t ALTER CHECK small NOT ENFORCED", 0),
        ("ALTER TABLE t ADD CHECK (b < 9), ADD COLUMN c INT", 8200),
        ("ALTER TABLE t DROP CHECK small, COMMENT 'c'", 8200),
        ("ALTER TABLE t DROP COLUMN b", 3959),
        ("ALTER TABLE t RENAME COLUMN b TO c", 3959),
        ("CREATE TABLE n (a INT CHECK (a > 0), b INT CHECK (a > 0))", 3813),
        ("CREATE TABLE n (a INT CHECK (1))", 1105),
        ("CREATE TABLE n (a INT, CHECK (z > 0))", 3820),
        ("CREATE TABLE n (a INT, CONSTRAINT small CHECK (a > 0))", 3822),
        ("CREATE TABLE n (a INT, CHECK (a IS NULL OR NOT a), CHECK (a IN (1)), CHECK (TRUE))", 0),
    ],
)
def test_alter_and_create_handle_checks_as_tidb_does(statement: str, number: int) -> None:
    try:
        play(ON, MADE, *OTHER, statement)
        met = 0
    except (SqlError, DdlError) as error:
        met = error_number(error)
    assert met == number


@pytest.mark.parametrize(
    ("statements", "name"),
    [
        (["ALTER TABLE t ADD CHECK (b < 9)"], "t_chk_3"),
        (["ALTER TABLE t DROP CHECK t_chk_1", "ALTER TABLE t ADD CHECK (b < 9)"], "t_chk_1"),
        (["ALTER TABLE t ADD CHECK (b < 9) NOT ENFORCED"], ""),
        (["ALTER TABLE t ADD CHECK (b < 9) NOT ENFORCED", "ALTER TABLE t ALTER CHECK t_chk_3 ENFORCED"], "t_chk_3"),
        (["ALTER TABLE t ADD CHECK (b < 9)", "ALTER TABLE t ALTER CHECK t_chk_3 NOT ENFORCED"], ""),
        (["ALTER TABLE t ADD CHECK (b < 9)", "SET GLOBAL tidb_enable_check_constraint = OFF"], "t_chk_3"),
        (
            ["ALTER TABLE t ADD CHECK (b < 9)", "CREATE TABLE u LIKE t", "DROP TABLE t", "RENAME TABLE u TO t"],
            "u_chk_4",
        ),
    ],
)
def test_an_added_check_applies_to_later_rows(statements: list[str], name: str) -> None:
    met = ""
    try:
        play(ON, MADE, *statements, "INSERT INTO t VALUES (11, 10)")
    except SqlError as error:
        met = str(error)
    assert met == (f"ERROR 3819 (HY000): Check constraint '{name}' is violated." if name else "")
