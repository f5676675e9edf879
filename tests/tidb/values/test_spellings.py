"""A date, datetime or time is read in one way from a file's cell, a DEFAULT and an expression.

What is expected was read in TiDB v8.5: pkg/types/time.go, parseDatetime and ParseDuration.
"""

from __future__ import annotations

from itertools import product
from string import punctuation

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import grouped

from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.ddl.defaults import value_text
from simulator.tidb.expressions.conversions import parse_duration, parse_moment
from simulator.tidb.expressions.expression import Context
from simulator.tidb.model.types import ColumnType
from simulator.tidb.syntax.definitions import ColumnDefault
from simulator.tidb.values import durations

REFUSED = None
MOMENTS_SPELT = grouped("""
    2020-01-02 03:04:05 | 2020-1-2 3:4:5 | 2020.01.02 03.04.05 | 2020^01@02 03*04!05 => 2020-01-02 03:04:05.000
    2020-01-02-03-04-05 | 2020-01-02 T03:04:05 | 2020-01-02 03:04:05. | 2001020304.05 => 2020-01-02 03:04:05.000
    20200102.030405 | 2020-01-02 03:04-05 | 2020-01-02 03:04:05 06:07 => 2020-01-02 03:04:05.000
    2020/01/02 03:04 | 20010203040 | 200102034 | 20200102.0304 => 2020-01-02 03:04:00.000
    2020.01.02 | 2020--01--02 | 20-01-02 | 20200102 | 200102 | 20012 => 2020-01-02 00:00:00.000
    2020-01-02T03:04:05.5 | 2020-01-02 03:04:05..5 | 2020-01-02 03:04:05.5x => 2020-01-02 03:04:05.500
    2020-01-02t03:04:05 | 2020-01 | 10000-01-01 | 2020-10-00 10:00:00.9999 | 2020-02-30 | 2021-02-29 | 1900-02-29 => ✗
    2020-13-01 | 2020-01-02 24:00:00 | 2020-01-02 23:60:00 | 2020-12-31 23:59:60 | 9999-12-31 23:59:59.9995 => ✗
    2001 | 2020-01-02 03:04:05+08:00 | 2020-01-02 03:04:05-0800 | 2020-01-02 03:04:05Z | 20200102-05 => ✗
    2020-01-02 03-0400 | 2020-01-02 03:04:05x | 2020-01-02x | 2020-01-02 03: | x | -2020-01-02 | ２０２０-01-02 | .5 => ✗
    2020-01-02 03 | 2001023 | 20200102.03 | 2020-01-02-03 => 2020-01-02 03:00:00.000
    70-1-2 => 1970-01-02 00:00:00.000
    69-1-2 => 2069-01-02 00:00:00.000
    123-1-2 => 0123-01-02 00:00:00.000
    00-00-00 | 0-0-0 0:0:0 => 0000-00-00 00:00:00.000
    00-00-00 00:00:00.1 => 2000-00-00 00:00:00.100
    000000 => 2000-00-00 00:00:00.000
    0000-00-00 10:00:00 => 0000-00-00 10:00:00.000
    2020-00-31 => 2020-00-31 00:00:00.000
    2020-10-00 10:00:00.4567 => 2020-10-00 10:00:00.457
    0000-02-29 => 0000-02-29 00:00:00.000
    0000-12-31 23:59:59.9999 => 0001-01-01 00:00:00.000
    2020-12-31 23:59:59.9995 => 2021-01-01 00:00:00.000
    2020-01-02 03:04:05.12349999999 => 2020-01-02 03:04:05.123
    2020-01-02 03.5 => 2020-01-02 03:05:00.000
    20200102030405.678 => 2020-01-02 03:04:05.678
    990102030405 => 1999-01-02 03:04:05.000
""")
MOMENTS: list[tuple[str, str | None]] = [
    *((text, REFUSED if wanted == "✗" else wanted) for text, wanted in MOMENTS_SPELT),
    ("  2020-01-02  ", "2020-01-02 00:00:00.000"),
    ("\t2020-01-02 03:04:05\n", "2020-01-02 03:04:05.000"),
    ("", REFUSED),
    ("9" * 5000, REFUSED),
    ("2020-01-" + "9" * 5000, REFUSED),
]

TIMES_SPELT = grouped("""
    10:11:12 | 10 : 11 : 12 | 101112 | 10:11:12. => 10:11:12.00
    10:11 => 10:11:00.00
    10:11.5 => 10:11:00.50
    1:2:3 => 01:02:03.00
    1 10:11:12 => 34:11:12.00
    1 10 => 34:00:00.00
    34  22:59:59 => 838:59:59.00
    -1 01:00:00 => -25:00:00.00
    - 10:11:12 => -10:11:12.00
    1112 => 00:11:12.00
    12.345 => 00:00:12.35
    -12.345 => -00:00:12.35
    -00:00:00 | -00:00:00.004 => 00:00:00.00
    23:59:59.995 | 2020-01-02T23:59:59.999 => 24:00:00.00
    10:60:00 | 10:00:60 | 1060 | 10:11: | 10:11:12x | - | x | 2020-01-02 | 20200102x | 2020-02-30 03:04:05 => ✗
    2020-01-02 03:04:05.678 => 03:04:05.68
    20200102030405 | 200102030405 => 03:04:05.00
""")
TIMES: list[tuple[str, str | None]] = [
    *((text, REFUSED if wanted == "✗" else wanted) for text, wanted in TIMES_SPELT),
    ("", REFUSED),
    (" 10:11:12 ", "10:11:12.00"),
    ("9" * 5000, REFUSED),
]

