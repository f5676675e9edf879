"""Holds messages of rows as a whole against what the changefeed would write: every member, flag and escape.

A row is decoded, written again, and compared. Of a long partition a part of the rows is compared.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import Ints
from simulator.errors import NotSimulatedError, SimulatorError
from simulator.reader.compare.events import ComparedEvent
from simulator.reader.compare.pairs import first_difference
from simulator.reader.contract.events import EventArrays
from simulator.reader.contract.message_texts import IGNORED, OTHER_MEMBERS, UNTIMED, key_and_value, texts_of
from simulator.reader.contract.message_writer import MessageWriter, RewrittenRows
from simulator.reader.contract.placement import TableDefinitions
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.decode import DECODERS, LOST
from simulator.reader.decode.batches import is_sequential
from simulator.reader.frame import Layout
from simulator.ticdc.codecs import CODECS
from simulator.tidb.model.table import Table

ALL, PART = 1 << 14, 64
"""All of the first rows of a partition are compared, then one in so many."""

ALL_ONE_BY_ONE, PART_ONE_BY_ONE = 1 << 12, 256
"""The same for protocols whose messages are compared one by one, and for files, of which it is so many rows in a row: they
are read faster than messages."""

LOST_RUN = re.compile(rf"(?:\\ufffd|{LOST})+")


class RowMessages:
    """Compares the rows of one partition, batch by batch."""

    def __init__(self, spec: StreamSpec, writer: MessageWriter) -> None:
        self._spec, self._writer = spec, writer
        self._definitions = TableDefinitions(spec)
        self._codec, decoder = CODECS[spec.protocol], DECODERS.get(spec.protocol)
        self._columns, self._batches = None if decoder is None else decoder.columns, self._codec.batches
        self._are_lines, self._sequential = decoder is None, is_sequential(spec.protocol)
        is_fast = self._columns is not None and not spec.files
        self._all, self._part = (ALL, PART) if is_fast else (ALL_ONE_BY_ONE, PART_ONE_BY_ONE)
        tables = [(f"{table.schema}.{table.name}", table) for table in spec.all_tables]
        self._spelled = {name.lower(): name for name, _ in tables}
        self._partitioned = {name for name, table in tables if table.partitioning is not None}
        self._times = None if spec.statement_times is None else np.array(spec.statement_times, np.int64)
        self._ids: dict[tuple[str, int, str], int] = {}
        self._rows = self.compared = 0

    def begin_piece(self) -> None:
        """Begin to count anew."""
        self._rows = self.compared = 0

    def take(self, events: EventArrays, records: pa.RecordBatch) -> None:
        """Compare the rows of a batch, which was decoded from these records."""
        rows = events.rows
        numbers = self._rows + np.arange(len(rows))
        self._rows += len(rows)
        blocks = np.maximum(numbers - self._all, 0) // (self._part if self._spec.files else 1)
        rows = rows[(numbers < self._all) | (blocks % self._part == 0)]
        self.compared += len(rows)
        for at, layout, tables in self._defined(events, rows) if len(rows) else ():
            try:
                differences = self._differences(events, records, at, layout, tables[0])
            except NotSimulatedError:
                self.compared -= len(at)
                continue
            for table, nulls, lacking in self._others(tables):  # a row that fits one of them is right
                if not differences:
                    break
                left = np.array([*differences], np.int64)
                others = self._differences(events, records, left, layout, table, nulls, lacking)
                differences = {each: what for each, what in differences.items() if each in others}
            events.report(
                "message-different",
                np.array([*differences], np.int64),
                lambda each: f"a row of {events.name(each)}: {differences[each]}",
            )

    def _others(self, tables: Sequence[Table]) -> Iterator[tuple[Table, Collection[str], Collection[str]]]:
        """Yield in what other ways a row may have been written than as one of the first of these definitions."""
        for table in tables:
            if table is not tables[0]:
                yield table, (), ()
            likes = self._writer.defaults_like_null(table)
            yield from ((table, [name], ()) for name in likes)
            if len(likes) > 1:
                yield table, likes, ()
            later = self._writer.later_columns(table)
            yield from ((table, (), later[first:]) for first in range(len(later)))

    def _defined(self, events: EventArrays, rows: Ints) -> Iterator[tuple[Ints, Layout, Sequence[Table]]]:
        """Yield the rows of each layout with the definitions that they may have."""
        for alike in self._definitions.alike(events, rows):
            at, every = rows[alike.at], self._spec.any_time.get((alike.layout.schema, alike.layout.table), ())
            timed = events.exact[at] if every else np.ones(len(at), np.bool_)
            if every and self._codec.needs_registry:  # a row may have the schema of an earlier definition
                timed = np.zeros(len(at), np.bool_)
            known = self._spelled.get(alike.name.lower())
            if not alike.defined and known is not None and known != alike.name:
                why = f"a row of {alike.name}, and the table is {known}"
                events.report("message-different", at, partial(_always, why))
            if alike.defined and timed.any():
                yield at[timed], alike.layout, (alike.table,)
            if not timed.all():
                yield at[~timed], alike.layout, every

    def _differences(
        self,
        events: EventArrays,
        records: pa.RecordBatch,
        at: Ints,
        layout: Layout,
        table: Table,
        nulls: Collection[str] = (),
        lacking: Collection[str] = (),
    ) -> dict[int, str]:
        """Return in what rows of a layout differ from those that the changefeed writes for a table."""
        try:
            return {
                row: what
                for written in self._writer.rows(events.batch.take(pa.array(at)), layout, table, nulls, lacking)
                for row, what in self._unlike(events, records, at[written.at], written)
            }
        except NotSimulatedError:
            raise
        except (SimulatorError, ValueError, OverflowError) as error:  # a text that is no value of its column's type
            if len(at) == 1:
                return {int(at[0]): f"TiCDC does not write it: {error}"}
            halves = np.array_split(at, 2)
            return {
                row: what
                for half in halves
                for row, what in self._differences(events, records, half, layout, table, nulls, lacking).items()
            }

    def _unlike(
        self, events: EventArrays, records: pa.RecordBatch, at: Ints, written: RewrittenRows
    ) -> Iterator[tuple[int, str]]:
        """Yield the rows that are not as they were written again, and in what they differ."""
        places = np.searchsorted(np.asarray(records.column("offset")), events.offset[at])
        numbers = np.asarray(events.batch.column("number"))[at]
        messages = written.messages
        keys = messages.keys if messages.keys is not None else pa.nulls(len(at), pa.binary())
        for number in self._unequal(records, places, numbers, keys, messages.values).tolist():
            ignored = UNTIMED if self._sequential and not events.exact[at[number]] else IGNORED
            actual = texts_of(key_and_value(records, int(places[number])), events, None, ignored)
            again = keys[number].as_py(), messages.values[number].as_py()
            expected = texts_of(again, events, written.schemas, ignored)
            if len(actual) <= numbers[number] or not expected:  # of another definition it may have no form
                yield int(at[number]), OTHER_MEMBERS
                continue
            pair = (_without_lost_bytes(each) for each in (actual[numbers[number]], expected[0]))
            if what := first_difference(*pair) or self._other_ids(events, int(at[number]), actual[numbers[number]]):
                yield int(at[number]), f"{what} (as it is → as TiCDC writes it)"

    def _other_ids(self, events: EventArrays, at: int, event: ComparedEvent) -> str:
        """Return which id of a row is not that of an earlier row of its table; empty for none.

        Between two statements a table has one id and one version. The partitions of a table have ids of their own.
        """
        name = events.name(at)
        if self._times is None or name in self._partitioned:
            return ""
        epoch = int(np.searchsorted(self._times, events.ts[at]))
        for member, number in event.ids:
            first = self._ids.setdefault((name, epoch, member), number)
            if first != number:
                return f"{member}: {number} → {first}"
        return ""

    def _unequal(self, records: pa.RecordBatch, places: Ints, numbers: Ints, keys: pa.Array, values: pa.Array) -> Ints:
        """Return which of the messages may differ, by columns if the protocol allows it."""
        if self._are_lines:
            return np.flatnonzero(~row_image.same(records.column("value").take(pa.array(places)), values))
        if self._columns is None:
            return np.arange(len(places))
        there, which = np.unique(places, return_inverse=True)
        sent = self._columns.events(*(records.column(name).take(pa.array(there)) for name in ("key", "value")))
        made = self._columns.events(keys, values)
        if len(made.record) != len(places) or not len(sent.record):
            return np.arange(len(places))
        wide = int(sent.number.max(initial=0)) + 1
        codes, wanted = sent.record * wide + sent.number, which * wide + numbers
        found = np.searchsorted(codes, wanted)
        known = (found < len(codes)) & (codes[np.minimum(found, len(codes) - 1)] == wanted)
        chosen = pa.array(np.where(known, found, 0))
        mask = self._columns.without_build_time
        equal = np.asarray(pc.equal(mask(sent.values.take(chosen)), mask(made.values)))
        equal &= np.asarray(pc.equal(sent.keys.take(chosen), made.keys))
        if not self._batches:  # whose keys have a length before each event's
            equal &= row_image.same(records.column("key").take(pa.array(places)), keys)
        return np.flatnonzero(~(known & equal))


def _always(text: str, at: int) -> str:
    return text


def _without_lost_bytes(event: ComparedEvent) -> ComparedEvent:
    """Return an event with one spelling of U+FFFD: Go escapes those that stand for bytes that are no UTF-8, and nothing
    tells how many bytes each stands for."""
    key, value = (LOST_RUN.sub(LOST, text) for text in (event.key, event.value))
    return replace(event, key=key, value=value)
