"""DDL over stored rows, and under session variables: converted rows, and rows over which a statement cannot run."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import cache

import pytest
from support.upstreams import as_text, cases, grouped, in_test, played, refusal, refusal_number, refused, rows_in

from simulator import TiCDC
from simulator.errors import SqlError
from simulator.reader.decode import DdlEvent, RowEvent, Watermark
from simulator.releases import find
from simulator.tidb.engine import CompletedDdl
from simulator.tidb.engine.execution import Upstream

ITEM = "CREATE TABLE item (id BIGINT PRIMARY KEY, name VARCHAR(20), stock INT NULL)"
CANAL = "kafka://h:9092/t?protocol=canal-json&partition-num=1"
ROWS_300 = ", ".join(f"({number}, {number})" for number in range(300))
ROWS = "1,bolt,5; 2,nut,NULL; 3,nut,300"


@cache
def items() -> Upstream:
    return played(f"""{ITEM}; INSERT INTO item VALUES (1, 'bolt', 5), (2, 'nut', NULL), (3, 'nut', 300);
        CREATE TABLE part (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a)
            (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
        INSERT INTO part VALUES (1, 1), (5, 5), (11, 11);
        CREATE TABLE plain (a INT PRIMARY KEY, b INT); INSERT INTO plain VALUES (3, 33), (4, 44);
        CREATE TABLE heap (a INT NOT NULL, b INT); INSERT INTO heap VALUES (1, 1), (1, 2);
        CREATE TABLE nulls (a INT PRIMARY KEY, b INT); INSERT INTO nulls VALUES (1, NULL), (2, NULL)""").upstream


def rows(upstream: Upstream, table: str) -> str:
    return as_text(rows_in(upstream, table))


CHANGED = grouped("""
    ALTER TABLE item ADD COLUMN x INT => 1,bolt,5,NULL; 2,nut,NULL,NULL; 3,nut,300,NULL
    ALTER TABLE item ADD COLUMN x INT DEFAULT 7 => 1,bolt,5,7; 2,nut,NULL,7; 3,nut,300,7
    ALTER TABLE item ADD COLUMN x INT NOT NULL => 1,bolt,5,0; 2,nut,NULL,0; 3,nut,300,0
    ALTER TABLE item ADD COLUMN x VARCHAR(3) NOT NULL => 1,bolt,5,; 2,nut,NULL,; 3,nut,300,
    ALTER TABLE item ADD COLUMN x ENUM('a','b') NOT NULL => 1,bolt,5,a; 2,nut,NULL,a; 3,nut,300,a
    ALTER TABLE item DROP name, ADD COLUMN x DATETIME(3) DEFAULT NOW(3), DROP stock
        => 1,2020-02-20 02:20:20.123; 2,2020-02-20 02:20:20.123; 3,2020-02-20 02:20:20.123
    SET time_zone = '+02:00'; ALTER TABLE item ADD a TIMESTAMP DEFAULT NOW(), ADD b DATETIME DEFAULT NOW(); DELETE FROM item WHERE id > 1
        => 1,bolt,5,2020-02-20 02:20:20,2020-02-20 04:20:20
    ALTER TABLE item ADD COLUMN a INT DEFAULT 9 FIRST, ADD COLUMN b INT DEFAULT 8 AFTER id
        => 9,1,8,bolt,5; 9,2,8,nut,NULL; 9,3,8,nut,300
    ALTER TABLE item DROP COLUMN name; ALTER TABLE item RENAME COLUMN stock TO name => 1,5; 2,NULL; 3,300
    ALTER TABLE item MODIFY stock DECIMAL(10, 2) => 1,bolt,5.00; 2,nut,NULL; 3,nut,300.00
    TRUNCATE TABLE item | DROP TABLE item; CREATE TABLE item (a INT) => (none)
    DROP DATABASE test; CREATE DATABASE test; USE test; CREATE TABLE item (a INT) => (none)
    RENAME TABLE item TO swap, plain TO x, swap TO plain; CREATE TABLE item LIKE plain => (none)
    DROP TABLE item; FLASHBACK TABLE item | DROP TABLE item; RECOVER TABLE item => 1,bolt,5; 2,nut,NULL; 3,nut,300
    TRUNCATE TABLE item; FLASHBACK TABLE item TO again; RENAME TABLE item TO x, again TO item
        => 1,bolt,5; 2,nut,NULL; 3,nut,300
    DROP DATABASE test; FLASHBACK DATABASE test => 1,bolt,5; 2,nut,NULL; 3,nut,300
    RENAME TABLE item TO swap, plain TO item, swap TO plain => 3,33; 4,44
    ALTER TABLE part EXCHANGE PARTITION p0 WITH TABLE plain; RENAME TABLE item TO x, part TO item => 3,33; 4,44; 11,11
    ALTER TABLE part EXCHANGE PARTITION p0 WITH TABLE plain; RENAME TABLE item TO x, plain TO item => 1,1; 5,5
    DROP TABLE item; CREATE TABLE item (a INT, b INT); INSERT INTO item VALUES (1, 2); ALTER TABLE item DROP a, DROP b, ADD c INT
        => NULL
    SET time_zone = 'Europe/Berlin'; DROP TABLE item; CREATE TABLE item (b TIMESTAMP NULL); INSERT INTO item VALUES ('2020-06-01 14:00:00'), (NULL); ALTER TABLE item MODIFY b DATETIME
        => 2020-06-01 14:00:00; NULL
    SET time_zone = 'Europe/Berlin'; DROP TABLE item; CREATE TABLE item (b DATETIME); INSERT INTO item VALUES ('2020-06-01 14:00:00'), (NULL); ALTER TABLE item MODIFY b TIMESTAMP NULL
        => 2020-06-01 12:00:00; NULL
""")


@pytest.mark.parametrize(("script", "expected"), CHANGED)
def test_rows_follow_their_table_and_its_columns(script: str, expected: str) -> None:
    """Without a default, a new column is NULL in older rows, or the zero of its type. A column is identified by its id, not
    by its name."""
    assert rows(played(script, items()).upstream, "item") == expected


PARTITIONS = grouped("""
    DROP PARTITION p0 | TRUNCATE PARTITION p0 => 11
    TRUNCATE PARTITION ALL => (none)
    ADD PARTITION (PARTITION p2 VALUES LESS THAN (30)) | REMOVE PARTITIONING => 1 5 11
    PARTITION BY HASH (a) PARTITIONS 2 => 1 5 11
    REORGANIZE PARTITION p0 INTO (PARTITION a VALUES LESS THAN (3), PARTITION b VALUES LESS THAN (10)) => 1 5 11
""")


@pytest.mark.parametrize(("spec", "left"), PARTITIONS)
def test_rows_are_dropped_with_their_partitions(spec: str, left: str) -> None:
    """Remaining rows are in the partitions of the new definition."""
    upstream = played(f"ALTER TABLE part {spec}", items()).upstream
    assert (" ".join(sorted((row[0] or "" for row in rows_in(upstream, "part")), key=int)) or "(none)") == left


UNFIT = cases("""
    ALTER TABLE item MODIFY stock INT NOT NULL => 1265 Data truncated for column 'stock' at row 1
    ALTER TABLE item MODIFY stock BIGINT NOT NULL => 1265 Data truncated for column 'stock' at row 1
    ALTER TABLE item MODIFY stock TINYINT => 1690 constant 300 overflows tinyint
    ALTER TABLE item MODIFY stock DECIMAL(3, 1) => 1690 DECIMAL value is out of range in '(3, 1)'
    ALTER TABLE item MODIFY name VARCHAR(3) => 1265 Data truncated for column 'name', value is 'bolt'
    ALTER TABLE item MODIFY name ENUM('bolt') => 1265 Data truncated for column 'name', value is 'nut'
    ALTER TABLE item MODIFY name INT => 1292 Truncated incorrect DOUBLE value: 'bolt'
    ALTER TABLE item MODIFY name DECIMAL(5) => 1292 Truncated incorrect DECIMAL value: 'bolt'
    ALTER TABLE item MODIFY name DATETIME => 1292 Incorrect datetime value: 'bolt'
    ALTER TABLE item ADD UNIQUE (name) => 1062 Duplicate entry 'nut' for key 'item.name'
    CREATE UNIQUE INDEX few ON item (name(3)) => 1062 Duplicate entry 'nut' for key 'item.few'
    ALTER TABLE heap ADD PRIMARY KEY (a) NONCLUSTERED => 1062 Duplicate entry '1' for key 'heap.PRIMARY'
    ALTER TABLE part PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10))
        => 1526 Table has no partition for value 11
    INSERT INTO plain VALUES (12, 1); ALTER TABLE part EXCHANGE PARTITION p0 WITH TABLE plain
        => 1737 Found a row that does not match the partition
    ALTER TABLE nulls ADD UNIQUE (b) => (none)
