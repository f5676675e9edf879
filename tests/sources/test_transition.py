"""Rows of tables that statements change between two snapshots: as the statements leave them, and as the old or the new
definition tells what becomes of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.altered import (
    ALTERATIONS,
    END,
    MIDDLE,
    SPAN,
    START,
    Altered,
    Event,
    Row,
    alter,
    changes_of,
    image,
    numbers,
    packed,
    row_of,
    texts,
)

from simulator.errors import SnapshotError
from simulator.sources.schema_change import SchemaChangePoint, Transition, altered_rows
from simulator.sources.snapshots import PlacedTable
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.column_sources import find_column_sources
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tso import compose

COLUMNS = "id int not null, a int, b varchar(10) not null default 'q', c decimal(6,2)"
PARTITIONS = " partition by range (id) (partition p0 values less than (10), partition p1 values less than maxvalue)"
DEFINITIONS = (
    f"({COLUMNS}, primary key (id))",
    f"({COLUMNS}, primary key (id, b))",
    f"({COLUMNS}, unique key u (id))",
    f"({COLUMNS})",
    f"({COLUMNS}, primary key (id)){PARTITIONS}",
    f"({COLUMNS}){PARTITIONS}",
)
POINTS = st.sampled_from((START, MIDDLE, END))


def cells(column: Column) -> st.SearchStrategy[str | None]:
    """A few texts of a column, so that rows meet."""
    if column.name == "id":
        return st.integers(0, 20).map(str)
    few = {"c": ["0", "1.5", "9.95", "1234.56"], "d": ["1.5", "2"], "b": ["", "7", "abc", "abcdefg"], "m": ["7", "é"]}
    texts = st.sampled_from(few.get(column.name, ["0", "7", "32768", "1234"])).map(lambda text: held(column, text))
    return texts if column.not_null else texts | st.none()


def held(column: Column, text: str) -> str:
    """A text as the column can hold it."""
    match column.type.name:
        case "decimal":
            return f"{float(text) % 10 ** (column.type.length - column.type.decimal):.{column.type.decimal}f}"
        case "smallint":
            return str(int(text) % 32768)
        case "varchar":
            return text[: column.type.length]
        case _:
            return text


def rows_of(table: Table) -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries({column.name: cells(column) for column in visible_columns(table)})


def distinct(table: Table, rows: Iterable[Row]) -> list[Row]:
    """One row of each handle key; all where there is none."""
    key = handle_key(table)
    return list({tuple(row[name] for name in key) if key else place: row for place, row in enumerate(rows)}.values())


@st.composite
def moves(draw: st.DrawFn) -> tuple[Altered, list[Row], list[Row]]:
    """A table with its statements, its rows before them, and its rows in the second snapshot."""
    statements = draw(st.lists(st.sampled_from(list(ALTERATIONS)), min_size=1, max_size=4))
    altered = alter(draw(st.sampled_from(DEFINITIONS)), statements)
    pairs = [
        (row, altered.row_after(row))
        for row in distinct(altered.before, draw(st.lists(rows_of(altered.before), max_size=12)))
        if altered.takes(row)
    ]
    reached = distinct(altered.after, [now for _, now in pairs if now])
    old = [row for row, now in pairs if now is None or any(now is kept for kept in reached)]
    new = []
    for row in reached:
        name = draw(st.sampled_from([column.name for column in altered.after.columns] + ["stays", "stays", "goes"]))
        changed = [column for column in altered.after.columns if column.name == name]
        new += [] if name == "goes" else [{**row, **{column.name: draw(cells(column)) for column in changed}}]
    return altered, old, distinct(altered.after, new + draw(st.lists(rows_of(altered.after), max_size=4)))


def replay(state: Counter[tuple[int, bytes]], found: Iterable[Event]) -> None:
    """Applies changes to rows; every row that goes must be there."""
    for _, number, _, before, after in found:
        if before is not None:
            assert state[number, before] > 0
            state[number, before] -= 1
        if after is not None:
            state[number, after] += 1


def held_by(places: PlacedTable, rows: Sequence[Row]) -> Counter[tuple[int, bytes]]:
    """Rows as table numbers and images."""
    return Counter(zip(numbers(places, rows).to_pylist(), (image(places.table, row) for row in rows), strict=True))


def reached(
    altered: Altered, old: Sequence[Row], point: SchemaChangePoint, found: Sequence[Event]
) -> Counter[tuple[int, bytes]]:
    """Rows after the changes before the statements, the statements, and the changes behind them."""
    when = compose(SPAN.start_ms + 1 + point.slot)
    before, after = altered.change.before, altered.change.after
    state = held_by(before, old)
    early = [event for event in found if event[0] < when]
    assert {event[1] for event in early} <= set(before.indexes)
    replay(state, early)
    left = [altered.row_after(row_of(before.table, data)) for _, data in state.elements()]
    state = held_by(after, [row for row in left if row])
    late = found[len(early) :]
    assert {event[1] for event in late} <= set(after.indexes)
    replay(state, late)
    return +state


@pytest.mark.slow
@given(moves(), POINTS)
@settings(max_examples=60)
def test_changes_before_the_statements_then_these_then_the_others_lead_to_the_second_snapshot(
    move: tuple[Altered, list[Row], list[Row]], point: SchemaChangePoint
) -> None:
    """Whatever the statements, and wherever they stand; the handle of each change is its row's in the definition of its
    time, the image and a number where there is no handle key."""
    altered, old, new = move
    found = changes_of(altered, point, old, new)

    assert reached(altered, old, point, found) == held_by(altered.change.after, new)
    for _, number, handle, before, after in found:
        table = altered.before if number in altered.change.before.indexes else altered.after
        image = (before if after is None else after) or b""
        cells = row_of(table, image)
        if handle_key(table):
            own = key_bytes.handle_keys(table, dict(zip(cells, texts(table, [cells]), strict=True)))
            assert handle == own[0].as_py()
        else:
            assert handle[:-8] == image


@pytest.mark.slow
@given(moves(), POINTS, st.integers(0, 12))
@settings(max_examples=40)
def test_changes_do_not_depend_on_how_rows_are_spread(
    move: tuple[Altered, list[Row], list[Row]], point: SchemaChangePoint, cut: int
) -> None:
    """In which batches they are read, and in which order; nor on whether a key that stays is made again."""
    altered, old, new = move
    found = changes_of(altered, point, old, new)
    key = handle_key(altered.before)
    stays = bool(key) and key == handle_key(altered.after) and not {"a", "z"} & set(key)
    known = replace(altered, change=replace(altered.change, key_stays=stays))

    assert changes_of(known, point, old[::-1], new[::-1], cut) == found


def rows(table: Table, images: Iterable[bytes]) -> list[Row]:
    return [row_of(table, image) for image in images]


def read(altered: Altered, *images: bytes) -> pa.RecordBatch:
    """What `altered_rows` makes of rows of the table before."""
    old = rows(altered.before, images)
    return altered_rows(altered.change, texts(altered.before, old), numbers(altered.change.before, old))


GRADED = alter("(id int primary key, name varchar(10))", ["ADD COLUMN grade INT NOT NULL DEFAULT 7"])
PRICED = alter(f"({COLUMNS}, primary key (id))", ["MODIFY c DECIMAL(10,4)"])
DATED = alter("(id int primary key, day date)", ["MODIFY day DECIMAL(10,2)"])
LOOSE = alter("(id int primary key, a int not null)", ["MODIFY a INT"])
NAMELESS = alter("(id int primary key, name varchar(10) default 'x', a int)", ["DROP COLUMN name"])
UNNAMED = alter("(id int primary key, name varchar(10) not null, a int)", ["DROP COLUMN name"])
TIMELESS = alter("(id int primary key, at datetime default current_timestamp, a int)", ["DROP COLUMN at"])
SUMLESS = alter("(id int primary key, a int, s int as (a + 1) stored)", ["DROP COLUMN s"])
KEYED = alter("(id int not null, a int)", ["ADD UNIQUE u (id)"])
KEYLESS = alter("(id int not null, a int)", ["ADD COLUMN grade INT NOT NULL DEFAULT 7"])
LONGER = alter("(b varchar(10) not null, a int, unique key u (b(2)))", ["DROP INDEX u", "ADD UNIQUE u (b(3))"])
CASED = alter(
    "(b varchar(10) collate utf8mb4_general_ci not null, a int, unique key u (b))",
    ["DROP INDEX u", "MODIFY b VARCHAR(10) COLLATE utf8mb4_bin NOT NULL", "ADD UNIQUE u (b)"],
)
WIDENED = alter("(id int primary key, s varchar(3))", ["MODIFY s VARCHAR(10)"])
ROUNDED = alter("(c decimal(6,2) not null, a int, unique key u (c))", ["MODIFY c DECIMAL(5,1) NOT NULL"])
UNIQUE = alter("(id int primary key, a int, b int, unique key u (a))", ["DROP INDEX u", "DROP COLUMN a"])
PARTED = f"(id int primary key, a int){PARTITIONS}"
EMPTIED = alter(PARTED, ["TRUNCATE PARTITION p0"])
DROPPED = alter(PARTED, ["DROP PARTITION p0"])
GROWN = alter(
    "(id int primary key, a int) partition by range (id) (partition p0 values less than (10))",
    ["ADD PARTITION (PARTITION p1 VALUES LESS THAN (20))"],
)


def test_a_row_is_what_the_statements_make_of_it_beside_what_it_was() -> None:
    """The number of its old table, four bytes little-endian, and its old image."""
    ids = {"id": pa.array(["1", "2"])}

    assert read(GRADED, packed("1", "é"), packed("2", None)).to_pydict() == {
        "table": [1, 1],
        "handle": key_bytes.handle_keys(GRADED.after, ids).to_pylist(),
        "image": [packed("1", "é", "7"), packed("2", None, "7")],
        "unaltered": [bytes(4) + packed("1", "é"), bytes(4) + packed("2", None)],
    }


def test_rows_of_emptied_partitions_are_left_out() -> None:
    """They go with the statement, without a change of their own."""
    for altered in (EMPTIED, DROPPED):
        assert read(altered, packed("9", "1"), packed("10", "2"))["unaltered"].to_pylist() == [
            (1).to_bytes(4, "little") + packed("10", "2")
        ]


def test_a_row_moves_to_the_partition_that_takes_it_after_the_statements() -> None:
    """Its number is that of the table after, and what it was has the number before."""
    assert read(DROPPED, packed("10", "2"))["table"].to_pylist() == [DROPPED.change.after.indexes[0]]


def test_without_a_handle_key_the_handle_is_the_image_which_whoever_compares_ends_by_a_number() -> None:
    """Even where the table had a key before."""
    unkeyed = alter(f"({COLUMNS}, unique key u (id))", ["DROP INDEX u"])
    batch = read(unkeyed, packed("1", "2", "q", None))

    assert batch["handle"] == batch["image"]


def test_a_stored_generated_column_is_computed_where_the_old_table_has_none() -> None:
    """From the columns as the statements leave them."""
    before, after = (
        create_table(f"CREATE TABLE t {definition}", "test")
        for definition in ("(id int primary key, a int)", "(id int primary key, a int, s int as (a + 1) stored)")
    )
    change = Transition(PlacedTable(before, (0,)), PlacedTable(after, (1,)), find_column_sources(before, after))
    made = altered_rows(change, [pa.array(["1"]), pa.array(["41"])], pa.array([0], pa.int32()))

    assert made["image"].to_pylist() == [packed("1", "41", "42")]


@pytest.mark.parametrize(
    ("column", "a", "shown"),
    [
        ("s tinyint as (a * 100) stored", "2", "id=1, a=2 …"),
        ("s int as (a + 1) stored not null", None, "id=1, a=NULL …"),
    ],
)
def test_a_computed_column_that_cannot_hold_its_value_is_an_error(column: str, a: str | None, shown: str) -> None:
    """As is a NULL where it takes none."""
    before, after = (
        create_table(f"CREATE TABLE t (id int primary key, a int{more})", "test") for more in ("", f", {column}")
    )
    change = Transition(PlacedTable(before, (0,)), PlacedTable(after, (1,)), find_column_sources(before, after))
    with pytest.raises(SnapshotError) as caught:
        altered_rows(change, [pa.array(["1"]), pa.array([a], pa.string())], pa.array([0], pa.int32()))
    assert shown in str(caught.value)


MISFITS = {
    "NULL in a NOT NULL column": (
        alter(f"({COLUMNS}, primary key (id))", ["MODIFY a BIGINT NOT NULL"]),
        packed("5", None, "q", None),
        "id=5, a=NULL, b=q, c=NULL",
    ),
    "text that is too long": (
        alter(f"({COLUMNS}, primary key (id), e int)", ["MODIFY b VARCHAR(3)"]),
        packed("5", "1", "abcd", "1.00", "0"),
        "id=5, a=1, b=abcd, c=1.00",
    ),
    "a number out of range": (
        alter(f"({COLUMNS}, primary key (id))", ["MODIFY c DECIMAL(3,1)"]),
        packed("5", "1", "é", "-1234.56"),
        "id=5, a=1, b=é, c=-1234.56",
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_row_over_which_tidb_could_not_run_the_statements_is_an_error(name: str) -> None:
    """With its first columns, the rows before it being fine."""
    altered, odd, shown = MISFITS[name]
    fine = packed("4", "1", "abc", "1.00", *(["0"] if len(altered.before.columns) > 4 else []))
    with pytest.raises(SnapshotError) as caught:
        read(altered, fine, odd, odd)

    assert str(caught.value) == (
        f"table test.t: TiDB refuses the schema change, for a row does not fit it ({shown} …); "
        "accepted: rows that the new definition can hold"
    )


def test_null_stays_null_whatever_becomes_of_the_type() -> None:
    """It is no misfit."""
    assert read(PRICED, packed("5", None, "q", None))["image"].to_pylist() == [packed("5", None, "q", None)]


Case = tuple[Altered, bytes | None, bytes | None, bool, bytes | None, bytes | None]
CASES: dict[str, Case] = {
    "a number that is a date of the old type": (
        DATED,
        packed("1", "2020-02-20"),
        packed("1", "20200221.00"),
        True,
        packed("1", "2020-02-20"),
        packed("1", "2020-02-21"),
    ),
    "a number that is no date of the old type": (
        DATED,
        packed("1", "2020-02-20"),
        packed("1", "0.00"),
        False,
        packed("1", "20200220.00"),
        packed("1", "0.00"),
    ),
    "a row goes": (GRADED, packed("1", "a"), None, True, packed("1", "a"), None),
    "a new row has the default of the new column": (GRADED, None, packed("1", "a", "7"), True, None, packed("1", "a")),
    "a new row has another value in the new column": (
        GRADED,
        None,
        packed("1", "a", "8"),
        False,
        None,
        packed("1", "a", "8"),
    ),
    "a row changes, the new column does not": (
        GRADED,
        packed("1", "a"),
        packed("1", "b", "7"),
        True,
        packed("1", "a"),
        packed("1", "b"),
    ),
    "a row changes in the new column": (
        GRADED,
        packed("1", "a"),
        packed("1", "a", "8"),
        False,
        packed("1", "a", "7"),
        packed("1", "a", "8"),
    ),
    "a number that the old type can hold": (
        PRICED,
        packed("1", None, "q", "1.50"),
        packed("1", None, "q", "2.5000"),
        True,
        packed("1", None, "q", "1.50"),
        packed("1", None, "q", "2.50"),
    ),
    "a number that the old type would round": (
        PRICED,
        packed("1", None, "q", "1.50"),
        packed("1", None, "q", "2.5001"),
        False,
        packed("1", None, "q", "1.5000"),
        packed("1", None, "q", "2.5001"),
    ),
    "a number that the old type has no room for": (
        PRICED,
        packed("1", None, "q", "1.50"),
        packed("1", None, "q", "99999.0000"),
        False,
        packed("1", None, "q", "1.5000"),
        packed("1", None, "q", "99999.0000"),
    ),
    "NULL where the old definition has NOT NULL": (
        LOOSE,
        packed("1", "2"),
        packed("1", None),
        False,
        packed("1", "2"),
        packed("1", None),
    ),
    "a row keeps its value in a column that is dropped": (
        NAMELESS,
        packed("1", "a", "2"),
        packed("1", "3"),
        True,
        packed("1", "a", "2"),
        packed("1", "a", "3"),
    ),
    "a new row has the default of a column that is dropped": (
        NAMELESS,
        None,
        packed("1", "3"),
        True,
        None,
        packed("1", "x", "3"),
    ),
    "a new row needs a value in a column that is dropped": (
        UNNAMED,
        None,
        packed("1", "3"),
        False,
        None,
        packed("1", "3"),
    ),
    "an old row has a value in a column that is dropped": (
        UNNAMED,
        packed("1", "a", "2"),
        packed("1", "3"),
        True,
        packed("1", "a", "2"),
        packed("1", "a", "3"),
    ),
    "a new row has NULL for an expression's value in a column that is dropped": (
        TIMELESS,
        None,
        packed("1", "3"),
        True,
        None,
        packed("1", None, "3"),
    ),
    "a row goes with its generated column": (SUMLESS, packed("1", "2", "3"), None, True, packed("1", "2", "3"), None),
    "a generated column that is dropped would have to be computed": (
        SUMLESS,
        packed("1", "2", "3"),
        packed("1", "5"),
        False,
        packed("1", "2"),
        packed("1", "5"),
    ),
    "a new row's generated column that is dropped would have to be computed": (
        SUMLESS,
        None,
        packed("1", "5"),
        False,
        None,
        packed("1", "5"),
    ),
    "a row is known by a key that is new": (
        KEYED,
        packed("1", "2"),
        packed("1", "3"),
        False,
        packed("1", "2"),
        packed("1", "3"),
    ),
    "a row goes from a table that gets a key": (KEYED, packed("1", "2"), None, True, packed("1", "2"), None),
    "a new row of a table that gets a key": (KEYED, None, packed("1", "2"), False, None, packed("1", "2")),
    "a new row of a table without a key": (KEYLESS, None, packed("1", "2", "7"), True, None, packed("1", "2")),
    "a text that the old type has no room for": (
        WIDENED,
        packed("1", "abc"),
        packed("1", "abcd"),
        False,
        packed("1", "abc"),
        packed("1", "abcd"),
    ),
    "a row whose old key would have to change with it": (
        ROUNDED,
        packed("9.95", "1"),
        packed("10.0", "2"),
        False,
        packed("10.0", "1"),
        packed("10.0", "2"),
    ),
    "a row whose old key is exact": (
        ROUNDED,
        packed("9.90", "1"),
        packed("9.9", "2"),
        True,
        packed("9.90", "1"),
        packed("9.90", "2"),
    ),
    "a new row without the columns of a unique key": (UNIQUE, None, packed("1", "4"), False, None, packed("1", "4")),
    "a row changes that has lost a column of a unique key": (
        UNIQUE,
        packed("1", "2", "3"),
        packed("1", "4"),
        True,
        packed("1", "2", "3"),
        packed("1", "2", "4"),
    ),
    "a new row with a key of which the old definition had less": (
        LONGER,
        None,
        packed("abcd", "1"),
        False,
        None,
        packed("abcd", "1"),
    ),
    "a row changes that has a key of which the old definition had less": (
        LONGER,
        packed("abcd", "1"),
        packed("abcd", "2"),
        True,
        packed("abcd", "1"),
        packed("abcd", "2"),
    ),
    "a new row whose key is one in the old collation with others": (
        CASED,
        None,
        packed("A", "1"),
        False,
        None,
        packed("A", "1"),
    ),
    "a row changes in a partition that stays": (
        EMPTIED,
        packed("11", "1"),
        packed("11", "2"),
        True,
        packed("11", "1"),
        packed("11", "2"),
    ),
    "a new row of a table that loses rows may have had its key": (
        EMPTIED,
        None,
        packed("5", "1"),
        False,
        None,
        packed("5", "1"),
    ),
    "a new row that no partition took before": (GROWN, None, packed("15", "1"), False, None, packed("15", "1")),
    "a new row that a partition took before": (GROWN, None, packed("5", "1"), True, None, packed("5", "1")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_stands_before_the_statements_if_the_old_definition_can_tell_it(name: str) -> None:
    """In its words then, and otherwise behind them in those of the new one."""
    altered, old, new, early, before, after = CASES[name]
    was, now = rows(altered.before, [old] if old else []), rows(altered.after, [new] if new else [])
    found = changes_of(altered, END, was, now)
    places = altered.change.before if early else altered.change.after

    ends_ts = compose(SPAN.start_ms + 1 + END.slot)
    assert [(change[0] < ends_ts, *change[3:]) for change in found] == [(early, before, after)]
    assert found[0][1] in places.indexes


@pytest.mark.parametrize(
    ("point", "slot", "early", "millisecond"),
    [
        (START, 0, False, 0),
        (START, 999, False, 999),
        (MIDDLE, 0, True, 0),
        (MIDDLE, 499, True, 499),
        (MIDDLE, 500, False, 500),
        (MIDDLE, 999, False, 999),
        (END, 0, True, 0),
        (END, 500, True, 450),
        (END, 999, True, 899),
    ],
)
def test_what_the_old_definition_can_tell_keeps_its_time_or_is_squeezed_before_the_statements(
    point: SchemaChangePoint, slot: int, early: bool, millisecond: int
) -> None:
    """At the end of the span all of it stands before them, in proportionally less time."""
    new = rows(GRADED.after, [packed("1", "a", "7")])
    ((commit_ts, number, *_),) = changes_of(GRADED, point, [], new, slot_of=lambda _: slot)

    assert commit_ts == compose(SPAN.start_ms + 1 + millisecond, 1)
    assert number == (0 if early else 1)


@pytest.mark.parametrize(
    ("point", "slot", "millisecond"),
    [(START, 3, 3), (MIDDLE, 3, 503), (MIDDLE, 600, 600), (END, 3, 903), (END, 250, 950), (END, 950, 950)],
)
def test_what_only_the_new_definition_can_tell_stands_in_the_time_that_is_left(
    point: SchemaChangePoint, slot: int, millisecond: int
) -> None:
    """Where its own time is there, it keeps it."""
    new = rows(GRADED.after, [packed("1", "a", "8")])
    ((commit_ts, *_),) = changes_of(GRADED, point, [], new, slot_of=lambda _: slot)

    assert commit_ts == compose(SPAN.start_ms + 1 + millisecond, 1)


@pytest.mark.parametrize("sent", [(False, True), (True, False), (False, False)])
def test_only_changes_under_names_that_the_changefeed_replicates_are_sent(sent: tuple[bool, bool]) -> None:
    """A table that statements rename in comes without what changed before them, if it could have been told then."""
    altered = replace(GRADED, change=replace(GRADED.change, sent=sent))
    new = rows(altered.after, [packed("1", "a", "7"), packed("2", "a", "8")])
    found = {(number, after) for _, number, _, _, after in changes_of(altered, MIDDLE, [], new, slot_of=lambda _: 1)}

    assert (
        found
        == {
            (False, True): {(1, packed("1", "a", "7")), (1, packed("2", "a", "8"))},
            (True, False): {(0, packed("1", "a"))},
            (False, False): set(),
        }[sent]
    )


def test_equal_rows_of_a_table_without_a_handle_key_are_told_apart_by_numbers() -> None:
    """Before the statements as behind them, whichever of them go and come."""
    old, new = [packed("1", "2")] * 3, [packed("1", "2", "7"), packed("9", "9", "7"), packed("9", "9", "7")]
    found = changes_of(KEYLESS, END, rows(KEYLESS.before, old), rows(KEYLESS.after, new))
    eight = {place: place.to_bytes(8, "big") for place in (1, 2, 3)}

    assert sorted((handle, before, after) for _, _, handle, before, after in found if before) == [
        (packed("1", "2") + eight[2], packed("1", "2"), None),
        (packed("1", "2") + eight[3], packed("1", "2"), None),
    ]
    assert sorted((handle, after) for _, _, handle, before, after in found if after) == [
        (packed("9", "9") + eight[1], packed("9", "9")),
        (packed("9", "9") + eight[2], packed("9", "9")),
    ]


def test_a_row_without_a_key_that_gets_one_is_the_first_of_its_kind() -> None:
    """Two equal ones would have one key."""
    ((_, _, found, *_),) = changes_of(KEYED, END, rows(KEYED.before, [packed("1", "2")]), [])

    assert found == packed("1", "2") + (1).to_bytes(8, "big")
