"""The values that a column stores, and TiDB's errors for values that do not fit.

Texts of errors: tidb pkg/errno/errname.go; which of them: pkg/executor/insert_common.go (completeInsertErr),
pkg/table/column.go (castColumnValue, handleZeroDatetime).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from simulator.errors import SqlError
from simulator.releases import find
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.changes.assign import AssignmentEffects, DefaultMarker, Texts, assign_values
from simulator.tidb.sql_engine.storage.auto_ids import auto_allocator, counters_after
from simulator.tidb.sql_engine.storage.state import SqlSession, StoredRows, Upstream

RELEASE = find("v8.5.3")
NOW = 1_600_000_000_123
"""2020-09-13 12:26:40.123 UTC."""

Sql = str | bytes | int | float | None


def upstream(**session: Any) -> Upstream:
    return Upstream(RELEASE, session=replace(SqlSession(), **session))


def cells(values: list[Sql]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {str, bytes}:
        return pa.array([value.encode() if isinstance(value, str) else value for value in values], pa.binary())
    return pa.array(values)


def insert(table: Table, up: Upstream, **values: list[Sql] | DefaultMarker) -> tuple[Texts, AssignmentEffects]:
    inputs = {name: cells(value) if isinstance(value, list) else value for name, value in values.items()}
    rows = next((len(value) for value in values.values() if isinstance(value, list)), 1)
    return assign_values(table, inputs, rows, up, NOW)


def made(definition: str) -> Table:
    return create_table(f"CREATE TABLE t ({definition})", "d")


KEPT = [
    ("INT", "12.5", b"13"),
    ("INT", 12.5, b"12"),
    ("INT", "-12.5", b"-13"),
    ("INT", " 7 ", b"7"),
    ("INT", "1e2", b"100"),
    ("BIGINT UNSIGNED", "18446744073709551615", b"18446744073709551615"),
    ("DECIMAL(5,2)", "1.005", b"1.01"),
    ("DECIMAL(65,30)", "1", b"1." + b"0" * 30),
    ("FLOAT", "0.1", b"0.1"),
    ("FLOAT", "16777217", b"16777216"),
    ("DOUBLE", "1e20", b"1e20"),
    ("CHAR(4)", "ab  ", b"ab"),
    ("VARCHAR(2)", "ab   ", b"ab"),
    ("VARCHAR(8)", " a ", b" a "),
    ("TEXT", 1.5, b"1.5"),
    ("BINARY(3)", b"\xff", "ÿ\0\0".encode()),
    ("VARBINARY(3)", b"\xff", "ÿ".encode()),
    ("DATETIME", "2020-01-01 23:59:59.5", b"2020-01-02 00:00:00"),
    ("DATETIME(3)", "2020-01-01", b"2020-01-01 00:00:00.000"),
    ("DATE", 20200229, b"2020-02-29"),
    ("DATE", 101, b"2000-01-01"),
    ("DATETIME", 20200229101112, b"2020-02-29 10:11:12"),
    ("TIMESTAMP(6)", "2020-01-01 10:00:00.1234567", b"2020-01-01 10:00:00.123457"),
    ("TIME(1)", "-838:59:58.95", b"-838:59:59.0"),
    ("TIME", "101", b"00:01:01"),
    ("YEAR", "70", b"1970"),
    ("YEAR", 0, b"0"),
    ("ENUM('a','2')", "2", b"2"),
    ("ENUM('a','2')", 2, b"2"),
    ("ENUM('2','a')", 2, b"a"),
    ("SET('a','b','c')", "c,a", b"a,c"),
    ("SET('a','b','c')", 5, b"a,c"),
    ("BIT(8)", b"n255", b"255"),
    ("BIT(8)", b"x\x01", b"1"),
    ("JSON", '{"b": 1, "a": [1.0, null]}', b'{"a": [1, null], "b": 1}'),
]


@pytest.mark.parametrize(("type", "value", "text"), KEPT)
def test_a_value_is_stored_as_tidb_prints_it(type: str, value: Sql, text: bytes) -> None:
    for rows in (1, 40):
        assert insert(made(f"a {type}"), upstream(), a=[value] * rows)[0]["a"].to_pylist() == [text] * rows


REFUSED = [
    ("INT", "abc", 1366, "Incorrect int value: 'abc' for column 'a' at row 2"),
    ("INT", "12abc", 1366, "Incorrect int value: '12abc' for column 'a' at row 2"),
    ("INT", "", 1366, "Incorrect int value: '' for column 'a' at row 2"),
    ("INT", "2147483648", 1264, "Out of range value for column 'a' at row 2"),
    ("TINYINT UNSIGNED", -1, 1264, "Out of range value for column 'a' at row 2"),
    ("DECIMAL(3,1)", "100", 1264, "Out of range value for column 'a' at row 2"),
    ("DECIMAL(3,1)", "x", 1366, "Incorrect decimal value: 'x' for column 'a' at row 2"),
    ("FLOAT", "1e40", 1264, "Out of range value for column 'a' at row 2"),
    ("DOUBLE", "1.5kg", 1366, "Incorrect double value: '1.5kg' for column 'a' at row 2"),
    ("YEAR", "1900", 1264, "Out of range value for column 'a' at row 2"),
    ("VARCHAR(3)", "abcd", 1406, "Data too long for column 'a' at row 2"),
    ("VARBINARY(3)", "abc ", 1406, "Data too long for column 'a' at row 2"),
    ("TINYTEXT", "é" * 128, 1406, "Data too long for column 'a' at row 2"),
    ("BIT(2)", b"n4", 1406, "Data too long for column 'a' at row 2"),
    ("VARCHAR(3)", b"a\xff", 1366, r"Incorrect string value '\xFF' for column 'a'"),
    ("DATE", "2021-02-30", 1292, "Incorrect date value: '2021-02-30' for column 'a' at row 2"),
    ("DATETIME", "2021-02-30", 1292, "Incorrect datetime value: '2021-02-30' for column 'a' at row 2"),
    ("DATETIME", "0000-00-00", 1292, "Incorrect datetime value: '0000-00-00' for column 'a' at row 2"),
    ("DATE", "2021-00-10", 1292, "Incorrect date value: '2021-00-10' for column 'a' at row 2"),
    ("TIMESTAMP", "2039-01-01", 1292, "Incorrect timestamp value: '2039-01-01' for column 'a' at row 2"),
    ("TIMESTAMP", "1970-01-01", 1292, "Incorrect timestamp value: '1970-01-01' for column 'a' at row 2"),
    ("TIME", "25:99:00", 1292, "Incorrect time value: '25:99:00' for column 'a' at row 2"),
    ("ENUM('a','b')", "c", 1265, "Data truncated for column 'a' at row 2"),
    ("ENUM('a','b')", "", 1265, "Data truncated for column 'a' at row 2"),
    ("ENUM('a','b')", 3, 1265, "Data truncated for column 'a' at row 2"),
    ("SET('a','b')", "a,c", 1265, "Data truncated for column 'a' at row 2"),
    ("JSON", "x", 3140, "Invalid JSON text: The document root must not be followed by other values."),
]


@pytest.mark.parametrize(("type", "value", "number", "text"), REFUSED)
def test_strict_mode_refuses_values_that_do_not_fit(type: str, value: Sql, number: int, text: str) -> None:
    for more in (0, 40):
        with pytest.raises(SqlError) as refused:
            insert(made(f"a {type}"), upstream(), a=[None, value, *[None] * more])
        assert (refused.value.number, refused.value.text) == (number, text)


MODES = [
    ("DATE", "2021-02-30", "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES", "2021-02-30"),
    ("DATETIME(1)", "2021-04-31 10:00:00", "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES", "2021-04-31 10:00:00.0"),
    ("TIMESTAMP", "2021-02-30", "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES", 1292),
    ("DATE", "2021-02-32", "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES", 1292),
    ("DATE", "0000-00-00", "STRICT_TRANS_TABLES", "0000-00-00"),
    ("TIMESTAMP", "0000-00-00", "STRICT_TRANS_TABLES", "0000-00-00 00:00:00"),
    ("DATE", "2021-00-10", "STRICT_TRANS_TABLES", "2021-00-10"),
    ("DATE", "2021-00-10", "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE", 1292),
    ("DATE", "0000-00-00", "STRICT_TRANS_TABLES,NO_ZERO_DATE", 1292),
    ("TIMESTAMP", "2021-00-10", "STRICT_TRANS_TABLES", 1292),
]


@pytest.mark.parametrize(("type", "value", "mode", "result"), MODES)
def test_sql_mode_decides_which_dates_are_valid(type: str, value: str, mode: str, result: str | int) -> None:
    """pkg/table/column.go, handleZeroDatetime; pkg/types/time.go, checkDateType."""
    for rows in (1, 40):
        up = upstream(sql_mode=frozenset(mode.split(",")))
        if isinstance(result, str):
            assert insert(made(f"a {type}"), up, a=[value] * rows)[0]["a"].to_pylist() == [result.encode()] * rows
            continue
        with pytest.raises(SqlError) as refused:
            insert(made(f"a {type}"), up, a=[value] * rows)
        assert refused.value.number == result


NEAREST: list[tuple[str, Sql, str, int | None]] = [
    ("TINYINT", "300", "127", 1264),
    ("TINYINT UNSIGNED", "-5", "0", 1264),
    ("INT", "12.6kg", "13", 1366),
    ("INT", "abc", "0", 1366),
    ("BIGINT UNSIGNED", "99999999999999999999", "18446744073709551615", 1264),
    ("DECIMAL(4,1)", "-12345", "-999.9", 1264),
    ("DECIMAL(4,1) UNSIGNED", "-1", "0.0", 1264),
    ("DECIMAL(4,1)", "1.25x", "1.3", 1366),
    ("FLOAT", "-1e50", "-3.4028235e38", 1264),
    ("DOUBLE", "x", "0", 1366),
    ("YEAR", "1800", "1901", 1264),
    ("YEAR", "3000", "2155", 1264),
    ("BIT(3)", b"n9", "7", 1406),
    ("VARCHAR(3)", "äöüß", "äöü", 1406),
    ("TINYTEXT", "é" * 128, "é" * 127, 1406),
    ("VARBINARY(2)", b"\xff\xfe\xfd", "ÿþ", 1406),
    ("DATE", "2021-02-30", "0000-00-00", 1292),
    ("DATETIME(2)", "x", "0000-00-00 00:00:00.00", 1292),
    ("TIMESTAMP", "2050-01-01", "0000-00-00 00:00:00", 1292),
    ("TIME", "-900:00:00", "-838:59:59", 1292),
    ("TIME", "x", "00:00:00", 1292),
    ("ENUM('a')", "b", "", 1265),
    ("SET('a','b')", "a,c", "", 1265),
    ("INT NOT NULL", None, "0", 1048),
    ("ENUM('a','b') NOT NULL", None, "", 1048),
]


@pytest.mark.parametrize(("type", "value", "text", "number"), NEAREST)
def test_ignore_stores_the_nearest_value_with_a_warning(type: str, value: Sql, text: str, number: int) -> None:
    for up, ignore in ((upstream(), True), (upstream(sql_mode=frozenset({"NO_ZERO_DATE"})), False)):
        texts, effects = assign_values(made(f"a {type}"), {"a": cells([value, value])}, 2, up, NOW, ignore=ignore)
        assert texts["a"].to_pylist() == [text.encode()] * 2
        assert [warning[:5] for warning in effects.warnings] == [f"{number} "] * 2


def test_ignore_accepts_any_value_in_insert_but_only_truncation_in_update() -> None:
    """pkg/executor/insert_common.go, handleErr; pkg/types/truncate.go, HandleTruncate."""
    for type, value, kept in (("JSON", "x", None), ("VARCHAR(3)", b"a\xff", b"a?"), ("VECTOR", "x", None)):
        table, given = made(f"a {type}"), {"a": cells([value])}
        assert assign_values(table, given, 1, upstream(), NOW, ignore=True)[0]["a"].to_pylist() == [kept]
        if kept is None:
            with pytest.raises(SqlError):
                assign_values(table, given, 1, upstream(), NOW, ignore=True, existing={"a": cells([None])})


def test_null_in_an_insert_of_one_row_is_an_error_without_ignore() -> None:
    """pkg/executor/select.go, ResetContextOfStmt: isSingleInsert."""
    up, table = upstream(sql_mode=frozenset()), made("a INT NOT NULL, b INT NOT NULL")
    with pytest.raises(SqlError) as refused:
        insert(table, up, a=[None], b=["1"])
    assert refused.value.number == 1048
    texts, effects = insert(table, up, a=["1"])
    assert texts["b"].to_pylist() == [b"0"] and effects.warnings == ("1364 Field 'b' doesn't have a default value",)


def test_the_error_is_that_of_the_first_row_and_column() -> None:
    """pkg/executor/insert_common.go: explicit values first, then NULLs and missing values in table order."""
    table = made("a INT NOT NULL, b INT, c INT NOT NULL")
    for values, text in (
        ({"b": ["1", "x"], "a": ["x", "1"]}, "Incorrect int value: 'x' for column 'a' at row 1"),
        ({"b": ["x"], "a": [None]}, "Incorrect int value: 'x' for column 'b' at row 1"),
        ({"c": [None], "a": [None]}, "Column 'a' cannot be null"),
        ({"b": ["1"], "a": [None]}, "Column 'a' cannot be null"),
        ({"b": ["1"], "a": ["1"]}, "Field 'c' doesn't have a default value"),
        ({"a": ["1"], "c": DefaultMarker()}, "Field 'c' doesn't have a default value"),
    ):
        with pytest.raises(SqlError) as refused:
            insert(table, upstream(), **values)
        assert refused.value.text == text


def test_missing_columns_take_their_defaults() -> None:
    table = made(
        "a INT, b INT DEFAULT 5, c TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3), d DATETIME DEFAULT CURRENT_TIMESTAMP, "
        "e ENUM('x','y') NOT NULL, f DOUBLE DEFAULT 1, g VARCHAR(20) DEFAULT (CONCAT('a', 1 + 1)), h YEAR NOT NULL"
    )
    texts = insert(table, upstream(time_zone="+02:00"), a=["1"])[0]
    assert {name: text.to_pylist() for name, text in texts.items()} == {
        "a": [b"1"],
        "b": [b"5"],
        "c": [b"2020-09-13 12:26:40.123"],
        "d": [b"2020-09-13 14:26:40"],
        "e": [b"x"],
        "f": [b"1"],
        "g": [b"a2"],
        "h": [b"0"],
    }


def test_default_may_be_in_some_rows_only() -> None:
    table = made("a INT, b INT DEFAULT 5")
    inputs = {"a": cells(["1", "2"]), "b": cells([None, "7"])}
    texts, _ = assign_values(table, inputs, 2, upstream(), NOW, default_rows={"b": pa.array([True, False])})
    assert texts["b"].to_pylist() == [b"5", b"7"]


def test_a_timestamp_is_stored_in_utc() -> None:
    table = made("a TIMESTAMP, b DATETIME")
    for zone, text in (("+08:00", b"2020-07-01 02:00:00"), ("Europe/Berlin", b"2020-07-01 08:00:00")):
        texts = insert(table, upstream(time_zone=zone), a=["2020-07-01 10:00:00"], b=["2020-07-01 10:00:00"])[0]
        assert texts["a"].to_pylist() == [text] and texts["b"].to_pylist() == [b"2020-07-01 10:00:00"]
    with pytest.raises(SqlError) as skipped:
        insert(table, upstream(time_zone="Europe/Berlin"), a=["2020-03-29 02:30:00"])
    assert skipped.value.number == 1292


def test_set_timestamp_is_the_time_of_a_statement() -> None:
    table = made("a INT, b TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6)")
    assert insert(table, upstream(timestamp=1.5), a=["1"])[0]["b"].to_pylist() == [b"1970-01-01 00:00:01.500000"]


def stored(table: Table, last: int = 0, **session: Any) -> Upstream:
    rows = StoredRows(table, pa.table({}), pa.array([], pa.int64()), counters_after(table, 0, last))
    return replace(upstream(**session), rows={("d", "t"): rows})


def test_auto_increment_continues_after_explicit_values() -> None:
    """pkg/executor/insert_common.go, lazyAdjustAutoIncrementDatum."""
    table = made("id INT AUTO_INCREMENT PRIMARY KEY, a INT")
    texts, effects = insert(table, stored(table), id=[None, "10", "0", "5", None])
    assert texts["id"].to_pylist() == [b"1", b"10", b"11", b"5", b"12"]
    assert (auto_allocator(table, effects.counters).base, effects.last_insert_id) == (12, 1)
    texts, effects = insert(table, stored(table, 12, sql_mode=frozenset({"NO_AUTO_VALUE_ON_ZERO"})), id=["0", None])
    assert texts["id"].to_pylist() == [b"0", b"13"]
    texts, effects = insert(table, stored(table, 6), id=["3"])
    assert (auto_allocator(table, effects.counters).base, effects.last_insert_id) == (6, None)


def test_auto_increment_starts_at_the_table_option_and_ends_with_its_type() -> None:
    table = create_table("CREATE TABLE t (id TINYINT AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT = 126", "d")
    assert insert(table, upstream(), a=["1", "2"])[0]["id"].to_pylist() == [b"126", b"127"]
    error = insert(table, upstream(), a=["1", "2", "3"])[1].error
    assert error is not None and (error.number, error.text) == (1690, "constant 128 overflows tinyint")


def test_auto_increment_and_row_ids_share_a_counter_without_a_clustered_key() -> None:
    """pkg/meta/model/table.go, SepAutoInc: with AUTO_ID_CACHE 1 they are separate."""
    text = "CREATE TABLE t (id INT AUTO_INCREMENT UNIQUE, a INT)"
    apart = create_table(f"{text} AUTO_ID_CACHE 1", "d")
    assert [each.base for each in insert(create_table(text, "d"), upstream(), a=["1"])[1].counters] == [0, 1]
    assert [each.base for each in insert(apart, upstream(), a=["1"])[1].counters] == [1, 0]


def test_auto_random_is_a_shard_and_a_counter() -> None:
    """pkg/meta/autoid, ShardIDFormat: sign, shard, counter; a transaction has one shard."""
    table = made("id BIGINT AUTO_RANDOM(5) PRIMARY KEY, a INT")
    texts, effects = insert(table, upstream(), a=["1", "2"])
    ids = [int(text) for text in texts["id"].to_pylist()]
    assert [id & (1 << 58) - 1 for id in ids] == [1, 2] and ids[0] >> 58 == ids[1] >> 58 and ids[0] > 0
    assert insert(table, upstream(), a=["1", "2"])[0]["id"].equals(texts["id"])
    error = insert(table, upstream(), id=["5"])[1].error
    assert error is not None and error.number == 8216


def test_generated_columns_are_computed_and_accept_no_value() -> None:
    table = made("a INT, b INT AS (a * 2) STORED NOT NULL, c INT AS (a + 1), d TINYINT AS (a) STORED")
    assert insert(table, upstream(), a=["3"])[0]["b"].to_pylist() == [b"6"]
    assert "c" not in insert(table, upstream(), a=["3"], b=DefaultMarker())[0]
    for values, number in (
        ({"b": ["1"]}, 3105),
        ({"a": ["1", "x"], "c": ["1", "2"]}, 3105),
        ({"a": [None]}, 1048),
        ({"a": ["300"]}, 1264),
        ({"a": ["300", "x"]}, 1264),
    ):
        with pytest.raises(SqlError) as refused:
            insert(table, upstream(), **values)
        assert refused.value.number == number


def update(table: Table, before: dict[str, list[Sql]], **values: list[Sql] | DefaultMarker) -> dict[str, list[bytes]]:
    inputs = {name: cells(value) if isinstance(value, list) else value for name, value in values.items()}
    existing = {name: cells(value) for name, value in before.items()}
    rows = len(next(iter(existing.values())))
    texts, _ = assign_values(table, inputs, rows, upstream(), NOW, existing=existing)
    return {name: text.to_pylist() for name, text in texts.items()}


def test_an_update_changes_assigned_and_dependent_columns() -> None:
    """pkg/executor/write.go, updateRecord: ON UPDATE applies only if another column changes."""
    table = made("a INT, b INT AS (a * 2) STORED, c DATETIME ON UPDATE CURRENT_TIMESTAMP, d INT NOT NULL")
    before: dict[str, list[Sql]] = {
        "a": ["1", "2"],
        "b": ["2", "4"],
        "c": ["2000-01-01 00:00:00", None],
        "d": ["1", "1"],
    }
    assert update(table, before, a=["1", "3"]) == {
        "a": [b"1", b"3"],
        "b": [b"2", b"6"],
        "c": [b"2000-01-01 00:00:00", b"2020-09-13 12:26:40"],
        "d": [b"1", b"1"],
    }
    assert update(table, before, a=["5", "5"], c=["2001-01-01", "2001-01-01"])["c"] == [b"2001-01-01 00:00:00"] * 2
    for values, text in (
        ({"d": ["1", None]}, "Column 'd' cannot be null"),
        ({"a": ["1", "x"]}, "Truncated incorrect DOUBLE value: 'x'"),
        ({"a": ["1", "3000000000"]}, "Out of range value for column 'a' at row 1"),
        ({"c": ["x", None]}, "Incorrect datetime value: 'x'"),
    ):
        with pytest.raises(SqlError) as refused:
            update(table, before, **values)
        assert refused.value.text == text
