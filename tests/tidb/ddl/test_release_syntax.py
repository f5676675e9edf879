"""What the parsers of older releases of TiDB lack is a syntax error, before anything is executed."""

import pytest

import simulator
from simulator.errors import SqlError

OLD, NEW = "classic:v8.0.0", "new:v26.3.4"
NEWER = [
    ("CREATE TABLE n (a INT, KEY (a) PRE_SPLIT_REGIONS 4)", "an index has no PRE_SPLIT_REGIONS"),
    ("CREATE INDEX i ON t (id) PRE_SPLIT_REGIONS = 4", "an index has no PRE_SPLIT_REGIONS"),
    ("ALTER TABLE t ADD COLUMN (v INT, KEY (v) PRE_SPLIT_REGIONS = 4)", "an index has no PRE_SPLIT_REGIONS"),
    ("CREATE TABLE n (v VECTOR(3))", "there is no type VECTOR"),
    ("ALTER TABLE t ADD COLUMN v VECTOR(3)", "there is no type VECTOR"),
    ("ALTER TABLE t MODIFY a VECTOR", "there is no type VECTOR"),
    ("CREATE TABLE n (a INT DEFAULT (1))", "DEFAULT takes no such parentheses"),
    ("CREATE TABLE n (a INT, VECTOR INDEX i ((VEC_COSINE_DISTANCE(a))))", "there are no vector indexes"),
]
SOFT = [
    ("CREATE TABLE n (id INT PRIMARY KEY) SOFTDELETE RETENTION 7 DAY", "SOFTDELETE"),
    ("CREATE TABLE n (id INT PRIMARY KEY) ACTIVE_ACTIVE='ON' SOFTDELETE=RETENTION 7 DAY", "ACTIVE_ACTIVE"),
    ("ALTER TABLE t SOFTDELETE_JOB_ENABLE 'ON' SOFTDELETE_JOB_INTERVAL='24h'", "SOFTDELETE_JOB_ENABLE"),
    ("CREATE DATABASE d SOFTDELETE = RETENTION 7 DAY", "SOFTDELETE"),
    ("ALTER DATABASE SOFTDELETE = 'OFF'", "SOFTDELETE"),
    ("ALTER DATABASE test ACTIVE_ACTIVE = 'ON'", "ACTIVE_ACTIVE"),
]
COMMENT = "CREATE TABLE n (a VARCHAR(40) PRIMARY KEY DEFAULT '/*T![softdelete]') /*T![softdelete] SOFTDELETE=RETENTION 7 DAY */"


def open_ticdc(tag: str) -> simulator.TiCDC:
    """Return a changefeed with a table and an open transaction."""
    architecture, _, release = tag.partition(":")
    ticdc = simulator.TiCDC(release, architecture=architecture)
    ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT); BEGIN; INSERT INTO t VALUES (1, 1)")
    return ticdc


@pytest.mark.parametrize(("text", "what"), NEWER)
def test_what_a_parser_lacks_is_a_syntax_error_that_commits_nothing(text: str, what: str) -> None:
    ticdc = open_ticdc(OLD)
    with pytest.raises(SqlError, match=f"1064 .*{what}"):
        ticdc.execute(text)
    with pytest.raises(SqlError, match=f"1064 .*{what}"):
        ticdc.execute(f'PREPARE p FROM "{text}"')
    ticdc.execute("ROLLBACK")
    assert not ticdc.rows("t")


@pytest.mark.parametrize(("text", "option"), SOFT)
def test_options_of_soft_deletes_are_a_syntax_error_in_releases_before(text: str, option: str) -> None:
    with pytest.raises(SqlError, match=f"1064 .*there is no option {option} in this release"):
        open_ticdc("new:v8.5.7").execute(text)


def test_comments_with_soft_deletes_are_read_where_tidb_executes_them() -> None:
    old, new = open_ticdc("new:v8.5.7"), open_ticdc(NEW)
    for ticdc in (old, new):
        ticdc.execute(COMMENT)
        assert "'/*T![softdelete]'" in str(ticdc.execute("SHOW CREATE TABLE n").rows)
    assert " SOFTDELETE=" not in str(old.execute("SHOW CREATE TABLE n").rows)
    assert " SOFTDELETE=" in str(new.execute("SHOW CREATE TABLE n").rows)