""")


@pytest.mark.parametrize(("script", "error"), UNFIT)
def test_a_row_that_does_not_fit_refuses_the_statement(script: str, error: str) -> None:
    """The error is TiDB's, and the table stays as it was. NULLs are no duplicates."""
    assert (refused(script, items()) or "(none)") == error
    if error != "(none)" and ";" not in script:
        assert rows(refusal(script, items()).upstream, "item") == ROWS


def test_a_ddl_statement_is_one_event_with_both_catalogs() -> None:
    """There is no event without a job."""
    (event,) = played("ALTER TABLE item ADD COLUMN x INT; CREATE TABLE IF NOT EXISTS item (a INT)", items()).events
    assert isinstance(event, CompletedDdl)
    assert [3, 4] == [len(catalog.tables["test", "item"].columns) for catalog in (event.before, event.after)]


CONVERTED = cases(r"""
    INT => 20200203 => DATE => 2020-02-03
    INT => 1231 => DATETIME(3) => 2000-12-31 00:00:00.000
    BIGINT => 20200203112233 => TIME => 11:22:33
    SMALLINT => -5 => TIME => -00:00:05
    INT => 1 => ENUM('a','1') => a
    INT => 3 => SET('a','b') => a,b
    TINYINT => -5 => BIT(64) => 18446744073709551611
    FLOAT => 1.1 => DOUBLE => 1.100000023841858
    DOUBLE => 2.5 => INT => 2
    DECIMAL(4,1) => 2.5 => INT => 3
    DECIMAL(5,1) => 2020.4 => YEAR => 2020
    DECIMAL(5,2) => 1.50 => JSON => 1.5
    DATE => '2020-02-03' => INT => 20200203
    DATE => '2020-02-03' => YEAR => 2020
    DATETIME(6) => '2020-02-03 23:59:59.999999' => BIGINT => 20200204000000
    DATETIME(6) => '2020-02-03 23:59:59.999999' => BIGINT UNSIGNED => 20200203235960
    DATETIME(6) => '2020-02-03 23:59:59.999999' => DATE => 2020-02-03
    DATETIME => '2020-02-03 11:22:33' => JSON => "2020-02-03 11:22:33.000000"
    TIME(3) => '-00:00:01.500' => INT => -1
    TIME(3) => '11:22:33.567' => DECIMAL(9,3) => 112233.567
    TIME => '00:00:05' => YEAR => 2005
    BIT(16) => 49 => VARCHAR(9) => 49
    BIT(16) => 49 => JSON => "\u00001"
    JSON => '"12"' => INT => 12
    JSON => 'true' => INT => 1
    JSON => '"2020-02-03"' => DATE => 2020-02-03
    YEAR => 0 => INT => 0
    BINARY(4) => '12' => INT => 12
    VARCHAR(9) => '12.5' => YEAR => 2013
""")
STOPPED = cases(r"""
    INT => 300 => DATE => 1292 Incorrect datetime value: '2000-03-00'
    INT => 0 => DATE => 1292 Truncated incorrect date value: '0'
    INT => 1000000 => DATE => 1292 Incorrect datetime value: '0100-00-00'
    INT => 20200203 => TIME => 1292 Incorrect time value: '20200203'
    INT UNSIGNED => 20200203 => TIMESTAMP => 1105 cannot convert datum from unsigned bigint to type timestamp
    INT => 300 => BIT(3) => 1265 Data truncated for column 'a', value is '300'
    DOUBLE => -2.5 => BIT(3) => 1690 constant -2 overflows bit
    INT => 300 => DECIMAL(3,1) => 1690 DECIMAL value is out of range in '(3, 1)'
    INT => 300 => FLOAT(4,2) => 1690 DOUBLE value is out of range in ''
    DOUBLE => 1e300 => FLOAT => 1690 constant 1e+300 overflows float
    DOUBLE => 1e20 => YEAR => 1105 cannot convert datum from double to type year
    VARCHAR(9) => '1.5abc' => INT => 1690 BIGINT value is out of range in '1.5'
    VARCHAR(9) => '2abc' => INT => 1292 Truncated incorrect DOUBLE value: '2abc'
    DATE => '1969-12-31' => TIMESTAMP => 1292 Incorrect timestamp value: '1969-12-31 00:00:00'
    DATETIME => '2020-02-03 11:22:33' => INT => 1690 constant 20200203112233 overflows int
    VARBINARY(4) => x'80' => CHAR(9) => 1366 Incorrect string value '\x80' for column 'a'
    CHAR(4) => '' => ENUM('a') => 1265 Data truncated for column 'a', value is ''
    INT => NULL => INT NOT NULL => 1265 Data truncated for column 'a' at row 1
""")