TOO_LONG = [
    ("839:00:00", "838:59:59"),
    ("-839:00:00", "-838:59:59"),
    ("838:59:59.5", "838:59:59"),
    ("35 00:00:00", "838:59:59"),
    ("8390000", "838:59:59"),
]

CUT = {"20200102x": "838:59:59", "10:11:12x": "10:11:12", "2020-01-02": "00:20:20", "10:11:": "00:00:10"}
"""What an expression takes of a text that an INSERT refuses."""


def in_file(type: ColumnType, texts: list[str]) -> list[str | None]:
    """Of all cells at once, and of each alone, which takes other ways through the code."""
    found: list[str | None] = tidb_text(type, pa.array(texts)).to_pylist()
    assert found == [tidb_text(type, pa.array([text])).to_pylist()[0] for text in texts]
    return found


def in_default(type: ColumnType, texts: list[str], kind: str = "string") -> list[str | None]:
    return [value_text(ColumnDefault(kind, text), type) for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("digits", [0, 3, 6])
def test_a_moment_is_read_alike_from_a_file_and_a_default(digits: int) -> None:
    texts = [text for text, _ in MOMENTS]
    type = ColumnType("datetime", decimal=digits)
    assert in_file(type, texts) == in_default(type, texts)
    if digits == 3:
        assert in_file(type, texts) == [wanted for _, wanted in MOMENTS]


@pytest.mark.parametrize("name", ["date", "timestamp"])
def test_a_date_and_a_timestamp_are_read_alike_too(name: str) -> None:
    texts = [text for text, _ in MOMENTS] + ["2039-01-01", "1960-01-01", "1970-01-02", "2020-00-01", "0000-00-00"]
    assert in_file(ColumnType(name), texts) == in_default(ColumnType(name), texts)


def test_a_timestamp_has_no_zero_but_that_of_all_parts() -> None:
    texts = ["0000-00-00 00:00:00", "0000-00-00 10:00:00", "2020-00-01", "2020-01-00"]
    assert in_file(ColumnType("timestamp"), texts) == ["0000-00-00 00:00:00", None, None, None]


def test_a_moment_is_read_alike_from_a_file_and_in_an_expression() -> None:
    texts = [text for text, _ in MOMENTS]
    wanted = in_file(ColumnType("datetime", decimal=6), texts)
    assert [parse_moment(Context(), text) for text in texts] == wanted


@pytest.mark.parametrize("digits", [0, 2, 6])
def test_a_time_is_read_alike_from_a_file_and_a_default(digits: int) -> None:
    texts = [text for text, _ in TIMES + TOO_LONG]
    type = ColumnType("time", decimal=digits)
    assert in_file(type, texts) == in_default(type, texts)
    if digits == 2:
        assert in_file(type, texts) == [wanted for _, wanted in TIMES] + [REFUSED] * len(TOO_LONG)


def test_a_time_is_read_alike_in_an_expression_where_a_longer_one_is_cut() -> None:
    """An expression warns of what an INSERT refuses (TiDB: pkg/expression/builtin_cast.go)."""
    texts = [text for text, _ in TIMES]
    wanted = [
        f"{CUT[text]}.000000" if text in CUT else kept
        for text, kept in zip(texts, in_file(ColumnType("time", decimal=6), texts))
    ]
    wanted += [f"{longest}.000000" for _, longest in TOO_LONG]
    texts += [text for text, _ in TOO_LONG]
    micros = [None if text is None else durations.duration(text, 6) for text in wanted]
    assert [parse_duration(Context(), text) for text in texts] == micros


def test_a_number_is_a_date_with_zeros_before_it() -> None:
    numbers = {
        "0": "0000-00-00",
        "101": "2000-01-01",
        "700101": "1970-01-01",
        "691232": None,
        "1000101": "0100-01-01",
        "20200102": "2020-01-02",
        "20200102.9": "2020-01-02",
        "101000000": "2000-01-01",
        "5": "2000-00-05",
        "20200102235959.9": "2020-01-03",
        "-101": None,
        "123456789012345": None,
    }
    assert in_default(ColumnType("date"), list(numbers), "number") == list(numbers.values())


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.text(alphabet="0123456789" + punctuation + " TZx\té", max_size=30), max_size=20))
def test_no_text_is_read_in_two_ways(texts: list[str]) -> None:
    for kind, digits in product(("datetime", "time"), (0, 6)):
        type = ColumnType(kind, decimal=digits)
        assert in_file(type, texts) == in_default(type, texts)
