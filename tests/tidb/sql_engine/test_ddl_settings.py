"""DDL under session variables, and DDL that stops half way."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SqlError


def ticdc(script: str) -> TiCDC:
    made = TiCDC("v8.0.0", config={"force-replicate": True})
    made.execute(f"USE test; {script}")
    made.events()
    return made


def queries(made: TiCDC) -> set[str]:
    return {event.query for event in made.events() if hasattr(event, "query")}


@pytest.mark.parametrize(
    ("mode", "definition", "clustered"),
    [
        ("ON", "a VARCHAR(3) PRIMARY KEY", True),
        ("OFF", "a INT PRIMARY KEY", False),
        ("INT_ONLY", "a INT PRIMARY KEY", True),
        ("INT_ONLY", "a VARCHAR(3) PRIMARY KEY", False),
        ("OFF", "a INT PRIMARY KEY CLUSTERED", True),
    ],
)
def test_tidb_enable_clustered_index_decides_about_clustering(mode: str, definition: str, clustered: bool) -> None:
    """Only a primary key that is not clustered can be dropped."""
    made = ticdc(f"SET tidb_enable_clustered_index = {mode}; CREATE TABLE t ({definition}, b INT)")

    if not clustered:
        made.execute("ALTER TABLE t DROP PRIMARY KEY")
        return
    with pytest.raises(SqlError) as error:
        made.execute("ALTER TABLE t DROP PRIMARY KEY")
    assert error.value.number == 8200


def test_real_is_float_with_real_as_float() -> None:
    made = ticdc("SET sql_mode = 'REAL_AS_FLOAT'; CREATE TABLE t (a REAL); INSERT INTO t VALUES (1.1)")

    made.execute("ALTER TABLE t MODIFY a DOUBLE")

    assert made.rows("test.t")[0]["a"] == 1.100000023841858


@pytest.mark.parametrize(("kind", "number"), [("TABLE", 1051), ("VIEW", 1051), ("SEQUENCE", 4139)])
def test_existing_tables_are_dropped_before_the_error_about_missing_ones(kind: str, number: int) -> None:
    """Each table and view is an event of its own."""
    body = {"TABLE": "(i INT)", "VIEW": "AS SELECT 1", "SEQUENCE": ""}[kind]
    made = ticdc(f"CREATE {kind} a {body}; CREATE {kind} c {body}")

    with pytest.raises(SqlError) as error:
        made.execute(f"DROP {kind} a, b, c")

    assert error.value.number == number and "test.b" in error.value.text
    assert len(queries(made)) == (0 if kind == "SEQUENCE" else 2)
    made.execute(f"CREATE {kind} a {body}; CREATE {kind} c {body}")


def test_a_parent_table_can_be_dropped_without_foreign_key_checks() -> None:
    made = ticdc("CREATE TABLE p (a INT PRIMARY KEY); CREATE TABLE c (a INT, FOREIGN KEY (a) REFERENCES p (a))")
    for statement in ("DROP TABLE p", "TRUNCATE TABLE p"):
        with pytest.raises(SqlError):
            made.execute(statement)

    made.execute("SET foreign_key_checks = 0; TRUNCATE TABLE p; DROP TABLE p")

    assert len(queries(made)) == 2


def test_all_old_columns_may_be_dropped_if_another_is_added() -> None:
    """The new column has its own id, and no value of the old ones."""
    made = ticdc("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2)")

    made.execute("ALTER TABLE t DROP COLUMN a, DROP COLUMN b, ADD COLUMN c INT")

    assert made.rows("test.t") == [{"c": None}]


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("ALTER TABLE t ADD INDEX (a), ALGORITHM = INSTANT", 1846),
        ("ALTER TABLE t ALGORITHM = nosuch", 1800),
        ("ALTER TABLE t LOCK = nosuch", 1801),
        ("ALTER TABLE t ENGINE = nosuch", 1286),
        ("ALTER TABLE t CHARSET utf8mb4 CHARSET latin1", 1302),
        ("CREATE INDEX `` ON t (a)", 1280),
        ("ALTER TABLE t ADD PRIMARY KEY (a) INVISIBLE", 3522),
        ("ALTER TABLE t CACHE, ADD a INT", 8200),
    ],
)
def test_alter_table_is_refused_as_tidb_does(statement: str, number: int) -> None:
    made = ticdc("CREATE TABLE t (a INT)")

    with pytest.raises(SqlError) as error:
        made.execute(statement)

    assert error.value.number == number


@pytest.mark.parametrize(
    ("zone", "shown", "stored"),
    [
        ("Europe/Berlin", "2020-10-25 02:30:00", "2020-10-25 01:30:00"),
        ("America/New_York", "2020-11-01 01:30:00", "2020-11-01 05:30:00"),
    ],
)
@pytest.mark.parametrize("given", ["TIMESTAMP", "DATETIME"])
def test_an_ambiguous_local_time_is_resolved_as_in_tidb(zone: str, shown: str, stored: str, given: str) -> None:
    """It is the later instant east of Greenwich and the earlier one west of it, in INSERT and in MODIFY."""
    made = ticdc(f"SET time_zone = '{zone}'; CREATE TABLE t (a {given} NULL); INSERT INTO t VALUES ('{shown}')")

    made.execute("ALTER TABLE t MODIFY a TIMESTAMP NULL")

    assert str(made.rows("test.t")[0]["a"]) == stored


def test_ddl_that_only_parses_with_ansi_quotes_stops_the_changefeed() -> None:
    """TiCDC parses a job's text itself (tiflow cdc/owner/ddl_sink.go, addSpecialComment)."""
    with pytest.raises(SqlError, match="TiCDC parses DDL without sql_mode, and stops"):
        ticdc("SET sql_mode = 'ANSI_QUOTES'; CREATE TABLE \"t\" (a INT)")
    made = ticdc("SET sql_mode = 'ANSI_QUOTES'; CREATE TABLE t (a INT)")
    assert made.execute('INSERT INTO "t" ("a") VALUES (1)').affected == 1
