"""Statements under a session's sql_mode: what TiCDC sends, by which mode it reads, where it stops; and their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.upstreams import cases

from simulator import TiCDC
from simulator.errors import ChangefeedError, SqlError
from simulator.reader.decode import DdlEvent, RowEvent

JOB = (("v8.0.0", "classic"), ("v8.5.8", "classic"), ("v8.5.4", "new"), ("v26.3.1", "new"))
CHANGEFEED = ("v6.5.6", "v7.1.3", "v7.5.0", "v7.6.0")
DEFAULT = ("v5.4.0", "v6.5.5", "v7.1.2", "v7.4.0")
TYPED = ("v4.0.16", "v5.3.0")


def played(release: str, script: str, architecture: str = "classic", **config: Any) -> TiCDC:
    """Execute a script in database `test`."""
    ticdc = TiCDC(release, architecture, sink_uri="kafka://k/t?protocol=open-protocol&partition-num=1", config=config)
    ticdc.execute(script)
    return ticdc


def sent(release: str, script: str, architecture: str = "classic", **config: Any) -> list[str]:
    """The texts of statements that a script sends."""
    events = played(release, script, architecture, **config).events(watermark=False)
    return [event.query for event in events if isinstance(event, DdlEvent)]


TEXTS = cases(r"""
    ANSI_QUOTES => CREATE TABLE "a b" ("id" INT PRIMARY KEY, "c" TEXT) COMMENT 'x'
        => CREATE TABLE `a b` (`id` INT PRIMARY KEY,`c` TEXT) COMMENT = 'x' => (stops)
    ANSI_QUOTES => CREATE TABLE t ("a\nb""c" INT PRIMARY KEY) => CREATE TABLE `t` (`a¶b"c` INT PRIMARY KEY) => (stops)
    PIPES_AS_CONCAT => CREATE TABLE t (a INT PRIMARY KEY, g TEXT AS (-a||'x'||a))
        => CREATE TABLE `t` (`a` INT PRIMARY KEY,`g` TEXT GENERATED ALWAYS AS(CONCAT(CONCAT(-`a`, _UTF8MB4'x'), `a`)) VIRTUAL)
        => CREATE TABLE `t` (`a` INT PRIMARY KEY,`g` TEXT GENERATED ALWAYS AS(-`a` OR _UTF8MB4'x' OR `a`) VIRTUAL)
    REAL_AS_FLOAT => CREATE TABLE t (a REAL PRIMARY KEY, g INT AS (CAST(a AS REAL)))
        => CREATE TABLE `t` (`a` FLOAT PRIMARY KEY,`g` INT GENERATED ALWAYS AS(CAST(`a` AS FLOAT)) VIRTUAL)
        => CREATE TABLE `t` (`a` DOUBLE PRIMARY KEY,`g` INT GENERATED ALWAYS AS(CAST(`a` AS DOUBLE)) VIRTUAL)
    NO_BACKSLASH_ESCAPES => CREATE TABLE t (a VARCHAR(9) PRIMARY KEY DEFAULT 'a\nb' COMMENT 'c\\')
        => CREATE TABLE `t` (`a` VARCHAR(9) PRIMARY KEY DEFAULT _UTF8MB4'a\\nb' COMMENT 'c\\\\')
        => CREATE TABLE `t` (`a` VARCHAR(9) PRIMARY KEY DEFAULT _UTF8MB4'a¶b' COMMENT 'c\\')
    HIGH_NOT_PRECEDENCE => CREATE TABLE t (a INT PRIMARY KEY, g INT AS (NOT a BETWEEN -5 AND 5))
        => CREATE TABLE `t` (`a` INT PRIMARY KEY,`g` INT GENERATED ALWAYS AS(!`a` BETWEEN -5 AND 5) VIRTUAL)
        => CREATE TABLE `t` (`a` INT PRIMARY KEY,`g` INT GENERATED ALWAYS AS(NOT `a` BETWEEN -5 AND 5) VIRTUAL)
    IGNORE_SPACE => CREATE TABLE t (a VARCHAR(9) PRIMARY KEY, g TEXT AS (SUBSTR (a, 1)))
        => CREATE TABLE `t` (`a` VARCHAR(9) PRIMARY KEY,`g` TEXT GENERATED ALWAYS AS(SUBSTR(`a`, 1)) VIRTUAL) => (stops)
