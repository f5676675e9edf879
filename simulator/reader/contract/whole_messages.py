"""Holds messages as a whole against what the changefeed would write: every member, flag and escape.

A row is decoded, written again, and compared; of a long partition a part of the rows. Statements are held against those of
the truth. Texts are those of `compare`, without the time at which messages were built and without ids.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import DDL, WATERMARK, Ints
from simulator.errors import NotSimulatedError, SimulatorError
from simulator.reader import truth_metadata
from simulator.reader.compared_events import ComparedEvent, events_of, first_difference
from simulator.reader.contract import NEVER, TABLE_ID, DescribedTable, Ids, TableSpan, Violation
from simulator.reader.contract.events import EventArrays, KeyAndValue, TableDefinitions, key_and_value
from simulator.reader.contract.message_writer import UNKNOWN_PARTITION, MessageWriter, RewrittenRows, RowForm
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.decode import DECODERS, LOST, is_sequential
from simulator.reader.decode.message_bytes import schema_text
from simulator.reader.decode.open_protocol import is_empty
from simulator.reader.events import Layout
from simulator.reader.truth_metadata import ExpectedStatement
from simulator.sinks.memory import Message
from simulator.ticdc.codecs import CODECS
from simulator.tidb.model.table import Table, names_untold_columns
from simulator.tso import BEFORE_COMMIT

IGNORED = frozenset({"build-ts", "ids", "members", "claim-check-names"})
"""What is not compared (`compared_events.IGNORABLE`): messages do not determine it."""

UNTIMED = IGNORED | {"commit-ts"}
"""The same of a row of which only its place in the partition tells when it was."""

OTHER_MEMBERS = "it has not the members that TiCDC writes"


def texts_of(
    message: KeyAndValue,
    events: EventArrays,
    schemas: Mapping[int, str] | None = None,
    ignored: frozenset[str] = IGNORED,
) -> Sequence[ComparedEvent]:
    """Return the events of a message of the partition; none if it cannot be read, which another check reports. A row of
    CSV is its text.

    `schemas` are those that the message names, by id; None for those of the stream.
    """
    spec = events.spec
    if spec.protocol not in DECODERS:
        return [ComparedEvent(*events.place, 0, 0, "", "", (message[1] or b"").decode("utf-8", "surrogateescape"))]
    named = spec.schemas if schemas is None else schemas
    try:
        found = events_of(Message(*events.place, 0, 0, *message), spec.protocol, ignored, named)
        return [each for each in found if each.value != "{}" or not is_empty(each.key.encode(), b"{}")]
    except SimulatorError:
        return ()


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
        self._epochs: dict[str, Ints] = {}
        self._ids: dict[tuple[TableSpan, str], int] = {}
        self._rows = self.compared = 0

    def begin_piece(self) -> None:
        """Begin to count anew."""
        self._rows = self.compared = 0

    def take(self, events: EventArrays) -> None:
        """Compare the rows of a batch."""
        rows = events.rows
        numbers = self._rows + np.arange(len(rows))
        self._rows += len(rows)
        blocks = np.maximum(numbers - self._all, 0) // (self._part if self._spec.files else 1)
        rows = rows[(numbers < self._all) | (blocks % self._part == 0)]
        self.compared += len(rows)
        for at, layout, tables in self._defined(events, rows) if len(rows) else ():
            try:
                differences = self._differences(events, at, layout, RowForm(tables[0]))
            except NotSimulatedError:
                self.compared -= len(at)
                continue
            for form in self._other_forms(tables):  # a row that fits one of them is right
                if not differences:
                    break
                others = self._differences(events, np.array([*differences], np.int64), layout, form)
                differences = {each: what for each, what in differences.items() if each in others}
            events.report(
                "message-different",
                np.array([*differences], np.int64),
                lambda each: f"a row of {events.name(each)}: {differences[each]}",
            )

    def _other_forms(self, tables: Sequence[Table]) -> Iterator[RowForm]:
        """Yield in what other ways a row may have been written than as one of the first of these definitions."""
        for table in tables:
            if table is not tables[0]:
                yield RowForm(table)
            likes = self._writer.defaults_like_null(table)
            yield from (RowForm(table, nulls=[name]) for name in likes)
            if len(likes) > 1:
                yield RowForm(table, nulls=likes)
            later = self._writer.later_columns(table)
            yield from (RowForm(table, lacking=later[first:]) for first in range(len(later)))

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

    def _differences(self, events: EventArrays, at: Ints, layout: Layout, form: RowForm) -> dict[int, str]:
        """Return in what rows of a layout differ from those that the changefeed writes in a form."""
        try:
            return {
                row: what
                for written in self._writer.rows(events.batch.take(pa.array(at)), layout, form)
                for row, what in self._unlike(events, at[written.at], written)
            }
        except NotSimulatedError:
            raise
        except (SimulatorError, ValueError, OverflowError) as error:  # a text that is no value of its column's type
            if len(at) == 1:
                return {int(at[0]): f"TiCDC does not write it: {error}"}
            parts = (self._differences(events, half, layout, form) for half in np.array_split(at, 2))
            return {row: what for part in parts for row, what in part.items()}

    def _unlike(self, events: EventArrays, at: Ints, written: RewrittenRows) -> Iterator[tuple[int, str]]:
        """Yield the rows that are not as they were written again, and in what they differ."""
        if written.parts is not None:
            yield from self._other_partitions(events, at, written.parts)
        numbers = np.asarray(events.batch.column("number"))[at]
        keys, values = written.messages.keys, written.messages.values
        keys = pa.nulls(len(at), pa.binary()) if keys is None else keys
        for number in self._unequal(events, at, keys, values).tolist():
            ignored = UNTIMED if self._sequential and not events.exact[at[number]] else IGNORED
            actual = texts_of(events.message(int(at[number])), events, None, ignored)
            again = keys[number].as_py(), values[number].as_py()
            expected = texts_of(again, events, written.schemas, ignored)
            if len(actual) <= numbers[number] or not expected:  # of another definition it may have no form
                yield int(at[number]), OTHER_MEMBERS
                continue
            event, part = actual[numbers[number]], None if written.parts is None else int(written.parts[number])
            pair = (_without_lost_bytes(each) for each in (event, expected[0]))
            if what := first_difference(*pair) or self._other_ids(events, int(at[number]), event.ids, part):
                yield int(at[number]), f"{what} (as it is → as TiCDC writes it)"

    def _other_partitions(self, events: EventArrays, at: Ints, parts: Ints) -> Iterator[tuple[int, str]]:
        """Yield the rows of a table in `parts` that have other ids of partitions than earlier rows, where columns tell
        them."""
        column = events.batch.column("ptn").take(pa.array(at))
        if column.null_count:
            return
        ids, which = np.unique(np.asarray(column), return_inverse=True)
        spans = np.searchsorted(self._epochs_of(events.name(int(at[0]))), events.ts[at])
        codes = (spans * (parts.max() + 2) + parts + 1) * len(ids) + which
        for places in (np.flatnonzero(codes == code) for code in np.unique(codes)):
            first = int(places[0])
            if what := self._other_ids(events, int(at[first]), (("ptn", int(ids[which[first]])),), int(parts[first])):
                yield from ((int(at[place]), f"{what} (as it is → as in its partition)") for place in places)

    def _other_ids(self, events: EventArrays, at: int, ids: Ids, part: int | None) -> str:
        """Return which id of a row is not that of an earlier row of its table; empty for none.

        Between two statements a table has one id and one version. The partitions of a table have ids of their own.
        """
        name, told = events.name(at), self._spec.told
        if told is None or not ids or name in self._spec.held_back or part == UNKNOWN_PARTITION:
            return ""
        span = name, int(np.searchsorted(self._epochs_of(name), events.ts[at])), part
        for member, number in ids:
            first = self._ids.setdefault((span, member), number)
            if first != number:
                return f"{member}: {number} → {first}"
        events.summary.row_ids.setdefault(span, {}).setdefault(ids, int(events.offset[at]))
        return ""

    def _epochs_of(self, name: str) -> Ints:
        if name not in self._epochs:
            told = self._spec.told
            self._epochs[name] = np.array([] if told is None else told.epochs(name), np.int64)
        return self._epochs[name]

    def _unequal(self, events: EventArrays, at: Ints, keys: pa.Array, values: pa.Array) -> Ints:
        """Return which messages of rows may differ from these, by columns if the protocol allows it."""
        records, places = events.known_records, events.record_of(at)
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
        numbers = np.asarray(events.batch.column("number"))[at]
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


SentTexts = Mapping[int, Sequence[tuple[str, str]]]
"""Texts of the keys and values of statements, by commit-ts."""


def sent_texts(sent: Iterable[ExpectedStatement]) -> SentTexts:
    texts: dict[int, list[tuple[str, str]]] = {}
    for each in sent:
        texts.setdefault(each.commit_ts, []).append((each.key, each.value))
    return texts


def check_control_messages(events: EventArrays, writer: MessageWriter, sent: SentTexts) -> None:
    """Compare the statements and watermarks of a batch."""
    tells_ids = CODECS[events.spec.protocol].bootstrap is not None
    for at in (*events.at(WATERMARK).tolist(), *events.at(DDL).tolist()):
        message = events.message(at)
        if tells_ids and events.kind[at] == DDL:
            for told in texts_of(message, events):
                _tell(events, at, told)
        if events.kind[at] == WATERMARK:
            if what := _other_watermark(events, at, message, writer):
                _report(events, at, f"a watermark: {what} (as it is → as TiCDC writes it)")
        elif what := _other_statement(events, at, message, writer, sent.get(int(events.ts[at]), ())):
            _report(events, at, f"DDL at {events.ts[at]}: {what} (as it is → as it was sent)")


def _tell(events: EventArrays, at: int, told: ComparedEvent) -> None:
    """Note the ids in a statement, and the table that has a new version or id by it."""
    summary, (name, version, id) = events.summary, _described(told)
    summary.told_ids.update((name, number) for member, number in told.ids if member == TABLE_ID)
    if version + BEFORE_COMMIT == told.commit_ts or id and '"type":"TRUNCATE"' in told.value:
        summary.first_told.setdefault((name, version, id), int(events.offset[at]))


def _report(events: EventArrays, at: int, what: str) -> None:
    events.report("message-different", np.array([at]), lambda _: what, False)


def _other_watermark(events: EventArrays, at: int, message: KeyAndValue, writer: MessageWriter) -> str:
    """Return in what a watermark differs from that of the changefeed; empty for nothing."""
    written = writer.watermark(int(events.ts[at]))
    if written is None or message == written[0] and not written[1]:
        return ""
    if bool(message[1]) != bool(written[0][1]):
        return OTHER_MEMBERS
    actual, (expected,) = texts_of(message, events), texts_of(written[0], events, written[1])
    return first_difference(actual[0], expected) if actual else OTHER_MEMBERS


def _other_statement(
    events: EventArrays, at: int, message: KeyAndValue, writer: MessageWriter, sent: Sequence[tuple[str, str]]
) -> str:
    """Return in what a statement differs from those that were sent at its commit-ts; empty for nothing."""
    if not sent:
        return ""  # that it was not sent, another check reports
    number = int(events.batch.column("number")[at].as_py())
    actual = texts_of(message, events, ignored=truth_metadata.IGNORED)
    if len(actual) <= number:
        return OTHER_MEMBERS
    if (actual[number].key, actual[number].value) in sent:
        return _other_schemas(events, message, writer)
    query = events.batch.column("text")[at].as_py()
    nearest = next((each for each in sent if query in each[1]), sent[0])
    return first_difference(actual[number], ComparedEvent("", 0, 0, int(events.ts[at]), "", *nearest))


def _other_schemas(events: EventArrays, message: KeyAndValue, writer: MessageWriter) -> str:
    """Return what is wrong with the schemas that a statement names; empty for nothing. They are those of any database
    with statements: which one, depends on the messages before it."""
    known = writer.statement_schemas(each.schema for each in events.spec.statements or ())
    if not known or tuple(schema_text(part or b"", events.spec.schemas) for part in message) in known:
        return ""
    return "its schemas are not those of a statement"


def check_bootstraps(events: EventArrays, writer: MessageWriter) -> None:
    """Compare and count the BOOTSTRAPs among the records of a batch."""
    if CODECS[events.spec.protocol].bootstrap is None:
        return
    records = events.known_records
    offsets = np.asarray(records.column("offset"))
    for place in np.flatnonzero(~np.isin(offsets, events.offset)).tolist():
        told = texts_of(key_and_value(records, place), events)
        for table in map(_described, told):
            events.summary.bootstraps[table] += 1
            events.summary.first_bootstraps.setdefault(table, int(offsets[place]))
        for what in [_difference(each, events, writer) for each in told] if told else [OTHER_MEMBERS]:
            if what:
                events.counter.add(Violation("message-different", *events.place, int(offsets[place]), what))


def _described(told: ComparedEvent) -> DescribedTable:
    """Return the table of a message's first schema."""
    ids = dict(reversed(told.ids))
    return told.table, ids.get("version", 0), ids.get(TABLE_ID, 0)


