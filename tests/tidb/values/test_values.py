"""Values become TiDB's text, or are rejected as strict mode rejects them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.upstreams import cases

from simulator.tidb.datums.cast import convert_text, convertible, tidb_text
from simulator.tidb.ddl import table_definitions as create_table
from simulator.tidb.model.types import ColumnType
from simulator.tidb.values.conversion import accepted_values, tagged
from simulator.tidb.values.documents import normal_json

REJECTED = None

# more of DATETIME and TIME: test_spellings
PLAIN = cases("""
    int => 007 → 7 | -0 → 0 | +5 → 5 | 1.5 → 2 | 1e3 → 1000 | 2147483647 → 2147483647 | 2147483648 → ✗ | x → ✗ | ٣ → ✗
    int => 0x1F → ✗ | 1e400 → ✗ | - → ✗
    tinyint => -128 → -128 | -129 → ✗
    tinyint unsigned => 255 → 255 | -1 → ✗
    mediumint => 8388608 → ✗
    bigint => -9223372036854775808 → -9223372036854775808 | 9223372036854775808 → ✗ | 4294967295.5 → 4294967296
    bigint unsigned => 18446744073709551615 → 18446744073709551615 | 00012 → 12 | 18446744073709551616 → ✗ | -1 → ✗
    decimal(5,2) => 1 → 1.00 | -0.005 → -0.01 | -0.001 → 0.00 | 999.994 → 999.99 | 999.995 → ✗ | 1000 → ✗ | .5 → 0.50
    decimal(5,2) => ٣ → ✗ | 1e2 → 100.00 | 1e-999999 → ✗
    decimal(5,2) unsigned => -1 → ✗
    decimal(20,10) => 0 → 0.0000000000 | -0.0000000001 → -0.0000000001
    decimal(10,0) => 2.5 → 3
    decimal(65,30) => 1.5 → 1.500000000000000000000000000000 | -6e-1 → -0.600000000000000000000000000000 | 1e35 → ✗
    decimal(65,2) => abc → ✗
    float => 3.14 → 3.14 | 0.1000000001 → 0.1 | 1e39 → ✗ | 16777217 → 16777216
    double => nan → ✗ | 1d → ✗ | 5.0 → 5 | -0 → -0 | 1e14 → 100000000000000 | 1e15 → 1e15
    double => 1.5e-15 → 0.0000000000000015 | 1.5e-16 → 1.5e-16 | 1e400 → ✗
    double unsigned => -1 → ✗
    float(5,2) => 1.239 → 1.24 | 999.995 → ✗ | 999.99 → 999.99
    year => 2020 → 2020 | 0000 → 0 | 0 → 0 | 70 → 1970 | 69 → 2069 | 1900 → ✗ | 2156 → ✗ | 070 → 1970
    date => 2020-02-29 → 2020-02-29 | 2021-02-29 → ✗ | 2020-2-3 → 2020-02-03 | 20200203 → 2020-02-03
    date => 0000-00-00 → 0000-00-00 | 2020-13-01 → ✗ | 70-01-02 → 1970-01-02 | 2020-01-00 → 2020-01-00
    date => 2020-01-01 25:00:00 → ✗ | 2020-01-01 23:59:59.5 → 2020-01-02 | 0000-02-30 → ✗ | 2020-00-31 → 2020-00-31
    datetime(6) => 9999-12-31 23:59:59.999999 → 9999-12-31 23:59:59.999999
    datetime(6) => 2020-02-20 02:20:20.1234567 → 2020-02-20 02:20:20.123457
    datetime(2) => 0000-00-00 00:00:00 → 0000-00-00 00:00:00.00
    timestamp => 2039-01-01 00:00:00 → ✗ | 2020-01-01 00:00:00 → 2020-01-01 00:00:00
    time => -838:59:59 → -838:59:59 | -1.25 → -00:00:01
    time(1) => -00:00:00.2 → -00:00:00.2
    varchar(3) => äöü → äöü | abcd → ✗
    varchar(9) charset utf8 => 😀 → ✗
    enum('a','b,c') => b,c → b,c
    enum('a','b') => 2 → b | 3 → ✗ | A → ✗ | 0 → ✗ | 02 → b | 0b1_0 → b | 0X1 → a | 2_ → ✗ | 08 → ✗ | +1 → ✗
    set('a','b') => 0x3 → a,b | a, → ✗ | 99999999999999999999 → ✗
    enum('a','B') collate utf8mb4_general_ci => b → B
    enum('1','2') => 2 → 2
    set('a','b','c') => c,a → a,c | 5 → a,c | a,d → ✗ | 8 → ✗
    bit(10) => n5 → 5
    json => {"b":1,"a":[]} → {"a": [], "b": 1} | { → ✗ | null → null
    vector(2) => [1.0, 2.5] → [1,2.5]
    vector(3) => [1,2] → ✗
    vector => [] → [] | [[1],2] → ✗ | [1e39] → ✗ | [0.1, 1e20, -3] → [0.1,100000000000000000000,-3] | ["1"] → ✗
    vector => 1 → ✗ | [-0,1e-20] → [-0,0.00000000000000000001]
    decimal(2,2) => 0.994 → 0.99
    double(4,1) => 0.25 → 0.2
    double(30,20) => 6974.703579110473 → 6974.703579110473
    datetime => 2020-10-00 23:59:58.4 → 2020-10-00 23:59:58
    varchar(3) charset ascii => ä → ✗
    enum('a') => ٣ → ✗
""")
"""Types with values and what becomes of them; ✗ where they are rejected."""

CASES: list[tuple[str, str | bytes, str | None]] = [
    *(
        (definition, value, REJECTED if wanted == "✗" else wanted)
        for definition, line in PLAIN
        for value, _, wanted in (pair.partition(" → ") for pair in line.split(" | "))
    ),
    ("int", " 5 ", "5"),
    ("int", "", REJECTED),
    ("decimal(65,0)", "9" * 65, "9" * 65),
    ("decimal(65,0)", "9" * 66, REJECTED),
    ("decimal(65,1)", "-" + "9" * 63 + ".95", "-1" + "0" * 63 + ".0"),
    ("varchar(3)", "abc  ", "abc"),
    ("varchar(5)", b"\xff", REJECTED),
    ("char(5)", "ab  ", "ab"),
    ("varchar(5)", "ab  ", "ab  "),
    ("tinytext", "x" * 255, "x" * 255),
    ("tinytext", "ä" * 128, REJECTED),
    ("varchar(9)", "😀\\N\n\0", "😀\\N\n\0"),
    ("binary(3)", b"\xff", "ÿ\0\0"),
    ("varbinary(2)", b"\x00\xfe", "\0þ"),
    ("varbinary(2)", b"abc", REJECTED),
    ("blob", b"\x80\x81", "\x80\x81"),
    ("enum('a','b')", "", ""),
    ("enum('a','b')", "1" * 5000, REJECTED),
    ("enum('ß','b') collate utf8mb4_unicode_ci", "SS ", "ß"),
    ("enum('a') collate utf8mb4_0900_bin", "a ", REJECTED),
    ("set('é','b') collate utf8mb4_general_ci", "B,E ", "é,b"),
    ("set('a','b')", "0", ""),
    ("set('a','b','c')", "", ""),
    ("bit(10)", b"x\x03\xff", "1023"),
    ("bit(10)", b"x\x04\x00", REJECTED),
    ("bit(64)", b"x" + b"\xff" * 8, "18446744073709551615"),
    ("bit(1)", b"x\x00", "0"),
    ("bit(1)", b"x\x00\x01", "1"),
    ("bigint unsigned", " 18446744073709551615.4", "18446744073709551615"),
    ("decimal(12,2)", "4294967295.494" + "9" * 40, "4294967295.49"),
    ("decimal(12,2)", "0" * 90 + "1", REJECTED),
    ("year", " 2020\n", "2020"),
    ("date", "2020-02-20\n", "2020-02-20"),
    ("char(2)", "ä     ", "ä"),
    ("bit(64)", b"x" + b"\x01" * 9, REJECTED),
]


@cache
def of(definition: str) -> ColumnType:
    return create_table.create_table(f"CREATE TABLE t (c {definition})").columns[0].type


def text(definition: str, values: Sequence[object], kind: pa.DataType | None = None) -> list[str | None]:
    """TiDB text of values, of the bytes of a file unless `kind` says otherwise."""
    texts = tidb_text(of(definition), pa.array(values, kind or pa.binary()))
    texts.validate(full=True)
    assert texts.type == pa.string()
    return list(texts.to_pylist())


DEFINITIONS = list(dict.fromkeys(definition for definition, _, _ in CASES))


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_each_type_takes_what_strict_mode_takes(definition: str) -> None:
    """One at a time, and all together with NULLs between them, which takes other ways through the code."""
    known = [
        (value.encode() if isinstance(value, str) else value, wanted)
        for other, value, wanted in CASES
        if other == definition
    ]
    mixed = [cell for value, _ in known for cell in (value, None)]

    assert [text(definition, [value]) for value, _ in known] == [[wanted] for _, wanted in known]
    assert text(definition, mixed) == [cell for _, wanted in known for cell in (wanted, None)]
    part = pa.array([None, *mixed, b"", *mixed], pa.binary()).slice(1, len(mixed))
    assert tidb_text(of(definition), part).to_pylist() == [cell for _, wanted in known for cell in (wanted, None)]
    assert (text(definition, []), text(definition, [None])) == ([], [None])


TYPED: list[tuple[str, pa.DataType, object, str | None]] = [
    ("int", pa.int64(), 2**31, REJECTED),
    ("int", pa.int32(), 7, "7"),
    ("tinyint unsigned", pa.int8(), -1, REJECTED),
    ("bigint", pa.uint64(), 2**63, REJECTED),
    ("bigint unsigned", pa.uint64(), 2**64 - 1, "18446744073709551615"),
    ("bigint unsigned", pa.decimal128(20, 0), Decimal(2**64 - 1), "18446744073709551615"),
    ("bigint unsigned", pa.decimal128(20, 0), Decimal(2**64), REJECTED),
    ("int", pa.float64(), 5.0, "5"),
    ("int", pa.decimal128(5, 2), Decimal("2.50"), "3"),
    ("int", pa.timestamp("us"), datetime(2020, 1, 1), REJECTED),
    ("tinyint(1)", pa.bool_(), True, "1"),
    ("int", pa.dictionary(pa.int8(), pa.int64()), 7, "7"),
    ("decimal(12,2)", pa.decimal128(12, 2), Decimal("1.50"), "1.50"),
    ("decimal(12,2)", pa.int32(), 5, "5.00"),
    ("decimal(5,2)", pa.decimal128(12, 4), Decimal("1000"), REJECTED),
    ("decimal(5,2)", pa.float64(), 1.005, "1.01"),
    ("decimal(5,2) unsigned", pa.decimal128(5, 2), Decimal("-1"), REJECTED),
    ("decimal(30,10)", pa.decimal128(30, 10), Decimal("0"), "0.0000000000"),
    ("decimal(65,30)", pa.decimal256(65, 30), Decimal("-1e-30"), "-0." + "0" * 29 + "1"),
    ("decimal(10,0)", pa.decimal128(38, 17), Decimal("4294967295.5"), "4294967296"),
    ("double", pa.float64(), 1.5, "1.5"),
    ("float", pa.float64(), 3.14, "3.14"),
    ("float", pa.float32(), 3.14, "3.14"),
    ("double", pa.int64(), 2**53 + 1, "9.007199254740992e15"),
    ("double", pa.float64(), float("inf"), REJECTED),
    ("float", pa.float64(), 1e39, REJECTED),
    ("float(5,2)", pa.float32(), 1.239, "1.24"),
    ("datetime", pa.timestamp("us"), datetime(2020, 2, 20, 2, 20, 20), "2020-02-20 02:20:20"),
    ("datetime(3)", pa.timestamp("us"), datetime(2020, 2, 20, 2, 20, 20, 123500), "2020-02-20 02:20:20.124"),
    ("datetime(6)", pa.timestamp("s"), datetime(2020, 2, 20, 2, 20, 20), "2020-02-20 02:20:20.000000"),
    ("datetime", pa.timestamp("us"), datetime(1969, 12, 31, 23, 59, 59, 500000), "1970-01-01 00:00:00"),
    ("datetime(6)", pa.timestamp("us"), datetime(9999, 12, 31, 23, 59, 59, 999999), "9999-12-31 23:59:59.999999"),
    ("datetime", pa.timestamp("us"), datetime(9999, 12, 31, 23, 59, 59, 499999), "9999-12-31 23:59:59"),
    ("datetime", pa.timestamp("us"), datetime(9999, 12, 31, 23, 59, 59, 500000), REJECTED),
    ("datetime(2)", pa.timestamp("us"), datetime(1, 1, 1, 0, 0, 0, 4999), "0001-01-01 00:00:00.00"),
    ("datetime", pa.timestamp("ms", "Europe/Oslo"), datetime(2020, 2, 20, 2, 20, 20), "2020-02-20 02:20:20"),
    ("datetime", pa.timestamp("s"), 2**62, REJECTED),
    ("datetime", pa.date32(), date(2020, 2, 20), "2020-02-20 00:00:00"),
    ("timestamp", pa.timestamp("us"), datetime(2100, 1, 1), REJECTED),
    ("date", pa.date32(), date(2020, 2, 20), "2020-02-20"),
    ("date", pa.timestamp("us"), datetime(2020, 2, 20, 23, 59, 59, 999999), "2020-02-20"),
    ("time", pa.time64("us"), time(2, 20, 20, 500000), "02:20:21"),
    ("time(3)", pa.time32("s"), time(2, 20), "02:20:00.000"),
    ("time", pa.duration("us"), -timedelta(hours=100, seconds=1), "-100:00:01"),
    ("time", pa.int32(), 13005, "01:30:05"),
    ("year", pa.int16(), 2020, "2020"),
    ("enum('a','b')", pa.dictionary(pa.int8(), pa.string()), "b", "b"),
    ("varchar(5)", pa.string(), "é\\N", "é\\N"),
    ("varbinary(5)", pa.binary(), b"\xff", "ÿ"),
    ("varbinary(5)", pa.large_string(), "é", "Ã©"),
    ("binary(3)", pa.binary(2), b"\xff\x00", "ÿ\0\0"),
    ("varchar(2)", pa.int32(), 123, REJECTED),
    ("varchar(9)", pa.float64(), 5.0, "5"),
    ("varchar(9)", pa.null(), None, None),
    ("varchar(30)", pa.timestamp("us"), datetime(2020, 2, 20, 2, 20, 20, 500000), "2020-02-20 02:20:20.5"),
    ("varchar(9)", pa.struct([("a", pa.int8())]), {"a": 1}, REJECTED),
    ("bit(8)", pa.int16(), 255, "255"),
    ("bit(8)", pa.int16(), 256, REJECTED),
    ("vector(2)", pa.list_(pa.float32()), [0.1, 2.0], "[0.1,2]"),
]


@pytest.mark.parametrize(("definition", "kind", "value", "wanted"), TYPED)
def test_typed_values_have_the_same_text(definition: str, kind: pa.DataType, value: object, wanted: str | None) -> None:
    """Of whatever type the file has, with a NULL beside them."""
    assert text(definition, [value, None], kind) == [wanted, None]


def test_bits_of_a_typed_file_are_tagged_before() -> None:
    """Bytes and numbers then stay apart."""
    assert tagged(pa.array([b"\x01\x02", None])).to_pylist() == [b"x\x01\x02", None]
    assert tagged(pa.array([7, None])).to_pylist() == [b"n7", None]


NUMBERS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-", "+", "00"]),
    st.one_of(st.integers(0, 10**40), st.sampled_from([2**32 - 1, 2**64 - 1, 10**18 - 1])),
    st.one_of(st.just(""), st.from_regex(r"\.[0-9]{0,40}|\.[059]{1,30}", fullmatch=True)),
)


SIZES = [(5, 2), (12, 2), (38, 10), (65, 30), (65, 0), (20, 20)]


@pytest.mark.slow
@given(st.lists(NUMBERS, min_size=1, max_size=9), st.sampled_from(SIZES))
def test_decimals_are_rounded_half_away_from_zero(numbers: list[str], size: tuple[int, int]) -> None:
    """However many digits they have."""
    precision, scale = size

    def wanted(number: str) -> str | None:
        rounded = Decimal(number).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=200))
        return None if abs(rounded) >= 10 ** (precision - scale) else f"{rounded if rounded else abs(rounded):f}"

    assert text(f"decimal({precision},{scale})", [number.encode() for number in numbers]) == list(map(wanted, numbers))


ODD: list[Callable[[str], str]] = [" {}".format, "+{}".format, "{}.4".format, "0{}".format]


@given(st.lists(st.tuples(st.integers(-(2**63), 2**64 - 1), st.sampled_from([str, *ODD])), min_size=1, max_size=9))
def test_integers_are_taken_in_any_spelling(numbers: list[tuple[int, Callable[[str], str]]]) -> None:
    """And in no type that is too small."""
    given = [(number, spelt(str(abs(number))).encode()) for number, spelt in numbers]
    for definition, low, high in (
        ("int", -(2**31), 2**31 - 1),
        ("bigint", -(2**63), 2**63 - 1),
        ("bigint unsigned", 0, 2**64 - 1),
        ("tinyint unsigned", 0, 255),
    ):
        wanted = [str(abs(number)) if low <= abs(number) <= high else None for number, _ in given]
        assert text(definition, [value for _, value in given]) == wanted


@given(st.lists(st.datetimes(datetime(1, 1, 1), datetime(9998, 1, 1)), min_size=1, max_size=9), st.integers(0, 6))
def test_moments_have_one_text_from_text_and_from_parquet(moments: list[datetime], digits: int) -> None:
    """Rounded half up to the digits of the column."""
    unit = 10 ** (6 - digits)
    added = [(moment.microsecond + unit // 2) // unit * unit - moment.microsecond for moment in moments]
    rounded = [moment + timedelta(microseconds=more) for moment, more in zip(moments, added, strict=True)]
    wanted = [moment.isoformat(" ", "microseconds")[: 20 + digits if digits else 19] for moment in rounded]

    assert text(f"datetime({digits})", moments, pa.timestamp("us")) == wanted
    for separator in " T":
        assert text(f"datetime({digits})", [moment.isoformat(separator).encode() for moment in moments]) == wanted


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
def test_floats_have_one_text_from_text_and_from_parquet(numbers: list[float]) -> None:
    """The fewest digits that make the number of 32 bits."""
    texts = text("float", numbers, pa.float32())
    assert texts == text("float", numbers, pa.float64()) == text("float", [str(number).encode() for number in numbers])
    assert pa.array(texts).cast(pa.float32()).to_pylist() == numbers
    assert text("float", [str(number).encode() for number in texts]) == texts


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=9))
def test_bytes_are_kept_as_latin_1_and_text_only_where_it_is_utf_8(values: list[bytes]) -> None:
    """A text that is not is the only one rejected."""

    def utf8(value: bytes) -> str | None:
        return value.decode("utf-8", "replace") if value == value.decode("utf-8", "ignore").encode() else None

    assert text("varbinary(9)", values) == [value.decode("latin-1") for value in values]
    assert text("varchar(9)", values) == list(map(utf8, values))
    binary, longer = of("varbinary(9)"), of("blob")
    assert convert_text(binary, longer, tidb_text(binary, pa.array(values))).to_pylist() == [
        value.decode("latin-1") for value in values
    ]


DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**66), 2**66)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("aé😀\uffff\u2028", max_size=2), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.lists(st.tuples(DOCUMENTS, st.booleans()), min_size=1, max_size=9))
def test_the_short_way_prints_json_as_the_long_one(documents: list[tuple[object, bool]]) -> None:
    """Numbers and escapes that Python prints otherwise take the long one."""
    texts = [json.dumps(document, ensure_ascii=ascii) for document, ascii in documents]
    assert text("json", [document.encode() for document in texts]) == list(map(normal_json, texts))


def test_json_is_printed_as_tidb_prints_it() -> None:
    """Keys by their bytes, the last of equal ones; integers of 64 bits whole, other numbers as float64."""
    assert normal_json('{"é":1,"z":2,"z":3,"a":{}}') == '{"a": {}, "z": 3, "é": 1}'
    assert normal_json("[1.0,1e21,1e-7,0.000001,18446744073709551615,18446744073709551616,-0]") == (
        "[1, 1e+21, 1e-7, 0.000001, 18446744073709551615, 18446744073709552000, 0]"
    )
    assert normal_json(r'"\u0008\u000c\n\t\"\\\u2028<é"') == '"\\u0008\\u000c\\n\\t\\"\\\\\\u2028<é"'
    assert normal_json("NaN") is None and normal_json("[1,]") is None


RECAST: list[tuple[str, str, str, str | None]] = [
    ("int", "tinyint", "128", REJECTED),
    ("int", "varchar(3)", "128", "128"),
    ("int", "bit(8)", "255", "255"),
    ("enum('x','y')", "int", "y", "2"),
    ("enum('x','y')", "varchar(1)", "y", "y"),
    ("enum('x','y')", "int", "", "0"),
    ("set('x','y')", "int", "x,y", "3"),
    ("set('x','y')", "decimal(5,1)", "", "0.0"),
    ("set('x','y')", "set('y','x')", "x,y", "y,x"),
    ("varbinary(3)", "varchar(3)", "Ã©", "é"),
    ("varbinary(3)", "varchar(3)", "ÿ", REJECTED),
    ("varbinary(3)", "int", "12", "12"),
    ("double", "varchar(25)", "1.5e20", "150000000000000000000"),
    ("datetime(3)", "date", "2020-02-20 02:20:20.123", "2020-02-20"),
    ("decimal(10,2)", "date", "20200220.00", "2020-02-20"),
    ("decimal(20,3)", "datetime(3)", "20200220022020.123", "2020-02-20 02:20:20.123"),
    ("decimal(5,2)", "datetime", "0.00", REJECTED),
    ("decimal(5,2)", "date", "-1.50", REJECTED),
    ("double", "date", "20200220", "2020-02-20"),
    ("double", "datetime", "2.0200220022020e13", "2020-02-20 02:20:20"),
    ("double", "date", "0.5", REJECTED),
    ("bit(8)", "int", "255", "255"),
    ("varchar(5)", "binary(3)", "é", "Ã©\0"),
]


@pytest.mark.parametrize(("source", "target", "value", "wanted"), RECAST)
def test_modify_column_turns_a_value_as_tidb_does(source: str, target: str, value: str, wanted: str | None) -> None:
    """Texts come as strings or as the cells of an image."""
    assert convertible(of(source), of(target))
    for kind in (pa.string(), pa.binary()):
        texts = pa.array([value, None]).cast(kind)
        assert convert_text(of(source), of(target), texts).to_pylist() == [wanted, None]
    assert convert_text(of(source), of(source), pa.array([value.encode()])).to_pylist() == [value]


def test_a_time_becomes_no_moment() -> None:
    """Nobody knows the day."""
    assert not convertible(of("time"), of("date")) and convertible(of("datetime"), of("int"))
    assert convert_text(of("time"), of("datetime"), pa.array(["-838:59:59"])).to_pylist() == [None]


def test_people_are_told_what_a_column_takes() -> None:
    """Of each type."""
    assert accepted_values(of("tinyint")) == "-128 to 127"
    assert accepted_values(of("decimal(5,2)")) == "at most 3 digits before the point"
    assert accepted_values(of("varchar(3)")) == "at most 3 characters of valid UTF-8"
    assert accepted_values(of("blob")) == "at most 65535 bytes" and accepted_values(of("enum('a')")) == "'a'"
