"""What a column makes of values of every kind, in each mode, as a real TiDB v8.0 was seen to do it.

Sources: tidb pkg/types/datum.go (ConvertTo), pkg/types/convert.go, pkg/types/time.go, pkg/table/column.go (CastValue),
pkg/executor/insert_common.go (completeInsertErr).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulator import TiCDC
from simulator.errors import SqlError, UserError
from simulator.tidb.datums.columns import FEW, cast_column
from simulator.tidb.datums.kinds import Datum, datums_of
from simulator.tidb.datums.modes import Mode
from simulator.tidb.ddl.definitions.from_sql import create_table

CASES: list[tuple[str, str, Any, Any]] = [
    ("TINYINT", "'12abc'", 1366, 12),
    ("TINYINT UNSIGNED", "'1.5abc'", 1264, 2),
    ("INT", "2.5e0", 2, 2),
    ("INT", "2.5", 3, 3),
    ("INT", "0x41", 65, 65),
    ("INT", "DATE'2020-01-01'", 20200101, 20200101),
    ("BIGINT UNSIGNED", "-0.4", 1264, 0),
    ("INT", "CAST('\"a\"' AS JSON)", 1366, 0),
    ("INT", "TRUE", 1, 1),
    ("INT", "TIME'-10:00:00.5'", -100000, -100000),
    ("DECIMAL(10,0)", "'1e-400'", 1366, "0"),
    ("DECIMAL(5,2)", "'999.995'", 1264, "999.99"),
    ("DECIMAL(5,2) UNSIGNED", "-1", 1264, "0.00"),
    ("DECIMAL(5,2)", "-0.0", "0.00", "0.00"),
    ("FLOAT(7,2)", "-0.0", 0.0, 0.0),
    ("DOUBLE", "'1e400'", 1366, 1.7976931348623157e308),
    ("FLOAT", "1e39", 1264, None),
    ("BIT(12)", "-2.5", 1264, 0),
    ("BIT(64)", "-128", 2**64 - 128, 2**64 - 128),
    ("BIT(1)", "'true'", 1, 1),
    ("BIT(12)", "\"b'101'\"", 5, 5),
    ("BIT(12)", "4096", 1406, 4095),
    ("YEAR", "'0'", 2000, 2000),
    ("YEAR", "0", 0, 0),
    ("YEAR", "1.5", 2002, 2002),
    ("YEAR", "'1.5abc'", 1264, 2002),
    ("YEAR", "1e39", 1105, 1105),
    ("YEAR", "DATE'2020-01-01'", 2020, 2020),
    ("DATE", "1.5e0", 1105, 1105),
    ("DATE", "x'41'", 1105, 1105),
    ("DATE", "20200101", "2020-01-01", "2020-01-01"),
    ("DATE", "'2020-00-00'", 1292, "2020-00-00"),
    ("DATE", "1", 1292, "0000-00-00"),
    ("DATETIME", "'2020-01-01T10:20:30Z'", "2020-01-01 10:20:30", "2020-01-01 10:20:30"),
    ("DATETIME", "'2020-01-01 10:20:30+05:00'", "2020-01-01 05:20:30", "2020-01-01 05:20:30"),
    ("DATETIME", "'2020-01-01 10:20:30-00:00'", 1292, "0000-00-00 00:00:00"),
    ("DATETIME(3)", "1/3", 1292, None),
    ("TIMESTAMP", "18446744073709551615", 1105, 1105),
    ("TIME", "'1abc'", 1292, "00:00:01"),
    ("TIME", "4294967296", 1292, "838:59:59"),
    ("TIME", "-2147483649", 1292, "NULL"),
    ("TIME", "1e20", 1264, "NULL"),
    ("TIME", "9223372036854775807", 1292, "838:59:59"),
    ("TIME", "DATE'2020-01-01'", "00:00:00", "00:00:00"),
    ("TIME", "TIME'-10:00:00.5'", "-10:00:00", "-10:00:00"),
    ("ENUM('a','b')", "18446744073709551615", 1265, ""),
    ("SET('a','b')", "2.5e0", "b", "b"),
    ("ENUM('a','b')", "CAST('1' AS JSON)", "a", "a"),
    ("JSON", "TRUE", "1", "1"),
    ("JSON", "x'41'", 3144, 3144),
    ("JSON", "-0.0", "0", "0"),
    ("JSON", "TIME'10:00:00'", '"10:00:00.000000"', '"10:00:00.000000"'),
    ("JSON", "'x'", 3140, 3140),
    ("VARCHAR(3)", "'abcd'", 1406, "abc"),
    ("VARCHAR(3)", "x'61ff62'", 1366, "a"),
    ("CHAR(3)", "-0.0", "0.0", "0.0"),
    ("VARCHAR(3) CHARACTER SET ascii", "'é1'", 1366, "?1"),
    ("BINARY(3)", "x'41'", b"A\0\0", b"A\0\0"),
]


def kept(type: str, value: str, mode: str, ignore: str = "") -> Any:
    """What the column has of the value, or the number of the error."""
    ticdc = TiCDC("v8.0.0")
    ticdc.execute(f"SET time_zone = '+00:00'; SET sql_mode = {mode}; CREATE TABLE t (c {type})")
    try:
        ticdc.execute(f"INSERT {ignore} INTO t VALUES ({value})")
    except SqlError as error:
        return error.number
    found = ticdc.rows("test.t")[0]["c"]
    return "NULL" if found is None else found


@pytest.mark.parametrize(("type", "value", "strict", "lenient"), CASES)
def test_a_column_keeps_of_a_value_what_tidb_keeps(type: str, value: str, strict: Any, lenient: Any) -> None:
    assert kept(type, value, "DEFAULT") == strict
    if lenient is not None:
        assert kept(type, value, "''") == lenient


def test_insert_ignore_forgives_what_no_mode_does() -> None:
    for type, value in (("DATE", "1.5e0"), ("JSON", "x'41'"), ("JSON", "'x'"), ("TIMESTAMP", "18446744073709551615")):
        assert kept(type, value, "DEFAULT", "IGNORE") == "NULL"


def test_each_statement_words_an_error_in_its_own_way() -> None:
    """VALUES tells column and row, UPDATE always row 1, INSERT … SELECT nothing (pkg/executor/update.go, handleErr)."""
    ticdc = TiCDC("v8.0.0")
    ticdc.execute(
        "CREATE TABLE s (a VARCHAR(9), n INT); INSERT INTO s VALUES ('1', 1), ('12ab', 300); "
        "CREATE TABLE t (c TINYINT, e ENUM('x')); INSERT INTO t VALUES (1, 'x'), (2, 'x')"
    )
    for statement, number, text in (
        ("INSERT INTO t(c) VALUES (1), ('12ab')", 1366, "Incorrect tinyint value: '12ab' for column 'c' at row 2"),
        ("INSERT INTO t(c) SELECT a FROM s", 1292, "Truncated incorrect DOUBLE value: '12ab'"),
        ("INSERT INTO t(c) SELECT n FROM s", 1690, "constant 300 overflows tinyint"),
        ("UPDATE t SET c = c * 100", 1264, "Out of range value for column 'c' at row 1"),
        ("UPDATE t SET c = '12ab'", 1292, "Truncated incorrect DOUBLE value: '12ab'"),
        ("UPDATE t SET e = 'y'", 1265, "Data truncated for column '%s' at row %d"),
    ):
        with pytest.raises(SqlError) as refused:
            ticdc.execute(statement)
        assert (refused.value.number, refused.value.text) == (number, text)


def test_columns_of_every_kind_keep_their_kind() -> None:
    ticdc = TiCDC("v8.0.0")
    ticdc.execute(
        "CREATE TABLE s (f FLOAT, u INT UNSIGNED, b BIT(12), e ENUM('x','3'), w SET('a','b'), d DATE); "
        "INSERT INTO s VALUES (1.1, 4000000000, 77, '3', 'a,b', '2020-01-02'); "
        "CREATE TABLE t (p DECIMAL(20,10), n BIGINT, j JSON, ts TIMESTAMP)"
    )
    for column, value, expected in (
        ("p", "f", "1.1000000238"),
        ("n", "e", 2),
        ("n", "w", 3),
        ("n", "d", 20200102),
        ("j", "f", "1.100000023841858"),
        ("j", "b", '"\\u0000M"'),
    ):
        ticdc.execute(f"DELETE FROM t; INSERT INTO t({column}) SELECT {value} FROM s")
        assert ticdc.rows("test.t")[0][column] == expected
    for value, kind in (("f", "float"), ("u", "unsigned bigint"), ("b", "bit"), ("e", "enum"), ("w", "set")):
        with pytest.raises(SqlError, match=f"cannot convert datum from {kind} to type timestamp"):
            ticdc.execute(f"INSERT INTO t(ts) SELECT {value} FROM s")


@pytest.mark.parametrize(
    ("type", "value", "strict", "lenient"),
    [
        ("VARCHAR(9)", "x'636166c3a9'", "café", "café"),
        ("VARCHAR(4)", "x'636166e9'", b"caf\xe9", b"caf\xe9"),
        ("CHAR(6)", "x'e92020'", b"\xe9", b"\xe9"),
        ("TINYTEXT", "x'e9ff'", b"\xe9\xff", b"\xe9\xff"),
        ("VARCHAR(4)", "x'e3e9e9c3c3a9'", 1406, b"\xe3\xe9\xe9\xc3"),
    ],
)
def test_latin1_takes_any_bytes_and_shows_a_text_that_is_no_utf8_as_bytes(
    type: str, value: str, strict: Any, lenient: Any
) -> None:
    for mode, ignore, expected in (("DEFAULT", "", strict), ("''", "", lenient), ("DEFAULT", "IGNORE", lenient)):
        assert kept(f"{type} CHARACTER SET latin1", value, mode, ignore) == expected


LATIN = (
    "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET latin1, c CHAR(9) CHARACTER SET latin1, "
    "u VARCHAR(9), b VARBINARY(9), UNIQUE (s)); INSERT INTO t (id, s) VALUES (1, X'636166e9'), (2, 'é')"
)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE t SET c = s, b = s WHERE id = 1", (b"caf\xe9", b"caf\xe9")),
        ("UPDATE t SET c = s, b = s WHERE id + 0 = 1", (b"caf\xe9", b"caf\xe9")),
        ("REPLACE INTO t SELECT 1, s, s, NULL, s FROM t WHERE id = 1", (b"caf\xe9", b"caf\xe9")),
        ("UPDATE t SET u = s WHERE id = 1", r"1366 .* string value '\\xE9' for column 'u'"),
        ("INSERT INTO t (id, s) VALUES (3, X'636166E9')", "Duplicate entry 'caf\ufffd' for key 't.s'"),
        ("INSERT INTO t (id, s) VALUES (3, X'C3A9')", "Duplicate entry 'é' for key 't.s'"),
        ("UPDATE t SET u = HEX(s)", "1235"),
        ("UPDATE t SET id = 9 WHERE s LIKE 'c%'", "1235"),
        ("UPDATE t SET id = id + 9 ORDER BY s LIMIT 1", "1235"),
        ("ALTER TABLE t MODIFY s VARCHAR(5)", "1235"),
    ],
)
def test_bytes_of_latin1_go_from_column_to_column_and_are_not_computed_with(statement: str, expected: Any) -> None:
    ticdc = TiCDC("v8.0.0")
    ticdc.execute(LATIN)
    if isinstance(expected, str):
        with pytest.raises(SqlError, match=expected):
            ticdc.execute(statement)
        return
    ticdc.execute(statement)
    row = ticdc.rows("test.t")[0]
    assert (row["c"], row["b"]) == expected
    assert ("1", b"caf\xe9") in ticdc.execute("SELECT id, s FROM t ORDER BY id").rows


def test_messages_say_ufffd_for_each_byte_that_is_no_utf8_and_csv_has_the_byte(tmp_path: Path) -> None:
    for protocol in ("open-protocol", "canal-json"):
        with TiCDC("v8.0.0", sink_uri=f"kafka://k/t?protocol={protocol}") as ticdc:
            ticdc.execute(
                "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET latin1); "
                "INSERT INTO t VALUES (1, X'636166e9')"
            )
            assert any(b'"caf\\ufffd"' in (message.value or b"") for message in ticdc.messages())
            ticdc.truth(tmp_path / protocol)
            assert (tmp_path / protocol / "test.t.csv").read_bytes().endswith(b'\n1,"caf\xe9"\n')
            with pytest.raises(UserError, match="Parquet"):
                ticdc.truth(tmp_path / "parquet", "parquet")


TEXTS = {
    "string": (
        "1",
        "-1",
        "1.5",
        "007",
        " 4 ",
        "1e3",
        "1e-400",
        "abc",
        "",
        "2020-01-01",
        "2020-01-01 10:11:12.50",
        "2020-02-30",
        "0000-00-00",
        "2020-00-01",
        "-10:11:12.5",
        "900:00:00",
        "1970-01-01 00:00:00",
        "2038-01-19 03:14:08",
        "é",
        "a  ",
        "300",
        "-0",
        "-0.0",
        "1.005",
        "[1, 2.50]",
        "1e400",
        "inf",
        "\t1",
    ),
    "int": ("0", "-1", "300", "20200101"),
    "uint": ("0", "18446744073709551615"),
    "decimal": ("0.0", "-0.5", "99.995", "-99999.5"),
    "double": ("-0.0", "2.5", "-0.4", "1e+39", "123.456"),
    "date": ("2020-01-01", "0000-00-00", "2020-00-01"),
    "datetime": ("2020-12-31 23:59:59.99", "2040-01-01 00:00:00"),
    "time": ("10:11:12", "-10:11:12.55"),
    "json": ("1", '"a"', "null"),
}


@pytest.mark.parametrize(
    "type",
    [
        "TINYINT",
        "BIGINT UNSIGNED",
        "DECIMAL(5,2)",
        "FLOAT",
        "FLOAT(6,2)",
        "DOUBLE UNSIGNED",
        "CHAR(3)",
        "VARBINARY(5)",
        "DATE",
        "DATETIME(2)",
        "TIMESTAMP",
        "TIME(1)",
        "YEAR",
        "JSON",
        "ENUM('a','1')",
        "BIT(9)",
    ],
)
@pytest.mark.parametrize("sql_mode", ["STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE", ""])
def test_a_value_is_cast_alike_alone_and_among_many(type: str, sql_mode: str) -> None:
    column, mode = create_table(f"CREATE TABLE t (c {type})", "d").columns[0], Mode(frozenset(sql_mode.split(",")))
    given = [Datum(kind, text.encode()) for kind, texts in TEXTS.items() for text in texts]
    assert len(given) > FEW
    among = cast_column(column, datums_of([*given, None]), mode)
    alone = [cast_column(column, datums_of([datum]), mode) for datum in given]
    assert among.texts.to_pylist() == [*(found.texts[0].as_py() for found in alone), None]
    assert [(misfit.row, misfit.problem) for misfit in among.misfits] == [
        (row, misfit.problem) for row, found in enumerate(alone) for misfit in found.misfits
    ]


@pytest.mark.parametrize("rows", [1, 40])
def test_a_column_keeps_no_negative_zero(rows: int) -> None:
    """TiDB's storage has none (pkg/util/codec/float.go), however many rows a statement writes."""
    ticdc = TiCDC(databases=())
    ticdc.execute("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, a FLOAT(7, 2), b FLOAT, c DOUBLE)")
    ticdc.execute("INSERT INTO d.t VALUES " + ", ".join(f"({id}, -0.004, '-0.0', -0e0)" for id in range(rows)))

    assert {"0.0"} == {str(row[name]) for row in ticdc.rows("d.t") for name in "abc"}
