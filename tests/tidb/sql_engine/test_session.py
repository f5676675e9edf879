"""SET: stored variables, and refused ones."""

from __future__ import annotations

import pytest

from simulator.errors import SqlError
from simulator.tidb.sql_engine.sessions.session_variables import set_variable, variable_text
from simulator.tidb.sql_engine.storage.state import DEFAULT_SQL_MODE, SqlSession

NEW = SqlSession()


def test_sql_mode_is_a_list_whose_short_names_stand_for_several() -> None:
    """TRADITIONAL brings strict mode with it."""
    session = set_variable(NEW, "sql_mode", "", "traditional,ANSI_QUOTES")

    assert {"TRADITIONAL", "STRICT_ALL_TABLES", "NO_ZERO_DATE", "ANSI_QUOTES"} <= session.sql_mode
    assert "ONLY_FULL_GROUP_BY" not in session.sql_mode


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "sql_mode",
            "STRICT",
            "ERROR 1105 (HY000): ERROR 1231 (42000): Variable 'sql_mode' can't be set to the value of 'STRICT'",
        ),
        (
            "auto_increment_increment",
            "a",
            "ERROR 1232 (42000): Incorrect argument type to variable 'auto_increment_increment'",
        ),
        (
            "max_allowed_packet",
            "1024",
            "ERROR 1621 (HY000): SESSION variable 'max_allowed_packet' is read-only. Use SET GLOBAL to assign the value",
        ),
        (
            "transaction_isolation",
            "nosuch",
            "ERROR 1231 (42000): Variable 'transaction_isolation' can't be set to the value of 'nosuch'",
        ),
        (
            "tidb_enable_clustered_index",
            "3",
            "ERROR 1231 (42000): Variable 'tidb_enable_clustered_index' can't be set to the value of '3'",
        ),
        ("time_zone", "Mars/Base", "ERROR 1298 (HY000): Unknown or incorrect time zone: 'Mars/Base'"),
        ("time_zone", "+15:00", "ERROR 1298 (HY000): Unknown or incorrect time zone: '+15:00'"),
        ("autocommit", "2", "ERROR 1231 (42000): Variable 'autocommit' can't be set to the value of '2'"),
        ("no_such", "1", "ERROR 1193 (HY000): Unknown system variable 'no_such'"),
        ("version", "8", "ERROR 1238 (HY000): Variable 'version' is a read only variable"),
        (
            "div_precision_increment",
            "2",
            "ERROR 1235 (42000): div_precision_increment = 2 is not simulated; accepted: 4",
        ),
        (
            "tidb_enable_check_constraint",
            "ON",
            "ERROR 1229 (HY000): Variable 'tidb_enable_check_constraint' is a GLOBAL variable and should be set with SET"
            " GLOBAL",
        ),
    ],
)
def test_a_refused_set_has_tidbs_error(name: str, value: str, text: str) -> None:
    """For unknown names, values and scopes."""
    with pytest.raises(SqlError) as refusal:
        set_variable(NEW, name, "", value)

    assert text == str(refusal.value)


@pytest.mark.parametrize(
    ("zone", "kept"), [("SYSTEM", "UTC"), ("+8:00", "+08:00"), ("-03:30", "-03:30"), ("Asia/Shanghai", "Asia/Shanghai")]
)
def test_a_time_zone_is_a_name_or_an_offset(zone: str, kept: str) -> None:
    """The system's zone is UTC here."""
    assert kept == set_variable(NEW, "time_zone", "", zone).time_zone


def test_set_default_restores_the_default() -> None:
    """For variables with and without an effect on rows."""
    session = NEW
    for name, value in (("sql_mode", ""), ("timestamp", "1700000000.5"), ("tidb_mem_quota_query", "1")):
        session = set_variable(session, name, "session", value)
    assert (frozenset(), 1700000000.5, {"sql_mode": "", "tidb_mem_quota_query": "1"}) == (
        session.sql_mode,
        session.timestamp,
        session.settings,
    )

    for name in ("sql_mode", "timestamp", "tidb_mem_quota_query"):
        session = set_variable(session, name, "", None)

    assert NEW == session


def test_set_global_does_not_affect_the_current_session() -> None:
    """SET GLOBAL sql_mode applies to new sessions. A variable that is only global applies at once."""
    assert set_variable(NEW, "sql_mode", "global", "").sql_mode == NEW.sql_mode
    assert set_variable(NEW, "tidb_enable_check_constraint", "global", "on").check_constraints


def test_a_variable_reads_as_it_was_set() -> None:
    """Headers of dumps save old values in user variables, and restore them."""
    assert ",".join(DEFAULT_SQL_MODE) == variable_text(NEW, "sql_mode")
    assert "1" == variable_text(NEW, "unique_checks")
    assert "0" == variable_text(set_variable(NEW, "unique_checks", "", "0"), "unique_checks")
    with pytest.raises(SqlError, match="1193.*Unknown system variable 'nonsense'"):
        variable_text(NEW, "nonsense")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("strict_trans_tables,,PIPES_AS_CONCAT", "STRICT_TRANS_TABLES,PIPES_AS_CONCAT"),
        ("ANSI", "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"),
        ("MYSQL40", "MYSQL40,HIGH_NOT_PRECEDENCE"),
    ],
)
def test_sql_mode_is_shown_in_the_order_in_which_it_was_set(value: str, shown: str) -> None:
    """Modes that stand for several come after these."""
    assert shown == variable_text(set_variable(NEW, "sql_mode", "", value), "sql_mode")
