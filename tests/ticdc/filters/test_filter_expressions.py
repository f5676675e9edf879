"""SQL expressions of event filters mean what they mean to TiDB."""

from __future__ import annotations

import pyarrow as pa
import pytest

from simulator.errors import ChangefeedError
from simulator.ticdc.filters.row_expressions import check_expression, is_ignored
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import visible_columns

SQL = """create table test.t (
    id int primary key, small tinyint, big bigint unsigned, price decimal(10, 2), ratio double, single float,
    name varchar(50), folded varchar(50) collate utf8mb4_general_ci, raw varbinary(20), kind enum('a', 'b', 'c'),
    flags set('x', 'y', 'z'), bits bit(8), born year, day date, at datetime(3), clock time, doc json,
    twice int as (small * 2) virtual, label varchar(60) as (concat(name, '-', kind)) virtual)"""

ROWS: tuple[tuple[str | None, ...], ...] = (
    (
        "1",
        "10",
        "18446744073709551615",
        "1.50",
        "0.5",
        "1.1",
        "Ann",
        "Ann",
        "\x00\xe9",
        "b",
        "x,z",
        "1",
        "2020",
        "2020-02-29",
        "2020-02-29 12:30:15.500",
        "10:11:12",
        '{"a": 1, "b": {"c d": "x"}, "l": [1, 2], "n": null}',
    ),
    (
        "2",
        "-3",
        "7",
        "-2.00",
        "1e10",
        "0.25",
        "12abc",
        "éCOLE  ",
        "",
        "a",
        "",
        "255",
        "1999",
        "0000-00-00",
        "1999-12-31 23:59:59.000",
        "-01:00:00",
        '"text"',
    ),
    ("3", None, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None),
    (
        "4",
        "0",
        "0",
        "0.00",
        "0",
        "0",
        "a_b%c  ",
        "a",
        "A",
        "c",
        "y",
        "0",
        "0000",
        "2021-01-01",
        "2021-01-01 00:00:00.000",
        "00:00:00",
        "[1, 2]",
    ),
)

