"""Rows of tables that statements change between two snapshots: as the statements leave them, and as the old or the new
definition tells what becomes of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from altered import (
    ALTERATIONS, END, MIDDLE, SPAN, START, Altered, Event, Row, alter, image, numbers, row_of, texts, told,
)
from database_standins import database_standins, generated, handle, locate_partition
from simulator.ddl.convert import conversion
from simulator.errors import SnapshotError
from simulator.schema.keys import handle_key, visible_columns
from simulator.schema.parse import create_table
from simulator.schema.table import Column, Table
from simulator.snapshots import Places
from simulator.transitions import Transition, Turn, prior
from simulator.tso import compose

__all__ = ["database_standins"]

COLUMNS = "id int not null, a int, b varchar(10) not null default 'q', c decimal(6,2)"
PARTED = " partition by range (id) (partition p0 values less than (10), partition p1 values less than maxvalue)"
DEFINITIONS = (
    f"({COLUMNS}, primary key (id))",
    f"({COLUMNS}, primary key (id, b))",
    f"({COLUMNS}, unique key u (id))",
    f"({COLUMNS})",
    f"({COLUMNS}, primary key (id)){PARTED}",
    f"({COLUMNS}){PARTED}",
)
TURNS = st.sampled_from((START, MIDDLE, END))


def cells(column: Column) -> st.SearchStrategy[str | None]:
    """A few texts of a column, so that rows meet."""
    if column.name == "id":
        return st.integers(0, 20).map(str)
    few = {"c": ["0", "1.5", "9.95", "1234.56"], "d": ["1.5", "2"], "b": ["", "7", "abc", "abcdefg"], "m": ["7", "é"]}
    texts = st.sampled_from(few.get(column.name, ["0", "7", "32768", "1234"])).map(lambda one: held(column, one))
    return texts if column.not_null else texts | st.none()


def held(column: Column, text: str) -> str:
    """A text as the column can hold it."""
    match column.type.name:
        case "decimal":
            return f"{float(text) % 10 ** (column.type.length - column.type.decimal):.{column.type.decimal}f}"
        case "smallint":
            return str(int(text) % 32768)
        case "varchar":
            return text[:column.type.length]
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
    pairs = [(row, altered.becomes(row)) for row in distinct(
        altered.before, draw(st.lists(rows_of(altered.before), max_size=12))) if altered.takes(row)]
    reached = distinct(altered.after, [now for _, now in pairs if now])
    old = [row for row, now in pairs if now is None or any(now is one for one in reached)]
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


def held_by(places: Places, rows: Sequence[Row]) -> Counter[tuple[int, bytes]]:
    return Counter(zip(numbers(places, rows).to_pylist(), (image(places.table, row) for row in rows), strict=True))


def reached(altered: Altered, old: Sequence[Row], turn: Turn, found: Sequence[Event]) -> Counter[tuple[int, bytes]]:
    """Rows after the changes before the statements, the statements, and the changes behind them."""
    when = compose(SPAN.start_ms + 1 + turn.slot)
    before, after = altered.change.before, altered.change.after
    state = held_by(before, old)
    early = [event for event in found if event[0] < when]
    assert {event[1] for event in early} <= set(before.indexes)
    replay(state, early)
    rows = [now for _, packed in state.elements() if (now := altered.becomes(row_of(before.table, packed)))]
    state = held_by(after, rows)
    late = found[len(early):]
    assert {event[1] for event in late} <= set(after.indexes)
    replay(state, late)
    return +state


@given(moves(), TURNS, st.integers(0, 12))
def test_changes_before_the_statements_then_these_then_the_others_lead_to_the_second_snapshot(
    move: tuple[Altered, list[Row], list[Row]], turn: Turn, cut: int
) -> None:
    """Whatever the statements, and wherever they stand; each change in the definition of its time."""
    altered, old, new = move
    found = told(altered, turn, old, new, cut)

    assert reached(altered, old, turn, found) == held_by(altered.change.after, new)


@given(moves(), TURNS, st.integers(0, 12))
def test_changes_do_not_depend_on_how_rows_are_spread(
    move: tuple[Altered, list[Row], list[Row]], turn: Turn, cut: int
) -> None:
    """In which batches they are read, and in which order."""
    altered, old, new = move

    assert told(altered, turn, old, new) == told(altered, turn, old[::-1], new[::-1], cut)


@given(moves(), TURNS)
def test_the_handle_of_a_change_is_that_of_its_row_in_the_definition_of_its_time(
    move: tuple[Altered, list[Row], list[Row]], turn: Turn
) -> None:
    """The image and a number where there is no handle key, and different for every change of one commit-ts."""
    altered, old, new = move
    for _, number, found, before, after in told(altered, turn, old, new):
        packed = after or before or b""
        table = altered.before if number in altered.change.before.indexes else altered.after
        row = row_of(table, packed)
        named = dict(zip(row, texts(table, [row]), strict=True))
        expected = handle(table, named)[0].as_py() if handle_key(table) else packed
        assert found[:len(expected)] == expected
        assert len(found) == len(expected) + (0 if handle_key(table) else 8)


@given(moves(), TURNS)
def test_a_key_that_stays_need_not_be_made_again(move: tuple[Altered, list[Row], list[Row]], turn: Turn) -> None:
    """What is known of it changes no change."""
    altered, old, new = move
    stays = replace(altered, change=replace(altered.change, key_stays=True))
    names = handle_key(altered.before)
    if names and names == handle_key(altered.after) and not {"a", "z"} & set(names):
        assert told(stays, turn, old, new) == told(altered, turn, old, new)
