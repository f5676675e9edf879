"""Statements change a catalog as in TiDB."""

from __future__ import annotations

import pytest
from support.upstreams import after, cases, created, grouped, shape, table_after

from simulator.releases import V8_5
from simulator.ticdc.table_info import flags, handle_key
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.defaults import stored_value
from simulator.tidb.ddl.table_definitions import create_table

T = "CREATE TABLE t (a INT, b VARCHAR(20), c INT, KEY k (b))"

ALTERED = grouped("""
    ADD COLUMN d INT NOT NULL DEFAULT 4 => (a INT, b VARCHAR(20), c INT, d INT NOT NULL DEFAULT 4, KEY k (b))
    ADD d INT FIRST => (d INT, a INT, b VARCHAR(20), c INT, KEY k (b))
    ADD d INT AFTER A => (a INT, d INT, b VARCHAR(20), c INT, KEY k (b))
    ADD (d INT, e INT, KEY (a)) => (a INT, b VARCHAR(20), c INT, d INT, e INT, KEY k (b), KEY (a))
    ADD d INT FIRST, ADD e INT AFTER b, ADD f INT AFTER b
        => (d INT, a INT, b VARCHAR(20), f INT, e INT, c INT, KEY k (b))
    ADD IF NOT EXISTS a BIGINT | DROP IF EXISTS x | ENGINE = InnoDB => (a INT, b VARCHAR(20), c INT, KEY k (b))
    ADD g INT AS (a + c) => (a INT, b VARCHAR(20), c INT, g INT AS (a + c), KEY k (b))
    DROP COLUMN c => (a INT, b VARCHAR(20), KEY k (b))
    DROP b => (a INT, c INT)
    ADD d INT DEFAULT 3, DROP a, ADD e INT DEFAULT 4, DROP c
        => (b VARCHAR(20), d INT DEFAULT 3, e INT DEFAULT 4, KEY k (b))
    MODIFY a BIGINT NOT NULL => (a BIGINT NOT NULL, b VARCHAR(20), c INT, KEY k (b))
    MODIFY c INT FIRST => (c INT, a INT, b VARCHAR(20), KEY k (b))
    MODIFY c INT AFTER a => (a INT, c INT, b VARCHAR(20), KEY k (b))
    CHANGE b B2 VARCHAR(30) DEFAULT 'x' COMMENT 'y'
        => (a INT, B2 VARCHAR(30) DEFAULT 'x' COMMENT 'y', c INT, KEY k (B2))
    RENAME COLUMN b TO z => (a INT, z VARCHAR(20), c INT, KEY k (z))
    RENAME COLUMN b TO z, ADD e INT => (a INT, z VARCHAR(20), c INT, e INT, KEY k (z))
    ALTER a SET DEFAULT 7 => (a INT DEFAULT 7, b VARCHAR(20), c INT, KEY k (b))
    ADD UNIQUE u (a, c) => (a INT, b VARCHAR(20), c INT, KEY k (b), UNIQUE u (a, c))
    ADD KEY (b), ADD KEY ((a + 1)) => (a INT, b VARCHAR(20), c INT, KEY k (b), KEY (b), KEY ((a + 1)))
    ADD PRIMARY KEY (a) => (a INT NOT NULL, b VARCHAR(20), c INT, KEY k (b), PRIMARY KEY (a) NONCLUSTERED)
    DROP KEY k => (a INT, b VARCHAR(20), c INT)
    RENAME INDEX k TO k2 => (a INT, b VARCHAR(20), c INT, KEY k2 (b))
    ALTER INDEX k INVISIBLE => (a INT, b VARCHAR(20), c INT, KEY k (b) INVISIBLE)
    COMMENT = 'it''s' => (a INT, b VARCHAR(20), c INT, KEY k (b)) COMMENT 'it''s'
    PARTITION BY HASH (a) PARTITIONS 2 => (a INT, b VARCHAR(20), c INT, KEY k (b)) PARTITION BY HASH (a) PARTITIONS 2
""")
UNCHANGED = [
    "ALTER TABLE t SET TIFLASH REPLICA 1",
    "ALTER TABLE t ATTRIBUTES 'merge_option=deny'",
    "ALTER TABLE t PLACEMENT POLICY = p",
    "ALTER TABLE t ENABLE KEYS",
    "ALTER TABLE t ADD CHECK (a > 1)",
    "CREATE PLACEMENT POLICY p FOLLOWERS=4",
    "LOCK TABLES t READ",
    "ALTER TABLE t AUTO_INCREMENT = 100",
    "ALTER TABLE t ALGORITHM = INSTANT",
]


