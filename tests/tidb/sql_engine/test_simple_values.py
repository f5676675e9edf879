"""Shortcuts without a query return the values and rows that the evaluator returns."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pyarrow as pa
import pytest

from simulator.releases import V8_5
from simulator.tidb.datums.kinds import datum_list
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.expressions.trees import parse_expression
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.sql_engine.changes.insert_rows import evaluate_rows
from simulator.tidb.sql_engine.queries import simple_values
from simulator.tidb.sql_engine.queries.evaluate import RowSource, evaluate, run_select
from simulator.tidb.sql_engine.queries.literals import NotSimple
from simulator.tidb.sql_engine.queries.match_rows import match_rows
from simulator.tidb.sql_engine.queries.simple_queries import resolve_stored_column, select_simply
from simulator.tidb.sql_engine.storage.state import SqlSession, StoredRows, Upstream
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.expressions import ColumnName, Node, names_in
from simulator.tidb.syntax.queries import Limit, TableSource
from simulator.tidb.syntax.session import SelectStatement

NOW = 1_600_000_000_123

TABLE = create_table("""CREATE TABLE d.t (
    id BIGINT PRIMARY KEY, n INT, u INT UNSIGNED, big BIGINT UNSIGNED, z INT(4) ZEROFILL, s VARCHAR(20),
    ci VARCHAR(20) COLLATE utf8mb4_general_ci, nopad VARCHAR(20) COLLATE utf8mb4_0900_bin, b VARBINARY(20),
    p DECIMAL(10,2), f DOUBLE, bits BIT(8), e ENUM('a','1'), j JSON, v INT GENERATED ALWAYS AS (n + 1) VIRTUAL)""")
ROWS = (
    ("1", "5", "5", "5", "0005", "a", "a", "a", "a", "1.50", "1.5", "5", "a", "1"),
    ("2", "-5", "0", "18446744073709551615", "0000", "A ", "A ", "a ", "a ", "-2.00", "2", "0", "1", "null"),
    ("3", None, None, None, None, None, None, None, None, None, None, None, None, None),
    (
        "4",
        "2147483647",
        "4294967295",
        "9223372036854775808",
        "9999",
        "",
        "",
        "",
        "",
        "99999999.99",
        "-0.5",
        "255",
        "a",
        '"a"',
    ),
    ("9223372036854775807", "0", "1", "0", "0001", "ä", "Ä", "ä", "ÿ", "0.00", "0", "1", "a", "{}"),
)
TEXTS_OF_ROWS = {
    column.name: pa.array([row[place] for row in ROWS], pa.string()).cast(pa.binary())
    for place, column in enumerate(TABLE.columns[:-1])
}
STORED = StoredRows(TABLE, pa.table(TEXTS_OF_ROWS), pa.array(range(len(ROWS)), pa.int64()))
UPSTREAM = Upstream(V8_5, build_catalog([TABLE]), {("d", "t"): STORED}, session=SqlSession("d"))
COLUMNS = {column.name: column for column in TABLE.columns}

NUMBERS = ["0", "1", "5", "-5", "2", "007", "2147483647", "9223372036854775807", "1.5", "0.50", "-2"]
TEXTS = ["'a'", "'A'", "'a '", "''", "' '", "'ä'", "'5'", "'05'", "_binary'a'", "'-5'", "'ÿ'"]
LITERALS = [*NUMBERS, *TEXTS]
OPERANDS = ["id", "n", "u", "big", "z", "s", "ci", "nopad", "b", "p", "f", "v", "NULL", *LITERALS]
ASKED = "REVERSE('a')"
"""Only a query answers this, and then all expressions beside it."""


def conditions_of(name: str) -> list[str]:
    return [
        *(f"{name} {operator} {literal}" for operator in ("=", "<", "<=", ">", ">=") for literal in LITERALS),
        *(f"{literal} {operator} {name}" for operator in ("=", "<", ">=") for literal in ("5", "-5", "'a'", "'A'")),
        *(f"{name} IN ({one}, {other})" for one, other in zip(LITERALS, LITERALS[1:])),
        *(f"{name} BETWEEN {low} AND {high}" for low in ("-5", "0", "5", "1.5") for high in ("0", "5", "9999")),
        f"{name} IS NULL",
        f"t.{name} IS NOT NULL",
        f"{name} > -5 AND d.t.{name} <= 5 AND {name} IN (0, 5)",
    ]


def places(where: str) -> list[int]:
    found = match_rows(TableSource(TableName("", "t")), parse_expression(where), (), None, UPSTREAM, NOW, {}, {})
    counted: list[int] = found.tables[0].places.to_pylist()
    return counted


@pytest.mark.slow
@pytest.mark.parametrize("name", ["u", "big", "z", "ci", "b"])
def test_simple_conditions_agree_with_the_evaluator(name: str) -> None:
    conditions = conditions_of(name)
    asked = evaluate(
        [*map(parse_expression, conditions), parse_expression(ASKED)],
        [COLUMNS["n"]] * len(conditions) + [COLUMNS["s"]],
        UPSTREAM,
        NOW,
        [RowSource(TABLE, TEXTS_OF_ROWS)],
    )
    for condition, held in zip(conditions, asked):
        assert (condition, places(condition)) == (
            condition,
            [place for place, value in enumerate(datum_list(held)) if value == ("int", b"1")],
        )


def held(name: Node) -> pa.Array:
    assert isinstance(name, ColumnName)
    return TEXTS_OF_ROWS[name.parts[-1]]


EXPRESSIONS = [
    *OPERANDS,
    *(
        f"{one} {operator} {other}"
        for operator in "+-*"
        for one in ("n", "u", "p", "id", "1.5", "-5", "007", "s", "big")
        for other in ("1", "-2", "0.50", "n", "NULL", "'5'", "2147483647")
    ),
    "n * 1.5 - 0.25",
    "(n + 1) * 3 - u",
    "0 - p * 0",
    "0.1 * 0.2 * 0.3",
    "99999999999999999999 + 1",
    "n + 1 + f",
    *(
        f"CONCAT({one}, {other})"
        for one in ("n", "s", "b", "p", "NULL", "'a'", "z")
        for other in ("1", "'ä'", "s", "ci", "1.5", "_binary'a'", "NULL")
    ),
]
WITHOUT_COLUMNS = [each for each in EXPRESSIONS if not names_in(parse_expression(each))]


@pytest.mark.parametrize("target", ["n", "s", "p", "e"])
def test_simple_values_agree_with_the_evaluator(target: str) -> None:
    column, rows = COLUMNS[target], [RowSource(TABLE, TEXTS_OF_ROWS)]
    found = {}
    for shown in EXPRESSIONS:
        with suppress(NotSimple):
            found[shown] = datum_list(
                simple_values.simple_columns(
                    [parse_expression(shown)],
                    [column],
                    partial(resolve_stored_column, TABLE, "d", "t"),
                    held,
                    len(ROWS),
                )[0]
            )
    assert {"n + 1", "CONCAT(n, s)"} <= found.keys()
    nodes = [parse_expression(shown) for shown in found]
    asked = evaluate([*nodes, parse_expression(ASKED)], [column] * len(nodes) + [COLUMNS["s"]], UPSTREAM, NOW, rows)
    assert found == {shown: datum_list(values) for shown, values in zip(found, asked)}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["n", "s", "f"])
def test_values_of_an_insert_agree_with_the_evaluator(target: str) -> None:
    column, nodes = COLUMNS[target], [parse_expression(each) for each in WITHOUT_COLUMNS]
    values, _ = evaluate_rows([(node,) for node in nodes], [column], UPSTREAM, NOW, TABLE)
    found = datum_list(values[column.name])
    asked = evaluate([*nodes, parse_expression(ASKED)], [column] * len(nodes) + [COLUMNS["s"]], UPSTREAM, NOW)
    assert list(zip(WITHOUT_COLUMNS, found)) == list(zip(WITHOUT_COLUMNS, [datum_list(value)[0] for value in asked]))


@pytest.mark.parametrize("name", ["id", "u", "z", "s", "ci", "b", "p", "e", "j"])
def test_a_selected_column_is_shown_as_by_a_query(name: str) -> None:
    simple, asked = (
        statement.query
        for statement in map(parse_sql, (f"SELECT {name} FROM t", f"SELECT {name}, {ASKED} FROM t"))
        if isinstance(statement, SelectStatement)
    )
    found, evaluated = select_simply(simple, UPSTREAM), run_select(asked, UPSTREAM, NOW)
    assert found.rows.column(0).to_pylist() == evaluated.rows.column(0).to_pylist()
    assert found.columns[0] == evaluated.columns[0]


@pytest.mark.parametrize(
    ("limit", "expected"), [(Limit(2), [0, 2]), (Limit(1, 1), [2]), (Limit(9, 2), [3, 4]), (Limit(0), [])]
)
def test_a_limit_counts_the_matched_rows(limit: Limit, expected: list[int]) -> None:
    found = match_rows(
        TableSource(TableName("", "t")),
        parse_expression("id IN (1, 3, 4, 9223372036854775807)"),
        (),
        limit,
        UPSTREAM,
        NOW,
        {},
        {},
    )
    assert found.tables[0].places.to_pylist() == expected


def test_the_condition_of_a_key_needs_no_query() -> None:
    def named(node: object) -> object:
        return resolve_stored_column(TABLE, "d", "t", node)  # type: ignore[arg-type]

    asked = simple_values.parse_conditions(parse_expression("id = 4 AND s = 'a' AND n IN (1, 2) AND u < 5"), named)  # type: ignore[arg-type]
    assert [each.column.name for each in asked] == ["id", "s", "n", "u"]
