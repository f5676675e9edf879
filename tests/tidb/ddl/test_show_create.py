"""SHOW CREATE TABLE gives a statement of the same table."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.random_tables import RandomTable, tables
from support.upstreams import after

from simulator.run.plan.versions import same
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.create_table_text import TextStyle, create_table_text
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.ddl.show_create import create_statement, show_create


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
