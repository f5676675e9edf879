"""SQL expressions of event filters mean what they mean to TiDB."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.upstreams import grouped

from simulator.errors import ChangefeedError
from simulator.ticdc.filters.row_expressions import check_expression, is_ignored
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import visible_columns

SQL = """create table test.t (
    id int primary key, small tinyint, big bigint unsigned, price decimal(10, 2), ratio double, single float,
    name varchar(50), folded varchar(50) collate utf8mb4_general_ci, raw varbinary(20), kind enum('a', 'b', 'c'),
    flags set('x', 'y', 'z'), bits bit(8), born year, day date, at datetime(3), clock time, doc json,
    twice int as (small * 2) virtual, label varchar(60) as (concat(name, '-', kind)) virtual)"""

ROWS: list[dict[str, str | None]] = [
    {
        **{"id": "1", "small": "10", "big": "18446744073709551615", "price": "1.50", "ratio": "0.5", "single": "1.1"},
        **{"name": "Ann", "folded": "Ann", "raw": "\x00\xe9", "kind": "b", "flags": "x,z", "bits": "1", "born": "2020"},
        **{"day": "2020-02-29", "at": "2020-02-29 12:30:15.500", "clock": "10:11:12"},
        "doc": '{"a": 1, "b": {"c d": "x"}, "l": [1, 2], "n": null}',
    },
    {
        **{"id": "2", "small": "-3", "big": "7", "price": "-2.00", "ratio": "1e10", "single": "0.25"},
        **{"name": "12abc", "folded": "éCOLE  ", "raw": "", "kind": "a", "flags": "", "bits": "255", "born": "1999"},
        **{"day": "0000-00-00", "at": "1999-12-31 23:59:59.000", "clock": "-01:00:00", "doc": '"text"'},
    },
    {"id": "3"},
    {
        **{"id": "4", "small": "0", "big": "0", "price": "0.00", "ratio": "0", "single": "0"},
        **{"name": "a_b%c  ", "folded": "a", "raw": "A", "kind": "c", "flags": "y", "bits": "0", "born": "0000"},
        **{"day": "2021-01-01", "at": "2021-01-01 00:00:00.000", "clock": "00:00:00", "doc": "[1, 2]"},
    },
]

EXPRESSIONS = grouped(r"""
    id = 1 | id | id = '1' | small > 0 | small not between -5 and 0 | big = 18446744073709551615 | price = 1.5 => 1
    ratio = 0.5 | name = 'Ann' | folded = 'ANN' | name = 'ANN' collate utf8mb4_general_ci | kind = 'b' => 1
    flags = 'x,z' | flags = 5 | bits + 0 | born = 2020 | day = '2020-02-29' | at = '2020-02-29 12:30:15.5' => 1
    day + interval 1 day = '2020-03-01' | clock = '10:11:12' | doc->'$.a' = 1 | twice = 20 | label = 'Ann-b' => 1
    name like 'A%' | name like folded | if(small > 0, 1, 0) | greatest(small, 5) = 10 | upper(name) = 'ANN' => 1
    instr(folded, 'NN') = 2 | binary name = 'Ann' | T.ID = 1 | `id` = 1 -- trailing => 1
    id - 1 | price < 0 | single = 0.25 | name = 12 | kind | bits = 255 | day = '0000-00-00' | clock < 0 => 2
    doc = 'text' | name regexp '^[0-9]+' | cast(name as signed) = 12 => 2
    small | '1' | 1.0 | small not in (10, null) | single = 1.1 | name = 'ann' => none
    folded = 'ANN' collate utf8mb4_bin => none
    1 | doc->'$.missing' is null | 'abc' = 0 => 1234
    small is not null and not small | not small | raw = 'A' | name like 'a|_b%' escape '|' => 4
    small is true | small = 10 xor id = 2 | id in ('1', 2) => 12
    small is not true => 34
    small is unknown => 3
    small not in (10) | name not like 'A%' | name not rlike 'n+' => 24
    big > -1 => 124
    kind > 1 | at >= '2020-02-29' => 14
""")
IGNORED = {expression: "" if ids == "none" else ids for expression, ids in EXPRESSIONS}
IGNORED |= {
    "day + interval '1:2' minute_second = '2020-02-29 00:01:02'": "1",
    "name like 'a\\_b\\%c%'": "4",
    "case when small > 0 then 1 when small < 0 then 2 else 3 end = 3": "34",
    "-1 >> 60 = 15 and 1 << 64 = 0 and ~0 = 18446744073709551615": "1234",
}
"""Expression → ids of the rows that it ignores: every type of column, and what is peculiar to a filter. Functions and
operators are held by what TiDB answered (tests/recordings)."""


TABLE = create_table(SQL)
TEXTS = {
    column.name: pa.array([row.get(column.name) for row in ROWS], pa.string()) for column in visible_columns(TABLE)
}


def ids(expression: str, texts: dict[str, pa.Array]) -> str:
    """The ids of the rows that an expression ignores."""
    found = is_ignored(expression, TABLE, texts)
    assert found.null_count == 0
    return "".join(str(number) for number, ignored in enumerate(found.to_pylist(), 1) if ignored)


@pytest.mark.parametrize("expression", IGNORED)
def test_an_expression_ignores_the_rows_that_tidb_would_ignore(expression: str) -> None:
    """It is taken when the changefeed is made, without a row."""
    check_expression(expression, TABLE)
    assert ids(expression, TEXTS) == IGNORED[expression]


def test_cells_of_row_images_are_told_by_their_bytes() -> None:
    """Strings and bytes alike; what is no UTF-8 is a text of its own."""
    cells = {name: text.cast(pa.binary()) for name, text in TEXTS.items()}
    cells["name"] = pa.array([b"Ann", b"\xc3", None, b"Ann"], pa.binary())

    assert ids("name = 'Ann'", cells) == "14"
    assert ids("name is null", cells) == "3"
    assert ids("id = 1", {name: text.slice(0, 0) for name, text in TEXTS.items()}) == ""


INVALID, MISSING = "CDC:ErrInvalidFilterExpression", "CDC:ErrExpressionColumnNotFound"


@pytest.mark.parametrize(
    ("expression", "code", "words"),
    [
        ("age >= 20 and and id", INVALID, "There is a syntax error in: 'age >= 20 and and id'"),
        ("id > > 100", INVALID, "line 1, column 6"),
        ("nosuch(id) > 20", INVALID, "FUNCTION nosuch does not exist"),
        ("if(id, 1)", INVALID, "Incorrect parameter count"),
        ("id in (select 1)", INVALID, "a subquery"),
        ("max(id) = 1", INVALID, "an aggregate function"),
        ("(id, small) = (1, 2)", INVALID, "a row of values"),
        ("id = 1; id = 2", INVALID, "';'"),
        ("", INVALID, "the end of the statement"),
        ("(" * 5000 + "id" + ")" * 5000, INVALID, "nested too deeply"),
        ("id = 1 and mother = 'a'", MISSING, "Cannot find column 'mother' from table 'test.t' in: id = 1"),
        ("s.id = 1", MISSING, "Cannot find column 's.id'"),
        ("tidb_parse_tso(id) = 3", "", "TIDB_PARSE_TSO cannot be computed outside TiDB"),
        ("@a = 1", "", "a variable cannot be computed"),
    ],
)
def test_an_expression_that_cannot_be_taken_is_refused(expression: str, code: str, words: str) -> None:
    """As TiCDC words it or, where only TiDB could compute it, by the name of what it is."""
    with pytest.raises(ChangefeedError) as raised:
        check_expression(expression, TABLE)

    assert raised.value.code == code
    assert words in raised.value.text
