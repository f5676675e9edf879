"""Values become TiDB's text, or are rejected as strict mode rejects them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from pyspark.sql import SparkSession, types

from simulator.schema import parse
from simulator.snapshots.documents import normal_json, normal_vector
from simulator.snapshots.values import tidb_text

REJECTED = None

CASES: list[tuple[str, str | bytes, str | None]] = [
    ("int", "007", "7"), ("int", "-0", "0"), ("int", "+5", "5"), ("int", " 5 ", "5"), ("int", "1.5", "2"),
    ("int", "1e3", "1000"), ("int", "2147483647", "2147483647"),
    ("int", "2147483648", REJECTED), ("int", "x", REJECTED),
    ("int", "", REJECTED), ("tinyint", "-128", "-128"), ("tinyint", "-129", REJECTED),
    ("tinyint unsigned", "255", "255"), ("tinyint unsigned", "-1", REJECTED), ("mediumint", "8388608", REJECTED),
    ("bigint", "-9223372036854775808", "-9223372036854775808"), ("bigint", "9223372036854775808", REJECTED),
    ("bigint unsigned", "18446744073709551615", "18446744073709551615"), ("bigint unsigned", "00012", "12"),
    ("bigint unsigned", "18446744073709551616", REJECTED), ("bigint unsigned", "-1", REJECTED),
    ("decimal(5,2)", "1", "1.00"), ("decimal(5,2)", "-0.005", "-0.01"), ("decimal(5,2)", "-0.001", "0.00"),
    ("decimal(5,2)", "999.994", "999.99"), ("decimal(5,2)", "999.995", REJECTED), ("decimal(5,2)", "1000", REJECTED),
    ("decimal(5,2) unsigned", "-1", REJECTED), ("decimal(20,10)", "0", "0.0000000000"),
    ("decimal(20,10)", "-0.0000000001", "-0.0000000001"), ("decimal(10,0)", "2.5", "3"),
    ("decimal(5,2)", ".5", "0.50"),
    ("decimal(65,30)", "1.5", "1.500000000000000000000000000000"),
    ("decimal(65,0)", "9" * 65, "9" * 65), ("decimal(65,0)", "9" * 66, REJECTED),
    ("decimal(65,1)", "-" + "9" * 63 + ".95", "-1" + "0" * 63 + ".0"), ("decimal(65,2)", "abc", REJECTED),
    ("float", "3.14", "3.14"),
    ("float", "0.1000000001", "0.1"), ("float", "1e39", REJECTED), ("double", "nan", REJECTED),
    ("double", "1d", REJECTED), ("double unsigned", "-1", REJECTED), ("float(5,2)", "1.239", "1.24"),
    ("year", "2020", "2020"), ("year", "0000", "0"), ("year", "70", "1970"), ("year", "69", "2069"),
    ("year", "1900", REJECTED), ("year", "2156", REJECTED),
    ("date", "2020-02-29", "2020-02-29"), ("date", "2021-02-29", REJECTED), ("date", "2020-2-3", "2020-02-03"),
    ("date", "20200203", "2020-02-03"), ("date", "0000-00-00", "0000-00-00"), ("date", "2020-13-01", REJECTED),
    ("date", "70-01-02", "1970-01-02"), ("date", "2020-01-00", "2020-01-00"),
    ("datetime", "2020-02-20 02:20:20", "2020-02-20 02:20:20"),
    ("datetime", "2020-02-20T02:20:20", "2020-02-20 02:20:20"), ("datetime", "2020-02-20", "2020-02-20 00:00:00"),
    ("datetime", "1999-12-31 23:59:59.5", "2000-01-01 00:00:00"), ("datetime", "2020-02-20 25:00:00", REJECTED),
    ("datetime(3)", "2020-02-20 02:20:20", "2020-02-20 02:20:20.000"),
    ("datetime(3)", "2020-02-20 02:20:20.1236", "2020-02-20 02:20:20.124"),
    ("datetime(6)", "9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"),
    ("datetime", "20200220022020", "2020-02-20 02:20:20"), ("datetime", "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
    ("datetime(2)", "0000-00-00 00:00:00", "0000-00-00 00:00:00.00"), ("datetime", "2020-02-30 00:00:00", REJECTED),
    ("timestamp", "2039-01-01 00:00:00", REJECTED), ("timestamp", "2020-01-01 00:00:00", "2020-01-01 00:00:00"),
    ("time", "-838:59:59", "-838:59:59"), ("time", "839:00:00", REJECTED), ("time", "1:2:3", "01:02:03"),
    ("time", "12:30", "12:30:00"), ("time", "1 01:00:00", "25:00:00"), ("time", "013005", "01:30:05"),
    ("time(2)", "00:00:00.996", "00:00:01.00"), ("time", "10:60:00", REJECTED),
    ("time(1)", "-00:00:00.2", "-00:00:00.2"),
    ("varchar(3)", "äöü", "äöü"), ("varchar(3)", "abcd", REJECTED), ("varchar(3)", "abc  ", "abc"),
    ("varchar(5)", b"\xff", REJECTED), ("char(5)", "ab  ", "ab"), ("varchar(5)", "ab  ", "ab  "),
    ("tinytext", "x" * 255, "x" * 255), ("tinytext", "ä" * 128, REJECTED), ("varchar(9) charset utf8", "😀", REJECTED),
    ("varchar(9)", "😀\\N\n\0", "😀\\N\n\0"),
    ("binary(3)", b"\xff", "ÿ\0\0"), ("varbinary(2)", b"\x00\xfe", "\0þ"), ("varbinary(2)", b"abc", REJECTED),
    ("blob", b"\x80\x81", "\x80\x81"),
    ("enum('a','b,c')", "b,c", "b,c"), ("enum('a','b')", "2", "b"), ("enum('a','b')", "3", REJECTED),
    ("enum('a','b')", "", ""), ("enum('a','b')", "A", REJECTED),
    ("enum('a','B') collate utf8mb4_general_ci", "b", "B"), ("enum('1','2')", "2", "2"),
    ("set('a','b','c')", "c,a", "a,c"), ("set('a','b','c')", "", ""), ("set('a','b','c')", "5", "a,c"),
    ("set('a','b','c')", "a,d", REJECTED), ("set('a','b','c')", "8", REJECTED),
    ("bit(10)", b"x\x03\xff", "1023"), ("bit(10)", b"x\x04\x00", REJECTED), ("bit(10)", "n5", "5"),
    ("bit(64)", b"x" + b"\xff" * 8, "18446744073709551615"), ("bit(1)", b"x\x00", "0"), ("bit(1)", b"x\x00\x01", "1"),
    ("json", '{"b":1,"a":[]}', '{"a": [], "b": 1}'), ("json", "{", REJECTED), ("json", "null", "null"),
    ("vector(2)", "[1.0, 2.5]", "[1,2.5]"), ("vector(3)", "[1,2]", REJECTED), ("vector", "[]", "[]"),
]


def test_each_type_takes_what_strict_mode_takes(spark: SparkSession) -> None:
    """A column a definition, a row a case of it: definition, value in the file, TiDB's text or a rejection."""
    cases: dict[str, list[tuple[bytes, str | None]]] = {}
    for definition, value, text in CASES:
        cases.setdefault(definition, []).append((value.encode() if isinstance(value, str) else value, text))
    height = max(map(len, cases.values()))
    rows = [tuple(known[row][0] if row < len(known) else None for known in cases.values()) for row in range(height)]
    frame = spark.createDataFrame(rows, ", ".join(f"c{index} binary" for index in range(len(cases)))).coalesce(1)
    found = frame.select(*(
        tidb_text(parse.column(f"c {definition}").type, f"c{index}", types.BinaryType()).alias(f"t{index}")
        for index, definition in enumerate(cases))).collect()
    wrong = [
        (definition, value, text, found[row][index])
        for index, (definition, known) in enumerate(cases.items())
        for row, (value, text) in enumerate(known) if found[row][index] != text]
    assert wrong == []


