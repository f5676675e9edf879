"""Reads rows of protocols in JSON by columns, with Arrow's JSON reader.

An event is cut in two: its constant, which is equal in all rows of a table and an operation, and a JSON object of what
differs. What a constant means is learned from one event, by `decode`; the objects with it are parsed together, by an
explicit schema. A row of which this does not tell for certain what `decode` finds is left to `decode`. The order of
members alone is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from numpy.lib.stride_tricks import sliding_window_view

from simulator import tso
from simulator.columns import row_image
from simulator.columns.cells import Bytes, Mask, Places, buffers, have_at, spans
from simulator.columns.change_frame import ROW
from simulator.reader.decode.cell_texts import Cell, are_utf8
from simulator.reader.decode.go_json import Digits
from simulator.reader.decode.stream_events import NO_INFO, OPERATIONS, ColumnInfo, RowEvent, event_layout, is_exact
from simulator.reader.frame import EVENT_SCHEMA

FEW = 8
"""So many rows are not parsed again without those that Arrow refuses."""

FIRST_PRINTABLE = 0x20
BACKSLASH = ord("\\")

FIRST = ""
"""The member of an object that the first opening is of."""

ODD_NUMBER = r'":(-0[,}]|-?[0-9]+\.[0-9]*0[,}]|-?[0-9.]+[eE])'
"""Numbers that are written in another way than Arrow writes them."""

LAST = (1 << 63) - 1
MOST_DIGITS = 20
TRIES = 4


@dataclass(frozen=True)
class FramedEvents:
    """The events of those records that are framed correctly."""

    record: Places
    """Index of each event's record."""

    number: Places
    """Index of each event in its record."""

    keys: pa.Array
    """Binary, empty for none."""

    values: pa.Array
    """Binary, decompressed."""

    @classmethod
    def alone(cls, keys: pa.Array, values: pa.Array, fine: Mask) -> FramedEvents:
        """Return the events of records with one each, as far as they are fine."""
        places, kept = np.flatnonzero(fine), pa.array(fine)
        sides = (side.fill_null(b"") if side.null_count else side for side in (keys, values))
        return cls(
            places, np.zeros(len(places), np.int64), *(each if fine.all() else each.filter(kept) for each in sides)
        )


@dataclass(frozen=True)
class CutEvents:
    constants: pa.Array
    objects: pa.Array
    """JSON of objects, a line each."""

    fine: Mask
    """Which events could be cut."""


@dataclass(frozen=True)
class Outline:
    """Where the objects with one constant have what."""

    commit_ts: tuple[str, ...]
    """The path of the commit-ts, or of its milliseconds."""

    before: str | None
    """The member that has the old row."""

    after: str | None
    cell: Callable[[ColumnInfo, Any], Cell | None]
    """Takes a column, and a value of it in JSON; returns how its cells are read, None if not by columns."""

    listed: bool = False
    """Whether rows are in a list of one."""

    ids: Sequence[str] = ()
    """Members that are columns of EVENT_SCHEMA."""

    @property
    def sides(self) -> Mapping[str, str]:
        """Return the members that have rows, the new one first, by their column in EVENT_SCHEMA."""
        sides = {"after": self.after, "before": self.before}
        return {column: member for column, member in sides.items() if member is not None}


@dataclass(frozen=True)
class JsonColumns:
    """How a protocol of JSON messages is read by columns."""

    events: Callable[[pa.Array, pa.Array], FramedEvents]
    """Splits keys and values of records into events, as far as possible."""

    cut: Callable[[FramedEvents], CutEvents]
    outline: Callable[[RowEvent, bytes, Mapping[str, Any]], Outline | None]
    """Takes an event, its constant and its object; returns None if rows like it are not read by columns."""

    rows: tuple[str, tuple[str, ...]]
    """A column of RECORD_SCHEMA, and texts in it that only records without statements contain."""

    without_build_time: Callable[[pa.Array], pa.Array] = lambda texts: texts
    """Returns values without the time at which their messages were built."""