""")
"""A mode and a statement, what is sent of it where TiCDC knows the mode, and where it does not."""


@pytest.mark.parametrize(("mode", "statement", "known"), [case[:3] for case in TEXTS])
@pytest.mark.parametrize(("release", "architecture"), [*JOB, *((release, "") for release in CHANGEFEED)])
def test_a_statement_is_read_by_the_mode_of_its_session_from_8_0_and_before_by_the_changefeeds(
    release: str, architecture: str, mode: str, statement: str, known: str
) -> None:
    """Sources: tiflow#10660, tiflow#9876, cdc/owner/ddl_sink.go addSpecialComment; ticdc transformDDLJobQuery."""
    config = {} if architecture else {"sql-mode": f"ONLY_FULL_GROUP_BY,{mode}"}
    assert sent(release, f"SET sql_mode = '{mode}'; {statement}", architecture or "classic", **config) == [known]


@pytest.mark.parametrize(("mode", "statement", "unknown"), [(case[0], case[1], case[3]) for case in TEXTS])
@pytest.mark.parametrize("release", [*CHANGEFEED, *DEFAULT])
def test_ticdc_reads_otherwise_or_stops_without_the_mode(release: str, mode: str, statement: str, unknown: str) -> None:
    script = f"SET sql_mode = '{mode}'; {statement}"
    if unknown != "(stops)":
        assert sent(release, script) == [unknown]
        return
    with pytest.raises(SqlError, match=f"TiCDC {release} reads DDL .*sql.mode.*, and stops: "):
        sent(release, script)


@pytest.mark.parametrize("release", TYPED)
def test_a_text_that_is_sent_as_it_was_typed_needs_no_mode(release: str) -> None:
    for mode, statement, *_ in TEXTS:
        assert sent(release, f"SET sql_mode = '{mode}'; {statement}") == [statement]


def test_the_error_names_the_step_at_which_ticdc_reads_the_text() -> None:
    """From 6.2 to 7.6 event filters come first, even if there is none (tiflow pkg/filter/utils.go ddlToEventType)."""
    script = "SET sql_mode = 'ANSI_QUOTES'; CREATE TABLE \"t\" (a INT PRIMARY KEY)"
    with pytest.raises(SqlError, match="without the session's sql_mode, and stops: line 1, column 14"):
        sent("v6.1.0", script)
    with pytest.raises(SqlError, match="without the session's .*: failed to convert ddl 'CREATE TABLE \"t\""):
        sent("v6.2.0", script)
    with pytest.raises(SqlError, match="by the sql-mode of the changefeed .*: failed to convert ddl"):
        sent("v7.5.7", script, **{"sql-mode": "ANSI"})


def test_a_drop_needs_no_mode_where_ticdc_writes_it_anew_before_it_reads_it() -> None:
    """Event filters of some releases read the statement before (tiflow cdc/puller/ddl_puller.go)."""
    script = "CREATE TABLE t (a INT PRIMARY KEY); SET sql_mode = 'ANSI_QUOTES'; DROP TABLE \"t\""
    assert sent("v7.5.7", script)[1:] == ["DROP TABLE `test`.`t`"]
    with pytest.raises(SqlError, match="failed to convert ddl 'DROP TABLE"):
        sent("v7.5.0", script)


def test_the_name_of_an_exchanged_partition_is_copied_with_its_quotes() -> None:
    """Classic TiCDC copies the statement's text (tiflow cdc/model/sink.go FromJobWithArgs)."""
    script = """CREATE TABLE q (a INT PRIMARY KEY); SET sql_mode = 'ANSI_QUOTES';
        CREATE TABLE "p" (a INT PRIMARY KEY) PARTITION BY RANGE (a) (PARTITION "p0" VALUES LESS THAN (9));
        ALTER TABLE "p" EXCHANGE PARTITION "p0" WITH TABLE "q" """
    exchange = "ALTER TABLE `test`.`p` EXCHANGE PARTITION `{}` WITH TABLE `test`.`q`"
    assert sent("v8.5.3", script)[2:] == [exchange.format('"p0"')]
    assert sent("v8.5.7", script, "new")[2:] == [exchange.format("p0")]


