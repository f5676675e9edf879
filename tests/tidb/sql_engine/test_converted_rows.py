"""DDL over stored rows: converted rows, and rows over which a statement cannot run."""

from __future__ import annotations

import pytest
from support.upstreams import played, rows_in, with_rows

from simulator.errors import SqlError
from simulator.tidb.sql_engine.storage.state import CompletedDdl, Upstream

ITEM = "CREATE TABLE item (id BIGINT PRIMARY KEY, name VARCHAR(20), stock INT NULL)"
ROWS = [("1", "bolt", "5"), ("2", "nut", None), ("3", "nut", "300")]


def items() -> Upstream:
    return with_rows(played(ITEM).upstream, "item", ROWS)


def altered(statement: str) -> list[tuple[str | None, ...]]:
    return rows_in(played(statement, items()).upstream, "item")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("x INT", None),
        ("x INT DEFAULT 7", "7"),
        ("x INT NOT NULL", "0"),
        ("x VARCHAR(3) NOT NULL", ""),
        ("x DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3)", "2020-02-20 02:20:20.123"),
        ("x ENUM('a','b') NOT NULL", "a"),
    ],
)
def test_older_rows_have_a_new_columns_default(column: str, value: str | None) -> None:
    """Without a default it is NULL, or the zero of its type. A default such as NOW() is the statement's time."""
    assert [(*row, value) for row in ROWS] == altered(f"ALTER TABLE item ADD COLUMN {column}")


def test_a_new_column_may_be_at_any_position() -> None:
    """FIRST and AFTER move the cells as well."""
    assert [("9", id, "8", name, stock) for id, name, stock in ROWS] == altered(
        "ALTER TABLE item ADD COLUMN a INT DEFAULT 9 FIRST, ADD COLUMN b INT DEFAULT 8 AFTER id"
    )


def test_the_timestamp_default_of_older_rows_is_in_utc() -> None:
    """The default is written in the session's time zone."""
    upstream = played(
        """SET time_zone = '+02:00'; ALTER TABLE item ADD COLUMN a TIMESTAMP DEFAULT CURRENT_TIMESTAMP;
        ALTER TABLE item ADD COLUMN b DATETIME DEFAULT CURRENT_TIMESTAMP""",
        items(),
    ).upstream

    assert ("1", "bolt", "5", "2020-02-20 02:20:20", "2020-02-20 04:20:20") == rows_in(upstream, "item")[0]


def test_a_timestamp_becomes_a_datetime_in_the_session_time_zone() -> None:
    """And back again."""
    upstream = with_rows(
        played("CREATE TABLE t (a INT PRIMARY KEY, b TIMESTAMP NULL)").upstream,
        "t",
        [("1", "2020-06-01 12:00:00"), ("2", None)],
    )
    upstream = played("SET time_zone = 'Europe/Berlin'; ALTER TABLE t MODIFY b DATETIME", upstream).upstream
    assert [("1", "2020-06-01 14:00:00"), ("2", None)] == rows_in(upstream, "t")

    upstream = played("ALTER TABLE t MODIFY b TIMESTAMP", upstream).upstream

    assert [("1", "2020-06-01 12:00:00"), ("2", None)] == rows_in(upstream, "t")


def test_dropped_and_renamed_columns_keep_the_right_cells() -> None:
    """A column is identified by its id, not by its name."""
    assert [("1", "5"), ("2", None), ("3", "300")] == altered(
        "ALTER TABLE item DROP COLUMN name; ALTER TABLE item RENAME COLUMN stock TO name"
    )


def test_a_changed_type_changes_the_text_of_its_values() -> None:
    """As TiDB prints them."""
    assert [("1", "bolt", "5.00"), ("2", "nut", None), ("3", "nut", "300.00")] == altered(
        "ALTER TABLE item MODIFY stock DECIMAL(10, 2)"
    )


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (
            "ALTER TABLE item MODIFY stock INT NOT NULL",
            "ERROR 1265 (01000): Data truncated for column 'stock' at row 1",
        ),
        (
            "ALTER TABLE item MODIFY stock BIGINT NOT NULL",
            "ERROR 1265 (01000): Data truncated for column 'stock' at row 1",
        ),
        ("ALTER TABLE item MODIFY stock TINYINT", "ERROR 1690 (22003): constant 300 overflows tinyint"),
        (
            "ALTER TABLE item MODIFY stock DECIMAL(3, 1)",
            "ERROR 1690 (22003): DECIMAL value is out of range in '(3, 1)'",
        ),
        (
            "ALTER TABLE item MODIFY name VARCHAR(3)",
            "ERROR 1265 (01000): Data truncated for column 'name', value is 'bolt'",
        ),
        (
            "ALTER TABLE item MODIFY name ENUM('bolt')",
            "ERROR 1265 (01000): Data truncated for column 'name', value is 'nut'",
        ),
        ("ALTER TABLE item MODIFY name INT", "ERROR 1292 (22007): Truncated incorrect DOUBLE value: 'bolt'"),
        ("ALTER TABLE item MODIFY name DECIMAL(5)", "ERROR 1292 (22007): Truncated incorrect DECIMAL value: 'bolt'"),
        ("ALTER TABLE item MODIFY name DATETIME", "ERROR 1292 (22007): Incorrect datetime value: 'bolt'"),
        ("ALTER TABLE item ADD UNIQUE (name)", "ERROR 1062 (23000): Duplicate entry 'nut' for key 'item.name'"),
        ("CREATE UNIQUE INDEX few ON item (name(3))", "ERROR 1062 (23000): Duplicate entry 'nut' for key 'item.few'"),
    ],
)
def test_a_row_that_does_not_fit_refuses_the_statement(statement: str, text: str) -> None:
    """The error is TiDB's, and the table stays as it was."""
    upstream = items()

    with pytest.raises(SqlError) as refusal:
        played(statement, upstream)

    assert text == str(refusal.value)
    assert ROWS == rows_in(upstream, "item")