@dataclass(frozen=True)
class RowPlan:
    """How the objects with one constant become rows."""

    outline: Outline
    schema: pa.Schema
    members: Sequence[str]
    """All but those of rows."""

    cells: Mapping[str, Sequence[Cell]]
    """Of the layout's columns, by the column of EVENT_SCHEMA that has the row."""

    constants: Mapping[str, object]
    """Columns of EVENT_SCHEMA that are the same in all rows."""

    @classmethod
    def of(cls, event: RowEvent, outline: Outline, members: Mapping[str, Any], layout: int) -> RowPlan | None:
        """Return the plan for rows like an event, which has these members in its object; None if there is none."""
        names, sides = event_layout(event).names, outline.sides
        if not names or event.after is not None and {*names} != event.after.keys():
            return None
        rows = {side: members[member][0] if outline.listed else members[member] for side, member in sides.items()}
        every = {**rows.get("before", {}), **rows.get("after", {})}
        types = {name: _type(value) for name, value in members.items() if name not in sides.values()}
        cells: dict[str, list[Cell]] = {}
        for side, member in sides.items():
            values = {**every, **rows[side]}
            found = [outline.cell(event.columns.get(name, NO_INFO), values[name]) for name in names]
            cells[side] = [cell for cell in found if cell is not None]
            if len(cells[side]) < len(found):
                return None
            row = pa.struct([(name, cell.type) for name, cell in zip(names, cells[side], strict=True)])
            types[member] = pa.list_(row) if outline.listed else row
        return cls(
            outline,
            pa.schema(types),
            [name for name in members if name not in sides.values()],
            cells,
            {
                "kind": ROW,
                "op": OPERATIONS[event.op],
                "exact": is_exact(event),
                "only_handle": event.only_handle,
                "ptn": event.ptn,
                "layout": layout,
            },
        )


def _type(value: object) -> pa.DataType:
    """Return the type of a value of JSON; raises ValueError for a list."""
    match value:
        case None:
            return pa.null()
        case Digits():
            return pa.int64() if value.lstrip("-").isdecimal() else pa.float64()
        case str():
            return pa.string()
        case bool():
            return pa.bool_()
        case dict():
            return pa.struct([(name, _type(member)) for name, member in value.items()])
    raise ValueError(f"a list beside a row: {value!r:.60}")


@dataclass(frozen=True)
class ReadRows:
    """Those of some events that were read, and the columns of EVENT_SCHEMA that depend on them."""

    places: Places
    columns: Mapping[str, pa.Array]


@dataclass(frozen=True)
class Number:
    """A number that differs from row to row."""

    mark: bytes
    """What is before it, and nowhere earlier in a message."""

    name: str | None = None
    """Its member in objects; None if it is only checked."""

    may_lack: bool = False


def cut(
    texts: pa.Array,
    numbers: Sequence[Number],
    opening: bytes,
    apart: Sequence[pa.Array] = (),
    more: Sequence[pa.Array | str] = (),
    closing: str = "",
) -> CutEvents:
    """Cut texts (binary, no nulls) behind the marks of `numbers` in turn and behind the colon of the first opening, four
    bytes that begin with a quote and a colon.

    Constants begin with what is `apart`. Objects have `more`, too, members with a comma each, and end with `closing`.
    """
    data, bounds = buffers(texts)
    ends = bounds[1:]
    cut = cut_numbers(data, bounds[:-1], ends, numbers)
    start = _behind(data, cut.ends, ends, opening)
    fine = cut.fine & (start < ends)
    start = np.maximum(start - 2, cut.ends)
    constants = joined([*apart, *cut.constants, spans(data, cut.ends, start)])
    objects = joined(["{", *cut.members, *more, f'"{FIRST}":', spans(data, start, ends), f"{closing}\n"])
    return CutEvents(constants, objects, fine)


@dataclass(frozen=True)
class CutNumbers:
    constants: Sequence[pa.Array]
    """What is before each number."""

    members: Sequence[pa.Array | str]
    """Of objects, with a comma each."""

    ends: Places
    """Where the last number of each text ends."""

    fine: Mask


def cut_numbers(data: Bytes, at: Places, ends: Places, numbers: Sequence[Number]) -> CutNumbers:
    """Cut texts, from each place to its end, behind the marks of `numbers` in turn."""
    fine, constants = np.ones(len(at), np.bool_), []
    members: list[pa.Array | str] = []
    for number in numbers:
        start = _behind(data, at, ends, number.mark)
        lacks = number.may_lack & (start == ends)
        start = np.where(lacks, at, start)
        end = np.where(lacks, at, number_ends(data, start))
        zero = (bytes_at(data, start, 1)[:, 0] == ord("0")) & (end > start + 1)
        fine &= (end > start) & ~zero | lacks
        constants.append(spans(data, at, start))
        if number.name is not None:
            member = [f'"{number.name}":', spans(data, start, end), ","]
            members += [pc.if_else(lacks, pa.scalar(b"", pa.binary()), joined(member))] if lacks.any() else member
        at = end
    return CutNumbers(constants, members, at, fine)


