"""Values that ALTER TABLE … MODIFY converts or refuses, measured on TiDB v8.0."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SqlError

MADE: list[tuple[str, str, str, object]] = [
    ("INT", "20200203", "DATE", "2020-02-03"),
    ("INT", "1231", "DATETIME(3)", "2000-12-31 00:00:00.000"),
    ("BIGINT", "20200203112233", "TIME", "11:22:33"),
    ("SMALLINT", "-5", "TIME", "-00:00:05"),
    ("INT", "1", "ENUM('a','1')", "a"),
    ("INT", "3", "SET('a','b')", "a,b"),
    ("TINYINT", "-5", "BIT(64)", 2**64 - 5),
    ("FLOAT", "1.1", "DOUBLE", 1.100000023841858),
    ("DOUBLE", "2.5", "INT", 2),
    ("DECIMAL(4,1)", "2.5", "INT", 3),
    ("DECIMAL(5,1)", "2020.4", "YEAR", 2020),
    ("DECIMAL(5,2)", "1.50", "JSON", "1.5"),
    ("DATE", "'2020-02-03'", "INT", 20200203),
    ("DATE", "'2020-02-03'", "YEAR", 2020),
    ("DATETIME(6)", "'2020-02-03 23:59:59.999999'", "BIGINT", 20200204000000),
    ("DATETIME(6)", "'2020-02-03 23:59:59.999999'", "BIGINT UNSIGNED", 20200203235960),
    ("DATETIME(6)", "'2020-02-03 23:59:59.999999'", "DATE", "2020-02-03"),
    ("DATETIME", "'2020-02-03 11:22:33'", "JSON", '"2020-02-03 11:22:33.000000"'),
    ("TIME(3)", "'-00:00:01.500'", "INT", -1),
    ("TIME(3)", "'11:22:33.567'", "DECIMAL(9,3)", "112233.567"),
    ("TIME", "'00:00:05'", "YEAR", 2005),
    ("BIT(16)", "49", "VARCHAR(9)", "49"),
    ("BIT(16)", "49", "JSON", '"\\u00001"'),
    ("JSON", "'\"12\"'", "INT", 12),
    ("JSON", "'true'", "INT", 1),
    ("JSON", "'\"2020-02-03\"'", "DATE", "2020-02-03"),
    ("YEAR", "0", "INT", 0),
    ("BINARY(4)", "'12'", "INT", 12),
    ("VARCHAR(9)", "'12.5'", "YEAR", 2013),
]


@pytest.mark.parametrize(("source", "value", "target", "wanted"), MADE)
def test_a_value_is_converted_to_another_type(source: str, value: str, target: str, wanted: object) -> None:
    ticdc = TiCDC("v8.0.0", config={"force-replicate": True})
    ticdc.execute(f"CREATE TABLE test.t (id INT PRIMARY KEY, a {source}); INSERT INTO test.t VALUES (1, {value})")

    ticdc.execute(f"ALTER TABLE test.t MODIFY a {target}")

    made = ticdc.rows("test.t")[0]["a"]
    assert (str(made) if isinstance(wanted, str) else made) == wanted


STOPPED = [
    ("INT", "300", "DATE", 1292, "Incorrect time value: '300'"),
    ("INT", "0", "DATE", 1292, "Truncated incorrect date value: '0'"),
    ("INT", "1000000", "DATE", 1292, "Incorrect time value: '1000000'"),
    ("INT", "20200203", "TIME", 1292, "Incorrect time value: '20200203'"),
    ("INT UNSIGNED", "20200203", "TIMESTAMP", 1105, "cannot convert datum from unsigned bigint to type timestamp"),
    ("INT", "300", "BIT(3)", 1265, "Data truncated for column 'a', value is '300'"),
    ("DOUBLE", "-2.5", "BIT(3)", 1690, "constant -2 overflows bit"),
    ("INT", "300", "DECIMAL(3,1)", 1690, "DECIMAL value is out of range in '(3, 1)'"),
    ("INT", "300", "FLOAT(4,2)", 1690, "DOUBLE value is out of range in ''"),
    ("DOUBLE", "1e300", "FLOAT", 1690, "constant 1e+300 overflows float"),
    ("DOUBLE", "1e20", "YEAR", 1105, "cannot convert datum from double to type year"),
    ("VARCHAR(9)", "'1.5abc'", "INT", 1690, "BIGINT value is out of range in '1.5'"),
    ("VARCHAR(9)", "'2abc'", "INT", 1292, "Truncated incorrect DOUBLE value: '2abc'"),
    ("DATE", "'1969-12-31'", "TIMESTAMP", 1292, "Incorrect timestamp value: '1969-12-31 00:00:00'"),
    ("DATETIME", "'2020-02-03 11:22:33'", "INT", 1690, "constant 20200203112233 overflows int"),
    ("VARBINARY(4)", "x'80'", "CHAR(9)", 1366, "Incorrect string value '\\x80' for column 'a'"),
    ("CHAR(4)", "''", "ENUM('a')", 1265, "Data truncated for column 'a', value is ''"),
    ("INT", "NULL", "INT NOT NULL", 1265, "Data truncated for column 'a' at row 1"),
]


@pytest.mark.parametrize(("source", "value", "target", "number", "text"), STOPPED)
def test_a_value_that_does_not_fit_stops_the_statement(
    source: str, value: str, target: str, number: int, text: str
) -> None:
    """No event is sent."""
    ticdc = TiCDC("v8.0.0", config={"force-replicate": True})
    ticdc.execute(f"CREATE TABLE test.t (id INT PRIMARY KEY, a {source}); INSERT INTO test.t VALUES (1, {value})")
    sent = len(ticdc.events())

    with pytest.raises(SqlError) as error:
        ticdc.execute(f"ALTER TABLE test.t MODIFY a {target}")

    assert (error.value.number, error.value.text, len(ticdc.events())) == (number, text, 0 * sent)


def test_null_becomes_the_present_moment_in_a_timestamp_that_is_not_null() -> None:
    ticdc = TiCDC("v8.0.0", config={"force-replicate": True})
    ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY, a INT); INSERT INTO test.t VALUES (1, NULL)")

    ticdc.execute("ALTER TABLE test.t MODIFY a TIMESTAMP NOT NULL")

    assert str(ticdc.rows("test.t")[0]["a"]) > "2020"


@pytest.mark.parametrize(
    ("source", "values", "target", "wanted", "warnings"),
    [
        (
            "INT",
            "(1, 300), (2, -5), (3, 400)",
            "TINYINT",
            ["127", "-5", "127"],
            ["1690 2 warnings with this error code, first warning: constant 300 overflows tinyint"],
        ),
        ("VARCHAR(9)", "(1, '12x'), (2, '7')", "INT", ["12", "7"], ["1292 Truncated incorrect DOUBLE value: '12x'"]),
        (
            "VARCHAR(9)",
            "(1, '12'), (2, '7')",
            "VARCHAR(1)",
            ["1", "7"],
            ["1265 Data truncated for column 'a', value is '12'"],
        ),
        ("INT", "(1, 5)", "BIGINT", ["5"], []),
    ],
)
def test_a_lenient_session_clips_values(
    source: str, values: str, target: str, wanted: list[str], warnings: list[str]
) -> None:
    """pkg/ddl/column.go, getRowRecord; pkg/ddl/ddl.go counts the warnings of a number."""
    with TiCDC("v8.0.0") as ticdc:
        ticdc.execute(f"SET sql_mode = ''; CREATE TABLE test.t (id INT PRIMARY KEY, a {source})")
        ticdc.execute(f"INSERT INTO test.t VALUES {values}")
        result = ticdc.execute(f"ALTER TABLE test.t MODIFY a {target}")

        assert [str(row["a"]) for row in ticdc.rows("test.t")] == wanted
        assert list(result.warnings) == warnings


def test_a_lenient_session_does_not_replace_null() -> None:
    with TiCDC("v8.0.0") as ticdc:
        ticdc.execute("SET sql_mode = ''; CREATE TABLE test.t (id INT PRIMARY KEY, a INT)")
        ticdc.execute("INSERT INTO test.t (id) VALUES (1)")
        with pytest.raises(SqlError) as error:
            ticdc.execute("ALTER TABLE test.t MODIFY a INT NOT NULL")
        assert error.value.number == 1265