@pytest.mark.parametrize(("specs", "expected"), ALTERED)
def test_alter_table_gives_the_same_table_as_create_table(specs: str, expected: str) -> None:
    """Only origin defaults differ."""
    assert shape(created(expected)) == shape(table_after(T, f"ALTER TABLE t {specs}"))


@pytest.mark.parametrize("text", UNCHANGED)
def test_options_without_effect_on_rows_leave_the_table_unchanged(text: str) -> None:
    """These are replicas, placement, attributes, checks and counters."""
    assert after(T).tables == after(T, text).tables


ORIGINS = grouped("""
    d INT | d INT AS (a) VIRTUAL => (none)
    d INT NOT NULL | d YEAR NOT NULL | d DOUBLE NOT NULL => 0
    d INT DEFAULT 5 | d BIT(4) DEFAULT b'101' => 5
    d DECIMAL(8,2) NOT NULL => 0.00
    d DECIMAL(8,2) DEFAULT 1.5 => 1.50
    d VARCHAR(5) NOT NULL | d SET('x','y') NOT NULL | d TEXT NOT NULL => (empty)
    d CHAR(3) DEFAULT 'x' | d ENUM('x','y') NOT NULL => x
    d BINARY(2) NOT NULL => ␀␀
    d DATE NOT NULL => 0000-00-00
    d DATETIME(2) NOT NULL => 0000-00-00 00:00:00.00
    d TIME NOT NULL => 00:00:00
    d JSON NOT NULL => null
    d TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3) => 2020-02-20 02:20:20.123
    d DATETIME DEFAULT NOW() => 2020-02-20 02:20:20
    d DOUBLE DEFAULT 1.50 => 1.5
    d FLOAT DEFAULT '1e20' => 1e20
    d FLOAT(5,2) DEFAULT 2.345 => 2.35
    d DOUBLE DEFAULT 100 => 100
    d FLOAT DEFAULT -0.1 => -0.1
    d DOUBLE DEFAULT 0.00001 => 0.00001
""")


@pytest.mark.parametrize(("column", "expected"), ORIGINS)
def test_existing_rows_have_the_origin_default_of_a_new_column(column: str, expected: str) -> None:
    """It is the default, NULL, or the zero value of the type; CURRENT_TIMESTAMP is the time of the statement."""
    wanted = {"(none)": None, "(empty)": ""}.get(expected, expected)
    new = table_after(T, f"ALTER TABLE t ADD {column}").columns[-1]
    assert wanted == stored_value(new.origin_default, new.type)


def test_a_new_default_is_for_new_rows_only() -> None:
    """The origin default never changes."""
    table = table_after(T, "ALTER TABLE t ADD d INT DEFAULT 1", "ALTER TABLE t ALTER d SET DEFAULT 2")
    assert ("2", "1") == (table.columns[-1].default, table.columns[-1].origin_default)


def test_ids_of_keys_are_never_reused_and_decide_between_equal_handle_keys() -> None:
    """A key that is dropped and added again comes last, so that the other one identifies rows."""
    statements = (
        "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, UNIQUE ua (a), UNIQUE ub (b))",
        "ALTER TABLE t DROP KEY ua",
        "ALTER TABLE t ADD UNIQUE ua (a)",
    )
    table = table_after(*statements)
    assert {"ub": 2, "ua": 3} == {index.name: index.id for index in table.indexes}
    assert ("b",) == handle_key(table)
    assert ("c",) == handle_key(
        table_after(*statements, "ALTER TABLE t ADD c INT NOT NULL", "ALTER TABLE t ADD PRIMARY KEY (c)")
    )