def _behind(data: Bytes, at: Places, ends: Places, mark: bytes) -> Places:
    """Return the places behind the first mark of each text, its end if there is none. Most have it where one of the first
    texts has it, unless it is a part of a string."""
    places, left = ends.copy(), np.arange(len(at))
    for _ in range(TRIES):
        if not len(left):
            break
        first = data[at[left[0]] : ends[left[0]]].tobytes().find(mark)
        if first < 0:
            left = left[1:]
            continue
        guess = np.minimum(at[left] + first, ends[left])
        there = have_at(data, guess, mark)
        places[left[there]] = guess[there] + len(mark)
        left = left[~there]
    if len(left):
        found = pc.find_substring(spans(data, at[left], ends[left]), mark).to_numpy(zero_copy_only=False)
        places[left] = np.where(found < 0, ends[left], at[left] + found + len(mark))
    places = np.minimum(places, ends)
    escaped = bytes_at(data, np.maximum(places - len(mark) - 1, 0), 1)[:, 0] == BACKSLASH
    return np.where(escaped, ends, places)


def joined(parts: Sequence[pa.Array | str]) -> pa.Array:
    """Return the texts of arrays (binary) and constants one after another."""
    scalars = (pa.scalar(part.encode(), pa.binary()) if isinstance(part, str) else part for part in parts)
    return pc.binary_join_element_wise(*scalars, pa.scalar(b"", pa.binary()))


def number_ends(data: Bytes, starts: Places) -> Places:
    """Return the ends of the digits that begin at each place, 20 of them at most; the place itself if there are more."""
    ends = starts.copy()
    left = np.arange(len(starts))
    for size in _likely_sizes(data, starts):
        digits = bytes_at(data, starts[left], size + 1) - np.uint8(ord("0")) < 10
        same = digits[:, :-1].all(axis=1) & ~digits[:, -1]
        ends[left[same]] += size
        left = left[~same]
        if not len(left):
            break
    return ends


def _likely_sizes(data: Bytes, starts: Places) -> Sequence[int]:
    first = data[starts[0] : starts[0] + MOST_DIGITS].tobytes() if len(starts) else b""
    size = len(first) - len(first.lstrip(b"0123456789"))
    return (size, *(each for each in range(1, MOST_DIGITS + 1) if each != size))


def bytes_at(data: Bytes, places: Places, count: int) -> Bytes:
    """Return so many bytes from each place on; near the end of the data, the last ones."""
    if len(data) < count:
        return np.zeros((len(places), count), np.uint8)
    found: Bytes = sliding_window_view(data, count)[np.minimum(places, len(data) - count)]
    return found


def words(data: Bytes, word: bytes) -> Places:
    """Return where four bytes, the first of them a quote, are with no backslash before them."""
    quote, second, third, fourth = word
    found: Places = np.flatnonzero((data[1:-2] == second) & (data[2:-1] == third))
    there = (data[found] == quote) & (data[found + 3] == fourth) & (data[np.maximum(found - 1, 0)] != BACKSLASH)
    places: Places = found[there]
    return places