TYPED: list[tuple[str, str, object, str | None]] = [
    ("int", "bigint", 2**31, REJECTED), ("int", "int", 7, "7"), ("bigint unsigned", "decimal(20,0)", Decimal(2**64 - 1),
                                                                 "18446744073709551615"),
    ("tinyint(1)", "boolean", True, "1"), ("decimal(12,2)", "decimal(12,2)", Decimal("1.50"), "1.50"),
    ("decimal(5,2)", "decimal(12,4)", Decimal("1000"), REJECTED), ("decimal(30,10)", "decimal(30,10)", Decimal("0"),
                                                                   "0.0000000000"),
    ("datetime", "timestamp_ntz", datetime(2020, 2, 20, 2, 20, 20), "2020-02-20 02:20:20"),
    ("datetime(3)", "timestamp_ntz", datetime(2020, 2, 20, 2, 20, 20, 123500), "2020-02-20 02:20:20.124"),
    ("datetime", "timestamp_ntz", datetime(1969, 12, 31, 23, 59, 59, 500000), "1970-01-01 00:00:00"),
    ("datetime(6)", "timestamp_ntz", datetime(9999, 12, 31, 23, 59, 59, 999999), "9999-12-31 23:59:59.999999"),
    ("datetime", "timestamp_ntz", datetime(9999, 12, 31, 23, 59, 59, 499999), "9999-12-31 23:59:59"),
    ("datetime", "timestamp_ntz", datetime(9999, 12, 31, 23, 59, 59, 500000), REJECTED),
    ("datetime(2)", "timestamp_ntz", datetime(1, 1, 1, 0, 0, 0, 4999), "0001-01-01 00:00:00.00"),
    ("timestamp", "timestamp_ntz", datetime(2100, 1, 1), REJECTED),
    ("varchar(5)", "string", "é\\N", "é\\N"), ("varbinary(5)", "binary", bytearray(b"\xff"), "ÿ"),
    ("double", "double", 1.5, "1.5"), ("float", "double", 3.14, "3.14"), ("varchar(2)", "int", 123, REJECTED),
]


