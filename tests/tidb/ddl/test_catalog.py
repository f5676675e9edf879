"""A catalog of many tables shares unchanged tables between statements."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from simulator.tidb.ddl.catalog import build_catalog, with_table, without_table
from simulator.tidb.ddl.definitions.from_sql import create_table

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