def with_value(type: str, value: str) -> Upstream:
    script = f"CREATE TABLE t (id INT PRIMARY KEY, a {type}); INSERT INTO t VALUES (1, {value})"
    return played(script, in_test(find("v8.0.0"))).upstream


@pytest.mark.parametrize(("source", "value", "target", "text"), CONVERTED)
def test_modify_converts_a_value_to_another_type(source: str, value: str, target: str, text: str) -> None:
    """Measured on TiDB v8.0."""
    assert rows(played(f"ALTER TABLE t MODIFY a {target}", with_value(source, value)).upstream, "t") == f"1,{text}"


@pytest.mark.parametrize(("source", "value", "target", "error"), STOPPED)
def test_a_value_that_does_not_fit_stops_the_statement(source: str, value: str, target: str, error: str) -> None:
    """No event is sent. Measured on TiDB v8.0."""
    found = refusal(f"ALTER TABLE t MODIFY a {target}", with_value(source, value))
    assert (refused(f"ALTER TABLE t MODIFY a {target}", with_value(source, value)), found.events) == (error, ())


def test_null_becomes_the_present_moment_in_a_timestamp_that_is_not_null() -> None:
    upstream = played("ALTER TABLE t MODIFY a TIMESTAMP NOT NULL", with_value("INT", "NULL")).upstream
    assert rows(upstream, "t") == "1,2020-02-20 02:20:20"