def test_nulls_are_no_duplicates() -> None:
    """A unique key accepts any number of NULLs."""
    upstream = with_rows(played(ITEM).upstream, "item", [("1", None, "1"), ("2", None, "2")])

    assert 2 == len(rows_in(played("ALTER TABLE item ADD UNIQUE (name)", upstream).upstream, "item"))


def test_a_primary_key_without_clustering_needs_values_that_differ() -> None:
    """The table keeps its hidden row ids."""
    upstream = with_rows(played("CREATE TABLE t (a INT NOT NULL, b INT)").upstream, "t", [("1", "1"), ("1", "2")])

    with pytest.raises(SqlError, match="1062.*Duplicate entry '1' for key 't.PRIMARY'"):
        played("ALTER TABLE t ADD PRIMARY KEY (a) NONCLUSTERED", upstream)


@pytest.mark.parametrize(
    "statement", ["TRUNCATE TABLE item", "DROP TABLE item", "DROP DATABASE test; CREATE DATABASE test; USE test"]
)
def test_rows_are_dropped_with_their_table(statement: str) -> None:
    """A new table of the same name is empty."""
    again = "" if statement.startswith("TRUNCATE") else ITEM

    assert [] == rows_in(played(f"{statement}; {again}", items()).upstream, "item")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("DROP TABLE item; FLASHBACK TABLE item", "item"),
        ("DROP TABLE item; RECOVER TABLE item", "item"),
        ("TRUNCATE TABLE item; FLASHBACK TABLE item TO again", "again"),
        ("DROP DATABASE test; FLASHBACK DATABASE test", "item"),
    ],
)
def test_a_recovered_table_has_its_rows(statement: str, name: str) -> None:
    """They are those at the DROP or TRUNCATE."""
    assert ROWS == rows_in(played(statement, items()).upstream, name)


def test_tables_may_change_names_in_one_statement() -> None:
    """Rows follow pair by pair."""
    upstream = with_rows(played("CREATE TABLE other (a INT PRIMARY KEY)", items()).upstream, "other", [("7",)])

    upstream = played("RENAME TABLE item TO swap, other TO item, swap TO other", upstream).upstream

    assert [("7",)] == rows_in(upstream, "item")
    assert ROWS == rows_in(upstream, "other")


def test_a_copied_definition_has_no_rows() -> None:
    """CREATE TABLE … LIKE."""
    assert [] == rows_in(played("CREATE TABLE copy LIKE item", items()).upstream, "copy")


PARTED = """CREATE TABLE part (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a)
    (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))"""
PLAIN = "CREATE TABLE plain (a INT PRIMARY KEY, b INT)"


def parted() -> Upstream:
    upstream = played(f"{PARTED}; {PLAIN}").upstream
    upstream = with_rows(upstream, "part", [("1", "1"), ("5", "5"), ("11", "11")])
    return with_rows(upstream, "plain", [("3", "33"), ("4", "44")])


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("DROP PARTITION p0", ["11"]),
        ("TRUNCATE PARTITION p0", ["11"]),
        ("TRUNCATE PARTITION ALL", []),
        ("ADD PARTITION (PARTITION p2 VALUES LESS THAN (30))", ["1", "5", "11"]),
        ("REMOVE PARTITIONING", ["1", "5", "11"]),
        ("PARTITION BY HASH (a) PARTITIONS 2", ["1", "5", "11"]),
        (
            "REORGANIZE PARTITION p0 INTO (PARTITION a VALUES LESS THAN (3), PARTITION b VALUES LESS THAN (10))",
            ["1", "5", "11"],
        ),
    ],
)
def test_rows_are_dropped_with_their_partitions(statement: str, left: list[str]) -> None:
    """Remaining rows are in the partitions of the new definition."""
    upstream = played(f"ALTER TABLE part {statement}", parted()).upstream

    assert sorted(left) == sorted(row[0] or "" for row in rows_in(upstream, "part"))


def test_a_row_that_fits_no_partition_refuses_the_statement() -> None:
    """The last range may end earlier only if no row is beyond it."""
    with pytest.raises(SqlError, match="1526.*Table has no partition for value 11"):
        played("ALTER TABLE part PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10))", parted())


def test_exchange_partition_swaps_rows() -> None:
    """The rows fit the partition."""
    upstream = played("ALTER TABLE part EXCHANGE PARTITION p0 WITH TABLE plain", parted()).upstream

    assert [("3", "33"), ("4", "44"), ("11", "11")] == rows_in(upstream, "part")
    assert [("1", "1"), ("5", "5")] == rows_in(upstream, "plain")


def test_a_row_of_another_partition_refuses_the_exchange() -> None:
    """Error 1737."""
    upstream = with_rows(parted(), "plain", [("3", "33"), ("12", "44")])

    with pytest.raises(SqlError, match="1737.*Found a row that does not match the partition"):
        played("ALTER TABLE part EXCHANGE PARTITION p0 WITH TABLE plain", upstream)


def test_a_ddl_statement_is_one_event_with_both_catalogs() -> None:
    """There is no event without a job."""
    outcome = played("ALTER TABLE item ADD COLUMN x INT; CREATE TABLE IF NOT EXISTS item (a INT)", items())

    (event,) = outcome.events
    assert isinstance(event, CompletedDdl)
    assert [3, 4] == [len(catalog.tables["test", "item"].columns) for catalog in (event.before, event.after)]
