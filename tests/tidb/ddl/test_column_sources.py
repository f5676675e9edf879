"""Sources of the values of existing rows in a later definition."""

from __future__ import annotations

import pytest
from support.upstreams import cases, created, table_after

from simulator.tidb.ddl.column_sources import FromColumn, FromDefault, FromExpression, find_column_sources, text_changes

T = "CREATE TABLE t (a INT, v INT AS (a), b VARCHAR(20), c INT)"


def test_each_visible_column_has_a_source() -> None:
    """An existing column is FromColumn, a new one FromDefault; virtual columns have none."""
    before = table_after(T)
    changed = table_after(T, "ALTER TABLE t DROP c, ADD d INT DEFAULT 4 FIRST, ADD e INT, MODIFY b VARCHAR(30)")
    a, b = before.columns[0].type, before.columns[2].type
    longer = next(column.type for column in changed.columns if column.name == "b")
    expected = FromDefault("4"), FromColumn(0, a, a), FromColumn(1, b, longer), FromDefault(None)
    assert expected == find_column_sources(before, changed)


def test_renamed_columns_keep_their_values() -> None:
    """A new column with an old name is a new column."""
    before, after = table_after(T), table_after(T, "ALTER TABLE t CHANGE b x VARCHAR(20), RENAME COLUMN c TO y")
    assert [0, 1, 2] == [
        source.index for source in find_column_sources(before, after) if isinstance(source, FromColumn)
    ]
    again = table_after(T, "ALTER TABLE t RENAME COLUMN b TO x", "ALTER TABLE t ADD b INT DEFAULT 3")
    assert (FromColumn, FromColumn, FromColumn, FromDefault) == tuple(map(type, find_column_sources(before, again)))
    anew = table_after(T, "ALTER TABLE t DROP b", "ALTER TABLE t ADD b VARCHAR(20)")
    assert (FromColumn, FromColumn, FromDefault) == tuple(map(type, find_column_sources(before, anew)))


def test_stored_generated_columns_are_computed_where_they_are_new() -> None:
    """An existing one with the same expression is copied."""
    before = created("(a INT, s INT AS (a + 1) STORED)")
    after = created("(a INT, s INT AS (a + 1) STORED, z INT AS (a + 2) STORED)")
    assert (FromColumn, FromColumn, FromExpression) == tuple(map(type, find_column_sources(before, after)))


def test_the_same_definition_changes_nothing() -> None:
    """Another key changes nothing, either."""
    before = table_after(T)
    sources = find_column_sources(before, table_after(T, "ALTER TABLE t ADD KEY (a)"))
    found = [(source.index, source.cast) for source in sources if isinstance(source, FromColumn)]
    assert [(0, False), (1, False), (2, False)] == found


CHANGES = cases("""
    INT => BIGINT => kept
    BIGINT => INT => cast
    INT => INT UNSIGNED => cast
    INT(4) => INT(8) => kept
    VARCHAR(5) => VARCHAR(9) => kept
    VARCHAR(9) => VARCHAR(5) => cast
    VARCHAR(9) => TEXT => kept
    TEXT => VARCHAR(9) => cast
    VARCHAR(9) => VARBINARY(99) => cast
    BINARY(3) => BINARY(5) => cast
    DECIMAL(5,2) => DECIMAL(6,3) => cast
    DATETIME => DATETIME(3) => cast
    DATETIME => DATE => cast
    ENUM('a') => ENUM('a','b') => kept
    ENUM('a','b') => ENUM('b','a') => cast
    INT => VARCHAR(20) => cast
""")


@pytest.mark.parametrize(("before", "after", "texts"), CHANGES)
def test_a_cast_is_needed_if_texts_may_change(before: str, after: str, texts: str) -> None:
    """No cast is needed if the new type holds every value of the old one unchanged."""
    types = [created(f"(c {type})").columns[0].type for type in (before, after)]
    assert text_changes(*types) == (texts == "cast")