CLIPPED = cases("""
    INT => (1, 300), (2, -5), (3, 400) => TINYINT => 127 -5 127
        => 1690 2 warnings with this error code, first warning: constant 300 overflows tinyint
    VARCHAR(9) => (1, '12x'), (2, '7') => INT => 12 7 => 1292 Truncated incorrect DOUBLE value: '12x'
    VARCHAR(9) => (1, '12'), (2, '7') => VARCHAR(1) => 1 7 => 1265 Data truncated for column 'a', value is '12'
    INT => (1, 5) => BIGINT => 5 => (none)
""")


@pytest.mark.parametrize(("source", "values", "target", "texts", "warning"), CLIPPED)
def test_a_lenient_session_clips_values(source: str, values: str, target: str, texts: str, warning: str) -> None:
    """pkg/ddl/column.go, getRowRecord; pkg/ddl/ddl.go counts the warnings of a number. NULL is not replaced."""
    table = f"SET sql_mode = ''; CREATE TABLE t (id INT PRIMARY KEY, a {source}); INSERT INTO t VALUES {values}"
    outcome = played(f"{table}; ALTER TABLE t MODIFY a {target}", in_test(find("v8.0.0")))
    assert " ".join(str(row[1]) for row in rows_in(outcome.upstream, "t")) == texts
    assert ("; ".join(outcome.warnings) or "(none)") == warning
    assert refusal_number(f"{table}, (9, NULL); ALTER TABLE t MODIFY a {target} NOT NULL") == 1265