def test_keys_of_a_reorganized_column_get_new_ids() -> None:
    """Keys of a column whose definition alone changes keep their ids."""
    start = "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, UNIQUE ua (a), UNIQUE ub (b))"
    assert ("b",) == handle_key(table_after(start, "ALTER TABLE t MODIFY a VARCHAR(20) NOT NULL"))
    assert ("a",) == handle_key(table_after(start, "ALTER TABLE t MODIFY a BIGINT NOT NULL"))


def test_flags_follow_from_the_new_table() -> None:
    """They depend on NOT NULL, keys and types after the statement."""
    before = table_after(T)
    changed = table_after(T, "ALTER TABLE t MODIFY a BIGINT UNSIGNED NOT NULL, ADD UNIQUE (c)")
    assert (65, 193 & ~64, 65 | 16) == (flags(before, V8_5)["a"], flags(changed, V8_5)["a"], flags(changed, V8_5)["c"])


def test_rename_table_can_swap_names() -> None:
    """It renames pair by pair and updates foreign keys."""
    state = after(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (x INT PRIMARY KEY)",
        "CREATE TABLE c (y INT, CONSTRAINT f FOREIGN KEY (y) REFERENCES a (id))",
        "CREATE DATABASE Other",
        "RENAME TABLE a TO swap, b TO a, swap TO other.b",
    )
    assert [("Other", "b"), ("test", "a"), ("test", "c")] == sorted((t.schema, t.name) for t in state.tables.values())
    child = state.table("TEST", "C")
    assert child and ("Other", "b") == (child.foreign_keys[0].schema, child.foreign_keys[0].table)


def test_tables_take_the_charset_of_their_database() -> None:
    """They keep it when the database changes."""
    state = after(
        "CREATE DATABASE d CHARACTER SET latin1",
        "CREATE TABLE d.t (a VARCHAR(5))",
        "ALTER DATABASE d COLLATE utf8mb4_general_ci",
        "CREATE TABLE d.u (a VARCHAR(5))",
    )
    charsets = [state.tables["d", name].columns[0].type.collation for name in "tu"]
    assert ["latin1_bin", "utf8mb4_general_ci"] == charsets


