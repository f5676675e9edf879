"""DDL statements at intervals: their times and kinds, and that TiDB accepts every one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.upstreams import behind

from simulator.errors import UserError
from simulator.generate.values.generators import ColumnGenerator, Reference, TableGenerators
from simulator.load.epochs.statements import (
    MOST_COLUMNS,
    MOST_INDEXES,
    TYPES,
    ChosenDdl,
    DdlChooser,
    ScheduledDdl,
    check_truncate,
    ddl_time_ms,
    schedule_ddl,
    truncate_refusals,
)
from simulator.load.load_plan import (
    ADD_COLUMN,
    ADD_INDEX,
    DROP_COLUMN,
    DROP_INDEX,
    STATEMENT_KINDS,
    TRUNCATE,
    DdlSchedule,
)
from simulator.tidb.ddl.catalog import Catalog, build_catalog
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table
from simulator.tidb.parser.ddl import parse_ddl

CUSTOMER = create_table("CREATE TABLE customer (id BIGINT PRIMARY KEY, name VARCHAR(200), doc JSON)", "shop")
ORDERS = create_table(
    "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id BIGINT, note TEXT, "
    "FOREIGN KEY (customer_id) REFERENCES shop.customer (id))",
    "shop",
)
SHOP = (CUSTOMER, ORDERS)
NOTHING = (TableGenerators(), TableGenerators())
"""What is said of their columns."""


def every(*kinds: str, table: int | None = None, random: bool = False) -> DdlSchedule:
    return DdlSchedule((1000, 1000), kinds, table, random)


def played(wanted: Sequence[DdlSchedule], count: int, seed: int = 7) -> tuple[list[ChosenDdl], Catalog]:
    """Return the first statements, each on the tables that those before it left, and the catalog after them."""
    known = build_catalog(SHOP)
    chooser = DdlChooser(wanted, seed, [table.last_ids for table in SHOP], truncate_refusals(SHOP, NOTHING))
    said: list[ChosenDdl] = []
    for turn in islice(schedule_ddl(wanted, seed, 0), count):
        said.append(chooser.choose(turn, tables(known), False))
        statement = parse_ddl(said[-1].text)
        assert statement is not None
        known = behind(statement, said[-1].text, known, "shop")
    return said, known


def tables(known: Catalog) -> list[Table]:
    found = [known.table(table.schema, table.name) for table in SHOP]
    return [table for table in found if table is not None]


@given(least=st.integers(1, 5000), more=st.integers(0, 5000), seed=st.integers(0, 99))
def test_intervals_lie_between_the_least_and_the_most(least: int, more: int, seed: int) -> None:
    wanted = DdlSchedule((least, least + more), STATEMENT_KINDS)
    times = [ddl_time_ms(wanted, seed, 0, number) for number in range(200)]
    gaps = {after - before for before, after in pairwise(times)}
    assert min(gaps) >= least and max(gaps) <= least + more
    assert least <= times[0] <= least + more
    assert more < 9 or len(gaps) > 3


def test_entries_come_in_order_of_time_each_in_a_millisecond_of_its_own() -> None:
    wanted = (every(ADD_INDEX), DdlSchedule((500, 500), (ADD_COLUMN,)), DdlSchedule((1, 1), (DROP_INDEX,)))
    found = list(islice(schedule_ddl(wanted, 7, 60_000), 2_000))
    assert all(before.ms < after.ms for before, after in pairwise(found))
    assert found[0] == ScheduledDdl(60_001, 2, 0)
    assert next(turn for turn in found if turn.entry == 1).ms == 60_500
    for entry in range(3):
        numbers = [turn.number for turn in found if turn.entry == entry]
        assert numbers == list(range(len(numbers)))


def test_kinds_come_in_turn_or_as_the_seed_chooses() -> None:
    assert [chosen.kind for chosen in played([every(*STATEMENT_KINDS)], 10)[0]] == [*STATEMENT_KINDS] * 2

    wanted = [every(*STATEMENT_KINDS, random=True)]
    said, other = (played(wanted, 60, seed)[0] for seed in (1, 2))
    assert {chosen.kind for chosen in said} == set(STATEMENT_KINDS)
    assert {chosen.table for chosen in said} == {0, 1}
    assert said != other
    assert said == played(wanted, 60, 1)[0]


@pytest.mark.parametrize(
    ("kinds", "columns", "indexes"),
    [((ADD_COLUMN,), MOST_COLUMNS, 0), ((ADD_INDEX,), 0, MOST_INDEXES), ((DROP_INDEX, DROP_COLUMN), 0, 0)],
)
def test_a_table_does_not_grow_without_end(kinds: tuple[str, ...], columns: int, indexes: int) -> None:
    """Only what a statement added is dropped. If nothing was added, something is added."""
    said, known = played([every(*kinds, table=1)], 100)
    (_, orders) = tables(known)
    assert len(orders.columns) - len(ORDERS.columns) in range(columns - 1, columns + 2)
    assert len(orders.indexes) - len(ORDERS.indexes) in range(indexes - 1, indexes + 2)
    assert len({chosen.text for chosen in said}) == len(said)


def test_a_column_comes_with_a_default_and_a_name_that_no_other_had() -> None:
    said, _ = played([every(ADD_COLUMN, DROP_COLUMN, table=0)], 200)
    added = [chosen.text for chosen in said if chosen.kind == ADD_COLUMN]
    names = [text.split("ADD COLUMN ")[1].split()[0] for text in added]
    assert len(set(names)) == len(names) == 100
    assert all(" DEFAULT " in text for text in added)
    assert {type for type, _ in TYPES if any(f" {type} " in text for text in added)} == {type for type, _ in TYPES}
    assert 0 < sum("NOT NULL" in text for text in added) < len(added)

    table = create_table("CREATE TABLE t (id INT PRIMARY KEY, ADDED_3 INT)", "shop")
    chosen = DdlChooser([every(ADD_COLUMN)], 7, [table.last_ids], [""]).choose(ScheduledDdl(1, 0, 0), [table], False)
    assert "ADD COLUMN `added_3_2`" in chosen.text


def test_truncate_never_meets_a_table_that_a_foreign_key_refers_to() -> None:
    """Where a plan asks for it, the plan is refused."""
    said, _ = played([every(TRUNCATE)], 20)
    assert {chosen.text for chosen in said} == {"TRUNCATE TABLE `shop`.`orders`"}
    circle = [
        replace(table, foreign_keys=tuple(replace(foreign, table=other.name) for foreign in ORDERS.foreign_keys))
        for table, other in (SHOP, SHOP[::-1])
    ]
    with pytest.raises(UserError, match=r"truncate: .*1701.*`shop`\.`orders`"):
        check_truncate([every(TRUNCATE, table=0)], SHOP, NOTHING)
    with pytest.raises(UserError, match="1701"):
        check_truncate([every(ADD_INDEX, TRUNCATE)], circle, NOTHING)
    check_truncate([every(TRUNCATE), every(ADD_COLUMN, table=0)], SHOP, NOTHING)


@pytest.mark.parametrize(("kind", "chosen"), [(TRUNCATE, "ADD INDEX"), (ADD_COLUMN, "ADD COLUMN")])
def test_truncate_of_tables_without_changes_becomes_an_index(kind: str, chosen: str) -> None:
    """It would have no effect."""
    chooser = DdlChooser([every(kind)], 7, [table.last_ids for table in SHOP], truncate_refusals(SHOP, NOTHING))
    assert chosen in chooser.choose(ScheduledDdl(1, 0, 0), SHOP, True).text


def test_truncate_of_a_table_to_whose_rows_those_of_another_refer_is_refused_too() -> None:
    """Without a foreign key TiDB would truncate the table, and the references of the other would be broken."""
    free = (CUSTOMER, replace(ORDERS, foreign_keys=()))
    wanted = (TableGenerators(), TableGenerators({"customer_id": ColumnGenerator(Reference("shop", "customer", "id"))}))
    with pytest.raises(UserError, match="truncate: rows of shop.orders refer to those of shop.customer"):
        check_truncate([every(TRUNCATE, table=0)], free, wanted)
    check_truncate([every(TRUNCATE, table=0)], free, NOTHING)
    assert [bool(why) for why in truncate_refusals(free, wanted)] == [True, False]
