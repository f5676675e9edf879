"""The files of one table of a storage as events (EVENT_SCHEMA), read by columns where that is possible.

A table's statements, rows and checkpoint are one partition of a stream, whose offsets number its events from 0.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from simulator.columns import row_image
from simulator.columns.change_frame import DELETE, INSERT, ROW, UPDATE, ints, with_column
from simulator.errors import UserError
from simulator.reader.decode.batches import EventRows, StreamDecoder
from simulator.reader.events import (
    EVENT_SCHEMA,
    RECORD_SCHEMA,
    UNKNOWN_CELL,
    UNREADABLE,
    Layout,
    RowEvent,
    Watermark,
    event_layout,
)
from simulator.reader.storage import DAMAGED, DataFile, FileFinding, IndexFile
from simulator.reader.storage.directory import JsonColumns, StorageDirectory, StorageFile
from simulator.reader.storage.events import (
    COMMIT_TS,
    CsvFormat,
    FileEvent,
    column_infos,
    file_events,
    not_one,
    other_table,
)
from simulator.reader.storage.schema_files import CsvColumn, TableSchema
from simulator.ticdc.cloud_storage import METADATA

OPERATIONS = {b"I": INSERT, b"U": UPDATE, b"D": DELETE}
HEADS = {"offset": 0, "number": 0, "events": 1, "size": 0}
"""What all events have, until they get their offsets."""

NO_TIME = -1
"""The timestamp of a row."""

EventsAndTexts = tuple[pa.RecordBatch, pa.Array | None]
"""Events, and the texts of the first of them, which are rows, as they are in the file."""


@dataclass(frozen=True)
class TableFiles:
    """The files of a table, or the statements on a database."""

    directory: StorageDirectory
    files: Sequence[StorageFile]

    def statements(self) -> Iterator[pa.RecordBatch]:
        """Yield the statements (EVENT_SCHEMA)."""
        files = [file for file in self.files if isinstance(file, TableSchema)]
        yield from TableEvents(TableFiles(self.directory, files)).batches()


def table_files(directory: StorageDirectory) -> dict[str, TableFiles]:
    """Return the files of each table by its name, a statement on a database under the name of the database."""
    files: dict[str, list[StorageFile]] = {}
    for file in directory.files:
        files.setdefault(".".join(name for name in (file.schema, file.table) if name), []).append(file)
    return {name: TableFiles(directory, of_table) for name, of_table in files.items()}


class TableEvents:
    """Reads the events of a table's files, and collects the layouts of its rows."""

    def __init__(self, files: TableFiles) -> None:
        self._directory, self._files = files.directory, files.files
        self._format = CsvFormat(files.directory.changefeed.codec)
        self._json = StreamDecoder(files.directory.changefeed.codec.protocol)
        self._indexes: dict[Layout, int] = {}
        self._rows = EventRows("csv", self._index)
        self._offset = 0
        self.records: pa.RecordBatch | None = None
        """The rows of the last batch as they are in their file (RECORD_SCHEMA); None if it has none."""

    @property
    def layouts(self) -> Sequence[Layout]:
        """The layouts of the rows so far."""
        return self._json.layouts or [*self._indexes]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches of EVENT_SCHEMA, at last the checkpoint. Raises UserError for files that cannot be opened."""
        for file in self._files:
            if not isinstance(file, IndexFile):
                yield self._numbered(*self._of_file(file))
        if (checkpoint_ts := self._directory.listing.checkpoint_ts) is not None:
            yield self._numbered(*self._one_by_one([FileEvent(METADATA, 0, Watermark(checkpoint_ts))]))

    def places(self, offsets: Collection[int]) -> Iterator[tuple[int, str]]:
        """Yield the file and row of some of the offsets. Raises UserError for files that cannot be opened."""
        first = 0
        for file in self._files:
            if isinstance(file, IndexFile):
                continue
            inside = range(first, first := first + self._of_file(file)[0].num_rows)
            if not any(offset in inside for offset in offsets):
                continue
            shown = (each for each in file_events(file, self._directory) if not isinstance(each.event, TableSchema))
            for offset, each in zip(inside, shown, strict=True):
                if offset in offsets:
                    yield offset, each.place
        if first in offsets:
            yield first, METADATA

    def _of_file(self, file: TableSchema | DataFile | FileFinding) -> EventsAndTexts:
        """Return the events of a file, and its rows as they are there."""
        if not isinstance(file, DataFile):
            return self._one_by_one(file_events(file, self._directory))
        return self._csv(file) if file.is_csv else self._canal_json(file)

    def _numbered(self, events: pa.RecordBatch, texts: pa.Array | None) -> pa.RecordBatch:
        """Return the events with their offsets, each as a message of its own; make records of the texts of rows."""
        count, first = events.num_rows, self._offset
        self._offset += count
        ones = {"number": np.zeros(count, np.int32), "events": np.ones(count, np.int32)}
        for name, values in {"offset": np.arange(first, first + count), **ones}.items():
            events = with_column(events, name, values)
        self.records = None if texts is None else _records(texts, first)
        return events

    def _one_by_one(self, events: Iterable[FileEvent]) -> EventsAndTexts:
        rows, texts = [], []
        for each in events:
            if isinstance(each.event, TableSchema):
                continue
            texts.append(each.text.encode("utf-8", "surrogateescape"))
            if isinstance(each.event, UserError):
                rows.append(_unreadable(str(each.event), each.check))
            else:
                row_id = {} if each.row_id is None else {"rid": each.row_id}
                rows.append({**self._rows.of_event(each.event), **row_id})
        batch = pa.RecordBatch.from_pylist([{**HEADS, **row} for row in rows], EVENT_SCHEMA)
        return batch, pa.array(texts, pa.binary()) if any(texts) else None

    def _index(self, layout: Layout) -> int:
        return self._indexes.setdefault(layout, len(self._indexes))

    def _canal_json(self, file: DataFile) -> EventsAndTexts:
        """Return the rows of a file of Canal-JSON; one without the end of its last row is UNREADABLE there."""
        *texts, rest = self._directory.listing.content(file.path).split(
            self._directory.changefeed.codec.terminator.encode()
        )
        count, records = len(texts), _records(pa.array(texts, pa.binary()))
        events, unlike = _one_each(self._json.decoded(records), count)
        wrong = self._wrong_rows(file, events) | unlike
        if rest:
            wrong[count] = "the file ends inside a row"
        if wrong:
            rows = [*events.to_pylist(), *[{}] * bool(rest)]
            events = pa.RecordBatch.from_pylist(
                [{**HEADS, **_unreadable(wrong[place])} if place in wrong else row for place, row in enumerate(rows)],
                EVENT_SCHEMA,
            )
        return self._with_date_flaw(file, events), records.column("value")

    def _with_date_flaw(self, file: DataFile, events: pa.RecordBatch) -> pa.RecordBatch:
        """Return the events of a file, with one more if it is at a date at which TiCDC does not write them."""
        rows = np.flatnonzero(ints(events, "kind") == ROW)
        why = self._directory.date_flaw(file, events.column("commit_ts")[rows[-1]].as_py() if len(rows) else 0)
        if not why:
            return events
        return pa.concat_batches(
            [events, pa.RecordBatch.from_pylist([{**HEADS, **_unreadable(why, DAMAGED)}], EVENT_SCHEMA)]
        )

    def _wrong_rows(self, file: DataFile, events: pa.RecordBatch) -> dict[int, str]:
        """Return by place the events that are no rows of the table and its columns, and why."""
        kind, of = ints(events, "kind"), np.asarray(events.column("layout").fill_null(-1), np.int64)
        wrong = dict.fromkeys(np.flatnonzero((kind != ROW) & (kind != UNREADABLE)).tolist(), "it is no row")
        if self._directory.changefeed.codec.enable_tidb_extension:
            untimed = (kind == ROW) & ~np.asarray(events.column("exact").fill_null(False))
            wrong |= dict.fromkeys(np.flatnonzero(untimed).tolist(), "it has no commitTs")
        columns, deletes = self._directory.json_columns(file), ints(events, "op") == DELETE
        for number in np.unique(of[of >= 0]).tolist():
            layout, places = self._json.layouts[number], of == number
            why = other_table(file, layout.schema, layout.table)
            if not why and columns is not None:
                why = _other_columns({*layout.names}, columns)
                if {*layout.names} == columns.keys:
                    places = places & ~deletes
            if why:
                wrong |= dict.fromkeys(np.flatnonzero(places).tolist(), why)
        if columns is not None and columns.least:
            for side in ("before", "after"):
                there = events.column(side).fill_null(b"")
                cut = np.asarray(pc.match_substring(there, UNKNOWN_CELL)) & (kind == ROW)
                for place in np.flatnonzero(cut).tolist():
                    wrong.setdefault(place, "its data lacks a column that the schema file has")
        return wrong

    def _csv(self, file: DataFile) -> EventsAndTexts:
        content = self._directory.listing.content(file.path)
        try:
            columns = self._directory.csv_columns(file)
        except UserError:
            return self._one_by_one(file_events(file, self._directory))
        read = self._by_columns(file, content, columns)
        if read is None:
            return self._one_by_one(file_events(file, self._directory))
        return self._with_date_flaw(file, read[0]), read[1]

    def _by_columns(
        self, file: DataFile, content: bytes, choices: Sequence[Sequence[CsvColumn]]
    ) -> EventsAndTexts | None:
        """Return the rows of a file of CSV; None if they cannot be read by columns."""
        if self._format.header_flaw(content, self._directory.header_columns(file)):
            return None
        columns = _first_columns(content, self._format, choices)
        cells = None if columns is None else _cells(content, self._format, len(columns))
        if columns is None or cells is None:
            return None
        operation, table, schema, commit_ts, *_ = cells
        texts = self._format.texts(content, len(operation))
        if texts is None:
            return None
        if any(cell.null_count and column.not_null for cell, column in zip(cells[self._format.head :], columns)):
            return None
        known = pa.array([*OPERATIONS], pa.binary())
        names = ((table, file.table), (schema, file.schema))
        if any(column.null_count for column in (operation, table, schema, commit_ts)) or not (
            pc.all(pc.is_in(operation, known)).as_py()
            and all(pc.all(pc.equal(column, pa.scalar(name.encode()))).as_py() for column, name in names)
        ):
            return None
        try:
            values = [
                self._texts(cell, column) for cell, column in zip(cells[self._format.head :], columns, strict=True)
            ]
            written = commit_ts.cast(pa.string())
            if not pc.all(pc.match_substring_regex(written, f"^{COMMIT_TS.pattern}$")).as_py():
                return None
            ts = written.cast(pa.int64())
        except (ValueError, pa.ArrowException):
            return None
        images, infos = row_image.pack(values), column_infos(columns)
        deleted = pc.equal(operation, pa.scalar(b"D"))
        none, count = pa.nulls(len(images), pa.binary()), len(images)
        empty = dict.fromkeys(infos)
        layout = event_layout(RowEvent(0, file.schema, file.table, "INSERT", None, empty, infos))
        known_columns = {
            "size": pa.array(np.full(count, len(content) // count), pa.int64()),
            "kind": pa.array(np.full(count, ROW), EVENT_SCHEMA.field("kind").type),
            "commit_ts": ts,
            "exact": pa.array(np.ones(count, np.bool_)),
            "layout": pa.array(np.full(count, self._index(layout)), pa.int32()),
            "op": pa.array([*OPERATIONS.values()], EVENT_SCHEMA.field("op").type).take(pc.index_in(operation, known)),
            "only_handle": pa.array(np.zeros(count, np.bool_)),
            "rid": self._row_ids(cells),
            "before": pc.if_else(deleted, images, none),
            "after": pc.if_else(deleted, none, images),
        }
        arrays = [known_columns.get(field.name, pa.nulls(count, field.type)) for field in EVENT_SCHEMA]
        return pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA), texts

    def _row_ids(self, cells: Sequence[pa.Array]) -> pa.Array:
        """Return the handles of rows, given their cells by column."""
        if not self._format.options.csv.output_handle_key:
            return pa.nulls(len(cells[0]), pa.int64())
        heads = [cell.cast(pa.string()).to_pylist() for cell in cells[: self._format.head]]
        return pa.array(map(self._format.row_id, zip(*heads, strict=True)), pa.int64())

    def _texts(self, cells: pa.Array, column: CsvColumn) -> pa.Array:
        """Return the cells of a column as in EVENT_SCHEMA. Raises ValueError for bytes that are not encoded."""
        if not column_infos([column])[column.name].binary:
            return cells
        encoded = cells.cast(pa.string()).dictionary_encode()
        values = (self._format.value(text, column.type) for text in encoded.dictionary.to_pylist())
        texts = [value.decode("latin-1").encode() if isinstance(value, bytes) else value for value in values]
        return pa.array(texts, pa.binary()).take(encoded.indices)


def _one_each(events: pa.RecordBatch, count: int) -> tuple[pa.RecordBatch, dict[int, str]]:
    """Return one event for each of the messages in a file, and by place those that do not have one."""
    counts = np.bincount(ints(events, "offset"), minlength=count)
    if (counts == 1).all():
        return events, {}
    firsts = np.searchsorted(ints(events, "offset"), np.arange(count))
    lines = [
        events.take(pa.array([first])).to_pylist()[0] if held else {**HEADS, **_unreadable("")}
        for first, held in zip(firsts.tolist(), counts.tolist())
    ]
    unlike = {place: not_one(held) for place, held in enumerate(counts.tolist()) if held != 1}
    return pa.RecordBatch.from_pylist(lines, EVENT_SCHEMA), unlike


def _records(texts: pa.Array, first: int = 0) -> pa.RecordBatch:
    """Return rows as records, from an offset on."""
    rows = len(texts)
    offsets, times = pa.array(np.arange(first, first + rows)), pa.repeat(pa.scalar(NO_TIME, pa.int64()), rows)
    return pa.RecordBatch.from_arrays([offsets, times, pa.nulls(rows, pa.binary()), texts], schema=RECORD_SCHEMA)


def _other_columns(names: Set[str], columns: JsonColumns) -> str:
    """Return why a row has other columns than it must have; empty if it has those."""
    lacking, more = sorted(columns.least - names), sorted(names - columns.most)
    if more:
        return f"it has the column {more[0]}, which rows of the schema file's version do not have"
    return f"it lacks the column {lacking[0]}, which the schema file has" if lacking else ""


def _first_columns(
    content: bytes, format: CsvFormat, choices: Sequence[Sequence[CsvColumn]]
) -> Sequence[CsvColumn] | None:
    """Return the columns of the first row; None if there is no such row."""
    try:
        first = next(format.rows(content), None)
    except UserError:
        return None
    return None if first is None else format.columns(len(first[2]), choices)


def _cells(content: bytes, format: CsvFormat, columns: int) -> list[pa.Array] | None:
    """Return the cells of CSV by column, binary; None if it is not of the form that Arrow reads, or is no UTF-8."""
    options, csv = format.options, format.options.csv
    simple = len(csv.quote) == len(csv.delimiter) == 1 and options.terminator in ("\r\n", "\n")
    if not simple or csv.output_old_value or not csv.include_commit_ts or not content:
        return None
    if not content.endswith(options.terminator.encode()) or content.startswith(BOM_UTF8):  # which Arrow skips
        return None
    names = [str(number) for number in range(format.head + columns)]
    try:
        content.decode()
        read = arrow_csv.read_csv(
            pa.py_buffer(content),
            arrow_csv.ReadOptions(use_threads=False, column_names=names, skip_rows=format.header_rows),
            arrow_csv.ParseOptions(
                delimiter=csv.delimiter, quote_char=csv.quote, newlines_in_values=True, ignore_empty_lines=False
            ),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.binary()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[csv.null],
            ),
        )
    except (ValueError, pa.ArrowException):
        return None
    return [column.combine_chunks() for column in read.columns]


def _unreadable(why: str, check: str = "") -> dict[str, Any]:
    text = why.encode("utf-8", "replace").decode()
    return {"kind": UNREADABLE, "commit_ts": 0, "exact": False, "text": text, "type": check or None}