CLUSTERED = cases("""
    ON => a VARCHAR(3) PRIMARY KEY => 8200
    OFF => a INT PRIMARY KEY => 0
    INT_ONLY => a INT PRIMARY KEY => 8200
    INT_ONLY => a VARCHAR(3) PRIMARY KEY => 0
    OFF => a INT PRIMARY KEY CLUSTERED => 8200
""")


@pytest.mark.parametrize(("mode", "definition", "number"), CLUSTERED)
def test_tidb_enable_clustered_index_decides_about_clustering(mode: str, definition: str, number: str) -> None:
    """Only a primary key that is not clustered can be dropped."""
    table = f"SET tidb_enable_clustered_index = {mode}; CREATE TABLE t ({definition}, b INT)"
    assert refusal_number(f"{table}; ALTER TABLE t DROP PRIMARY KEY") == int(number)


def test_real_is_float_with_real_as_float() -> None:
    script = "SET sql_mode = 'REAL_AS_FLOAT'; CREATE TABLE t (a REAL); INSERT INTO t VALUES (1.1); ALTER TABLE t MODIFY a DOUBLE"
    assert rows(played(script).upstream, "t") == "1.100000023841858"


def test_a_default_in_parentheses_is_computed_at_once() -> None:
    script = "CREATE TABLE t (a INT, b INT); ALTER TABLE t ALTER b SET DEFAULT (1 + 1); INSERT INTO t (a) VALUES (1)"
    assert rows(played(script).upstream, "t") == "1,2"


@pytest.mark.parametrize(("kind", "number"), [("TABLE", 1051), ("VIEW", 1051), ("SEQUENCE", 4139)])
def test_existing_tables_are_dropped_before_the_error_about_missing_ones(kind: str, number: int) -> None:
    """Each table and view is an event of its own."""
    body = {"TABLE": "(i INT)", "VIEW": "AS SELECT 1", "SEQUENCE": ""}[kind]
    made = played(f"CREATE {kind} a {body}; CREATE {kind} c {body}").upstream
    error = refused(f"DROP {kind} a, b, c", made)
    assert error.startswith(f"{number} ") and "test.b" in error
    found = refusal(f"DROP {kind} a, b, c", made)
    with TiCDC("v8.0.0", config={"force-replicate": True}) as ticdc:
        ticdc.execute(f"USE test; CREATE {kind} a {body}; CREATE {kind} c {body}")
        ticdc.events()
        with pytest.raises(SqlError):
            ticdc.execute(f"DROP {kind} a, b, c")
        sent = {event.query for event in ticdc.events() if hasattr(event, "query")}
        assert len(sent) == (0 if kind == "SEQUENCE" else 2)
    assert not refused(f"CREATE {kind} a {body}; CREATE {kind} c {body}", found.upstream)


def test_a_parent_table_can_be_dropped_without_foreign_key_checks() -> None:
    family = "CREATE TABLE p (a INT PRIMARY KEY); CREATE TABLE c (a INT, FOREIGN KEY (a) REFERENCES p (a))"
    assert refused(f"{family}; DROP TABLE p") and refused(f"{family}; TRUNCATE TABLE p")
    assert len(played(f"{family}; SET foreign_key_checks = 0; TRUNCATE TABLE p; DROP TABLE p").events) == 4


@pytest.mark.parametrize(
    ("zone", "local", "stored"),
    [
        ("Europe/Berlin", "2020-10-25 02:30:00", "2020-10-25 01:30:00"),
        ("America/New_York", "2020-11-01 01:30:00", "2020-11-01 05:30:00"),
    ],
)
@pytest.mark.parametrize("given", ["TIMESTAMP", "DATETIME"])
def test_an_ambiguous_local_time_is_resolved_as_in_tidb(zone: str, local: str, stored: str, given: str) -> None:
    """It is the later instant east of Greenwich and the earlier one west of it, in INSERT, in MODIFY and in ADD COLUMN.

    UNIX_TIMESTAMP has the same instant (tidb#59340, tidb#32251: both are open).
    """
    script = f"SET time_zone = '{zone}'; CREATE TABLE t (a {given} NULL); INSERT INTO t VALUES ('{local}')"
    assert rows(played(f"{script}; ALTER TABLE t MODIFY a TIMESTAMP NULL").upstream, "t") == stored
    added = played(f"{script}; ALTER TABLE t ADD b TIMESTAMP DEFAULT '{local}'; ALTER TABLE t DROP a")
    assert rows(added.upstream, "t") == stored
    seconds = int(datetime.fromisoformat(f"{stored}+00:00").timestamp())
    number = f"SET time_zone = '{zone}'; CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (UNIX_TIMESTAMP('{local}'))"
    assert rows(played(number).upstream, "t") == str(seconds)


