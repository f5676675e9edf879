"""Expressions of INSERT, UPDATE and DELETE over the rows of an upstream."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import SqlError
from simulator.releases import V8_5
from simulator.tidb.datums.kinds import Datum, datum_list
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.expressions.trees import parse_expression
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.sql_engine.changes.insert_rows import evaluate_rows
from simulator.tidb.sql_engine.queries.evaluate import QueryColumn, RowSource, evaluate
from simulator.tidb.sql_engine.queries.match_rows import match_rows
from simulator.tidb.sql_engine.storage.state import SqlSession, StoredRows, Upstream
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.dml import DefaultValue
from simulator.tidb.syntax.queries import Limit, OrderItem, TableSource

NOW = 1_600_000_000_123
"""2020-09-13 12:26:40.123 UTC."""

SEVERAL = create_table("""CREATE TABLE d.t (
    id BIGINT PRIMARY KEY, s VARCHAR(20), b VARBINARY(20), d DECIMAL(10,2), e ENUM('x','1'), w DATETIME(3), bits BIT(8),
    v INT GENERATED ALWAYS AS (id + 1) VIRTUAL, ci VARCHAR(9) COLLATE utf8mb4_general_ci, ts TIMESTAMP, y YEAR,
    f DOUBLE, st SET('a','b'), n INT NOT NULL DEFAULT 7)""")


def upstream_of(
    *tables: tuple[Table, Sequence[Sequence[str | None]]], session: SqlSession = SqlSession("d")
) -> Upstream:
    """Return an upstream with these rows, each with the texts of the visible columns."""
    stored = {}
    for table, rows in tables:
        columns = visible_columns(table)
        cells = {
            column.name: pa.array([row[place] for row in rows], pa.string()).cast(pa.binary())
            for place, column in enumerate(columns)
        }
        ids = pa.array([int(row[0] or 0) for row in rows], pa.int64())
        stored[table.schema.lower(), table.name.lower()] = StoredRows(table, pa.table(cells), ids)
    return Upstream(V8_5, build_catalog([table for table, _ in tables]), stored, session=session)


ROWS = (
    (
        "1",
        "a",
        "\x00ÿ",
        "1.50",
        "x",
        "2020-01-02 03:04:05.600",
        "5",
        "Äb",
        "2020-01-01 00:00:00",
        "1999",
        "1.5",
        "a",
        "1",
    ),
    ("2", "B ", None, "-2.00", "1", None, "255", "ab", "2020-06-01 00:00:00", "2020", "1e20", "a,b", "2"),
    ("3", None, "x", None, None, "0000-00-00 00:00:00.000", "0", None, "2020-01-01 00:00:00", None, None, "", "3"),
)
UPSTREAM = upstream_of((SEVERAL, ROWS))
COLUMNS = {column.name: column for column in SEVERAL.columns}


def places(
    where: str, order: Sequence[str] = (), limit: Limit | None = None, upstream: Upstream = UPSTREAM
) -> list[int]:
    items = [OrderItem(parse_expression(item.removesuffix(" DESC")), item.endswith(" DESC")) for item in order]
    found = match_rows(
        TableSource(TableName("", "t")), parse_expression(where) if where else None, items, limit, upstream, NOW, {}, {}
    )
    counted: list[int] = found.tables[0].places.to_pylist()
    return counted


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("", [0, 1, 2]),
        ("id = 2", [1]),
        ("t.id = '2'", [1]),
        ("d.t.id = 2.0", [1]),
        ("id = '2x'", [1]),
        ("s = 'b'", []),
        ("s = 'B'", [1]),
        ("s IS NULL OR id < 2", [0, 2]),
        ("ci = 'AB'", [0, 1]),
        ("ci LIKE 'a%'", [0, 1]),
        ("b = x'00ff'", [0]),
        ("e = 2", [1]),
        ("e = '1'", [1]),
        ("bits = b'101'", [0]),
        ("bits & 1", [0, 1]),
        ("v > 2", [1, 2]),
        ("ts > '2020-03-01'", [1]),
        ("w = '2020-01-02 03:04:05.6'", [0]),
        ("y = 99", [0]),
        ("st = 3", [1]),
        ("f > 1e19", [1]),
        ("(id, d) = (1, 1.5)", [0]),
        ("(id, d) > (1, 1.4)", [0, 1, 2]),
        ("(id, e) IN ((1, 'x'), (2, 'x'))", [0]),
        ("NULL", []),
        ("0.3", [0, 1, 2]),
        ("'a'", []),
    ],
)
def test_where_compares_as_mysql_does(where: str, expected: list[int]) -> None:
    assert places(where) == expected


@pytest.mark.parametrize(
    ("order", "limit", "expected"),
    [
        (["d"], None, [2, 1, 0]),
        (["d DESC"], None, [0, 1, 2]),
        (["s DESC", "id"], Limit(2), [0, 1]),
        (["e"], None, [2, 0, 1]),
        (["-id"], Limit(1, 1), [1]),
        (["ts DESC"], None, [1, 0, 2]),
        ([], Limit(2), [0, 1]),
    ],
)
def test_order_puts_null_first_and_equal_rows_by_key(
    order: list[str], limit: Limit | None, expected: list[int]
) -> None:
    assert places("", order, limit) == expected


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.none() | st.integers(-9, 9), st.none() | st.text("ab ", max_size=2)), max_size=8),
    st.integers(0, 5),
    st.booleans(),
)
def test_order_by_and_limit_agree_with_pythons_sort(
    rows: list[tuple[int | None, str | None]], count: int, descending: bool
) -> None:
    table = create_table("CREATE TABLE d.t (id BIGINT PRIMARY KEY, n INT, s VARCHAR(9))")
    texts = [[str(place), None if n is None else str(n), s] for place, (n, s) in enumerate(rows)]
    expected = sorted(
        range(len(rows)), key=lambda place: (rows[place][1] is not None, (rows[place][1] or "").rstrip(" "), place)
    )
    expected.sort(key=lambda place: (rows[place][0] is not None, rows[place][0] or 0), reverse=descending)

    found = places("", ["n DESC" if descending else "n", "s"], Limit(count), upstream_of((table, texts)))

    assert found == expected[:count]


@pytest.mark.parametrize(
    ("where", "number", "text"),
    [
        ("zz = 1", 1054, "Unknown column 'zz' in 'where clause'"),
        ("t.zz = 1", 1054, "Unknown column 't.zz' in 'where clause'"),
        ("other.id = 1", 1054, "Unknown column 'other.id' in 'where clause'"),
        ("foo(1)", 1305, "FUNCTION d.foo does not exist"),
        ("abs(1, 2)", 1582, "Incorrect parameter count in the call to native function 'ABS'"),
        ("(id, s) = (1, 2, 3)", 1241, "Operand should contain 2 column(s)"),
    ],
)
def test_a_condition_with_an_unknown_name_has_tidbs_error(where: str, number: int, text: str) -> None:
    with pytest.raises(SqlError) as caught:
        places(where)

    assert (caught.value.number, caught.value.text) == (number, text)


@pytest.mark.parametrize(
    ("column", "expression", "expected"),
    [
        ("id", "id + 1", ("int", b"2")),
        ("s", "concat(s, 1 / 2)", ("string", b"a0.500000000")),
        ("e", "2", ("int", b"2")),
        ("e", "'1'", ("string", b"1")),
        ("st", "3", ("int", b"3")),
        ("bits", "bits + 1", ("uint", b"6")),
        ("bits", "s", ("string", b"a")),
        ("b", "concat(b, 'é')", ("bytes", b"\x00\xff\xc3\xa9")),
        ("w", "date_add(w, interval 1 day)", ("datetime", b"2020-01-03 03:04:05.600")),
        ("w", "now(3)", ("datetime", b"2020-09-13 12:26:40.123")),
        ("ts", "now()", ("datetime", b"2020-09-13 12:26:40")),
        ("s", "curtime(1)", ("time", b"12:26:40.1")),
        ("id", "unix_timestamp()", ("int", b"1600000000")),
        ("s", "database()", ("string", b"d")),
        ("s", "NULL", None),
        ("id", "s", ("string", b"a")),
        ("id", "2.5e0", ("double", b"2.5")),
        ("id", "12.7", ("decimal", b"12.7")),
    ],
)
def test_an_update_sees_the_old_row_and_returns_datums_for_its_columns(
    column: str, expression: str, expected: Datum | None
) -> None:
    found = match_rows(
        TableSource(TableName("", "t"), "u"),
        parse_expression("u.id = 1"),
        (),
        None,
        UPSTREAM,
        NOW,
        {column: parse_expression(expression)},
        COLUMNS,
    )

    assert datum_list(found.values[column]) == [expected]


def test_a_timestamp_is_seen_in_the_time_zone_of_the_session() -> None:
    upstream = upstream_of((SEVERAL, ROWS), session=SqlSession("d", time_zone="+08:00"))

    assert places("ts = '2020-01-01 08:00:00'", upstream=upstream) == [0, 2]


def raw(column: str, *expressions: str) -> list[bytes | None]:
    values, _ = evaluate_rows(
        [(parse_expression(expression),) for expression in expressions], [COLUMNS[column]], UPSTREAM, NOW, SEVERAL
    )
    return [None if cell is None else cell.body for cell in datum_list(values[column])]


@pytest.mark.parametrize(
    ("column", "expression"),
    [
        (column, expression)
        for column in ("id", "s", "b", "d", "e", "bits", "f", "st", "y")
        for expression in (
            "1",
            "-1",
            "2.5",
            "'2.5'",
            "'a'",
            "x'41'",
            "0x0a",
            "b'11'",
            "NULL",
            "TRUE",
            "+3",
            "(4)",
            "'é'",
            "1e3",
            "2.5e0",
            "_binary'a'",
        )
        if not (column in ("e", "st", "bits") and expression in ("2.5", "2.5e0", "1e3", "-1"))
    ],
)
def test_a_literal_has_the_value_of_its_evaluation(column: str, expression: str) -> None:
    (evaluated,) = evaluate([parse_expression(expression)], [COLUMNS[column]], UPSTREAM, NOW)

    values, _ = evaluate_rows([(parse_expression(expression),)], [COLUMNS[column]], UPSTREAM, NOW, SEVERAL)
    assert datum_list(values[column]) == datum_list(evaluated)


def test_values_are_literals_expressions_and_defaults() -> None:
    rows = [
        (parse_expression("1"), parse_expression("'a'")),
        (parse_expression("1 + 1"), DefaultValue()),
        (parse_expression("3"), parse_expression("concat(id, 'x')")),
    ]

    values, default_rows = evaluate_rows(rows, [COLUMNS["id"], COLUMNS["s"]], UPSTREAM, NOW, SEVERAL)

    assert datum_list(values["id"]) == [("int", b"1"), ("int", b"2"), ("int", b"3")]
    assert datum_list(values["s"]) == [("string", b"a"), None, ("string", b"3x")]
    assert {name: rows.to_pylist() for name, rows in default_rows.items()} == {"s": [False, True, False]}


def test_a_long_decimal_keeps_its_digits() -> None:
    number = "1" * 35 + "." + "2" * 30

    assert raw("d", number) == [number.encode()] and Decimal(number)


def test_values_of_the_inserted_row_are_available_beside_the_old_row() -> None:
    old = RowSource(SEVERAL, {"id": pa.array([b"1", b"2"]), "s": pa.array([b"old", None])})
    new = RowSource(
        SEVERAL,
        {"id": pa.array([b"10", b"20"]), "s": pa.array([b"new", b"new"])},
        (QueryColumn("", "fresh", "k", "id"),),
        True,
    )

    found = evaluate(
        [parse_expression("id + fresh.k"), parse_expression("s")], [COLUMNS["id"], None], UPSTREAM, NOW, [old, new]
    )

    assert datum_list(found[0]) == [("int", b"11"), ("int", b"22")] and found[1].to_pylist() == [b"old", None]


def test_uuid_and_rand_differ_by_row_and_are_the_same_again() -> None:
    first, second = raw("s", "uuid()", "uuid()"), raw("s", "uuid()", "uuid()")

    assert first == second and first[0] != first[1]


def test_sleeping_takes_no_time() -> None:
    assert datum_list(evaluate([parse_expression("SLEEP(10)")], [COLUMNS["n"]], UPSTREAM, NOW)[0]) == [("int", b"0")]
    with pytest.raises(SqlError, match="SLEEP is not computed"):
        evaluate([parse_expression("SLEEP(-1)")], [COLUMNS["n"]], UPSTREAM, NOW)
