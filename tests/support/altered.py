"""Tables that statements change between two snapshots: what they make of rows, said value by value in plain Python, and
the engine's join of both sides, as small as can be.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import count

import numpy as np
import pyarrow as pa

from simulator.columns import row_image
from simulator.errors import DdlError
from simulator.run.plan.snapshot_pairs import column_sources, lost_partitions
from simulator.sources.change_period import ChangePeriod
from simulator.sources.schema_change import SchemaChangePoint, Transition, altered_rows, placed_row_changes
from simulator.sources.snapshots import PlacedTable
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.partitions import locate_partition
from support.evolving import after as applied

Row = Mapping[str, str | None]
"""TiDB text by column."""

State = tuple[int, bytes, bytes, bytes | None]
"""A state row: table, handle, image, and what the row was."""

Event = tuple[int, int, bytes, bytes | None, bytes | None]
"""A row of CHANGES."""

SPAN = ChangePeriod(1_700_000_000_000, 1000)
START, MIDDLE, END = SchemaChangePoint(0, False), SchemaChangePoint(500, False), SchemaChangePoint(900, True)


class Misfit(Exception):
    """TiDB refuses the statement over a row."""


def put(name: str, text: str | None) -> Callable[[Row], Row]:
    return lambda row: {**row, name: text}


def drop(name: str) -> Callable[[Row], Row]:
    return lambda row: {column: text for column, text in row.items() if column != name}


def rename(name: str, now: str) -> Callable[[Row], Row]:
    return lambda row: {now if column == name else column: text for column, text in row.items()}


def fit(name: str, convert: Callable[[str], str], required: bool = False) -> Callable[[Row], Row]:
    def fitted(row: Row) -> Row:
        text = row[name]
        if text is None and required:
            raise Misfit
        return {**row, name: None if text is None else convert(text)}

    return fitted


def at_most(low: int) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if not -low - 1 <= int(text) <= low:
            raise Misfit
        return text

    return checked


def digits(length: int, scale: int) -> Callable[[str], str]:
    def rounded(text: str) -> str:
        number = Decimal(text).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
        if abs(number) >= 10 ** (length - scale):
            raise Misfit
        return str(number)

    return rounded


def short(length: int) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if len(text) > length:
            raise Misfit
        return text

    return checked


def lose(below: int) -> Callable[[Row], Row | None]:
    return lambda row: None if int(row["id"] or 0) < below else row


def stay(row: Row) -> Row:
    return row


ALTERATIONS: Mapping[str, Callable[[Row], Row | None]] = {
    "ADD COLUMN n INT NOT NULL DEFAULT 7": put("n", "7"),
    "ADD COLUMN m VARCHAR(5) FIRST": put("m", None),
    "ADD COLUMN d DECIMAL(4,1) DEFAULT 1.5 AFTER id": put("d", "1.5"),
    "DROP COLUMN a": drop("a"),
    "DROP COLUMN b": drop("b"),
    "RENAME COLUMN a TO z": rename("a", "z"),
    "MODIFY a BIGINT NOT NULL": fit("a", str, required=True),
    "MODIFY a SMALLINT": fit("a", at_most(32767)),
    "MODIFY a VARCHAR(3)": fit("a", short(3)),
    "MODIFY c DECIMAL(10,4)": fit("c", digits(10, 4)),
    "MODIFY c DECIMAL(5,1)": fit("c", digits(5, 1)),
    "MODIFY b VARCHAR(20) FIRST": stay,
    "MODIFY b VARCHAR(3)": fit("b", short(3)),
    "MODIFY b VARCHAR(10)": fit("b", short(10)),
    "ADD KEY k (a)": stay,
    "COMMENT = 'x'": stay,
    "ADD UNIQUE u (id)": stay,
    "DROP INDEX u": stay,
    "ADD UNIQUE w (a)": stay,
    "DROP PARTITION p0": lose(10),
    "TRUNCATE PARTITION p0": lose(10),
}
"""What statements make of a row of `create table t (id int not null, a int, b varchar(10), c decimal(6,2), …)`."""


@dataclass(frozen=True)
class Altered:
    """A table that some of ALTERATIONS change."""

    change: Transition
    statements: tuple[str, ...]

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


def alter(definition: str, statements: Iterable[str], sent: tuple[bool, bool] = (True, True)) -> Altered:
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
    return Altered(Transition(old, new, column_sources(before, after), lost, sent), tuple(done))


def texts(table: Table, rows: Sequence[Row]) -> list[pa.Array]:
    return [pa.array([row[column.name] for row in rows], pa.string()) for column in visible_columns(table)]


def image(table: Table, row: Row) -> bytes:
    return packed(*(row[column.name] for column in visible_columns(table)))


def packed(*cells: str | None) -> bytes:
    """A row image."""
    return b"\xff".join(b"\xfe" if cell is None else cell.encode() for cell in cells)


def row_of(table: Table, image: bytes) -> Row:
    cells = image.split(b"\xff")
    names = [column.name for column in visible_columns(table)]
    return {name: None if cell == b"\xfe" else cell.decode() for name, cell in zip(names, cells, strict=True)}


def numbers(places: PlacedTable, rows: Sequence[Row]) -> pa.Array:
    """In which table or partition rows are."""
    if not places.table.partitioning:
        return pa.array([places.indexes[0]] * len(rows), pa.int32())
    named = dict(zip((column.name for column in visible_columns(places.table)), texts(places.table, rows), strict=True))
    return pa.array(places.indexes, pa.int32()).take(locate_partition(places.table, named))


def keyed(table: Table, rows: Sequence[State]) -> dict[tuple[int, bytes], tuple[bytes, bytes | None]]:
    """Image and `was` of state rows by table and handle, equal rows of a table without a handle key numbered."""
    found: dict[tuple[int, bytes], tuple[bytes, bytes | None]] = {}
    seen = Counter[tuple[int, bytes]]()
    for number, handle, whole, was in sorted(rows, key=lambda row: (row[0], row[1], row[3] or b"")):
        seen[number, handle] += 1
        if not handle_key(table):
            handle += seen[number, handle].to_bytes(8, "big")
        assert (number, handle) not in found, "duplicate key"
        found[number, handle] = whole, was
    return found


def scattered(handle: bytes) -> int:
    """A millisecond of the span, as seed, table and handle give one."""
    return zlib.crc32(handle) % SPAN.over_ms


def changes_of(
    altered: Altered,
    point: SchemaChangePoint,
    old: Sequence[Row],
    new: Sequence[Row],
    cut: int = 0,
    slot_of: Callable[[bytes], int] = scattered,
) -> list[Event]:
    """The changes between two snapshots, in the order in which they are sent; the first is read in two batches."""
    change = altered.change
    state: list[State] = []
    for part in (old[:cut], old[cut:]):
        batch = altered_rows(change, texts(altered.before, part), numbers(change.before, part))
        state += list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    whole = row_image.pack(texts(altered.after, new))
    handles = (
        key_bytes.handle_keys(
            altered.after,
            dict(
                zip((column.name for column in visible_columns(altered.after)), texts(altered.after, new), strict=True)
            ),
        )
        if handle_key(altered.after)
        else whole
    )
    rows = zip(numbers(change.after, new).to_pylist(), handles.to_pylist(), whole.to_pylist(), strict=True)
    left, right = keyed(altered.after, state), keyed(altered.after, [(*row, None) for row in rows])
    nothing = None, None
    met = [(key, left.get(key, nothing), right.get(key, nothing)) for key in {**left, **right}]
    events: list[Event] = []
    for table in change.after.indexes:
        some = [(key[1], *old, new[0]) for key, old, new in met if key[0] == table and old[0] != new[0]]
        handle, before, unaltered, after = (pa.array([row[place] for row in some], pa.binary()) for place in range(4))
        slots = np.array([slot_of(row[0]) for row in some], np.int64)
        parts = placed_row_changes(change, point, SPAN, slots, table, handle, before, after, unaltered)
        for _, part in parts:
            events += zip(*(column.to_pylist() for column in part.columns), strict=True)
    return sorted(events, key=order)


def order(event: Event) -> tuple[int, int, int, bytes]:
    """DELETE, UPDATE, INSERT inside a commit-ts."""
    commit_ts, number, handle, before, after = event
    return commit_ts, 0 if after is None else 2 if before is None else 1, number, handle
