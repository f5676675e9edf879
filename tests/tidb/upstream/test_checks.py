"""CHECK constraints, through the statements that make and feel them (TiDB's docs: Constraints, CHECK)."""

from __future__ import annotations

import pytest

from simulator.errors import SqlError
from simulator.releases import V8_5
from simulator.tidb.parser.sql import read_sql
from simulator.tidb.upstream.execute import execute, starting
from simulator.tidb.upstream.outcome import Outcome, Refusal
from simulator.tidb.upstream.state import Upstream
from support.upstreams import rows_in


def play(*texts: str) -> Outcome:
    upstream: Upstream = starting(V8_5)
    outcome = Outcome(upstream)
    for number, text in enumerate(("USE test", *texts)):
        statement = read_sql(text)
        assert statement is not None
        made = execute(statement, text, outcome.upstream, 1_600_000_000_000 + number)
        if isinstance(made, Refusal):
            raise made.error
        outcome = made
    return outcome


ON = "SET GLOBAL tidb_enable_check_constraint = ON"
MADE = "CREATE TABLE t (a INT PRIMARY KEY CHECK (a > 0), b INT, CONSTRAINT small CHECK (b < a), CHECK (b <> 7))"


@pytest.mark.parametrize(("statement", "name"), [
    ("INSERT INTO t VALUES (5, 4), (-1, -3)", "t_chk_2"), ("INSERT INTO t VALUES (5, 6)", "small"),
    ("UPDATE t SET b = a", "small"), ("INSERT INTO t VALUES (9, 7)", "t_chk_1"),
    ("INSERT INTO t VALUES (1, 0) ON DUPLICATE KEY UPDATE b = 2", "small"),
])
def test_a_row_that_breaks_a_check_is_refused(statement: str, name: str) -> None:
    with pytest.raises(SqlError) as refused:
        play(ON, MADE, "INSERT INTO t VALUES (1, 0)", statement)
    assert str(refused.value) == f"ERROR 3819 (HY000): Check constraint '{name}' is violated."


def test_what_is_unknown_breaks_no_check() -> None:
    assert play(ON, MADE, "INSERT INTO t VALUES (1, NULL)").affected == 1


def test_checks_are_forgotten_while_they_are_off() -> None:
    assert play(MADE, ON, "INSERT INTO t VALUES (-1, 7)").affected == 1
    assert play(MADE, "ALTER TABLE t ADD CHECK (a > 5)").events == ()
    assert play(ON, MADE.replace(")", ") NOT ENFORCED", 1), "INSERT INTO t VALUES (-1, -2)").affected == 1


@pytest.mark.parametrize(("statement", "rows", "warnings"), [
    ("INSERT IGNORE INTO t VALUES (-1, -2), (2, 1), (2, -1), (3, 7)", [("1", "0"), ("2", "1")],
     ["3819 Check constraint 't_chk_2' is violated.", "1062 Duplicate entry '2' for key 't.PRIMARY'",
      "3819 Check constraint 'small' is violated."]),
    ("UPDATE IGNORE t SET b = a", [("1", "0")], ["3819 Check constraint 'small' is violated."]),
    ("INSERT IGNORE INTO t VALUES (1, -5) ON DUPLICATE KEY UPDATE b = 9", [("1", "0")],
     ["3819 Check constraint 'small' is violated."]),
])
def test_ignore_leaves_out_rows_that_break_a_check(
    statement: str, rows: list[tuple[str, str]], warnings: list[str]
) -> None:
    """pkg/executor/insert_common.go, batchCheckAndInsert; pkg/executor/update.go, exec."""
    outcome = play(ON, MADE, "INSERT INTO t VALUES (1, 0)", statement)

    assert (rows_in(outcome.upstream, "t"), list(outcome.warnings)) == (rows, warnings)


def test_what_is_not_simulated_of_checks_is_refused() -> None:
    for statement in ("ALTER TABLE t ADD CHECK (a > 5)", "ALTER TABLE t DROP CONSTRAINT small"):
        with pytest.raises(SqlError, match="not simulated"):
            play(ON, MADE, statement)
