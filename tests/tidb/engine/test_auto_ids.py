"""The ids that statements use up, refused ones too, and the next ids of tables (tidb pkg/meta/autoid/autoid.go)."""

from __future__ import annotations

import pytest
from support.upstreams import NOW_MS, cases, in_test, played, refused, rows_in

from simulator.releases import find
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.storage.ids import Allocator

AUTO = "id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE"


def behind(script: str, upstream: Upstream) -> Upstream:
    """The state behind statements, of which some may be refused."""
    for statement in script.split("; "):
        parsed = parse_sql(statement, upstream.settings.sql_mode)
        assert parsed is not None
        upstream, _ = upstream.execute(parsed, statement, NOW_MS)
    return upstream


def row_ids(upstream: Upstream) -> list[int]:
    ids: list[int] = upstream.rows(upstream.catalog.tables["test", "t"]).row_ids.to_pylist()
    return ids


IDS = cases("""
    INSERT t (u) VALUES (1), (2); INSERT t (u) VALUES (3), (1); INSERT t (u) VALUES (4) => 1 2 5
    INSERT t (u) VALUES (1); INSERT IGNORE t (u) VALUES (1), (2); INSERT t (u) VALUES (3) => 1 3 4
    INSERT t (u) VALUES (1); INSERT t (u) VALUES (1) ON DUPLICATE KEY UPDATE id = 50; INSERT t (u) VALUES (2) => 50 51
    INSERT t (u) VALUES (1); UPDATE t SET id = 70; INSERT t (u) VALUES (2) => 70 71
    INSERT t (u) VALUES (1); ALTER TABLE t AUTO_INCREMENT = 5; INSERT t (u) VALUES (2) => 1 30001
    INSERT t (u) VALUES (1); ALTER TABLE t FORCE AUTO_INCREMENT = 5; INSERT t (u) VALUES (2) => 1 5
    ALTER TABLE t AUTO_INCREMENT = 100; TRUNCATE TABLE t; INSERT t (u) VALUES (2) => 1
    SET auto_increment_increment = 10, auto_increment_offset = 7; INSERT t (u) VALUES (1), (2); INSERT t (u) VALUES (3)
        => 7 17 27
    INSERT t VALUES (NULL, 1), (10, 2), (0, 3), (5, 4), (NULL, 5) => 1 5 10 11 12
    SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; INSERT t VALUES (12, 1); INSERT t VALUES (0, 2), (NULL, 3) => 0 12 13
    INSERT t VALUES (6, 1); INSERT t VALUES (3, 2); INSERT t (u) VALUES (3) => 3 6 7
    BEGIN; INSERT t (u) VALUES (1); ROLLBACK; INSERT t (u) VALUES (2) => 2
    INSERT t VALUES (1, 1); BEGIN; INSERT t (u) VALUES (1); ROLLBACK; INSERT t (u) VALUES (2) => 1 3
    INSERT t (u) VALUES (1), ('x'); INSERT t (u) VALUES (2) => 1
""")


@pytest.mark.parametrize(("statements", "ids"), IDS)
def test_auto_increment_goes_on(statements: str, ids: str) -> None:
    """pkg/executor/insert_common.go, lazyAdjustAutoIncrementDatum. Values that do not fit use up no ids."""
    upstream = behind(statements, played(f"CREATE TABLE t ({AUTO})").upstream)
    assert " ".join(str(row[0]) for row in rows_in(upstream, "t")) == ids


def test_last_insert_id_is_the_first_generated_id() -> None:
    upstream = played(f"CREATE TABLE t ({AUTO}); INSERT INTO t (u) VALUES (1), (2)").upstream
    assert upstream.settings.last_insert_id == 1
    assert played("INSERT INTO t VALUES (9, 9)", upstream).upstream.settings.last_insert_id == 1


ENDS = cases("""
    TINYINT => 127 => 1690 constant 128 overflows tinyint
    SMALLINT UNSIGNED => 65535 => 1690 constant 65536 overflows smallint
    BIGINT => 9223372036854775806 => 1467 Failed to read auto-increment value from storage engine
    BIGINT UNSIGNED => 18446744073709551614 => 1467 Failed to read auto-increment value from storage engine
    DOUBLE => 1e18 => 1062 Duplicate entry '1000000000000000000' for key 't.PRIMARY'
""")


@pytest.mark.parametrize(("type", "value", "error"), ENDS)
def test_auto_increment_ends_with_its_type(type: str, value: str, error: str) -> None:
    table = f"CREATE TABLE t (id {type} AUTO_INCREMENT PRIMARY KEY, u INT); INSERT INTO t VALUES ({value}, 1)"
    assert refused(f"{table}; INSERT INTO t (u) VALUES (2)") == error


