"""Handle key, flag bits, row id: what the protocols ask of a table's keys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.releases import V8_5
from simulator.schema.keys import (
    common_handle, flags, handle_key, primary_key_names, row_id_column, visible_columns,
)
from simulator.schema.parse import create_table
from simulator.schema.table import Table


def table_of(definition: str) -> Table:
    return create_table(f"CREATE TABLE t ({definition})")


@pytest.mark.parametrize(("definition", "expected"), [
    ("a INT PRIMARY KEY, b INT NOT NULL UNIQUE", ("a",)),
    ("a INT PRIMARY KEY NONCLUSTERED, b INT NOT NULL UNIQUE", ("a",)),
    ("a INT, b INT, PRIMARY KEY (b, a)", ("b", "a")),
    ("a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, UNIQUE (a, b), UNIQUE (c), UNIQUE (b)", ("c",)),
    ("a INT NOT NULL UNIQUE, b INT NOT NULL, UNIQUE (b)", ("b",)),
    ("a INT UNIQUE, b INT NOT NULL, c INT, UNIQUE (b, c)", ()),
    ("a INT NOT NULL, v INT AS (a) VIRTUAL NOT NULL UNIQUE", ()),
    ("a INT NOT NULL, v INT AS (a) STORED NOT NULL UNIQUE", ("v",)),
    ("a INT NOT NULL, UNIQUE KEY ((a + 1))", ()),
    ("a INT NOT NULL, b VARCHAR(9) NOT NULL, UNIQUE (b(3))", ("b",)),
    ("a INT NOT NULL, KEY (a)", ()),
])
def test_the_handle_key_is_the_primary_key_else_the_smallest_certain_unique_key(
    definition: str, expected: tuple[str, ...],
) -> None:
    """No column of it may be NULL or virtual; ties go to the key that TiDB made first."""
    assert expected == handle_key(table_of(definition))


@pytest.mark.parametrize(("definition", "expected"), [
    ("c INT", 65), ("c INT UNSIGNED", 193), ("c BIT", 193), ("c YEAR", 193), ("c DATETIME", 65), ("c BLOB", 65),
    ("c VARCHAR(5)", 64), ("c ENUM('a')", 64), ("c VARCHAR(5) NOT NULL", 0), ("c JSON", 65), ("c FLOAT ZEROFILL", 193),
    ("c INT PRIMARY KEY", 11), ("c BIGINT UNSIGNED PRIMARY KEY", 139), ("c INT PRIMARY KEY NONCLUSTERED", 11),
    ("c VARCHAR(5) PRIMARY KEY", 10), ("c INT, d INT, PRIMARY KEY (d, c)", 43), ("c INT NOT NULL UNIQUE", 19),
    ("c INT UNIQUE", 81), ("c INT, KEY (c)", 97), ("d INT, c INT, KEY (d, c)", 97),
    ("c INT, d INT, UNIQUE (c, d)", 113), ("d INT, c INT AS (d) VIRTUAL", 69), ("d INT, c INT AS (d) STORED", 69),
    ("c INT, KEY ((c + 1))", 65),
    ("c INT, d INT, KEY ((d + 1), c)", 97), ("c VARCHAR(5), FULLTEXT (c)", 64),
])
def test_flag_bits_are_those_of_tidb_s_table_information(definition: str, expected: int) -> None:
    """Binary 1, handle 2, generated 4, primary 8, unique 16, multiple 32, nullable 64, unsigned 128."""
    assert expected == flags(table_of(definition), V8_5)["c"]


def test_older_releases_call_a_primary_key_unique_too() -> None:
    """Where it is an index: not the clustered integer."""
    older = replace(V8_5, primary_is_unique=True)
    definitions = ("c INT PRIMARY KEY", "c INT PRIMARY KEY NONCLUSTERED", "c VARCHAR(5) PRIMARY KEY")
    assert [11, 27, 26] == [flags(table_of(definition), older)["c"] for definition in definitions]


@pytest.mark.parametrize(("definition", "row_id", "common"), [
    ("c INT PRIMARY KEY", "c", False), ("c TINYINT UNSIGNED PRIMARY KEY", "c", False),
    ("c INT PRIMARY KEY NONCLUSTERED", None, False), ("c YEAR PRIMARY KEY", None, True),
    ("c DECIMAL(5) PRIMARY KEY", None, True), ("c INT, d INT, PRIMARY KEY (c, d)", None, True), ("c INT", None, False),
])
def test_the_row_id_is_a_clustered_integer_or_hidden_or_none_at_all(
    definition: str, row_id: str | None, common: bool,
) -> None:
    """Rows under another clustered key have none."""
    table = table_of(definition)
    assert (row_id, common) == (row_id_column(table), common_handle(table))


def test_virtual_columns_are_not_visible_and_pk_names_come_in_table_order() -> None:
    """Stored generated columns are."""
    table = table_of("a INT, v INT AS (a), s INT AS (a) STORED, b INT, PRIMARY KEY (b, a)")
    assert ["a", "s", "b"] == [column.name for column in visible_columns(table)]
    assert ("a", "b") == primary_key_names(table, V8_5)
    assert () == primary_key_names(table_of("a INT NOT NULL UNIQUE"), V8_5)