IGNORED: dict[str, str] = {
    "id = 1": "1",
    "id": "1",
    "id - 1": "2",
    "id = '1'": "1",
    "id = 1.0": "1",
    "small": "",
    "'1'": "",
    "1.0": "",
    "1": "1234",
    "true": "1234",
    "null": "",
    "small is null": "3",
    "small is not null and not small": "4",
    "not small": "4",
    "!small": "4",
    "small > 0": "1",
    "small <=> null": "3",
    "small = null": "",
    "small is true": "12",
    "small is not true": "34",
    "small is unknown": "3",
    "small in (10, null)": "1",
    "small not in (10, null)": "",
    "small not in (10)": "24",
    "small between -5 and 0": "24",
    "small not between -5 and 0": "1",
    "big = 18446744073709551615": "1",
    "big > 9223372036854775807": "1",
    "big > -1": "124",
    "price = 1.5": "1",
    "price = '1.50'": "1",
    "price < 0": "2",
    "price + 1 = 2.5": "1",
    "ratio = 0.5": "1",
    "ratio > 1e9": "2",
    "single = 1.1": "",
    "single = 0.25": "2",
    "name = 'ann'": "",
    "name = 'Ann'": "1",
    "name = 'Ann   '": "1",
    "name = 12": "2",
    "name + 0 = 12": "2",
    "folded = 'ANN'": "1",
    "folded = 'Ecole'": "2",
    "folded = 'ANN' collate utf8mb4_bin": "",
    "name = 'ANN' collate utf8mb4_general_ci": "1",
    "raw = 'A'": "4",
    "raw = 'A '": "",
    "raw = x'00e9'": "1",
    "length(raw) = 2": "1",
    "kind = 'b'": "1",
    "kind = 2": "1",
    "kind > 1": "14",
    "kind": "2",
    "kind in ('a', 'c')": "24",
    "flags = 'x,z'": "1",
    "flags = 5": "1",
    "flags & 4": "",
    "(flags & 4) = 4": "1",
    "find_in_set('y', flags)": "4",
    "bits = 255": "2",
    "bits": "",
    "bits + 0": "1",
    "born = 2020": "1",
    "born = 20": "1",
    "born < 99": "4",
    "day = '2020-02-29'": "1",
    "day > '2020-01-01'": "14",
    "day = 20200229": "1",
    "day = '0000-00-00'": "2",
    "day < '2020-1-1'": "2",
    "at = '2020-02-29 12:30:15.5'": "1",
    "at >= '2020-02-29'": "14",
    "at between '1999-01-01' and '2000-01-01'": "2",
    "date(at) = day": "14",
    "year(at) = 2020 and month(at) = 2 and day(at) = 29": "1",
    "hour(at) = 12 and minute(at) = 30 and second(at) = 15 and microsecond(at) = 500000": "1",
    "year(day) = 0": "2",
    "day + interval 1 day = '2020-03-01'": "1",
    "day + interval '1:2' minute_second = '2020-02-29 00:01:02'": "1",
    "week(day) = 8": "1",
    "day - interval 1 month = '2020-01-29'": "1",
    "date_add(at, interval 30 minute) = '2020-02-29 13:00:15.500'": "1",
    "datediff('2020-03-02', day) = 2": "1",
    "timestampdiff(month, day, '2020-05-28') = 2": "1",
    "extract(year from day) = 2021": "4",
    "dayofweek(day) = 7 and weekday(day) = 5": "1",
    "to_days(day) = 737849": "1",
    "clock = '10:11:12'": "1",
    "clock < 0": "2",
    "clock < '00:00:01'": "24",
    "clock = 101112": "1",
    "hour(clock) = 1": "2",
    "doc->'$.a' = 1": "1",
    "doc->>'$.b.\"c d\"' = 'x'": "1",
    "doc->'$.b.\"c d\"' = 'x'": "1",
    "json_extract(doc, '$.l[1]') > 1": "1",
    "json_length(doc->'$**.a') = 1": "1",
    "doc->'$.missing' is null": "1234",
    "doc->'$.n' is null": "234",
    "json_length(doc) = 2": "4",
    "doc = 'text'": "2",
    "twice = 20": "1",
    "twice + id = -4": "2",
    "label = 'Ann-b'": "1",
    "1 / 0 is null": "1234",
    "small / 4 = 2.5": "1",
    "small div 3 = 3": "1",
    "small % 4 = 2": "1",
    "-3 % 2 = -1": "1234",
    "mod(small, 4) = -3": "2",
    "small * 1.5 = 15.0": "1",
    "~0 = 18446744073709551615": "1234",
    "1 << 3 = 8": "1234",
    "6 ^ 3 = 5": "1234",
    "-1 >> 60 = 15": "1234",
    "1 << 64 = 0": "1234",
    "small = 10 xor id = 2": "12",
    "small and null": "",
    "(small and null) is null": "123",
    "(small or null) is null": "34",
    "small is null or id = 1": "13",
    "name like 'A%'": "1",
    "name like 'a\\_b\\%c%'": "4",
    "name like 'a|_b%' escape '|'": "4",
    "name like '_nn'": "1",
    "name not like 'A%'": "24",
    "folded like 'ann'": "1",
    "name regexp '^[0-9]+'": "2",
    "name not rlike 'n+'": "24",
    "if(small > 0, 1, 0)": "1",
    "ifnull(small, 1)": "3",
    "coalesce(small, id - 2, 9)": "3",
    "nullif(small, 10) is null": "13",
    "case when small > 0 then 1 when small < 0 then 2 else 3 end = 3": "34",
    "case small when 10 then 'x' else 'y' end = 'x'": "1",
    "case small when 10 then 1 end": "1",
    "greatest(small, 5) = 10": "1",
    "least(small, 5) = 5": "1",
    "abs(small) = 3": "2",
    "ceil(price) = 2 and floor(price) = 1": "1",
    "round(price) = 2": "1",
    "concat(name, id) = 'Ann1'": "1",
    "char_length(name) = 3": "1",
    "upper(name) = 'ANN'": "1",
    "substring(name, 2, 2) = 'nn'": "1",
    "substr(name, -1) = 'c'": "2",
    "left(name, 1) = 'A' and right(name, 2) = 'nn'": "1",
    "trim(name) = name": "124",
    "trim(leading 'A' from name) = 'nn'": "1",
    "replace(name, 'n', 'm') = 'Amm'": "1",
    "locate('n', name) = 2": "1",
    "instr(folded, 'NN')": "",
    "instr(folded, 'NN') = 2": "1",
    "strcmp(name, 'Ann') = 0": "1",
    "field(kind, 'c', 'b') = 2": "1",
    "hex(raw) = '00E9'": "1",
    "md5(name) = md5('Ann')": "1",
    "cast(name as signed) = 12": "2",
    "cast(price as char) = '1.50'": "1",
    "cast(price as signed) = 2": "1",
    "cast('2020-02-29' as date) = day": "1",
    "convert(small, char) = '10'": "1",
    "binary name = 'Ann'": "1",
    "binary name = 'Ann '": "",
    "T.ID = 1": "1",
    "`id` = 1 -- trailing": "1",
    "concat(small, '') = '10'": "1",
    "concat(at, '') = '2020-02-29 12:30:15.500'": "1",
    "1 = '1abc'": "1234",
    "'abc' = 0": "1234",
    "'a' < 'b' and 'B' < 'a'": "1234",
    "name between 'A' and 'B'": "1",
    "id in ('1', 2)": "12",
    "interval 1 day + day = '2020-03-01'": "1",
}
"""Expression → ids of the rows that it ignores."""