def test_the_charset_of_a_table_applies_to_new_columns_unless_it_is_converted() -> None:
    """CONVERT TO changes existing columns, except binary ones."""
    start = "CREATE TABLE t (a VARCHAR(5), b VARBINARY(5)) CHARSET utf8"
    later = table_after(start, "ALTER TABLE t CHARSET utf8mb4", "ALTER TABLE t ADD c TEXT")
    assert ["utf8", "binary", "utf8mb4"] == [column.type.charset for column in later.columns]
    both = table_after(start, "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
    assert ["utf8mb4_general_ci", "binary"] == [column.type.collation for column in both.columns]


def test_dropped_and_truncated_tables_can_be_recovered() -> None:
    """They can be recovered by name, under another name, and with their database."""
    state = after(T, "DROP TABLE t", "FLASHBACK TABLE t TO u", "CREATE TABLE t (z INT)", "DROP TABLE t")
    assert ["u"] == [table.name for table in state.tables.values()]
    again = after("RECOVER TABLE t", start=state)
    assert ["z"] == [column.name for column in again.tables["test", "t"].columns]
    whole = after(T, "DROP DATABASE test", "FLASHBACK DATABASE test TO e")
    assert {("e", "t")} == set(whole.tables)


def test_foreign_keys_come_with_an_index_and_follow_renamed_columns() -> None:
    """Columns of both tables can be renamed."""
    state = after(
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE t (a INT)",
        "ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE",
        "ALTER TABLE p RENAME COLUMN id TO i2",
        "ALTER TABLE t RENAME COLUMN a TO a2",
    )
    table = state.tables["test", "t"]
    assert (("fk_1", ("a2",), ("i2",), "CASCADE"),) == tuple(
        (foreign.name, foreign.columns, foreign.references, foreign.on_delete) for foreign in table.foreign_keys
    )
    assert [("fk_1", "a2")] == [(index.name, index.columns[0].name) for index in table.indexes]


def test_ttl_is_set_changed_and_removed() -> None:
    """It follows a renamed column."""
    start = ("CREATE TABLE t (id INT, at DATETIME)", "ALTER TABLE t TTL = at + INTERVAL 3 MONTH TTL_ENABLE = 'OFF'")
    ttl = table_after(*start, "ALTER TABLE t RENAME COLUMN at TO seen", "ALTER TABLE t TTL_JOB_INTERVAL = '2h'").ttl
    assert ttl and ("seen", False, "2h") == (ttl.column, ttl.enabled, ttl.job_interval)
    assert table_after(*start, "ALTER TABLE t REMOVE TTL").ttl is None


P = (
    "CREATE TABLE t (a INT, b INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10),"
    " PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30))"
)


PARTITIONS = cases("""
    ADD PARTITION (PARTITION p3 VALUES LESS THAN MAXVALUE) => p0 p1 p2 p3
    ADD PARTITION IF NOT EXISTS (PARTITION P1 VALUES LESS THAN (99)) => p0 p1 p2
    DROP PARTITION p1, P0 => p2
    DROP PARTITION IF EXISTS p9 => p0 p1 p2
    TRUNCATE PARTITION p1 => p0 p1 p2
    REORGANIZE PARTITION p0, p1 INTO (PARTITION q VALUES LESS THAN (20)) => q p2
    REORGANIZE PARTITION p1 INTO (PARTITION q VALUES LESS THAN (15), PARTITION r VALUES LESS THAN (20)) => p0 q r p2
    PARTITION BY HASH (b) PARTITIONS 2 => p0 p1
    REMOVE PARTITIONING => (none)
    FIRST PARTITION LESS THAN (20) => p1 p2
    LAST PARTITION LESS THAN (50) => p0 p1 p2 P_LT_40 P_LT_50
""")


@pytest.mark.parametrize(("spec", "expected"), PARTITIONS)
def test_specs_on_partitions_change_the_partitions(spec: str, expected: str) -> None:
    """Names of partitions ignore case; the order is kept."""
    partitioning = table_after(P, f"ALTER TABLE t {spec}").partitioning
    found = [partition.name for partition in partitioning.partitions] if partitioning else ["(none)"]
    assert expected == " ".join(found)


@pytest.mark.parametrize(("spec", "expected"), [("ADD PARTITION PARTITIONS 2", 6), ("COALESCE PARTITION 3", 1)])
def test_hash_partitions_are_counted(spec: str, expected: int) -> None:
    """New names continue from the last number."""
    table = table_after("CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS 4", f"ALTER TABLE t {spec}")
    assert table.partitioning
    assert [f"p{n}" for n in range(expected)] == [partition.name for partition in table.partitioning.partitions]


def test_views_and_sequences_share_names_with_tables() -> None:
    """Each kind is dropped by its own statement."""
    state = after(
        T,
        "CREATE VIEW v AS SELECT a FROM t",
        "CREATE SEQUENCE s",
        "CREATE OR REPLACE VIEW v AS SELECT 1",
        "ALTER SEQUENCE s INCREMENT BY 2",
        "DROP VIEW v",
        "DROP SEQUENCE s",
    )
    assert (0, 0, 1) == (len(state.views), len(state.sequences), len(state.tables))


def test_a_catalog_of_tables_has_their_databases() -> None:
    """It can have further databases."""
    state = build_catalog([create_table("CREATE TABLE `A`.t (x INT)")], ["b"])
    assert {"a", "b"} == set(state.databases) and state.table("a", "T") and not state.table("b", "t")
