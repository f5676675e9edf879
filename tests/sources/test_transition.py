"""Rows of tables that statements change between two snapshots: what the statements make of them, which of their changes
stand before the statements, in the old definition, and which behind them, in the new one.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pytest
from support.playing import row_of
from support.upstreams import after as applied

from simulator.columns import row_image
from simulator.errors import SnapshotError
from simulator.run.plan.snapshot_pairs import column_sources, lost_partitions
from simulator.sources.row_changes import ALTERED, ChangePeriod, placed_row_changes
from simulator.sources.snapshots import PlacedTable
from simulator.sources.transition import SchemaChangePoint, Transition, altered_rows
from simulator.ticdc import table_info
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.storage.tables import locate_partition
from simulator.tso import compose

Row = Mapping[str, str | None]
"""TiDB text by column."""

Event = tuple[int, int, bytes, bytes | None, bytes | None]
"""A row of CHANGES: commit-ts, table, handle, image before, image after."""

Placed = tuple[int, bytes]
"""Table number and image of a row."""

SPAN = ChangePeriod(1_700_000_000_000, 1000)
START, MIDDLE, END = SchemaChangePoint(0, False), SchemaChangePoint(500, False), SchemaChangePoint(900, True)


def alter(definition: str, *statements: str) -> Transition:
    """The table before and after the statements, both of which the changefeed replicates."""
    state = applied(f"CREATE TABLE t {definition}")
    before = state.table("test", "t")
    after = applied(*(f"ALTER TABLE t {statement}" for statement in statements), start=state).table("test", "t")
    assert before and after
    numbers = count()
    old, new = (
        PlacedTable(table, tuple(next(numbers) for _ in (table.partitioning.partitions if table.partitioning else "t")))
        for table in (before, after)
    )
    emptied = frozenset("p0" for statement in statements if statement.endswith("PARTITION p0"))
    lost = frozenset(old.indexes[number] for number in lost_partitions(before, emptied))
    return Transition(old, new, column_sources(before, after), lost, (True, True))


def texts(table: Table, rows: Sequence[Row]) -> dict[str, pa.Array]:
    names = [column.name for column in visible_columns(table)]
    return {name: pa.array([row[name] for row in rows], pa.string()) for name in names}


def packed(cells: str | None) -> bytes | None:
    """The row image of cells with commas between them."""
    return (
        None
        if cells is None
        else row_image.image_of(None if cell == "NULL" else cell.encode() for cell in cells.split(","))
    )


def numbers(places: PlacedTable, rows: Sequence[Row]) -> pa.Array:
    """In which table or partition rows are."""
    if not places.table.partitioning:
        return pa.array([places.indexes[0]] * len(rows), pa.int32())
    return pa.array(places.indexes, pa.int32()).take(locate_partition(places.table, texts(places.table, rows)))


def keyed(
    table: Table, rows: Iterable[tuple[int, bytes, bytes, bytes | None]]
) -> dict[Placed, tuple[bytes, bytes | None]]:
    """Image and old image of rows by table and handle, equal rows of a table without a handle key numbered."""
    found: dict[Placed, tuple[bytes, bytes | None]] = {}
    seen = Counter[Placed]()
    for number, handle, whole, was in sorted(rows, key=lambda row: (row[0], row[1], row[3] or b"")):
        seen[number, handle] += 1
        if not handle_key(table):
            handle += seen[number, handle].to_bytes(8, "big")
        assert (number, handle) not in found, "duplicate key"
        found[number, handle] = whole, was
    return found


def read(change: Transition, rows: Sequence[Row]) -> pa.RecordBatch:
    """What `altered_rows` makes of rows of the table before."""
    return altered_rows(change, list(texts(change.before.table, rows).values()), numbers(change.before, rows))


def changes_of(
    change: Transition, point: SchemaChangePoint, old: Sequence[Row], new: Sequence[Row], slot: int | None = None
) -> list[Event]:
    """The changes between two snapshots, all in one slot or scattered."""
    after = change.after.table
    state = zip(*(column.to_pylist() for column in read(change, old).columns), strict=True)
    cells = texts(after, new)
    whole = row_image.pack(list(cells.values()))
    handles = table_info.handles_of_rows(after, cells) if handle_key(after) else whole
    rows = zip(numbers(change.after, new).to_pylist(), handles.to_pylist(), whole.to_pylist(), strict=True)
    left, right = keyed(after, state), keyed(after, ((*row, None) for row in rows))
    met = [(key, left.get(key, (None, None)), right.get(key, (None, None))) for key in {**left, **right}]
    events: list[Event] = []
    for table in change.after.indexes:
        some = [(key[1], *was, now[0]) for key, was, now in met if key[0] == table and was[0] != now[0]]
        handle, before, unaltered, becomes = (pa.array([row[place] for row in some], pa.binary()) for place in range(4))
        slots = np.array([zlib.crc32(row[0]) % SPAN.over_ms if slot is None else slot for row in some], np.int64)
        at = (slots, np.full(len(slots), -1), np.full(len(slots), table, np.int32))
        joined = pa.RecordBatch.from_arrays([*map(pa.array, at), handle, before, becomes, unaltered], schema=ALTERED)
        for _, part in placed_row_changes(change, point, SPAN, joined):
            events += zip(*(column.to_pylist() for column in part.columns), strict=True)
    return events


COLUMNS = "id int not null, a int, b varchar(10) not null default 'q', c decimal(6,2)"
PARTITIONS = " partition by range (id) (partition p0 values less than (10), partition p1 values less than maxvalue)"
GRADED = alter("(id int primary key, name varchar(10))", "ADD COLUMN grade INT NOT NULL DEFAULT 7")
PRICED = alter(f"({COLUMNS}, primary key (id))", "MODIFY c DECIMAL(10,4)")
DATED = alter("(id int primary key, day date)", "MODIFY day DECIMAL(10,2)")
LOOSE = alter("(id int primary key, a int not null)", "MODIFY a INT")
NAMELESS = alter("(id int primary key, name varchar(10) default 'x', a int)", "DROP COLUMN name")
UNNAMED = alter("(id int primary key, name varchar(10) not null, a int)", "DROP COLUMN name")
TIMELESS = alter("(id int primary key, at datetime default current_timestamp, a int)", "DROP COLUMN at")
SUMLESS = alter("(id int primary key, a int, s int as (a + 1) stored)", "DROP COLUMN s")
KEYED = alter("(id int not null, a int)", "ADD UNIQUE u (id)")
KEYLESS = alter("(id int not null, a int)", "ADD COLUMN grade INT NOT NULL DEFAULT 7")
LONGER = alter("(b varchar(10) not null, a int, unique key u (b(2)))", "DROP INDEX u", "ADD UNIQUE u (b(3))")
CASED = alter(
    "(b varchar(10) collate utf8mb4_general_ci not null, a int, unique key u (b))",
    *("DROP INDEX u", "MODIFY b VARCHAR(10) COLLATE utf8mb4_bin NOT NULL", "ADD UNIQUE u (b)"),
)
WIDENED = alter("(id int primary key, s varchar(3))", "MODIFY s VARCHAR(10)")
ROUNDED = alter("(c decimal(6,2) not null, a int, unique key u (c))", "MODIFY c DECIMAL(5,1) NOT NULL")
UNIQUE = alter("(id int primary key, a int, b int, unique key u (a))", "DROP INDEX u", "DROP COLUMN a")
PARTED = f"(id int primary key, a int){PARTITIONS}"
EMPTIED = alter(PARTED, "TRUNCATE PARTITION p0")
DROPPED = alter(PARTED, "DROP PARTITION p0")
GROWN = alter(
    "(id int primary key, a int) partition by range (id) (partition p0 values less than (10))",
    "ADD PARTITION (PARTITION p1 VALUES LESS THAN (20))",
)


def rows(table: Table, *images: str | None) -> list[Row]:
    return [row_of(image, table) for image in map(packed, images) if image]


def images_read(altered: Transition, *images: str) -> pa.RecordBatch:
    return read(altered, rows(altered.before.table, *images))


def test_a_row_is_what_the_statements_make_of_it_beside_what_it_was() -> None:
    """The number of its old table, four bytes little-endian, and its old image."""
    assert images_read(GRADED, "1,é", "2,NULL").to_pydict() == {
        "table": [1, 1],
        "handle": table_info.handles_of_rows(GRADED.after.table, {"id": pa.array(["1", "2"])}).to_pylist(),
        "image": [packed("1,é,7"), packed("2,NULL,7")],
        "unaltered": [bytes(4) + b"1\xff\xc3\xa9", bytes(4) + b"2\xff\xfe"],
    }
    assert images_read(PRICED, "5,NULL,q,NULL")["image"].to_pylist() == [packed("5,NULL,q,NULL")]


def test_rows_of_emptied_partitions_are_left_out() -> None:
    """They go with the statement; what is left lies in the partition that takes it afterwards."""
    for altered in (EMPTIED, DROPPED):
        found = images_read(altered, "9,1", "10,2")
        assert found["unaltered"].to_pylist() == [(1).to_bytes(4, "little") + b"10\xff2"]
        assert found["table"].to_pylist() == [altered.after.indexes[-1]]


def test_without_a_handle_key_the_handle_is_the_image() -> None:
    """Even where the table had a key before; whoever compares ends it by a number."""
    batch = images_read(alter(f"({COLUMNS}, unique key u (id))", "DROP INDEX u"), "1,2,q,NULL")
    assert batch["handle"] == batch["image"]


@pytest.mark.parametrize(
    ("statement", "odd", "shown"),
    [
        ("MODIFY a BIGINT NOT NULL", "5,NULL,q,NULL", "id=5, a=NULL, b=q, c=NULL"),
        ("MODIFY b VARCHAR(3)", "5,1,abcd,1.00", "id=5, a=1, b=abcd, c=1.00"),
        ("MODIFY c DECIMAL(3,1)", "5,1,é,-1234.56", "id=5, a=1, b=é, c=-1234.56"),
    ],
)
def test_a_row_over_which_tidb_could_not_run_the_statements_is_an_error(statement: str, odd: str, shown: str) -> None:
    """With its first columns, the rows before it being fine."""
    altered = alter(f"({COLUMNS}, primary key (id), e int)", statement)
    with pytest.raises(SnapshotError) as caught:
        images_read(altered, "4,1,abc,1.00,0", f"{odd},0", f"{odd},0")
    assert str(caught.value) == (
        f"table test.t: TiDB refuses the schema change, for a row does not fit it ({shown} …); "
        "accepted: rows that the new definition can hold"
    )


CASES: dict[str, tuple[Transition, str | None, str | None, bool, str | None, str | None]] = {
    "a date of the old type": (DATED, "1,2020-02-20", "1,20200221.00", True, "1,2020-02-20", "1,2020-02-21"),
    "no date of the old type": (DATED, "1,2020-02-20", "1,0.00", False, "1,20200220.00", "1,0.00"),
    "a row goes": (GRADED, "1,a", None, True, "1,a", None),
    "a new row has the default of the new column": (GRADED, None, "1,a,7", True, None, "1,a"),
    "a new row has another value in the new column": (GRADED, None, "1,a,8", False, None, "1,a,8"),
    "a row changes, the new column does not": (GRADED, "1,a", "1,b,7", True, "1,a", "1,b"),
    "a row changes in the new column": (GRADED, "1,a", "1,a,8", False, "1,a,7", "1,a,8"),
    "the old type holds it": (PRICED, "1,NULL,q,1.50", "1,NULL,q,2.5000", True, "1,NULL,q,1.50", "1,NULL,q,2.50"),
    "the old type rounds": (PRICED, "1,2,q,1.50", "1,2,q,2.5001", False, "1,2,q,1.5000", "1,2,q,2.5001"),
    "the old type has no room": (PRICED, "1,2,q,1.50", "1,2,q,99999.0000", False, "1,2,q,1.5000", "1,2,q,99999.0000"),
    "NULL where the old definition has NOT NULL": (LOOSE, "1,2", "1,NULL", False, "1,2", "1,NULL"),
    "a row keeps its value in a column that is dropped": (NAMELESS, "1,a,2", "1,3", True, "1,a,2", "1,a,3"),
    "a new row has the default of a column that is dropped": (NAMELESS, None, "1,3", True, None, "1,x,3"),
    "a new row needs a value in a column that is dropped": (UNNAMED, None, "1,3", False, None, "1,3"),
    "an old row has a value in a column that is dropped": (UNNAMED, "1,a,2", "1,3", True, "1,a,2", "1,a,3"),
    "a new row has NULL for a dropped default expression": (TIMELESS, None, "1,3", True, None, "1,NULL,3"),
    "a row goes with its generated column": (SUMLESS, "1,2,3", None, True, "1,2,3", None),
    "a dropped generated column would have to be computed": (SUMLESS, "1,2,3", "1,5", False, "1,2", "1,5"),
    "a new row's dropped generated column": (SUMLESS, None, "1,5", False, None, "1,5"),
    "a row is known by a key that is new": (KEYED, "1,2", "1,3", False, "1,2", "1,3"),
    "a row goes from a table that gets a key": (KEYED, "1,2", None, True, "1,2", None),
    "a new row of a table that gets a key": (KEYED, None, "1,2", False, None, "1,2"),
    "a new row of a table without a key": (KEYLESS, None, "1,2,7", True, None, "1,2"),
    "a text that the old type has no room for": (WIDENED, "1,abc", "1,abcd", False, "1,abc", "1,abcd"),
    "a row whose old key would have to change with it": (ROUNDED, "9.95,1", "10.0,2", False, "10.0,1", "10.0,2"),
    "a row whose old key is exact": (ROUNDED, "9.90,1", "9.9,2", True, "9.90,1", "9.90,2"),
    "a new row without the columns of a unique key": (UNIQUE, None, "1,4", False, None, "1,4"),
    "a row changes that has lost a column of a unique key": (UNIQUE, "1,2,3", "1,4", True, "1,2,3", "1,2,4"),
    "a new row with a key of which the old definition had less": (LONGER, None, "abcd,1", False, None, "abcd,1"),
    "a row changes of whose key the old definition had less": (LONGER, "abcd,1", "abcd,2", True, "abcd,1", "abcd,2"),
    "a new row whose key is one with others in the old collation": (CASED, None, "A,1", False, None, "A,1"),
    "a row changes in a partition that stays": (EMPTIED, "11,1", "11,2", True, "11,1", "11,2"),
    "a new row of a table that loses rows may have had its key": (EMPTIED, None, "5,1", False, None, "5,1"),
    "a new row that no partition took before": (GROWN, None, "15,1", False, None, "15,1"),
    "a new row that a partition took before": (GROWN, None, "5,1", True, None, "5,1"),
}
"""A row in both snapshots, whether its change is early, and the images of the change."""


@pytest.mark.parametrize("name", CASES)
def test_a_change_stands_before_the_statements_if_the_old_definition_can_tell_it(name: str) -> None:
    """In its words then, and otherwise behind them in those of the new one."""
    altered, old, new, early, before, after = CASES[name]
    found = changes_of(altered, END, rows(altered.before.table, old), rows(altered.after.table, new))

    ends_ts = compose(SPAN.start_ms + 1 + END.slot)
    assert [(change[0] < ends_ts, *change[3:]) for change in found] == [(early, packed(before), packed(after))]
    assert found[0][1] in (altered.before if early else altered.after).indexes


@pytest.mark.parametrize(
    ("point", "grade", "placed"),
    [
        (START, "7", {0: (1, 0), 999: (1, 999)}),
        (MIDDLE, "7", {0: (0, 0), 499: (0, 499), 500: (1, 500), 999: (1, 999)}),
        (END, "7", {0: (0, 0), 500: (0, 450), 999: (0, 899)}),
        (START, "8", {3: (1, 3)}),
        (MIDDLE, "8", {3: (1, 503), 600: (1, 600)}),
        (END, "8", {3: (1, 903), 250: (1, 950), 950: (1, 950)}),
    ],
)
def test_changes_keep_their_time_or_are_squeezed_into_what_is_left(
    point: SchemaChangePoint, grade: str, placed: dict[int, tuple[int, int]]
) -> None:
    """What the old definition can tell (grade 7) comes before the statements, in proportionally less time at the end of
    the span; what only the new one can tell, behind them. `placed` has table and millisecond of each slot."""
    for slot, (table, millisecond) in placed.items():
        new = rows(GRADED.after.table, f"1,a,{grade}")
        ((commit_ts, number, *_),) = changes_of(GRADED, point, [], new, slot)
        assert (number, commit_ts) == (table, compose(SPAN.start_ms + 1 + millisecond, 1)), slot


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ((False, True), {(1, packed("1,a,7")), (1, packed("2,a,8"))}),
        ((True, False), {(0, packed("1,a"))}),
        ((False, False), set()),
    ],
)
def test_changes_under_replicated_names_are_sent(sent: tuple[bool, bool], expected: set[tuple[int, bytes]]) -> None:
    """A table that statements rename in comes without what changed before them, if it could have been told then."""
    altered = replace(GRADED, sent=sent)
    new = rows(altered.after.table, "1,a,7", "2,a,8")
    found = changes_of(altered, MIDDLE, [], new, 1)
    assert {(number, after) for _, number, _, _, after in found} == expected


def test_equal_rows_of_a_table_without_a_handle_key_are_told_apart_by_numbers() -> None:
    """Before the statements as behind them, whichever of them go and come; a row that gets a key is the first of its
    kind."""
    old, new = rows(KEYLESS.before.table, *["1,2"] * 3), rows(KEYLESS.after.table, "1,2,7", "9,9,7", "9,9,7")
    found = [event[2:] for event in changes_of(KEYLESS, END, old, new)]
    eight = {place: place.to_bytes(8, "big") for place in (1, 2, 3)}
    gone, come = b"1\xff2", b"9\xff9"

    assert sorted(found, key=str) == sorted(
        [(gone + eight[place], gone, None) for place in (2, 3)]
        + [(come + eight[place], None, come) for place in (1, 2)],
        key=str,
    )
    ((_, _, handle, *_),) = changes_of(KEYED, END, rows(KEYED.before.table, "1,2"), [])
    assert handle == gone + eight[1]
