"""Holds messages as a whole against what the changefeed would write: every member, flag and escape.

A message is decoded, written again, and compared as `compare` does, without the time at which it was built and without
ids. Of a long partition a part of the rows is compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import DDL, WATERMARK, Ints
from simulator.consumer import statements
from simulator.consumer.compare.events import ComparedEvent, StreamMessage, events_of
from simulator.consumer.compare.pairs import first_difference
from simulator.consumer.contract.events import EventArrays
from simulator.consumer.contract.message_writer import MessageWriter, RewrittenRows
from simulator.consumer.contract.placement import TableDefinitions
from simulator.consumer.contract.stream_spec import StreamSpec
from simulator.consumer.contract.violations import Violation
from simulator.consumer.decode import DECODERS, LOST
from simulator.consumer.frame import Layout
from simulator.errors import SimulatorError
from simulator.ticdc.codecs import CODECS
from simulator.tidb.model.table import Table

ALL, PART = 1 << 14, 64
"""All of the first rows of a partition are compared, then one in so many."""

ALL_ONE_BY_ONE, PART_ONE_BY_ONE = 1 << 12, 256
"""The same for protocols whose messages are compared one by one."""

OTHER_MEMBERS = "it has not the members that TiCDC writes"

IGNORED = frozenset({"build-ts", "ids", "members", "claim-check-names"})
"""What is not compared (`compare.events.IGNORABLE`): messages do not determine it."""


class WholeMessages:
    """Compares the messages of one partition, batch by batch."""

    def __init__(self, spec: StreamSpec, writer: MessageWriter) -> None:
        self._spec, self._writer = spec, writer
        self._definitions = TableDefinitions(spec)
        self._codec, columns = CODECS[spec.protocol], DECODERS[spec.protocol].columns
        self._columns, self._batches = columns, self._codec.batches
        self._all, self._part = (ALL, PART) if columns else (ALL_ONE_BY_ONE, PART_ONE_BY_ONE)
        tables = [(f"{table.schema}.{table.name}", table) for table in spec.all_tables]
        self._spelled = {name.lower(): name for name, _ in tables}
        self._partitioned = {name for name, table in tables if table.partitioning is not None}
        times = [ts for ts, _ in spec.later] + [each.commit_ts for each in spec.statements or ()]
        self._times = None if spec.statements is None else np.unique(times).astype(np.int64)
        self._ids: dict[tuple[str, int, str], int] = {}
        self._rows = self.compared = 0
        self._statements: dict[int, list[tuple[str, str]]] = {}
        for each in spec.statements or ():
            self._statements.setdefault(each.commit_ts, []).append((each.key, each.value))

    def begin_piece(self) -> None:
        """Begin to count anew."""
        self._rows = self.compared = 0

    def take(self, events: EventArrays, records: pa.RecordBatch) -> None:
        """Compare the messages of a batch, which was decoded from these records."""
        self._take_rows(events, records)
        self._take_control_events(events, records)
        if self._codec.bootstrap is not None:
            self._take_bootstraps(events, records)

    def _take_rows(self, events: EventArrays, records: pa.RecordBatch) -> None:
        rows = events.rows
        numbers = self._rows + np.arange(len(rows))
        self._rows += len(rows)
        rows = rows[(numbers < self._all) | ((numbers - self._all) % self._part == 0)]
        self.compared += len(rows)
        for at, layout, tables in self._defined(events, rows) if len(rows) else ():
            differences = self._differences(events, records, at, layout, tables[0])
            for table, nulls in self._others(tables):  # a row that fits one of them is right
                if not differences:
                    break
                others = self._differences(events, records, np.array([*differences], np.int64), layout, table, nulls)
                differences = {each: what for each, what in differences.items() if each in others}
            events.report(
                "message-different",
                np.array([*differences], np.int64),
                lambda each: f"a row of {events.name(each)}: {differences[each]}",
            )

    def _others(self, tables: Sequence[Table]) -> Iterator[tuple[Table, Collection[str]]]:
        """Yield in what other ways a row may have been written than as one of the first of these definitions."""
        for table in tables:
            if table is not tables[0]:
                yield table, ()
            likes = self._writer.defaults_like_null(table)
            yield from ((table, [name]) for name in likes)
            if len(likes) > 1:
                yield table, likes

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
    ) -> dict[int, str]:
        """Return in what rows of a layout differ from those that the changefeed writes for a table."""
        try:
            return {
                row: what
                for written in self._writer.rows(events.batch.take(pa.array(at)), layout, table, nulls)
                for row, what in self._unlike(events, records, at[written.at], written)
            }
        except (SimulatorError, ValueError, OverflowError) as error:  # a text that is no value of its column's type
            if len(at) == 1:
                return {int(at[0]): f"TiCDC does not write it: {error}"}
            halves = np.array_split(at, 2)
            return {
                row: what
                for half in halves
                for row, what in self._differences(events, records, half, layout, table, nulls).items()
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
            key, value = (records.column(name)[int(places[number])].as_py() for name in ("key", "value"))
            actual = self._events(key, value, events)
            expected = self._events(keys[number].as_py(), messages.values[number].as_py(), events, written.schemas)
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
        if self._columns is None:
            return np.arange(len(places))
        there, which = np.unique(places, return_inverse=True)
        sent = self._columns.events(*(records.column(name).take(pa.array(there)) for name in ("key", "value")))
        made = self._columns.events(keys, values)
        if len(made.texts) != len(places) or not len(sent.texts):
            return np.arange(len(places))
        wide = int(sent.number.max(initial=0)) + 1
        codes, wanted = sent.record * wide + sent.number, which * wide + numbers
        found = np.searchsorted(codes, wanted)
        known = (found < len(codes)) & (codes[np.minimum(found, len(codes) - 1)] == wanted)
        texts = sent.texts.take(pa.array(np.where(known, found, 0)))
        mask = self._columns.without_build_time
        equal = np.asarray(pc.fill_null(pc.equal(mask(texts), mask(made.texts)), False))
        if not self._batches:  # else the texts have the keys
            equal &= row_image.same(records.column("key").take(pa.array(places)), keys)
        return np.flatnonzero(~(known & equal))

    def _take_control_events(self, events: EventArrays, records: pa.RecordBatch) -> None:
        others = [*events.at(WATERMARK).tolist(), *events.at(DDL).tolist()]
        if not others:
            return
        place_of = {offset: place for place, offset in enumerate(records.column("offset").to_pylist())}
        for at in others:
            place = place_of[int(events.offset[at])]
            key, value = (records.column(name)[place].as_py() for name in ("key", "value"))
            ts = int(events.ts[at])
            if events.kind[at] == WATERMARK:
                self._compare_watermark(events, at, ts, key, value)
            elif ts in self._statements:
                self._compare_statement(events, at, ts, key, value)

    def _compare_watermark(self, events: EventArrays, at: int, ts: int, key: bytes | None, value: bytes | None) -> None:
        written = self._writer.watermark(ts)
        if written is None or (key, value) == written:
            return
        actual, expected = self._events(key, value, events), self._events(*written, events)
        if not expected:  # one of Avro, whose schema the registry tells
            return
        what = first_difference(actual[0], expected[0]) if actual else OTHER_MEMBERS
        if what:
            events.report(
                "message-different",
                np.array([at]),
                lambda _: f"a watermark: {what} (as it is → as TiCDC writes it)",
                False,
            )

    def _compare_statement(self, events: EventArrays, at: int, ts: int, key: bytes | None, value: bytes | None) -> None:
        number = int(events.batch.column("number")[at].as_py())
        actual = self._events(key, value, events, ignored=statements.IGNORED)
        texts, what = self._statements[ts], OTHER_MEMBERS
        if len(actual) > number:
            if (actual[number].key, actual[number].value) in texts:
                return
            query = events.batch.column("text")[at].as_py()
            nearest = next((each for each in texts if query in each[1]), texts[0])
            what = first_difference(actual[number], ComparedEvent("", 0, 0, ts, "", *nearest))
        events.report(
            "message-different", np.array([at]), lambda _: f"DDL at {ts}: {what} (as it is → as it was sent)", False
        )

    def _take_bootstraps(self, events: EventArrays, records: pa.RecordBatch) -> None:
        """Compare the messages that only tell the schema of a table, and are no events."""
        offsets = np.asarray(records.column("offset"))
        for place in np.flatnonzero(~np.isin(offsets, events.offset)).tolist():
            key, value = (records.column(name)[place].as_py() for name in ("key", "value"))
            told = self._events(key, value, events)
            if not told:
                events.counter.add(Violation("message-different", *events.place, int(offsets[place]), OTHER_MEMBERS))
            for actual in told:
                tables = {table for table in self._spec.all_tables if f"{table.schema}.{table.name}" == actual.table}
                differences = [self._from_bootstrap(actual, table, events) for table in tables]
                if not tables and self._times is not None:
                    differences = ["the run does not have this table"]
                if differences and all(differences):
                    what = f"the schema of {actual.table}: {differences[0]}"
                    events.counter.add(Violation("message-different", *events.place, int(offsets[place]), what))

    def _from_bootstrap(self, actual: ComparedEvent, table: Table, events: EventArrays) -> str:
        """Return in what a message with a table's schema differs from that of a definition; empty for nothing."""
        (expected,) = self._events(*self._writer.bootstrap(table, actual.commit_ts), events)
        return first_difference(actual, expected)

    def _events(
        self,
        key: bytes | None,
        value: bytes | None,
        events: EventArrays,
        schemas: Mapping[int, str] | None = None,
        ignored: frozenset[str] = IGNORED,
    ) -> Sequence[ComparedEvent]:
        message = StreamMessage(*events.place, 0, key, value)
        try:
            return [
                *events_of(message, self._spec.protocol, ignored, self._spec.schemas if schemas is None else schemas)
            ]
        except SimulatorError:
            return ()  # it is unreadable, and was reported as such


def _always(text: str, at: int) -> str:
    return text


def _without_lost_bytes(event: ComparedEvent) -> ComparedEvent:
    """Return an event with one spelling of U+FFFD: Go escapes those that stand for bytes that are no UTF-8."""
    key, value = (text.replace("\\ufffd", LOST) for text in (event.key, event.value))
    return replace(event, key=key, value=value)
