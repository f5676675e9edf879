"""How a protocol is read: the interface of its reader, and its rows in JSON by columns, with Arrow's JSON reader.

Each protocol has a module here, and a line in `decode.DECODERS`. An event of JSON is cut in two (`json_cuts`): its constant,
which is equal in all rows of a table and an operation, and a JSON object of what differs. What a constant means is learned
from one event, by `decode`; the objects with it are parsed together, by an explicit schema. A row of which this does not
tell for certain what `decode` finds is left to `decode`. The order of members alone is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from simulator import tso
from simulator.columns import row_image
from simulator.columns.cells import Mask, Places, buffers
from simulator.columns.change_frame import ROW
from simulator.reader.decode.json_cuts import LAST, CutEvents, FramedEvents, words
from simulator.reader.decode.message_bytes import Cell, Digits, are_utf8
from simulator.reader.events import (
    EVENT_SCHEMA,
    NO_INFO,
    OPERATIONS,
    ColumnInfo,
    Event,
    RowEvent,
    TableSchemas,
    event_layout,
    is_exact,
)

FEW = 8
"""So many rows are not parsed again without those that Arrow refuses."""

ODD_NUMBER = r'":(-0[,}]|-?[0-9]+\.[0-9]*0[,}]|-?[0-9.]+[eE])'
"""Numbers that are written in another way than Arrow writes them."""


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


Numbers: TypeAlias = "tuple[tuple[str, int], ...]"
"""Names and numbers of ids and versions."""


@dataclass(frozen=True)
class ComparableText:
    """An event as text, without what is ignored."""

    commit_ts: int
    """0 if the message does not tell it."""

    table: str
    key: str
    value: str
    """Texts of JSON, or empty; what is ignored is 0 in them."""

    is_watermark: bool = False
    ids: Numbers = ()
    """The names and numbers of the ids and versions that are 0 in the texts."""


ToComparable: TypeAlias = "Callable[[bytes | None, bytes | None, frozenset[str], Mapping[int, str]], ComparableText]"
"""Takes key and value of an event, the names of what is ignored (`compared_events.IGNORABLE`), and the schemas of a
registry by id. Raises ValueError or KeyError if the event is invalid."""


@dataclass(frozen=True)
class SchemaMemory:
    """How a protocol is read whose rows name a table schema that an earlier message of their partition told."""

    may_tell: Callable[[pa.Array], Mask]
    """Returns which values may be those of statements or tell a schema."""

    told: Callable[[bytes | None, bytes | None], TableSchemas]
    """Returns the schemas that a message tells; raises ValueError or KeyError if it is invalid."""

    told_in: Callable[[dict[str, Any]], TableSchemas]
    """Returns the schemas that the members of a message tell."""

    decode: Callable[[bytes | None, bytes | None, TableSchemas], tuple[Event, ...]]
    """Decodes as `Decoder.decode` does, with the schemas told so far, and adds those that the message tells."""


@dataclass(frozen=True)
class Decoder:
    decode: Callable[[bytes | None, bytes | None], tuple[Event, ...]]
    """Returns the events of one message; raises ValueError or KeyError if it is invalid."""

    texts: Callable[[bytes | None, bytes | None], tuple[tuple[bytes | None, bytes | None], ...]]
    """Returns key and value of each event, without framing; raises ValueError."""

    recognised: Callable[[bytes | None, bytes | None], bool]
    """Returns whether key and value look like a message of the protocol."""

    looks: str
    """Describes such a message."""

    comparable: ToComparable
    """Returns an event as text for a comparison."""

    columns: JsonColumns | None = None
    """None if messages are decoded one by one only."""

    memory: SchemaMemory | None = None
    """None if rows say the types and the key of their columns."""

    with_schemas: Callable[[bytes | None, bytes | None, Mapping[int, str]], tuple[Event, ...]] | None = None
    """Decodes with the schemas of a registry, texts by id, as `decode` does; None if messages name no schemas."""

    sequential: bool = False
    """Whether rows may have no commit-ts, so that only their place in the partition tells the order."""

    always_timed: bool = False
    """Whether rows have their commit-ts without enable-tidb-extension, too."""

    sent_name: Callable[[str], str] | None = None
    """Returns the name of a database, a table or a column in messages; None if they have TiDB's names."""


def surrogate_text(content: bytes | None) -> str:
    """Return bytes as text, no bytes as an empty one; those that are no UTF-8 become lone surrogates."""
    return (content or b"").decode("utf-8", "surrogateescape")


def zero(shown: str, member: str, number: object) -> str:
    """Return the text with 0 in place of a member's number, at its first place; anything else than a number of 0 or more
    stays."""
    is_time = type(number) is int and number >= 0
    return shown.replace(f'"{member}":{number}', f'"{member}":0', 1) if is_time else shown


def without_ids(shown: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, Numbers]:
    """Return the text with 0 in place of the numbers of each pattern in turn, and their names and numbers."""
    ids: list[tuple[str, int]] = []
    for pattern in patterns:
        ids += ((name, int(number)) for name, number in pattern.findall(shown))
        shown = pattern.sub(lambda match: f'"{match[1]}":0', shown)
    return shown, tuple(ids)