TABLE = create_table(SQL)
TEXTS = {
    column.name: pa.array([row[place] for row in ROWS], pa.string())
    for place, column in enumerate(visible_columns(TABLE))
}


def ids(expression: str, texts: dict[str, pa.Array]) -> str:
    """The ids of the rows that an expression ignores."""
    found = is_ignored(expression, TABLE, texts)
    assert found.null_count == 0
    return "".join(str(number) for number, ignored in enumerate(found.to_pylist(), 1) if ignored)


@pytest.mark.parametrize("expression", IGNORED)
def test_an_expression_ignores_the_rows_that_tidb_would_ignore(expression: str) -> None:
    assert ids(expression, TEXTS) == IGNORED[expression]


def test_cells_of_row_images_are_told_by_their_bytes() -> None:
    """Strings and bytes alike; what is no UTF-8 is a text of its own."""
    cells = {name: text.cast(pa.binary()) for name, text in TEXTS.items()}
    cells["name"] = pa.array([b"Ann", b"\xc3", None, b"Ann"], pa.binary())

    assert ids("name = 'Ann'", cells) == "14"
    assert ids("name is null", cells) == "3"
    assert ids("id = 1", {name: text.slice(0, 0) for name, text in TEXTS.items()}) == ""


@pytest.mark.parametrize(
    ("expression", "code", "words"),
    [
        (
            "age >= 20 and and id",
            "CDC:ErrInvalidFilterExpression",
            "There is a syntax error in: 'age >= 20 and and id'",
        ),
        ("id > > 100", "CDC:ErrInvalidFilterExpression", "line 1, column 6"),
        ("error(id) == null", "CDC:ErrInvalidFilterExpression", "There is a syntax error in"),
        ("nosuch(id) > 20", "CDC:ErrInvalidFilterExpression", "FUNCTION nosuch does not exist"),
        ("if(id, 1)", "CDC:ErrInvalidFilterExpression", "Incorrect parameter count"),
        ("id in (select 1)", "CDC:ErrInvalidFilterExpression", "a subquery"),
        ("max(id) = 1", "CDC:ErrInvalidFilterExpression", "an aggregate function"),
        ("(id, small) = (1, 2)", "CDC:ErrInvalidFilterExpression", "a row of values"),
        ("id = 1; id = 2", "CDC:ErrInvalidFilterExpression", "';'"),
        ("", "CDC:ErrInvalidFilterExpression", "the end of the statement"),
        ("(" * 5000 + "id" + ")" * 5000, "CDC:ErrInvalidFilterExpression", "nested too deeply"),
        (
            "id = 1 and mother = 'a'",
            "CDC:ErrExpressionColumnNotFound",
            "Cannot find column 'mother' from table 'test.t' in: id = 1 and mother = 'a'",
        ),
        ("s.id = 1", "CDC:ErrExpressionColumnNotFound", "Cannot find column 's.id'"),
        ("vitess_hash(id) = 3", "", "VITESS_HASH cannot be computed outside TiDB"),
        ("@a = 1", "", "a variable cannot be computed"),
        ("name like folded", "", "a pattern of LIKE that is no literal"),
    ],
)
def test_an_expression_that_cannot_be_taken_is_refused(expression: str, code: str, words: str) -> None:
    """As TiCDC words it or, where TiDB could compute it and DuckDB cannot, by the name of what it is."""
    with pytest.raises(ChangefeedError) as raised:
        check_expression(expression, TABLE)

    assert raised.value.code == code
    assert words in raised.value.text


@pytest.mark.parametrize("expression", [*IGNORED, "name", "`id`", "t.id", "twice > 1"])
def test_an_expression_that_tidb_takes_is_taken(expression: str) -> None:
    """Without a row."""
    check_expression(expression, TABLE)
