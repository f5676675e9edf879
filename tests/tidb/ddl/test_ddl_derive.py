"""Derived ALTER statements lead from one definition of a table to another."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import after, cases, created

from simulator.errors import DdlError
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.derive import alterations
from simulator.tidb.model.table import Table


def table_behind(before: Table, statements: tuple[str, ...]) -> Table:
    found = after(*statements, start=build_catalog([before])).table("test", "t")
    assert found is not None
    return found


def specs(before: str, later: str, **renamed: str) -> str:
    """Return the derived specs, after checking that they lead to the second definition."""
    old, new = created(before), created(later)
    statements = alterations(old, new, renamed)
    assert alterations(table_behind(old, statements), new, {}) == ()
    return "; ".join(text.removeprefix("ALTER TABLE `test`.`t` ") for text in statements) or "(none)"


CHANGES = cases("""
    (a int) => (a int) => (none)
    (a int) => (a int, b varchar(9) not null default 'x') => ADD COLUMN `b` varchar(9) NOT NULL DEFAULT 'x'
    (a int, b int) => (b int) => DROP COLUMN `a`
    (a int, b int, c int) => (c int, a int, b int) => MODIFY COLUMN `c` int FIRST
    (a int, b int, c int) => (b int, c int, a int) => MODIFY COLUMN `a` int AFTER `c`
    (a int) => (a bigint unsigned) => MODIFY COLUMN `a` bigint unsigned
    (a int, key k (a)) => (a int) => DROP INDEX `k`
    (a int, b text) => (a int, b text, unique u (a), key p (b(9))) => ADD UNIQUE INDEX `u` (`a`); ADD INDEX `p` (`b`(9))
    (a int not null) => (a int not null, primary key (a) nonclustered) => ADD PRIMARY KEY (`a`) NONCLUSTERED
    (a int, key k (a)) => (a int, key k (a) invisible) => ALTER INDEX `k` INVISIBLE
    (a int) comment 'x' => (a int) comment 'it''s' => COMMENT = 'it''s'
    (a int) => (a int) collate utf8mb4_general_ci => DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_general_ci
    (a varchar(9)) charset utf8 => (a varchar(9)) charset utf8mb4
        => DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin; MODIFY COLUMN `a` varchar(9)
    (a datetime) => (a datetime) ttl = a + interval 3 month => TTL = `a` + INTERVAL 3 MONTH TTL_ENABLE = 'ON'
    (a datetime) ttl = a + interval 3 month => (a datetime) => REMOVE TTL
    (a int) partition by hash (a) partitions 2 => (a int) => REMOVE PARTITIONING
    (a int) => (a int) partition by hash (a) partitions 2 => PARTITION BY HASH (a) PARTITIONS 2
    (a int) partition by range (a) (partition p0 values less than (5)) => (a int) partition by range (a) (partition p0 values less than (5), partition p1 values less than maxvalue)
        => ADD PARTITION (PARTITION `p1` VALUES LESS THAN (MAXVALUE))
""")


@pytest.mark.parametrize(("before", "later", "said"), CHANGES)
def test_each_change_is_one_statement(before: str, later: str, said: str) -> None:
    assert specs(before, later) == said


def test_a_renamed_column_keeps_its_place_and_its_keys() -> None:
    before, later = (f"(a int primary key, {name} int, key k ({name}))" for name in ("name", "full_name"))
    assert specs(before, later, name="full_name") == "RENAME COLUMN `name` TO `full_name`"


COLUMNS = st.dictionaries(
    st.sampled_from("abcdefg"),
    st.sampled_from(
        "int|int not null default 7|bigint unsigned|varchar(20)|varchar(30) default 'it''s'|decimal(10,2)|datetime(3)|json|year"
        "|timestamp null default current_timestamp on update current_timestamp|enum('a','b') default 'a'|text comment 'c'"
        "|varbinary(9) default 'x'|bit(4) default b'101'|double default 1.5".split("|")
    ),
    min_size=1,
)
KEYS = st.lists(
    st.sampled_from(("unique u1 (id)", "key k1 (id)", "key k2 (id desc) comment 'k'", "unique u2 (id, id2)")),
    unique=True,
)
COMMENTS = st.sampled_from(("", " comment 'x'"))


@st.composite
def definitions(draw: st.DrawFn) -> str:
    """Return the body of a CREATE TABLE with a column `id` for keys."""
    columns = draw(st.permutations([f"{name} {kind}" for name, kind in draw(COLUMNS).items()]))
    elements = ["id int not null primary key", "id2 int", *columns, *draw(KEYS)]
    return f"({', '.join(elements)}){draw(COMMENTS)}"


@pytest.mark.slow
@settings(max_examples=80)
@given(definitions(), definitions())
def test_the_derived_statements_lead_to_the_other_definition(before: str, later: str) -> None:
    old, new = created(before), created(later)
    try:
        reached = table_behind(old, alterations(old, new, {}))
    except DdlError as error:
        # Not every type becomes every other; what cannot is refused as TiDB does, and the user gives the statements.
        assert error.code == "ddl:8200", error
        return
    assert alterations(reached, new, {}) == ()
    assert [column.name for column in reached.columns] == [column.name for column in new.columns]