def test_typed_values_of_parquet_take_the_same_text(spark: SparkSession) -> None:
    schema = ", ".join(f"c{index} {kind}" for index, (_, kind, _, _) in enumerate(TYPED))
    frame = spark.createDataFrame([tuple(value for _, _, value, _ in TYPED)], schema)
    columns = [
        tidb_text(parse.column(f"c {definition}").type, f"c{index}", frame.schema[index].dataType)
        .alias(f"t{index}")
        for index, (definition, _, _, _) in enumerate(TYPED)]
    row = frame.select(*columns).collect()[0]
    wrong = [(*case, row[index]) for index, case in enumerate(TYPED) if row[index] != case[3]]
    assert wrong == []


def test_json_is_printed_as_tidb_prints_it() -> None:
    """Keys by their bytes, the last of equal ones; integers of 64 bits whole, other numbers as float64."""
    assert normal_json('{"é":1,"z":2,"z":3,"a":{}}') == '{"a": {}, "z": 3, "é": 1}'
    assert normal_json("[1.0,1e21,1e-7,0.000001,18446744073709551615,18446744073709551616,-0]") == (
        "[1, 1e+21, 1e-7, 0.000001, 18446744073709551615, 18446744073709552000, 0]")
    assert normal_json(r'"\u0008\u000c\n\t\"\\\u2028<é"') == '"\\u0008\\u000c\\n\\t\\"\\\\\\u2028<é"'
    assert normal_json("NaN") is None and normal_json("[1,]") is None


def test_vectors_are_printed_with_the_shortest_digits_of_float32() -> None:
    assert normal_vector("[0.1, 1e10, -3]") == "[0.1,10000000000,-3]"
    assert normal_vector('["1"]') is None and normal_vector("1") is None
