"""Handle key, flag bits, row id: what the protocols ask of a table's keys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.releases import V8_5
from simulator.ticdc.table_info import flags, handle_key, primary_key_names
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import LastIds, Table, TimeToLive, has_common_handle, row_id_column, visible_columns


def table_of(definition: str) -> Table:
    return create_table(f"CREATE TABLE t ({definition})")


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
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
    ],
)
def test_the_handle_key_is_the_primary_key_else_the_smallest_certain_unique_key(
    definition: str, expected: tuple[str, ...]
) -> None:
    """No column of it may be NULL or virtual; ties go to the key that TiDB made first."""
    assert expected == handle_key(table_of(definition))


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("c FLOAT ZEROFILL", 193),
        ("c INT, d INT, PRIMARY KEY (d, c)", 43),
        ("d INT, c INT, KEY (d, c)", 97),
        ("c INT, KEY ((c + 1))", 65),
        ("c INT, d INT, KEY ((d + 1), c)", 97),
        ("c VARCHAR(5), FULLTEXT (c)", 64),
    ],
)
def test_flag_bits_are_those_of_tidb_s_table_information(definition: str, expected: int) -> None:
    """Where the vectors (table_info) have none: binary 1, handle 2, generated 4, primary 8, unique 16, multiple 32,
    nullable 64, unsigned 128."""
    assert expected == flags(table_of(definition), V8_5)["c"]


def test_older_releases_call_a_primary_key_unique_too() -> None:
    """Where it is an index: not the clustered integer."""
    older = replace(V8_5, primary_is_unique=True)
    definitions = ("c INT PRIMARY KEY", "c INT PRIMARY KEY NONCLUSTERED", "c VARCHAR(5) PRIMARY KEY")
    assert [11, 27, 26] == [flags(table_of(definition), older)["c"] for definition in definitions]


@pytest.mark.parametrize(
    ("definition", "row_id", "common"),
    [
        ("c INT PRIMARY KEY", "c", False),
        ("c TINYINT UNSIGNED PRIMARY KEY", "c", False),
        ("c INT PRIMARY KEY NONCLUSTERED", None, False),
        ("c YEAR PRIMARY KEY", None, True),
        ("c DECIMAL(5) PRIMARY KEY", None, True),
        ("c INT, d INT, PRIMARY KEY (c, d)", None, True),
        ("c INT", None, False),
    ],
)
def test_the_row_id_is_a_clustered_integer_or_hidden_or_none_at_all(
    definition: str, row_id: str | None, common: bool
) -> None:
    table = table_of(definition)
    assert (row_id, common) == (row_id_column(table), has_common_handle(table))


def test_virtual_columns_are_not_visible_and_pk_names_come_in_table_order() -> None:
    table = table_of("a INT, v INT AS (a), s INT AS (a) STORED, b INT, PRIMARY KEY (b, a)")
    assert ["a", "s", "b"] == [column.name for column in visible_columns(table)]
    assert ("a", "b") == primary_key_names(table, V8_5)
    assert () == primary_key_names(table_of("a INT NOT NULL UNIQUE"), V8_5)


def test_a_table_keeps_what_later_statements_ask_of_it() -> None:
    """Ids, foreign keys with the index they need, time to live, options that no row shows."""
    table = create_table(
        "CREATE TABLE d.t (a INT, `at x` DATETIME, c BIGINT PRIMARY KEY AUTO_RANDOM(3), b INT,"
        " FOREIGN KEY (b) REFERENCES p (q) ON DELETE CASCADE, UNIQUE u (a) INVISIBLE COMMENT 'x')"
        " TTL = `at x` + INTERVAL 3 MONTH TTL_ENABLE = 'OFF' AUTO_ID_CACHE 7"
    )
    assert [(1, 0), (2, 0), (3, 3), (4, 0)] == [(column.id, column.shard_bits) for column in table.columns]
    assert [(1, "u", False, "x"), (2, "fk_1", True, "")] == [
        (index.id, index.name, index.visible, index.comment) for index in table.indexes
    ]
    (foreign,) = table.foreign_keys
    assert ("d", "p", ("q",), "CASCADE") == (foreign.schema, foreign.table, foreign.references, foreign.on_delete)
    assert table.ttl == TimeToLive("at x", "3 MONTH", False)
    assert (("AUTO_ID_CACHE", "7"),) == table.options and LastIds(4, 2, 1) == table.last_ids


def test_ids_and_what_rows_do_not_show_do_not_make_tables_differ() -> None:
    """Two definitions are the same whenever their statements came."""
    altered, untouched = table_of("a INT, b INT"), table_of("a INT, b INT")
    columns = (altered.columns[0], replace(altered.columns[1], id=9, origin_default="7"))
    assert untouched == replace(altered, columns=columns, options=(("AUTO_INCREMENT", "9"),), last_ids=LastIds(9))


def test_vector_indexes_take_an_id_and_are_kept_apart() -> None:
    table = table_of("a INT, v VECTOR(3), VECTOR INDEX vi ((VEC_COSINE_DISTANCE(v))), UNIQUE (a)")
    assert (["vi"], [2]) == ([index.name for index in table.columnar_indexes], [index.id for index in table.indexes])
    assert 65 == flags(table, V8_5)["v"]