@pytest.mark.parametrize(("value", "number"), [("0", 1292), ("20200000", 1292), ("20200101", 0)])
def test_a_strict_mode_converts_numbers_to_dates_without_zeros(value: str, number: int) -> None:
    """Other than INSERT, it does not matter whether sql_mode has NO_ZERO_DATE."""
    script = "SET sql_mode = '{}'; CREATE TABLE t (a INT); INSERT INTO t VALUES ({}); ALTER TABLE t MODIFY a DATE"
    assert refusal_number(script.format("STRICT_TRANS_TABLES", value)) == number
    assert refusal_number(script.format("", value)) == 0


def test_a_null_in_a_column_that_becomes_not_null_is_reported_under_the_new_name() -> None:
    assert (
        refused("ALTER TABLE nulls CHANGE b c INT NOT NULL", items()) == "1265 Data truncated for column 'c' at row 1"
    )


LAST_RANGES = cases("""
    VALUES LESS THAN (15) => 0
    VALUES LESS THAN (12) => 0
    VALUES LESS THAN (11) => 1526
    VALUES LESS THAN (30) => 0
""")


@pytest.mark.parametrize(("values", "number"), LAST_RANGES)
def test_the_last_ranges_can_end_anywhere_behind_their_rows(values: str, number: str) -> None:
    statement = f"ALTER TABLE part REORGANIZE PARTITION p1 INTO (PARTITION p {values})"
    assert refusal_number(statement, items()) == int(number)
    assert refusal_number(statement.replace("p1", "p0"), items()) == 1493


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ("DATE DEFAULT (DATE_FORMAT(NOW(), '%Y-%m-%d'))", "2020-02-20"),
        ("VARCHAR(9) DEFAULT (DATE_FORMAT(NOW(), '%Y-%m'))", "2020-02"),
        ("INT DEFAULT (STR_TO_DATE('1980-01-02', '%Y-%m-%d'))", "19800102"),
    ],
)
def test_rows_get_the_value_of_a_function_that_is_the_default_of_a_new_column(definition: str, text: str) -> None:
    script = f"CREATE TABLE t (a INT); INSERT INTO t VALUES (1); ALTER TABLE t ADD x {definition}"
    assert rows(played(script).upstream, "t") == f"1,{text}"
    assert refusal_number(script, in_test(find("v8.0.0"))) == 1674
    assert (
        refusal_number("CREATE TABLE t (a INT); ALTER TABLE t ADD x DATE DEFAULT (DATE_FORMAT(NOW(), '%Y-%m'))") == 1292
    )


def test_the_value_of_a_function_that_is_a_default_is_converted_as_an_expression() -> None:
    script = "CREATE TABLE t (a INT DEFAULT (UPPER(SUBSTRING_INDEX(USER(), '@', 1)))); INSERT INTO t VALUES ()"
    assert refused(script) == "1292 Truncated incorrect DOUBLE value: 'ROOT'"


def test_a_default_that_its_time_zone_skips_is_refused() -> None:
    script = "SET time_zone = 'Europe/Berlin'; CREATE TABLE t (a TIMESTAMP DEFAULT '2020-03-29 {}:30:00')"
    assert not refused(script.format("03"))
    assert refused(script.format("02"))