class Objects:
    """The objects of a batch of events, and what is counted in them."""

    def __init__(self, cut: CutEvents) -> None:
        self._objects = cut.objects
        data, bounds = buffers(cut.objects)
        controls = np.flatnonzero(data < FIRST_PRINTABLE)
        alone = np.diff(np.searchsorted(controls, bounds)) == 1
        self.fine = cut.fine & alone & (data[bounds[1:] - 2] == ord("}")) & are_utf8(cut.objects)

    def read(self, rows: Places, plan: RowPlan) -> ReadRows:
        """Return those of some events, which have the plan's constant, that can be read."""
        parts = [self._columns(some, table, plan) for some, table in self._parsed(rows, plan.schema)]
        parts = [part for part in parts if len(part.places)]
        if len(parts) == 1:
            return parts[0]
        places = np.concatenate([part.places for part in parts]) if parts else np.zeros(0, np.int64)
        names = parts[0].columns if parts else ()
        return ReadRows(places, {name: pa.concat_arrays([part.columns[name] for part in parts]) for name in names})

    def _parsed(self, rows: Places, schema: pa.Schema) -> Iterator[tuple[Places, pa.Table]]:
        """Parse the objects of some events; those near one that Arrow refuses are left out."""
        if len(rows) == 0:
            return
        lines = self._objects if len(rows) == len(self._objects) else self._objects.take(pa.array(rows))
        text = pa.py_buffer(buffers(lines)[0])
        try:
            table = pj.read_json(
                pa.BufferReader(text),
                pj.ReadOptions(use_threads=False, block_size=text.size + 1),
                pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
            )
        except pa.ArrowInvalid:
            table = None
        if table is not None and table.num_rows == len(rows):
            yield rows, table
        elif len(rows) > FEW:
            half = len(rows) // 2
            yield from self._parsed(rows[:half], schema)
            yield from self._parsed(rows[half:], schema)

    def _told_nulls(self, rows: Places) -> Places:
        """Return how many members of each object are written as NULL."""
        data, bounds = buffers(self._objects.take(pa.array(rows)))
        return np.diff(np.searchsorted(words(data, b'":nu'), bounds))

    def _columns(self, rows: Places, table: pa.Table, plan: RowPlan) -> ReadRows:
        """Return those of the rows, and only those, whose objects have all that was parsed.

        Arrow does not tell a member that is NULL from one that is missing, so both are counted. An UPDATE may leave out
        old values that are the new ones.
        """
        outline, valid = plan.outline, np.ones(len(rows), np.bool_)
        nulls = np.sum([_null_counts(table[name].combine_chunks()) for name in plan.members], axis=0)
        may_lack, lacks = np.zeros(len(rows), np.int64), []
        doubted = np.zeros(len(rows), np.bool_)
        sides: dict[str, list[pa.Array]] = {}
        for side, member in outline.sides.items():
            found = table[member].combine_chunks()
            if outline.listed:
                if not np.asarray(pc.equal(pc.fill_null(pc.list_value_length(found), 0), 1)).all():
                    return ReadRows(rows[:0], {})
                found = found.flatten()
            valid &= np.asarray(found.is_valid())
            sides[side] = []
            for array, cell in zip(found.flatten(), plan.cells[side], strict=True):
                cells, right = cell.convert(array)
                valid &= right
                sides[side].append(cells)
                if cell.doubted is not None:
                    doubted |= np.asarray(pc.fill_null(pc.match_substring_regex(cells, cell.doubted), False))
                nulls += _null_counts(array)
                if side == "before" and "after" in sides:
                    lacks.append(array.is_null())
                    may_lack += np.asarray(lacks[-1])
        told = self._told_nulls(rows) if nulls.any() else nulls
        complete = told == nulls
        lacking = (told == nulls - may_lack) & ~complete
        if lacking.any():
            same = pa.array(lacking)
            sides["before"] = [
                pc.if_else(pc.and_(same, lack), new, old)
                for lack, old, new in zip(lacks, sides["before"], sides["after"], strict=True)
            ]
        valid &= complete | lacking
        odd = np.flatnonzero(doubted)
        if len(odd):
            valid[odd] &= ~np.asarray(pc.match_substring_regex(self._objects.take(pa.array(rows[odd])), ODD_NUMBER))
        times = _member(table, outline.commit_ts)
        valid &= np.asarray(times.is_valid())
        moment = np.asarray(times.fill_null(0))
        if not plan.constants["exact"]:
            valid &= np.abs(moment) <= tso.physical(LAST)
            moment = moment << tso.LOGICAL_BITS
        columns = {
            **{
                name: pa.repeat(pa.scalar(each, EVENT_SCHEMA.field(name).type), len(rows))
                for name, each in plan.constants.items()
            },
            "commit_ts": pa.array(moment),
            **{name: table[name].combine_chunks() for name in outline.ids},
            **{side: row_image.pack(cells) for side, cells in sides.items()},
        }
        if valid.all():
            return ReadRows(rows, columns)
        kept = pa.array(valid)
        return ReadRows(rows[valid], {name: column.filter(kept) for name, column in columns.items()})


def _null_counts(array: pa.Array) -> Places:
    """Return how many members with NULL each value has, or is."""
    counts = np.asarray(array.is_null()).astype(np.int64)
    if pa.types.is_struct(array.type):
        there = counts == 0
        counts += sum((_null_counts(member) * there for member in array.flatten()), np.zeros(len(array), np.int64))
    return counts


def _member(table: pa.Table, path: Sequence[str]) -> pa.Array:
    found = table[path[0]].combine_chunks()
    for name in path[1:]:
        found = pc.struct_field(found, name)
    return found
