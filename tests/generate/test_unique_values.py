"""Generated values of unique keys: each kind of values in each type of column under each kind of key is unique, or
refused in a line before the first row.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from support.upstreams import played

from simulator.errors import UserError
from simulator.generate.model import Mix, Model, ProbeTimes, TableModel, TableRows
from simulator.generate.values.generators import TableGenerators
from simulator.generate.values.reading import parse_columns
from simulator.generate.values.table_values import TableValues, table_values
from simulator.tidb.datums.cast import convert_text
from simulator.tidb.model.table import Table, unique_keys, visible_columns
from simulator.tidb.storage.row_keys import encode_key

TYPES = (
    *("TINYINT", "INT UNSIGNED", "BIGINT", "DECIMAL(4,1)", "FLOAT", "DOUBLE(6,2)", "BIT(1)", "BIT(12)", "YEAR"),
    *("DATE", "DATETIME(3)", "TIMESTAMP", "TIME", "ENUM('a','b')", "SET('a','b')", "JSON"),
    *("CHAR(1)", "CHAR(12)", "CHAR(12) COLLATE utf8mb4_general_ci", "VARCHAR(2)", "VARCHAR(120)"),
    *("BINARY(2)", "BINARY(40)", "VARBINARY(30)", "TINYTEXT", "TEXT", "BLOB"),
)
VALUES = (
    *(None, "email", "name", "random_int", "date", "boolean", "nmae", ["a", "b"], 5, {"value": "x"}),
    *({"text": 3}, {"text": {"min": 0, "max": 250}}, {"min": 1, "max": 9}, {"min": -5, "max": 100_000}),
    *({"min": 0.5, "max": 9.5}, {"sequence": 1}, {"sequence": 5, "step": -3}, {"faker": "word", "null": 0.3}),
    *({"time": "born"}, {"version": True}, {"distribution": "zipf", "exponent": 1, "min": 1, "max": 9}),
    *({"template": "{id}"}, {"template": "{w}.{id}@x"}, {"template": "{id}{n}"}, {"template": "{w}"}),
)
KEYS = {
    "unique": "id BIGINT PRIMARY KEY, v {}, UNIQUE KEY (v), w VARCHAR(9), n INT",
    "primary": "id BIGINT, v {} PRIMARY KEY, w VARCHAR(9), n INT",
    "composite": "id BIGINT PRIMARY KEY, v {}, w VARCHAR(9), n INT, UNIQUE KEY (v, w)",
    "prefix": "id BIGINT PRIMARY KEY, v {}, w VARCHAR(9), n INT, UNIQUE KEY (v(2))",
}
ROWS = 150


@cache
def asked_values() -> list[TableGenerators]:
    """Those of VALUES that can be read; no table is needed to refuse the others."""
    read = []
    for spec in VALUES:
        try:
            read.append(TableGenerators(parse_columns({} if spec is None else {"v": spec})))
        except UserError as error:
            assert_in_a_line(error)
    assert len(VALUES) - len(read) == 1
    return read


def valued(table: Table, asked: TableGenerators, rows: int) -> tuple[TableValues, TableRows]:
    model = Model(7, (TableModel("test", "t", rows, mix=Mix(1, 0, 0)),))
    keys = np.arange(rows)
    return table_values((table,), (asked,), model)[0], TableRows(keys, keys * 0, 0, ProbeTimes(model), 0)


def assert_unique(values: TableValues, rows: TableRows) -> None:
    """No two rows share a key, and each value is as TiDB stores it."""
    texts = values.texts([column.name for column in visible_columns(values.table)], rows)
    for column in visible_columns(values.table):
        text = texts[column.name]
        assert text.equals(convert_text(column.type, column.type, text).cast(pa.binary())), column
    for key in unique_keys(values.table):
        found = encode_key(values.table, key, texts).drop_null().to_pylist()
        assert len(set(found)) == len(found), key


def assert_in_a_line(error: UserError) -> None:
    assert error.args and not any("\n" in str(each) for each in error.args)


def defined(key: str, type_: str) -> Table | None:
    """Return a table with such a key; None for a definition that TiDB refuses, such as a TEXT in a key without a
    length."""
    try:
        tables = played(f"CREATE TABLE t ({KEYS[key].format(type_)})").upstream.catalog.tables
    except UserError:
        return None
    return next(iter(tables.values()), None)


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_unique_values_are_unique_or_refused_in_a_line(key: str, request: pytest.FixtureRequest) -> None:
    """Unless `--everything` is given, each combination of type, values and number of rows has one of the first three
    keys, and each key all types and all values."""
    third = None if key == "prefix" or request.config.getoption("--everything") else [*KEYS].index(key)
    unique, wrong = 0, []
    for (place, type_), few in product(enumerate(TYPES), (4, ROWS)):
        table = defined(key, type_)
        for number, asked in enumerate(asked_values(), place + few // ROWS):
            if table is None or third not in (None, number % 3):
                continue
            try:
                values, rows = valued(table, asked, few)
                values.texts(["v"], TableRows(rows.keys[:0], rows.keys[:0], 0, rows.lives, 0))
                assert_unique(values, rows)
                unique += 1
            except UserError as error:
                assert_in_a_line(error)
            except Exception as error:
                wrong.append(f"{type_}, {asked}, {few} rows: {error!r}")
    assert wrong == []
    assert unique > 30
