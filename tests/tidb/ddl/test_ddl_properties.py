"""Tables stay consistent after random statements, and changes can be undone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import after, behind, shape

from simulator.errors import DdlError
from simulator.releases import V8_5
from simulator.ticdc.table_info import flags, handle_key
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.column_definitions import FromColumn, find_column_sources
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.parser.ddl import parse_ddl

pytestmark = pytest.mark.slow

NAMES = st.sampled_from(["a", "b", "c", "d", "E", "a2"])
TYPES = st.sampled_from(
    "INT|BIGINT UNSIGNED NOT NULL|VARCHAR(10)|VARCHAR(20) NOT NULL DEFAULT 'x'|DECIMAL(10,2)|TEXT|CHAR(4)|INT AS (a + 1)"
    "|DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3)|ENUM('x','y') NOT NULL".split("|")
)
PLACES = st.one_of(st.sampled_from(["", " FIRST"]), NAMES.map(lambda name: f" AFTER {name}"))
KEYS = st.sampled_from(["k1", "k2", "K1"])


def spec(draw: st.DrawFn) -> str:
    """Return a spec of ALTER TABLE, valid or not."""
    name, other, key, place, type = draw(NAMES), draw(NAMES), draw(KEYS), draw(PLACES), draw(TYPES)
    return draw(
        st.sampled_from(
            [
                f"ADD COLUMN {name} {type}{place}",
                f"DROP COLUMN {name}",
                f"MODIFY {name} {type}{place}",
                f"CHANGE {name} {other} {type}{place}",
                f"RENAME COLUMN {name} TO {other}",
                f"ADD KEY {key} ({name})",
                f"ADD UNIQUE {key} ({name}, {other})",
                f"ADD KEY ({name})",
                f"ADD PRIMARY KEY ({name})",
                f"DROP KEY {key}",
                "DROP PRIMARY KEY",
                f"RENAME KEY {key} TO k3",
                f"ALTER {name} SET DEFAULT 1",
                f"ADD KEY {key} (({name} + 1))",
                "COMMENT 'x'",
                f"ALTER INDEX {key} INVISIBLE",
                "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            ]
        )
    )


@st.composite
def alterations(draw: st.DrawFn) -> str:
    several = ", ".join(spec(draw) for _ in range(draw(st.integers(1, 2))))
    alone = st.sampled_from([several, several, several, f"PARTITION BY HASH ({draw(NAMES)})", "REMOVE PARTITIONING"])
    return f"ALTER TABLE t {draw(alone)}"


def tried(state: Catalog, text: str) -> Catalog:
    """Return the catalog after the statement, or the same one after an error."""
    statement = parse_ddl(text)
    assert statement is not None
    try:
        return behind(statement, text, state)
    except DdlError as error:
        assert error.code not in ("", "parser:1064"), error
        return state


def check(table: Table) -> None:
    """Check that names and ids are unique, keys have existing columns, and derived properties can be computed."""
    names = [column.name.lower() for column in table.columns]
    assert names and len(set(names)) == len(names)
    ids = [column.id for column in table.columns]
    assert len(set(ids)) == len(ids) and max(ids) <= table.last_ids.column
    keys = [index.name.lower() for index in table.indexes]
    assert len(set(keys)) == len(keys) and len({index.id for index in table.indexes}) == len(keys)
    spelled = {column.name for column in table.columns}
    for index in table.indexes:
        assert index.columns and all(part.expression or part.name in spelled for part in index.columns)
        assert index.id <= table.last_ids.index
    assert set(table.primary_key) <= {column.name for column in table.columns if column.not_null}
    assert set(handle_key(table)) <= spelled
    assert set(flags(table, V8_5)) == spelled


START = "CREATE TABLE t (id INT, a INT, b VARCHAR(10), KEY k1 (b))"


@given(st.lists(alterations(), max_size=12))
@settings(max_examples=60)
def test_tables_stay_consistent_after_any_statements(texts: list[str]) -> None:
    """Each statement has a source for every value of existing rows."""
    state = after(START)
    for text in texts:
        before, state = state, tried(state, text)
        old, new = before.table("test", "t"), state.table("test", "t")
        statement = parse_ddl(text)
        assert old and new and statement
        check(new)
        sources = find_column_sources(old, new)
        assert len(sources) == len(visible_columns(new))
        places = [source.index for source in sources if isinstance(source, FromColumn)]
        assert len(set(places)) == len(places) and all(place < len(visible_columns(old)) for place in places)


@given(st.lists(alterations(), max_size=6), TYPES, PLACES)
@settings(max_examples=30)
def test_a_column_added_and_dropped_leaves_the_table_as_it_was(texts: list[str], type: str, place: str) -> None:
    """So do an added and dropped key, and a name that is changed and restored. Only ids differ."""
    state = after(START)
    for text in texts:
        state = tried(state, text)
    for there, back in (
        (f"ALTER TABLE t ADD zz {type}{place}", "ALTER TABLE t DROP zz"),
        ("ALTER TABLE t ADD UNIQUE zz (id)", "ALTER TABLE t DROP KEY zz"),
        ("ALTER TABLE t RENAME COLUMN id TO zz", "ALTER TABLE t RENAME COLUMN zz TO id"),
        ("RENAME TABLE t TO zz", "ALTER TABLE zz RENAME TO t"),
        ("ALTER TABLE t COMMENT 'zz'", f"ALTER TABLE t COMMENT '{state.tables['test', 't'].comment}'"),
    ):
        changed = tried(state, there)
        if changed is not state:
            again = tried(changed, back)
            assert shape(state.tables["test", "t"]) == shape(again.tables["test", "t"])
