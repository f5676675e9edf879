"""Rows of tables that statements change between two snapshots: what the statements make of them, which of their changes
stand before the statements, in the old definition, and which behind them, in the new one.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import count

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.evolving import after as applied

from simulator.columns import row_image
from simulator.errors import DdlError, SnapshotError
from simulator.run.plan.snapshot_pairs import column_sources, lost_partitions
from simulator.sources.change_period import ChangePeriod
from simulator.sources.schema_change import SchemaChangePoint, Transition, altered_rows, placed_row_changes
from simulator.sources.snapshots import PlacedTable
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.column_sources import find_column_sources
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.partitions import locate_partition
from simulator.tso import compose

Row = Mapping[str, str | None]
"""TiDB text by column."""

Event = tuple[int, int, bytes, bytes | None, bytes | None]
"""A row of CHANGES: commit-ts, table, handle, image before, image after."""

Placed = tuple[int, bytes]
"""Table number and image of a row."""

SPAN = ChangePeriod(1_700_000_000_000, 1000)
START, MIDDLE, END = SchemaChangePoint(0, False), SchemaChangePoint(500, False), SchemaChangePoint(900, True)


class Misfit(Exception):
    """TiDB refuses the statement over a row."""


def put(name: str, text: str | None) -> Callable[[Row], Row]:
    return lambda row: {**row, name: text}


def drop(name: str) -> Callable[[Row], Row]:
    return lambda row: {column: text for column, text in row.items() if column != name}


def modify(
    name: str, fits: Callable[[str], bool] = lambda text: True, convert: Callable[[str], str] = str
) -> Callable[[Row], Row]:
    def modified(row: Row) -> Row:
        text = row[name]
        now = None if text is None else convert(text)
        if now is not None and not fits(now):
            raise Misfit
        return {**row, name: now}

    return modified


def require(name: str) -> Callable[[Row], Row]:
    def required(row: Row) -> Row:
        if row[name] is None:
            raise Misfit
        return row

    return required


def digits(name: str, length: int, scale: int) -> Callable[[Row], Row]:
    def rounded(text: str) -> str:
        return str(Decimal(text).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP))

    return modify(name, lambda text: abs(Decimal(text)) < 10 ** (length - scale), rounded)


def lose_low(row: Row) -> Row | None:
    return None if int(row["id"] or 0) < 10 else row


def stay(row: Row) -> Row:
    return row


ALTERATIONS: Mapping[str, Callable[[Row], Row | None]] = {
    "ADD COLUMN n INT NOT NULL DEFAULT 7": put("n", "7"),
    "ADD COLUMN m VARCHAR(5) FIRST": put("m", None),
    "ADD COLUMN d DECIMAL(4,1) DEFAULT 1.5 AFTER id": put("d", "1.5"),
    "DROP COLUMN a": drop("a"),
    "DROP COLUMN b": drop("b"),
    "RENAME COLUMN a TO z": lambda row: {"z" if name == "a" else name: text for name, text in row.items()},
    "MODIFY a BIGINT NOT NULL": require("a"),
    "MODIFY a SMALLINT": modify("a", lambda text: int(text) <= 32767),
    "MODIFY a VARCHAR(3)": modify("a", lambda text: len(text) <= 3),
    "MODIFY c DECIMAL(10,4)": digits("c", 10, 4),
    "MODIFY c DECIMAL(5,1)": digits("c", 5, 1),
    "MODIFY b VARCHAR(20) FIRST": stay,
    "MODIFY b VARCHAR(3)": modify("b", lambda text: len(text) <= 3),
    "MODIFY b VARCHAR(10)": modify("b", lambda text: len(text) <= 10),
    "ADD KEY k (a)": stay,
    "COMMENT = 'x'": stay,
    "ADD UNIQUE u (id)": stay,
    "DROP INDEX u": stay,
    "ADD UNIQUE w (a)": stay,
    "DROP PARTITION p0": lose_low,
    "TRUNCATE PARTITION p0": lose_low,
}
"""What statements make of a row of `create table t (id int not null, a int, b varchar(10), c decimal(6,2), …)`."""


@dataclass(frozen=True)
class Altered:
    """A table that some of ALTERATIONS change."""

    change: Transition
    statements: tuple[str, ...] = ()

    @property
    def before(self) -> Table:
        return self.change.before.table

    @property
    def after(self) -> Table:
        return self.change.after.table

    def row_after(self, row: Row) -> Row | None:
        """What the statements make of a row, None where it goes with them; raises Misfit."""
        found: Row | None = row
        for statement in self.statements:
            found = ALTERATIONS[statement](found) if found is not None else None
        return found

    def takes(self, row: Row) -> bool:
        """Whether TiDB can run the statements over a row."""
        try:
            self.row_after(row)
        except Misfit:
            return False
        return True


def alter(definition: str, *statements: str) -> Altered:
    """The table changed by those of the statements that apply, each column by the first that names its type or
    drops it: values go from the type before to the type after, whatever it was in between."""
    state, done = applied(f"CREATE TABLE t {definition}"), list[str]()
    before, modified = state.table("test", "t"), set[str]()
    assert before
    for statement in statements:
        name = statement.removeprefix("DROP COLUMN ").removeprefix("MODIFY ").split()[0]
        if name in modified:
            continue
        try:
            state = applied(f"ALTER TABLE t {statement}", start=state)
        except DdlError:
            continue
        done.append(statement)
        modified |= {name} & {column.name for column in before.columns}
    after = state.table("test", "t")
    assert after
    numbers = count()
    old, new = (
        PlacedTable(table, tuple(next(numbers) for _ in (table.partitioning.partitions if table.partitioning else "t")))
        for table in (before, after)
    )
    emptied = frozenset("p0" for statement in done if statement.endswith("PARTITION p0"))
    lost = frozenset(old.indexes[number] for number in lost_partitions(before, emptied))
    return Altered(Transition(old, new, column_sources(before, after), lost, (True, True)), tuple(done))


def texts(table: Table, rows: Sequence[Row]) -> dict[str, pa.Array]:
    names = [column.name for column in visible_columns(table)]
    return {name: pa.array([row[name] for row in rows], pa.string()) for name in names}


def packed(cells: str | None) -> bytes | None:
    """The row image of cells with commas between them."""
    return cells and row_image.joined(None if cell == "NULL" else cell.encode() for cell in cells.split(","))


def image(table: Table, row: Row) -> bytes:
    cells = (row[column.name] for column in visible_columns(table))
    return row_image.joined(None if cell is None else cell.encode() for cell in cells)


def row_of(table: Table, image: bytes | None) -> Row:
    assert image
    names = [column.name for column in visible_columns(table)]
    cells = row_image.cells_of(image)
    return {name: None if cell is None else cell.decode() for name, cell in zip(names, cells, strict=True)}


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


def read(altered: Altered, rows: Sequence[Row]) -> pa.RecordBatch:
    """What `altered_rows` makes of rows of the table before."""
    columns = list(texts(altered.before, rows).values())
    return altered_rows(altered.change, columns, numbers(altered.change.before, rows))


def changes_of(
    altered: Altered,
    point: SchemaChangePoint,
    old: Sequence[Row],
    new: Sequence[Row],
    cut: int = 0,
    slot_of: Callable[[bytes], int] = lambda handle: zlib.crc32(handle) % SPAN.over_ms,
) -> list[Event]:
    """The changes between two snapshots, in the order in which they are sent; the first is read in two batches."""
    change, after = altered.change, altered.after
    state = [
        row
        for part in (old[:cut], old[cut:])
        for row in zip(*(column.to_pylist() for column in read(altered, part).columns), strict=True)
    ]
    cells = texts(after, new)
    whole = row_image.pack(list(cells.values()))
    handles = key_bytes.handle_keys(after, cells) if handle_key(after) else whole
    rows = zip(numbers(change.after, new).to_pylist(), handles.to_pylist(), whole.to_pylist(), strict=True)
    left, right = keyed(after, state), keyed(after, [(*row, None) for row in rows])
    met = [(key, left.get(key, (None, None)), right.get(key, (None, None))) for key in {**left, **right}]
    events: list[Event] = []
    for table in change.after.indexes:
        some = [(key[1], *was, now[0]) for key, was, now in met if key[0] == table and was[0] != now[0]]
        handle, before, unaltered, becomes = (pa.array([row[place] for row in some], pa.binary()) for place in range(4))
        slots = np.array([slot_of(row[0]) for row in some], np.int64)
        for _, part in placed_row_changes(change, point, SPAN, slots, table, handle, before, becomes, unaltered):
            events += zip(*(column.to_pylist() for column in part.columns), strict=True)
    return sorted(events, key=order)


def order(event: Event) -> tuple[int, int, int, bytes]:
    """DELETE, UPDATE, INSERT inside a commit-ts."""
    commit_ts, number, handle, before, after = event
    return commit_ts, 0 if after is None else 2 if before is None else 1, number, handle


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


Move = tuple[Altered, list[Row], list[Row]]


@st.composite
def moves(draw: st.DrawFn) -> Move:
    """A table with its statements, its rows before them, and its rows in the second snapshot."""
    statements = draw(st.lists(st.sampled_from(list(ALTERATIONS)), min_size=1, max_size=4))
    altered = alter(draw(st.sampled_from(DEFINITIONS)), *statements)
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


def replay(state: Counter[Placed], found: Iterable[Event]) -> None:
    """Applies changes to rows; every row that goes must be there."""
    for _, number, _, before, after in found:
        if before is not None:
            assert state[number, before] > 0
            state[number, before] -= 1
        if after is not None:
            state[number, after] += 1


def held_by(places: PlacedTable, rows: Sequence[Row]) -> Counter[Placed]:
    """Rows as table numbers and images."""
    return Counter(zip(numbers(places, rows).to_pylist(), (image(places.table, row) for row in rows), strict=True))


@pytest.mark.slow
@given(moves(), POINTS)
@settings(max_examples=40)
def test_changes_before_the_statements_then_these_then_the_others_lead_to_the_second_snapshot(
    move: Move, point: SchemaChangePoint
) -> None:
    """Whatever the statements, and wherever they stand; the handle of each change is its row's in the definition of its
    time, the image and a number where there is no handle key."""
    altered, old, new = move
    before, after = altered.change.before, altered.change.after
    found = changes_of(altered, point, old, new)
    early = [event for event in found if event[0] < compose(SPAN.start_ms + 1 + point.slot)]
    late = found[len(early) :]

    state = held_by(before, old)
    replay(state, early)
    left = [altered.row_after(row_of(before.table, data)) for _, data in state.elements()]
    state = held_by(after, [row for row in left if row])
    replay(state, late)
    assert +state == held_by(after, new)
    assert {event[1] for event in early} <= set(before.indexes) and {event[1] for event in late} <= set(after.indexes)
    for _, number, handle, was, becomes in found:
        table = before.table if number in before.indexes else after.table
        whole = was if becomes is None else becomes
        if handle_key(table):
            assert handle == key_bytes.handle_keys(table, texts(table, [row_of(table, whole)]))[0].as_py()
        else:
            assert handle[:-8] == whole


@pytest.mark.slow
@given(moves(), POINTS, st.integers(0, 12))
@settings(max_examples=25)
def test_changes_do_not_depend_on_how_rows_are_spread(move: Move, point: SchemaChangePoint, cut: int) -> None:
    """In which batches they are read, and in which order; nor on whether a key that stays is made again."""
    altered, old, new = move
    key = handle_key(altered.before)
    stays = bool(key) and key == handle_key(altered.after) and not {"a", "z"} & set(key)
    known = replace(altered, change=replace(altered.change, key_stays=stays))

    assert changes_of(known, point, old[::-1], new[::-1], cut) == changes_of(altered, point, old, new)


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
    return [row_of(table, packed(cells)) for cells in images if cells]


def images_read(altered: Altered, *images: str) -> pa.RecordBatch:
    return read(altered, rows(altered.before, *images))


def test_a_row_is_what_the_statements_make_of_it_beside_what_it_was() -> None:
    """The number of its old table, four bytes little-endian, and its old image."""
    assert images_read(GRADED, "1,é", "2,NULL").to_pydict() == {
        "table": [1, 1],
        "handle": key_bytes.handle_keys(GRADED.after, {"id": pa.array(["1", "2"])}).to_pylist(),
        "image": [packed("1,é,7"), packed("2,NULL,7")],
        "unaltered": [bytes(4) + b"1\xff\xc3\xa9", bytes(4) + b"2\xff\xfe"],
    }
    assert images_read(PRICED, "5,NULL,q,NULL")["image"].to_pylist() == [packed("5,NULL,q,NULL")]


def test_rows_of_emptied_partitions_are_left_out() -> None:
    """They go with the statement; what is left lies in the partition that takes it afterwards."""
    for altered in (EMPTIED, DROPPED):
        found = images_read(altered, "9,1", "10,2")
        assert found["unaltered"].to_pylist() == [(1).to_bytes(4, "little") + b"10\xff2"]
        assert found["table"].to_pylist() == [altered.change.after.indexes[-1]]


def test_without_a_handle_key_the_handle_is_the_image() -> None:
    """Even where the table had a key before; whoever compares ends it by a number."""
    batch = images_read(alter(f"({COLUMNS}, unique key u (id))", "DROP INDEX u"), "1,2,q,NULL")
    assert batch["handle"] == batch["image"]


def computed(column: str, a: str | None) -> list[bytes]:
    """The image of a row in which only the second snapshot has a generated column."""
    before, after = (create_table(f"CREATE TABLE t (id int primary key, a int{more})", "test") for more in ("", column))
    change = Transition(PlacedTable(before, (0,)), PlacedTable(after, (1,)), find_column_sources(before, after))
    made = altered_rows(change, [pa.array(["1"]), pa.array([a], pa.string())], pa.array([0], pa.int32()))
    images: list[bytes] = made["image"].to_pylist()
    return images


def test_a_stored_generated_column_is_computed_where_the_old_table_has_none() -> None:
    """From the columns as the statements leave them; what it cannot hold is an error."""
    assert computed(", s int as (a + 1) stored", "41") == [packed("1,41,42")]
    with pytest.raises(SnapshotError, match="id=1, a=2 …"):
        computed(", s tinyint as (a * 100) stored", "2")
    with pytest.raises(SnapshotError, match="id=1, a=NULL …"):
        computed(", s int as (a + 1) stored not null", None)


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


CASES: dict[str, tuple[Altered, str | None, str | None, bool, str | None, str | None]] = {
    "a number that is a date of the old type": (
        DATED,
        "1,2020-02-20",
        "1,20200221.00",
        True,
        "1,2020-02-20",
        "1,2020-02-21",
    ),
    "a number that is no date of the old type": (DATED, "1,2020-02-20", "1,0.00", False, "1,20200220.00", "1,0.00"),
    "a row goes": (GRADED, "1,a", None, True, "1,a", None),
    "a new row has the default of the new column": (GRADED, None, "1,a,7", True, None, "1,a"),
    "a new row has another value in the new column": (GRADED, None, "1,a,8", False, None, "1,a,8"),
    "a row changes, the new column does not": (GRADED, "1,a", "1,b,7", True, "1,a", "1,b"),
    "a row changes in the new column": (GRADED, "1,a", "1,a,8", False, "1,a,7", "1,a,8"),
    "the old type can hold a number": (
        PRICED,
        "1,NULL,q,1.50",
        "1,NULL,q,2.5000",
        True,
        "1,NULL,q,1.50",
        "1,NULL,q,2.50",
    ),
    "the old type rounds": (PRICED, "1,2,q,1.50", "1,2,q,2.5001", False, "1,2,q,1.5000", "1,2,q,2.5001"),
    "the old type has no room": (PRICED, "1,2,q,1.50", "1,2,q,99999.0000", False, "1,2,q,1.5000", "1,2,q,99999.0000"),
    "NULL where the old definition has NOT NULL": (LOOSE, "1,2", "1,NULL", False, "1,2", "1,NULL"),
    "a row keeps its value in a column that is dropped": (NAMELESS, "1,a,2", "1,3", True, "1,a,2", "1,a,3"),
    "a new row has the default of a column that is dropped": (NAMELESS, None, "1,3", True, None, "1,x,3"),
    "a new row needs a value in a column that is dropped": (UNNAMED, None, "1,3", False, None, "1,3"),
    "an old row has a value in a column that is dropped": (UNNAMED, "1,a,2", "1,3", True, "1,a,2", "1,a,3"),
    "a new row has NULL for the default expression of a dropped column": (
        TIMELESS,
        None,
        "1,3",
        True,
        None,
        "1,NULL,3",
    ),
    "a row goes with its generated column": (SUMLESS, "1,2,3", None, True, "1,2,3", None),
    "a dropped generated column would have to be computed": (SUMLESS, "1,2,3", "1,5", False, "1,2", "1,5"),
    "a new row's dropped generated column would have to be computed": (SUMLESS, None, "1,5", False, None, "1,5"),
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
    found = changes_of(altered, END, rows(altered.before, old), rows(altered.after, new))

    ends_ts = compose(SPAN.start_ms + 1 + END.slot)
    assert [(change[0] < ends_ts, *change[3:]) for change in found] == [(early, packed(before), packed(after))]
    assert found[0][1] in (altered.change.before if early else altered.change.after).indexes


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
        new = rows(GRADED.after, f"1,a,{grade}")
        ((commit_ts, number, *_),) = changes_of(GRADED, point, [], new, slot_of=lambda _, slot=slot: slot)
        assert (number, commit_ts) == (table, compose(SPAN.start_ms + 1 + millisecond, 1)), slot


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ((False, True), {(1, packed("1,a,7")), (1, packed("2,a,8"))}),
        ((True, False), {(0, packed("1,a"))}),
        ((False, False), set()),
    ],
)
def test_only_changes_under_names_that_the_changefeed_replicates_are_sent(
    sent: tuple[bool, bool], expected: set[tuple[int, bytes]]
) -> None:
    """A table that statements rename in comes without what changed before them, if it could have been told then."""
    altered = replace(GRADED, change=replace(GRADED.change, sent=sent))
    new = rows(altered.after, "1,a,7", "2,a,8")
    found = changes_of(altered, MIDDLE, [], new, slot_of=lambda _: 1)
    assert {(number, after) for _, number, _, _, after in found} == expected


def test_equal_rows_of_a_table_without_a_handle_key_are_told_apart_by_numbers() -> None:
    """Before the statements as behind them, whichever of them go and come; a row that gets a key is the first of its
    kind."""
    old, new = rows(KEYLESS.before, *["1,2"] * 3), rows(KEYLESS.after, "1,2,7", "9,9,7", "9,9,7")
    found = [event[2:] for event in changes_of(KEYLESS, END, old, new)]
    eight = {place: place.to_bytes(8, "big") for place in (1, 2, 3)}
    gone, come = b"1\xff2", b"9\xff9"

    assert sorted(found, key=str) == sorted(
        [(gone + eight[place], gone, None) for place in (2, 3)]
        + [(come + eight[place], None, come) for place in (1, 2)],
        key=str,
    )
    ((_, _, handle, *_),) = changes_of(KEYED, END, rows(KEYED.before, "1,2"), [])
    assert handle == gone + eight[1]