@pytest.mark.parametrize(
    ("release", "sizes"),
    [
        *((tag, [256, 44]) for tag in ("v5.1.0", "v6.5.2", "v6.6.0", "v7.0.0")),
        *((tag, []) for tag in ("v5.0.6", "v6.5.3", "v7.1.0", "new:v8.5.4")),
    ],
)
def test_a_changefeed_sees_the_rows_that_another_type_writes_again(release: str, sizes: list[int]) -> None:
    """In transactions of 256 before the statement, as they were."""
    with TiCDC(release) as ticdc:
        ticdc.execute(f"CREATE TABLE t (a INT PRIMARY KEY, b BIGINT); INSERT INTO t VALUES {ROWS_300}")
        ticdc.events(watermark=False)
        ticdc.execute("ALTER TABLE t MODIFY b INT; ALTER TABLE t MODIFY b BIGINT COMMENT 'wide'")
        events = [event for event in ticdc.events() if not isinstance(event, Watermark)]
    rows = [event for event in events if isinstance(event, RowEvent)]
    assert [*Counter(event.commit_ts for event in rows).values()] == sizes
    assert len({event.commit_ts for event in events if isinstance(event, DdlEvent)}) == 2
    assert isinstance(events[-1], DdlEvent) and all(event.before == event.after for event in rows)


def test_each_column_of_another_type_writes_the_rows_again() -> None:
    with TiCDC("v6.5.0", sink_uri=CANAL) as ticdc:
        ticdc.execute("CREATE TABLE t (a INT PRIMARY KEY, b BIGINT, c BIGINT); INSERT INTO t VALUES (1, 2, 3)")
        ticdc.events(watermark=False)
        ticdc.execute("ALTER TABLE t MODIFY b VARCHAR(9), MODIFY c TINYINT, RENAME COLUMN a TO d")
        kinds = [type(event) for event in ticdc.events() if not isinstance(event, Watermark)]
    assert kinds == [RowEvent, RowEvent, DdlEvent]


INTERVAL = """CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY RANGE (a)
    INTERVAL (10) FIRST PARTITION LESS THAN (10) LAST PARTITION LESS THAN (30) NULL PARTITION"""
DATES = """CREATE TABLE t (a DATETIME PRIMARY KEY) PARTITION BY RANGE COLUMNS (a)
    INTERVAL (1 MONTH) FIRST PARTITION LESS THAN ('2024-01-01') LAST PARTITION LESS THAN ('2024-03-01')"""


@pytest.mark.parametrize(
    ("definition", "statement", "sent"),
    [
        (
            INTERVAL,
            "ALTER TABLE t LAST PARTITION LESS THAN (50) -- two",
            "ADD PARTITION (PARTITION `P_LT_40` VALUES LESS THAN (40), PARTITION `P_LT_50` VALUES LESS THAN (50))",
        ),
        (INTERVAL, "alter table t first partition less than (30) if exists", "DROP PARTITION `P_LT_10`,`P_LT_20`"),
        (
            DATES,
            "ALTER TABLE t LAST PARTITION LESS THAN ('2024-04-01')",
            "ADD PARTITION (PARTITION `P_LT_2024-04-01 00:00:00` VALUES LESS THAN (_UTF8MB4'2024-04-01 00:00:00'))",
        ),
    ],
)
def test_interval_partitions_are_added_and_dropped_by_name(definition: str, statement: str, sent: str) -> None:
    with TiCDC("v8.5.4", sink_uri=CANAL) as ticdc:
        ticdc.execute(definition)
        ticdc.events(watermark=False)
        ticdc.execute(statement)
        (event,) = ticdc.events(watermark=False)
    assert isinstance(event, DdlEvent) and event.query == f"ALTER TABLE `t` {sent}"


def test_rows_go_with_the_first_interval_partitions_but_not_those_of_the_null_partition() -> None:
    upstream = played(f"{INTERVAL}; INSERT INTO t VALUES (5), (15), (25); ALTER TABLE t FIRST PARTITION LESS THAN (20)")
    assert rows(upstream.upstream, "t") == "15; 25"
    upstream = played(
        f"{DATES}; INSERT INTO t VALUES ('2024-01-05'); ALTER TABLE t LAST PARTITION LESS THAN ('2024-05-01')"
    )
    partitioning = upstream.upstream.catalog.tables["test", "t"].partitioning
    assert partitioning and partitioning.partitions[-1].values == (("'2024-05-01 00:00:00'",),)