def test_ignore_assigns_0_if_no_ids_are_left() -> None:
    table = (
        "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, u INT); INSERT INTO t VALUES (9223372036854775807, 1)"
    )
    upstream = played(f"{table}; INSERT IGNORE INTO t (u) VALUES (2)").upstream
    assert [row[0] for row in rows_in(upstream, "t")] == ["0", "9223372036854775807"]


def test_auto_increment_starts_at_the_table_option() -> None:
    table = "CREATE TABLE t (id TINYINT AUTO_INCREMENT PRIMARY KEY, u INT) AUTO_INCREMENT = 126"
    upstream = played(f"{table}; INSERT INTO t (u) VALUES (1), (2)").upstream
    assert [row[0] for row in rows_in(upstream, "t")] == ["126", "127"]


def test_auto_increment_and_row_ids_share_a_counter_without_a_clustered_key() -> None:
    """pkg/meta/model/table.go, SepAutoInc: with AUTO_ID_CACHE 1 they are separate."""
    for option, ids in (("", ["1", "3"]), ("AUTO_ID_CACHE 1", ["1", "2"])):
        table = f"CREATE TABLE t (a INT AUTO_INCREMENT UNIQUE, b INT) {option}; INSERT INTO t (b) VALUES (1)"
        upstream = played(f"{table}; INSERT INTO t (b) VALUES (2)").upstream
        assert [row[0] for row in rows_in(upstream, "t")] == ids


def test_auto_random_is_a_shard_and_a_counter() -> None:
    """pkg/meta/autoid, ShardIDFormat: sign, shard, counter; a transaction has one shard."""
    script = "CREATE TABLE t (id BIGINT AUTO_RANDOM(5) PRIMARY KEY, u INT UNIQUE); INSERT INTO t (u) VALUES (1), (2)"
    first = played(script).upstream
    ids = [int(row[0] or 0) for row in rows_in(first, "t")]
    assert [id & (1 << 58) - 1 for id in ids] == [1, 2] and ids[0] >> 58 == ids[1] >> 58 and ids[0] > 0
    assert rows_in(first, "t") == rows_in(played(script).upstream, "t")
    assert refused("INSERT INTO t VALUES (5, 1)", first.copy()).startswith("8216 ")
    third = behind("INSERT INTO t (u) VALUES (3), (1); INSERT INTO t (u) VALUES (4)", first)
    assert [int(row[0] or 0) & (1 << 58) - 1 for row in rows_in(third, "t") if row[1] == "4"] == [5]


ROW_IDS = cases("""
    REPLACE INTO t VALUES (1, 1), (1, 2), (2, 1); INSERT INTO t VALUES (3, 3) => 2 3 4
    INSERT IGNORE INTO t VALUES (1, 9), (2, 2), (2, 3), (3, 3) => 1 2 3
    INSERT INTO t VALUES (1, 9), (2, 2) ON DUPLICATE KEY UPDATE b = 7; INSERT INTO t VALUES (3, 3) => 1 2 3
    REPLACE INTO t VALUES (1, 1), (2, 2) => 1 2
    INSERT INTO t VALUES (2, 2), (1, 3); INSERT INTO t VALUES (2, 2) => 1 4
    DROP TABLE t; CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS 2; INSERT INTO t VALUES (1), (2), (3) => 2 1 3
""")


@pytest.mark.parametrize(("statements", "ids"), ROW_IDS)
def test_each_inserted_row_uses_up_a_row_id(statements: str, ids: str) -> None:
    """pkg/executor/replace.go, insert.go: one id for each inserted row."""
    table = played("CREATE TABLE t (a INT UNIQUE, b INT); INSERT INTO t VALUES (1, 1)").upstream
    assert " ".join(map(str, row_ids(behind(statements, table)))) == ids


def test_a_row_that_moves_to_another_partition_has_a_new_row_id() -> None:
    """pkg/table/tables/partition.go, partitionedTableUpdateRecord."""
    table = (
        "CREATE TABLE t (a INT, b INT) PARTITION BY HASH (a) PARTITIONS 2; INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"
    )
    upstream = played(f"{table}; UPDATE t SET a = a + 1 WHERE b < 3").upstream
    assert row_ids(upstream) == [5, 3, 4]


@pytest.mark.parametrize(("release", "expected"), [("v7.5.7", 30001), ("v8.0.0", 2)])
def test_up_to_7_5_a_renamed_table_loses_its_cached_ids(release: str, expected: int) -> None:
    script = "CREATE TABLE o (a INT); INSERT INTO o VALUES (1); RENAME TABLE o TO t; INSERT INTO t VALUES (2)"
    assert row_ids(played(script, in_test(find(release))).upstream) == [1, expected]


def test_an_allocator_loses_its_cache_if_more_ids_are_requested() -> None:
    _, held = Allocator().allocate(1)
    first, held = held.advance_past(29_999).allocate(3)
    assert (first, held.base, held.end) == (30_001, 30_003, 60_000)
    assert held.restarted().allocate(1)[0] == 60_001
    assert Allocator().advance_past(-5) == Allocator()