CONFIGS: list[tuple[str, Mapping[str, Any], str]] = [
    (
        "v7.5.0",
        {"sql-mode": "ansi_quotes"},
        "invalid replica config, invalid sqlMode ansi_quotes; accepted: ANSI_QUOTES,",
    ),
    ("v7.5.0", {"sql-mode": "ANSI_QUOTES, IGNORE_SPACE"}, "invalid sqlMode ANSI_QUOTES, IGNORE_SPACE"),
]


@pytest.mark.parametrize(("release", "config", "text"), CONFIGS)
def test_modes_of_a_changefeed_are_spelled_as_tidb_spells_them(release: str, config: Any, text: str) -> None:
    with pytest.raises(ChangefeedError, match=text) as refused:
        TiCDC(release, config=config)
    assert refused.value.code == "CDC:ErrInvalidReplicaConfig"


def test_a_mode_that_a_release_does_not_use_is_a_warning() -> None:
    warnings = TiCDC("v8.0.0", config={"sql-mode": "none"}).warnings
    assert warnings == ("sql-mode has no effect: TiCDC v8.0.0 reads DDL by the sql_mode of its session",)


ROWS = [
    ("PIPES_AS_CONCAT", "g TEXT AS (a || 'x') STORED", "qx"),
    ("ANSI_QUOTES", 'g TEXT AS (CONCAT("a", \'"\')) STORED', 'q"'),
    ("NO_BACKSLASH_ESCAPES", r"g TEXT AS (CONCAT(a, 'x\n')) STORED", r"qx\n"),
    ("NO_BACKSLASH_ESCAPES", r"g VARCHAR(9) DEFAULT 'x\n'", r"x\n"),
    ("HIGH_NOT_PRECEDENCE", "g INT AS (NOT 1 BETWEEN -5 AND 5) STORED", "1"),
    ("IGNORE_SPACE", "g TEXT AS (SUBSTR (a, 1)) STORED", "q"),
    ("REAL_AS_FLOAT", "g REAL DEFAULT 16777217", "16777216"),
]


@pytest.mark.parametrize(("mode", "column", "value"), ROWS)
def test_a_stored_expression_keeps_the_meaning_that_it_had_in_its_statement(mode: str, column: str, value: str) -> None:
    """TiDB stores what it restores, and reads it without a mode (tidb pkg/util/generatedexpr)."""
    script = f"""SET sql_mode = '{mode}'; CREATE TABLE t (a VARCHAR(9) PRIMARY KEY, {column});
        SET sql_mode = DEFAULT; INSERT INTO t (a) VALUES ('q'); ALTER TABLE t ADD z INT; UPDATE t SET z = 1"""
    events = played("v8.5.3", script).events(watermark=False)
    assert [(event.after or {})["g"] for event in events if isinstance(event, RowEvent)] == [value, value]


def test_checks_and_partitions_keep_the_meaning_of_their_statement_too() -> None:
    script = """SET GLOBAL tidb_enable_check_constraint = ON; SET sql_mode = 'ANSI'; CREATE TABLE t ("a" INT PRIMARY KEY, CHECK ("a" || '0' > 50))
        PARTITION BY RANGE ("a" + 1) (PARTITION p VALUES LESS THAN (10), PARTITION q VALUES LESS THAN MAXVALUE);
        SET sql_mode = DEFAULT; INSERT INTO t VALUES (9), (6)"""
    ticdc = played("v8.5.3", script)
    assert {row["a"] for row in ticdc.rows("t")} == {6, 9}
    with pytest.raises(SqlError, match="3819"):
        ticdc.execute("INSERT INTO t VALUES (5)")