def _difference(actual: ComparedEvent, events: EventArrays, writer: MessageWriter) -> str:
    """Return in what a table's schema differs from each of its definitions with that version; empty for nothing."""
    spec, differences = events.spec, list[str]()
    for table in _definitions(actual, spec):
        (expected,) = texts_of(writer.bootstrap(table, actual.commit_ts), events)
        untold = names_untold_columns(actual.value, table)
        differences.append("" if untold else first_difference(actual, expected))
    if not differences and spec.statements is not None:
        differences = ["the run does not have this table"]
    return f"the schema of {actual.table}: {differences[0]}" if differences and all(differences) else ""


def _definitions(actual: ComparedEvent, spec: StreamSpec) -> Collection[Table]:
    """Return the definitions that a table may have with the version in a message."""
    name, version, _ = _described(actual)
    names = {(each.schema, each.name) for each in spec.all_tables if f"{each.schema}.{each.name}" == name}
    told, others = [version + BEFORE_COMMIT], frozenset[int]()
    if spec.told is not None:
        told, others = spec.told.since(name, version), spec.told.told_at(name)
    held_back = [version + BEFORE_COMMIT] if name in spec.held_back else []
    made, untold = list[Table | None](), list[Table | None]()
    for since, tables in (spec.definitions(*each) for each in names):
        known = spec.told is not None or version + BEFORE_COMMIT in since
        made += [tables[int(np.searchsorted(since, ts, "right"))] for ts in told if known]
        untold += [table for ts, table in zip((NEVER, *since.tolist()), tables, strict=True) if ts not in others]
        untold += [tables[int(np.searchsorted(since, ts, "right"))] for ts in held_back]
    return [table for table in made or untold if table is not None]
