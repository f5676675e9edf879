"""Catalogs and their tables: what is found, where the columns of a changed table come from, SHOW CREATE TABLE."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from support.random_tables import RandomTable, tables
from support.upstreams import after, cases, created, table_after

from simulator.run.plan.versions import same
from simulator.tidb.ddl.catalog import build_catalog, with_table, without_table
from simulator.tidb.ddl.column_definitions import FromColumn, FromDefault, find_column_sources, text_changes
from simulator.tidb.ddl.create_table_text import TextStyle, create_table_text
from simulator.tidb.ddl.derive import create_statement, show_create
from simulator.tidb.ddl.table_definitions import create_table

TABLE = create_table("CREATE TABLE t (id INT PRIMARY KEY)", "d")


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 5, 127, 128, 129, 300])
def test_shared_tables_behave_like_a_dict_after_any_changes(count: int) -> None:
    """Tables are changed, dropped, added and added again. Earlier catalogs stay unchanged."""
    chance = random.Random(count)
    tables = {("d", f"t{number}"): replace(TABLE, name=f"t{number}") for number in range(count)}
    held = build_catalog(tables.values())
    seen = []
    for _ in range(400):
        name = f"t{chance.randrange(count + 20)}"
        table = replace(TABLE, name=name, comment=str(chance.random()))
        if chance.random() < 0.6:
            held, tables = with_table(held, table), {**tables, ("d", name): table}
        else:
            held = without_table(held, table)
            tables = {place: table for place, table in tables.items() if place != ("d", name)}
        seen.append((held, tables))
    for held, tables in seen:
        assert list(held.tables.items()) == list(tables.items())
        assert list(held.tables.values()) == list(tables.values()) and len(held.tables) == len(tables)
    assert held.table("d", "nope") is None and ("d", "nope") not in held.tables


def test_a_statement_on_one_of_many_tables_does_not_copy_the_others() -> None:
    many = build_catalog(replace(TABLE, name=f"t{number}") for number in range(1000))
    changed = with_table(many, replace(TABLE, name="t5", comment="changed"))
    assert not isinstance(changed.tables, dict) and changed.tables != many.tables
    assert [name for name, table in changed.tables.items() if table is not many.tables[name]] == [("d", "t5")]


# -- where columns come from -----------------------------------------------------------------------------------------

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


def test_stored_generated_columns_keep_their_values() -> None:
    """Also where their expression is written in other words, the only way in which TiDB lets it change."""
    before = "CREATE TABLE t (a INT, s INT AS (a + 1) STORED)"
    after = table_after(before, "ALTER TABLE t MODIFY s BIGINT AS (`A`+1) STORED")
    assert (FromColumn, FromColumn) == tuple(map(type, find_column_sources(table_after(before), after)))


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


# -- SHOW CREATE TABLE -----------------------------------------------------------------------------------------------


@given(made=tables())
def test_show_create_of_any_table_gives_the_same_table(made: RandomTable) -> None:
    assert same(create_table(create_statement(made.table), made.table.schema), made.table)


@pytest.mark.parametrize(
    "definition",
    [
        "(a bigint primary key, b int unsigned default 7 comment 'it''s', unique key u (b) comment 'x')",
        "(a varchar(9), b int, primary key (a, b) clustered, key k ((b + 1)) invisible) comment = 'c'",
        "(a int auto_increment, b datetime(3) default current_timestamp(3) on update current_timestamp(3), key (a)) "
        "collate utf8mb4_general_ci auto_increment = 9 auto_id_cache = 1",
        "(a bigint primary key auto_random(3), b bit(8) default b'101', c varbinary(3) default x'00ff') "
        "auto_random_base = 100",
        "(a int, b int as (a + 1) stored, c int as (a) virtual, primary key (a) nonclustered)",
        "(a int primary key, d datetime) ttl = `d` + interval 3 month ttl_enable = 'off'",
        "(a int, b int, primary key (a, b)) partition by range columns (a, b) "
        "(partition p values less than (1, 2), partition q values less than (maxvalue, maxvalue))",
        "(a int primary key, parent int, constraint f foreign key (parent) references shop.p (id) on delete cascade)",
    ],
)
def test_show_create_gives_the_same_table(definition: str) -> None:
    table = create_table(f"CREATE TABLE t {definition}", "shop")
    again = create_table(create_statement(table), "shop")
    assert same(again, table)
    assert (again.clustered, again.options, again.primary_key) == (table.clustered, table.options, table.primary_key)


def test_tidb_shows_a_default_function_in_parentheses_from_the_release_that_keeps_them_on() -> None:
    table = create_table("CREATE TABLE t (a VARCHAR(40) DEFAULT (UUID()), b INT AS (a+1), KEY k ((LOWER(a))))", "shop")
    assert "`a` varchar(40) DEFAULT uuid(),\n  `b` int(11) GENERATED ALWAYS AS (`a` + 1) VIRTUAL," in create_table_text(
        table
    )
    newer = create_table_text(table, TextStyle(default_parentheses=True))
    assert "DEFAULT (uuid()),\n" in newer and "KEY `k` ((lower(`a`)))" in newer


def test_show_create_returns_the_original_text_until_a_statement_changes_the_table() -> None:
    text = "create table t (a int primary key /* the key */)"
    table = create_table(text, "shop")
    assert show_create(table) == text

    added = after(
        "ALTER TABLE shop.t ADD COLUMN b ENUM('x','y') NOT NULL DEFAULT 'y'", start=build_catalog([table])
    ).table("shop", "t")
    assert added is not None
    assert "/* the key */" not in show_create(added)
    assert same(create_table(show_create(added), "shop"), added)
