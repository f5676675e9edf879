"""Reads rows of protocols in JSON by columns, with Arrow's JSON reader.

An event is cut in two: its constant, which is equal in all rows of a table and an operation, and a JSON object of what
differs. What a constant means is learned from one event, by `decode`; the objects with it are parsed together, by an
explicit schema. A row of which this does not tell for certain what `decode` finds is left to `decode`. The order of
members alone is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from numpy.lib.stride_tricks import sliding_window_view

from simulator import tso
from simulator.columns import row_image
from simulator.columns.cells import Bytes, Mask, Places, buffers, have_at, pieces_between, spans, stored_buffers
from simulator.columns.change_frame import ROW
from simulator.reader.decode.cell_texts import Cell, are_utf8
from simulator.reader.decode.go_json import Digits
from simulator.reader.decode.stream_events import NO_INFO, OPERATIONS, ColumnInfo, RowEvent, event_layout, is_exact
from simulator.reader.frame import EVENT_SCHEMA

FEW = 8
"""So many rows are not parsed again without those that Arrow refuses."""

BACKSLASH = ord("\\")

ODD_NUMBER = r'":(-0[,}]|-?[0-9]+\.[0-9]*0[,}]|-?[0-9.]+[eE])'
"""Numbers that are written in another way than Arrow writes them."""

LAST = (1 << 63) - 1
MOST_DIGITS = 19
TRIES = 4
BLOCK = 1 << 20
"""Bytes that a processor's cache holds."""


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
class Shared:
    """Texts of which few are different."""

    texts: Sequence[bytes]
    codes: Places
    """Index of each event's text."""

    @classmethod
    def between(cls, data: Bytes, starts: Places, ends: Places) -> Shared:
        """Return the texts between places, which must ascend. Those that are equal to one of the first are not copied."""
        texts: list[bytes] = []
        codes, left = np.zeros(len(starts), np.int64), np.arange(len(starts))
        while len(left) and len(texts) < TRIES:
            start, end = starts[left[0]], ends[left[0]]
            text = data[start:end].tobytes()
            same = (ends[left] - starts[left] == end - start) & have_at(data, starts[left], text)
            codes[left[same]] = len(texts)
            texts.append(text)
            left = left[~same]
        if len(left):
            others = spans(data, starts[left], ends[left]).dictionary_encode()
            codes[left] = len(texts) + np.asarray(others.indices)
            texts += others.dictionary.to_pylist()
        return cls(texts, codes)


@dataclass(frozen=True)
class CutEvents:
    constants: Sequence[Shared]
    """What is together an event's constant."""

    objects: pa.Array
    """Texts of JSON (binary) that begin with a brace and a quote."""

    numbers: Mapping[str, pa.Array]
    """Integers that differ from row to row by name, null where one lacks."""

    fine: Mask
    """Which events could be cut."""


@dataclass(frozen=True)
class Outline:
    """Where the objects with one constant have what."""

    commit_ts: tuple[str, ...]
    """The path of the commit-ts, or of its milliseconds; the name of a cut number."""

    before: str | None
    """The member that has the old row."""

    after: str | None
    cell: Callable[[ColumnInfo, Any], Cell | None]
    """Takes a column, and a value of it in JSON; returns how its cells are read, None if not by columns."""

    listed: bool = False
    """Whether rows are in a list of one."""

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
    outline: Callable[[RowEvent, Mapping[str, Any]], Outline | None]
    """Takes an event and its object; returns None if rows like it are not read by columns."""

    rows: tuple[str, tuple[str, ...]]
    """A column of RECORD_SCHEMA, and texts in it that only records without statements contain."""

    without_build_time: Callable[[pa.Array], pa.Array] = lambda texts: texts
    """Returns values without the time at which their messages were built."""


@dataclass(frozen=True, eq=False)
class RowShape:
    """How objects become rows. Tables with equal columns have the same one, whose objects are parsed together."""

    commit_ts: tuple[str, ...]
    exact: bool
    sides: tuple[tuple[str, str], ...]
    """Columns of EVENT_SCHEMA and the members that have their rows, the new one first."""

    listed: bool
    schema: pa.Schema
    members: tuple[str, ...]
    """All but those of rows."""

    cells: tuple[tuple[Cell, ...], ...]
    """Of the layout's columns, by side."""


_shape = lru_cache(1 << 12)(RowShape)


@dataclass(frozen=True)
class RowPlan:
    """What the events with one constant are."""

    shape: RowShape
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
        beside, cells = tuple(types), []
        for side, member in sides.items():
            values = {**every, **rows[side]}
            found = [outline.cell(event.columns.get(name, NO_INFO), values[name]) for name in names]
            known = tuple(cell for cell in found if cell is not None)
            if len(known) < len(found):
                return None
            row = pa.struct([(name, cell.type) for name, cell in zip(names, known, strict=True)])
            types[member] = pa.list_(row) if outline.listed else row
            cells.append(known)
        exact = is_exact(event)
        shape = _shape(
            outline.commit_ts, exact, tuple(sides.items()), outline.listed, pa.schema(types), beside, tuple(cells)
        )
        return cls(
            shape,
            {
                "kind": ROW,
                "op": OPERATIONS[event.op],
                "exact": exact,
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
    """None if it is only checked."""

    may_lack: bool = False


def cut(texts: pa.Array, numbers: Sequence[Number], opening: bytes, names: Sequence[str]) -> CutEvents:
    """Cut texts (binary, no nulls) behind the marks of `numbers` in turn and before the member that the first opening is
    of, four bytes that begin with a quote and a colon. It has one of the names, and is not the first one of its text."""
    data, bounds = buffers(texts)
    ends = bounds[1:]
    cut = cut_numbers(data, bounds[:-1], ends, numbers)
    quote = _behind(data, cut.ends, ends, opening) - len(opening)
    start, fine = ends.copy(), cut.fine & (quote > cut.ends)
    for name in names:
        mark = f',"{name}'.encode()
        there = have_at(data, np.maximum(quote - len(mark), 0), mark)
        start[there] = quote[there] - len(mark)
    fine &= (start < ends) & (start >= cut.ends)
    start = np.where(fine, start, ends)
    constants = (*cut.constants, Shared.between(data, cut.ends, np.where(fine, quote, ends)))
    return CutEvents(constants, _braced(spans(data, start, ends)), cut.numbers, fine)


def _braced(texts: pa.Array) -> pa.Array:
    """Return texts with a brace in place of their first byte."""
    data, offsets = stored_buffers(texts)
    put = data if data.flags.writeable else data.copy()
    put[offsets[:-1][np.diff(offsets) > 0]] = ord("{")
    return pieces_between(offsets, put)


@dataclass(frozen=True)
class CutNumbers:
    constants: Sequence[Shared]
    """What is before each number."""

    numbers: Mapping[str, pa.Array]
    """As in CutEvents."""

    ends: Places
    """Where the last number of each text ends."""

    fine: Mask


def cut_numbers(data: Bytes, at: Places, ends: Places, numbers: Sequence[Number]) -> CutNumbers:
    """Cut texts, from each place to its end, behind the marks of `numbers` in turn."""
    fine, constants, found = np.ones(len(at), np.bool_), [], {}
    for number in numbers:
        start = _behind(data, at, ends, number.mark)
        lacks = number.may_lack & (start == ends)
        start = np.where(lacks, at, start)
        values, end = numbers_at(data, start)
        end = np.where(lacks, at, end)
        zero = (bytes_at(data, start, 1)[:, 0] == ord("0")) & (end > start + 1)
        fine &= (end > start) & ~zero & (values <= LAST) | lacks
        constants.append(Shared.between(data, at, start))
        if number.name is not None:
            found[number.name] = pa.array(values.astype(np.int64), mask=lacks if lacks.any() else None)
        at = end
    return CutNumbers(constants, found, at, fine)


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


def numbers_at(data: Bytes, starts: Places) -> tuple[npt.NDArray[np.uint64], Places]:
    """Return the numbers of the digits that begin at each place, 19 of them at most, and their ends; the place itself
    if there are more."""
    numbers, ends = np.zeros(len(starts), np.uint64), starts.copy()
    left = np.arange(len(starts))
    for size in _likely_sizes(data, starts):
        digits = bytes_at(data, starts[left], size + 1) - np.uint8(ord("0"))
        same = (digits[:, :-1] < 10).all(axis=1) & (digits[:, -1] >= 10)
        found = np.zeros(len(left), np.uint64)
        for place in range(size):
            found = found * np.uint64(10) + digits[:, place]
        numbers[left[same]], ends[left[same]] = found[same], starts[left[same]] + size
        left = left[~same]
        if not len(left):
            break
    return numbers, ends


def _likely_sizes(data: Bytes, starts: Places) -> Sequence[int]:
    first = data[starts[0] : starts[0] + MOST_DIGITS].tobytes() if len(starts) else b""
    size = len(first) - len(first.lstrip(b"0123456789"))
    return (size, *(each for each in range(1, MOST_DIGITS + 1) if each != size))


def bytes_at(data: Bytes, places: Places, count: int) -> Bytes:
    """Return so many bytes from each place on; near the end of the data, the last ones."""
    if len(data) < count:
        return np.zeros((len(places), count), np.uint8)
    found: Bytes = sliding_window_view(data, count)[np.clip(places, 0, len(data) - count)]
    return found


def words(data: Bytes, word: bytes) -> Places:
    """Return where four bytes, the first of them a quote, are with no backslash before them."""
    quote, second, third, fourth = word
    parts = [np.zeros(0, np.int64)]
    for start in range(0, len(data), BLOCK):
        block = data[start : start + BLOCK + 3]
        parts.append(start + np.flatnonzero((block[1:-2] == second) & (block[2:-1] == third)))
    found: Places = np.concatenate(parts)
    there = (data[found] == quote) & (data[found + 3] == fourth) & (data[np.maximum(found - 1, 0)] != BACKSLASH)
    places: Places = found[there]
    return places


class Objects:
    """The objects of a batch of events, and what is counted in them."""

    def __init__(self, cut: CutEvents) -> None:
        self._objects, self._numbers = cut.objects, cut.numbers
        data, bounds = buffers(cut.objects)
        closed = data[np.maximum(bounds[1:] - 1, 0)] == ord("}") if len(data) else False
        self.fine = cut.fine & closed & are_utf8(cut.objects)

    def read(self, rows: Places, shape: RowShape, plans: Sequence[RowPlan], which: Places) -> ReadRows:
        """Return those of some events that can be read; the plan of each, with this shape, is given by its index."""
        parts = [self._columns(some, table, shape) for some, table in self._parsed(rows, shape.schema)]
        places = np.concatenate([np.zeros(0, np.int64), *(part.places for part in parts)])
        columns = {
            name: pa.concat_arrays([part.columns[name] for part in parts])
            for name in (parts[0].columns if parts else ())
        }
        of = pa.array(which[np.searchsorted(rows, places)])
        for name in plans[0].constants:
            each = pa.array([plan.constants[name] for plan in plans], EVENT_SCHEMA.field(name).type)
            columns[name] = each.take(of)
        return ReadRows(places, columns)

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

    def _columns(self, rows: Places, table: pa.Table, shape: RowShape) -> ReadRows:
        """Return those of the rows, and only those, whose objects have all that was parsed.

        Arrow does not tell a member that is NULL from one that is missing, so both are counted. An UPDATE may leave out
        old values that are the new ones.
        """
        valid = np.ones(len(rows), np.bool_)
        nulls = sum(
            (_null_counts(table[name].combine_chunks()) for name in shape.members), np.zeros(len(rows), np.int64)
        )
        may_lack, lacks = np.zeros(len(rows), np.int64), []
        doubted = np.zeros(len(rows), np.bool_)
        sides: dict[str, list[pa.Array]] = {}
        for (side, member), kinds in zip(shape.sides, shape.cells, strict=True):
            found = table[member].combine_chunks()
            if shape.listed:
                if not np.asarray(pc.equal(pc.fill_null(pc.list_value_length(found), 0), 1)).all():
                    return ReadRows(rows[:0], {})
                found = found.flatten()
            valid &= np.asarray(found.is_valid())
            sides[side] = []
            for array, cell in zip(found.flatten(), kinds, strict=True):
                cells, right = cell.convert(array)
                valid &= right
                sides[side].append(cells)
                if cell.doubted is not None:
                    doubted |= np.asarray(pc.fill_null(pc.match_substring_regex(cells, cell.doubted), False))
                nulls += _null_counts(array)
                if side == "before" and len(shape.sides) > 1:
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
        numbers = {
            name: each if len(each) == len(rows) else each.take(pa.array(rows)) for name, each in self._numbers.items()
        }
        times = numbers[shape.commit_ts[0]] if shape.commit_ts[0] in numbers else _member(table, shape.commit_ts)
        valid &= np.asarray(times.is_valid())
        moment = np.asarray(times.fill_null(0))
        if not shape.exact:
            valid &= np.abs(moment) <= tso.physical(LAST)
            moment = moment << tso.LOGICAL_BITS
        columns = {name: each for name, each in numbers.items() if name in EVENT_SCHEMA.names}
        columns["commit_ts"] = pa.array(moment)
        columns |= {side: row_image.pack(cells) for side, cells in sides.items()}
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
